//! Bytes → `mayhap::native::decode`, as they are and once more with right checksums.
//!
//! Oracles: a decoded filter is encoded to the same bytes; the filter answers and counts without a
//! panic; no allocation is larger than the input allows.
use mayhap::SecretKey;
use mayhap::native;
use mayhap_fuzz::{check_encoded, limited_to, seal_pages};

pub(super) fn run(data: &[u8]) {
    // Short files have a target of their own.
    if native::is_short(data) {
        return;
    }
    check(data);
    let mut sealed = data.to_vec();
    seal_pages(&mut sealed);
    check(&sealed);
}

fn check(data: &[u8]) {
    // The body is copied once, with the padding of huge pages; the rest is small.
    let limit = data.len() + (4 << 20);
    for key in [None, Some(SecretKey::new([7; 16]))] {
        let Ok((mut filter, header)) = limited_to(limit, || native::decode(data, key)) else {
            continue;
        };
        assert_eq!(header.file_bytes(), data.len() as u64);
        check_encoded(&filter, &header, data);
        let fill = filter.fill_ratio();
        assert!((0.0..=1.0).contains(&fill) && (0.0..=1.0).contains(&filter.estimated_fpp()));
        let estimate = filter.estimated_items();
        assert!(estimate.low <= estimate.items && estimate.items <= estimate.high);
        let _ = filter.health();
        let new = !filter.contains("key");
        assert_eq!(filter.insert("key"), new);
        assert!(filter.contains("key") && !filter.insert("key"));
    }
}
