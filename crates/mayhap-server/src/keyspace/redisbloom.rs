//! Filters of `RedisBloom`, which hash keys their own way.

use super::loading::MAX_HASHES;
use super::{InsertError, TooLarge};
use mayhap::Charge;
use mayhap_formats::{Error, ForeignFilter, RedisBloomFilter};

/// Bytes of bits.
pub(super) fn num_bytes(filter: &RedisBloomFilter) -> u64 {
    filter.num_bits() / 8
}

fn too_many(hashes: u64) -> InsertError {
    InsertError::Grow(format!(
        "its layers have {hashes} hashes for a key, above the limit of {MAX_HASHES}; begin a new \
         filter"
    ))
}

/// Inserts a key, and charges what the filter grows.
///
/// It is asked to stay within what is left of both limits. Other filters that grow at the same
/// moment see the same rest, so the sum may exceed the limit by what one filter grows a thread,
/// once. One that was made to grow by a layer a key takes no more keys long before each of them
/// costs half a million positions.
pub(super) fn insert(
    filter: &mut RedisBloomFilter,
    key: &[u8],
    max_filter_bytes: u64,
    charge: &Charge,
) -> Result<bool, InsertError> {
    let hashes = filter.hashes_per_key();
    if hashes > MAX_HASHES {
        return if filter.contains(key) { Ok(false) } else { Err(too_many(hashes)) };
    }
    let before = num_bytes(filter);
    let left = charge.budget().left();
    let most = before.saturating_add(left);
    filter.set_max_bytes(max_filter_bytes.min(most));
    let new = filter.insert(key).map_err(|error| match error {
        Error::Refused { message } if message.contains("full") => InsertError::Full,
        Error::OutOfMemory { bytes } => InsertError::OutOfMemory { bytes },
        // In bits, of the layer that was to come.
        Error::TooLarge { field: "number of bits", found, .. } => {
            let asked = before.saturating_add(found / 8);
            InsertError::TooLarge(if most < max_filter_bytes {
                let budget = charge.budget();
                let asked = budget.used().saturating_add(found / 8);
                TooLarge { asked, limit: budget.limit(), setting: "max_memory" }
            } else {
                TooLarge { asked, limit: max_filter_bytes, setting: "max_filter_bytes" }
            })
        }
        error => InsertError::Grow(error.to_string()),
    })?;
    let grown = num_bytes(filter) - before;
    if grown != 0 {
        charge.force(grown);
    }
    Ok(new)
}
