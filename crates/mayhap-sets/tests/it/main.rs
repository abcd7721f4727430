//! All kinds of filters through the one trait: `kinds.rs`, their calls, `files.rs`, their files;
//! `foreign.rs` and `borders.rs`, files of other systems; `server/`, filters on servers.

mod borders;
mod files;
mod foreign;
mod kinds;
#[cfg(feature = "redis")]
mod server;

use mayhap::set::Repeats;
use mayhap::sizing::fuse::FuseWidth;
use mayhap::{
    AnyFilter, BinaryFuse, Bitmap, CompactFilter, CountingBloomFilter, Digest, DigestFunction,
    Layout, ScalableBloomFilter, WindowBloomFilter,
};
use mayhap_sets::{KeySet, OwnSet};
use std::ops::Range;

fn digests(range: Range<u64>) -> Vec<Digest> {
    range.map(|number| DigestFunction::default().digest(&number)).collect()
}

fn plain() -> AnyFilter {
    let builder = AnyFilter::builder().layout(Layout::Blocked).expected_items(1_000);
    builder.target_fpp(1e-6).build().unwrap()
}

fn compact() -> CompactFilter {
    CompactFilter::builder().expected_items(1_000).target_fpp(1e-6).build().unwrap()
}

fn counting() -> CountingBloomFilter {
    CountingBloomFilter::builder().expected_items(1_000).target_fpp(1e-6).build().unwrap()
}

fn scalable() -> ScalableBloomFilter {
    ScalableBloomFilter::new(1_000, 1e-6, DigestFunction::default()).unwrap()
}

fn window() -> WindowBloomFilter {
    WindowBloomFilter::builder().window_items(1_000).target_fpp(1e-6).build().unwrap()
}

fn fuse() -> BinaryFuse {
    let function = DigestFunction::default();
    BinaryFuse::build(FuseWidth::BITS_16, function, digests(0..1_000)).unwrap()
}

/// One of each kind that can be filled.
fn fillable() -> Vec<Box<dyn KeySet>> {
    vec![
        Box::new(OwnSet::from(plain())),
        Box::new(OwnSet::from(compact())),
        Box::new(OwnSet::from(counting())),
        Box::new(OwnSet::from(scalable())),
        Box::new(OwnSet::unsaved(scalable())),
        Box::new(OwnSet::from(window())),
    ]
}

fn insert(set: &mut dyn KeySet, range: Range<u64>) -> Vec<usize> {
    let mut new = Bitmap::new();
    set.insert_into(digests(range.clone())[..].into(), Repeats::Renew, &mut new).unwrap();
    assert_eq!(new.len() as u64, range.end - range.start);
    new.iter_ones().collect()
}

fn found(set: &mut dyn KeySet, range: Range<u64>) -> Vec<usize> {
    let mut found = Bitmap::new();
    set.contains_into(digests(range.clone())[..].into(), &mut found).unwrap();
    assert_eq!(found.len() as u64, range.end - range.start);
    found.iter_ones().collect()
}
