//! A client that is never the slower one: requests that were written beforehand, over many
//! connections of one thread. (`redis-benchmark` writes the keys of each request as it sends it: it
//! takes longer for commands with keys than for commands without, and longer than a server for its
//! answers.)

use mayhap_bench::keys::mix;
use mayhap_bench::process::{Error, Process};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The placeholder in a command for a number of 12 digits below [`NUMBERS`].
const NUMBER: &str = "__number__";
const NUMBERS: u64 = 1_000_000;
/// The placeholder for a number of 7 digits, without leading zeros, which Redis does not accept in
/// numbers.
pub(crate) const BIT: &str = "__bit__";
/// The time within which a working server answers.
const PATIENCE: Duration = Duration::from_secs(30);

/// The load on a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) clients: usize,
    /// Commands that a connection sends at once.
    pub(crate) pipeline: u64,
    /// Commands of all.
    pub(crate) commands: u64,
    /// Lines of the answer to each.
    pub(crate) lines: u64,
}

/// Commands a second, while each connection sends the next ones when the last ones were answered.
pub(crate) fn run(server: &Process, load: Load, command: &[&str]) -> Result<f64, Error> {
    // Other numbers each time: the keys that one run inserts are not queried by the next one.
    static LOADS: AtomicU64 = AtomicU64::new(1);
    // ORDERING: Relaxed. The number is all that is handed over.
    let seed = LOADS.fetch_add(1, Ordering::Relaxed) << 40;
    let (requests, bytes) = requests(command, load.commands, seed);
    let lines = |batch: &[u8]| (batch.len() / bytes) as u64 * load.lines;
    let mut batches = requests.chunks(bytes * load.pipeline as usize);
    let mut poll = Poll::new()?;
    let mut clients = Vec::new();
    for number in 0..load.clients {
        let stream = server.connect()?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        let interest = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(&mut stream, Token(number), interest)?;
        clients.push(Client { stream, unsent: &[], due: 0 });
    }
    let mut events = Events::with_capacity(load.clients);
    let clock = Instant::now();
    let mut open = 0;
    for (client, batch) in clients.iter_mut().zip(&mut batches) {
        client.send(batch, lines(batch))?;
        open += 1;
    }
    while open > 0 {
        poll.poll(&mut events, Some(PATIENCE))?;
        if events.is_empty() {
            return Err(format!("no answer to {} within {PATIENCE:?}", command[0]).into());
        }
        for event in &events {
            let client = &mut clients[event.token().0];
            if event.is_writable() {
                client.write()?;
            }
            if client.due == 0 || !event.is_readable() || !client.read()? {
                continue;
            }
            match batches.next() {
                Some(batch) => client.send(batch, lines(batch))?,
                None => open -= 1,
            }
        }
    }
    Ok(load.commands as f64 / clock.elapsed().as_secs_f64())
}

/// `commands` commands one after another, and the bytes of each.
fn requests(command: &[&str], commands: u64, seed: u64) -> (Vec<u8>, usize) {
    let mut number = seed;
    let mut out = Vec::new();
    for _ in 0..commands {
        out.extend(format!("*{}\r\n", command.len()).into_bytes());
        for word in command {
            number += 1;
            let word = word
                .replace(NUMBER, &format!("{:012}", mix(number) % NUMBERS))
                .replace(BIT, &(1_000_000 + mix(number) % 9_000_000).to_string());
            out.extend(format!("${}\r\n{word}\r\n", word.len()).into_bytes());
        }
    }
    let bytes = out.len() / commands.max(1) as usize;
    (out, bytes)
}

struct Client<'a> {
    stream: TcpStream,
    unsent: &'a [u8],
    /// The number of lines that are still to arrive.
    due: u64,
}

impl<'a> Client<'a> {
    fn send(&mut self, batch: &'a [u8], lines: u64) -> Result<(), Error> {
        (self.unsent, self.due) = (batch, lines);
        self.write()
    }

    fn write(&mut self) -> Result<(), Error> {
        while !self.unsent.is_empty() {
            match self.stream.write(self.unsent) {
                Ok(written) => self.unsent = &self.unsent[written..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Reads the available bytes; returns whether all have arrived.
    fn read(&mut self) -> Result<bool, Error> {
        let mut buffer = [0; 16_384];
        loop {
            let found = match self.stream.read(&mut buffer) {
                Ok(0) => return Err("the server closed a connection".into()),
                Ok(found) => &buffer[..found],
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error.into()),
            };
            let count = |wanted| found.iter().filter(|&&byte| byte == wanted).count() as u64;
            // No answer that is right has one.
            if count(b'-') > 0 {
                return Err(String::from_utf8_lossy(&found[..found.len().min(200)]).into());
            }
            let lines = count(b'\n');
            self.due = self.due.checked_sub(lines).ok_or("more answers than commands")?;
            // A short piece is the last one: later bytes are another event.
            if self.due == 0 || found.len() < buffer.len() {
                return Ok(self.due == 0);
            }
        }
    }
}
