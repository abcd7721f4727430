//! Any bytes as a list of keys, from a file and from a pipe.
//!
//! The first byte selects the separator of lines, the rest is the list. Oracles: with `--raw` the
//! bytes are read as they are; without it too, unless they were decompressed or refused; a refusal
//! has no control characters; no allocation is larger than a decoder's limit, and reading a
//! decompression bomb takes no more.

use mayhap_fuzz::limited_to;
use mayhap_lists::{self as lists, Compression, Input, Reading};

/// More is not taken from a bomb.
const MOST_BYTES: usize = 1 << 20;

/// The bytes of one allocation: an xz dictionary and its overhead.
const ALLOCATION_BYTES: usize = (256 << 20) + (1 << 20);

pub(super) fn run(data: &[u8]) {
    let Some((&how, list)) = data.split_first() else { return };
    let separator = if how & 1 == 0 { b'\n' } else { 0 };
    for is_stream in [false, true] {
        for raw in [false, true] {
            let reading = Reading { raw, max_line: 1 << 20, ..Reading::default() };
            limited_to(ALLOCATION_BYTES, || read(list, is_stream, separator, &reading));
        }
    }
}

fn read(list: &[u8], is_stream: bool, separator: u8, reading: &Reading) {
    let mut input = match Input::of_bytes(list.to_vec(), is_stream, separator, reading) {
        Ok(input) => input,
        Err(error) => {
            assert!(!reading.raw, "{error}");
            assert!(
                matches!(error, lists::Error::NotAList { .. } | lists::Error::Io { .. }),
                "{error}"
            );
            let text = error.to_string();
            assert!(!text.chars().any(char::is_control), "{text:?} would reach a terminal");
            return;
        }
    };
    let (mut out, mut buffer) = (Vec::new(), vec![0; 8192]);
    let whole = loop {
        match input.read(&mut buffer) {
            Ok(0) => break true,
            Ok(length) => out.extend_from_slice(&buffer[..length]),
            Err(_) => break false,
        }
        if out.len() >= MOST_BYTES {
            break false;
        }
    };
    if reading.raw || Compression::of(list).is_none() {
        assert!(whole && out == list, "{} bytes of {}", out.len(), list.len());
    }
}
