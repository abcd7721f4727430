//! Filters that forget old keys: `WINDOW`.

use super::Plan;
use super::filter::{Filter, Home, News};
use super::locked::{Locked, Ordered};
use super::own::{Own, Owned};
use crate::keyspace::{BadFilter, Info, Shape};
use mayhap::{Charge, ClockJumps, Error, Health, Window, WindowBloomFilter};

/// The key option in the file of a window whose times are milliseconds since 1970.
pub(super) const CLOCK: &str = "clock=unix-ms";
/// Such times from the years 2001 to 2286.
const TIMES: std::ops::Range<u64> = 1_000_000_000_000..10_000_000_000_000;

fn is_of_time(filter: &WindowBloomFilter) -> bool {
    matches!(filter.window(), Window::Time { .. })
}

/// Checks that the times of a window whose file does not state their unit are milliseconds since
/// 1970: in another unit all of its keys would be surely forgotten.
pub(in crate::keyspace) fn check_times(
    filter: &WindowBloomFilter,
    key_options: &str,
) -> Result<(), BadFilter> {
    let latest = filter.now();
    let is_known = !is_of_time(filter) || latest == 0 || key_options.lines().any(|it| it == CLOCK);
    if is_known || TIMES.contains(&latest) { Ok(()) } else { Err(BadFilter::Times { latest }) }
}

/// Sizes an empty window: for `items` keys, or for those expected within a time in milliseconds.
pub(super) fn plan(shape: Shape, items: u64, time_ms: u64, target_fpp: f64) -> Result<Plan, Error> {
    let builder = match time_ms {
        0 => WindowBloomFilter::builder().window_items(items),
        span => WindowBloomFilter::builder().window_time(span, items),
    };
    let builder = builder.target_fpp(target_fpp);
    Ok(Plan::new(shape, builder.num_bytes()?, move |function| {
        builder.clone().digest_function(function).build()
    }))
}

/// The shape of a window that was read from a file, which does not record what a repeat does.
pub(super) fn shape_of(filter: &WindowBloomFilter) -> Shape {
    let (items, target_fpp) = (filter.expected_items(), filter.target_fpp());
    let time_ms = match filter.window() {
        Window::Time { span, .. } => span,
        _ => 0,
    };
    Shape::Window { items, time_ms, target_fpp, refresh: true }
}

/// Completes the description of a window.
pub(super) fn describe(filter: &WindowBloomFilter, info: Info) -> Info {
    Info {
        expected_fpp: filter.expected_fpp_now(),
        forgotten_early: filter.forgotten_early(),
        ..info
    }
}

impl Own for WindowBloomFilter {
    const IS_ORDERED: bool = true;

    fn num_bytes(&self) -> u64 {
        self.num_bytes()
    }

    fn share(owned: Owned<Self>, _home: Home<'_>, charge: Charge) -> Box<dyn Filter> {
        Box::new(Locked::new(owned, charge))
    }

    fn key_options(&self) -> &'static str {
        if is_of_time(self) { CLOCK } else { "" }
    }
}

impl Ordered for WindowBloomFilter {
    const NAME: &'static str = "window";

    fn copied(&self) -> Result<Self, Error> {
        self.try_clone()
    }

    /// If its latest time is ahead of `now`, queries too correct it.
    fn look(&mut self, now: u64) {
        if self.is_ahead_of(now) {
            self.advance(now);
        }
    }

    fn window(&self) -> Option<Window> {
        Some(self.window())
    }

    fn is_over_capacity(&self, _shape: &Shape) -> bool {
        self.health() == Health::OverCapacity
    }

    fn describe(&self, info: Info, _counted: u64, events: u64) -> Info {
        let jumps = ClockJumps { count: events, ..self.clock_jumps() };
        Info { clock_jumps: Some(jumps), ..describe(self, info) }
    }

    fn events(&self) -> u64 {
        self.clock_jumps().count
    }

    fn news(&self, _new: u64, all: u64) -> Option<News> {
        Some(News::SetBack(ClockJumps { count: all, ..self.clock_jumps() }))
    }
}
