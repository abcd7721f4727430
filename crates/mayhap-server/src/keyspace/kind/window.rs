//! Filters that forget old keys: `WINDOW`.

use super::ordered::{self, InOrder, Ordered};
use super::{Contents, Filter, Home, Plan, Target};
use crate::Turn;
use crate::count::Count;
use crate::durable::{Snapshot, write_native_with};
use crate::keyspace::lock::locked;
use crate::keyspace::spec::hash_of;
use crate::keyspace::{BadFilter, Info, InsertError, Measured, RecoveryError, Shape, Spec};
use mayhap::native::Kind;
use mayhap::{
    Age, Bitmap, Charge, ClockJumps, Digest, DigestFunction, Error, Health, WindowBloomFilter,
};
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard};

/// What the file of a window says whose times are milliseconds since 1970, as a key option.
pub(super) const CLOCK: &str = "clock=unix-ms";
/// Such times from the years 2001 to 2286.
const TIMES: std::ops::Range<u64> = 1_000_000_000_000..10_000_000_000_000;

/// A filter that forgets old keys. It is locked by all who query or change it.
#[derive(Debug)]
struct Window {
    ordered: Mutex<Ordered<WindowBloomFilter>>,
    /// A repeat makes its key young again.
    refresh: bool,
    digest_function: DigestFunction,
    charge: Charge,
    /// The jumps of the clock that the log had, and those that were noticed since.
    replayed: u64,
    noticed: Count,
}

/// One for one owner.
#[derive(Debug)]
pub(super) struct Owned {
    ordered: Ordered<WindowBloomFilter>,
    refresh: bool,
}

/// That the times of a window whose file says nothing of them are milliseconds since 1970: in
/// another unit all of its keys would be surely forgotten.
pub(in crate::keyspace) fn check_times(
    filter: &WindowBloomFilter,
    key_options: &str,
) -> Result<(), BadFilter> {
    let is_of_time = matches!(filter.window(), mayhap::Window::Time { .. });
    let latest = filter.now();
    let is_known = !is_of_time || latest == 0 || key_options.lines().any(|it| it == CLOCK);
    if is_known || TIMES.contains(&latest) { Ok(()) } else { Err(BadFilter::Times { latest }) }
}

/// Sizes an empty one: for so many keys, or for those that are expected in so many milliseconds.
pub(super) fn plan(
    items: u64,
    time_ms: u64,
    target_fpp: f64,
    refresh: bool,
) -> Result<Plan, Error> {
    let builder = match time_ms {
        0 => WindowBloomFilter::builder().window_items(items),
        span => WindowBloomFilter::builder().window_time(span, items),
    };
    let builder = builder.target_fpp(target_fpp);
    Ok(Plan::new(builder.num_bytes()?, move |function| {
        Ok(Owned::new(builder.clone().digest_function(function).build()?, refresh, 0))
    }))
}

impl Window {
    /// The filter, at a time for which its latest one may be too late: then a query, too, says what
    /// time it is.
    fn at(&self, now: u64) -> MutexGuard<'_, Ordered<WindowBloomFilter>> {
        let mut ordered = locked(&self.ordered);
        if ordered.filter.is_ahead_of(now) {
            ordered.filter.advance(now);
        }
        ordered
    }

    /// The jumps of the clock since the server started.
    const fn jumps(&self, filter: &WindowBloomFilter) -> ClockJumps {
        let jumps = filter.clock_jumps();
        ClockJumps { count: jumps.count - self.replayed, ..jumps }
    }
}

impl InOrder for Window {
    fn insert_all(&self, digests: &[Digest], target: Target<'_>, turn: &mut Turn) {
        let Turn { recorder, answers, now, .. } = turn;
        let mut ordered = locked(&self.ordered);
        ordered.filter.advance(*now);
        put(&mut ordered.filter, self.refresh, digests, answers);
        // Repeats too: who hears that a key is there has to find it after a crash.
        ordered.record(recorder, target, *now, digests);
    }
}

/// Inserts digests, all or those that are absent.
fn put(filter: &mut WindowBloomFilter, refresh: bool, digests: &[Digest], new: &mut Bitmap) {
    if refresh {
        filter.insert_digests_into(digests, new);
    } else {
        filter.insert_absent_digests_into(digests, new);
    }
}

impl Filter for Window {
    fn kind(&self) -> &'static str {
        "window"
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        Some(self.digest_function)
    }

    fn contains(&self, digest: Digest, now: u64) -> bool {
        self.at(now).filter.contains_digest_at(digest, now)
    }

    fn contains_many(&self, digests: &[Digest], now: u64, found: &mut Bitmap) {
        self.at(now).filter.contains_digests_at_into(digests, now, found);
    }

    fn window(&self) -> Option<mayhap::Window> {
        Some(locked(&self.ordered).filter.window())
    }

    fn age(&self, digest: Digest, now: u64) -> Option<Age> {
        self.at(now).filter.age_of_digest_at(digest, now)
    }

    fn insert(
        &self,
        digest: Digest,
        target: Target<'_>,
        turn: &mut Turn,
    ) -> Result<bool, InsertError> {
        Ok(ordered::insert(self, digest, target, turn))
    }

    fn insert_many(&self, target: Target<'_>, turn: &mut Turn) -> Result<(), (usize, InsertError)> {
        ordered::insert_many(self, target, turn);
        Ok(())
    }

    fn info(&self) -> Info {
        let filter = &locked(&self.ordered).filter;
        Info { clock_jumps: Some(self.jumps(filter)), ..info_of(filter, self.num_bytes()) }
    }

    fn is_over_capacity(&self) -> bool {
        locked(&self.ordered).filter.health() == Health::OverCapacity
    }

    fn items(&self) -> u64 {
        locked(&self.ordered).filter.inserted_items()
    }

    fn num_bytes(&self) -> u64 {
        self.charge.bytes()
    }

    fn num_hashes(&self) -> u32 {
        locked(&self.ordered).filter.num_hashes()
    }

    fn measure(&self) -> Measured {
        measure(&locked(&self.ordered).filter)
    }

    fn snapshot(&self) -> Result<Option<Box<dyn Contents>>, Error> {
        let Ordered { filter, order } = &*locked(&self.ordered);
        Ok(Some(Box::new(Owned::new(filter.try_clone()?, self.refresh, *order))))
    }

    fn new_clock_jumps(&self) -> Option<ClockJumps> {
        let jumps = self.jumps(&locked(&self.ordered).filter);
        let new = jumps.count - self.noticed.replace(jumps.count);
        (new > 0).then_some(jumps)
    }
}

/// What a window says of itself.
pub(super) fn info_of(filter: &WindowBloomFilter, num_bytes: u64) -> Info {
    Info {
        capacity: filter.expected_items(),
        target_fpp: filter.target_fpp(),
        expected_fpp: filter.expected_fpp_now(),
        over_capacity: filter.health() == Health::OverCapacity,
        forgotten_early: filter.forgotten_early(),
        ..Info::new("window", filter.inserted_items(), num_bytes)
    }
}

/// What its bits say.
pub(super) fn measure(filter: &WindowBloomFilter) -> Measured {
    let (fill_ratio, estimated_fpp) = (filter.fill_ratio(), filter.estimated_fpp());
    Measured { fill_ratio, estimated_fpp, fill_alarm: None }
}

impl Owned {
    /// `order` is how many digests were put in.
    pub(super) const fn new(filter: WindowBloomFilter, refresh: bool, order: u64) -> Self {
        Self { ordered: Ordered::new(filter, order), refresh }
    }
}

impl Snapshot for Owned {
    fn mark(&self) -> u64 {
        self.ordered.mark()
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let filter = &self.ordered.filter;
        let is_of_time = matches!(filter.window(), mayhap::Window::Time { .. });
        write_native_with(filter, if is_of_time { CLOCK } else { "" }, out)
    }
}

impl Contents for Owned {
    fn num_bytes(&self) -> u64 {
        self.ordered.filter.num_bytes()
    }

    fn spec(&self) -> Spec {
        let filter = &self.ordered.filter;
        let (items, error) = (filter.expected_items(), filter.target_fpp());
        let time_ms = match filter.window() {
            mayhap::Window::Time { span, .. } => span,
            _ => 0,
        };
        let shape = Shape::Window { items, time_ms, error, refresh: self.refresh };
        Spec { shape, hash: hash_of(filter.digest_function()) }
    }

    fn kind_id(&self) -> u64 {
        Kind::Window.id().into()
    }

    fn into_filter(
        self: Box<Self>,
        _spec: &Spec,
        _home: Home<'_>,
        charge: Charge,
    ) -> Box<dyn Filter> {
        let digest_function = *self.ordered.filter.digest_function();
        let Self { ordered, refresh } = *self;
        let replayed = ordered.filter.clock_jumps().count;
        Box::new(Window {
            ordered: ordered.shared(),
            refresh,
            digest_function,
            charge,
            replayed,
            noticed: Count::default(),
        })
    }

    fn replay_ordered(
        &mut self,
        order: u64,
        what: u64,
        digests: &[Digest],
        scratch: &mut Bitmap,
    ) -> Result<(), RecoveryError> {
        self.ordered.replayed(order, digests);
        self.ordered.filter.advance(what);
        put(&mut self.ordered.filter, self.refresh, digests, scratch);
        Ok(())
    }
}
