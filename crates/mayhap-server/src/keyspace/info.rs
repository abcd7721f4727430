//! What a filter knows of itself.

use super::filter::Filter;
use super::lock::{locked, read};
use super::{Entry, Shape};
use mayhap::{Estimate, FilterParams};
use mayhap_formats::ForeignFilter;

/// What is known of a filter without reading its bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Info {
    /// Keys that it was asked to hold, or what its layers hold once there are more.
    pub capacity: u64,
    /// Bytes of memory.
    pub bytes: u64,
    /// Layers: what Redis calls the number of filters.
    pub layers: u64,
    /// Keys that were new.
    pub items: u64,
    /// Distinct keys that came, those that were taken for repeats too, where its count tells; else
    /// [`Info::items`].
    pub distinct: u64,
    /// `EXPANSION` as asked; none if it does not grow.
    pub expansion: Option<u32>,
    /// The promised rate.
    pub error: f64,
    /// The rate now, as predicted from the number of distinct keys.
    pub fpp_now: f64,
    /// `growing`, `fixed`, `counting`, `window`, `redisbloom`, `mapped`, or the name of a format.
    pub kind: &'static str,
    /// Whether a secret key is needed to make its digests.
    pub keyed: bool,
    /// Whether nothing can be inserted.
    pub read_only: bool,
}

/// What the bits of a filter say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The share of bits that are set.
    pub fill: f64,
    /// The rate now. Far above [`Info::fpp_now`] it speaks of keys that were chosen to fill it.
    pub fpp: f64,
    /// Whether more bits are set than its keys explain, by more than five standard deviations: the
    /// keys were chosen. Growing and fixed filters only; what others forget, take back or hash in
    /// their own way is not explained by a number of keys.
    pub fill_alarm: Option<bool>,
}

/// Chance alone raises the alarm once in 3.5 million independent looks.
const ALARM_DEVIATIONS: f64 = 5.0;

impl Entry {
    /// What is known of it. Reads no bits, but those of another system's file.
    pub fn info(&self) -> Info {
        let info = Info {
            keyed: self.digest_function().is_some_and(|function| function.name() == "sip13"),
            read_only: self.is_read_only(),
            ..self.numbers()
        };
        let asked = match self.spec.shape {
            Shape::Growing { capacity, .. } if info.items <= capacity => capacity,
            Shape::Counting { capacity, .. } => capacity,
            _ => info.capacity,
        };
        Info { capacity: asked, ..info }
    }

    fn numbers(&self) -> Info {
        let items = self.items();
        let base = Info {
            capacity: 0,
            bytes: self.filter.num_bytes(),
            layers: 1,
            items,
            distinct: items,
            expansion: None,
            error: 0.0,
            fpp_now: 0.0,
            kind: "",
            keyed: false,
            read_only: false,
        };
        match &self.filter {
            Filter::Growing(filter) => Info {
                capacity: filter.capacity(),
                layers: filter.num_layers() as u64,
                expansion: match self.spec.shape {
                    Shape::Growing { expansion, .. } => Some(expansion),
                    _ => None,
                },
                distinct: filter.distinct_items().rounded(),
                error: filter.target_fpp(),
                fpp_now: filter.expected_fpp(),
                kind: "growing",
                ..base
            },
            Filter::Fixed(fixed, _) => Info {
                capacity: fixed.capacity(),
                kind: "fixed",
                ..base.of(fixed.filter().params())
            },
            Filter::Counting(filter, _) => {
                let filter = &locked(filter).filter;
                Info {
                    capacity: filter.params().expected_items(),
                    error: filter.params().target_fpp(),
                    fpp_now: filter.expected_fpp(base.items),
                    kind: "counting",
                    ..base
                }
            }
            Filter::Window(filter, _) => {
                let filter = &locked(filter).filter;
                Info {
                    capacity: filter.expected_items(),
                    error: filter.target_fpp(),
                    fpp_now: filter.expected_fpp_now(),
                    kind: "window",
                    ..base
                }
            }
            Filter::RedisBloom(filter, _) => {
                let filter = read(filter);
                Info {
                    capacity: filter.capacity(),
                    layers: filter.num_layers() as u64,
                    expansion: filter.growth(),
                    error: filter.error_rate(),
                    fpp_now: filter.estimated_fpp(),
                    kind: "redisbloom",
                    ..base
                }
            }
            Filter::Mapped(mapped) => Info { kind: "mapped", ..base.of(mapped.filter().params()) },
            Filter::Foreign(filter, _) => Info {
                capacity: base.items,
                error: filter.estimated_fpp(),
                fpp_now: filter.estimated_fpp(),
                kind: filter.format().name(),
                ..base
            },
        }
    }

    /// Keys that were new; for `BF.CARD`.
    pub fn items(&self) -> u64 {
        self.filter.items()
    }

    /// What its bits say. Reads all of them three times, each a tenth of a second a GiB or more.
    pub fn measure(&self) -> Measured {
        // The keys after the bits: one whose bits were seen had been counted before.
        let fill_alarm = match &self.filter {
            Filter::Growing(filter) => {
                let estimate = filter.estimated_items();
                // Of each layer, those that came to it.
                let came = filter.layers().map(|(params, items)| params.distinct_items(items));
                Some(is_overfull(&estimate, came.fold(0, u64::saturating_add)))
            }
            Filter::Fixed(fixed, _) => {
                let params = fixed.filter().params();
                let ones = fixed.filter().fill_ratio() * params.num_bits() as f64;
                let estimate = Estimate::from_ones(params, ones.round() as u64);
                Some(is_overfull(&estimate, params.distinct_items(fixed.items())))
            }
            _ => None,
        };
        let (fill, fpp) = match &self.filter {
            Filter::Growing(filter) => (filter.fill_ratio(), filter.estimated_fpp()),
            Filter::Fixed(fixed, _) => {
                (fixed.filter().fill_ratio(), fixed.filter().estimated_fpp())
            }
            Filter::Counting(filter, _) => {
                let filter = &locked(filter).filter;
                (filter.fill_ratio(), filter.estimated_fpp())
            }
            Filter::Window(filter, _) => {
                let filter = &locked(filter).filter;
                (filter.fill_ratio(), filter.estimated_fpp())
            }
            Filter::RedisBloom(filter, _) => foreign(&*read(filter)),
            Filter::Mapped(mapped) => {
                (mapped.filter().fill_ratio(), mapped.filter().estimated_fpp())
            }
            Filter::Foreign(filter, _) => foreign(&**filter),
        };
        Measured { fill, fpp, fill_alarm }
    }
}

impl Info {
    /// With the numbers of a plain filter that counted these items.
    fn of(self, params: &FilterParams) -> Self {
        let distinct = params.distinct_items(self.items);
        Self {
            capacity: params.expected_items(),
            distinct,
            error: params.target_fpp(),
            fpp_now: params.expected_fpp(distinct),
            ..self
        }
    }
}

/// Whether the bits speak of more keys than `came`, beyond what chance let them.
fn is_overfull(estimate: &Estimate, came: u64) -> bool {
    let came = came as f64;
    // Of a few keys that share no bit the formula is off by less than one. A filter without a clear
    // bit speaks of infinitely many.
    estimate.items.is_infinite() && came < estimate.low
        || estimate.items - ALARM_DEVIATIONS * estimate.deviation() > came + 1.0
}

fn foreign(filter: &dyn ForeignFilter) -> (f64, f64) {
    (filter.count_ones() as f64 / filter.num_bits() as f64, filter.estimated_fpp())
}

impl Filter {
    /// Keys that were new.
    pub(super) fn items(&self) -> u64 {
        match self {
            Self::Growing(filter) => filter.inserted_items(),
            Self::Fixed(fixed, _) => fixed.items(),
            Self::Counting(filter, _) => locked(filter).filter.inserted_items(),
            Self::Window(filter, _) => locked(filter).filter.inserted_items(),
            Self::RedisBloom(filter, _) => read(filter).num_items(),
            Self::Mapped(mapped) => mapped.filter().inserted_items(),
            Self::Foreign(filter, _) => filter.estimated_items().unwrap_or(0),
        }
    }

    /// Bytes of its bits.
    pub(super) fn num_bytes(&self) -> u64 {
        match self {
            Self::Growing(filter) => filter.num_bytes(),
            Self::Fixed(_, charge)
            | Self::Counting(_, charge)
            | Self::Window(_, charge)
            | Self::RedisBloom(_, charge)
            | Self::Foreign(_, charge) => charge.bytes(),
            Self::Mapped(mapped) => mapped.filter().params().num_bytes(),
        }
    }
}
