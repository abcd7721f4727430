//! Unions of filters.

use super::kind::Contents;
use super::names::{Ready, Record};
use super::{CreateError, Entry, Keyspace, Shape};
use crate::durable::Log;
use mayhap::Charge;
use std::sync::Arc;

impl Keyspace {
    /// Makes a filter that holds the keys of all of these, which stay as they are.
    ///
    /// # Errors
    ///
    /// [`CreateError::NoUnion`] and [`CreateError::Kinds`] for kinds that cannot be united,
    /// [`CreateError::Filter`] with the parameter in which two of them differ,
    /// [`CreateError::Overfull`] if a filter of this size cannot hold all of their keys; as
    /// [`Keyspace::create`].
    pub fn merge(
        &self,
        name: &[u8],
        from: &[Arc<Entry>],
        now: u64,
        log: Option<&Log>,
    ) -> Result<Arc<Entry>, CreateError> {
        self.union(name, from, 0, now, log)
    }

    /// Makes a filter that holds the keys of another one and ends when that does, by one record: at
    /// no moment, and after no crash, is there a copy that does not end.
    ///
    /// # Errors
    ///
    /// As [`Keyspace::merge`].
    pub fn copy(
        &self,
        name: &[u8],
        from: &Arc<Entry>,
        now: u64,
        log: Option<&Log>,
    ) -> Result<Arc<Entry>, CreateError> {
        self.union(name, std::slice::from_ref(from), from.expires_at(), now, log)
    }

    fn union(
        &self,
        name: &[u8],
        from: &[Arc<Entry>],
        expires_at: u64,
        now: u64,
        log: Option<&Log>,
    ) -> Result<Arc<Entry>, CreateError> {
        self.check_name(name)?;
        let Some((first, others)) = from.split_first() else {
            return Err(CreateError::OfNothing);
        };
        others.iter().try_for_each(|other| check_kinds(first, other))?;
        let (mut union, _first_charge) = self.copy_of(first)?;
        let mut is_larger = false;
        for other in others {
            let (other, _charge) = self.copy_of(other)?;
            let set = union.num_set().max(other.num_set());
            union.union_with(&*other)?;
            is_larger |= union.num_set() > set;
        }
        // One that has no bit that none of them had has the keys of the largest.
        if is_larger && let Some(capacity) = capacity_of(&first.spec.shape) {
            let items = union.items_beyond(capacity);
            items.map_or(Ok(()), |items| Err(CreateError::Overfull { items, capacity }))?;
        }
        let charge = self.options.charge(union.num_bytes(), &self.budget)?;
        let mut dump = Vec::new();
        if log.is_some() {
            let bytes = union.num_bytes();
            union.write(&mut dump).map_err(|_| CreateError::OutOfMemory { bytes })?;
        }
        let spec = first.spec;
        let filter = self.filter(union, &spec, charge);
        let ready = Ready { expires_at, ..Ready::new(name, spec, filter, Some(&dump)) };
        self.publish(ready, now, log.map(|log| (log, Record::Now)))
    }

    /// A copy, charged.
    fn copy_of(&self, entry: &Entry) -> Result<(Box<dyn Contents>, Charge), CreateError> {
        let charge = self.budget.charge(entry.num_bytes())?;
        Ok((entry.contents()?.ok_or(CreateError::OfFiles)?, charge))
    }
}

/// The keys of one that does not grow and says when it is full.
const fn capacity_of(shape: &Shape) -> Option<u64> {
    match *shape {
        Shape::Fixed { capacity, .. } | Shape::Counting { capacity, .. } => Some(capacity),
        _ => None,
    }
}

/// That two filters are of one kind, of which there are unions.
fn check_kinds(first: &Entry, other: &Entry) -> Result<(), CreateError> {
    for entry in [first, other] {
        if entry.is_read_only() {
            return Err(CreateError::OfFiles);
        }
        if matches!(
            entry.spec.shape,
            Shape::Window { .. } | Shape::Clearing { .. } | Shape::RedisBloom
        ) {
            return Err(CreateError::NoUnion(entry.info().kind));
        }
    }
    let [left, right] = [first, other].map(|entry| std::mem::discriminant(&entry.spec.shape));
    if left == right {
        return Ok(());
    }
    Err(CreateError::Kinds { left: first.info().kind, right: other.info().kind })
}
