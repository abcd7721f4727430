//! A block changed two lanes at a time: half of the locked instructions.
//!
//! Disabled under `--cfg no_pairs`, as on all machines but x86-64; `make pairs` tests that.
#![cfg_attr(
    all(target_arch = "x86_64", not(any(loom, shuttle, miri, no_pairs))),
    expect(unsafe_code, reason = "an instruction that Rust has no stable name for")
)]

use crate::sync::AtomicU64;

/// Proof that this CPU has `cmpxchg16b`, as 64-bit x86 CPUs do since 2006: only detection creates
/// one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pairs(());

#[cfg(any(loom, shuttle, miri, no_pairs, not(target_arch = "x86_64")))]
#[allow(clippy::unused_self, reason = "as elsewhere")]
impl Pairs {
    /// Never, here.
    pub(crate) fn detect() -> Option<Self> {
        None
    }

    pub(crate) fn fetch_or(self, _: &[AtomicU64; 8], _: [u64; 8], _: [u64; 8]) -> u64 {
        unreachable!("detection makes none")
    }
}

#[cfg(not(any(loom, shuttle, miri, no_pairs, not(target_arch = "x86_64"))))]
impl Pairs {
    /// The proof, if the CPU has the instruction.
    pub(crate) fn detect() -> Option<Self> {
        has_features!("cmpxchg16b").then_some(Self(()))
    }

    /// Sets `bits` in the lanes, as one `fetch_or` per lane would; returns the bits that this call
    /// set, or-ed over all lanes.
    ///
    /// `before` holds the recent contents of the lanes: a guess that is checked. Pairs that already
    /// have all bits are written too, since they are unpredictable and a misprediction costs more
    /// than the write.
    ///
    /// # Panics
    ///
    /// If the lanes are not aligned to 16 bytes (the lanes of a block are aligned to 64).
    #[inline(always)]
    #[allow(clippy::unused_self, reason = "it is the proof")]
    pub(crate) fn fetch_or(self, lanes: &[AtomicU64; 8], before: [u64; 8], bits: [u64; 8]) -> u64 {
        assert!(lanes.as_ptr().addr().is_multiple_of(16), "blocks are aligned");
        let mut new = 0;
        for i in [0, 2, 4, 6] {
            let [low, high] = [bits[i], bits[i + 1]];
            let mut guess = [before[i], before[i + 1]];
            loop {
                let missing = (low & !guess[0]) | (high & !guess[1]);
                let wanted = [guess[0] | low, guess[1] | high];
                // SAFETY: `self` proves the instruction; the 16 bytes are within `lanes` and
                // aligned, as asserted.
                if unsafe { compare_exchange(lanes[i].as_ptr(), &mut guess, wanted) } {
                    new |= missing;
                    break;
                }
            }
        }
        new
    }
}

/// If the two lanes at `lanes` hold `expected`, replaces them by `wanted`; otherwise stores their
/// contents in `expected`.
///
/// To Rust's memory model, which has no atomics of two lanes, the first is a compare-exchange of
/// each lane and the second a load of each, with no step of another thread in between, as that
/// model allows.
///
/// # Safety
///
/// The CPU has `cmpxchg16b`; `lanes` is valid for 16 bytes, aligned to 16, that are only reached
/// through atomics.
#[cfg(not(any(loom, shuttle, miri, no_pairs, not(target_arch = "x86_64"))))]
#[inline(always)]
unsafe fn compare_exchange(lanes: *mut u64, expected: &mut [u64; 2], wanted: [u64; 2]) -> bool {
    let is_done: u8;
    // SAFETY: as the caller promises. `rbx`, which holds the low half and cannot be named, is kept
    // in `rsi` meanwhile.
    unsafe {
        core::arch::asm!(
            "xchg rbx, rsi",
            "lock cmpxchg16b [rdi]",
            "sete r8b",
            "mov rbx, rsi",
            in("rdi") lanes,
            inout("rsi") wanted[0] => _,
            in("rcx") wanted[1],
            inout("rax") expected[0],
            inout("rdx") expected[1],
            out("r8b") is_done,
            options(nostack),
        );
    }
    is_done != 0
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::sync::Ordering;

    #[repr(align(64))]
    struct Aligned([AtomicU64; 8]);

    #[test]
    fn pairs_equal_one_fetch_or_per_lane_whatever_the_guess() {
        // There is nothing to compare without the instruction, as on every ARM.
        let Some(pairs) = Pairs::detect() else { return };
        let mut random = 1u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            random >> 7 & random << 9
        };
        for round in 0..1000 {
            let [held, bits, stale]: [[u64; 8]; 3] =
                core::array::from_fn(|_| core::array::from_fn(|_| next()));
            let lanes = Aligned(held.map(AtomicU64::new));
            let guess = if round % 2 == 0 { held } else { stale };
            let new = pairs.fetch_or(&lanes.0, guess, bits);
            let expected_new = (0..8).fold(0, |new, i| new | (bits[i] & !held[i]));
            assert_eq!(new, expected_new);
            for i in 0..8 {
                // ORDERING: Relaxed. No other thread has these lanes.
                assert_eq!(lanes.0[i].load(Ordering::Relaxed), held[i] | bits[i]);
            }
        }
    }

    /// Each bit is set by exactly one of the competing threads, and none is lost.
    #[test]
    fn no_bit_is_lost_or_claimed_twice_among_threads() {
        let Some(pairs) = Pairs::detect() else { return };
        for _ in 0..200 {
            let lanes = Aligned(core::array::from_fn(|_| AtomicU64::new(0)));
            let claim = || {
                let claimed = (0..64).filter(|bit| {
                    let bits = core::array::from_fn(|lane| u64::from(lane == 5) << bit);
                    pairs.fetch_or(&lanes.0, [0; 8], bits) != 0
                });
                claimed.count()
            };
            let claimed: usize = std::thread::scope(|scope| {
                let threads: std::vec::Vec<_> = (0..3).map(|_| scope.spawn(claim)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            assert_eq!(claimed, 64);
            // ORDERING: Relaxed. The threads were joined.
            assert_eq!(lanes.0[5].load(Ordering::Relaxed), u64::MAX);
        }
    }
}
