//! A server under load: its port, its processor time and its memory.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Any error.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// A process that listens on a port of its own; killed when dropped.
pub struct Process {
    child: Child,
    port: u16,
}

impl Process {
    /// Starts `mayhap serve`, with a data folder and this policy or without.
    pub fn mayhap(program: &Path, data: Option<(&Path, &str)>) -> Result<Self, Error> {
        Self::mayhap_with(program, data, &[])
    }

    /// The same with further arguments.
    pub fn mayhap_with(
        program: &Path,
        data: Option<(&Path, &str)>,
        arguments: &[&str],
    ) -> Result<Self, Error> {
        let port = free_port()?;
        let mut command = Command::new(program);
        // One, like Redis: the load takes the other CPU.
        command.args(["serve", "--quiet", "--threads", "1", "--port"]).arg(port.to_string());
        command.args(arguments);
        if let Some((folder, policy)) = data {
            command.arg("--data").arg(folder).args(["--appendfsync", policy]);
        }
        Self::start(command, port)
    }

    /// Starts Redis without persistence.
    pub fn redis() -> Result<Self, Error> {
        let port = free_port()?;
        let mut command = Command::new("redis-server");
        command.args(["--save", "", "--appendonly", "no", "--port"]).arg(port.to_string());
        Self::start(command, port)
    }

    fn start(mut command: Command, port: u16) -> Result<Self, Error> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
        let mut process = Self { child, port };
        let until = Instant::now() + Duration::from_secs(120);
        while !process.answers() {
            if let Some(status) = process.child.try_wait()? {
                return Err(format!("{command:?} ended: {status}").into());
            }
            if Instant::now() > until {
                return Err(format!("{command:?} does not answer").into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(process)
    }

    /// Whether a server answers, even if it requires a password.
    fn answers(&self) -> bool {
        match self.ask(b"PING\r\n") {
            Ok(()) => true,
            Err(error) => error.to_string().starts_with("-NOAUTH"),
        }
    }

    /// A new connection of a Redis client.
    pub fn connect(&self) -> Result<TcpStream, Error> {
        let stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Sends an inline command and reads one piece of answer; an error is one.
    pub fn ask(&self, command: &[u8]) -> Result<(), Error> {
        let mut stream = self.connect()?;
        stream.write_all(command)?;
        let mut answer = [0; 512];
        let length = stream.read(&mut answer)?;
        match answer.first() {
            Some(b'-') | None => Err(String::from_utf8_lossy(&answer[..length]).into()),
            Some(_) => Ok(()),
        }
    }

    /// Like [`Process::ask`], with one right answer.
    pub fn expect(&self, command: &[u8], right: &[u8]) -> Result<(), Error> {
        let mut stream = self.connect()?;
        stream.write_all(command)?;
        let mut answer = vec![0; right.len()];
        stream.read_exact(&mut answer)?;
        if answer == right { Ok(()) } else { Err(String::from_utf8_lossy(&answer).into()) }
    }

    /// The seconds of CPU of all threads so far.
    pub fn cpu(&self) -> Result<f64, Error> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name, which may have blanks, ends with the last bracket.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let ticks = |i: usize| fields.get(i).and_then(|field| field.parse::<f64>().ok());
        // Hundredths of a second on every Linux.
        let used = ticks(11).zip(ticks(12)).map(|(user, system)| (user + system) / 100.0);
        used.ok_or_else(|| "no CPU time in the process' status".into())
    }

    /// Bytes in memory.
    pub fn resident(&self) -> Result<u64, Error> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kib.map(|kib| kib * 1024).ok_or_else(|| "no memory in the process' status".into())
    }

    /// The port for Redis clients.
    pub const fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free a moment ago.
///
/// # Errors
///
/// If the system has none.
pub fn free_port() -> Result<u16, Error> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
