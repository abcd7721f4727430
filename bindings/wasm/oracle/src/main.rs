//! What the library answers on this machine: the module has to give the same to the bit.
//!
//! `oracle plans SEED COUNT` prints COUNT random needs and their plans, a line each: n, p and
//! bytes (`-` for the one that is sought), then for each candidate its name, m, k, bytes and the
//! bits of its rates. `oracle file KIND N P KEYS` writes a filter of the texts `key-0`, `key-1`, …
//! to stdout.

use mayhap::plan::{Candidate, Needs, plan};
use mayhap::{AnyFilter, CountingBloomFilter, DigestFunction, Layout, ScalableBloomFilter, native};
use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["plans", seed, count] => plans(seed, count),
        ["file", kind, items, fpp, keys] => file(kind, items, fpp, keys),
        _ => None,
    };
    if done.is_some() {
        ExitCode::SUCCESS
    } else {
        eprintln!("usage: oracle plans SEED COUNT | oracle file KIND N P KEYS");
        ExitCode::from(2)
    }
}

/// `SplitMix64` (Steele, Lea & Flood 2014): random numbers from a seed.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

fn plans(seed: &str, count: &str) -> Option<()> {
    let mut state = seed.parse().ok()?;
    let mut out = String::new();
    for round in 0..count.parse::<u64>().ok()? {
        // From 1 to 2^36 keys, from 1/2 to 2^-40, from 64 bytes to 2^40.
        let items = next(&mut state) >> (28 + next(&mut state) % 35);
        let unit = (next(&mut state) >> 11) as f64 / (1u64 << 53) as f64;
        let target_fpp = 0.5 / ((1u64 << (next(&mut state) % 39)) as f64 * (1.0 + unit));
        let max_bytes = 64 + (next(&mut state) >> (24 + next(&mut state) % 34));
        let needs = Needs {
            items: (round % 3 != 1).then_some(items),
            target_fpp: (round % 3 != 2).then_some(target_fpp),
            max_bytes: (round % 3 != 0).then_some(max_bytes),
            ..Needs::default()
        };
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let line = format!(
            "{} {} {}",
            or_dash(needs.items.map(|items| items.to_string())),
            or_dash(needs.target_fpp.map(|fpp| format!("{:016x}", fpp.to_bits()))),
            or_dash(needs.max_bytes.map(|bytes| bytes.to_string())),
        );
        out.push_str(&line);
        match plan(&needs) {
            Ok(planned) => {
                let others = planned.rejected.iter().map(|(other, _)| other);
                planned.best.iter().chain(others).for_each(|found| out += &numbers(found));
            }
            Err(_) => out += " refused",
        }
        out.push('\n');
    }
    io::stdout().write_all(out.as_bytes()).ok()
}

fn numbers(found: &Candidate) -> String {
    let bits = |fpp: Option<f64>| format!("{:016x}", fpp.unwrap_or(f64::NAN).to_bits());
    let (now, twice, tenfold) =
        (bits(Some(found.expected_fpp)), bits(found.fpp_at_2x), bits(found.fpp_at_10x));
    let (m, k, bytes) = (found.num_bits, found.num_hashes, found.num_bytes);
    format!(" {}:{m}:{k}:{bytes}:{now}:{twice}:{tenfold}", found.name())
}

fn file(kind: &str, items: &str, fpp: &str, keys: &str) -> Option<()> {
    let (items, fpp) = (items.parse().ok()?, fpp.parse().ok()?);
    let keys: Vec<String> = (0..keys.parse().ok()?).map(|i: u64| format!("key-{i}")).collect();
    let function = DigestFunction::xxh3(42);
    let bytes = match kind {
        "counting" => {
            let builder = CountingBloomFilter::builder().digest_function(function);
            let mut filter = builder.expected_items(items).target_fpp(fpp).build().ok()?;
            filter.insert_batch(&keys);
            native::encode(&filter, "")
        }
        "scalable" => {
            let mut filter = ScalableBloomFilter::new(items, fpp, function).ok()?;
            filter.insert_batch(&keys).ok()?;
            native::encode(&filter, "")
        }
        _ => {
            let layouts =
                [Layout::Standard, Layout::Blocked, Layout::Blocked128, Layout::Blocked64];
            let layout = layouts.into_iter().find(|layout| layout.name() == kind)?;
            let builder = AnyFilter::builder().digest_function(function).layout(layout);
            let mut filter = builder.expected_items(items).target_fpp(fpp).build().ok()?;
            filter.insert_batch(&keys);
            native::encode(&filter, "")
        }
    };
    io::stdout().write_all(&bytes).ok()
}
