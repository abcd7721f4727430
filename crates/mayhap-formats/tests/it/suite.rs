//! Properties of the files of every format; each format calls them with its own filters.

use mayhap_formats::{Error, ForeignFilter, Limits};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError};

/// How the bytes of a format are opened.
pub(crate) type Open = fn(&[u8], &Limits) -> Result<Box<dyn ForeignFilter>, Error>;

/// A file that is cut off or damaged at any one place is refused, or is another filter that is
/// written as it was read. `may_be_shorter` is for formats without a length and an end mark.
pub(crate) fn damage(name: &str, file: &[u8], may_be_shorter: bool, open: Open) {
    let limits = Limits { max_bytes: 1 << 20, max_hashes: 300 };
    let same = |bytes: &[u8]| match open(bytes, &limits) {
        Ok(filter) => assert!(filter.encode() == bytes, "{name} was written otherwise"),
        Err(error) => assert!(!error.to_string().is_empty()),
    };
    same(file);
    for len in 0..file.len().min(2_000) {
        same(&file[..len]);
        assert!(may_be_shorter || open(&file[..len], &limits).is_err(), "{name} of {len} bytes");
    }
    let mut damaged = file.to_vec();
    for i in 0..file.len().min(2_000) {
        for change in [1, 0x10, 0x80, 0xFF] {
            damaged[i] ^= change;
            same(&damaged);
            damaged[i] ^= change;
        }
    }
}

/// This number of cases, the same in every run.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(0x0F0F);
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// Any bytes.
pub(crate) fn noise() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xFF), any::<u8>()], 0..200),
    ]
}

/// Keys that were inserted are found, and found again by a filter that was read from the file,
/// which writes the same file. Keys that the system refuses are left out.
pub(crate) fn is_read_again(
    filter: &mut dyn ForeignFilter,
    keys: &[Vec<u8>],
    open: impl Fn(&[u8]) -> Result<Box<dyn ForeignFilter>, Error>,
) -> Result<(), TestCaseError> {
    let added: Vec<_> = keys.iter().filter(|key| filter.insert(key).is_ok()).collect();
    prop_assert!(added.iter().all(|key| filter.contains(key)));
    let file = filter.encode();
    let read = open(&file).unwrap();
    prop_assert!(added.iter().all(|key| read.contains(key)));
    prop_assert!(read.encode() == file);
    Ok(())
}

/// Bytes are refused, or are those of a filter.
pub(crate) fn are_refused_or_kept<F: ForeignFilter>(
    bytes: &[u8],
    read: Result<F, Error>,
) -> Result<(), TestCaseError> {
    read.map_or(Ok(()), |mut filter| are_kept(bytes, &mut filter))
}

/// The bytes are those of this filter, which was read from them: it writes them again and takes
/// keys.
pub(crate) fn are_kept(bytes: &[u8], filter: &mut dyn ForeignFilter) -> Result<(), TestCaseError> {
    prop_assert!(filter.encode() == bytes);
    if filter.insert(b"key").is_ok() {
        prop_assert!(filter.contains(b"key"));
    }
    Ok(())
}

/// A filter that was read, in any format.
pub(crate) fn boxed<F: ForeignFilter + 'static>(
    read: Result<F, Error>,
) -> Result<Box<dyn ForeignFilter>, Error> {
    read.map(|filter| Box::new(filter) as Box<dyn ForeignFilter>)
}
