//! The library's answers on this machine: the module has to give the same to the bit.
//!
//! `oracle plans SEED COUNT` prints COUNT random needs and their plans, a line each: n, p and
//! bytes (`-` for the one that is sought), the sets and four flags, then for each candidate its
//! name, m, k, bytes and the bits of its rates, and behind a tab each why kinds are not the best.
//! `oracle numbers SEED COUNT` prints random texts, each with the count, the size and the rate that
//! it is read as, behind tabs. `oracle file KIND N P KEYS` writes a filter of the texts `key-0`,
//! `key-1`, … to stdout.

use mayhap::plan::{Candidate, Needs, plan};
use mayhap::{AnyFilter, CountingBloomFilter, DigestFunction, Layout, ScalableBloomFilter, native};
use mayhap_units::number;
use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["plans", seed, count] => plans(seed, count),
        ["numbers", seed, count] => numbers_as_typed(seed, count),
        ["file", kind, items, fpp, keys] => file(kind, items, fpp, keys),
        _ => None,
    };
    if done.is_some() {
        ExitCode::SUCCESS
    } else {
        eprintln!("usage: oracle plans|numbers SEED COUNT | oracle file KIND N P KEYS");
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
        // A third as plain as that, the others with needs that some kinds do not serve.
        let wants = if round % 9 < 3 { 0 } else { next(&mut state) };
        let needs = Needs {
            delete: wants & 3 == 1,
            forget: wants >> 2 & 3 == 1,
            frozen: wants >> 4 & 3 == 1,
            unknown_items: wants >> 6 & 3 == 1,
            sets: if wants >> 8 & 3 == 1 { 1 + (wants >> 10 & 15) } else { 1 },
            ..needs
        };
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let line = format!(
            "{} {} {} {} {}{}{}{}",
            or_dash(needs.items.map(|items| items.to_string())),
            or_dash(needs.target_fpp.map(|fpp| format!("{:016x}", fpp.to_bits()))),
            or_dash(needs.max_bytes.map(|bytes| bytes.to_string())),
            needs.sets,
            u8::from(needs.delete),
            u8::from(needs.forget),
            u8::from(needs.frozen),
            u8::from(needs.unknown_items),
        );
        out.push_str(&line);
        match plan(&needs) {
            Ok(planned) => {
                let others = planned.rejected.iter().map(|(other, _)| other);
                planned.best.iter().chain(others).for_each(|found| out += &numbers(found));
                let rejected = planned.rejected.iter().map(|(other, why)| (other.name(), why));
                let unfit = planned.unfit.iter().map(|(kind, why)| (kind.name(), why));
                for (kind, why) in rejected.chain(unfit) {
                    out += &format!("\t{kind} {why}");
                }
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

/// Texts composed of pieces, many of which are numbers.
fn numbers_as_typed(seed: &str, count: &str) -> Option<()> {
    const PIECES: [&str; 44] = [
        "1",
        "5",
        "12",
        "999",
        "1000",
        "0",
        "00",
        "1,000",
        "12,34",
        "1_000",
        "_",
        ",",
        ".",
        ".5",
        "1.5",
        "0.1",
        "18446744073709551615",
        "18446744073709551616",
        "123456789012345678901",
        "e",
        "e6",
        "E-6",
        "e+3",
        "e40",
        "e-400",
        "%",
        " %",
        "k",
        "M",
        "G",
        "B",
        "Ki",
        "MiB",
        " GiB",
        "eib",
        "p",
        " ",
        "/",
        " in ",
        " IN ",
        "-",
        "+",
        "nan",
        "\u{212a}",
    ];
    let mut state = seed.parse().ok()?;
    let mut out = String::new();
    for _ in 0..count.parse::<u64>().ok()? {
        let length = 1 + next(&mut state) % 4;
        let pieces = (0..length).map(|_| PIECES[next(&mut state) as usize % PIECES.len()]);
        let text: String = pieces.collect();
        let bits = |number: Option<f64>| format!("{:016x}", number.unwrap_or(f64::NAN).to_bits());
        let items = number::parse_count(&text).ok().map(|count| count as f64);
        let bytes = number::parse_bytes(&text).ok().map(|bytes| bytes as f64);
        let fpp = number::parse_fpp(&text).ok();
        out += &format!("{text}\t{}\t{}\t{}\n", bits(items), bits(bytes), bits(fpp));
    }
    io::stdout().write_all(out.as_bytes()).ok()
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
