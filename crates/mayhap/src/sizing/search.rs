//! Searches for the smallest size that keeps a rate, and for the largest number of keys that a size
//! holds.

/// The smallest `x ≥ 1` in `low..=high` with `fpp(x) ≤ target_fpp`, if any; `fpp` falls as `x`
/// grows.
///
/// Evaluating a model costs up to microseconds, and for a million keys 8 sizes are tried instead of
/// 27 by bisection: see [`crossing`]. Bisection from there finishes the search, so the result is
/// exact even if the secant method is not.
pub(super) fn fewest(
    low: u64,
    high: u64,
    target_fpp: f64,
    fpp: impl Fn(u64) -> f64,
) -> Option<u64> {
    fewest_near(low, high, crossing(low, high, target_fpp, &fpp), target_fpp, fpp)
}

/// Like [`fewest`]; the closer the result is to `guess`, the fewer sizes are tried: two if it is
/// the same.
pub(super) fn fewest_near(
    low: u64,
    high: u64,
    guess: u64,
    target_fpp: f64,
    fpp: impl Fn(u64) -> f64,
) -> Option<u64> {
    smallest(low, high, guess, |x| fpp(x) <= target_fpp)
}

/// About where `fpp` falls to `target_fpp`, in `low..=high`: by the secant method on the logarithms
/// of rate and size, whose relation is nearly linear.
pub(super) fn crossing(low: u64, high: u64, target_fpp: f64, fpp: impl Fn(u64) -> f64) -> u64 {
    let first = fpp(low);
    if first <= target_fpp {
        return low;
    }
    let target = libm::log(target_fpp);
    let point = |x: u64, fpp: f64| (libm::log(x as f64), libm::log(fpp));
    let mut last = point(low, first);
    let mut x = (low + low / 16 + 1).min(high);
    for _ in 0..TRIES {
        let next = point(x, fpp(x));
        let slope = (next.1 - last.1) / (next.0 - last.0);
        let met = libm::exp(next.0 + (target - next.1) / slope);
        if met.is_nan() {
            break; // A rate of 0, or two that are the same.
        }
        let met = (libm::ceil(met) as u64).clamp(low, high);
        if met.abs_diff(x) <= 1 {
            return met;
        }
        (last, x) = (next, met);
    }
    x
}

/// The smallest size for any k out of `all`, and that k; the lowest if several need this size.
///
/// `solve(k, limit)` returns the smallest size for one k, `None` if it exceeds the limit. `likely`
/// should be the best k: the others are then rejected by their rate at that size, in one step.
pub(super) fn fewest_of(
    all: &[u32],
    likely: u32,
    limit: u64,
    mut solve: impl FnMut(u32, u64) -> Option<u64>,
) -> Option<(u64, u32)> {
    let mut best = None;
    let others = all.iter().copied().filter(|&k| k != likely);
    for k in core::iter::once(likely).chain(others) {
        let at_most = match best {
            None => limit,
            Some((size, of)) if k < of => size,
            Some((1, _)) => continue,
            Some((size, _)) => size - 1,
        };
        if let Some(size) = solve(k, at_most) {
            best = Some((size, k));
        }
    }
    best
}

/// The limit on secant steps: three or four suffice if the model is smooth.
const TRIES: u32 = 8;

/// The smallest `x` in `low..=high` with `meets(x)`, if any; `meets` changes from false to true
/// once; the search is faster the closer the change is to `guess`.
fn smallest(low: u64, high: u64, guess: u64, meets: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut below, mut above, mut step) = (guess, guess, 1u64);
    if meets(guess) {
        // `above` meets, and in the end `below` does not.
        loop {
            if above == low {
                return Some(low);
            }
            below = above.saturating_sub(step).max(low);
            if !meets(below) {
                break;
            }
            above = below;
            step = step.saturating_mul(2);
        }
    } else {
        loop {
            if below == high {
                return None;
            }
            above = below.saturating_add(step).min(high);
            if meets(above) {
                break;
            }
            below = above;
            step = step.saturating_mul(2);
        }
    }
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if meets(middle) {
            above = middle;
        } else {
            below = middle;
        }
    }
    Some(above)
}

/// The largest `x ≥ 1` with `meets(x)`, or 0; `meets` changes from true to false once.
pub(crate) fn largest(meets: impl Fn(u64) -> bool) -> u64 {
    smallest(0, 1 << 62, 0, |x| !meets(x + 1)).unwrap_or(1 << 62)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizing::{blocked, standard};
    use core::cell::Cell;

    /// Searches by bisection alone.
    fn halved(low: u64, high: u64, target_fpp: f64, fpp: impl Fn(u64) -> f64) -> Option<u64> {
        smallest(low, high, low, |x| fpp(x) <= target_fpp)
    }

    #[test]
    fn secants_find_what_bisection_finds_in_fewer_steps() {
        let tried = Cell::new(0u32);
        let (mut by_lines, mut by_halves) = (0, 0);
        for items in [1, 7, 100, 5_000, 1_000_000, 3_000_000_000, 1 << 44] {
            for target in [0.9, 0.3, 0.05, 0.01, 1e-3, 1e-5, 1e-9, 1e-15] {
                for k in [1, 4, 8, 16] {
                    let low = (standard::ideal_num_bits(items, target) / 512.0) as u64 + 1;
                    let models: [&dyn Fn(u64) -> f64; 2] =
                        [&|blocks| blocked::expected_fpp(blocks, k, items), &|blocks| {
                            standard::expected_fpp(blocks * 512, k, items)
                        }];
                    for (model, fpp) in models.into_iter().enumerate() {
                        if model == 0 && k == 1 {
                            continue;
                        }
                        let fpp = |x| {
                            tried.set(tried.get() + 1);
                            fpp(x)
                        };
                        let found = fewest(low, 1 << 50, target, fpp);
                        by_lines += tried.take();
                        let expected = halved(low, 1 << 50, target, fpp);
                        by_halves += tried.take();
                        assert_eq!(found, expected, "model {model}, n {items}, p {target}, k {k}");
                    }
                }
            }
        }
        assert!(by_lines * 2 < by_halves, "{by_lines} and {by_halves} sizes were tried");
    }

    #[test]
    fn any_guess_finds_the_same() {
        for (low, high) in [(0, 0), (0, 1), (3, 40), (0, 1 << 62), (u64::MAX - 2, u64::MAX)] {
            let near = [low, low + 1, low.saturating_add(29), low + (high - low) / 2, high];
            for answer in near.map(|x| x.min(high)) {
                for guess in near.map(|x| x.min(high)) {
                    let found = smallest(low, high, guess, |x| x >= answer);
                    assert_eq!(found, Some(answer), "{answer} in {low}..={high} from {guess}");
                }
            }
            assert_eq!(smallest(low, high, low, |_| false), None);
        }
        assert_eq!(largest(|x| x <= 41), 41);
        assert_eq!((largest(|_| true), largest(|_| false)), (1 << 62, 0));
    }

    #[test]
    fn a_rate_that_is_flat_or_falls_to_0_is_searched_all_the_same() {
        let steps = |x: u64| if x < 1_000 { 1.0 } else { 0.0 };
        assert_eq!(fewest(1, 1 << 40, 0.5, steps), Some(1_000));
        assert_eq!(fewest(1, 999, 0.5, steps), None);
        assert_eq!(fewest(1, 1 << 40, 0.5, |x| 1.0 / x as f64), Some(2));
        assert_eq!(fewest(2_000, 1 << 40, 0.5, steps), Some(2_000));
    }
}
