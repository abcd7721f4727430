//! Filters that are filled under a lock: their changes are applied exactly once and in order, also
//! after a crash.

use super::filter::{Contents, Filter, News, Target};
use super::own::{ABSENT, Own, Owned, REMOVAL};
use crate::Work;
use crate::count::Count;
use crate::durable::Recorder;
use crate::keyspace::info::is_overfull;
use crate::keyspace::{Info, InsertError, Measured, Shape, WrongKind};
use crate::sync::unpoisoned;
use mayhap::set::{ByBits, Numbers, Repeats, Set};
use mayhap::{Age, Bitmap, Charge, Digest, DigestFunction, Error, Window};
use std::slice::from_ref;
use std::sync::{Mutex, MutexGuard};

/// The differences between kinds that are filled under a lock.
pub(super) trait Ordered: Own {
    /// Its kind, for [`Info::kind`].
    const NAME: &'static str;

    /// A copy of it.
    fn copied(&self) -> Result<Self, Error>;

    /// Inserts digests in order, up to the first one for which there is no room; its index is that
    /// of the error.
    fn fill(
        &mut self,
        digests: &[Digest],
        repeats: Repeats,
        within: &Within<'_>,
        new: &mut Bitmap,
    ) -> Result<(), (usize, InsertError)> {
        self.insert_into(digests, repeats, new).map_err(|error| {
            let absent = digests.iter().position(|&key| !self.contains_digest(key, within.now));
            (absent.unwrap_or(digests.len()), error.into())
        })
    }

    /// See [`Filter::count`].
    fn count(&self, digest: Digest, now: u64) -> u32 {
        self.contains_digest(digest, now).into()
    }

    /// Before it is queried for the time `now`.
    fn look(&mut self, _now: u64) {}

    /// See [`Filter::window`].
    fn window(&self) -> Option<Window> {
        None
    }

    /// See [`Filter::is_over_capacity`]; for a kind that refuses keys, their number says it.
    fn is_over_capacity(&self, _shape: &Shape) -> bool {
        false
    }

    /// Completes its description: with `counted` keys of [`Own::counted_of`], and `events` since
    /// the start of the server.
    fn describe(&self, info: Info, _counted: u64, _events: u64) -> Info {
        by_numbers(self, info)
    }

    /// How many things it did by itself.
    fn events(&self) -> u64 {
        0
    }

    /// The last `new` of these, of `all` since the start of the server.
    fn news(&self, _new: u64, _all: u64) -> Option<News> {
        None
    }
}

/// The limits of a filter while it is filled.
#[derive(Debug)]
pub(super) struct Within<'a> {
    pub(super) now: u64,
    /// The capacity at its creation.
    pub(super) capacity: u64,
    /// The most bytes that it may grow to.
    pub(super) max_bytes: u64,
    /// Has its bytes.
    pub(super) charge: &'a Charge,
}

/// A description with the distinct keys and the rate that the filter reports.
pub(super) fn by_numbers(set: &impl Set, info: Info) -> Info {
    let Numbers { distinct_items, expected_fpp, .. } = set.numbers();
    Info { distinct_items: distinct_items.rounded(), expected_fpp, ..info }
}

/// A filter that is filled under a lock. Queries lock it too.
#[derive(Debug)]
pub(super) struct Locked<F> {
    owned: Mutex<Owned<F>>,
    digest_function: DigestFunction,
    /// The capacity at its creation.
    capacity: u64,
    /// How many keys it takes, if it refuses more.
    room: Option<Room>,
    /// The events while the log was replayed, and those reported since.
    replayed: u64,
    reported: Count,
    /// Removals since the start of the server.
    removed: Count,
    /// The most bytes that it may grow to.
    max_bytes: u64,
    charge: Charge,
}

/// How many keys a filter takes that refuses more.
#[derive(Debug)]
struct Room {
    /// The number of keys counted as new and distinct at which the capacity is reached.
    full_at: u64,
    /// Distinct keys that were new and are present. Changed with the filter locked.
    distinct: Count,
}

impl<F: Ordered> Locked<F> {
    pub(super) fn new(owned: Owned<F>, charge: Charge) -> Self {
        let set = &owned.set;
        let capacity = owned.shape.capacity().unwrap_or_else(|| set.fields().expected_items);
        let room = set.counted_of(capacity);
        Self {
            digest_function: *set.digest_function(),
            capacity,
            room: room.map(|(counted, full_at)| Room { full_at, distinct: Count::new(counted) }),
            replayed: set.events(),
            reported: Count::default(),
            removed: Count::default(),
            owned: Mutex::new(owned),
            max_bytes: u64::MAX,
            charge,
        }
    }

    /// With a limit to its growth.
    pub(super) fn up_to(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }

    /// Locks it to query it for the time `now`.
    fn at(&self, now: u64) -> MutexGuard<'_, Owned<F>> {
        let mut owned = unpoisoned(self.owned.lock());
        owned.set.look(now);
        owned
    }

    /// Inserts digests in order, up to the first new one for which there is no room, and records
    /// them. The answers are in [`Work::answers`].
    ///
    /// Repeats are recorded too: a client that learns that a key is present has to find it after a
    /// crash. So is an insertion of what is absent, whatever its answer: if the insertion that it
    /// found is lost, replaying it inserts the key.
    fn insert_all(
        &self,
        digests: &[Digest],
        only_absent: bool,
        target: Target<'_>,
        work: &mut Work,
    ) -> Result<(), (usize, InsertError)> {
        let Work { recorder, answers, now, .. } = work;
        let mut owned = unpoisoned(self.owned.lock());
        let repeats = if only_absent { Repeats::Ignore } else { owned.repeats() };
        let set = &mut owned.set;
        set.advance(*now);
        let room = self.room.as_ref().map(Room::left);
        let &Self { capacity, max_bytes, ref charge, .. } = self;
        let within = Within { now: *now, capacity, max_bytes, charge };
        let done = match room.filter(|&room| digests.len() as u64 > room) {
            Some(room) => insert_within(set, room, digests, repeats, answers),
            None => set.fill(digests, repeats, &within, answers),
        };
        if let Some(room) = &self.room {
            room.distinct.add(answers.count_ones() as u64);
        }
        let what = match set.capabilities().forgets {
            true => *now,
            false if only_absent => ABSENT,
            false => 0,
        };
        let inserted = done.as_ref().map_or_else(|(at, _)| *at, |()| digests.len());
        owned.record(recorder, target, what, &digests[..inserted]);
        done
    }
}

impl Room {
    fn is_exceeded(&self) -> bool {
        self.distinct.get() > self.full_at
    }

    fn left(&self) -> u64 {
        self.full_at.saturating_sub(self.distinct.get())
    }

    /// Counts the removed keys that are absent now. With the filter locked.
    fn were_removed(&self, set: &impl Own, removed: &[Digest]) {
        let mut gone = removed.to_vec();
        gone.retain(|&digest| !set.contains_digest(digest, 0));
        gone.sort_unstable();
        gone.dedup();
        self.distinct.sub(self.distinct.get().min(gone.len() as u64));
    }
}

impl<F> Owned<F> {
    /// Records digests under the lock that was held for inserting or removing them; `what` is the
    /// time or [`REMOVAL`].
    fn record(
        &mut self,
        recorder: &mut Option<Recorder>,
        target: Target<'_>,
        what: u64,
        digests: &[Digest],
    ) {
        if let Some(recorder) = recorder.as_mut().filter(|_| !digests.is_empty()) {
            recorder.ordered(target.id, self.order, what, digests);
        }
        self.order += digests.len() as u64;
    }
}

/// Inserts digests in order, up to the first one for which there is no room.
fn insert_within(
    set: &mut impl Own,
    mut room: u64,
    digests: &[Digest],
    repeats: Repeats,
    new: &mut Bitmap,
) -> Result<(), (usize, InsertError)> {
    new.clear_to(digests.len());
    for (i, &digest) in digests.iter().enumerate() {
        if room == 0 && !set.contains_digest(digest, 0) {
            return Err((i, InsertError::Full));
        }
        if set.insert_digest(digest, repeats).map_err(|error| (i, error.into()))? {
            new.set(i);
            room -= 1;
        }
    }
    Ok(())
}

impl<F: Ordered> Filter for Locked<F> {
    fn kind(&self) -> &'static str {
        F::NAME
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        Some(self.digest_function)
    }

    fn contains(&self, digest: Digest, now: u64) -> bool {
        self.at(now).set.contains_digest(digest, now)
    }

    fn contains_many(&self, digests: &[Digest], now: u64, found: &mut Bitmap) {
        self.at(now).set.contains_into(digests, now, found);
    }

    fn window(&self) -> Option<Window> {
        unpoisoned(self.owned.lock()).set.window()
    }

    fn age(&self, digest: Digest, now: u64) -> Option<Age> {
        self.at(now).set.age(digest, now)
    }

    fn insert(
        &self,
        digest: Digest,
        target: Target<'_>,
        work: &mut Work,
    ) -> Result<bool, InsertError> {
        self.insert_all(from_ref(&digest), false, target, work).map_err(|(_, error)| error)?;
        Ok(work.answers.get(0))
    }

    fn insert_many(&self, target: Target<'_>, work: &mut Work) -> Result<(), (usize, InsertError)> {
        let digests = std::mem::take(&mut work.digests);
        let done = self.insert_all(&digests, false, target, work);
        work.digests = digests;
        done
    }

    fn insert_absent(
        &self,
        target: Target<'_>,
        work: &mut Work,
    ) -> Result<(), (usize, InsertError)> {
        let digests = std::mem::take(&mut work.digests);
        let done = self.insert_all(&digests, true, target, work);
        work.digests = digests;
        done
    }

    fn count(&self, digest: Digest, now: u64) -> u32 {
        self.at(now).set.count(digest, now)
    }

    fn removed(&self) -> u64 {
        self.removed.get()
    }

    fn remove_many(&self, target: Target<'_>, work: &mut Work) -> Result<(), WrongKind> {
        let Work { recorder, digests, answers, staying, .. } = work;
        let mut owned = unpoisoned(self.owned.lock());
        let set = &mut owned.set;
        set.remove_into(digests, answers).map_err(|_| WrongKind::NotCounting(F::NAME))?;
        // The others changed nothing.
        let removed: Vec<Digest> = answers.iter_ones().map(|at| digests[at]).collect();
        self.removed.add(removed.len() as u64);
        staying.clear_to(digests.len());
        for (at, &digest) in digests.iter().enumerate() {
            if !answers.get(at) && set.contains_digest(digest, 0) {
                staying.set(at);
            }
        }
        if let Some(room) = self.room.as_ref().filter(|_| !removed.is_empty()) {
            room.were_removed(set, &removed);
        }
        owned.record(recorder, target, REMOVAL, &removed);
        Ok(())
    }

    fn unites(&self) -> bool {
        unpoisoned(self.owned.lock()).set.capabilities().unites
    }

    fn info(&self) -> Info {
        let owned = unpoisoned(self.owned.lock());
        let (set, fields, room) = (&owned.set, owned.set.fields(), self.room.as_ref());
        let target_fpp = owned.shape.size().map_or(fields.target_fpp, |(_, target_fpp)| target_fpp);
        let info = Info {
            capacity: self.capacity,
            expansion: owned.shape.expansion(),
            num_hashes: fields.num_hashes,
            target_fpp,
            over_capacity: room
                .map_or_else(|| set.is_over_capacity(&owned.shape), Room::is_exceeded),
            ..Info::new(F::NAME, fields.inserted_items, self.num_bytes())
        };
        let counted = room.map_or(0, |room| room.distinct.get());
        set.describe(info, counted, set.events() - self.replayed)
    }

    fn is_over_capacity(&self) -> bool {
        if let Some(room) = &self.room {
            return room.is_exceeded();
        }
        let owned = unpoisoned(self.owned.lock());
        owned.set.is_over_capacity(&owned.shape)
    }

    fn items(&self) -> u64 {
        unpoisoned(self.owned.lock()).set.fields().inserted_items
    }

    fn num_bytes(&self) -> u64 {
        self.charge.bytes()
    }

    fn measure(&self) -> Measured {
        let set = &unpoisoned(self.owned.lock()).set;
        let ByBits { fill_ratio, estimated_fpp, estimated_items, .. } = set.by_bits();
        // The number of keys does not explain the bits of a filter that repeats change.
        let estimate = estimated_items.filter(|_| !set.capabilities().renews);
        let came = || set.numbers().distinct_items.rounded();
        let fill_alarm = estimate.map(|estimate| is_overfull(&estimate, came()));
        Measured { fill_ratio, estimated_fpp, fill_alarm }
    }

    fn snapshot(&self) -> Result<Option<Box<dyn Contents>>, Error> {
        let owned = &*unpoisoned(self.owned.lock());
        Ok(Some(Box::new(Owned { set: owned.set.copied()?, ..*owned })))
    }

    fn news(&self) -> Option<News> {
        let set = &unpoisoned(self.owned.lock()).set;
        let all = set.events() - self.replayed;
        let new = all - self.reported.replace(all);
        if new > 0 { set.news(new, all) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durable::Tally;
    use crate::keyspace::kind::Home;
    use mayhap::{BinaryFuse, Budget, CountingBloomFilter, FuseWidth};
    use std::sync::Arc;

    /// A kind whose filters take no keys.
    impl Own for BinaryFuse {
        const IS_ORDERED: bool = true;

        fn num_bytes(&self) -> u64 {
            self.num_bytes()
        }

        fn share(owned: Owned<Self>, _home: Home<'_>, charge: Charge) -> Box<dyn Filter> {
            Box::new(Locked::new(owned, charge))
        }
    }

    impl Ordered for BinaryFuse {
        const NAME: &'static str = "fuse";

        fn copied(&self) -> Result<Self, Error> {
            Err(Error::NotOfKind { operation: "copy", kind: "fuse" })
        }
    }

    fn digests(keys: std::ops::Range<u64>) -> Vec<Digest> {
        keys.map(|key| DigestFunction::default().digest(&key)).collect()
    }

    fn insert(filter: &dyn Filter, keys: std::ops::Range<u64>) -> Result<(), (usize, InsertError)> {
        let tally = Arc::new(Tally::new(0));
        let mut work = Work { digests: digests(keys), ..Work::default() };
        filter.insert_many(Target { id: 1, tally: &tally }, &mut work)
    }

    /// It needs no more than its face, and a name.
    #[test]
    fn what_a_kind_cannot_do_is_an_error_that_names_it() {
        let set = BinaryFuse::build(FuseWidth::BITS_16, DigestFunction::default(), digests(0..100));
        let charge = Budget::new(u64::MAX).empty();
        let filter = Locked::new(Owned::new(set.unwrap(), Shape::File), charge);
        let refused = Error::NotOfKind { operation: "insert", kind: "fuse" };
        // The keys before the first absent one are there.
        let (at, error) = insert(&filter, 98..103).unwrap_err();
        assert_eq!((at, error), (2, InsertError::Filter(refused)));
        let (target, tally) = (digests(0..1), Arc::new(Tally::new(0)));
        let mut work = Work { digests: target, ..Work::default() };
        let removed = filter.remove_many(Target { id: 1, tally: &tally }, &mut work);
        assert_eq!(removed, Err(WrongKind::NotCounting("fuse")));
        assert!(!filter.unites() && filter.contains(digests(5..6)[0], 0));
        let info = filter.info();
        assert_eq!((info.kind, info.capacity, info.items), ("fuse", 100, 100));
        assert!((info.expected_fpp / FuseWidth::BITS_16.fpp() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn room_is_taken_by_distinct_keys_and_given_back_when_they_are_removed() {
        let builder = CountingBloomFilter::builder().expected_items(3_000).target_fpp(1e-6);
        let charge = Budget::new(u64::MAX).empty();
        let filter = Locked::new(Owned::new(builder.build().unwrap(), Shape::File), charge);
        insert(&filter, 0..2_990).unwrap();
        insert(&filter, 0..2_990).unwrap();
        assert!(!filter.is_over_capacity());
        let (at, error) = insert(&filter, 2_980..3_100).unwrap_err();
        // 2,980 to 2,999, and those that are taken for repeats.
        assert!((20..24).contains(&at) && error == InsertError::Full, "{at} {error}");
        let tally = Arc::new(Tally::new(0));
        let mut work = Work { digests: digests(2_990..2_995), ..Work::default() };
        filter.remove_many(Target { id: 1, tally: &tally }, &mut work).unwrap();
        assert_eq!((work.answers.count_ones(), work.staying.count_ones()), (5, 0));
        insert(&filter, 3_100..3_105).unwrap();
    }
}
