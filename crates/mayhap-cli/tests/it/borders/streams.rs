//! The numbers of `dedup` and `explain`, each against a model that knows all keys.

use super::is_whole;
use crate::support::{folder, json, run, succeed};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

fn number(of: &Value, name: &str) -> f64 {
    of[name].as_f64().unwrap_or_else(|| panic!("no {name}: {of}"))
}

/// The n-th number of a seed, below `end`.
fn draw(seed: u64, n: u64, end: u64) -> u64 {
    let mut z = (seed << 32 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ (z >> 27)) % end
}

/// The summary of `dedup --json` for a stream, and the lines that it let through.
fn dedup(folder: &Path, options: &[&str], input: &[u8]) -> (Value, Vec<u8>) {
    let words = [&["dedup", "--json", "-o", "out", "--force"], options].concat();
    let output = run(folder, &words, input);
    assert!(output.status.success(), "{output:?}");
    // Warnings are lines of JSON, too; the report is the last.
    let said = output.stderr.trim_ascii_end();
    let start = said.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let line = [&said[start..], b"\n"].concat();
    (json(&line), std::fs::read(folder.join("out")).unwrap())
}

/// Lines, repeats, losses, keys, fill and rate of a stream of known keys.
#[test]
fn the_numbers_of_dedup_are_those_of_the_stream() {
    let folder = folder();
    let folder = folder.path();
    let seeds = if is_whole() { 40 } else { 4 };
    let (mut lost, mut expected, mut variance) = (0.0, 0.0, 0.0);
    for seed in 0..seeds {
        let (items, fpp): (u64, f64) =
            [(4_000, 0.05), (2_000, 0.01), (8_000, 0.2)][seed as usize % 3];
        let keys: Vec<u64> = (0..2 * items).map(|n| draw(seed, n, 2 * items)).collect();
        let distinct = keys.iter().collect::<BTreeSet<_>>().len() as u64;
        let lines: Vec<String> = keys.iter().map(|key| format!("key{seed}-{key}\n")).collect();
        let input = lines.concat();
        let size = ["-n", &distinct.to_string(), "-p", &fpp.to_string(), "--layout", "standard"];
        let (said, kept) = dedup(folder, &size, input.as_bytes());
        let kept = String::from_utf8(kept).unwrap().lines().count() as f64;
        assert_eq!(number(&said, "lines_read"), keys.len() as f64);
        assert_eq!(number(&said, "bytes_read"), input.len() as f64);
        assert_eq!(number(&said, "lines_kept"), kept);
        assert_eq!(number(&said, "lines_dropped"), keys.len() as f64 - kept);
        // Each line that is kept is new; lines that are new and dropped are lost.
        lost += distinct as f64 - kept;
        expected += number(&said, "expected_lost_lines");
        variance += number(&said, "expected_lost_lines_sigma").powi(2);
        // The lines new to the filter, which are let through.
        assert_eq!(number(&said, "items"), kept, "{said}");
        // The rate is that of the bits.
        let hashes = (-fpp.log2()).round().max(1.0);
        let of_bits = number(&said, "fill_ratio").powf(hashes);
        let found = number(&said, "estimated_fpp");
        assert!((found / of_bits).ln().abs() < 0.7, "{said}: {of_bits} by k = {hashes}");
    }
    let sigmas = (lost - expected) / variance.sqrt();
    assert!(sigmas.abs() < 5.0, "{lost} lost, {expected} expected: {sigmas} sigma");
}

/// Positions that are given, so that every bit is known.
#[test]
fn the_numbers_of_explain_are_those_of_its_bits() {
    let folder = folder();
    let folder = folder.path();
    let rounds = if is_whole() { 400 } else { 30 };
    for seed in 0..rounds {
        let (bits, hashes) = (8 + draw(seed, 0, 60), 1 + draw(seed, 1, 4));
        let positions = |key: u64| -> Vec<u64> {
            (0..hashes).map(|n| draw(seed, 16 * key + n + 2, bits)).collect()
        };
        let given = |key: u64| {
            let places: Vec<String> = positions(key).iter().map(u64::to_string).collect();
            format!("K{key}={}", places.join(","))
        };
        let keys = 1 + draw(seed, 9, 9);
        let inserted: Vec<String> = (0..keys).map(given).collect();
        let query = given(100);
        let size = [bits.to_string(), hashes.to_string()];
        let mut words = vec!["explain", "--json", "-m", &size[0], "-k", &size[1]];
        words.extend(inserted.iter().map(String::as_str));
        words.extend(["--query", &query]);
        let said = json(&succeed(folder, &words, b""));
        let mut set = BTreeSet::new();
        for (key, shown) in (0..keys).zip(said["keys"].as_array().unwrap()) {
            let new: BTreeSet<u64> =
                positions(key).into_iter().filter(|place| !set.contains(place)).collect();
            let shown_new = shown["new"].as_array().unwrap().iter();
            let shown_new: BTreeSet<u64> = shown_new.map(|it| it.as_u64().unwrap()).collect();
            assert_eq!(shown_new, new, "{words:?}: {shown}");
            set.extend(new);
        }
        let ones = set.len() as f64;
        assert_eq!(number(&said, "num_ones"), ones, "{words:?}");
        let fill_ratio = number(&said, "fill_ratio");
        assert!((fill_ratio - ones / bits as f64).abs() < 1e-12, "{words:?}: {said}");
        let fpp = (ones / bits as f64).powi(hashes as i32);
        assert!((number(&said, "estimated_fpp") - fpp).abs() < 1e-12, "{words:?}: {said}");
        let text = said["bits"].as_str().unwrap();
        let drawn = (0..).zip(text.chars()).filter(|(_, bit)| *bit == '1').map(|(place, _)| place);
        assert!(drawn.eq(set.iter().copied()), "{words:?}: {text}");
        let maybe = positions(100).iter().all(|place| set.contains(place));
        assert_eq!(said["queries"][0]["maybe_present"], maybe, "{words:?}");
    }
}
