//! The names of the filters on a server.

use crate::replies::text;
use crate::server::Command;
use crate::{Error, Server};
use mayhap_formats::RedissonConfig;
use redis::{Value, cmd};
use std::collections::BTreeSet;
use std::time::Instant;

/// Keys that a server looks at for one reply: about 0.3 ms.
const COUNT: u32 = 1_000;
/// A server is left alone for so many times the time of a reply.
const REST: u32 = 4;
/// The types of values behind `BF.*`: of `RedisBloom` and `mayhap serve`, and of valkey-bloom.
const BF_TYPES: [&str; 2] = ["MBbloom--", "bloomfltr"];
/// `{name}:meta` and `{name}:config`, and little else: the ends are checked here.
const PARAMETERS: &str = "{*}*:[cm][oe][nt][fa]*";

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

/// A filter that [`Server::filters`] found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedFilter {
    /// Its name.
    pub name: String,
    /// Its scheme, as its key tells.
    pub scheme: FilterScheme,
}

/// The filters of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// By name, each once.
    pub filters: Vec<NamedFilter>,
    /// Whether there are more than the given number.
    pub is_cut: bool,
    /// Filters whose name is not UTF-8, which are left out.
    pub unnamed: u64,
}

impl Server {
    /// Lists the filters by `SCAN`, on all masters of a cluster: up to `max` of them.
    ///
    /// The server looks at each of its keys three times, in steps of a thousand, and rests for four
    /// times as long as a step takes. Bitmaps that record no parameters (Java-BloomFilter) are not
    /// found. A filter that is created meanwhile may be missing.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the user may not `SCAN`; those of a call.
    pub async fn filters(&self, max: usize) -> Result<Listed, Error> {
        let mut found = Found { filters: BTreeSet::new(), unnamed: 0, max };
        for slot in self.masters() {
            for kind in BF_TYPES {
                self.scan(slot, kind, None, &mut |key| {
                    found.put(key, |name| Some((name, FilterScheme::Bf)));
                })
                .await?;
            }
            self.scan(slot, "hash", Some(PARAMETERS), &mut |key| found.put(key, of_parameters))
                .await?;
        }
        let is_cut = found.filters.len() > max;
        let filters = found.filters.into_iter().take(max).collect();
        Ok(Listed { filters, is_cut, unnamed: found.unnamed })
    }

    /// Hands over all keys of a type.
    async fn scan(
        &self,
        slot: u16,
        kind: &str,
        pattern: Option<&str>,
        take: &mut (dyn FnMut(&Value) + Send),
    ) -> Result<(), Error> {
        let mut cursor = "0".to_owned();
        loop {
            let mut scan = cmd("SCAN");
            scan.arg(&cursor).arg("COUNT").arg(COUNT).arg("TYPE").arg(kind);
            if let Some(pattern) = pattern {
                scan.arg("MATCH").arg(pattern);
            }
            let started = Instant::now();
            let mut replies = self.run_unconfirmed(vec![Command::write_to(slot, scan)]).await?;
            let reply = match replies.pop().map(|reply| reply.of("SCAN", "SCAN")) {
                Some(Ok(value)) => value,
                // Newer servers refuse the names of types that they do not have.
                Some(Err(Error::Refused { reason, .. })) if reason.contains("type") => {
                    return Ok(());
                }
                Some(Err(error)) => return Err(error),
                None => return Err(Error::strange("SCAN", &Value::Nil)),
            };
            let Value::Array(pair) = &reply else { return Err(Error::strange("SCAN", &reply)) };
            let [next, Value::Array(keys)] = &pair[..] else {
                return Err(Error::strange("SCAN", &reply));
            };
            keys.iter().for_each(&mut *take);
            match text(next) {
                Some("0") => return Ok(()),
                Some(next) => next.clone_into(&mut cursor),
                None => return Err(Error::strange("SCAN", &reply)),
            }
            tokio::time::sleep(started.elapsed() * REST).await;
        }
    }
}

struct Found {
    filters: BTreeSet<NamedFilter>,
    unnamed: u64,
    max: usize,
}

impl Found {
    fn put(&mut self, key: &Value, read: impl Fn(&str) -> Option<(&str, FilterScheme)>) {
        let Some(key) = text(key) else {
            self.unnamed += 1;
            return;
        };
        let found = read(key).filter(|_| self.filters.len() <= self.max);
        self.filters.extend(found.map(|(name, scheme)| NamedFilter { name: name.into(), scheme }));
    }
}

/// The filter whose parameters this key may have.
fn of_parameters(key: &str) -> Option<(&str, FilterScheme)> {
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
