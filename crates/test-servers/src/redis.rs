//! One Redis or Valkey server.

use crate::Error;
use crate::port::{BUS_OFFSET, Port};
use crate::process::{Process, mortal};
use crate::programs::need;
use crate::resp::Connection;

use rustix::process::Signal;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// How long a loaded machine may need to start a server, in seconds.
const START_SECONDS: u64 = 60;
/// Number of ports to try.
const PORT_TRIES: u32 = 10;

/// How a server is configured. The default keeps nothing on disk and requires no password.
///
/// Always on 127.0.0.1, and without snapshots (`save ""`).
#[derive(Clone, Debug, Default)]
pub struct RedisOptions {
    /// Whether acknowledged writes survive [`RedisServer::kill`] and [`RedisServer::restart`]: with
    /// `appendfsync always`, as otherwise Redis postpones its writes behind a slow `fsync`.
    pub appendonly: bool,
    /// The memory limit, such as `100mb`.
    pub maxmemory: Option<String>,
    /// The eviction policy at the memory limit, such as `allkeys-lru`.
    pub maxmemory_policy: Option<String>,
    /// The password of the default user; replicas use it too.
    pub password: Option<String>,
    /// ACL users: a name and its rules, such as `alice on >secret ~* +@read`. The user `default`
    /// has to keep the rights that [`RedisServer::cli`] needs.
    pub users: Vec<String>,
    /// TLS on a second port, [`RedisServer::tls_port`]: the server's certificate, its key, and the
    /// authority of the certificates that clients have to show.
    pub tls: Option<[PathBuf; 3]>,
    /// More lines for the configuration file; they win over the ones before.
    pub config: Vec<String>,
}

impl RedisOptions {
    fn file(&self, port: u16, folder: &Path) -> String {
        let mut text = format!(
            "bind 127.0.0.1\nport {port}\ndir {}\nsave \"\"\nappendonly {}\n\
             appendfsync always\n",
            quoted(&folder.to_string_lossy()),
            if self.appendonly { "yes" } else { "no" },
        );
        let options = [
            ("maxmemory", &self.maxmemory),
            ("maxmemory-policy", &self.maxmemory_policy),
            ("requirepass", &self.password),
            ("masterauth", &self.password),
        ];
        for (name, value) in options {
            if let Some(value) = value {
                let _ = writeln!(text, "{name} {}", quoted(value));
            }
        }
        for user in &self.users {
            let _ = writeln!(text, "user {user}");
        }
        if let Some(tls) = &self.tls {
            let [certificate, key, authority] =
                tls.each_ref().map(|file| quoted(&file.to_string_lossy()));
            let _ = writeln!(
                text,
                "tls-port {}\ntls-cert-file {certificate}\ntls-key-file {key}\n\
                 tls-ca-cert-file {authority}",
                tls_port(port)
            );
        }
        for line in &self.config {
            let _ = writeln!(text, "{line}");
        }
        text
    }
}

/// The port that a node of a cluster would use for its bus: no other server takes it.
fn tls_port(port: u16) -> u16 {
    port + BUS_OFFSET
}

fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A running `redis-server`, or the program in `MAYHAP_REDIS_SERVER`; killed when dropped.
///
/// Threads may share it; if one kills it, it is killed for all.
#[derive(Debug)]
pub struct RedisServer {
    // Before the folder, so that the process is gone when the folder goes.
    process: Mutex<Option<Process>>,
    paused: AtomicBool,
    port: Port,
    options: RedisOptions,
    folder: TempDir,
}

impl RedisServer {
    /// Starts a server and waits until it answers.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] without the program; [`Error::Died`] and [`Error::Slow`] with its log if
    /// it ends or does not answer; [`Error::Io`].
    pub fn start(options: &RedisOptions) -> Result<Self, Error> {
        Self::start_on(options, Port::claim)
    }

    fn start_on(
        options: &RedisOptions,
        mut claim: impl FnMut() -> Result<Port, Error>,
    ) -> Result<Self, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            let folder = tempfile::Builder::new()
                .prefix("mayhap-redis-")
                .tempdir()
                .map_err(Error::io("make a temporary folder"))?;
            let (process, paused) = (Mutex::new(None), AtomicBool::new(false));
            let server = Self { process, paused, port: claim()?, options: options.clone(), folder };
            match server.restart() {
                Ok(()) => return Ok(server),
                Err(Error::Died { log, .. }) if port_was_taken(&log) && tries < PORT_TRIES => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the address for a client, with the password.
    pub fn url(&self) -> String {
        let mut user = String::new();
        if let Some(password) = &self.options.password {
            // Redis' own client takes an empty name for a user of that name.
            user.push_str("default:");
            for byte in password.bytes() {
                if byte.is_ascii_alphanumeric() {
                    user.push(byte.into());
                } else {
                    let _ = write!(user, "%{byte:02X}");
                }
            }
            user.push('@');
        }
        format!("redis://{user}127.0.0.1:{}", self.port())
    }

    pub(crate) fn password(&self) -> Option<&str> {
        self.options.password.as_deref()
    }

    /// Returns the port on 127.0.0.1, the same after a restart.
    pub fn port(&self) -> u16 {
        self.port.number
    }

    /// Returns the port for TLS, if it has one: [`RedisOptions::tls`].
    pub fn tls_port(&self) -> Option<u16> {
        self.options.tls.as_ref().map(|_| tls_port(self.port()))
    }

    /// Returns the process, or `None` if it was killed.
    pub fn pid(&self) -> Option<u32> {
        self.process().as_ref().map(Process::pid)
    }

    /// Returns the server's output since its first start.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Runs one command as the default user and returns the answer as `redis-cli` prints it into a
    /// pipe: a line per element, nothing for nil.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the answer is an error; [`Error::Io`] if none arrives within 30 s.
    pub fn cli(&self, command: &[&str]) -> Result<String, Error> {
        self.connect()?.ask(command)
    }

    pub(crate) fn connect(&self) -> Result<Connection, Error> {
        Connection::open(self.port(), self.password())
    }

    /// Removes all keys.
    ///
    /// # Errors
    ///
    /// As [`RedisServer::cli`].
    pub fn flush(&self) -> Result<(), Error> {
        self.cli(&["FLUSHALL"]).map(drop)
    }

    /// Kills the process with SIGKILL and waits for its end; folder and port stay.
    pub fn kill(&self) {
        // Dropped while locked: another thread's restart waits for the end.
        let mut process = self.process();
        *process = None;
        // ORDERING: SeqCst. Once a test; a reader comes after the signal that it stands for.
        self.paused.store(false, Ordering::SeqCst);
    }

    /// Starts the server again with its port and folder, and waits until it answers; a running one
    /// is killed first.
    ///
    /// # Errors
    ///
    /// As [`RedisServer::start`].
    pub fn restart(&self) -> Result<(), Error> {
        self.kill();
        let program = need("redis-server")?;
        let config = self.folder.path().join("redis.conf");
        fs::write(&config, self.options.file(self.port(), self.folder.path()))
            .map_err(Error::io(format!("write {}", config.display())))?;
        let mut command = mortal(&program, "KILL", None);
        command.arg(&config).current_dir(self.folder.path());
        let log = self.folder.path().join("log");
        let mut process = Process::spawn("redis-server", command, &log)?;
        process.wait_until(START_SECONDS, |process| {
            // Its own log confirms that the process answering on the port is this one.
            process.log().contains("Ready to accept connections") && self.answers()
        })?;
        *self.process() = Some(process);
        Ok(())
    }

    /// A server whose default user may not do anything answers too.
    fn answers(&self) -> bool {
        match self.cli(&["PING"]) {
            Ok(_) => true,
            Err(Error::Refused { answer, .. }) => !answer.starts_with("LOADING"),
            Err(_) => false,
        }
    }

    /// Freezes the process (SIGSTOP) until [`RedisServer::resume`]; connections stay open and
    /// nothing answers. A drop or a kill resumes it first.
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] or [`Error::Died`] if there is nothing to freeze.
    pub fn pause(&self) -> Result<(), Error> {
        self.signal(Signal::STOP)?;
        // ORDERING: SeqCst. Once a test; a reader comes after the signal that it stands for.
        self.paused.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Resumes a frozen process (SIGCONT); no effect on a running one.
    ///
    /// # Errors
    ///
    /// [`Error::NotRunning`] or [`Error::Died`] if there is nothing to resume.
    pub fn resume(&self) -> Result<(), Error> {
        self.signal(Signal::CONT)?;
        // ORDERING: SeqCst. Once a test; a reader comes after the signal that it stands for.
        self.paused.store(false, Ordering::SeqCst);
        Ok(())
    }

    fn signal(&self, signal: Signal) -> Result<(), Error> {
        let port = self.port();
        self.process().as_mut().ok_or(Error::NotRunning { port })?.signal(signal)
    }

    /// Whether the process is running and not frozen.
    pub(crate) fn is_awake(&self) -> bool {
        let runs = self.process().as_mut().is_some_and(|process| process.alive().is_ok());
        // ORDERING: SeqCst, as the stores.
        runs && !self.paused.load(Ordering::SeqCst)
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn port_was_taken(log: &str) -> bool {
    log.contains("Failed listening on port") || log.contains("Address already in use")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_port_that_was_taken_meanwhile_is_given_up_for_another() {
        if !crate::ready(&["redis-server"]) {
            return;
        }
        let mut taken = Vec::new();
        let server = RedisServer::start_on(&RedisOptions::default(), || {
            let port = Port::claim()?;
            if taken.is_empty() {
                taken.push(TcpListener::bind(("127.0.0.1", port.number)).unwrap());
            }
            Ok(port)
        })
        .unwrap();
        assert_ne!(server.port(), taken[0].local_addr().unwrap().port());
        assert_eq!(server.cli(&["PING"]).unwrap(), "PONG");
    }
}
