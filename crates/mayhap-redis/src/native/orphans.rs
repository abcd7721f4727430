//! Shards to which no parameters refer. A failover of the master of the parameters that undoes a
//! switch leaves those of the new filter, unless a handle of it notices.

use super::place::Target;
use super::wire::word;
use crate::replies::text;
use crate::server::{Command, words};
use crate::{Error, Server};
use redis::Value;
use std::collections::BTreeMap;

/// The keys of shards: `{NAME:ID}:GENERATION`.
const SHARDS: &str = "{*:*}:????????????????";
/// Commands of one round trip.
const AT_ONCE: usize = 1_000;

/// The shards of one generation of a filter to which no parameters refer, and which do not expire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    name: String,
    generation: String,
    keys: Vec<String>,
}

impl Orphan {
    /// The name of the filter.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The keys of the shards.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }
}

impl Server {
    /// Finds shards that belong to no filter and do not expire, by `SCAN` on all masters: of up to
    /// `max` generations.
    ///
    /// A master that is cut off from its cluster answers for a while (`cluster-node-timeout`, 15 s
    /// by default) with parameters that may be out of date. So wait that long before
    /// [`Server::delete_orphan`], which looks again.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the user may not `SCAN`; the errors of a call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use mayhap_redis::*;
    /// # use test_servers::{RedisOptions, RedisServer, ready};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # if !ready(&["redis-server"]) {
    /// #     return Ok(());
    /// # }
    /// # let redis = RedisServer::start(&RedisOptions::default())?;
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// # let address = Address::parse(&redis.url())?;
    /// # let server = Server::connect(&address, ServerOptions::default()).await?;
    /// # let options = NativeOptions::for_items(1_000, 0.01)?;
    /// # let seen = NativeFilter::create(&server, "seen", &options).await?;
    /// # seen.insert(b"a").await?;
    /// # redis.cli(&["DEL", "{seen}:meta"])?;
    /// let orphans = server.orphans(1_000).await?;
    /// assert_eq!(orphans.len(), 1);
    /// // In a cluster, `cluster-node-timeout` later:
    /// assert!(server.delete_orphan(&orphans[0]).await? > 0);
    /// assert!(server.orphans(1_000).await?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })
    /// # }
    /// ```
    pub async fn orphans(&self, max: usize) -> Result<Vec<Orphan>, Error> {
        let mut found: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for slot in self.masters() {
            self.scan(slot, "string", Some(SHARDS), &mut |key| {
                let Some((key, (name, generation))) =
                    text(key).and_then(|key| Some((key, parts(key)?)))
                else {
                    return;
                };
                let of = (name.to_owned(), generation.to_owned());
                if found.len() < max || found.contains_key(&of) {
                    found.entry(of).or_default().push(key.to_owned());
                }
            })
            .await?;
        }
        let mut orphans = Vec::new();
        for ((name, generation), keys) in found {
            let orphan = Orphan { name, generation, keys };
            if self.is_referred_to(&orphan).await? {
                continue;
            }
            let keys = self.lasting(orphan.keys).await?;
            if !keys.is_empty() {
                orphans.push(Orphan { keys, ..orphan });
            }
        }
        Ok(orphans)
    }

    /// Deletes these shards, unless parameters refer to them now; returns the number deleted.
    ///
    /// # Errors
    ///
    /// The errors of a call.
    pub async fn delete_orphan(&self, orphan: &Orphan) -> Result<u64, Error> {
        if self.is_referred_to(orphan).await? {
            return Ok(0);
        }
        let mut deleted = 0;
        for keys in orphan.keys.chunks(AT_ONCE) {
            let unlink = |key: &String| Command::write(key, words(&["UNLINK", key]));
            let replies = self.run(keys.iter().map(unlink).collect()).await?;
            for (reply, key) in replies.into_iter().zip(keys) {
                deleted += reply.count(key, "to delete a shard")?;
            }
        }
        Ok(deleted)
    }

    /// Whether the filter of this name, or the one that is to replace it, has these shards.
    async fn is_referred_to(&self, orphan: &Orphan) -> Result<bool, Error> {
        // The next one first: a switch makes it the filter itself.
        for target in [Target::next(&orphan.name), Target::live(&orphan.name)] {
            let key = target.meta_key();
            let get = Command::write(&key, words(&["HGET", &key, "generation"]));
            let reply = self.run_unconfirmed(vec![get]).await?.pop();
            let value = reply.map_or(Ok(Value::Nil), |reply| reply.of(&key, "the generation"))?;
            if word(&value) == orphan.generation {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The keys that never expire.
    async fn lasting(&self, keys: Vec<String>) -> Result<Vec<String>, Error> {
        let mut lasting = Vec::new();
        for keys in keys.chunks(AT_ONCE) {
            let ttl = |key: &String| Command::write(key, words(&["PTTL", key]));
            let replies = self.run_unconfirmed(keys.iter().map(ttl).collect()).await?;
            for (reply, key) in replies.into_iter().zip(keys) {
                if reply.int(key, "the expiry of a shard")? == -1 {
                    lasting.push(key.clone());
                }
            }
        }
        Ok(lasting)
    }
}

/// Name and generation in the key of a shard.
fn parts(key: &str) -> Option<(&str, &str)> {
    let (tag, generation) = key.strip_prefix('{')?.split_once("}:")?;
    let (name, id) = tag.rsplit_once(':')?;
    let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    let is_hex = generation.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    (is_number && is_hex && generation.len() == 16 && !name.is_empty())
        .then_some((name, generation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_a_shard_has_name_and_generation_and_no_other_key_has() {
        assert_eq!(parts("{a:b:17}:00ff00ff00ff00ff"), Some(("a:b", "00ff00ff00ff00ff")));
        for other in [
            "{a}:meta",
            "{a:17}:00ff00ff00ff00ff:or",
            "{a:17}:00FF00ff00ff00ff",
            "{a:x}:00ff00ff00ff00ff",
            "{a:}:00ff00ff00ff00ff",
            "{:1}:00ff00ff00ff00ff",
            "a:17}:00ff00ff00ff00ff",
            "{17}:00ff00ff00ff00ff",
        ] {
            assert_eq!(parts(other), None, "{other}");
        }
    }
}
