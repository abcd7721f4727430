//! Sizes by bits per item, and one-step insertion under two threads.

use super::{empty, shape, with_layout};
use mayhap::{
    AnyFilter, BlockedBloomFilter, BloomFilter, Error, FilterParams, Layout, LayoutKind, Preset,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const PRESETS: [Preset; 4] = [Preset::Bits4, Preset::Bits8, Preset::Bits16, Preset::Bits32];

/// The rates that the documentation of [`Preset`] lists.
#[test]
fn presets_have_the_rates_of_their_documentation() {
    let reported = [0.146_891_597_663_08, 0.021_577_141_463_22, 4.655_730_337_2e-4, 2.116_734e-7];
    let expected =
        [(0.147, 3, 0.162), (0.0216, 6, 0.0253), (4.59e-4, 11, 9.09e-4), (2.10e-7, 22, 5.71e-6)];
    for ((preset, reported), (standard_fpp, k, blocked_fpp)) in
        PRESETS.into_iter().zip(reported).zip(expected)
    {
        let n = 1_000_000;
        let bits = preset.bits_per_item();
        let standard = BloomFilter::builder().expected_items(n).preset(preset).params().unwrap();
        assert_eq!((standard.num_bits(), standard.num_hashes()), (n * bits, k), "{preset:?}");
        let fpp = standard.expected_fpp(n);
        assert!((fpp / standard_fpp - 1.0).abs() < 0.004, "{preset:?}: {fpp:e}");
        assert!(fpp < reported * 1.0001, "{preset:?}: {fpp:e}");
        let blocked = BlockedBloomFilter::builder().expected_items(n).preset(preset);
        let blocked = blocked.params().unwrap();
        assert_eq!(blocked.num_bits(), (n * bits).next_multiple_of(512), "{preset:?}");
        let fpp = blocked.expected_fpp(n);
        assert!((fpp / blocked_fpp - 1.0).abs() < 0.004, "{preset:?} blocked: {fpp:e}");
        // k = bits per item, and the k that the reported rates belong to.
        let with_k = |k| {
            let builder = BloomFilter::builder().expected_items(n).preset(preset).num_hashes(k);
            builder.params().unwrap().expected_fpp(n)
        };
        let of_three_quarters = with_k(bits as u32 * 3 / 4);
        assert!((of_three_quarters / reported - 1.0).abs() < 0.03, "{of_three_quarters:e}");
        assert!(with_k(bits as u32) > 1.08 * reported);
    }
}

#[test]
#[cfg(not(miri))]
fn presets_keep_their_rates() {
    for preset in [Preset::Bits4, Preset::Bits8, Preset::Bits16] {
        let mut filter =
            BloomFilter::builder().expected_items(200_000).preset(preset).seed(1).build().unwrap();
        filter.insert_batch(&(0..200_000u64).collect::<Vec<_>>());
        let found = filter.contains_batch(&(1 << 40..(1 << 40) + 1_000_000).collect::<Vec<u64>>());
        let fpp = filter.expected_fpp(200_000);
        let sigma = (1e6 * fpp * (1.0 - fpp)).sqrt();
        // The filter's own rate spreads by a twentieth of σ here.
        let deviation = (found.count_ones() as f64 - 1e6 * fpp) / sigma;
        assert!(deviation.abs() < 3.5, "{preset:?}: {deviation:.2} σ");
    }
}

#[test]
fn a_preset_takes_the_place_of_a_size_and_needs_the_items() {
    let any = || AnyFilter::builder().expected_items(10_000);
    let params = any().num_bits(77).preset(Preset::Bits8).params().unwrap();
    assert_eq!((params.layout(), params.num_bits()), (Layout::Blocked, 80_384));
    assert_eq!(any().preset(Preset::Bits8).num_bits(5120).params().unwrap().num_bits(), 5120);
    let params = any().layout(Layout::Blocked128).preset(Preset::Bits32).params().unwrap();
    assert_eq!((params.num_bits(), params.num_hashes()), (320_000, 8));
    let tiny = BloomFilter::builder().expected_items(3).preset(Preset::Bits4).params().unwrap();
    assert_eq!(tiny.num_bits(), 64, "the smallest filter");
    let missing = BloomFilter::builder().preset(Preset::Bits4).target_fpp(0.1).params();
    assert_eq!(missing, Err(Error::Missing { parameter: "expected_items (preset)" }));
    let unreachable = any().preset(Preset::Bits4).target_fpp(0.01).params();
    assert!(matches!(unreachable, Err(Error::FppUnreachable { .. })), "{unreachable:?}");
    for items in [1 << 54, 1 << 55, u64::MAX] {
        let huge = BloomFilter::builder().expected_items(items).preset(Preset::Bits32).params();
        assert!(matches!(huge, Err(Error::TooLarge { field: "num_bits", .. })), "{huge:?}");
    }
}

/// Two threads insert the same keys at the same time, single and in batches, many times: each key
/// is "new" to at least one of them, and to neither once it is inside.
#[test]
fn one_of_two_threads_that_insert_a_key_at_once_gets_new() {
    for (layout, bits) in [
        (Layout::Standard, 64 * 1000),
        (Layout::Blocked, 512 * 200),
        (Layout::Blocked128, 128 * 800),
        (Layout::Blocked64, 64 * 1600),
    ] {
        with_layout!(race(shape(layout, bits, 8)));
    }
    race::<mayhap::Blocked>(shape(Layout::Blocked, 512 * 100, 4));
}

fn race<L: LayoutKind>(params: FilterParams) {
    let (rounds, keys_per_round) = if cfg!(miri) { (2, 4) } else { (300, 100) };
    let filters: Vec<_> = (0..rounds).map(|_| empty::<L>(params).into_concurrent()).collect();
    let keys = |round: usize| -> Vec<u64> {
        (0..keys_per_round).map(|i| (round as u64) << 32 | i).collect()
    };
    let arrived = AtomicUsize::new(0);
    // A spinning barrier: sleeping threads wake too far apart to meet on a key.
    let meet = |times: usize| {
        arrived.fetch_add(1, Ordering::AcqRel);
        let mut turns = 0;
        while arrived.load(Ordering::Acquire) < 2 * times {
            turns += 1;
            if turns < 1000 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    };
    let told = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (mut mine, mut times) = (Vec::new(), 0);
                for (round, filter) in filters.iter().enumerate() {
                    let mut answers = Vec::new();
                    // Even rounds in batches, odd ones key by key.
                    let at_once = if round % 2 == 0 { 25 } else { 1 };
                    for keys in keys(round).chunks(at_once) {
                        times += 1;
                        meet(times);
                        match keys {
                            [key] => answers.push(filter.insert(key)),
                            _ => answers.extend(filter.insert_batch(keys).iter()),
                        }
                    }
                    mine.push(answers);
                }
                told.lock().unwrap().push(mine);
            });
        }
    });
    let told = told.into_inner().unwrap();
    let (mut both, mut neither) = (0, 0);
    for (round, filter) in filters.iter().enumerate() {
        // A key that is a false positive of earlier ones may be new to no thread.
        let mut one = empty::<L>(params);
        let alone: Vec<bool> = keys(round).iter().map(|key| one.insert(key)).collect();
        for (i, alone) in alone.into_iter().enumerate() {
            let news = [told[0][round][i], told[1][round][i]];
            both += usize::from(news == [true, true]);
            neither += usize::from(alone && news == [false, false]);
        }
        assert_eq!(filter.insert_batch(&keys(round)).count_ones(), 0, "new again");
    }
    println!("{}: new to both {both} times", params.layout());
    assert_eq!(neither, 0, "{}: new to no thread", params.layout());
}
