//! How a loop waits for its sockets: it polls for a moment before it sleeps.
//!
//! Waking a sleeping thread costs the waker, and on loopback that is the client. So after a turn a
//! loop polls for at most `busy_poll` (20 µs), yielding to other threads in between. One client
//! that waits for each answer had 24,000 instead of 16,000 a second in this way, 50 clients a tenth
//! more (2 CPUs, loopback). It is skipped where it does not help: after a turn that took longer
//! than `busy_poll` for each client, whose pipelines and batches make a wake-up cheap; and after
//! each poll in vain twice as many turns are skipped, up to 63.

use mio::{Events, Poll};
use std::io;
use std::time::{Duration, Instant};

/// Polls in vain are followed by at most `2^MAX_DOUBLINGS − 1` turns without one.
const MAX_DOUBLINGS: u32 = 6;

/// Waits for events, and remembers whether polling was worth it.
#[derive(Debug)]
pub(super) struct Waiting {
    busy_poll: Duration,
    /// Whether the last turn had clients, and little work for each.
    worth: bool,
    /// Polls in vain since the last successful one.
    in_vain: u32,
    /// Turns to skip.
    pass: u32,
}

impl Waiting {
    /// Polls for this time; never if it is zero.
    pub(super) fn new(busy_poll: Duration) -> Self {
        Self { busy_poll, worth: false, in_vain: 0, pass: 0 }
    }

    /// A turn served `served` clients and took this long.
    pub(super) fn after(&mut self, served: usize, took: Duration) {
        self.worth = took.as_nanos() < self.busy_poll.as_nanos() * served as u128;
    }

    /// Waits until there is an event or the time is over. An interrupted call returns no event.
    pub(super) fn wait(
        &mut self,
        poll: &mut Poll,
        events: &mut Events,
        timeout: Option<Duration>,
    ) -> io::Result<()> {
        if timeout != Some(Duration::ZERO) && self.is_due() {
            let found = look(poll, events, self.busy_poll)?;
            self.learn(found);
            if found {
                return Ok(());
            }
        }
        uninterrupted(poll.poll(events, timeout))
    }

    fn is_due(&mut self) -> bool {
        let due = self.worth && self.pass == 0;
        self.pass = self.pass.saturating_sub(1);
        due
    }

    fn learn(&mut self, found: bool) {
        self.in_vain = if found { 0 } else { (self.in_vain + 1).min(MAX_DOUBLINGS) };
        self.pass = (1 << self.in_vain) - 1;
    }
}

/// Whether there is an event within this time.
fn look(poll: &mut Poll, events: &mut Events, busy_poll: Duration) -> io::Result<bool> {
    let start = Instant::now();
    loop {
        uninterrupted(poll.poll(events, Some(Duration::ZERO)))?;
        if !events.is_empty() {
            return Ok(true);
        }
        if start.elapsed() >= busy_poll {
            return Ok(false);
        }
        std::thread::yield_now();
    }
}

fn uninterrupted(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: Duration = Duration::from_micros(1);

    /// Polls in `turns` turns of one client, of which none, or each, finds something.
    fn looks(waiting: &mut Waiting, turns: u32, took: Duration, found: bool) -> u32 {
        let mut looks = 0;
        for _ in 0..turns {
            waiting.after(1, took);
            if waiting.is_due() {
                looks += 1;
                waiting.learn(found);
            }
        }
        looks
    }

    #[test]
    fn polling_in_vain_becomes_rare_until_it_succeeds_once() {
        let mut waiting = Waiting::new(20 * MICRO);
        assert_eq!(looks(&mut waiting, 1000, 5 * MICRO, true), 1000);
        // After 1, 3, 7, 15, 31, 63, 63, … skipped turns.
        assert_eq!(looks(&mut waiting, 10_000, 5 * MICRO, false), 6 + (10_000 - 63) / 64);
        while !waiting.is_due() {}
        waiting.learn(true);
        assert_eq!(looks(&mut waiting, 1000, 5 * MICRO, true), 1000);
    }

    #[test]
    fn there_is_no_poll_before_work_after_long_work_or_with_zero_time() {
        let mut waiting = Waiting::new(20 * MICRO);
        assert!(!waiting.is_due());
        assert_eq!(looks(&mut waiting, 1000, 20 * MICRO, true), 0);
        waiting.after(3, 50 * MICRO);
        assert!(waiting.is_due());
        waiting.after(0, MICRO);
        assert!(!waiting.is_due());
        assert_eq!(looks(&mut Waiting::new(Duration::ZERO), 1000, Duration::ZERO, true), 0);
    }

    #[test]
    fn an_event_is_found_by_polling_and_by_sleeping() {
        let mut poll = Poll::new().unwrap();
        let waker = mio::Waker::new(poll.registry(), mio::Token(7)).unwrap();
        let mut events = Events::with_capacity(8);
        for busy_poll in [Duration::ZERO, Duration::from_secs(3600)] {
            let mut waiting = Waiting::new(busy_poll);
            waiting.after(1, MICRO);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(20));
                    waker.wake().unwrap();
                });
                waiting.wait(&mut poll, &mut events, None).unwrap();
            });
            assert_eq!(events.iter().next().unwrap().token(), mio::Token(7));
        }
    }
}
