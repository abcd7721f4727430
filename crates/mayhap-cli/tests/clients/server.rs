//! The command `mayhap serve`, running.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// `mayhap serve` on ports of its own, killed when this is dropped.
pub(crate) struct Server {
    child: Child,
    /// Its data folder and its messages.
    pub(crate) folder: TempDir,
    pub(crate) port: u16,
    pub(crate) http: u16,
}

impl Server {
    /// Starts with these arguments.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_on("data", arguments)
    }

    /// Starts on a data folder of this name and waits until it reports its address.
    pub(crate) fn start_on(data: &str, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let said = folder.path().join("said");
        let mut child = Command::new(env!("CARGO_BIN_EXE_mayhap"))
            .args(["serve", "--data", data, "--port", "0", "--http", "0"])
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stderr(File::create(&said).unwrap())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(300);
        let (port, http) = loop {
            let text = std::fs::read_to_string(&said).unwrap();
            // The line of HTTP is the last one.
            if let Some(http) = port_after(&text, "HTTP: http://127.0.0.1:") {
                break (port_after(&text, "Redis clients: 127.0.0.1:").unwrap(), http);
            }
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "{ended:?}: {text}");
            std::thread::sleep(Duration::from_millis(5));
        };
        Self { child, folder, port, http }
    }

    pub(crate) fn connect(&self, protocol: &str) -> redis::Connection {
        let url = format!("redis://127.0.0.1:{}/?protocol={protocol}", self.port);
        redis::Client::open(url).unwrap().get_connection().unwrap()
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn port_after(text: &str, start: &str) -> Option<u16> {
    let (_, rest) = text.split_once(start)?;
    let (digits, _) = rest.split_once(|c: char| !c.is_ascii_digit())?;
    digits.parse().ok()
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
