//! Bytes → `mayhap::native::Header::decode`, as they are and once more with a right checksum.
//!
//! Shorter inputs are a header's front: zeros are put after them, since the interesting bytes of
//! the 4096 are the first 140. Oracles: a decoded header is encoded to the same bytes, and its
//! lengths are consistent.
use mayhap::native::{self, HEADER_BYTES, Header};
use mayhap_fuzz::{limited_to, seal_header};

pub(super) fn run(data: &[u8]) {
    // Short files have a target of their own.
    if native::is_short(data) {
        return;
    }
    check(data);
    let mut sealed = data.to_vec();
    sealed.resize(HEADER_BYTES, 0);
    seal_header(&mut sealed);
    check(&sealed);
}

fn check(data: &[u8]) {
    let Ok(header) = limited_to(1 << 16, || Header::decode(data)) else { return };
    assert!(header.encode(header.table_checksum()) == data[..HEADER_BYTES], "encoded otherwise");
    let body = header.body_bytes();
    let blocks = header.segment_blocks();
    let num_bytes = 64 * blocks.iter().sum::<u64>();
    assert!(body >= num_bytes && body < num_bytes + 4096 * blocks.len() as u64);
    assert_eq!(header.file_bytes(), HEADER_BYTES as u64 + body + body / 512);
    assert!(header.check_file_bytes(header.file_bytes() - 1).is_err());
    assert!(header.digest_function(None).is_ok() == (header.digest_id() == 1));
    if let Ok(params) = header.params() {
        assert!((0.0..=1.0).contains(&params.expected_fpp(1000)));
    }
}
