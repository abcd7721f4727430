//! The listener, its connections, and the view of it for tests.

use super::dialect::Dialect;
use super::keyspace::Keyspace;
use super::reply::Reply;
use super::table;
use crate::Error;
use crate::resp::Connection;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The most words of a command, and bytes of a word.
const MAX_WORDS: u64 = 1 << 20;
const MAX_BYTES: u64 = 64 << 20;

/// A server with `BF.*` commands in this process, for tests without a real one: it answers in the
/// words of `RedisBloom` or of valkey-bloom, with RESP2 and one database.
///
/// Its threads end with the process.
///
/// ```
/// use test_servers::{BfServer, Dialect};
///
/// # fn main() -> Result<(), test_servers::Error> {
/// let server = BfServer::start(Dialect::RedisBloom)?;
/// assert_eq!(server.cli(&["BF.RESERVE", "seen", "0.01", "1000"])?, "OK");
/// assert_eq!(server.cli(&["BF.MADD", "seen", "a", "b", "a"])?, "1\n1\n0");
/// assert_eq!(server.cli(&["BF.CARD", "seen"])?, "2");
/// assert_eq!(server.names(), ["seen"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct BfServer {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    dialect: Dialect,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    keys: Keyspace,
    /// Whether to execute the next write without answering it.
    drop_reply: bool,
    /// The `BF.*` commands received.
    calls: Vec<String>,
}

impl BfServer {
    /// A server on a free port of 127.0.0.1, without any filter.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if there is no port.
    pub fn start(dialect: Dialect) -> Result<Self, Error> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(Error::io("listen on a port of 127.0.0.1"))?;
        let port = listener.local_addr().map_err(Error::io("look at a port"))?.port();
        let shared = Arc::new(Shared { dialect, state: Mutex::default() });
        let ours = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&ours);
                // The client detects the end of its connection itself.
                thread::spawn(move || shared.serve(stream));
            }
        });
        Ok(Self { port, shared })
    }

    /// The address for a client.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Sends a command over a connection of its own; the answer as `redis-cli` prints it into a
    /// pipe.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] with the error that is the answer, or in it; [`Error::Io`].
    pub fn cli(&self, command: &[&str]) -> Result<String, Error> {
        Connection::open(self.port, None)?.ask(command)
    }

    /// Executes the next write and closes the connection instead of answering.
    pub fn drop_next_reply(&self) {
        self.shared.state().drop_reply = true;
    }

    /// The names of the `BF.*` commands received since the last call, in upper case.
    pub fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.state().calls)
    }

    /// All names that have a value, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut state = self.shared.state();
        state.keys.drop_expired();
        state.keys.names()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the commands of a connection in turn, until it ends.
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let (mut out, mut input) = (BufWriter::new(stream.try_clone()?), BufReader::new(stream));
        let mut bytes = Vec::new();
        loop {
            let words = command(&mut input)?;
            let Some(reply) = self.answer(&words) else { return out.flush() };
            bytes.clear();
            reply.write(&mut bytes);
            out.write_all(&bytes)?;
            // Answers to a pipeline are sent together.
            if input.buffer().is_empty() {
                out.flush()?;
            }
        }
    }

    /// The answer to a command; `None` if it has to be lost.
    fn answer(&self, words: &[Vec<u8>]) -> Option<Reply> {
        let name = words.first().map(|word| String::from_utf8_lossy(word).to_uppercase())?;
        let mut state = self.state();
        if name.starts_with("BF.") {
            state.calls.push(name.clone());
        }
        let answer = table::execute(self.dialect, &mut state.keys, (&name, words));
        let is_lost = state.drop_reply && table::is_write(self.dialect, &name);
        state.drop_reply &= !is_lost;
        (!is_lost).then(|| answer.unwrap_or_else(Reply::Error))
    }
}

/// Reads an array of bulk strings.
fn command(input: &mut impl BufRead) -> io::Result<Vec<Vec<u8>>> {
    let count = length(input, b'*', MAX_WORDS)?;
    (0..count).map(|_| word(input)).collect()
}

fn word(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let length = length(input, b'$', MAX_BYTES)?;
    let mut word = Vec::new();
    input.take(length + 2).read_to_end(&mut word)?;
    if word.len() as u64 != length + 2 || !word.ends_with(b"\r\n") {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    word.truncate(word.len() - 2);
    Ok(word)
}

/// The number of a line that begins with this byte.
fn length(input: &mut impl BufRead, kind: u8, most: u64) -> io::Result<u64> {
    let mut line = Vec::new();
    input.take(32).read_until(b'\n', &mut line)?;
    let number = line.strip_prefix(&[kind]).and_then(|rest| rest.strip_suffix(b"\r\n"));
    let number = number.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    number.filter(|&number| number <= most).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
