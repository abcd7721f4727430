//! How far a filter can grow.

use super::FEWEST_ITEMS;
use mayhap::sizing::scalable::{MAX_LAYERS, chain_layer};

/// The keys for which a growing filter has room before it would take more than `limit` bytes.
///
/// Every layer is sized as the filter itself does it.
pub(crate) fn room_within(limit: u64, capacity: u64, error: f64) -> u64 {
    let first_items = capacity.max(FEWEST_ITEMS);
    let (mut room, mut bytes, mut promised) = (0u64, 0u64, 0.0);
    for step in 0..MAX_LAYERS as u32 {
        let Ok(layer) = chain_layer(first_items, error, step, promised) else {
            break;
        };
        bytes = bytes.saturating_add(layer.num_bytes());
        if bytes > limit {
            break;
        }
        room = room.saturating_add(layer.expected_items());
        promised += layer.expected_fpp(layer.expected_items());
    }
    room
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::{DigestFunction, ScalableBloomFilter};

    #[test]
    fn a_filter_grows_as_far_as_is_told_and_no_further() {
        let (first, error, limit) = (FEWEST_ITEMS, 0.01, 100_000);
        let room = room_within(limit, first, error);
        let mut filter = ScalableBloomFilter::new(first, error, DigestFunction::default()).unwrap();
        filter.set_max_bytes(limit);
        let refused = (0..1_000_000).find(|key: &u64| filter.insert(key).is_err()).unwrap();
        // Keys that are taken for known ones take no room.
        assert!(refused >= room && refused < room + room / 50, "{refused} of {room}");
        assert_eq!(room_within(0, first, error), 0);
    }
}
