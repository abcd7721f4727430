//! A stand-in for a server with `BF.*` commands, as there is none to test with.
//!
//! It answers in the words and shapes of `RedisBloom` 8.8 and of valkey-bloom 1.0.1 on RESP2, from
//! filters of our own.

use mayhap::BloomFilter;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    RedisBloom,
    Valkey,
}

struct Layer {
    bits: BloomFilter,
    capacity: u64,
    items: u64,
}

struct Filter {
    layers: Vec<Layer>,
    /// 0: it does not grow.
    expansion: u64,
    error_rate: f64,
}

impl Filter {
    fn new(error_rate: f64, capacity: u64, expansion: u64) -> Self {
        let mut filter = Self { layers: Vec::new(), expansion, error_rate };
        filter.grow(capacity);
        filter
    }

    fn grow(&mut self, capacity: u64) {
        let builder = BloomFilter::builder().expected_items(capacity);
        let bits = builder.target_fpp(self.error_rate / 2.0).build().unwrap();
        self.layers.push(Layer { bits, capacity, items: 0 });
    }

    fn contains(&self, key: &[u8]) -> bool {
        self.layers.iter().any(|layer| layer.bits.contains(key))
    }

    fn insert(&mut self, key: &[u8]) -> Result<bool, &'static str> {
        if self.contains(key) {
            return Ok(false);
        }
        let last = self.layers.last().unwrap();
        if last.items >= last.capacity {
            if self.expansion == 0 {
                return Err("ERR non scaling filter is full");
            }
            self.grow(last.capacity * self.expansion);
        }
        let last = self.layers.last_mut().unwrap();
        last.items += 1;
        last.bits.insert(key);
        Ok(true)
    }

    fn items(&self) -> u64 {
        self.layers.iter().map(|layer| layer.items).sum()
    }

    fn info(&self, dialect: Dialect) -> String {
        let capacity: u64 = self.layers.iter().map(|layer| layer.capacity).sum();
        let bytes: u64 = self.layers.iter().map(|layer| layer.bits.params().num_bits() / 8).sum();
        let (layers, items) = (self.layers.len(), self.items());
        let grows = self.expansion > 0;
        let mut pairs = vec![
            ("Capacity", format!(":{capacity}\r\n")),
            ("Size", format!(":{}\r\n", 32 + 64 * layers as u64 + bytes)),
            ("Number of filters", format!(":{layers}\r\n")),
            ("Number of items inserted", format!(":{items}\r\n")),
        ];
        if dialect == Dialect::Valkey {
            pairs.push(("Error rate", bulk(&self.error_rate.to_string())));
        }
        let expansion = if grows { format!(":{}\r\n", self.expansion) } else { "$-1\r\n".into() };
        pairs.push(("Expansion rate", expansion));
        if dialect == Dialect::Valkey && grows {
            pairs.push(("Tightening ratio", bulk("0.5")));
            pairs.push(("Max scaled capacity", ":26214300\r\n".into()));
        }
        let mut out = format!("*{}\r\n", pairs.len() * 2);
        for (name, value) in pairs {
            let _ = write!(out, "+{name}\r\n{value}");
        }
        out
    }
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// What a key holds.
enum Held {
    Filter(Filter),
    Text,
}

/// The server: threads that end with the process.
pub(crate) struct BfServer {
    port: u16,
    state: Arc<State>,
}

struct State {
    dialect: Dialect,
    keys: Mutex<HashMap<Vec<u8>, Held>>,
    drop_reply: AtomicBool,
    calls: Mutex<Vec<String>>,
}

impl BfServer {
    pub(crate) fn start(dialect: Dialect) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            dialect,
            keys: Mutex::default(),
            drop_reply: AtomicBool::new(false),
            calls: Mutex::default(),
        });
        let server = Self { port, state: state.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let state = state.clone();
                std::thread::spawn(move || state.serve(stream.unwrap()));
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    /// Carries out the next write and closes the connection instead of answering.
    pub(crate) fn drop_next_reply(&self) {
        self.state.drop_reply.store(true, Ordering::SeqCst);
    }

    /// The `BF.*` commands since the last time.
    pub(crate) fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.state.calls.lock().unwrap())
    }
}

impl State {
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut out = stream.try_clone()?;
        let mut input = BufReader::new(stream);
        loop {
            let words = command(&mut input)?;
            let name = String::from_utf8_lossy(&words[0]).to_uppercase();
            let answer = match self.answer(&name, &words) {
                Ok(answer) => answer,
                Err(words) => format!("-{words}\r\n"),
            };
            let is_write = ["BF.INSERT", "BF.RESERVE"].contains(&&*name);
            if is_write && self.drop_reply.swap(false, Ordering::SeqCst) {
                return Ok(());
            }
            out.write_all(answer.as_bytes())?;
        }
    }

    fn answer(&self, name: &str, words: &[Vec<u8>]) -> Result<String, String> {
        const WRONG: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
        let mut keys = self.keys.lock().unwrap();
        if name.starts_with("BF.") {
            self.calls.lock().unwrap().push(name.to_owned());
        }
        let Some(key) = words.get(1).cloned() else { return Err(unknown(name)) };
        let valkey = self.dialect == Dialect::Valkey;
        let filter = match keys.get_mut(&key) {
            Some(Held::Filter(filter)) => Some(filter),
            // RedisBloom answers questions about other values with no.
            Some(Held::Text) if name != "BF.MEXISTS" || valkey => {
                if name.starts_with("BF.") {
                    return Err(WRONG.into());
                }
                None
            }
            _ => None,
        };
        match (name, filter) {
            ("BF.RESERVE", Some(_)) => Err("ERR item exists".into()),
            ("BF.RESERVE", None) => {
                let filter = reserve(&words[2..], valkey)?;
                keys.insert(key, Held::Filter(filter));
                Ok("+OK\r\n".into())
            }
            ("BF.INSERT" | "BF.INFO", None) => Err("ERR not found".into()),
            ("BF.INSERT", Some(filter)) => {
                assert_eq!((&*words[2], &*words[3]), (&b"NOCREATE"[..], &b"ITEMS"[..]));
                let mut answers = Vec::new();
                for item in &words[4..] {
                    match filter.insert(item) {
                        Ok(new) => answers.push(format!(":{}\r\n", u8::from(new))),
                        Err(words) => {
                            answers.push(format!("-{words}\r\n"));
                            break;
                        }
                    }
                }
                Ok(format!("*{}\r\n{}", answers.len(), answers.concat()))
            }
            ("BF.MEXISTS", filter) => {
                let is = |item: &Vec<u8>| filter.as_ref().is_some_and(|f| f.contains(item));
                let answers = words[2..].iter().map(|item| format!(":{}\r\n", u8::from(is(item))));
                Ok(format!("*{}\r\n{}", words.len() - 2, answers.collect::<String>()))
            }
            ("BF.INFO", Some(filter)) => match words.get(2).map(Vec::as_slice) {
                None => Ok(filter.info(self.dialect)),
                Some(b"ERROR") if valkey => Ok(bulk(&filter.error_rate.to_string())),
                Some(_) if valkey => Err("ERR invalid information value".into()),
                Some(_) => Err("Invalid information value".into()),
            },
            ("BF.CARD", filter) => Ok(format!(":{}\r\n", filter.map_or(0, |f| f.items()))),
            ("EXISTS", _) => Ok(format!(":{}\r\n", u8::from(keys.contains_key(&key)))),
            ("PTTL", _) => Ok(":-1\r\n".into()),
            ("DEL", _) => Ok(format!(":{}\r\n", u8::from(keys.remove(&key).is_some()))),
            ("SET", _) => {
                keys.insert(key, Held::Text);
                Ok("+OK\r\n".into())
            }
            _ => Err(unknown(name)),
        }
    }
}

fn unknown(name: &str) -> String {
    format!("ERR unknown command '{name}', with args beginning with: ")
}

/// The words of `BF.RESERVE` after the key.
fn reserve(words: &[Vec<u8>], valkey: bool) -> Result<Filter, String> {
    let word = |i: usize| words.get(i).map(|word| String::from_utf8(word.clone()).unwrap());
    let error_rate: f64 = word(0).unwrap().parse().map_err(|_| "ERR bad error rate")?;
    if !(error_rate > 0.0 && error_rate < 1.0) {
        let range = "ERR error rate must be in the range (0.000000, 1.000000)";
        return Err(if valkey { "ERR (0 < error rate range < 1)" } else { range }.into());
    }
    let capacity: u64 = word(1).unwrap().parse().map_err(|_| "ERR bad capacity")?;
    let allowed = 1..=if valkey { 100_000_000 } else { 1 << 30 };
    if !allowed.contains(&capacity) {
        return Err(match (valkey, capacity) {
            (false, _) => "ERR capacity must be in the range [1, 1073741824]",
            (true, 0) => "ERR (capacity should be larger than 0)",
            (true, _) => "ERR operation exceeds bloom object memory limit",
        }
        .into());
    }
    let expansion = match word(2).as_deref() {
        None => 2,
        Some("NONSCALING") => 0,
        Some("EXPANSION") => word(3).unwrap().parse().map_err(|_| "ERR bad expansion")?,
        Some(_) => return Err("ERROR".into()),
    };
    if valkey && expansion == 0 && word(2).as_deref() == Some("EXPANSION") {
        return Err("ERR bad expansion".into());
    }
    Ok(Filter::new(error_rate, capacity, expansion))
}

/// Reads an array of bulk strings.
fn command(input: &mut impl BufRead) -> io::Result<Vec<Vec<u8>>> {
    fn length(input: &mut impl BufRead) -> io::Result<usize> {
        let mut line = String::new();
        input.read_line(&mut line)?;
        line.trim_end()
            .get(1..)
            .and_then(|n| n.parse().ok())
            .ok_or(io::ErrorKind::InvalidData.into())
    }
    let count = length(input)?;
    (0..count)
        .map(|_| {
            let len = length(input)?;
            let mut word = vec![0; len + 2];
            input.read_exact(&mut word)?;
            word.truncate(len);
            Ok(word)
        })
        .collect()
}
