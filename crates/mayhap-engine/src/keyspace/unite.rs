//! Filters that come in pieces: `unite` of a fixed filter with a piece of the bits of one like it,
//! live and in the log.
//!
//! A piece is in the log before one of its bits is set, so whoever finds a key by them may rely on
//! it. Pieces, insertions and folds have the same result in any order, and a piece that comes twice
//! changes nothing. The filter is created by the first piece: the log has the header as its
//! contents, without any bits, which stands for an empty filter.
//!
//! A filter counts the keys that it answered "new" to, and nobody knows how many of those of a
//! piece it would have answered so. The count grows by what the bits speak of: those of the piece,
//! rounded down, and with the last piece those of all.

use super::create::{Ready, Record};
use super::kind::{Filter, Fixed, check_header};
use super::loading::Loading;
use super::spec::hash_of;
use super::{BadFilter, CreateError, Entry, Hash, Keyspace, UniteError};
use crate::durable::{Log, Operation, Refused};
use mayhap::native::{HEADER_BYTES, Header};
use mayhap::{DigestFunction, Error, FilterParams, Gain};
use std::sync::Arc;

/// A piece of the bits of a filter that is elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct PieceOf<'a> {
    /// The header of that filter in the native format, and nothing after it.
    pub header: &'a [u8],
    /// Where the bits begin, in bytes; a multiple of 64.
    pub offset: u64,
    /// The bits, a multiple of 64 bytes.
    pub bits: &'a [u8],
}

/// Who sends pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// A user with all rights.
    Admin,
    /// Any user that may write: bits that a client chooses are what a secret key is there to
    /// prevent.
    Writer,
}

/// The numbers by which a piece fits.
struct Meaning {
    params: FilterParams,
    function: DigestFunction,
}

/// As [`Keyspace::unite`].
pub(super) fn unite(
    keyspace: &Keyspace,
    name: &[u8],
    (piece, sender): (PieceOf<'_>, Sender),
    now: u64,
    log: Option<&Log>,
) -> Result<u64, UniteError> {
    let options = keyspace.options();
    let header = Header::decode(piece.header).map_err(|error| UniteError::Header(error.into()))?;
    // What follows a header would be in the log as bits of the filter, and not in the filter.
    let (found, expected) = (piece.header.len(), HEADER_BYTES);
    if found != expected {
        return Err(UniteError::Header(BadFilter::HeaderBytes { found, expected }));
    }
    check_header(&header, options).map_err(UniteError::Header)?;
    let params = header.params().map_err(|_| UniteError::Kind(header.kind().name()))?;
    let function = header.digest_function(options.key_for(&header)).map_err(UniteError::Piece)?;
    if hash_of(&function) == Hash::Keyed && sender == Sender::Writer {
        return Err(UniteError::Keyed);
    }
    let meaning = Meaning { params, function };
    loop {
        let entry = match keyspace.get(name, now) {
            Some(entry) => entry,
            None => match create(keyspace, name, (&header, piece), now, log) {
                Err(UniteError::Create(CreateError::Exists)) => continue,
                created => created?,
            },
        };
        if let Some(new) = add(keyspace, &entry, (&meaning, piece), log)? {
            return Ok(new);
        }
    }
}

/// An empty filter with this header, if the piece is one of it.
fn create(
    keyspace: &Keyspace,
    name: &[u8],
    (header, piece): (&Header, PieceOf<'_>),
    now: u64,
    log: Option<&Log>,
) -> Result<Arc<Entry>, UniteError> {
    let create = |error: Error| UniteError::Create(error.into());
    keyspace.check_name(name).map_err(|long| UniteError::Create(long.into()))?;
    let charge = keyspace.resources.charge(header.body_bytes()).map_err(create)?;
    let empty = Loading::of_bytes(piece.header, keyspace.options()).map_err(UniteError::Header)?;
    let (contents, spec) = empty.decode_empty(keyspace.options()).map_err(UniteError::Header)?;
    charge.give_back(charge.bytes().saturating_sub(contents.num_bytes()));
    let filter = keyspace.resources.filter(contents, charge);
    let fixed = filter.fixed().ok_or_else(|| UniteError::Kind(filter.kind()))?;
    fixed.gain_of(piece.offset, piece.bits).map_err(UniteError::Piece)?;
    let ready = Ready::new(name, spec, filter, Some(piece.header));
    ready.publish(keyspace, now, log.map(|log| (log, Record::Now))).map_err(UniteError::Create)
}

/// Unites it; `None` if another filter has taken its place meanwhile.
fn add<'a>(
    keyspace: &Keyspace,
    entry: &Arc<Entry>,
    (meaning, piece): (&Meaning, PieceOf<'_>),
    log: Option<&'a Log>,
) -> Result<Option<u64>, UniteError> {
    entry.check_file()?;
    if entry.is_read_only() {
        return Err(UniteError::ReadOnly);
    }
    let filter = entry.filter();
    let fixed = filter.fixed().ok_or_else(|| UniteError::Kind(filter.kind()))?;
    meaning.check(fixed).map_err(UniteError::Piece)?;
    let (offset, bits) = (piece.offset, piece.bits);
    // Until its bits are set nothing folds it, and then it is seen in the folded one.
    let Some(_held) = fixed.hold() else { return Ok(None) };
    let gain = fixed.gain_of(offset, bits).map_err(UniteError::Piece)?;
    let items = items_of(fixed, gain, piece);
    // What was seen may be of a turn that is not in the log yet.
    if gain.lacking == 0 && items == 0 && !(log.is_some() && entry.tally().is_at_risk(0)) {
        return Ok(Some(0));
    }
    let _changing = keyspace.names.change();
    let current = keyspace.names.by_id(entry.id);
    if current.is_none_or(|named| !Arc::ptr_eq(&named.entry, entry)) {
        return Ok(None);
    }
    // While it is put back after a refused write its contents are unknown.
    entry.check_file().map_err(|_| Refused::Meanwhile)?;
    let num_bits = meaning.params.num_bits();
    let operation = Operation::Unite { id: entry.id, num_bits, offset, items, bits };
    let record = |log: &'a Log| log.now_counting(&operation, entry.tally(), items);
    let _logged = log.map(record).transpose()?;
    fixed.unite(offset, bits, items).map(Some).map_err(UniteError::Piece)
}

/// By how many keys the count of a filter grows with a piece. With the last one all bits are read.
fn items_of(fixed: &Fixed, gain: Gain, piece: PieceOf<'_>) -> u64 {
    let (params, len) = (fixed.params(), piece.bits.len() as u64);
    let of = |ones: u64| params.inserted_by_ones(ones).min(params.num_bits());
    if piece.offset + len == params.num_bytes() {
        return of(fixed.count_ones() + gain.lacking).saturating_sub(fixed.items());
    }
    // As if all of the filter were like the piece.
    let share = len as f64 / params.num_bytes() as f64;
    let of_piece = |ones: u64| of((ones as f64 / share) as u64);
    let more = of_piece(gain.ones + gain.lacking).saturating_sub(of_piece(gain.ones));
    ((more as f64 * share) as u64).min(gain.lacking)
}

impl Meaning {
    /// Checks that a filter has the same bits for each key.
    fn check(&self, fixed: &Fixed) -> Result<(), Error> {
        let numbers = |params: &FilterParams, function: &DigestFunction| {
            [
                ("layout", u64::from(params.layout().id())),
                ("num_bits", params.num_bits()),
                ("num_hashes", u64::from(params.num_hashes())),
                ("digest function", u64::from(function.id())),
                ("digest seed or key", function.parameter()),
            ]
        };
        let ours = numbers(fixed.params(), fixed.function());
        for ((parameter, left), (_, right)) in
            ours.into_iter().zip(numbers(&self.params, &self.function))
        {
            if left != right {
                return Err(Error::Incompatible { parameter, left, right });
            }
        }
        Ok(())
    }
}
