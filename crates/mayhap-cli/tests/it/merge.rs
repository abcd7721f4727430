//! `merge`: many files as one.

use crate::support::{fail, file, folder, held, json, lines, run, stderr, succeed};
use mayhap::{
    BinaryFuse, BloomMatrix, CompactFilter, CountingBloomFilter, DigestFunction, FuseWidth,
    WindowBloomFilter,
};
use mayhap_store::LiveFilter;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::path::Path;

fn build(folder: &Path, name: &str, extra: &[&str], input: &[u8]) {
    let arguments = [&["build", "-n", "1000", "-p", "1e-9", "-o", name], extra].concat();
    succeed(folder, &arguments, input);
}

#[test]
fn a_merged_filter_holds_what_any_of_the_files_does_and_nothing_else() {
    let folder = folder();
    let folder = folder.path();
    for (name, keys) in [("a", 0..300), ("b", 200..500), ("c", 900..901)] {
        build(folder, name, &[], &lines("key", keys));
    }
    let summary = json(&succeed(folder, &["merge", "--json", "-o", "all", "a", "b", "c"], b""));
    let all = [lines("key", 0..500), lines("key", 900..901)].concat();
    assert!(held(folder, "all", &lines("key", 0..2000)) == all);
    let merged = summary["merged"].as_array().unwrap();
    let items: Vec<u64> = merged.iter().map(|part| part["items"].as_u64().unwrap()).collect();
    assert_eq!(items, [300, 300, 1]);
    assert_eq!(merged[1]["file"], "b");
    let estimate = summary["estimated_items"].as_f64().unwrap();
    assert!((480.0..520.0).contains(&estimate), "{summary}");
    assert_eq!((&summary["health"], &summary["expected_items"]), (&"ok".into(), &1000.into()));
    let info = json(&succeed(folder, &["info", "--json", "all"], b""));
    for field in ["estimated_fpp", "fill_ratio", "estimated_items"] {
        let (ours, theirs) = (summary[field].as_f64().unwrap(), info[field].as_f64().unwrap());
        assert!((ours - theirs).abs() <= 1e-9 * theirs, "{field}: {ours} {theirs}");
    }
    let output = run(folder, &["merge", "-o", "again", "a", "b", "c"], b"");
    assert!(stderr(&output).contains("again: 3 filters with 601 keys counted"), "{output:?}");
    assert_eq!(output.stdout, b"");
}

#[test]
fn unlike_files_are_refused_with_what_differs_and_the_next_step() {
    let folder = folder();
    let folder = folder.path();
    build(folder, "a", &[], b"a\n");
    for (extra, words) in [
        (vec!["--seed", "5"], ["digest seed or key", "0x5 against 0x0"]),
        (vec!["-0"], ["key options", "separator=nul"]),
        (vec!["--layout", "blocked"], ["layout", "blocked against standard"]),
        (vec!["--new-key-file", "k"], ["digest function", "sip13 against xxh3"]),
    ] {
        build(folder, "b", &extra, b"b\n");
        let talk = fail(folder, &["merge", "-o", "all", "a", "b"], b"");
        assert!(words.iter().all(|words| talk.contains(words)), "{talk}");
        assert!(talk.contains("b and a cannot be merged") && talk.contains("hint: "), "{talk}");
        assert!(!folder.join("all").exists());
        std::fs::remove_file(folder.join("b")).unwrap();
    }
    let talk = fail(folder, &["merge", "-o", "all", "a", "-"], b"");
    assert!(talk.contains("FILTER - is standard input"), "{talk}");
    let talk = fail(folder, &["merge", "-o", "a", "a"], b"");
    assert!(talk.contains("a exists already") && talk.contains("--force"), "{talk}");
    fail(folder, &["merge", "-o", "all"], b"");
    fail(folder, &["merge", "a"], b"");
    fail(folder, &["merge", "-o", "all", "a", "absent"], b"");
    assert!(!folder.join("all").exists());
}

#[test]
fn an_overfull_union_is_made_if_asked_for_and_warned_of() {
    let folder = folder();
    let folder = folder.path();
    for (name, keys) in [("a", 0..900), ("b", 900..1800), ("c", 0..1)] {
        build(folder, name, &[], &lines("key", keys));
    }
    let output = run(folder, &["merge", "--overfill", "-o", "all", "a", "b"], b"");
    assert_eq!(output.status.code(), Some(0));
    let talk = stderr(&output);
    assert!(talk.contains("warning: the merged filter is over capacity with 1,"), "{talk}");
    let output = run(folder, &["merge", "--json", "-o", "near", "a", "c"], b"");
    assert!(stderr(&output).contains("nearly full"), "{}", stderr(&output));
    assert_eq!(json(&output.stdout)["health"], "near capacity");
    let items = json(&output.stdout)["items"].as_u64().unwrap();
    assert!((900..=901).contains(&items), "{items}");
    let output = run(folder, &["merge", "-q", "--overfill", "-o", "quiet", "a", "b"], b"");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn the_state_of_a_dedup_counts_with_its_log() {
    let folder = folder();
    let folder = folder.path();
    let mut live = {
        let filter = mayhap::AnyFilter::builder().expected_items(1000).target_fpp(1e-9);
        LiveFilter::create(&folder.join("seen"), filter.build().unwrap(), "").unwrap()
    };
    live.record(&[DigestFunction::default().digest(b"logged")]).unwrap();
    drop(live);
    build(folder, "a", &[], b"a\n");
    succeed(folder, &["merge", "-o", "all", "a", "seen"], b"");
    assert_eq!(held(folder, "all", b"a\nlogged\nnever\n"), b"a\nlogged\n");
    // The state itself can be replaced, by a file that has its log.
    succeed(folder, &["merge", "--force", "-o", "seen", "a", "seen"], b"");
    assert!(!folder.join("seen.log").exists());
    assert_eq!(held(folder, "seen", b"a\nlogged\nnever\n"), b"a\nlogged\n");
}

#[test]
fn growing_and_counting_filters_merge_and_other_kinds_say_what_to_do() {
    let folder = folder();
    let folder = folder.path();
    for layout in ["scalable", "compact", "counting"] {
        for (name, keys) in [("a", 0..700), ("b", 600..1300)] {
            let create = ["create", name, "-n", "2000", "-p", "1e-9", "--layout", layout];
            succeed(folder, &[&create[..], &["--force"]].concat(), b"");
            succeed(folder, &["add", name], &lines("key", keys));
        }
        let arguments = ["merge", "--json", "--force", "-o", "all", "a", "b"];
        let summary = json(&succeed(folder, &arguments, b""));
        assert_eq!(summary["layout"], layout);
        assert!(held(folder, "all", &lines("key", 0..3000)) == lines("key", 0..1300));
        let small = [&arguments[..], &["--max-memory", "1k"]].concat();
        assert!(fail(folder, &small, b"").contains("above the limit of 1000 B"));
        // Nearly full means something else to a filter that refuses keys.
        let create = ["create", "c", "-n", "2000", "-p", "1e-9", "--layout", layout, "--force"];
        succeed(folder, &create, b"");
        succeed(folder, &["add", "c"], &lines("key", 1300..1700));
        let talk = stderr(&run(folder, &["merge", "--force", "-o", "more", "a", "b", "c"], b""));
        let says = match layout {
            "compact" => talk.contains("nearly full") && talk.contains("takes no more keys"),
            "counting" => talk.contains("nearly full") && talk.contains("the rate rises"),
            _ => !talk.contains("full"),
        };
        assert!(says, "{layout}: {talk}");
        if layout != "scalable" {
            // A key of both is removed twice.
            assert_eq!(succeed(folder, &["remove", "-q", "all"], &lines("key", 0..601)), b"");
            let left = held(folder, "all", &lines("key", 0..1300));
            assert!(left == lines("key", 600..1300), "{layout}");
        }
    }

    succeed(folder, &["create", "w", "--layout", "window:1k"], b"");
    succeed(folder, &["build", "-o", "f", "--layout", "fuse"], b"a\n");
    let matrix = BloomMatrix::builder().num_sets(3).expected_items(10).target_fpp(0.01);
    mayhap_store::save(&folder.join("m"), &matrix.build().unwrap(), "").unwrap();
    for (name, words) in [("w", "mayhap add"), ("f", "--layout fuse"), ("m", "mayhap which")] {
        let talk = fail(folder, &["merge", "-o", "none", name, name], b"");
        assert!(talk.contains("cannot be merged") && talk.contains(words), "{talk}");
    }
    let talk = fail(folder, &["merge", "-o", "none", "a", "w"], b"");
    assert!(talk.contains("w is a window filter, but a is a counting filter"), "{talk}");
    assert!(!folder.join("none").exists());
}

#[test]
fn n_and_p_of_the_first_file_are_kept_and_it_says_so() {
    let folder = folder();
    let folder = folder.path();
    for (name, items) in [("a", 1000), ("b", 900)] {
        let filter = mayhap::AnyFilter::builder().num_bits(1 << 15).expected_items(items).build();
        mayhap_store::save(&folder.join(name), &filter.unwrap(), "").unwrap();
    }
    let output = run(folder, &["merge", "--json", "-o", "all", "a", "b"], b"");
    assert_eq!(json(&output.stdout)["expected_items"], 1000);
    let talk = stderr(&output);
    assert!(talk.contains("1,000 keys at") && talk.contains("900 keys at"), "{talk}");
}

/// A small file of every kind.
fn kinds() -> Vec<Vec<u8>> {
    use mayhap::native::encode;
    let function = DigestFunction::default();
    let window = WindowBloomFilter::builder().window_items(100).target_fpp(0.01).build().unwrap();
    let counting = CountingBloomFilter::builder().expected_items(50).target_fpp(0.01);
    let counting: CountingBloomFilter = counting.build().unwrap();
    let compact = CompactFilter::builder().expected_items(50).target_fpp(0.01).build().unwrap();
    let fuse = BinaryFuse::build(FuseWidth::BITS_8, function, vec![function.digest("a")]).unwrap();
    let matrix = BloomMatrix::builder().num_sets(3).expected_items(10).target_fpp(0.01);
    let scalable = mayhap::ScalableBloomFilter::new(50, 0.01, function).unwrap();
    let plain = mayhap::AnyFilter::builder().expected_items(100).target_fpp(0.01).build().unwrap();
    vec![
        encode(&plain, ""),
        encode(&counting, ""),
        encode(&compact, ""),
        encode(&scalable, ""),
        encode(&window, ""),
        encode(&matrix.build().unwrap(), ""),
        encode(&fuse, ""),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        rng_seed: RngSeed::Fixed(15),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_bytes_make_a_verb_panic_or_lie_about_success(
        kind in 0..7usize,
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 0..3),
        cut in prop::option::of(any::<prop::sample::Index>()),
        input in prop::collection::vec(any::<u8>(), 0..200),
        sorted in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let folder = folder();
        let folder = folder.path();
        let whole = kinds().swap_remove(kind);
        let mut bytes = whole.clone();
        for (at, flip) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let sound = bytes == whole;
        file(folder, "good", &whole);
        file(folder, "odd", &bytes);
        file(folder, "sorted", &sorted);
        for arguments in [
            &["merge", "-o", "all", "good", "odd"][..],
            &["merge", "-o", "all", "odd", "good"],
            &["verify", "--samples", "1000", "odd"],
            &["verify", "--samples", "1000", "odd", "sorted"],
            &["filter", "odd"],
            &["filter", "-v", "--rest", "rest", "odd"],
            &["check", "-l", "odd"],
            &["check", "--confirm", "sorted", "odd"],
        ] {
            let output = run(folder, arguments, &input);
            let code = output.status.code();
            prop_assert!(matches!(code, Some(0..=2)), "{:?}: {}", arguments, stderr(&output));
            prop_assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
            let reads_all = matches!(arguments[0], "merge" | "verify");
            prop_assert!(sound || !reads_all || code != Some(0), "{:?} of damage", arguments);
            let is_written = arguments[0] == "merge" && code == Some(0);
            prop_assert_eq!(folder.join("all").exists(), is_written);
            for name in ["all", "rest"] {
                let _ = std::fs::remove_file(folder.join(name));
            }
        }
    }
}
