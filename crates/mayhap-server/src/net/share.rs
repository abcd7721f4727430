//! The share of a turn that a connection may use: a millisecond.
//!
//! Requests announce their cost ([`Turn::work_ns`]), so most turns end without reading the
//! clock. It is read whenever a tenth of a share is spent according to the estimates: if they were
//! too low, the clock ends the share.

use crate::Turn;
use crate::command::SHARE_NS;
use std::time::Instant;

/// Work between two readings of the clock.
const LOOK_NS: u64 = SHARE_NS / 10;
/// Work of a turn for one connection, after which it waits behind connections with less.
pub(super) const HEAVY_NS: u64 = SHARE_NS / 20;
/// Work after which a turn serves no more connections.
pub(super) const TURN_NS: u64 = 2 * SHARE_NS;

/// The part of this turn that a connection has used.
#[derive(Debug)]
pub(super) struct Share {
    /// The turn's work before it.
    start: u64,
    /// The clock is read from here on.
    look_at: u64,
    /// When it was first read, and the work that was done by then.
    first: Option<(Instant, u64)>,
}

impl Share {
    pub(super) const fn begin(turn: &Turn) -> Self {
        Self { start: turn.work_ns, look_at: turn.work_ns.saturating_add(LOOK_NS), first: None }
    }

    /// Whether it is used up, after a request.
    #[inline]
    pub(super) fn is_over(&mut self, turn: &mut Turn) -> bool {
        turn.work_ns >= self.look_at && self.look(turn)
    }

    #[cold]
    fn look(&mut self, turn: &mut Turn) -> bool {
        let now = Instant::now();
        let (first, work) = *self.first.get_or_insert((now, turn.work_ns));
        let took = now.duration_since(first).as_nanos() as u64;
        // The larger of the estimate and the measured time.
        turn.work_ns = turn.work_ns.max(work.saturating_add(took));
        self.look_at = turn.work_ns.saturating_add(LOOK_NS);
        self.taken(turn) >= SHARE_NS
    }

    /// Nanoseconds so far.
    pub(super) const fn taken(&self, turn: &Turn) -> u64 {
        turn.work_ns - self.start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_ends_by_the_estimated_costs_of_requests() {
        let mut turn = Turn { work_ns: 7, ..Turn::default() };
        let mut share = Share::begin(&turn);
        let mut requests = 0;
        while !share.is_over(&mut turn) {
            turn.work_ns += SHARE_NS / 50;
            requests += 1;
        }
        // Fewer if the clock advanced faster than that.
        assert!((6..=50).contains(&requests), "{requests}");
        assert!(share.taken(&turn) >= SHARE_NS);
        let mut next = Share::begin(&turn);
        assert!(!next.is_over(&mut turn));
        assert_eq!(next.taken(&turn), 0);
    }

    /// The clock alone ends it, if requests cost far more than their estimates.
    #[test]
    fn a_share_ends_by_the_clock_if_requests_say_too_little() {
        let mut turn = Turn::default();
        let mut share = Share::begin(&turn);
        let began = Instant::now();
        let mut said = 0;
        while !share.is_over(&mut turn) {
            turn.work_ns += LOOK_NS;
            said += LOOK_NS;
            let busy = Instant::now();
            while busy.elapsed().as_nanos() < u128::from(4 * LOOK_NS) {
                std::hint::spin_loop();
            }
        }
        assert!(said < SHARE_NS, "{said}");
        assert!(began.elapsed().as_nanos() >= u128::from(SHARE_NS - LOOK_NS));
    }
}
