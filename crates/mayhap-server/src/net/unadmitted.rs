//! Connections that are not admitted yet, the oldest first.
//!
//! For the Redis protocol those that have not logged in, for HTTP those whose request has not
//! arrived. If all places are taken, the oldest of them makes room: a client that intends to log
//! in, or to send a request, does so at once.

use crate::lock::lock;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Mutex;

/// The fraction of them that one address may have before its own oldest is closed first.
const SHARE_OF_ADDRESS: usize = 2;

/// Connections that are not admitted yet; `T` is how one is closed.
#[derive(Debug)]
pub(crate) struct Unadmitted<T>(Mutex<Waiting<T>>);

/// Both maps are changed together, and neither change can panic in between.
#[derive(Debug)]
struct Waiting<T> {
    last: u64,
    all: BTreeMap<u64, (Option<IpAddr>, T)>,
    by_address: HashMap<Option<IpAddr>, BTreeSet<u64>>,
}

impl<T> Default for Unadmitted<T> {
    fn default() -> Self {
        let (all, by_address) = (BTreeMap::new(), HashMap::new());
        Self(Mutex::new(Waiting { last: 0, all, by_address }))
    }
}

impl<T> Unadmitted<T> {
    /// Adds one; returns its number, from 1 on.
    pub(crate) fn add(&self, address: Option<IpAddr>, end: T) -> u64 {
        let mut waiting = lock(&self.0);
        waiting.last += 1;
        let number = waiting.last;
        waiting.all.insert(number, (address, end));
        waiting.by_address.entry(address).or_default().insert(number);
        number
    }

    /// Removes one that was admitted, or is gone.
    pub(crate) fn remove(&self, number: u64) {
        lock(&self.0).remove(number);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        lock(&self.0).all.len()
    }

    /// Takes the one that has to make room for a connection of this address: the oldest, or the
    /// oldest of that address if it has half of all.
    pub(crate) fn take_oldest(&self, address: Option<IpAddr>) -> Option<T> {
        let mut waiting = lock(&self.0);
        let all = waiting.all.len();
        let own = waiting.by_address.get(&address);
        let own = own.filter(|own| own.len() * SHARE_OF_ADDRESS >= all);
        let number = match own.and_then(|own| own.first()) {
            Some(&number) => number,
            None => *waiting.all.first_key_value()?.0,
        };
        waiting.remove(number)
    }
}

impl<T> Waiting<T> {
    fn remove(&mut self, number: u64) -> Option<T> {
        let (address, end) = self.all.remove(&number)?;
        if let Some(own) = self.by_address.get_mut(&address) {
            own.remove(&number);
            if own.is_empty() {
                self.by_address.remove(&address);
            }
        }
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_first_and_an_address_with_half_of_all_takes_from_itself() {
        let address = |last: u8| Some(IpAddr::from([127, 0, 0, last]));
        let unadmitted = Unadmitted::default();
        for (last, name) in [(1, "a"), (2, "b"), (2, "c"), (2, "d"), (3, "e")] {
            unadmitted.add(address(last), name);
        }
        assert_eq!(unadmitted.take_oldest(address(2)), Some("b"), "it has 3 of 5");
        assert_eq!(unadmitted.take_oldest(address(9)), Some("a"));
        assert_eq!(unadmitted.take_oldest(address(2)), Some("c"), "2 of 3");
        unadmitted.remove(4);
        unadmitted.remove(4);
        assert_eq!(unadmitted.len(), 1);
        assert_eq!(unadmitted.take_oldest(None), Some("e"));
        assert_eq!(unadmitted.take_oldest(None), None);
    }
}
