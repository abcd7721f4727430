//! Wrong passwords by address, and how long the next try has to wait.
//!
//! After ten wrong passwords in a minute an address has ten tries a second, including right ones:
//! an immediate answer would reveal that the password was right. Other addresses do not wait.

use crate::lock::lock;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;

/// Wrong passwords without a delay.
const FREE: u32 = 10;
/// They are forgotten after this, in milliseconds.
const MEMORY_MS: u64 = 60_000;
/// Time between two tries of an address that guesses.
const PAUSE_MS: u64 = 100;
/// Tries that would wait longer are refused.
const LONGEST_MS: u64 = 10_000;
/// Addresses that are remembered.
const MAX_ADDRESSES: usize = 10_000;

/// When a login may be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Try {
    /// At once.
    Now,
    /// At this time, in milliseconds since 1970.
    At(u64),
    /// Too many tries of this address are waiting already.
    Refused,
}

/// The record of an address.
#[derive(Debug, Default)]
struct Failures {
    count: u32,
    /// The time of the last failure.
    failed_at: u64,
    /// The scheduled time of the last accepted try.
    last_try: u64,
}

/// Wrong passwords by address.
#[derive(Debug, Default)]
pub struct LoginThrottle(Mutex<HashMap<IpAddr, Failures>>);

impl LoginThrottle {
    /// When a password that this address has just sent may be tried. A Unix socket has no address
    /// and never waits.
    pub(crate) fn next(&self, address: Option<IpAddr>, now: u64) -> Try {
        let mut all = lock(&self.0);
        let Some(record) = address.and_then(|address| all.get_mut(&network(address))) else {
            return Try::Now;
        };
        if record.count < FREE || now.saturating_sub(record.failed_at) > MEMORY_MS {
            return Try::Now;
        }
        let at = now.max(record.last_try + PAUSE_MS);
        if at - now > LONGEST_MS {
            return Try::Refused;
        }
        record.last_try = at;
        Try::At(at)
    }

    /// Records a wrong password of this address.
    pub(crate) fn failed(&self, address: Option<IpAddr>, now: u64) {
        let Some(address) = address.map(network) else { return };
        let mut all = lock(&self.0);
        if all.len() >= MAX_ADDRESSES && !all.contains_key(&address) {
            forget(&mut all, now);
        }
        let record = all.entry(address).or_default();
        if now.saturating_sub(record.failed_at) > MEMORY_MS {
            *record = Failures::default();
        }
        record.count = record.count.saturating_add(1);
        record.failed_at = now;
    }
}

/// Forgets addresses without a failure for a minute, or else those with the fewest failures.
fn forget(all: &mut HashMap<IpAddr, Failures>, now: u64) {
    all.retain(|_, record| now.saturating_sub(record.failed_at) <= MEMORY_MS);
    if all.len() >= MAX_ADDRESSES {
        all.retain(|_, record| record.count >= FREE);
    }
    if all.len() >= MAX_ADDRESSES {
        all.clear();
    }
}

/// The first half of an IPv6 address: a client that has one address has 2^64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_780_000_000_000;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn an_address_that_guesses_has_ten_tries_a_second_and_others_wait_for_nothing() {
        let throttle = LoginThrottle::default();
        for _ in 0..FREE {
            assert_eq!(throttle.next(Some(address(1)), NOW), Try::Now);
            throttle.failed(Some(address(1)), NOW);
        }
        let waits: Vec<Try> = (0..200).map(|_| throttle.next(Some(address(1)), NOW)).collect();
        assert_eq!(waits[..3], [Try::At(NOW), Try::At(NOW + 100), Try::At(NOW + 200)]);
        assert_eq!(waits.iter().filter(|next| **next != Try::Refused).count(), 101);
        assert_eq!(throttle.next(Some(address(2)), NOW), Try::Now);
        assert_eq!(throttle.next(None, NOW), Try::Now);
        // Ten more after a second, and all of them after a minute.
        let more =
            (0..200).filter(|_| throttle.next(Some(address(1)), NOW + 1_000) != Try::Refused);
        assert_eq!(more.count(), 10);
        assert_eq!(throttle.next(Some(address(1)), NOW + 60_001), Try::Now);
    }

    #[test]
    fn addresses_of_one_network_are_one_and_their_number_is_bounded() {
        let throttle = LoginThrottle::default();
        let v6 = |last: u16| Some(IpAddr::from([0x2001, 0xDB8, 0, 1, 0, 0, 0, last]));
        for last in 0..FREE as u16 {
            throttle.failed(v6(last), NOW);
        }
        assert_eq!(throttle.next(v6(77), NOW), Try::At(NOW));
        for number in 0..30_000u32 {
            throttle.failed(Some(IpAddr::from(number.to_be_bytes())), NOW);
        }
        assert!(lock(&throttle.0).len() <= MAX_ADDRESSES);
        assert_eq!(throttle.next(v6(78), NOW), Try::At(NOW + 100), "it has the most failures");
    }
}
