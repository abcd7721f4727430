//! Bits of many keys, set or read by few commands.
//!
//! One `BITFIELD` carries the bits of one key, or of several keys of a batch one after the other;
//! its reply has the old value of each bit. The server executes it atomically, in a third of the
//! time of one command per bit.

use crate::server::{Command, Reply, Server};
use crate::{Error, InsertedBatch, Loss};
use mayhap::Bitmap;
use mayhap_formats::Scheme;
use redis::{Cmd, Value};

/// The bits per command, unless a single key has more: so no command blocks a server for long, and
/// the words fit on the stack of a script (8,000).
const MAX_BITS: usize = 1_024;

/// The operation on the bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// They are set.
    Set,
    /// They are read.
    Get,
}

impl Op {
    fn push(self, cmd: &mut Cmd, position: u64) {
        match self {
            Self::Set => cmd.arg("SET").arg("u1").arg(position).arg(1),
            Self::Get => cmd.arg("GET").arg("u1").arg(position),
        };
    }
}

/// The bits of some keys of a batch in one bitmap.
pub(crate) struct Part {
    command: Command,
    /// The key of the bitmap.
    bitmap: String,
    /// Indices in the batch.
    keys: Vec<usize>,
}

/// The commands for these keys of a batch, which all have their bits in one bitmap: `begin` with
/// the words that set or read each bit.
pub(crate) fn parts<S: Scheme>(
    bitmap: &str,
    scheme: &S,
    op: Op,
    keys: &[(usize, &[u8])],
    begin: impl Fn() -> Command,
) -> Vec<Part> {
    let keys_each = (MAX_BITS / scheme.num_hashes() as usize).max(1);
    let part = |keys: &[(usize, &[u8])]| {
        let mut command = begin();
        for (_, key) in keys {
            scheme.positions(key, |position| {
                op.push(&mut command.cmd, position);
                true
            });
        }
        let keys = keys.iter().map(|&(i, _)| i).collect();
        Part { command, bitmap: bitmap.into(), keys }
    };
    keys.chunks(keys_each).map(part).collect()
}

/// The outcome for one key.
struct Answer {
    /// Its index in the batch.
    index: usize,
    /// Whether all bits of the key were set.
    all: bool,
    repeated: bool,
}

/// Sends the commands, which have k bits for each key, in one pipeline per node, followed by
/// another command for its node.
async fn answers(
    server: &Server,
    k: u32,
    parts: Vec<Part>,
    then: Option<Command>,
) -> Result<(Vec<Answer>, Option<Reply>), Error> {
    if parts.is_empty() {
        return Ok((Vec::new(), None));
    }
    let commands = parts.iter().map(|part| part.command.clone());
    let replies = server.run(commands.chain(then).collect()).await?;
    let mut replies = replies.into_iter();
    let mut answers = Vec::new();
    for (part, reply) in parts.into_iter().zip(&mut replies) {
        let repeated = reply.repeated;
        let value = reply.of(&part.bitmap, "BITFIELD")?;
        let bits = match &value {
            Value::Array(bits) if bits.len() == part.keys.len() * k as usize => bits,
            Value::Nil => return Err(changed(&part.bitmap)),
            other => return Err(Error::strange("BITFIELD", other)),
        };
        for (&index, bits) in part.keys.iter().zip(bits.chunks_exact(k as usize)) {
            let all = bits.iter().all(|bit| *bit == Value::Int(1));
            answers.push(Answer { index, all, repeated });
        }
    }
    Ok((answers, replies.next()))
}

/// The meaning of a nil reply from a script: the filter has been replaced.
fn changed(bitmap: &str) -> Error {
    Error::Gone { name: bitmap.into(), loss: Loss::Replaced.into() }
}

/// Sets the bits of `len` keys.
pub(crate) async fn insert(
    server: &Server,
    k: u32,
    len: usize,
    parts: Vec<Part>,
) -> Result<InsertedBatch, Error> {
    let mut batch = InsertedBatch::present(len);
    for answer in answers(server, k, parts, None).await?.0 {
        batch.note(answer.index, !answer.all, answer.repeated);
    }
    Ok(batch)
}

/// Reads the bits of `len` keys, then sends another command: returns its reply, unless there are no
/// keys.
pub(crate) async fn contains(
    server: &Server,
    k: u32,
    len: usize,
    parts: Vec<Part>,
    then: Option<Command>,
) -> Result<(Bitmap, Option<Reply>), Error> {
    let mut found = Bitmap::new();
    found.clear_to(len);
    let (answers, then) = answers(server, k, parts, then).await?;
    for answer in answers {
        if answer.all {
            found.set(answer.index);
        }
    }
    Ok((found, then))
}
