//! A few windows of a filter's bits, which cost microseconds where counting all takes milliseconds.

use std::ops::Range;

/// Windows, at equal distances.
const WINDOWS: u64 = 4;
/// Bytes of a window: 16 KiB in all, so that the fill of a half-full filter is known to 0.3 % of
/// itself (1 σ).
const WINDOW_BYTES: u64 = 4096;

/// The ranges of bytes to count: all of a small filter. They are the same each time, so that
/// estimates from them never fall while keys are added.
pub(crate) fn windows(num_bytes: u64) -> Vec<Range<u64>> {
    if num_bytes <= WINDOWS * WINDOW_BYTES {
        return std::iter::once(0..num_bytes).collect();
    }
    let last = num_bytes - WINDOW_BYTES;
    let starts = (0..WINDOWS).map(|i| (u128::from(last) * u128::from(i) / 3) as u64);
    starts.map(|start| start..start + WINDOW_BYTES).collect()
}

/// The number of ones among all bits, extrapolated from a part.
pub(crate) fn scaled(ones: u64, part_bytes: u64, num_bits: u64) -> u64 {
    if part_bytes == 0 {
        return 0;
    }
    let ones = u128::from(ones) * u128::from(num_bits) / (u128::from(part_bytes) * 8);
    u64::try_from(ones).unwrap_or(u64::MAX).min(num_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_inside_and_apart_and_the_last_one_ends_with_the_filter() {
        assert_eq!(windows(0).first(), Some(&(0..0)));
        assert_eq!(windows(16 << 10).last(), Some(&(0..16 << 10)));
        for num_bytes in [(16 << 10) + 1, 1 << 20, 1 << 40, u64::MAX] {
            let windows = windows(num_bytes);
            assert_eq!(windows.len(), 4);
            assert_eq!((windows[0].start, windows[3].end), (0, num_bytes));
            for pair in windows.windows(2) {
                assert!(pair[0].end <= pair[1].start, "{pair:?} of {num_bytes}");
            }
        }
    }

    #[test]
    fn a_part_counts_for_the_whole() {
        assert_eq!(scaled(8, 1, 100), 100);
        assert_eq!(scaled(4, 1, 100), 50);
        assert_eq!(scaled(4 * WINDOW_BYTES, WINDOW_BYTES, 1 << 60), 1 << 59);
        assert_eq!(scaled(0, 0, 8), 0);
    }
}
