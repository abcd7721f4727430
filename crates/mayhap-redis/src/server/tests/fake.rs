//! A master that acknowledges a number of writes, and then is lost with exactly these: its
//! successor begins with what a replica had that got none of them.

use super::script::Strings;
use redis::Value;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// The end of the first master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It closes its connections and accepts no more; the other node has its slots.
    Dies,
    /// It answers `MOVED`, as a replica of the other node.
    IsDemoted,
    /// Its address leads to its successor, as a name that was moved does.
    IsReplaced,
}

type Other = dyn FnMut(&mut Strings, &[String]) -> Option<Value> + Send;

struct State {
    end: End,
    /// The writes that the first master acknowledges, and whether it is lost.
    writes: usize,
    is_lost: bool,
    ports: [u16; 2],
    /// The strings of the first master, and of its successor.
    strings: [Strings; 2],
    /// The reply to commands that are not about strings.
    other: Box<Other>,
}

/// Two nodes; the first one is master of all slots in the beginning.
#[derive(Clone)]
pub(crate) struct Fake {
    state: Arc<Mutex<State>>,
}

impl Fake {
    /// `other` replies to commands that are not about strings.
    pub(crate) async fn start(
        end: End,
        writes: usize,
        other: impl FnMut(&mut Strings, &[String]) -> Option<Value> + Send + 'static,
    ) -> Self {
        let listeners = [
            TcpListener::bind(("127.0.0.1", 0)).await.unwrap(),
            TcpListener::bind(("127.0.0.1", 0)).await.unwrap(),
        ];
        let ports = listeners.each_ref().map(|listener| listener.local_addr().unwrap().port());
        let (strings, other) = (Default::default(), Box::new(other));
        let state = State { end, writes, is_lost: false, ports, strings, other };
        let fake = Self { state: Arc::new(Mutex::new(state)) };
        for (node, listener) in listeners.into_iter().enumerate() {
            tokio::spawn(fake.clone().listen(node, listener));
        }
        fake
    }

    /// The cluster, or the first node alone.
    pub(crate) fn url(&self) -> String {
        let State { end, ports: [first, second], .. } = *self.state.lock().unwrap();
        match end {
            End::IsReplaced => format!("redis://127.0.0.1:{first}"),
            _ => format!("redis+cluster://127.0.0.1:{first},127.0.0.1:{second}"),
        }
    }

    /// Does something with the strings of both masters.
    pub(crate) fn strings<T>(&self, with: impl FnOnce(&mut [Strings; 2]) -> T) -> T {
        with(&mut self.state.lock().unwrap().strings)
    }

    /// Whether the first master is lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.state.lock().unwrap().is_lost
    }

    async fn listen(self, node: usize, listener: TcpListener) {
        while let Ok((stream, _)) = listener.accept().await {
            if node == 0 && self.is_lost() && self.state.lock().unwrap().end == End::Dies {
                // Another connection of a client that is not yet lost.
                continue;
            }
            tokio::spawn(self.clone().serve(node, stream));
        }
    }

    /// Answers until the connection or the node is lost.
    async fn serve(self, node: usize, stream: TcpStream) {
        let (reader, mut writer) = stream.into_split();
        let mut reader = BufReader::new(reader);
        let was_lost = self.is_lost();
        while let Some(words) = request(&mut reader).await {
            let reply = self.answer(node, was_lost, &words);
            let Some(reply) = reply else { return };
            if writer.write_all(&encode(&reply)).await.is_err() {
                return;
            }
        }
    }

    /// The reply; `None` if the connection is closed instead.
    fn answer(&self, node: usize, was_lost: bool, words: &[String]) -> Option<Value> {
        let mut state = self.state.lock().unwrap();
        let is_write = words[0] == "BITFIELD" || words[0] == "EVAL";
        if is_write && node == 0 && !state.is_lost {
            state.is_lost = state.writes == 0;
            state.writes = state.writes.saturating_sub(1);
        }
        let successor = usize::from(state.is_lost);
        match &*words[0] {
            _ if node == 0 && state.is_lost && !was_lost && state.end != End::IsDemoted => {
                return None;
            }
            "PING" | "CLIENT" => return Some(Value::Okay),
            "CONFIG" => return Some(Value::Array(Vec::new())),
            "CLUSTER" => return Some(slots(state.ports[successor])),
            _ => {}
        }
        if node != successor && state.end != End::IsReplaced {
            let slot = crate::server::slot_of(&words[if words[0] == "EVAL" { 3 } else { 1 }]);
            let moved = format!("-MOVED {slot} 127.0.0.1:{}\r\n", state.ports[successor]);
            return Some(redis::parse_redis_value(moved.as_bytes()).unwrap());
        }
        let State { strings, other, .. } = &mut *state;
        let strings = &mut strings[successor];
        strings.answer(words).or_else(|| other(strings, words)).or(Some(Value::Nil))
    }
}

/// `CLUSTER SLOTS` with one master.
fn slots(port: u16) -> Value {
    let node = vec![Value::BulkString(b"127.0.0.1".to_vec()), Value::Int(port.into())];
    let range = vec![Value::Int(0), Value::Int(16_383), Value::Array(node)];
    Value::Array(vec![Value::Array(range)])
}

/// The words of the next request, as Latin-1; `None` at the end.
async fn request(reader: &mut (impl AsyncBufReadExt + Unpin)) -> Option<Vec<String>> {
    let number = async |reader: &mut _| {
        let mut line = String::new();
        AsyncBufReadExt::read_line(reader, &mut line).await.ok()?;
        line.trim().get(1..)?.parse::<usize>().ok()
    };
    let count = number(reader).await?;
    let mut words = Vec::new();
    for _ in 0..count {
        let mut bytes = vec![0; number(reader).await? + 2];
        reader.read_exact(&mut bytes).await.ok()?;
        words.push(super::script::latin1(&bytes[..bytes.len() - 2]));
    }
    Some(words)
}

fn encode(value: &Value) -> Vec<u8> {
    match value {
        Value::Int(number) => format!(":{number}\r\n").into_bytes(),
        Value::Okay => b"+OK\r\n".to_vec(),
        Value::BulkString(bytes) => {
            [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
        }
        Value::Array(items) => {
            let head = format!("*{}\r\n", items.len()).into_bytes();
            items.iter().fold(head, |head, item| [head, encode(item)].concat())
        }
        Value::ServerError(error) => {
            format!("-{} {}\r\n", error.code(), error.details().unwrap_or_default()).into_bytes()
        }
        _ => b"$-1\r\n".to_vec(),
    }
}
