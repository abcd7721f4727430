//! Writes URL-like lines of 62 bytes on average, a given number of them distinct, the same every
//! time: `lines 10M 5M > lines.txt` is 620 MB with 50 % repeats.
//!
//! New lines and repeats are mixed evenly; a repeat is any line before it with equal probability.

use mayhap_bench::stats::parse_count;
use std::io::{BufWriter, Write};

const HOSTS: [&str; 8] = [
    "example.org",
    "www.example.com",
    "docs.example.net",
    "shop.example.com",
    "cdn.images.example.net",
    "news.example.org",
    "archive.example.edu",
    "forum.players.example",
];
const SECTIONS: [&str; 8] =
    ["a", "img", "posts", "users", "product", "category", "downloads", "2024/11"];

fn main() {
    let counts: Result<Vec<u64>, String> =
        std::env::args().skip(1).map(|text| parse_count(&text)).collect();
    let (lines, distinct) = match counts.as_deref() {
        Ok(&[lines, distinct]) if distinct <= lines => (lines, distinct),
        Err(message) => fail(message),
        Ok(_) => fail("usage: lines LINES DISTINCT, DISTINCT not above LINES"),
    };
    if let Err(error) = write_lines(lines, distinct) {
        fail(&format!("cannot write: {error}"));
    }
}

fn fail(message: &str) -> ! {
    eprintln!("lines: {message}");
    std::process::exit(2);
}

fn write_lines(lines: u64, distinct: u64) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, std::io::stdout().lock());
    let mut new = 0;
    for line in 0..lines {
        let random = mix(line);
        // Each order of new lines and repeats is equally likely, but the first line is new.
        let is_new = new == 0 || below(random, lines - line) < distinct - new;
        let id = if is_new { new } else { below(mix(!random), new) };
        new += u64::from(is_new);
        write_line(&mut out, id)?;
    }
    out.flush()
}

fn write_line(out: &mut impl Write, id: u64) -> std::io::Result<()> {
    let number = mix(id | 1 << 63);
    let host = HOSTS[(number % 8) as usize];
    let section = SECTIONS[(number / 8 % 8) as usize];
    writeln!(out, "https://{host}/{section}/{number:016x}?page={}&l=en", number / 64 % 50)
}

/// A random number below `limit`.
fn below(random: u64, limit: u64) -> u64 {
    ((u128::from(random) * u128::from(limit)) >> 64) as u64
}

/// The finalizer of `splitmix64` (Steele, Lea & Flood 2014).
fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
