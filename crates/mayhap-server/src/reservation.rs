//! The options of a new filter, checked together: for `BF.RESERVE`, `BF.INSERT`, filters that an
//! insertion creates, and `PUT /v1/filters/{name}`.

use crate::config::Config;
use mayhap::{DigestFunction, Layout};
use mayhap_engine::keyspace::{Hash, Keyspace, Shape, Spec, compact_room_within, room_within};
use mayhap_units::span::parse_millis;

/// The bytes of a valkey-bloom seed.
pub(crate) const SEED_BYTES: usize = 32;

/// The options of a new filter.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Reservation {
    pub(crate) capacity: u64,
    pub(crate) target_fpp: f64,
    /// `None` if not given; 0 for one that does not grow.
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
    /// Whether a repeat in the window makes its key young again.
    pub(crate) refresh: bool,
    /// The share of set bits at which it forgets all keys.
    pub(crate) clear_at: Option<f64>,
    pub(crate) layout: Named,
}

/// What a layout by its name asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Named {
    /// The server chooses.
    #[default]
    Auto,
    /// A plain filter.
    Plain(Layout),
    /// A kind of its own.
    Compact,
}

/// The size of a window: a number of keys, or a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Window {
    /// This number of keys.
    Items(u64),
    /// The keys of this number of milliseconds.
    Millis(u64),
}

/// Options that contradict each other, by their names in HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Contradiction {
    /// It does not grow, but has to grow to a number of keys.
    #[error("scale_to is for filters that grow; omit it, or fixed")]
    FixedScaleTo,
    /// It does not grow, but has an expansion.
    #[error("expansion is for filters that grow; omit it, or fixed")]
    FixedExpansion,
    /// It has a seed of its own, but the server's key as well.
    #[error("seed is for unkeyed filters; omit it, or keyed")]
    KeyedSeed,
    /// More than one of counting, window, clearing, compact and fixed, which compact may be.
    #[error("use one of counting, window, clear_at, layout compact and fixed")]
    Kinds,
    /// It is not a window, but repeats should not renew.
    #[error("refresh is for windows; omit it, or add window")]
    NoWindow,
    /// It grows, but has a layout.
    #[error("layout is for fixed filters; omit it, or add fixed")]
    GrowingLayout,
    /// The number of keys to grow to exceeds the limits of memory.
    #[error("a filter with scale_to items would exceed the limits of memory")]
    ScaleTo,
}

impl Window {
    /// The last `items` keys; `None` for 0.
    pub(crate) fn of_items(items: u64) -> Option<Self> {
        (items > 0).then_some(Self::Items(items))
    }

    /// The keys of a time in the grammar of all settings. `30m` is refused: elsewhere it would be
    /// 30 million.
    pub(crate) fn of_time(text: &str) -> Option<Self> {
        parse_millis(text).filter(|&millis| millis > 0).map(Self::Millis)
    }
}

/// Layouts by name.
pub(crate) const LAYOUTS: [(&str, Named); 4] = [
    ("auto", Named::Auto),
    ("blocked", Named::Plain(Layout::Blocked)),
    ("compact", Named::Compact),
    ("standard", Named::Plain(Layout::Standard)),
];
/// The values of the option, for errors.
pub(crate) const LAYOUT_NAMES: &str = "auto, blocked, compact or standard";

impl Reservation {
    /// The options of a filter without any given.
    pub(crate) fn by_default(config: &Config) -> Self {
        let (capacity, target_fpp) = (config.default_capacity, config.default_fpp);
        Self { capacity, target_fpp, refresh: true, ..Self::default() }
    }

    /// Checks the options together.
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
        let is_compact = self.layout == Named::Compact;
        let is_plain = self.fixed && !is_compact;
        let (window, clearing) = (self.window.is_some(), self.clear_at.is_some());
        let shapes = [self.counting, window, clearing, is_compact, is_plain];
        if shapes.iter().filter(|&&is| is).count() > 1 {
            return Err(Contradiction::Kinds);
        }
        if !self.refresh && self.window.is_none() {
            return Err(Contradiction::NoWindow);
        }
        // No other kind has a choice of layouts, or grows without an expansion.
        let is_other = self.counting || window || clearing;
        let expansion = if is_compact { 0 } else { config.default_expansion };
        self.fixed |= !is_other && self.expansion.unwrap_or(expansion) == 0;
        if matches!(self.layout, Named::Plain(_)) && !self.fixed {
            return Err(Contradiction::GrowingLayout);
        }
        Ok(self)
    }

    /// The specification for the keyspace.
    pub(crate) fn spec(&self, config: &Config) -> Spec {
        let &Self { capacity, target_fpp, layout, refresh, .. } = self;
        let shape = match (self.window, self.clear_at) {
            (Some(Window::Items(items)), _) => {
                Shape::Window { items, time_ms: 0, target_fpp, refresh }
            }
            (Some(Window::Millis(time_ms)), _) => {
                Shape::Window { items: capacity, time_ms, target_fpp, refresh }
            }
            (None, Some(at)) => Shape::Clearing { capacity, target_fpp, at },
            (None, None) if self.counting => Shape::Counting { capacity, target_fpp },
            (None, None) if layout == Named::Compact => {
                let expansion = self.expansion.unwrap_or(0);
                Shape::Compact { capacity, target_fpp, expansion }
            }
            (None, None) if self.fixed => {
                let layout = if let Named::Plain(layout) = layout { Some(layout) } else { None };
                Shape::Fixed { capacity, target_fpp, layout }
            }
            (None, None) => {
                let expansion = self.expansion.unwrap_or(config.default_expansion);
                Shape::Growing { capacity, target_fpp, expansion }
            }
        };
        let hash = match (&self.seed, self.keyed) {
            // valkey-bloom's 32 bytes become the 64 bits that seed an unkeyed digest.
            (Some(seed), _) => Hash::Plain { seed: DigestFunction::xxh3(0).digest(seed).get() },
            (None, Some(false)) => Hash::Plain { seed: 0 },
            (None, _) => Hash::Keyed,
        };
        Spec { shape, hash }
    }

    /// Checks that a growing filter can hold as many keys as it has to.
    pub(crate) fn check_scale(
        &self,
        keyspace: &Keyspace,
        spec: &Spec,
    ) -> Result<(), Contradiction> {
        let Some(keys) = self.scale_to else { return Ok(()) };
        let limit = keyspace.options().max_filter_bytes.min(keyspace.max_memory());
        let room = match spec.shape {
            Shape::Growing { capacity, target_fpp, .. } => room_within(limit, capacity, target_fpp),
            Shape::Compact { capacity, expansion: 0, .. } => capacity,
            Shape::Compact { capacity, target_fpp, .. } => {
                compact_room_within(limit, capacity, target_fpp)
            }
            _ => return Ok(()),
        };
        if room < keys { Err(Contradiction::ScaleTo) } else { Ok(()) }
    }
}
