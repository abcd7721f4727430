//! The options of a new filter.

use super::meta::{Meta, State};
use super::shards::Cut;
use crate::Error;
use mayhap::native::MAX_KEY_OPTIONS_BYTES;
use mayhap::{DigestFunction, FilterParams, Layout, sizing};
use std::time::Duration;

/// The options of a new filter on a server.
///
/// # Examples
///
/// ```
/// use mayhap_redis::NativeOptions;
/// use std::time::Duration;
///
/// let day = Duration::from_secs(86_400);
/// let options = NativeOptions { ttl: Some(day), ..NativeOptions::for_items(1_000_000, 0.001)? };
/// assert_eq!((options.params.expected_items(), options.ttl), (1_000_000, Some(day)));
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NativeOptions {
    /// Layout, m, k, n and p. `standard` must fit into one shard.
    pub params: FilterParams,
    /// How keys become digests; `xxh3` with seed 0 by default.
    pub digest_function: DigestFunction,
    /// How keys are extracted from input lines, as in a file: at most 2048 bytes; empty if the key
    /// is the whole line.
    pub key_options: String,
    /// The time after which all keys of the filter expire together, by the server's clock.
    pub ttl: Option<Duration>,
    /// The largest size of a shard in bytes, 4 KiB to 512 MiB; 4 MiB if `None`. Only needed for
    /// large filters of the layout `standard`: a command on a huge value blocks all other clients.
    pub max_shard_bytes: Option<u64>,
}

impl NativeOptions {
    /// The defaults for a filter with these parameters.
    pub fn new(params: FilterParams) -> Self {
        Self {
            params,
            digest_function: DigestFunction::default(),
            key_options: String::new(),
            ttl: None,
            max_shard_bytes: None,
        }
    }

    /// The defaults for this many keys at this rate: layout `blocked`, and the lowest k whose bits
    /// are at most 1.1 times the fewest, since setting each of the k bits costs a server about 0.25
    /// µs: 4 for rates of about 0.77 % and above, 16 for 2.9e-5 and below, 8 in between.
    ///
    /// # Errors
    ///
    /// Same as [`sizing::for_items`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_redis::NativeOptions;
    /// assert_eq!(NativeOptions::for_items(1_000_000, 0.01)?.params.num_hashes(), 4);
    /// assert_eq!(NativeOptions::for_items(1_000_000, 1e-4)?.params.num_hashes(), 8);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn for_items(expected_items: u64, target_fpp: f64) -> Result<Self, mayhap::Error> {
        const BITS_WORTH_HALF_THE_WORK: f64 = 1.1;
        let fewest = sizing::for_items(Layout::Blocked, expected_items, target_fpp)?;
        let limit = fewest.num_bits() as f64 * BITS_WORTH_HALF_THE_WORK;
        let params = [4, 8]
            .into_iter()
            .filter_map(|k| {
                sizing::for_items_and_hashes(Layout::Blocked, k, expected_items, target_fpp).ok()
            })
            .find(|params| params.num_bits() as f64 <= limit);
        Ok(Self::new(params.unwrap_or(fewest)))
    }

    /// The hash of a filter with these options and a new random generation.
    pub(crate) fn meta(&self) -> Result<Meta, Error> {
        let found = self.key_options.len();
        if found > MAX_KEY_OPTIONS_BYTES {
            let limit = MAX_KEY_OPTIONS_BYTES as u64;
            let (field, found) = ("key_options", found as u64);
            return Err(mayhap::Error::TooLarge { field, limit, found }.into());
        }
        let ttl_ms = self.ttl.map_or(Ok(0), millis)?;
        Ok(Meta {
            params: self.params,
            digest_id: self.digest_function.id(),
            digest_parameter: self.digest_function.parameter(),
            key_options: self.key_options.clone(),
            cut: Cut::plan(&self.params, self.max_shard_bytes)?,
            generation: random()?,
            state: State::Creating,
            ttl_ms,
            expires_at_ms: 0,
        })
    }
}

/// A time to live for the server: 1 ms to 1000 years.
pub(crate) fn millis(ttl: Duration) -> Result<u64, Error> {
    const MAX: u64 = 1000 * 366 * 86_400_000;
    let found = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
    if (1..=MAX).contains(&found) {
        return Ok(found);
    }
    Err(mayhap::Error::OutOfRange { parameter: "ttl in ms", min: 1, max: MAX, found }.into())
}

/// A random number that has not been used before, and not 0.
pub(crate) fn random() -> Result<i64, Error> {
    loop {
        let number = getrandom::u64().map_err(|error| Error::Refused {
            what: "a random number of this system".into(),
            reason: error.to_string(),
        })?;
        if number != 0 {
            return Ok(number.cast_signed());
        }
    }
}
