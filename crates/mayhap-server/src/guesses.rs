//! Wrong passwords by address, and how long the next try has to wait.
//!
//! After ten wrong passwords in a minute an address has ten tries a second, right ones among them:
//! an answer that comes at once would say that the password was right. Other addresses do not wait.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Wrong passwords that anybody may send.
const FREE: u32 = 10;
/// They are forgotten after this, in milliseconds.
const MEMORY_MS: u64 = 60_000;
/// Time between two tries of an address that guesses.
const PAUSE_MS: u64 = 100;
/// Who would wait longer is refused.
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
    /// Too many of this address wait already.
    Refused,
}

/// What is known of an address.
#[derive(Debug, Default)]
struct Guesser {
    failures: u32,
    /// When the last one was.
    failed_at: u64,
    /// When the last try may be made that was let in.
    last_try: u64,
}

/// Wrong passwords by address.
#[derive(Debug, Default)]
pub struct Guesses(Mutex<HashMap<IpAddr, Guesser>>);

impl Guesses {
    /// When this address may try a password that it has sent now. A socket of the file system has
    /// no address and never waits.
    pub(crate) fn next(&self, address: Option<IpAddr>, now: u64) -> Try {
        let mut all = self.lock();
        let Some(guesser) = address.and_then(|address| all.get_mut(&network(address))) else {
            return Try::Now;
        };
        if guesser.failures < FREE || now.saturating_sub(guesser.failed_at) > MEMORY_MS {
            return Try::Now;
        }
        let at = now.max(guesser.last_try + PAUSE_MS);
        if at - now > LONGEST_MS {
            return Try::Refused;
        }
        guesser.last_try = at;
        Try::At(at)
    }

    /// A password of this address was wrong.
    pub(crate) fn failed(&self, address: Option<IpAddr>, now: u64) {
        let Some(address) = address.map(network) else { return };
        let mut all = self.lock();
        if all.len() >= MAX_ADDRESSES && !all.contains_key(&address) {
            forget(&mut all, now);
        }
        let guesser = all.entry(address).or_default();
        if now.saturating_sub(guesser.failed_at) > MEMORY_MS {
            *guesser = Guesser::default();
        }
        guesser.failures = guesser.failures.saturating_add(1);
        guesser.failed_at = now;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Guesser>> {
        // Numbers that are whole after every step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets who has not guessed for a minute, or else who has guessed least.
fn forget(all: &mut HashMap<IpAddr, Guesser>, now: u64) {
    all.retain(|_, guesser| now.saturating_sub(guesser.failed_at) <= MEMORY_MS);
    if all.len() >= MAX_ADDRESSES {
        all.retain(|_, guesser| guesser.failures >= FREE);
    }
    if all.len() >= MAX_ADDRESSES {
        all.clear();
    }
}

/// Of IPv6 the first half: whoever has one address has 2^64.
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
        let guesses = Guesses::default();
        for _ in 0..FREE {
            assert_eq!(guesses.next(Some(address(1)), NOW), Try::Now);
            guesses.failed(Some(address(1)), NOW);
        }
        let waits: Vec<Try> = (0..200).map(|_| guesses.next(Some(address(1)), NOW)).collect();
        assert_eq!(waits[..3], [Try::At(NOW), Try::At(NOW + 100), Try::At(NOW + 200)]);
        assert_eq!(waits.iter().filter(|next| **next != Try::Refused).count(), 101);
        assert_eq!(guesses.next(Some(address(2)), NOW), Try::Now);
        assert_eq!(guesses.next(None, NOW), Try::Now);
        // Ten more after a second, and everything after a minute.
        let more = (0..200).filter(|_| guesses.next(Some(address(1)), NOW + 1_000) != Try::Refused);
        assert_eq!(more.count(), 10);
        assert_eq!(guesses.next(Some(address(1)), NOW + 60_001), Try::Now);
    }

    #[test]
    fn addresses_of_one_network_are_one_and_their_number_is_bounded() {
        let guesses = Guesses::default();
        let v6 = |last: u16| Some(IpAddr::from([0x2001, 0xDB8, 0, 1, 0, 0, 0, last]));
        for last in 0..FREE as u16 {
            guesses.failed(v6(last), NOW);
        }
        assert_eq!(guesses.next(v6(77), NOW), Try::At(NOW));
        for number in 0..30_000u32 {
            guesses.failed(Some(IpAddr::from(number.to_be_bytes())), NOW);
        }
        assert!(guesses.lock().len() <= MAX_ADDRESSES);
        assert_eq!(guesses.next(v6(78), NOW), Try::At(NOW + 100), "it has guessed most");
    }
}
