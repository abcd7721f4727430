//! The contents of frames: insertions and operations.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | `kind` |
//! | 3 | reserved, 0 |
//! | 4 | `count` |
//! | 8 | `id` of the filter |
//! | … | by kind |
//!
//! | kind | item | `count` | then |
//! |---|---|---|---|
//! | 1 | digests inserted, new or not: of version 0.1 | digests | 8 bytes each |
//! | 2 | keys inserted | keys | each: length (4), bytes |
//! | 3 | digests in order | digests | `order` (8), `what` (8), 8 bytes each |
//! | 4 | digests inserted that were new | digests | 8 bytes each |
//! | 5 | digests inserted that were present | digests | 8 bytes each |
//! | 16 | create | bytes of the name | `expires_at` (8), bytes of the spec (4), name, spec |
//! | 17 | a part of contents | bytes | `part` (8), bytes |
//! | 18 | remove | 0 | |
//! | 19 | rename | bytes of the name | name |
//! | 20 | expire | 0 | `expires_at` (8) |
//! | 21 | clear | 0 | |
//! | 22 | fold | bytes of the size | size |
//! | 23 | unite | bytes of the piece | `num_bits` (8), `offset` (8), `items` (8), piece |
//!
//! All numbers are little-endian. Parts of contents belong to the filter that a later item creates
//! with them; one without parts is empty.

use super::input::Input;
use super::replay::{Nobody, Piece};
use super::{Answered, Operation, Replay, ReplayError};
use mayhap::Digest;
use std::collections::HashSet;

const INSERT: u8 = 1;
pub(super) const KEYS: u8 = 2;
pub(super) const ORDERED: u8 = 3;
pub(super) const NEW: u8 = 4;
pub(super) const THERE: u8 = 5;
const CREATE: u8 = 16;
const LOAD: u8 = 17;
const REMOVE: u8 = 18;
const RENAME: u8 = 19;
const EXPIRE: u8 = 20;
const CLEAR: u8 = 21;
const FOLD: u8 = 22;
const UNITE: u8 = 23;

/// Bytes of an item before the fields that differ by kind.
pub(super) const HEAD_BYTES: usize = 16;
/// Offset of the count in an item.
pub(super) const COUNT: usize = 4;

pub(super) fn encode_head(out: &mut Vec<u8>, kind: u8, count: usize, id: u64) {
    out.extend_from_slice(&[kind, 0, 0, 0]);
    out.extend_from_slice(&(count as u32).to_le_bytes());
    out.extend_from_slice(&id.to_le_bytes());
}

pub(super) fn encode_digests(out: &mut Vec<u8>, digests: &[Digest]) {
    out.extend(digests.iter().flat_map(|digest| digest.get().to_le_bytes()));
}

/// Size of the item of an operation in bytes, or an upper bound.
pub(super) fn operation_bytes(operation: &Operation<'_>) -> usize {
    let parts = match operation {
        Operation::Create { name, spec, .. } => name.len() + spec.len(),
        Operation::Load { bytes, .. } => bytes.len(),
        Operation::Fold { to, .. } => to.len(),
        Operation::Unite { bits, .. } => 8 + bits.len(),
        Operation::Rename { name, .. } => name.len(),
        Operation::Remove { .. } | Operation::Expire { .. } | Operation::Clear => 0,
    };
    parts + HEAD_BYTES + 16
}

pub(super) fn encode_operation(out: &mut Vec<u8>, operation: &Operation<'_>) {
    match *operation {
        Operation::Create { id, name, spec, expires_at } => {
            encode_head(out, CREATE, name.len(), id);
            out.extend_from_slice(&expires_at.to_le_bytes());
            out.extend_from_slice(&(spec.len() as u32).to_le_bytes());
            out.extend_from_slice(name);
            out.extend_from_slice(spec);
        }
        Operation::Load { id, part, bytes } => {
            encode_head(out, LOAD, bytes.len(), id);
            out.extend_from_slice(&part.to_le_bytes());
            out.extend_from_slice(bytes);
        }
        Operation::Remove { id } => encode_head(out, REMOVE, 0, id),
        Operation::Rename { id, name } => {
            encode_head(out, RENAME, name.len(), id);
            out.extend_from_slice(name);
        }
        Operation::Expire { id, expires_at } => {
            encode_head(out, EXPIRE, 0, id);
            out.extend_from_slice(&expires_at.to_le_bytes());
        }
        Operation::Clear => encode_head(out, CLEAR, 0, 0),
        Operation::Fold { id, to } => {
            encode_head(out, FOLD, to.len(), id);
            out.extend_from_slice(to);
        }
        Operation::Unite { id, num_bits, offset, items, bits } => {
            encode_head(out, UNITE, bits.len(), id);
            for number in [num_bits, offset, items] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            out.extend_from_slice(bits);
        }
    }
}

/// The totals of a payload.
#[derive(Debug, Default)]
pub(super) struct Replayed {
    pub(super) digests: u64,
    pub(super) keys: u64,
    pub(super) operations: u64,
    /// One more than the highest id that was created, or that has contents.
    pub(super) next_id: u64,
    /// The filters whose contents changed.
    pub(super) filters: HashSet<u64>,
    /// The filters whose names or expiries were set.
    pub(super) listed: HashSet<u64>,
    /// The filters, in order, to which records are limited; all without it.
    only: Option<Vec<u64>>,
    scratch: Vec<Digest>,
}

impl Replayed {
    /// Before the first record; of filters other than `only`, nothing is passed on.
    pub(super) fn none(only: Option<&[u64]>) -> Self {
        Self { only: only.map(<[u64]>::to_vec), ..Self::default() }
    }

    fn passes_on(&self, kind: u32, id: u64) -> bool {
        let is_one = |only: &Vec<u64>| only.binary_search(&id).is_ok();
        kind == u32::from(CLEAR) || self.only.as_ref().is_none_or(is_one)
    }
}

/// Passes all items of a payload to `replay`.
///
/// # Errors
///
/// The error of `replay`, or [`ReplayError`] if these bytes are not items.
pub(super) fn replay_items(
    mut bytes: &[u8],
    replay: &dyn Replay,
    done: &mut Replayed,
) -> Result<(), ReplayError> {
    while !bytes.is_empty() {
        bytes = replay_item(bytes, replay, done)?;
    }
    Ok(())
}

fn replay_item<'a>(
    bytes: &'a [u8],
    replay: &dyn Replay,
    done: &mut Replayed,
) -> Result<&'a [u8], ReplayError> {
    let mut input = Input(bytes);
    let kind = input.u32()?;
    let count = input.u32()? as usize;
    let id = input.u64()?;
    let replay = if done.passes_on(kind, id) { replay } else { &Nobody };
    match u8::try_from(kind).map_err(|_| ReplayError::UnknownItem { kind })? {
        kind @ (INSERT | NEW | THERE) => {
            let answered = match kind {
                NEW => Answered::New,
                THERE => Answered::There,
                _ => Answered::Unknown,
            };
            input.digests(count, &mut done.scratch)?;
            replay.insert(id, &done.scratch, answered)?;
            done.digests += count as u64;
        }
        KEYS => {
            let start = input;
            for _ in 0..count {
                input.key()?;
            }
            let mut keys = start;
            // The loop above has found each of them.
            replay.keys(id, &mut (0..count).map_while(|_| keys.key().ok()))?;
            done.keys += count as u64;
        }
        ORDERED => {
            let (order, what) = (input.u64()?, input.u64()?);
            input.digests(count, &mut done.scratch)?;
            replay.ordered(id, order, what, &done.scratch)?;
            done.digests += count as u64;
        }
        kind => {
            replay_operation(kind, id, count, &mut input, replay)?;
            done.operations += 1;
            if [CREATE, RENAME, EXPIRE].contains(&kind) {
                done.listed.insert(id);
            }
            if kind == CREATE || kind == LOAD {
                done.next_id = done.next_id.max(id.saturating_add(1));
            }
        }
    }
    if [INSERT, KEYS, ORDERED, NEW, THERE, LOAD, FOLD, UNITE].contains(&(kind as u8)) {
        done.filters.insert(id);
    }
    Ok(input.0)
}

fn replay_operation(
    kind: u8,
    id: u64,
    count: usize,
    input: &mut Input<'_>,
    replay: &dyn Replay,
) -> Result<(), ReplayError> {
    match kind {
        CREATE => {
            let expires_at = input.u64()?;
            let spec_bytes = input.u32()? as usize;
            let name = input.bytes(count)?;
            replay.create(id, name, input.bytes(spec_bytes)?, expires_at)
        }
        LOAD => {
            let part = input.u64()?;
            replay.load(id, part, input.bytes(count)?)
        }
        REMOVE => {
            replay.remove(id);
            Ok(())
        }
        RENAME => {
            replay.rename(id, input.bytes(count)?);
            Ok(())
        }
        EXPIRE => {
            replay.expire(id, input.u64()?);
            Ok(())
        }
        CLEAR => {
            replay.clear();
            Ok(())
        }
        FOLD => replay.fold(id, input.bytes(count)?),
        UNITE => {
            let (num_bits, offset, items) = (input.u64()?, input.u64()?, input.u64()?);
            replay.unite(id, Piece { num_bits, offset, items, bits: input.bytes(count)? })
        }
        kind => Err(ReplayError::UnknownItem { kind: kind.into() }),
    }
}
