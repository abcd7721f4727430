//! The names of the filters on a server.

use crate::replies::text;
use mayhap_formats::RedissonConfig;
use redis::Value;
use std::collections::BTreeSet;

/// The scheme of a filter on a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FilterScheme {
    /// mayhap's own layout.
    Native,
    /// Behind `BF.*`: of `RedisBloom`, valkey-bloom or `mayhap serve`.
    Bf,
    /// Redisson's.
    Redisson,
}

/// A filter that [`crate::Server::filters`] found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedFilter {
    /// Its name.
    pub name: String,
    /// Its scheme, as recognised by its key.
    pub scheme: FilterScheme,
}

/// The filters of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// The filters by name, each once.
    pub filters: Vec<NamedFilter>,
    /// Whether there are more than the given number.
    pub is_cut: bool,
    /// Filters whose name is not UTF-8, which are left out.
    pub unnamed: u64,
}

/// The filters found so far: one more than are wanted shows that there are more.
pub(super) struct Found {
    filters: BTreeSet<NamedFilter>,
    unnamed: u64,
    max: usize,
}

impl Found {
    pub(super) fn new(max: usize) -> Self {
        Self { filters: BTreeSet::new(), unnamed: 0, max }
    }

    pub(super) fn put(&mut self, key: &Value, read: impl Fn(&str) -> Option<(&str, FilterScheme)>) {
        let Some(key) = text(key) else {
            self.unnamed += 1;
            return;
        };
        let found = read(key).filter(|_| self.filters.len() <= self.max);
        self.filters.extend(found.map(|(name, scheme)| NamedFilter { name: name.into(), scheme }));
    }

    pub(super) fn listed(self) -> Listed {
        let is_cut = self.filters.len() > self.max;
        let filters = self.filters.into_iter().take(self.max).collect();
        Listed { filters, is_cut, unnamed: self.unnamed }
    }
}

/// Like [`of_parameters`], of filters in mayhap's own layout alone.
pub(super) fn of_native(key: &str) -> Option<(&str, FilterScheme)> {
    of_parameters(key).filter(|(_, scheme)| *scheme == FilterScheme::Native)
}

/// The filter whose parameters this key may have.
pub(super) fn of_parameters(key: &str) -> Option<(&str, FilterScheme)> {
    let inside = |text: &'static str| key.strip_prefix('{')?.strip_suffix(text);
    if let Some(name) = inside("}:meta") {
        return Some((name, FilterScheme::Native));
    }
    let names = [inside("}:config"), key.strip_suffix(":config")];
    let name = names.into_iter().flatten().find(|name| RedissonConfig::key(name) == key)?;
    Some((name, FilterScheme::Redisson))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_lead_to_their_filter() {
        use FilterScheme::{Native, Redisson};
        for (key, filter) in [
            ("{seen}:meta", Some(("seen", Native))),
            ("{a b:c}:meta", Some(("a b:c", Native))),
            ("{users}:config", Some(("users", Redisson))),
            ("{tag}users:config", Some(("{tag}users", Redisson))),
            ("users:config", None),
            ("{seen}:next", None),
            ("{seen}:confetti", None),
            ("{seen:meta", None),
        ] {
            assert_eq!(of_parameters(key), filter, "{key}");
        }
    }
}
