//! The models against closed forms, exact sums and each other. Measured rates: `tests/rates`.

use super::*;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

const LAYOUTS: [Layout; 4] =
    [Layout::Standard, Layout::Blocked, Layout::Blocked128, Layout::Blocked64];

const TARGETS: [f64; 5] = [0.05, 0.01, 1e-3, 1e-4, 1e-6];

/// E[(X/m)^k] by the distribution of the number X of occupied cells, throw by throw: no
/// approximation at all.
fn exact_standard_fpp(m: usize, k: u32, n: u64) -> f64 {
    let mut occupied = vec![0.0; m + 1];
    occupied[0] = 1.0;
    for _ in 0..n * u64::from(k) {
        for x in (1..=m).rev() {
            let stay = x as f64 / m as f64;
            let grow = (m - (x - 1)) as f64 / m as f64;
            occupied[x] = occupied[x] * stay + occupied[x - 1] * grow;
        }
        occupied[0] = 0.0;
    }
    let power = |x: usize| libm::pow(x as f64 / m as f64, f64::from(k));
    occupied.iter().enumerate().map(|(x, probability)| probability * power(x)).sum()
}

#[test]
fn the_standard_model_equals_the_exact_occupancy_sum() {
    for m in [64, 100, 512, 513, 1000, 4096] {
        for k in [1, 2, 3, 7, 13, 20, 30] {
            let n = (m as f64 / f64::from(k) * 0.7) as u64;
            let (exact, model) =
                (exact_standard_fpp(m, k, n), expected_fpp(Layout::Standard, m as u64, k, n));
            // Above 512 bits the model's distribution is a normal one.
            let tolerance = if m <= 512 { 1e-6 } else { 0.005 };
            assert!((model / exact - 1.0).abs() < tolerance, "m {m} k {k}: {model:e} {exact:e}");
        }
    }
}

#[test]
fn small_filters_stay_within_a_tenth_of_the_textbook_formula() {
    // Plain double hashing is 79 times above it at m = 16,384 and k = 20; `tests/rates`
    // measures.
    for m in [1 << 10, 1 << 12, 1 << 14, 1 << 16] {
        for k in [1, 7, 20] {
            let n = (m as f64 / f64::from(k) * 0.69) as u64;
            let ratio = expected_fpp(Layout::Standard, m, k, n) / textbook_fpp(m, k, n);
            assert!((0.999..1.1).contains(&ratio), "m {m} k {k}: {ratio}");
        }
    }
}

/// Poisson, for many blocks: Σ Pois(j; λ) (1 − (1 − 1/s)^j)^lanes.
fn direct_sum(lambda: f64, lane_bits: f64, lanes: f64) -> f64 {
    let mut poisson = libm::exp(-lambda);
    let mut sum = 0.0;
    for j in 1..1000 {
        poisson *= lambda / f64::from(j);
        let miss = libm::pow(1.0 - 1.0 / lane_bits, f64::from(j));
        sum += poisson * libm::pow(1.0 - miss, lanes);
    }
    sum
}

#[test]
fn the_blocked_model_equals_direct_sums() {
    let blocks = 10_000_000;
    for (layout, num_hashes, lane_bits, lambdas) in [
        (Layout::Blocked, 8, 64.0, [5.0, 20.0, 50.7, 100.0f64]),
        (Layout::Blocked, 4, 128.0, [10.0, 40.0, 80.0, 200.0]),
        (Layout::Blocked128, 8, 16.0, [0.5, 4.0, 11.0, 30.0]),
        (Layout::Blocked64, 8, 8.0, [0.5, 4.0, 11.0, 30.0]),
    ] {
        for lambda in lambdas {
            let sum = direct_sum(lambda, lane_bits, f64::from(num_hashes));
            let items = (lambda * blocks as f64) as u64;
            let num_bits = blocks * layout.block_bits();
            let model = expected_fpp(layout, num_bits, num_hashes, items);
            let model = model - digest_collisions(items);
            let k = num_hashes;
            assert!((model / sum - 1.0).abs() < 1e-5, "{layout} {k} λ {lambda}: {model:e} {sum:e}");
        }
    }
    // One block: no mean to take.
    let one = blocked::expected_fpp(1, 4, 50);
    assert!((one / libm::pow(1.0 - libm::pow(127.0 / 128.0, 50.0), 4.0) - 1.0).abs() < 1e-12);
    let one = blocked::expected_fpp(1, 8, 50);
    assert!((one / libm::pow(1.0 - libm::pow(63.0 / 64.0, 50.0), 8.0) - 1.0).abs() < 1e-12);
    // Two blocks, k = 16, three keys: by hand over Binomial(3, 1/2).
    let lane = |j: f64| {
        let (q1, q2) = (libm::pow(63.0 / 64.0, 2.0 * j), libm::pow(62.0 / 64.0, 2.0 * j));
        libm::pow((1.0 - q1) / 64.0 + (1.0 - 2.0 * q1 + q2) * 63.0 / 64.0, 8.0)
    };
    let by_hand = (lane(0.0) + 3.0 * lane(1.0) + 3.0 * lane(2.0) + lane(3.0)) / 8.0;
    assert!(
        ((blocked::expected_fpp(2, 16, 3) - digest_collisions(3)) / by_hand - 1.0).abs() < 1e-9
    );
}

#[test]
fn a_sized_filter_meets_its_target_and_one_bit_less_does_not() {
    for n in [1, 100, 12_345, 1_000_000, 10_000_000_000] {
        for p in TARGETS {
            for layout in LAYOUTS {
                let params = for_items(layout, n, p).unwrap();
                let (m, k) = (params.num_bits(), params.num_hashes());
                assert!(params.expected_fpp(n) <= p, "{layout} n {n} p {p}");
                if m > layout.min_bits() {
                    let step = layout.block_bits();
                    assert!(expected_fpp(layout, m - step, k, n) > p, "{layout} n {n} p {p}");
                }
            }
        }
    }
}

#[test]
fn with_a_given_k_the_target_is_met_and_one_unit_less_does_not() {
    for (layout, ks) in [
        (Layout::Standard, &[1, 4, 7, 20, 32][..]),
        (Layout::Blocked, &[4, 8, 16]),
        (Layout::Blocked64, &[8]),
    ] {
        let unit = layout.block_bits();
        for (&k, (n, p)) in ks.iter().flat_map(|k| [(k, (1, 0.3)), (k, (50_000, 1e-3))]) {
            let params = for_items_and_hashes(layout, k, n, p).unwrap();
            assert_eq!(params.num_hashes(), k);
            assert!(params.expected_fpp(n) <= p, "{params:?}");
            let less = params.num_bits() - unit;
            let smallest = less < layout.min_bits();
            assert!(smallest || expected_fpp(layout, less, k, n) > p, "{params:?}");
        }
        let fewest = for_items(layout, 50_000, 1e-3).unwrap();
        let same = for_items_and_hashes(layout, fewest.num_hashes(), 50_000, 1e-3).unwrap();
        assert_eq!(same, fewest);
    }
    let no_such_k = for_items_and_hashes(Layout::Blocked, 5, 100, 0.01);
    assert!(matches!(no_such_k, Err(Error::OutOfRange { .. })), "{no_such_k:?}");
    assert!(for_items_and_hashes(Layout::Standard, 1, u64::MAX, 1e-3).is_err());
}

#[test]
fn the_default_layout_is_never_a_narrow_one() {
    for n in [1, 2, 10, 1000, 1 << 40] {
        for p in [0.999, 0.5, 0.05, 1e-3, 1e-5] {
            let layout = default_layout(n, p).unwrap();
            assert!(matches!(layout, Layout::Standard | Layout::Blocked), "{n} {p}: {layout}");
        }
    }
}

#[test]
fn bits_per_key_are_as_promised() {
    let bits = |layout, p| for_items(layout, 10_000_000, p).unwrap().bits_per_item();
    assert!(bits(Layout::Blocked, 0.01) <= 10.15);
    assert!(bits(Layout::Blocked, 0.001) <= 15.8);
    for n in [100, 10_000, 10_000_000] {
        for p in TARGETS {
            let ratio = for_items(Layout::Standard, n, p).unwrap().bits_per_item()
                / (-libm::log2(p) / core::f64::consts::LN_2);
            assert!((1.0..1.005).contains(&ratio), "n {n} p {p}: {ratio}");
        }
    }
}

/// The table of `blocked`'s page, and which k it makes the best.
#[test]
fn blocked_takes_the_k_with_the_fewest_bits() {
    let is_best = |p, best| {
        let params = for_items(Layout::Blocked, 1_000_000, p).unwrap();
        assert_eq!(params.num_hashes(), best, "{p}");
        assert_eq!(blocked::best_num_hashes(params.num_blocks(), 1_000_000), best, "{p}");
    };
    for (p, bits, best) in [
        (0.2, [3.64, 4.76, 6.95], 4),
        (0.1, [4.89, 5.88, 8.21], 4),
        (0.05, [6.33, 7.05, 9.45], 4),
        (0.03, [7.56, 7.96, 10.36], 4),
        (0.01, [10.79, 10.10, 12.40], 8),
        (0.001, [21.56, 15.72, 17.15], 8),
        (1e-4, [42.10, 23.61, 22.88], 16),
        (1e-5, [83.54, 34.98, 30.01], 16),
    ] {
        for (k, expected) in [4, 8, 16].into_iter().zip(bits) {
            let params = for_items_and_hashes(Layout::Blocked, k, 1_000_000, p).unwrap();
            let found = params.bits_per_item();
            assert!((found - expected).abs() < 0.0051, "p {p} k {k}: {found}");
        }
        is_best(p, best);
    }
    for (p, best) in [(0.5, 4), (0.0187, 4), (0.0185, 8), (1.84e-4, 8), (1.81e-4, 16), (1e-9, 16)] {
        is_best(p, best);
    }
}

#[test]
fn bits_hashes_rate_and_items_are_solved_from_each_other() {
    for layout in LAYOUTS {
        for p in TARGETS {
            let sized = for_items(layout, 50_000, p).unwrap();
            let items = max_items(layout, sized.num_bits(), p).unwrap();
            assert!((50_000..=50_300).contains(&items), "{layout} {p}: {items}");
            let by_bits = for_bits(layout, sized.num_bits(), 50_000).unwrap();
            assert_eq!(by_bits.num_bits(), sized.num_bits());
            assert!(by_bits.target_fpp() <= p, "{layout} {p}");
        }
    }
    // k = m/n ln 2; bits for p and k for p as real numbers.
    assert_eq!(standard::best_num_hashes(9_585_059, 1_000_000), 7);
    assert!((standard::ideal_num_hashes(0.01) - 6.6439).abs() < 1e-4);
    assert!((standard::ideal_num_bits(1_000_000, 0.01) - 9_585_058.4).abs() < 0.1);
    // The minimum p is (1/2)^k at the best k.
    let fpp = textbook_fpp(14_426_950, 10, 1_000_000);
    assert!((fpp * 1024.0 - 1.0).abs() < 1e-3, "{fpp}");
}

/// The numbers of the source documents: 512 MB hold about 200 M items at 1e-4.
#[test]
fn the_memory_figures_of_the_literature_hold() {
    let items = max_items(Layout::Standard, 512 * 1024 * 1024 * 8, 1e-4).unwrap();
    assert!((200_000_000..230_000_000).contains(&items), "{items}");
    for (n, p, megabytes) in [
        (1_000_000, 1e-4, 2.29),
        (1_000_000, 1e-7, 4.0),
        (10_000_000, 1e-4, 22.85),
        (10_000_000, 1e-7, 39.99),
        (100_000_000, 1e-4, 228.53),
        (100_000_000, 1e-7, 399.93),
    ] {
        let bytes = for_items(Layout::Standard, n, p).unwrap().num_bytes() as f64;
        let found = bytes / (1024.0 * 1024.0);
        assert!((found / megabytes - 1.0).abs() < 0.01, "{n} {p}: {found}");
    }
}

#[test]
fn the_rate_goes_from_0_to_1_and_never_falls() {
    for (layout, m, k) in [
        (Layout::Standard, 64, 1),
        (Layout::Standard, 1000, 7),
        (Layout::Standard, 1 << 40, 32),
        (Layout::Blocked, 512, 8),
        (Layout::Blocked, 51_200, 4),
        (Layout::Blocked, 51_200, 16),
        (Layout::Blocked128, 12_800, 8),
        (Layout::Blocked64, 64, 8),
    ] {
        assert_eq!(expected_fpp(layout, m, k, 0), 0.0);
        let mut last = 0.0;
        for exponent in 0..60 {
            let fpp = expected_fpp(layout, m, k, 1 << exponent);
            assert!((last..=1.0).contains(&fpp), "{layout} m {m} n 2^{exponent}: {last} {fpp}");
            last = fpp;
        }
        assert!(last > 0.999, "{layout} m {m}: {last}");
    }
}

#[test]
fn impossible_wishes_are_refused() {
    for layout in LAYOUTS {
        for p in [0.0, -0.1, 1.0, 5.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0] {
            let refused = for_items(layout, 10, p);
            assert!(matches!(refused, Err(Error::FppOutOfRange { .. })), "{layout} {p}");
            assert!(max_items(layout, 1 << 20, p).is_err());
        }
        assert_eq!(for_items(layout, 0, 0.01), Err(Error::ZeroItems));
        assert_eq!(for_bits(layout, 1 << 20, 0), Err(Error::ZeroItems));
        assert!(matches!(for_bits(layout, 63, 1), Err(Error::OutOfRange { .. })));
        assert!(matches!(for_items(layout, 1 << 40, 1e-12), Err(Error::FppUnreachable { .. })));
        assert!(matches!(for_items(layout, 1 << 60, 0.5), Err(Error::TooLarge { .. })));
        // Sized without allocating: 10^13 keys.
        let huge = for_items(layout, 10_000_000_000_000, 0.01).unwrap();
        let expected = match layout {
            Layout::Standard => 9.59,
            Layout::Blocked => 10.10,
            Layout::Blocked128 => 11.43,
            Layout::Blocked64 => 13.43,
        };
        assert!((huge.bits_per_item() - expected).abs() < 0.01, "{layout}");
    }
    assert!(
        max_items(Layout::Standard, 64, 1e-18).is_err_and(|e| e.to_string().contains("num_bits"))
    );
}

#[test]
fn rates_near_one_and_tiny_rates_are_solved() {
    for p in [0.999_999, 0.9, 0.5, 1e-9, 1e-12] {
        for layout in LAYOUTS {
            let params = for_items(layout, 1000, p).unwrap();
            assert!(params.expected_fpp(1000) <= p, "{layout} {p}");
        }
    }
    // k is capped at 32: 1e-12 costs 2 % more bits than the ideal 40 hashes.
    let capped = for_items(Layout::Standard, 1000, 1e-12).unwrap();
    assert_eq!(capped.num_hashes(), 32);
    let ratio = capped.bits_per_item() * 1000.0 / standard::ideal_num_bits(1000, 1e-12);
    assert!((1.0..1.03).contains(&ratio), "{ratio}");
}

#[test]
fn params_refuse_what_no_filter_has() {
    let cases: Vec<(Layout, u64, u32, u64, f64)> = vec![
        (Layout::Standard, 63, 7, 1, 0.1),
        (Layout::Standard, MAX_NUM_BITS + 1, 7, 1, 0.1),
        (Layout::Standard, 64, 0, 1, 0.1),
        (Layout::Standard, 64, 33, 1, 0.1),
        (Layout::Standard, 64, 1, 0, 0.1),
        (Layout::Standard, 64, 1, 1, f64::NAN),
        (Layout::Blocked, 511, 8, 1, 0.1),
        (Layout::Blocked, 513, 8, 1, 0.1),
        (Layout::Blocked, 512, 3, 1, 0.1),
        (Layout::Blocked, 512, 5, 1, 0.1),
        (Layout::Blocked, 512, 7, 1, 0.1),
        (Layout::Blocked, 512, 17, 1, 0.1),
        (Layout::Blocked128, 64, 8, 1, 0.1),
        (Layout::Blocked128, 192, 8, 1, 0.1),
        (Layout::Blocked128, 128, 4, 1, 0.1),
        (Layout::Blocked128, 128, 16, 1, 0.1),
        (Layout::Blocked64, 65, 8, 1, 0.1),
        (Layout::Blocked64, 64, 7, 1, 0.1),
    ];
    for (layout, m, k, n, p) in cases {
        assert!(FilterParams::new(layout, m, k, n, p).is_err(), "{layout} {m} {k} {n} {p}");
    }
    assert!(FilterParams::new(Layout::Standard, 64, 32, u64::MAX, 0.1).is_ok());
}

/// By bisection alone, for each candidate k.
fn by_bisection(layout: Layout, items: u64, target_fpp: f64) -> (u64, u32) {
    // For `standard` the two nearest to the ideal one.
    let ideal = standard::ideal_num_hashes(target_fpp).max(1.0);
    let nearest = [libm::floor(ideal) as u32, libm::ceil(ideal) as u32];
    let all = if layout == Layout::Standard { &nearest } else { layout.num_hashes() };
    let (unit, low) = (layout.block_bits(), layout.min_bits() / layout.block_bits());
    let size = |k: u32| {
        let fpp = |units| expected_fpp(layout, units * unit, k, items);
        let found = search::fewest_near(low, MAX_NUM_BITS / unit, low, target_fpp, fpp);
        (found.unwrap() * unit, k)
    };
    all.iter().map(|&k| size(k)).min().unwrap()
}

#[test]
fn the_size_is_the_fewest_bits_of_all_numbers_of_hashes() {
    let items = [1, 2, 9, 60, 333, 1_000, 20_011, 1_000_003, 987_654_321];
    let targets = [0.7, 0.4, 0.21, 0.12, 0.0186, 0.01, 2e-3, 1.8e-4, 1.9e-5, 1e-6, 1e-9];
    for (items, target_fpp) in items.into_iter().flat_map(|n| targets.map(|p| (n, p))) {
        let sizes = LAYOUTS.map(|layout| {
            let params = for_items(layout, items, target_fpp).unwrap();
            let found = (params.num_bits(), params.num_hashes());
            assert_eq!(
                found,
                by_bisection(layout, items, target_fpp),
                "{layout} {items} {found:?}"
            );
            params
        });
        let [standard, blocked, ..] = sizes;
        let one_line = standard.num_hashes() == 1 || standard.num_blocks() == 1;
        let most = standard.num_bytes() as f64 * if one_line { 1.0 } else { 1.25 };
        let expected = if blocked.num_bytes() as f64 <= most { blocked } else { standard };
        assert_eq!(default_params(items, target_fpp).unwrap(), expected, "{items} {target_fpp}");
    }
}

#[cfg(feature = "std")]
#[test]
fn a_remembered_size_is_that_of_a_thread_that_remembers_nothing() {
    let all: Vec<_> = (0..5u64)
        .flat_map(|i| [0.01, 1e-4, 1e-7].map(|p| (500 * i + 1, p)))
        .flat_map(|(n, p)| [None, Some(Layout::Standard), Some(Layout::Blocked)].map(|l| (l, n, p)))
        .collect();
    let size = |(layout, n, p): (Option<Layout>, u64, f64)| {
        layout.map_or_else(|| default_params(n, p), |layout| for_items(layout, n, p)).unwrap()
    };
    let fresh: Vec<_> =
        all.iter().map(|&one| std::thread::spawn(move || size(one)).join().unwrap()).collect();
    // In orders in which some are still remembered, and others no more.
    for step in [1, 2, 7, 44] {
        for i in (0..3 * all.len()).map(|i| i * step / 2 % all.len()) {
            assert_eq!(size(all[i]), fresh[i], "{:?}", all[i]);
        }
    }
    assert!(for_items(Layout::Blocked, 0, 0.01).is_err() && default_params(9, 0.0).is_err());
    let too_low = || for_items(Layout::Standard, 1 << 40, 1e-12);
    assert_eq!(too_low().unwrap_err(), too_low().unwrap_err());
}
