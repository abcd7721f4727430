//! Who waits at the door: connections that nobody answers for yet, the oldest first.
//!
//! Of the Redis protocol those that have not logged in, over HTTP those whose request has not
//! arrived. Where all places are taken, the oldest of them makes room: whoever means to log in, or
//! to send a request, does so at once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The part of those at the door that one address may have before its own oldest goes first.
const SHARE_OF_ADDRESS: usize = 2;

/// Connections that nobody answers for yet; `T` is how one is ended.
#[derive(Debug)]
pub(crate) struct Strangers<T>(Mutex<Waiting<T>>);

#[derive(Debug)]
struct Waiting<T> {
    last: u64,
    all: BTreeMap<u64, (Option<IpAddr>, T)>,
    by_address: HashMap<Option<IpAddr>, BTreeSet<u64>>,
}

impl<T> Default for Strangers<T> {
    fn default() -> Self {
        let (all, by_address) = (BTreeMap::new(), HashMap::new());
        Self(Mutex::new(Waiting { last: 0, all, by_address }))
    }
}

impl<T> Strangers<T> {
    /// One more; its number, from 1 on.
    pub(crate) fn add(&self, address: Option<IpAddr>, end: T) -> u64 {
        let mut waiting = self.lock();
        waiting.last += 1;
        let number = waiting.last;
        waiting.all.insert(number, (address, end));
        waiting.by_address.entry(address).or_default().insert(number);
        number
    }

    /// It is none any more, or gone.
    pub(crate) fn remove(&self, number: u64) {
        self.lock().remove(number);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.lock().all.len()
    }

    /// Takes the one that is to make room for a connection of this address: the oldest, or the
    /// oldest of that address if it has half of all.
    pub(crate) fn take_oldest(&self, address: Option<IpAddr>) -> Option<T> {
        let mut waiting = self.lock();
        let all = waiting.all.len();
        let own = waiting.by_address.get(&address);
        let own = own.filter(|own| own.len() * SHARE_OF_ADDRESS >= all);
        let number = match own.and_then(|own| own.first()) {
            Some(&number) => number,
            None => *waiting.all.first_key_value()?.0,
        };
        waiting.remove(number)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        // Both maps are changed together, and neither change can panic in between.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        let strangers = Strangers::default();
        for (last, name) in [(1, "a"), (2, "b"), (2, "c"), (2, "d"), (3, "e")] {
            strangers.add(address(last), name);
        }
        assert_eq!(strangers.take_oldest(address(2)), Some("b"), "3 of 5 are its own");
        assert_eq!(strangers.take_oldest(address(9)), Some("a"));
        assert_eq!(strangers.take_oldest(address(2)), Some("c"), "2 of 3");
        strangers.remove(4);
        strangers.remove(4);
        assert_eq!(strangers.len(), 1);
        assert_eq!(strangers.take_oldest(None), Some("e"));
        assert_eq!(strangers.take_oldest(None), None);
    }
}
