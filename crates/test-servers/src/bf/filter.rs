//! A filter of either server.

use super::dialect::Dialect;
use super::reply::Reply;
use super::reservation::Reservation;
use super::valkey::{TIGHTENING, ValkeyFilter};
use mayhap_formats::{
    Error, ForeignFilter, Limits, RedisBloomFilter, RedisBloomLayer, RedisBloomOptions,
};

/// The memory of a filter apart from its bits: as a whole, and for each layer.
const OWN_BYTES: u64 = 32;
const LAYER_BYTES: u64 = 64;
/// A filter of valkey-bloom with the usual parameters reports this as its maximum size.
const MAX_SCALED_CAPACITY: u64 = 26_214_300;

/// The filter under a name.
#[derive(Debug)]
pub(super) enum Filter {
    RedisBloom(Box<RedisBloomFilter>),
    Valkey(ValkeyFilter),
}

/// A row of `BF.INFO`: the word that requests it, its name, and its value.
pub(super) type InfoRow = (&'static str, &'static str, Reply);

impl Filter {
    pub(super) fn reserve(dialect: Dialect, reservation: &Reservation) -> Result<Self, String> {
        match dialect {
            Dialect::RedisBloom => {
                let Reservation { error_rate, capacity, expansion: growth } = *reservation;
                let options = RedisBloomOptions { error_rate, capacity, growth };
                let made = RedisBloomFilter::create(&options, &Limits::default());
                let made = made.map_err(|error| words(error, "ERR could not create filter"))?;
                Ok(Self::RedisBloom(Box::new(made)))
            }
            Dialect::Valkey => ValkeyFilter::reserve(reservation).map(Self::Valkey),
        }
    }

    pub(super) fn contains(&self, key: &[u8]) -> bool {
        match self {
            Self::RedisBloom(filter) => filter.contains(key),
            Self::Valkey(filter) => filter.contains(key),
        }
    }

    /// Inserts a key; returns whether it was new.
    pub(super) fn insert(&mut self, key: &[u8]) -> Result<bool, String> {
        match self {
            Self::RedisBloom(filter) => filter
                .insert(key)
                .map_err(|error| words(error, "ERR problem inserting into filter")),
            Self::Valkey(filter) => filter.insert(key),
        }
    }

    pub(super) fn num_items(&self) -> u64 {
        match self {
            Self::RedisBloom(filter) => filter.num_items(),
            Self::Valkey(filter) => filter.num_items(),
        }
    }

    /// The rows of `BF.INFO`, in the order of the server.
    pub(super) fn info(&self) -> Vec<InfoRow> {
        let (capacity, num_bytes, layers, growth) = match self {
            Self::RedisBloom(filter) => {
                let num_bytes = filter.layers().map(|RedisBloomLayer { num_bytes, .. }| num_bytes);
                (filter.capacity(), num_bytes.sum::<u64>(), filter.num_layers(), filter.growth())
            }
            Self::Valkey(filter) => {
                (filter.capacity(), filter.num_bytes(), filter.num_layers(), filter.expansion)
            }
        };
        let layers = layers as u64;
        let mut rows = vec![
            ("CAPACITY", "Capacity", Reply::count(capacity)),
            ("SIZE", "Size", Reply::count(OWN_BYTES + LAYER_BYTES * layers + num_bytes)),
            ("FILTERS", "Number of filters", Reply::count(layers)),
            ("ITEMS", "Number of items inserted", Reply::count(self.num_items())),
        ];
        if let Self::Valkey(filter) = self {
            rows.push(("ERROR", "Error rate", Reply::text(&filter.error_rate.to_string())));
        }
        let expansion = growth.map_or(Reply::Null, |times| Reply::count(times.into()));
        rows.push(("EXPANSION", "Expansion rate", expansion));
        if let (Self::Valkey(_), Some(_)) = (self, growth) {
            let most = Reply::count(MAX_SCALED_CAPACITY);
            rows.push(("TIGHTENING", "Tightening ratio", Reply::text(&TIGHTENING.to_string())));
            rows.push(("MAXSCALEDCAPACITY", "Max scaled capacity", most));
        }
        rows
    }
}

/// The server's text for an error; `other` for one that only mayhap has.
fn words(error: Error, other: &str) -> String {
    match error {
        Error::Refused { message } => message,
        _ => other.into(),
    }
}
