//! A filter of our own kinds for one owner: their common face, and what the keyspace needs beyond
//! it.

use super::filter::{Contents, Dump, Filter, Home};
use crate::durable::{Answered, Piece, Snapshot, write_segments};
use crate::keyspace::fold_size::Size;
use crate::keyspace::spec::hash_of;
use crate::keyspace::{RecoveryError, Shape, Spec};
use mayhap::native::{self, HEADER_BYTES};
use mayhap::set::{Repeats, Set};
use mayhap::{Bitmap, Charge, Digest, Error};
use std::io::{self, Write};

/// In place of a time in the records of removals.
pub(super) const REMOVAL: u64 = u64::MAX;
/// In place of a time in the records of insertions of what is absent.
pub(super) const ABSENT: u64 = u64::MAX - 1;

/// The most bytes of a file whose dump may have a smaller form: of a larger one, its bits are
/// nearly all.
pub const SMALL_FILE_BYTES: usize = 64 << 10;

/// A filter of our own for one owner.
#[derive(Debug)]
pub(super) struct Owned<F> {
    pub(super) set: F,
    /// Its shape at creation, as far as it is known.
    pub(super) shape: Shape,
    /// How many digests were inserted or removed, if it is filled in order: the number of the next
    /// one.
    pub(super) order: u64,
}

/// A kind of our own, for one owner.
pub(super) trait Own: Set + Sized + 'static {
    /// Whether its changes are applied exactly once and in order, also after a crash.
    const IS_ORDERED: bool = false;

    /// Bytes of its bits.
    fn num_bytes(&self) -> u64;

    /// Converts it for use by many threads. `charge` has its bytes.
    fn share(owned: Owned<Self>, home: Home<'_>, charge: Charge) -> Box<dyn Filter>;

    /// The key options in its file.
    fn key_options(&self) -> &'static str {
        ""
    }

    /// See [`Contents::limit_items`].
    fn limit_items(&mut self, _most: u64) {}

    /// See [`Contents::union_with`].
    fn unite(&mut self, other: &dyn Set) -> Result<bool, Error> {
        self.union_with(other).map(|()| false)
    }

    /// For a kind that refuses keys when it is full: the keys that count, and how many of them are
    /// in it when it holds as many distinct ones as this capacity.
    fn counted_of(&self, _capacity: u64) -> Option<(u64, u64)> {
        None
    }

    /// See [`Contents::items_beyond`].
    fn items_beyond(&self, capacity: u64) -> Option<u64> {
        let (counted, when_full) = self.counted_of(capacity)?;
        (counted > when_full).then_some(counted)
    }

    /// Replays insertions in their order, if it is filled in order. Removals before them may be
    /// missing: those of a turn that was refused.
    fn replay_in_order(
        &mut self,
        digests: &[Digest],
        repeats: Repeats,
        scratch: &mut Bitmap,
    ) -> Result<(), Error> {
        self.insert_into(digests, repeats, scratch)
    }

    /// See [`Contents::fold`].
    fn fold_to(&mut self, _to: &Size) -> Result<(), RecoveryError> {
        Err(RecoveryError::NoFold)
    }

    /// See [`Contents::unite`].
    fn unite_piece(&mut self, _piece: Piece<'_>) -> Result<(), RecoveryError> {
        Err(RecoveryError::NoPiece)
    }

    /// See [`Contents::replay`].
    fn replay(
        &mut self,
        _digests: &[Digest],
        _answered: Answered,
        _scratch: &mut Bitmap,
    ) -> Result<(), RecoveryError> {
        Err(RecoveryError::NoDigests)
    }
}

/// The dump of a filter that writes itself in the native format.
pub(super) fn dump_of(filter: &impl Snapshot) -> io::Result<Dump> {
    let mut bytes = Vec::new();
    filter.write(&mut bytes)?;
    let ends = vec![bytes.len()];
    Ok(Dump { bytes, header_bytes: HEADER_BYTES, ends })
}

/// A dump of one chunk if the filter is small: a short file or a packed one, whichever is smaller;
/// else its file, as [`dump_of`].
pub(super) fn small_dump_of(filter: &impl Contents) -> io::Result<Dump> {
    let file = filter.dump()?;
    if file.bytes.len() > SMALL_FILE_BYTES {
        return Ok(file);
    }
    let short = filter.set().and_then(|set| {
        // Plain filters have no key options here.
        set.header("").encode_short(&set.segments()).ok()
    });
    let forms = [short, native::pack(&file.bytes)].into_iter().flatten();
    let smallest = forms.min_by_key(Vec::len).filter(|bytes| bytes.len() < file.bytes.len());
    Ok(smallest.map_or(file, |bytes| Dump {
        header_bytes: bytes.len(),
        ends: vec![bytes.len()],
        bytes,
    }))
}

impl<F> Owned<F> {
    pub(super) const fn new(set: F, shape: Shape) -> Self {
        Self { set, shape, order: 0 }
    }

    /// The treatment of keys that are inserted again.
    pub(super) const fn repeats(&self) -> Repeats {
        match self.shape {
            Shape::Window { refresh: false, .. } => Repeats::Ignore,
            _ => Repeats::Renew,
        }
    }
}

impl<F: Own> Snapshot for Owned<F> {
    fn mark(&self) -> u64 {
        self.order
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let set: &dyn Set = &self.set;
        write_segments(&set.header(self.set.key_options()), &set.segments(), out)
    }
}

impl<F: Own> Contents for Owned<F> {
    fn num_bytes(&self) -> u64 {
        self.set.num_bytes()
    }

    fn spec(&self) -> Spec {
        Spec { shape: self.shape, hash: hash_of(self.set.digest_function()) }
    }

    fn set(&self) -> Option<&dyn Set> {
        Some(&self.set)
    }

    fn write_zeros(&mut self) {
        // Kinds that cannot be cleared are not created empty.
        let _ = self.set.clear();
    }

    fn into_filter(self: Box<Self>, home: Home<'_>, charge: Charge) -> Box<dyn Filter> {
        F::share(*self, home, charge)
    }

    fn limit_items(&mut self, most: u64) {
        self.set.limit_items(most);
    }

    fn dump(&self) -> io::Result<Dump> {
        dump_of(self)
    }

    fn small_dump(&self) -> io::Result<Dump> {
        small_dump_of(self)
    }

    fn union_with(&mut self, other: &dyn Contents) -> Result<bool, Error> {
        let foreign = Error::NotOfKind { operation: "union", kind: "foreign" };
        self.set.unite(other.set().ok_or(foreign)?)
    }

    fn items_beyond(&self, capacity: u64) -> Option<u64> {
        self.set.items_beyond(capacity)
    }

    fn fold(&mut self, to: &Size) -> Result<(), RecoveryError> {
        self.set.fold_to(to)
    }

    fn unite(&mut self, piece: Piece<'_>) -> Result<(), RecoveryError> {
        self.set.unite_piece(piece)
    }

    fn replay(
        &mut self,
        digests: &[Digest],
        answered: Answered,
        scratch: &mut Bitmap,
    ) -> Result<(), RecoveryError> {
        self.set.replay(digests, answered, scratch)
    }

    fn replay_ordered(
        &mut self,
        order: u64,
        what: u64,
        digests: &[Digest],
        scratch: &mut Bitmap,
    ) -> Result<(), RecoveryError> {
        if !F::IS_ORDERED {
            return Err(RecoveryError::NoOrder);
        }
        self.order = self.order.max(order + digests.len() as u64);
        let (repeats, set) = (self.repeats(), &mut self.set);
        match what {
            REMOVAL if set.capabilities().removes => set.remove_into(digests, scratch)?,
            ABSENT if set.capabilities().removes => {
                set.replay_in_order(digests, Repeats::Ignore, scratch)?;
            }
            time => {
                set.advance(time);
                set.replay_in_order(digests, repeats, scratch)?;
            }
        }
        Ok(())
    }
}
