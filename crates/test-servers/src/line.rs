//! A slow link to a server: everything is delayed, and counted.

use crate::Error;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A proxy between a client and a server of Redis on this machine that delays everything for some
/// time, each way, as a network would, and counts the client's round trips.
///
/// Its threads end with the process.
///
/// ```
/// use std::time::Duration;
/// use test_servers::{Line, RedisOptions, RedisServer, ready};
///
/// # fn main() -> Result<(), test_servers::Error> {
/// if !ready(&["redis-server"]) {
///     return Ok(());
/// }
/// let server = RedisServer::start(&RedisOptions::default())?;
/// let line = Line::start(server.port(), Duration::from_millis(5))?;
/// assert!(line.url().starts_with("redis://127.0.0.1:"));
/// assert_eq!(line.trips().count, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Line {
    port: u16,
    shared: Arc<Shared>,
}

/// The traffic through a [`Line`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trips {
    /// How often the client sent something while no reply was outstanding: each time it waited for
    /// a full round trip.
    pub count: u64,
    /// The most commands outstanding at a time.
    pub most_commands: u64,
}

/// An action before a command is passed on.
type Action = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    trips: Trips,
    /// Commands whose replies have not arrived.
    open: u64,
    /// A word of a command, how many such commands are passed on first, and the action before the
    /// next.
    before: Option<(Vec<u8>, u64, Action)>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// A line to this port of 127.0.0.1 that takes `delay` each way.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if there is no port.
    pub fn start(to: u16, delay: Duration) -> Result<Self, Error> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(Error::io("listen on a port of 127.0.0.1"))?;
        let port = listener.local_addr().map_err(Error::io("look at a port"))?.port();
        let shared = Arc::<Shared>::default();
        let ours = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, to)) else { continue };
                let _ = client.set_nodelay(true).and_then(|()| server.set_nodelay(true));
                let ends = (client.try_clone(), server.try_clone());
                let (Ok(from_client), Ok(from_server)) = ends else { continue };
                let (there, back) = (Arc::clone(&ours), Arc::clone(&ours));
                pass(from_client, server, delay, Passing::Requests(there));
                pass(from_server, client, delay, Passing::Replies(back));
            }
        });
        Ok(Self { port, shared })
    }

    /// The URL for a client.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The traffic since the last call.
    pub fn trips(&self) -> Trips {
        std::mem::take(&mut self.shared.state().trips)
    }

    /// Runs an action, once, before a piece sent by the client that contains this word is passed on
    /// to the server, after `skip` such pieces: between two steps of the client.
    pub fn before(&self, word: &str, skip: u64, action: impl FnOnce() + Send + 'static) {
        self.shared.state().before = Some((word.into(), skip, Box::new(action)));
    }

    /// Whether the action of [`Line::before`] has run.
    pub fn is_done(&self) -> bool {
        self.shared.state().before.is_none()
    }
}

/// The direction in which a thread passes data on.
enum Passing {
    Requests(Arc<Shared>),
    Replies(Arc<Shared>),
}

/// Passes data on in order, each piece `delay` after it arrived.
fn pass(mut from: TcpStream, mut to: TcpStream, delay: Duration, passing: Passing) {
    let (sender, pieces): (Sender<(Instant, Vec<u8>)>, Receiver<_>) = mpsc::channel();
    let counts_replies = match &passing {
        Passing::Requests(_) => None,
        Passing::Replies(shared) => Some(Arc::clone(shared)),
    };
    let far = from.try_clone();
    thread::spawn(move || {
        let mut replies = Values::default();
        for (due, piece) in pieces {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if let Some(shared) = &counts_replies {
                let count = replies.add(&piece);
                let mut state = shared.state();
                state.open = state.open.saturating_sub(count);
            }
            if to.write_all(&piece).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        if let Ok(far) = far {
            let _ = far.shutdown(Shutdown::Both);
        }
    });
    thread::spawn(move || {
        let (mut requests, mut bytes) = (Values::default(), vec![0; 64 << 10]);
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            let piece = bytes[..length].to_vec();
            let due = Instant::now() + delay;
            if let Passing::Requests(shared) = &passing {
                note_request(shared, requests.add(&piece), &piece);
            }
            if sender.send((due, piece)).is_err() {
                break;
            }
        }
    });
}

/// Counts commands, and runs the action before them.
fn note_request(shared: &Shared, commands: u64, piece: &[u8]) {
    let mut state = shared.state();
    if state.open == 0 && commands > 0 {
        state.trips.count += 1;
    }
    state.open += commands;
    state.trips.most_commands = state.trips.most_commands.max(state.open);
    let has_word = |word: &[u8]| piece.windows(word.len()).any(|window| window == word);
    match &mut state.before {
        Some((word, skip, _)) if has_word(word) && *skip > 0 => *skip -= 1,
        Some((word, ..)) if has_word(word) => {
            // Without the lock: the action may use the line itself.
            let action = state.before.take();
            drop(state);
            if let Some((.., action)) = action {
                action();
            }
        }
        _ => {}
    }
}

/// RESP values as they arrive, in pieces.
#[derive(Default)]
struct Values {
    rest: Vec<u8>,
}

impl Values {
    /// How many values are complete with these bytes.
    fn add(&mut self, bytes: &[u8]) -> u64 {
        self.rest.extend_from_slice(bytes);
        let (mut at, mut count) = (0, 0);
        while let Some(length) = value_len(&self.rest[at..]) {
            at += length;
            count += 1;
        }
        self.rest.drain(..at);
        count
    }
}

/// The length of the value at the front of these bytes, if it is complete.
fn value_len(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")? + 2;
    let number = || std::str::from_utf8(&bytes[1..end - 2]).ok()?.parse::<i64>().ok();
    let values = match bytes[0] {
        b'$' | b'=' => {
            let length = usize::try_from(number()?).ok();
            // A null ends after the number.
            let whole = length.map_or(end, |length| end + length + 2);
            return (bytes.len() >= whole).then_some(whole);
        }
        b'*' | b'~' | b'>' => number()?,
        b'%' => number()? * 2,
        _ => 0,
    };
    let mut at = end;
    for _ in 0..values.max(0) {
        at += value_len(&bytes[at..])?;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_when_they_are_whole() {
        let all = b"+OK\r\n:1\r\n$3\r\na\r\n\r\n$-1\r\n*2\r\n$1\r\na\r\n*1\r\n:2\r\n\
                    *0\r\n*-1\r\n%1\r\n+a\r\n:1\r\n";
        assert_eq!(Values::default().add(all), 8);
        let mut pieces = Values::default();
        assert_eq!(all.iter().map(|&byte| pieces.add(&[byte])).sum::<u64>(), 8);
        assert!(pieces.rest.is_empty());
    }
}
