//! Our side: the filters are created here, and queried one by one and in batches.

use mayhap::Bitmap;
use mayhap_formats::{
    Error, ForeignFilter, GuavaFilter, GuavaOptions, Limits, SparkFilter, SparkOptions,
    SparkVersion,
};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Keys of a pass.
pub(crate) const KEYS: usize = 1 << 16;

const ROUNDS: u32 = 10;
const ROUND: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy)]
pub(crate) enum System {
    Guava,
    SparkV1,
    SparkV2,
}

impl System {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Guava => "Guava MITZ_64",
            Self::SparkV1 => "Spark V1",
            Self::SparkV2 => "Spark V2",
        }
    }

    /// The class of the JVM's side.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Guava => "Guava",
            Self::SparkV1 | Self::SparkV2 => "Spark",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Text,
    Bytes,
    Long,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Text, Self::Bytes, Self::Long];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::Long => "long",
        }
    }

    fn key(self, i: u64) -> Vec<u8> {
        match self {
            Self::Text | Self::Bytes => format!("https://example.com/user/{i}").into_bytes(),
            Self::Long => i.to_le_bytes().to_vec(),
        }
    }
}

#[derive(Debug)]
pub(crate) enum Filter {
    Guava(GuavaFilter),
    Spark(SparkFilter),
}

impl Filter {
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Guava(filter) => filter.encode(),
            Self::Spark(filter) => filter.encode(),
        }
    }
}

/// A filter of `items` keys at 1 %.
pub(crate) fn build(system: System, kind: Kind, items: u64) -> Result<Filter, Error> {
    let n = i64::try_from(items).unwrap_or(i64::MAX);
    let limits = Limits::default();
    let spark = |version| {
        let options = SparkOptions { fpp: 0.01, version, ..SparkOptions::new(n) };
        SparkFilter::create(&options, &limits)
    };
    let mut filter = match system {
        System::Guava => {
            let options = GuavaOptions { fpp: 0.01, ..GuavaOptions::new(n) };
            Filter::Guava(GuavaFilter::create(&options, &limits)?)
        }
        System::SparkV1 => Filter::Spark(spark(SparkVersion::V1)?),
        System::SparkV2 => Filter::Spark(spark(SparkVersion::V2 { seed: 0 })?),
    };
    for i in 0..items {
        let key = kind.key(i);
        match &mut filter {
            Filter::Guava(filter) => filter.insert(&key),
            Filter::Spark(filter) => filter.insert(&key),
        };
    }
    Ok(filter)
}

pub(crate) struct Times {
    pub(crate) single_ns: f64,
    pub(crate) batch_ns: f64,
    pub(crate) found: usize,
}

/// The best rounds, for the keys that the JVM queries.
pub(crate) fn measure(filter: &Filter, kind: Kind, hit: bool, items: u64) -> Times {
    let index = |j: u64| if hit { j * 7919 % items } else { items + j };
    let keys: Vec<Vec<u8>> = (0..KEYS as u64).map(|j| kind.key(index(j))).collect();
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut bitmap = Bitmap::new();
    // A match outside of the loops: inside they know their filter, as the JVM's do.
    match filter {
        Filter::Guava(filter) => times(
            || slices.iter().filter(|key| filter.contains(black_box(key))).count(),
            || filter.contains_batch(black_box(&slices), &mut bitmap),
        ),
        Filter::Spark(filter) => times(
            || slices.iter().filter(|key| filter.contains(black_box(key))).count(),
            || filter.contains_batch(black_box(&slices), &mut bitmap),
        ),
    }
}

fn times(mut single: impl FnMut() -> usize, mut batch: impl FnMut()) -> Times {
    let found = single();
    let single_ns = best(|| assert_eq!(single(), found, "another answer"));
    Times { single_ns, batch_ns: best(&mut batch), found }
}

fn best(mut pass: impl FnMut()) -> f64 {
    pass();
    (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            let mut keys = 0;
            while begin.elapsed() < ROUND {
                pass();
                keys += KEYS;
            }
            begin.elapsed().as_nanos() as f64 / keys as f64
        })
        .fold(f64::MAX, f64::min)
}
