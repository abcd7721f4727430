//! A server that is a function: what it was sent stays to be compared, and nothing listens.

use crate::server::backend::{Backend, How, Route};
use crate::server::node::{Failure, Sent};
use crate::{Server, ServerOptions};
use futures_util::future::{BoxFuture, FutureExt};
use redis::{Arg, Cmd, ErrorKind, Pipeline, RedisError, RedisResult, ServerError, Value};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

type Answer = dyn FnMut(&[String]) -> Value + Send;

/// Answers commands by a function, and keeps them.
pub(crate) struct Script {
    answer: Mutex<Box<Answer>>,
    sent: Mutex<Vec<Vec<String>>>,
    /// Pipelines that are carried out and whose replies are lost.
    lose: AtomicUsize,
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}

/// The words of a command, as Latin-1, so that no byte of them is lost.
pub(crate) fn words_of(cmd: &Cmd) -> Vec<String> {
    let word = |arg| match arg {
        Arg::Simple(bytes) => latin1(bytes),
        _ => String::new(),
    };
    cmd.args_iter().map(word).collect()
}

pub(crate) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

/// The bytes of a word.
pub(crate) fn bytes_of(word: &str) -> Vec<u8> {
    word.chars().map(|c| u8::try_from(c).unwrap()).collect()
}

/// A reply of bytes.
pub(crate) fn bulk(word: &str) -> Value {
    Value::BulkString(bytes_of(word))
}

impl Script {
    /// A server that answers so, and a connection to it.
    pub(crate) fn start(
        answer: impl FnMut(&[String]) -> Value + Send + 'static,
    ) -> (Arc<Self>, Server) {
        Self::with(ServerOptions::default(), answer)
    }

    /// [`Script::start`] with options. Its replica knows of no key, as one that lags behind.
    pub(crate) fn with(
        options: ServerOptions,
        answer: impl FnMut(&[String]) -> Value + Send + 'static,
    ) -> (Arc<Self>, Server) {
        let answer: Box<Answer> = Box::new(answer);
        let (answer, sent) = (Mutex::new(answer), Mutex::default());
        let script = Arc::new(Self { answer, sent, lose: AtomicUsize::new(0) });
        let server = Server::on(Box::new(Line(script.clone(), options.read_replicas)), options);
        (script, server)
    }

    /// The commands sent since the last time.
    pub(crate) fn sent(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut *self.sent.lock().unwrap())
    }

    /// Loses the replies to the next pipelines.
    pub(crate) fn lose(&self, pipelines: usize) {
        self.lose.store(pipelines, Ordering::SeqCst);
    }
}

#[derive(Debug)]
struct Line(Arc<Script>, bool);

impl Backend for Line {
    fn place(&self, _: u16, replica: bool) -> Route {
        Route { node: if replica && self.1 { "replica" } else { "master" }.into(), how: How::Plain }
    }

    fn redirected(&self, _: &Route, _: &ServerError) -> Option<Route> {
        None
    }

    fn masters(&self) -> Vec<u16> {
        vec![0]
    }

    fn losses(&self) -> u64 {
        0
    }

    fn lost_at(&self, _: u16) -> u64 {
        0
    }

    fn send<'a>(&'a self, node: &Arc<str>, pipeline: &'a Pipeline, _: bool) -> BoxFuture<'a, Sent> {
        let script = &self.0;
        let replies = pipeline.cmd_iter().map(|cmd| {
            let words = words_of(cmd);
            let reply = match &**node {
                "replica" => Value::BulkString(Vec::new()),
                _ => script.answer.lock().unwrap()(&words),
            };
            script.sent.lock().unwrap().push(words);
            reply
        });
        let replies: Vec<Value> = replies.collect();
        let left = script.lose.load(Ordering::SeqCst);
        script.lose.store(left.saturating_sub(1), Ordering::SeqCst);
        let lost = || Failure::Lost(RedisError::from((ErrorKind::Io, "the reply was lost")));
        async move { if left > 0 { Err(lost()) } else { Ok(replies) } }.boxed()
    }

    fn refresh(&self) -> BoxFuture<'_, RedisResult<()>> {
        async { Ok(()) }.boxed()
    }
}

/// Strings as a server keeps them, and what the commands on bits do to them (`docs/redis.md` names
/// these commands; their meaning is that of the manual of Redis).
#[derive(Debug, Default)]
pub(crate) struct Strings(pub(crate) HashMap<String, Vec<u8>>);

impl Strings {
    /// The reply to `BITFIELD`, `BITFIELD_RO`, `BITCOUNT` and `GETRANGE`; `None` for others.
    pub(crate) fn answer(&mut self, words: &[String]) -> Option<Value> {
        let number = |word: &String| word.parse::<usize>().unwrap();
        match &*words[0] {
            "GETRANGE" => {
                let all = self.0.get(&words[1]).map_or(&[][..], Vec::as_slice);
                let end = (number(&words[3]) + 1).min(all.len());
                let bytes = all.get(number(&words[2])..end).unwrap_or_default();
                Some(Value::BulkString(bytes.to_vec()))
            }
            "BITCOUNT" => {
                let all = self.0.get(&words[1]).map_or(&[][..], Vec::as_slice);
                let end = (number(&words[3]) + 1).min(all.len());
                let bytes = all.get(number(&words[2])..end).unwrap_or_default();
                Some(Value::Int(bytes.iter().map(|byte| i64::from(byte.count_ones())).sum()))
            }
            "BITFIELD" | "BITFIELD_RO" => Some(Value::Array(self.bits(&words[1], &words[2..]))),
            _ => None,
        }
    }

    fn bits(&mut self, key: &str, mut words: &[String]) -> Vec<Value> {
        let mut replies = Vec::new();
        while let [what, form, at, ..] = words {
            let at: usize = at.parse().unwrap();
            let width = if form == "i64" { 64 } else { 1 };
            let string = self.0.get(key).map_or(&[][..], Vec::as_slice);
            let bit =
                |at: usize| i64::from(string.get(at / 8).map_or(0, |b| b >> (7 - at % 8) & 1));
            let old = (at..at + width).fold(0i64, |number, at| number << 1 | bit(at));
            replies.push(Value::Int(old));
            if what == "SET" {
                let string = self.0.entry(key.into()).or_default();
                string.resize(string.len().max(at / 8 + 1), 0);
                string[at / 8] |= 0x80 >> (at % 8);
            }
            words = &words[if what == "SET" { 4 } else { 3 }..];
        }
        replies
    }
}
