//! Three sentinels that watch a master and its replicas.

use crate::port::Port;
use crate::process::{Process, mortal, poll};
use crate::programs::need;
use crate::resp::Connection;
use crate::{Error, RedisServer};
use std::fs;
use tempfile::TempDir;

/// How long a loaded machine may need until the sentinels know one another, in seconds.
const AGREE_SECONDS: u64 = 120;
const COUNT: usize = 3;

/// Three running sentinels; killed when dropped. A master that does not answer for a second is
/// replaced by one of its replicas.
#[derive(Debug)]
pub struct RedisSentinels {
    // Before the folder, so that the processes are gone when it goes.
    processes: Vec<Process>,
    ports: Vec<Port>,
    name: String,
    folder: TempDir,
}

impl RedisSentinels {
    /// Starts them, and waits until they know one another and a replica of the master.
    ///
    /// # Errors
    ///
    /// As [`RedisServer::start`]; [`Error::Slow`].
    pub fn start(master: &RedisServer, name: &str) -> Result<Self, Error> {
        let program = need("redis-server")?;
        let folder = tempfile::Builder::new()
            .prefix("mayhap-sentinels-")
            .tempdir()
            .map_err(Error::io("make a temporary folder"))?;
        let (mut processes, mut ports) = (Vec::new(), Vec::new());
        for i in 0..COUNT {
            let port = Port::claim()?;
            let text = format!(
                "bind 127.0.0.1\nport {}\nsentinel monitor {name} 127.0.0.1 {} 2\n\
                 sentinel down-after-milliseconds {name} 1000\n\
                 sentinel failover-timeout {name} 5000\n",
                port.number,
                master.port(),
            );
            let config = folder.path().join(format!("{i}.conf"));
            fs::write(&config, text).map_err(Error::io(format!("write {}", config.display())))?;
            let mut command = mortal(&program, "KILL", None);
            command.arg(&config).arg("--sentinel").current_dir(folder.path());
            let log = folder.path().join(format!("{i}.log"));
            processes.push(Process::spawn("redis-server --sentinel", command, &log)?);
            ports.push(port);
        }
        let mut sentinels = Self { processes, ports, name: name.to_owned(), folder };
        sentinels.wait_ready()?;
        Ok(sentinels)
    }

    fn wait_ready(&mut self) -> Result<(), Error> {
        let (folder, processes) = (self.folder.path().to_owned(), &mut self.processes);
        poll(&format!("sentinels in {}", folder.display()), AGREE_SECONDS, || {
            processes.iter_mut().try_for_each(Process::alive)?;
            for port in &self.ports {
                let ask = |words: &[&str]| {
                    Connection::open(port.number, None).and_then(|mut to| to.ask(words))
                };
                let quorum = ask(&["SENTINEL", "CKQUORUM", &self.name]);
                let others = ask(&["SENTINEL", "SENTINELS", &self.name]).unwrap_or_default();
                let replicas = ask(&["SENTINEL", "REPLICAS", &self.name]).unwrap_or_default();
                let known = others.lines().filter(|line| *line == "runid").count();
                if quorum.is_err() || known + 1 < COUNT || replicas.trim().is_empty() {
                    return Ok(Err(format!("{quorum:?}\n{others}\n{replicas}")));
                }
            }
            Ok(Ok(()))
        })
    }

    /// Returns the addresses as `host:port`.
    pub fn addresses(&self) -> Vec<String> {
        self.ports.iter().map(|port| format!("127.0.0.1:{}", port.number)).collect()
    }
}
