//! Starting and ending the server.

use crate::client::{Answer, Client};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// A server that does not answer for this time hangs.
const PATIENCE: Duration = Duration::from_secs(300);
/// The interval of checks for a condition.
const LOOK: Duration = Duration::from_millis(2);

/// A running server: its data folder is `data` in its folder, where it also writes its messages to
/// `said`.
pub(crate) struct Server {
    child: Child,
    folder: PathBuf,
}

/// The exit status of a server, and its messages.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) said: String,
}

/// Calls until there is something.
pub(crate) fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..PATIENCE.as_millis() / LOOK.as_millis() {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(LOOK);
    }
    panic!("the condition was never met");
}

/// Waits until this is the server's only client: a connection counts until its loop sees that it
/// was closed, also the one of [`Server::begin`].
pub(crate) fn until_alone<S: Read + Write>(client: &mut Client<S>) {
    until(|| {
        let Answer::Bulk(info) = client.ask("INFO clients") else { panic!("no INFO") };
        String::from_utf8(info).unwrap().contains("connected_clients:1\r\n").then_some(())
    });
}

/// `mayhap serve` with a data folder and these arguments, run by a wrapper if there is one.
pub(crate) fn command(folder: &Path, wrapper: &[&str], arguments: &[&str]) -> Command {
    let mayhap = env!("CARGO_BIN_EXE_mayhap");
    let words = [wrapper, &[mayhap, "serve", "--data", "data"], arguments].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
    // It would be reported as an unknown setting.
    command.env_remove("MAYHAP_SOAK");
    command.stderr(File::create(folder.join("said")).unwrap());
    command
}

impl Server {
    /// Starts it and waits until it listens on the Unix socket `socket`, or ends.
    pub(crate) fn begin(
        folder: &Path,
        wrapper: &[&str],
        arguments: &[&str],
        settings: &[(&str, &Path)],
    ) -> Result<Self, Ended> {
        let socket = folder.join("socket");
        let _ = fs::remove_file(&socket);
        let arguments = [&["--port", "0", "--unix-socket", "socket"], arguments].concat();
        let mut command = command(folder, wrapper, &arguments);
        command.envs(settings.iter().copied());
        Self::begin_as(folder, command)
    }

    /// Starts this command, which listens on the Unix socket `socket`, and waits until it does, or
    /// ends.
    pub(crate) fn begin_as(folder: &Path, mut command: Command) -> Result<Self, Ended> {
        let socket = folder.join("socket");
        let child = command.spawn().unwrap();
        let mut server = Self { child, folder: folder.into() };
        let ended = until(|| {
            if UnixStream::connect(&socket).is_ok() {
                return Some(None);
            }
            server.child.try_wait().unwrap().map(Some)
        });
        match ended {
            None => Ok(server),
            Some(status) => Err(Ended { status, said: server.said() }),
        }
    }

    /// Starts a server; panics if it does not start.
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        let server = Self::begin(folder, &[], arguments, &[]);
        let server = server.unwrap_or_else(|ended| panic!("{ended:?}"));
        // Its lines arrive a moment later, unless they are fewer than usual.
        for _ in 0..500 {
            if server.said().contains("Redis clients: socket") {
                break;
            }
            std::thread::sleep(LOOK);
        }
        server
    }

    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.folder.join("said")).unwrap()
    }

    /// Its lines once they have this one: they arrive a moment after their event.
    pub(crate) fn says(&self, text: &str) -> String {
        until(|| Some(self.said()).filter(|said| said.contains(text)))
    }

    pub(crate) fn connect(&self) -> Client<UnixStream> {
        let stream = UnixStream::connect(self.folder.join("socket")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client::new(stream)
    }

    /// Its port of this kind, from its messages: the text after `Redis clients: 127.0.0.1:`.
    pub(crate) fn port(&self, before: &str) -> u16 {
        until(|| {
            let said = self.said();
            let (_, rest) = said.split_once(before)?;
            let digits = rest.split(|char: char| !char.is_ascii_digit()).next()?;
            rest.contains('\n').then(|| digits.parse().unwrap())
        })
    }

    pub(crate) fn connect_tcp(port: u16) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// The bytes of its resident memory.
    pub(crate) fn resident(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> Ended {
        let status = until(|| self.child.try_wait().unwrap());
        Ended { status, said: self.said() }
    }

    /// kill -9.
    pub(crate) fn kill(self) -> Ended {
        self.signal(Signal::KILL);
        self.wait()
    }

    /// SIGTERM, which has to end it successfully.
    pub(crate) fn stop(self) -> String {
        self.signal(Signal::TERM);
        let ended = self.wait();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.said);
        ended.said
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a secret key as the server does: for its owner alone, or it would be refused.
pub(crate) fn write_key(path: &Path, key: &[u8]) {
    fs::write(path, key).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// The answer to `GET path` over HTTP: head and body.
pub(crate) fn get(port: u16, path: &str) -> String {
    let mut stream = Server::connect_tcp(port);
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The status of `/readyz`.
pub(crate) fn ready(port: u16) -> String {
    get(port, "/readyz").split(' ').nth(1).unwrap_or_default().to_owned()
}

/// The answer of success.
pub(crate) fn ok() -> Answer {
    Answer::Simple("OK".into())
}
