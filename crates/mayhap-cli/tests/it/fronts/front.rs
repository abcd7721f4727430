//! The servers in front of the store: `mayhap serve --store` as processes.

use super::client::Client;
use crate::support::{mayhap, send_signal};
use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A longer time is a hang.
pub(crate) const NEVER: Duration = Duration::from_secs(120);

pub(crate) type Connection = Client<UnixStream>;

/// A server in front of the store, and the Unix socket that it has again after a restart.
pub(crate) struct Front {
    folder: PathBuf,
    socket: PathBuf,
    arguments: Vec<String>,
    /// `None` while it is killed.
    child: Option<Child>,
}

/// Waits until a condition holds. A hang is a failure.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + NEVER;
    while !is_so() {
        assert!(Instant::now() < end, "{what}: never");
        sleep(Duration::from_millis(5));
    }
}

/// A connection to the server with this socket.
pub(crate) fn connect(socket: &Path) -> io::Result<Connection> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(NEVER))?;
    stream.set_write_timeout(Some(NEVER))?;
    Ok(Client::new(stream))
}

impl Front {
    pub(crate) fn start(folder: &Path, name: &str, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&word| word.to_owned()).collect();
        let (folder, socket) = (folder.to_owned(), folder.join(name));
        let mut front = Self { folder, socket, arguments, child: None };
        front.restart();
        front
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    pub(crate) fn connect(&self) -> Connection {
        connect(&self.socket).unwrap()
    }

    /// Starts it, as its supervisor does: again where it ends since the store is away.
    pub(crate) fn restart(&mut self) {
        self.kill();
        let said = self.socket.with_extension("said");
        let said = File::options().create(true).append(true).open(said).unwrap();
        until("a server in front of the store", || {
            let is_running = match &mut self.child {
                Some(child) => child.try_wait().unwrap().is_none(),
                None => false,
            };
            if !is_running {
                let mut command = mayhap(&self.folder);
                command.args(["serve", "--port", "0", "--unix-socket"]).arg(&self.socket);
                command.args(&self.arguments).stderr(said.try_clone().unwrap());
                self.child = Some(command.spawn().unwrap());
            }
            UnixStream::connect(&self.socket).is_ok()
        });
    }

    /// kill -9.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub(crate) fn pause(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        send_signal(self.child.as_ref().unwrap(), signal);
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.kill();
    }
}
