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

use super::fold_size::{Size, plan};
use super::index::Named;
use super::kind::{Closed, Fixed, Successor};
use super::{ChangeError, Entry, Keyspace};
use crate::durable::{Log, Operation, Refused};
use mayhap::Charge;
use mayhap::sizing::Shrink;
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

impl Successor for Entry {
    fn fixed(&self) -> Option<&Fixed> {
        self.filter().fixed()
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
