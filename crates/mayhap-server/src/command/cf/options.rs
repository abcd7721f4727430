//! The options of a new filter, in the texts of `RedisBloom`.

use crate::command::call::Fault;
use crate::command::number;
use crate::config::Config;
use crate::reservation::{Named, Reservation};
use mayhap_engine::keyspace::MAX_EXPANSION;
use std::ops::RangeInclusive;

/// The slots of a bucket that `RedisBloom` has by default, and the most swaps of an insertion: ours
/// has neither.
pub(super) const BUCKET_SIZE: u64 = 2;
pub(super) const MAX_ITERATIONS: u64 = 20;
/// Keys for which a filter is created that an insertion needs.
const CAPACITY: u64 = 1_024;
/// `EXPANSION` where it is not given.
const EXPANSION: u32 = 1;

const BUCKET_SIZES: RangeInclusive<u64> = 1..=255;
const ITERATIONS: RangeInclusive<u64> = 1..=65_535;
const EXPANSIONS: RangeInclusive<u64> = 0..=MAX_EXPANSION as u64;

/// The options of a filter without any given.
pub(super) fn by_default(config: &Config) -> Reservation {
    Reservation {
        capacity: CAPACITY,
        expansion: Some(EXPANSION),
        layout: Named::Compact,
        ..Reservation::by_default(config)
    }
}

/// A capacity: at least two buckets.
///
/// `RedisBloom` stops at 2^30. Here the memory limits decide, and their errors state the bound.
pub(super) fn capacity(word: Option<&[u8]>, bucket_size: u64) -> Result<u64, Fault> {
    let number = word.and_then(number::integer).ok_or("Bad capacity")?;
    let capacity = u64::try_from(number).ok().filter(|&capacity| capacity >= 2 * bucket_size);
    capacity
        .ok_or_else(|| "Capacity must be in the range [2 * BUCKETSIZE, 9223372036854775807]".into())
}

/// Takes an option of `CF.RESERVE` with its value from `rest`.
pub(super) fn take<'a>(
    reservation: &mut Reservation,
    bucket_size: &mut u64,
    word: &'a [u8],
    rest: &mut impl Iterator<Item = &'a [u8]>,
) -> Result<(), Fault> {
    match &*word.to_ascii_lowercase() {
        b"bucketsize" => *bucket_size = within("BUCKETSIZE", rest.next(), BUCKET_SIZES)?,
        // Checked and not used: an insertion swaps nothing.
        b"maxiterations" => drop(within("MAXITERATIONS", rest.next(), ITERATIONS)?),
        b"expansion" => {
            let by = within("EXPANSION", rest.next(), EXPANSIONS)?;
            reservation.expansion = u32::try_from(by).ok();
        }
        b"error" => reservation.target_fpp = error_rate(rest.next())?,
        _ => return Err("ERR unknown argument received".into()),
    }
    Ok(())
}

/// The false-positive rate, an option of ours.
pub(super) fn error_rate(word: Option<&[u8]>) -> Result<f64, Fault> {
    let rate = word.and_then(number::real).ok_or("Couldn't parse ERROR")?;
    if rate > 0.0 && rate < 1.0 {
        return Ok(rate);
    }
    Err("ERROR: value must be in the range (0.000000, 1.000000)".into())
}

fn within(name: &str, word: Option<&[u8]>, range: RangeInclusive<u64>) -> Result<u64, Fault> {
    let Some(number) = word.and_then(number::integer) else {
        return Err(format!("Couldn't parse {name}").into());
    };
    let (first, last) = (range.start(), range.end());
    let found = u64::try_from(number).ok().filter(|number| range.contains(number));
    found.ok_or_else(|| format!("{name}: value must be in the range [{first}, {last}]").into())
}
