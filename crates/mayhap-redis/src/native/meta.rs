//! The hash of a filter's parameters.
//!
//! | field | meaning |
//! |---|---|
//! | `version` | 1 |
//! | `kind` | `bloom` |
//! | `layout`, `num_bits`, `num_hashes`, `expected_items`, `target_fpp` | as in a file |
//! | `digest`, `digest_parameter` | `xxh3` and its seed, or `sip13` and the id of the secret key |
//! | `key_options` | text, at most 2048 bytes |
//! | `shard_blocks` | blocks of 64 bytes in every shard but the last |
//! | `generation` | 16 hexadecimal digits, in the keys and at the end of the shards |
//! | `state` | `creating`, `keeping`, `ready` or `deleting` |
//! | `ttl_ms` | the requested time to live, 0 for none |
//! | `expires_at_ms` | when all keys expire, by the server's clock, 0 for never |

use super::shards::{Cut, MAX_VALUE_BYTES};
use crate::{Damage, Error};
use mayhap::native::MAX_KEY_OPTIONS_BYTES;
use mayhap::{DigestFunction, FilterParams, Layout, SecretKey};

/// The version that is written and read.
const VERSION: &str = "1";

/// The state of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Creating,
    /// All shards have been created, and any client may finish it.
    Keeping,
    Ready,
    Deleting,
}

/// The parameters of a filter on a server, as stored in its hash.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq)]
pub struct Meta {
    pub(crate) params: FilterParams,
    pub(crate) digest_id: u16,
    pub(crate) digest_parameter: u64,
    pub(crate) key_options: String,
    pub(crate) cut: Cut,
    pub(crate) generation: i64,
    pub(crate) state: State,
    pub(crate) ttl_ms: u64,
    pub(crate) expires_at_ms: u64,
}

impl Meta {
    /// All fields but the state and `expires_at_ms`, which is taken from the server's clock.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        let digest = if self.digest_id == 1 { "xxh3" } else { "sip13" };
        vec![
            ("version", VERSION.into()),
            ("kind", "bloom".into()),
            ("layout", self.params.layout().name().into()),
            ("num_bits", self.params.num_bits().to_string()),
            ("num_hashes", self.params.num_hashes().to_string()),
            ("expected_items", self.params.expected_items().to_string()),
            // The shortest decimal that parses to the same number.
            ("target_fpp", format!("{:?}", self.params.target_fpp())),
            ("digest", digest.into()),
            ("digest_parameter", self.digest_parameter.to_string()),
            ("key_options", self.key_options.clone()),
            ("shard_blocks", self.cut.shard_blocks().to_string()),
            ("generation", self.tag()),
            ("ttl_ms", self.ttl_ms.to_string()),
        ]
    }

    /// The generation as it is in keys and in the hash.
    pub(crate) fn tag(&self) -> String {
        format!("{:016x}", self.generation)
    }

    /// Reads the fields of a hash and ignores unknown ones.
    ///
    /// # Errors
    ///
    /// The first field that is missing or has a value that no filter can have.
    pub fn parse(fields: &[(Vec<u8>, Vec<u8>)]) -> Result<Self, Damage> {
        let get = |name: &str| {
            let (_, value) = fields
                .iter()
                .find(|(field, _)| field == name.as_bytes())
                .ok_or_else(|| Damage::Missing(name.into()))?;
            let limit = MAX_KEY_OPTIONS_BYTES;
            if value.len() > limit {
                return Err(Damage::TooLong { field: name.into(), found: value.len(), limit });
            }
            std::str::from_utf8(value).map_err(|_| Damage::NotUtf8(name.into()))
        };
        let bad = |name: &str, value: &str| Damage::Bad { field: name.into(), value: value.into() };
        let number = |name: &str| {
            let value = get(name)?;
            value.parse::<u64>().map_err(|_| bad(name, value))
        };
        for (name, known) in [("version", VERSION), ("kind", "bloom")] {
            let value = get(name)?;
            if value != known {
                let (field, value) = (name.into(), value.into());
                return Err(Damage::Version { field, value, known });
            }
        }
        let layout = get("layout")?;
        let layout = (1..=4)
            .filter_map(Layout::from_id)
            .find(|known| known.name() == layout)
            .ok_or_else(|| bad("layout", layout))?;
        let hashes = number("num_hashes")?;
        let hashes = u32::try_from(hashes).map_err(|_| bad("num_hashes", &hashes.to_string()))?;
        let fpp = get("target_fpp")?;
        let fpp = fpp.parse::<f64>().map_err(|_| bad("target_fpp", fpp))?;
        let (bits, items) = (number("num_bits")?, number("expected_items")?);
        let params = FilterParams::new(layout, bits, hashes, items, fpp);
        let params = params.map_err(Damage::Params)?;
        let digest_id = match get("digest")? {
            "xxh3" => 1,
            "sip13" => 2,
            other => return Err(bad("digest", other)),
        };
        let cut = Cut::check(&params, number("shard_blocks")?, MAX_VALUE_BYTES);
        let text = get("generation")?;
        let generation = u64::from_str_radix(text, 16).map_err(|_| bad("generation", text))?;
        if text != format!("{generation:016x}") || generation == 0 {
            return Err(bad("generation", text));
        }
        let state = match get("state")? {
            "creating" => State::Creating,
            "keeping" => State::Keeping,
            "ready" => State::Ready,
            "deleting" => State::Deleting,
            other => return Err(bad("state", other)),
        };
        Ok(Self {
            params,
            digest_id,
            digest_parameter: number("digest_parameter")?,
            key_options: get("key_options")?.into(),
            cut: cut.map_err(Damage::of_cut)?,
            generation: generation.cast_signed(),
            state,
            ttl_ms: number("ttl_ms")?,
            expires_at_ms: number("expires_at_ms")?,
        })
    }

    /// The digest function, given the secret key if there is one.
    ///
    /// # Errors
    ///
    /// The errors of [`DigestFunction::recorded`].
    pub(crate) fn digest_function(&self, key: Option<SecretKey>) -> Result<DigestFunction, Error> {
        Ok(DigestFunction::recorded(self.digest_id, self.digest_parameter, key)?)
    }

    /// Whether its bits were set with this digest function.
    pub(crate) fn is_of(&self, digest: DigestFunction) -> bool {
        (self.digest_id, self.digest_parameter) == (digest.id(), digest.parameter())
    }

    /// [`Error::Exists`] with the first parameter that differs from the requested ones.
    pub(crate) fn check_same(&self, wanted: &Self, name: &str) -> Result<(), Error> {
        let decides = |field: &&str| !matches!(*field, "shard_blocks" | "generation" | "ttl_ms");
        for ((parameter, has), (_, wanted)) in self.fields().into_iter().zip(wanted.fields()) {
            if decides(&parameter) && has != wanted {
                return Err(Error::Exists { name: name.into(), parameter, has, wanted });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(meta: &Meta) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut fields = meta.fields();
        fields.extend([("state", "ready".into()), ("expires_at_ms", "7".into())]);
        fields.into_iter().map(|(name, value)| (name.into(), value.into_bytes())).collect()
    }

    fn meta() -> Meta {
        let params = mayhap::sizing::for_items(Layout::Blocked, 100_000, 0.1 / 3.0).unwrap();
        Meta {
            params,
            digest_id: 1,
            digest_parameter: u64::MAX,
            key_options: "trim=yes\n".into(),
            cut: Cut::plan(&params, None).unwrap(),
            generation: -5,
            state: State::Ready,
            ttl_ms: 9,
            expires_at_ms: 7,
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        assert_eq!(Meta::parse(&fields(&meta())).unwrap(), meta());
    }

    #[test]
    fn a_field_that_no_filter_has_is_refused_by_its_name() {
        let refused = |name: &str, value: &str| {
            let mut fields = fields(&meta());
            fields.iter_mut().find(|(field, _)| field == name.as_bytes()).unwrap().1 = value.into();
            let error = Meta::parse(&fields).unwrap_err();
            assert!(error.to_string().contains(name), "{name} {value}: {error}");
        };
        for (name, value) in [
            ("version", "2"),
            ("kind", "counting"),
            ("layout", "wide"),
            ("num_bits", "513"),
            ("num_bits", "-1"),
            ("num_hashes", "9"),
            ("num_hashes", "4294967304"),
            ("digest", "md5"),
            ("generation", "0000000000000000"),
            ("generation", "fb"),
            ("generation", "+0000000000000fb"),
            ("state", "gone"),
            ("ttl_ms", ""),
        ] {
            refused(name, value);
        }
        refused("key_options", &"x".repeat(2049));
        for i in 0..fields(&meta()).len() {
            let mut fields = fields(&meta());
            let (name, _) = fields.remove(i);
            let error = Meta::parse(&fields).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("it has no {}", String::from_utf8(name).unwrap())
            );
        }
    }
}
