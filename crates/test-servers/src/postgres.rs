//! One `PostgreSQL` server.

use crate::Error;
use crate::port::Port;
use crate::process::{Process, mortal};
use crate::programs::need;
use rustix::process::{Signal, geteuid};
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const START_SECONDS: u64 = 60;
const PORT_TRIES: u32 = 10;
/// The user that root switches to: the server refuses to run as root.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// A running `PostgreSQL` of the newest installed version; stopped when dropped.
///
/// It trusts everyone on this machine, has the user `postgres` and does not wait for the disk
/// (`fsync=off`), so a power cut may lose its data.
#[derive(Debug)]
pub struct Postgres {
    // Before the folder, so that the process is gone when the folder goes.
    process: Process,
    port: Port,
    folder: TempDir,
}

impl Postgres {
    /// Creates a database folder, starts a server on it and waits until it answers.
    ///
    /// Listens on a port of 127.0.0.1 and on a socket in its folder. As root, the server is run as
    /// the user `postgres` or `nobody`.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] without the programs; [`Error::Died`] and [`Error::Slow`] with the log if
    /// the server ends or does not answer; [`Error::Io`].
    pub fn start() -> Result<Self, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            match Self::start_on(Port::claim()?) {
                Err(Error::Died { log, .. })
                    if log.contains("Address already in use") && tries < PORT_TRIES => {}
                other => return other,
            }
        }
    }

    fn start_on(port: Port) -> Result<Self, Error> {
        let folder = tempfile::Builder::new()
            .prefix("mayhap-postgres-")
            .tempdir()
            .map_err(Error::io("make a temporary folder"))?;
        let user = if geteuid().is_root() { Some(lesser_user()?) } else { None };
        if let Some((_, uid)) = user {
            chown(folder.path(), Some(uid), None).map_err(Error::io("give the folder away"))?;
        }
        let user = user.map(|(name, _)| name);
        let data = folder.path().join("data");
        let log = folder.path().join("log");
        // SIGQUIT: the server ends its children too and leaves no shared memory behind.
        let command = |program: &str| {
            let mut command = mortal(&need(program)?, "QUIT", user);
            command.arg("-D").arg(&data).current_dir(folder.path());
            Ok::<_, Error>(command)
        };
        let mut init = command("initdb")?;
        init.args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"]);
        Process::spawn("initdb", init, &log)?.succeed(START_SECONDS)?;
        let mut server = command("postgres")?;
        for setting in [
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={}", port.number),
            format!("unix_socket_directories={}", folder.path().display()),
            "fsync=off".to_owned(),
        ] {
            server.args(["-c", &setting]);
        }
        let pg_isready = need("pg_isready")?;
        let mut process = Process::spawn("postgres", server, &log)?.farewell(Signal::QUIT);
        process.wait_until(START_SECONDS, |_| {
            // Through the socket in its own folder, so that the answer is from this server.
            let mut ask = Command::new(&pg_isready);
            ask.arg("-h").arg(folder.path()).args(["-p", &port.number.to_string()]);
            ask.stdout(Stdio::null()).stderr(Stdio::null());
            ask.status().is_ok_and(|status| status.success())
        })?;
        Ok(Self { process, port, folder })
    }

    /// Returns the address of the database `postgres` for a client.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port())
    }

    /// Returns the port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port.number
    }

    /// Returns the folder of the socket, which is the `host` of a client that uses it.
    pub fn socket_folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// Returns the server's first process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Returns the server's output.
    pub fn log(&self) -> String {
        self.process.log()
    }
}

/// Returns the first of [`USERS`] that this system has, with its number.
fn lesser_user() -> Result<(&'static str, u32), Error> {
    let number = |name: &str| {
        let output = Command::new("id").args(["-u", name]).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    USERS
        .into_iter()
        .find_map(|name| Some((name, number(name)?)))
        .ok_or_else(|| Error::Missing(format!("PostgreSQL refuses root, and no user {USERS:?}")))
}
