//! Bytes → the files of the Python libraries.
//!
//! Oracles: a decoded filter is encoded to the same bytes; no large allocation; it keeps working
//! without a panic.
use mayhap_formats::{Format, detect, open};
use mayhap_fuzz::{go_on, open_foreign};

pub(super) fn run(data: &[u8]) {
    // Detection, of all formats.
    detect(data);
    for format in
        [Format::Rbloom, Format::PyBloomLive3, Format::PyBloomLive4, Format::PyBloomFilterMmap]
    {
        let decode = |data: &[u8], limits: &_| open(format, data, limits);
        if let Some(mut filter) = open_foreign(data, decode) {
            assert!(filter.encode() == data, "encoded otherwise");
            go_on(&mut *filter);
        }
    }
}
