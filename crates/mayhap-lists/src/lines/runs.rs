//! Lines of a batch that are chosen by bits, as runs of neighbours: few writes instead of many.

/// Calls `each` with every longest run of indices below `len` whose bit in `words` is `wanted`.
///
/// # Errors
///
/// The errors of `each`.
///
/// # Examples
///
/// ```
/// let mut runs = Vec::new();
/// mayhap_lists::for_each_run(&[0b1_0110], 5, true, |run| {
///     runs.push(run);
///     Ok::<(), std::convert::Infallible>(())
/// })?;
/// assert_eq!(runs, [1..3, 4..5]);
/// # Ok::<(), std::convert::Infallible>(())
/// ```
pub fn for_each_run<E>(
    words: &[u64],
    len: usize,
    wanted: bool,
    mut each: impl FnMut(std::ops::Range<usize>) -> Result<(), E>,
) -> Result<(), E> {
    let flip = if wanted { 0 } else { u64::MAX };
    let mut at = 0;
    loop {
        let start = next_bit(words, len, at, flip);
        if start >= len {
            return Ok(());
        }
        at = next_bit(words, len, start, !flip);
        each(start..at)?;
    }
}

/// The first index from `at` on whose bit, flipped by `flip`, is 1; or `len`.
#[inline]
fn next_bit(words: &[u64], len: usize, at: usize, flip: u64) -> usize {
    let mut mask = u64::MAX << (at % 64);
    for (i, word) in words.iter().enumerate().skip(at / 64) {
        let rest = (word ^ flip) & mask;
        if rest != 0 {
            return (i * 64 + rest.trailing_zeros() as usize).min(len);
        }
        mask = u64::MAX;
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_the_longest_ones_across_words_and_stop_at_the_length() {
        let mut words = [0u64; 3];
        for bit in (60..70).chain([0, 2, 3, 127, 128]) {
            words[bit / 64] |= 1 << (bit % 64);
        }
        let runs = |len, wanted| {
            let mut runs = Vec::new();
            for_each_run::<()>(&words, len, wanted, |run| {
                runs.push((run.start, run.end));
                Ok(())
            })
            .unwrap();
            runs
        };
        assert_eq!(runs(130, true), [(0, 1), (2, 4), (60, 70), (127, 129)]);
        assert_eq!(runs(130, false), [(1, 2), (4, 60), (70, 127), (129, 130)]);
        assert_eq!(runs(65, true), [(0, 1), (2, 4), (60, 65)]);
        assert_eq!(runs(0, false), []);
    }
}
