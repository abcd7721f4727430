//! How far a filter can grow.

use super::kind::compact;
use mayhap::sizing::scalable::chain;

/// The number of keys that a growing filter can hold within `limit` bytes.
///
/// Every layer is sized as the filter itself does it.
pub fn room_within(limit: u64, capacity: u64, target_fpp: f64) -> u64 {
    let (mut room, mut bytes) = (0u64, 0u64);
    for layer in chain(capacity, target_fpp).map_while(Result::ok) {
        bytes = bytes.saturating_add(layer.num_bytes());
        if bytes > limit {
            break;
        }
        room = room.saturating_add(layer.expected_items());
    }
    room
}

/// The number of keys that a compact filter that grows can hold within `limit` bytes and at its
/// rate.
pub fn compact_room_within(limit: u64, capacity: u64, target_fpp: f64) -> u64 {
    let Ok(params) = compact::params(capacity, target_fpp, true) else { return 0 };
    let (mut room, mut bytes) = (params.expected_items(), params.num_bytes());
    if bytes > limit {
        return 0;
    }
    for _ in 0..params.remainder_bits() {
        (room, bytes) = (room.saturating_mul(2), bytes.saturating_mul(2));
        if bytes > limit || params.expected_fpp(room) > target_fpp {
            return room / 2;
        }
    }
    room
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::{DigestFunction, ScalableBloomFilter};

    #[test]
    fn a_filter_grows_to_the_computed_limit_and_no_further() {
        for first in [1, 100, 2_048, 10_000] {
            let (error, limit) = (0.01, 100_000);
            let room = room_within(limit, first, error);
            let function = DigestFunction::default();
            let mut filter = ScalableBloomFilter::new(first, error, function).unwrap();
            filter.set_max_bytes(limit);
            let refused = (0..1_000_000).find(|key: &u64| filter.insert(key).is_err()).unwrap();
            // Keys that count as repeats take no room.
            assert!(refused >= room && refused < room + room / 50, "{first}: {refused} of {room}");
            assert_eq!(room_within(0, first, error), 0);
        }
    }
}
