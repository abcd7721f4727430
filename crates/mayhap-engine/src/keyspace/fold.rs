//! Filters that shrink without their keys: `shrink` of a fixed filter, live and in the log.
//!
//! A record of a fold has the size and the promise of the filter after it:
//!
//! ```text
//! offset  bytes  field
//! 0       8      num_bits
//! 8       8      expected_items
//! 16      8      target_fpp, IEEE 754
//! ```
//!
//! All numbers are little-endian. An insertion and a fold have the same result in either order
//! ([`mayhap::sizing::fold`]), so a replay need not know which of them came first, and sizes only
//! become smaller, so it passes over a fold that an image has. A fold changes no count of keys:
//! that stays the number of keys that were answered "new".

use super::fold_size::Size;
use super::index::Named;
use super::kind::Closed;
use super::{ChangeError, Entry, Keyspace};
use crate::durable::{Log, Operation, Refused};
use mayhap::sizing::Shrink;
use mayhap::{Charge, FilterParams};
use std::sync::Arc;

/// A filter that was to shrink.
#[derive(Debug, Clone)]
pub struct Shrunk {
    /// The filter as it is now.
    pub entry: Arc<Entry>,
    /// The factor by which it was folded; 1 if no smaller size keeps the rate.
    pub factor: u64,
    /// Bytes of its bits before.
    pub num_bytes_before: u64,
}

/// What a fold of a filter would save.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saving {
    /// The largest factor that keeps the promised rate for the keys in it.
    pub factor: u64,
    /// Bytes of its bits after the fold.
    pub num_bytes: u64,
    /// The predicted rate after the fold.
    pub expected_fpp: f64,
}

impl Saving {
    /// Of a filter with these parameters that has answered "new" to this many keys; `None` if no
    /// smaller size keeps its rate.
    pub(super) fn of(params: &FilterParams, inserted: u64) -> Option<Self> {
        let (factor, folded) = plan(Shrink::default(), params, inserted).ok()?;
        let expected_fpp = folded.expected_fpp(folded.distinct_items(inserted));
        (factor > 1).then(|| Self { factor, num_bytes: folded.num_bytes(), expected_fpp })
    }
}

/// [`Shrink::of`] for a filter that has answered "new" to this many keys, and goes on to count
/// them. In a smaller filter that count stands for more distinct keys, since it is expected to take
/// more of them for repeats.
fn plan(
    how: Shrink,
    params: &FilterParams,
    inserted: u64,
) -> Result<(u64, FilterParams), mayhap::Error> {
    let mut items = params.distinct_items(inserted);
    loop {
        let (factor, folded) = how.of(params, items)?;
        let after = folded.distinct_items(inserted);
        if after <= items {
            return Ok((factor, folded));
        }
        // For more keys the factor is smaller, or the same.
        items = after;
    }
}

/// As [`Keyspace::shrink`].
pub(super) fn shrink(
    keyspace: &Keyspace,
    name: &[u8],
    how: Shrink,
    now: u64,
    log: Option<&Log>,
) -> Result<Shrunk, ChangeError> {
    loop {
        let entry = keyspace.get(name, now).ok_or(ChangeError::NotFound)?;
        if entry.is_read_only() {
            return Err(ChangeError::ReadOnly);
        }
        let filter = entry.filter();
        let fixed = filter.fixed().ok_or(ChangeError::NoFold(filter.kind()))?;
        let num_bytes_before = entry.num_bytes();
        let closed = fixed.close();
        let (factor, params) = plan(how, closed.params(), closed.items())?;
        if factor == 1 {
            drop(closed);
            return Ok(Shrunk { entry, factor, num_bytes_before });
        }
        let charge = keyspace.resources.charge(params.num_bytes())?;
        let copy = keyspace.resources.budget.charge(num_bytes_before)?;
        let contents = closed.folded(factor, &params)?;
        drop(copy);
        let filter = keyspace.resources.filter(contents, charge);
        let overhead = keyspace.resources.force_overhead(name);
        let folded = Folded { closed, size: Size::of(&params), filter, overhead };
        if let Some(entry) = folded.publish(keyspace, &entry, log)? {
            return Ok(Shrunk { entry, factor, num_bytes_before });
        }
    }
}

/// A folded filter that is to take the place of the one that it was folded from.
struct Folded<'a> {
    closed: Closed<'a>,
    size: Size,
    filter: Box<dyn super::kind::Filter>,
    overhead: Charge,
}

impl Folded<'_> {
    /// `None` if another filter has taken that place meanwhile.
    fn publish(
        self,
        keyspace: &Keyspace,
        old: &Arc<Entry>,
        log: Option<&Log>,
    ) -> Result<Option<Arc<Entry>>, ChangeError> {
        let Self { closed, size, filter, overhead } = self;
        let _changing = keyspace.names.change();
        let current = keyspace.names.by_id(old.id);
        let Some(Named { name, .. }) = current.filter(|it| Arc::ptr_eq(&it.entry, old)) else {
            return Ok(None);
        };
        // While it is put back after a refused write its contents are unknown.
        old.check_file().map_err(|_| Refused::Meanwhile)?;
        let (spec, expires_at) = (old.spec, old.expires_at());
        let mut entry = keyspace.entry_alone(old.id, spec, expires_at, filter, overhead);
        entry.take_over(old);
        let entry = Arc::new(entry);
        let operation = Operation::Fold { id: old.id, to: &size.encode() };
        let _logged = log.map(|log| log.now(&operation)).transpose()?;
        // Insertions that wait continue with the smaller one, even if they have found the other.
        closed.replace_with(entry.clone());
        // A dump in progress, which has the contents of its beginning, goes on.
        let dump = old.outgoing().take();
        *entry.outgoing() = dump;
        keyspace.names.put_back(Named { name, entry: entry.clone() });
        Ok(Some(entry))
    }
}
