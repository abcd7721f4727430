//! The reply of `BF.INFO`.

use super::{BfGrowth, BfKind, BfOptions};
use crate::Error;
use crate::replies::text;
use redis::Value;

/// The fields common to all servers, and the rates of valkey-bloom.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct BfInfo {
    /// The capacity of all layers.
    pub(super) capacity: u64,
    pub(super) bytes: u64,
    pub(super) items: u64,
    /// `None` for a filter that does not grow.
    pub(super) expansion: Option<u64>,
    pub(super) own: OwnInfo,
    layers: u64,
    tightening: Option<f64>,
}

/// The fields that only some servers have.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct OwnInfo {
    pub(super) target_fpp: Option<f64>,
    /// The requested capacity; `None` if it is that of all layers.
    pub(super) requested: Option<u64>,
    /// The kind and the digest function by the names of `mayhap serve`.
    pub(super) kind: Option<String>,
    pub(super) digest: Option<String>,
    /// Where the filters of a server in front of a store are.
    pub(super) store: Option<String>,
}

/// The value of one field of `BF.INFO`: bare in valkey-bloom, an array or a map of one in
/// others.
pub(super) fn one(answer: Option<&Value>) -> Option<Value> {
    match answer {
        Some(Value::Array(one)) => one.first().cloned(),
        Some(Value::Map(one)) => one.first().map(|(_, value)| value.clone()),
        other => other.cloned(),
    }
}

/// A real number.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Double(number) => Some(*number),
        value => text(value).and_then(|number| number.parse().ok()),
    }
}

/// Fields that only some servers have: p, the requested capacity, two names of `mayhap serve`, and
/// where its filters are if it is in front of a store.
pub(super) const FIELDS: [&str; 5] = ["ERROR", "REQUESTED", "KIND", "DIGEST", "STORE"];

impl BfKind {
    /// The kinds as `mayhap serve` names them; `growing` and `fixed` are of its version 0.1.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Bloom => &[
                "scalable",
                "blocked",
                "standard",
                "blocked128",
                "blocked64",
                "redisbloom",
                "mapped",
                "growing",
                "fixed",
            ],
            Self::Compact => &["compact"],
            Self::Counting => &["counting"],
            Self::WindowItems(_) | Self::WindowMillis(_) => &["window"],
        }
    }
}

impl BfInfo {
    /// A flat array of names and values (RESP2, and valkey-bloom always), or a map.
    pub(super) fn read(value: &Value) -> Result<Self, Error> {
        let strange = || Error::strange("BF.INFO", value);
        let pairs: Vec<(&Value, &Value)> = match value {
            Value::Map(pairs) => pairs.iter().map(|(name, value)| (name, value)).collect(),
            Value::Array(flat) => flat.as_chunks::<2>().0.iter().map(|[a, b]| (a, b)).collect(),
            _ => return Err(strange()),
        };
        let find = |wanted: &str| {
            let mut pairs = pairs.iter();
            let named = |name: &Value| text(name).is_some_and(|name| name == wanted);
            pairs.find(|(name, _)| named(name)).map(|(_, value)| *value)
        };
        let count = |name| match find(name) {
            Some(Value::Int(number)) => u64::try_from(*number).map_err(|_| strange()),
            _ => Err(strange()),
        };
        let rate = |name| find(name).and_then(self::number);
        let expansion = match find("Expansion rate") {
            Some(Value::Int(times)) => u64::try_from(*times).ok().filter(|&times| times > 0),
            _ => None,
        };
        Ok(Self {
            capacity: count("Capacity")?,
            bytes: count("Size")?,
            layers: count("Number of filters")?,
            items: count("Number of items inserted")?,
            expansion,
            tightening: rate("Tightening ratio"),
            own: OwnInfo { target_fpp: rate("Error rate"), ..OwnInfo::default() },
        })
    }

    /// Adds the replies for [`FIELDS`] of a server that has them.
    pub(super) fn complete(&mut self, fields: &[Option<Value>; FIELDS.len()]) {
        let [target_fpp, requested, kind, digest, store] =
            fields.each_ref().map(|field| one(field.as_ref()));
        let name = |value: Option<Value>| value.as_ref().and_then(text).map(str::to_owned);
        self.own = OwnInfo {
            target_fpp: target_fpp.as_ref().and_then(number).or(self.own.target_fpp),
            requested: match requested {
                Some(Value::Int(items)) => u64::try_from(items).ok(),
                _ => None,
            },
            kind: name(kind),
            digest: name(digest),
            store: name(store),
        };
    }

    /// The first parameter that is not as requested: its name, its value, and the requested value.
    ///
    /// `RedisBloom` does not report p.
    pub(super) fn differs(&self, wanted: &BfOptions) -> Option<(&'static str, String, String)> {
        let shown = |times: Option<u64>| times.map_or("none".to_owned(), |times| times.to_string());
        let names = wanted.kind.names();
        // A server that reports no kind has plain filters.
        let plain = if wanted.kind == BfKind::Bloom { names[0] } else { "plain" };
        let kind = self.own.kind.as_deref().unwrap_or(plain);
        if !names.contains(&kind) {
            return Some(("kind", kind.to_owned(), names[0].to_owned()));
        }
        let growth = match wanted.growth {
            BfGrowth::OfServer => self.expansion,
            BfGrowth::By(times) => Some(u64::from(times)).filter(|&times| times > 0),
            BfGrowth::None => None,
        };
        if growth != self.expansion {
            return Some(("expansion", shown(self.expansion), shown(growth)));
        }
        let has = match self.own.requested {
            Some(requested) if requested == wanted.expected_items => None,
            Some(requested) => Some(requested.to_string()),
            None if self.layers_of(wanted.expected_items) == self.capacity => None,
            None => Some(format!("{} in {} layers", self.capacity, self.layers)),
        };
        if let Some(has) = has {
            return Some(("capacity", has, wanted.expected_items.to_string()));
        }
        match self.own.target_fpp {
            Some(rate) if rate != wanted.target_fpp => {
                Some(("error rate", rate.to_string(), wanted.target_fpp.to_string()))
            }
            _ => None,
        }
    }

    /// The capacity of this many layers if the first holds c: c, c e, c e², ….
    fn layers_of(&self, mut layer: u64) -> u64 {
        let mut capacity = 0u64;
        for _ in 0..self.layers.min(64) {
            capacity = capacity.saturating_add(layer);
            layer = layer.saturating_mul(self.expansion.unwrap_or(1));
        }
        capacity
    }

    /// The current rate of a filter sized for `target_fpp`: `(1 − 2^(−items / capacity))^(log2(1 /
    /// p))`, which is p when it is full; for several layers the largest possible sum.
    pub(super) fn estimated_fpp(&self, target_fpp: f64) -> f64 {
        if self.layers > 1 {
            // RedisBloom halves p from layer to layer, starting with p / 2.
            return self.tightening.map_or(target_fpp, |ratio| target_fpp / (1.0 - ratio)).min(1.0);
        }
        let load = self.items as f64 / self.capacity as f64;
        (1.0 - (-load).exp2()).powf(-target_fpp.log2())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `BF.INFO` of `RedisBloom` on RESP3, which no connection of ours uses yet.
    #[test]
    fn a_map_is_read_as_a_flat_array_is() {
        let name = |text: &str| Value::SimpleString(text.into());
        let pairs = [
            ("Capacity", Value::Int(700)),
            ("Size", Value::Int(1_000)),
            ("Number of filters", Value::Int(3)),
            ("Number of items inserted", Value::Int(5)),
            ("Expansion rate", Value::Int(2)),
        ];
        let map = Value::Map(pairs.iter().map(|(a, b)| (name(a), b.clone())).collect());
        let flat = Value::Array(pairs.iter().flat_map(|(a, b)| [name(a), b.clone()]).collect());
        let info = BfInfo::read(&map).unwrap();
        assert_eq!(info, BfInfo::read(&flat).unwrap());
        assert_eq!((info.capacity, info.layers, info.expansion), (700, 3, Some(2)));
        assert_eq!(info.differs(&BfOptions::new(100, 0.01)), None);
        for odd in [
            Value::Nil,
            Value::Array(vec![]),
            Value::Array(vec![name("Capacity")]),
            Value::Map(vec![(name("Capacity"), Value::Int(-1))]),
        ] {
            assert!(BfInfo::read(&odd).is_err(), "{odd:?}");
        }
    }

    #[test]
    fn a_filter_of_its_capacity_has_its_rate() {
        let info = |items| BfInfo { capacity: 1_000, layers: 1, items, ..BfInfo::default() };
        assert_eq!(info(0).estimated_fpp(0.01), 0.0);
        assert!((info(1_000).estimated_fpp(0.01) - 0.01).abs() < 1e-12);
        // (1 − 2^(−1/2))^(log2 100)
        assert!((info(500).estimated_fpp(0.01) - 2.863e-4).abs() < 1e-6);
    }
}
