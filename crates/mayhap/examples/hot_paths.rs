//! Runs one hot path of the library a given number of times, for a tool that counts instructions:
//! `crates/mayhap/tests/instructions.sh` compares the counts with the recorded ones.
//!
//! ```text
//! cargo run --release -p mayhap --example hot_paths                     # their names
//! cargo run --release -p mayhap --example hot_paths -- blocked-hit 100  # 100 rounds of 4,096 keys
//! ```
//!
//! A round works on 4,096 keys, which for insertions are new each time, in filters for a million.
//! The set-up is the same for any number of rounds, so the difference of two counts leaves it out;
//! caches do not affect a count.

use mayhap::{
    Bitmap, BlockedBloomFilter, BloomFilter, ConcurrentBlockedBloomFilter, ConcurrentBloomFilter,
    CountingBloomFilter, Digest, DigestFunction, Error, ScalableBloomFilter, SecretKey,
    WindowBloomFilter,
};
use std::hint::black_box;

const KEYS: usize = 4096;
const ITEMS: u64 = 1 << 20;
const RATE: f64 = 0.01;

type Round = Box<dyn FnMut()>;
type Setup = fn() -> Result<Round, Error>;

/// Each path: its name and its set-up.
const PATHS: &[(&str, Setup)] = &[
    ("digest-xxh3", || Ok(digest(DigestFunction::xxh3(0)))),
    ("digest-sip13", || Ok(digest(DigestFunction::sip13(SecretKey::new([7; 16]))))),
    ("blocked-insert", || {
        let mut filter = blocked()?;
        Ok(new_keys(move |digest| filter.insert_digest(digest)))
    }),
    ("blocked-hit", || {
        let (mut filter, digests) = (blocked()?, digests(1));
        filter.insert_digests(&digests);
        Ok(Box::new(move || each(&digests, |digest| filter.contains_digest(digest))))
    }),
    ("blocked-batch", || {
        let (mut filter, digests, mut found) = (blocked()?, digests(1), Bitmap::new());
        filter.insert_digests(&digests);
        Ok(Box::new(move || filter.contains_digests_into(black_box(&digests), &mut found)))
    }),
    ("shared-insert", || {
        let filter = shared()?;
        Ok(new_keys(move |digest| filter.insert_digest(digest)))
    }),
    ("shared-hit", || {
        let (filter, digests) = (shared()?, digests(1));
        filter.insert_digests(&digests);
        Ok(Box::new(move || each(&digests, |digest| filter.contains_digest(digest))))
    }),
    ("standard-insert", || {
        let mut filter = standard()?;
        Ok(new_keys(move |digest| filter.insert_digest(digest)))
    }),
    ("standard-hit", || {
        let (mut filter, digests) = (standard()?, digests(1));
        filter.insert_digests(&digests);
        Ok(Box::new(move || each(&digests, |digest| filter.contains_digest(digest))))
    }),
    ("standard-batch", || {
        let (mut filter, digests, mut found) = (standard()?, digests(1), Bitmap::new());
        filter.insert_digests(&digests);
        Ok(Box::new(move || filter.contains_digests_into(black_box(&digests), &mut found)))
    }),
    ("standard-shared-insert", || {
        let builder = ConcurrentBloomFilter::builder().expected_items(ITEMS).target_fpp(RATE);
        let filter = builder.build()?;
        Ok(new_keys(move |digest| filter.insert_digest(digest)))
    }),
    ("scalable-hit", || {
        let (mut filter, digests) = (scalable()?, digests(1));
        for &digest in &digests {
            filter.insert_digest(digest)?;
        }
        Ok(Box::new(move || each(&digests, |digest| filter.contains_digest(digest))))
    }),
    ("counting-insert", || {
        let builder = CountingBloomFilter::builder().expected_items(ITEMS).target_fpp(RATE);
        let mut filter = builder.build()?;
        Ok(new_keys(move |digest| filter.insert_digest(digest)))
    }),
    ("window-insert", || {
        let mut filter =
            WindowBloomFilter::builder().window_items(ITEMS).target_fpp(RATE).build()?;
        Ok(new_keys(move |digest| filter.insert_digest(digest)))
    }),
];

fn digest(function: DigestFunction) -> Round {
    let keys: Vec<String> = (0..KEYS).map(|i| format!("https://example.org/{i:012}")).collect();
    Box::new(move || {
        for key in &keys {
            black_box(function.digest(black_box(key.as_str())));
        }
    })
}

fn blocked() -> Result<BlockedBloomFilter, Error> {
    BlockedBloomFilter::builder().expected_items(ITEMS).target_fpp(RATE).build()
}

fn shared() -> Result<ConcurrentBlockedBloomFilter, Error> {
    ConcurrentBlockedBloomFilter::builder().expected_items(ITEMS).target_fpp(RATE).build()
}

fn standard() -> Result<BloomFilter, Error> {
    BloomFilter::builder().expected_items(ITEMS).target_fpp(RATE).build()
}

fn scalable() -> Result<ScalableBloomFilter, Error> {
    ScalableBloomFilter::new(1024, RATE, DigestFunction::xxh3(0))
}

/// Spread over all 64 bits, and the same in each run.
fn digests(seed: u64) -> Vec<Digest> {
    let function = DigestFunction::xxh3(seed);
    (0..KEYS as u64).map(|i| function.digest(&i)).collect()
}

/// Inserts keys that are new in each round.
fn new_keys<T: 'static>(mut insert: impl FnMut(Digest) -> T + 'static) -> Round {
    let (function, mut next) = (DigestFunction::xxh3(0), 0u64);
    Box::new(move || {
        for key in next..next + KEYS as u64 {
            black_box(insert(black_box(function.digest(&key))));
        }
        next += KEYS as u64;
    })
}

fn each<T>(digests: &[Digest], mut path: impl FnMut(Digest) -> T) {
    for &digest in digests {
        black_box(path(black_box(digest)));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, rounds] = &arguments[..] else {
        for (name, _) in PATHS {
            println!("{name}");
        }
        return Ok(());
    };
    let (_, setup) = PATHS.iter().find(|(known, _)| known == name).ok_or("no such path")?;
    let mut round = setup()?;
    for _ in 0..rounds.parse::<u64>()? {
        round();
    }
    Ok(())
}
