//! The systematic part: a sample in ordinary runs, all of it with `BORDERS=1`.

mod numbers;
mod window_clocks;
mod window_keys;

/// Whether everything is tested, rather than a sample.
fn is_whole() -> bool {
    std::env::var_os("BORDERS").is_some_and(|value| value != "0")
}

/// Random numbers, the same every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// True once in `times` times on average.
    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}
