//! Room for keys: when a filter is full.
//!
//! One rule for all commands. A filter takes new keys until it holds as many as it was made for;
//! then keys that are there already pass, and the first one that is surely not there ends the
//! command. A filter that holds more than that takes none
//! from the beginning: what it calls "there already" may well be new, and would be lost without a
//! word. What would hold more at once, by a merge, is not written. Who wants to go on all
//! the same does not look at the room.

/// Room in a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// Room for this many new keys.
    Keys(u64),
    /// For keys that are there already: it is full.
    Repeats,
    /// None: its answers no longer keep the promised rate.
    None,
}

/// How the number of keys in a filter is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// They were counted.
    Counted(u64),
    /// From the bits, with a standard deviation of about √n.
    Estimated(u64),
}

impl Held {
    /// The number.
    pub fn keys(self) -> u64 {
        match self {
            Self::Counted(keys) | Self::Estimated(keys) => keys,
        }
    }
}

/// How many keys more than `items` an estimate from the bits may find by chance: 4 standard
/// deviations.
pub(crate) fn estimate_spread(items: u64) -> u64 {
    (4.0 * (items as f64).sqrt()).ceil() as u64
}

/// The keys at which a filter for `capacity` of them is near full, and users are warned: 80 %.
pub(crate) fn near_full(capacity: u64) -> u64 {
    capacity - capacity / 5
}

impl Room {
    /// The room left in a filter that is full at `full_at` keys.
    ///
    /// It is over-full above 1 % more, and by an estimate above 4 standard deviations more: a full
    /// one is not to be taken for that by chance.
    pub fn left(held: Held, full_at: u64) -> Self {
        let spread = match held {
            Held::Counted(_) => 0,
            Held::Estimated(_) => estimate_spread(full_at),
        };
        let most = full_at.saturating_add(full_at / 100).saturating_add(spread);
        match held.keys() {
            keys if keys < full_at => Self::Keys(full_at - keys),
            keys if keys <= most => Self::Repeats,
            _ => Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_full_at_its_keys_and_over_full_beyond_chance() {
        for (held, room) in [
            (0, Room::Keys(10_000)),
            (9_999, Room::Keys(1)),
            (10_000, Room::Repeats),
            (10_100, Room::Repeats),
            (10_101, Room::None),
            (u64::MAX, Room::None),
        ] {
            assert_eq!(Room::left(Held::Counted(held), 10_000), room, "{held}");
        }
        assert_eq!(Room::left(Held::Estimated(9_999), 10_000), Room::Keys(1));
        assert_eq!(Room::left(Held::Estimated(10_500), 10_000), Room::Repeats);
        assert_eq!(Room::left(Held::Estimated(10_501), 10_000), Room::None);
        assert_eq!(Room::left(Held::Counted(u64::MAX), u64::MAX), Room::Repeats);
    }
}
