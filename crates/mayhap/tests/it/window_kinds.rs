//! Windows of each kind, for tests.

use mayhap::native::{Fields, Native};
use mayhap::sizing::window::{self, Load};
use mayhap::{Block, Digest, DigestFunction, Error, OwnedBlocks, WindowBloomFilter};

pub(crate) fn of_items(items: u64, target_fpp: f64) -> WindowBloomFilter {
    WindowBloomFilter::builder().window_items(items).target_fpp(target_fpp).build().unwrap()
}

pub(crate) fn of_time(span: u64, items: u64, target_fpp: f64) -> WindowBloomFilter {
    WindowBloomFilter::builder().window_time(span, items).target_fpp(target_fpp).build().unwrap()
}

/// A time window as version 0.1 made it, out of its file: generations of a 14th of the span.
pub(crate) fn of_old_time(span: u64, items: u64, target_fpp: f64) -> WindowBloomFilter {
    let step = span.div_ceil(14);
    let live = span.div_ceil(step) + 1;
    let of_generation = (u128::from(items) * u128::from(step)).div_ceil(span.into()) as u64;
    let load = Load::Distinct(of_generation);
    let (num_rows, num_hashes) = window::for_items(load, live as u32, target_fpp).unwrap();
    let mut fields = of_items(1, target_fpp).fields();
    (fields.num_bits, fields.num_hashes, fields.expected_items) =
        (num_rows * 16, num_hashes, items);
    fields.extra[0] = span;
    let segments: Vec<Vec<Block>> =
        [num_rows.div_ceil(32), 2].map(|blocks| vec![Block::default(); blocks as usize]).to_vec();
    from_parts(&fields, &segments).unwrap()
}

/// Count windows, time windows, and time windows of the older form.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Items,
    Time,
    OldTime,
}

impl Kind {
    /// A span of `window` with `items` keys, or `window` keys.
    pub(crate) fn make(self, window: u64, items: u64, target_fpp: f64) -> WindowBloomFilter {
        match self {
            Self::Items => of_items(window, target_fpp),
            Self::Time => of_time(window, items, target_fpp),
            Self::OldTime => of_old_time(window, items, target_fpp),
        }
    }
}

pub(crate) fn random(i: u64) -> Digest {
    DigestFunction::xxh3(99).digest(&i)
}

pub(crate) fn from_parts(
    fields: &Fields,
    segments: &[Vec<Block>],
) -> Result<WindowBloomFilter, Error> {
    let function = DigestFunction::default();
    // As in a file of the right length.
    let expected = WindowBloomFilter::segment_blocks(fields)?;
    let found: Vec<u64> = segments.iter().map(|s| s.len() as u64).collect();
    if expected != found {
        return Err(Error::WrongLength { field: "file", expected: expected[0], found: found[0] });
    }
    let segments = segments.iter().map(|s| OwnedBlocks::copy_of(s).unwrap()).collect();
    WindowBloomFilter::from_segments(fields, function, segments)
}
