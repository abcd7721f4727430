//! What a new filter is to be, its options looked at together: for `BF.RESERVE`, `BF.INSERT`,
//! filters that an insertion creates, and `PUT /v1/filters/{name}`.

use crate::config::Config;
use crate::keyspace::{Hash, Keyspace, Shape, Spec, room_within};
use mayhap::{DigestFunction, Layout};
use mayhap_units::span::parse_millis;

/// The bytes of a valkey-bloom seed.
pub(crate) const SEED_BYTES: usize = 32;

/// What a new filter is to be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reservation {
    pub(crate) capacity: u64,
    pub(crate) error: f64,
    /// `None` unless said; 0 is one that does not grow.
    pub(crate) expansion: Option<u32>,
    /// It does not grow.
    pub(crate) fixed: bool,
    /// Keys that it must be able to grow to.
    pub(crate) scale_to: Option<u64>,
    /// The digest seed of a filter that is not keyed.
    pub(crate) seed: Option<[u8; SEED_BYTES]>,
    pub(crate) keyed: Option<bool>,
    pub(crate) counting: bool,
    pub(crate) window: Option<Window>,
    /// Whether a repeat makes its key in the window young again.
    pub(crate) refresh: bool,
    /// The share of set bits at which it forgets all keys.
    pub(crate) clear_at: Option<f64>,
    /// `None` where the server chooses.
    pub(crate) layout: Option<Layout>,
}

/// What a window holds: the last keys, or those of the last time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Window {
    /// So many keys.
    Items(u64),
    /// Those of so many milliseconds.
    Millis(u64),
}

/// Options that cannot hold together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contradiction {
    /// It does not grow, and has to grow to a number of keys.
    FixedScaleTo,
    /// It does not grow, and has an expansion.
    FixedExpansion,
    /// It has a seed of its own, and the server's key.
    KeyedSeed,
    /// More than one of counting, window, clearing and fixed.
    Kinds,
    /// It is no window, and repeats are not to renew.
    NoWindow,
    /// It grows, and has a layout.
    GrowingLayout,
    /// It cannot take as many keys as it has to grow to within the limits of memory.
    ScaleTo,
}

impl Window {
    /// The last so many keys; `None` for 0.
    pub(crate) fn of_items(items: u64) -> Option<Self> {
        (items > 0).then_some(Self::Items(items))
    }

    /// Those of a time in the grammar of all settings. `30m` is none: elsewhere it would be 30
    /// million.
    pub(crate) fn of_time(text: &str) -> Option<Self> {
        parse_millis(text).filter(|&millis| millis > 0).map(Self::Millis)
    }
}

/// Layouts by their names; `None` where the server is to choose.
pub(crate) const LAYOUTS: [(&str, Option<Layout>); 3] =
    [("auto", None), ("blocked", Some(Layout::Blocked)), ("standard", Some(Layout::Standard))];

impl Reservation {
    /// What a filter is of which nothing is said.
    pub(crate) fn by_default(config: &Config) -> Self {
        Self {
            capacity: config.default_capacity,
            error: config.default_error,
            expansion: None,
            fixed: false,
            scale_to: None,
            seed: None,
            keyed: None,
            counting: false,
            window: None,
            refresh: true,
            clear_at: None,
            layout: None,
        }
    }

    /// Looks at the options together.
    pub(crate) fn finish(mut self, config: &Config) -> Result<Self, Contradiction> {
        if self.fixed && self.scale_to.is_some() {
            return Err(Contradiction::FixedScaleTo);
        }
        if self.fixed && self.expansion.is_some_and(|by| by > 0) {
            return Err(Contradiction::FixedExpansion);
        }
        if self.seed.is_some() && self.keyed == Some(true) {
            return Err(Contradiction::KeyedSeed);
        }
        let shapes = [self.counting, self.window.is_some(), self.clear_at.is_some(), self.fixed];
        if shapes.iter().filter(|&&is| is).count() > 1 {
            return Err(Contradiction::Kinds);
        }
        if !self.refresh && self.window.is_none() {
            return Err(Contradiction::NoWindow);
        }
        // No other kind grows, and none of them has a layout to choose.
        let is_other = self.counting || self.window.is_some() || self.clear_at.is_some();
        self.fixed |= !is_other && self.expansion.unwrap_or(config.default_expansion) == 0;
        if self.layout.is_some() && !self.fixed {
            return Err(Contradiction::GrowingLayout);
        }
        Ok(self)
    }

    /// What the keyspace is to create.
    pub(crate) fn spec(&self, config: &Config) -> Spec {
        let &Self { capacity, error, layout, refresh, .. } = self;
        let shape = match (self.window, self.clear_at) {
            (Some(Window::Items(items)), _) => Shape::Window { items, time_ms: 0, error, refresh },
            (Some(Window::Millis(time_ms)), _) => {
                Shape::Window { items: capacity, time_ms, error, refresh }
            }
            (None, Some(at)) => Shape::Clearing { capacity, error, at },
            (None, None) if self.counting => Shape::Counting { capacity, error },
            (None, None) if self.fixed => Shape::Fixed { capacity, error, layout },
            (None, None) => {
                let expansion = self.expansion.unwrap_or(config.default_expansion);
                Shape::Growing { capacity, error, expansion }
            }
        };
        let hash = match (&self.seed, self.keyed) {
            // valkey-bloom's 32 bytes become the 64 bits that seed a digest which is not keyed.
            (Some(seed), _) => Hash::Plain { seed: DigestFunction::xxh3(0).digest(seed).get() },
            (None, Some(false)) => Hash::Plain { seed: 0 },
            (None, _) => Hash::Keyed,
        };
        Spec { shape, hash }
    }

    /// That a growing filter can take as many keys as it has to.
    pub(crate) fn check_scale(
        &self,
        keyspace: &Keyspace,
        spec: &Spec,
    ) -> Result<(), Contradiction> {
        let (Some(keys), Shape::Growing { capacity, error, .. }) = (self.scale_to, spec.shape)
        else {
            return Ok(());
        };
        let limit = keyspace.options().max_filter_bytes.min(keyspace.max_memory());
        if room_within(limit, capacity, error) < keys {
            return Err(Contradiction::ScaleTo);
        }
        Ok(())
    }
}
