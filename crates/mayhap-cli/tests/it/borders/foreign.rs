//! Headers of other systems with one bit flipped, by the command; the tests of `mayhap-sets` try
//! all bits.

use super::is_whole;
use crate::foreign::bytes;
use crate::support::{file, folder, run};

/// A golden file, the bytes of its header, and the bytes that nothing else in it contradicts.
const FILES: [(&str, usize, std::ops::Range<usize>); 6] = [
    ("dcso/dcso_a.bloom", 48, 0..0),
    ("python/pybloomlive4_a.bin", 40, 0..0),
    ("python/pybloommmap_a.bin", 41, 0..0),
    ("bits-and-blooms/bb_a.bin", 24, 8..16),
    ("spark/v2_string_seed42.bin", 16, 4..12),
    ("guava/string_utf8_mitz64.bin", 6, 0..2),
];

#[test]
fn a_flipped_bit_of_a_header_is_refused_and_nothing_is_written() {
    let folder = folder();
    let folder = folder.path();
    let step = if is_whole() { 3 } else { 61 };
    let mut refused = 0;
    for (name, header, unprotected) in FILES {
        let sound = bytes(name);
        for bit in (0..header * 8).step_by(step).filter(|bit| !unprotected.contains(&(bit / 8))) {
            let mut flipped = sound.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            file(folder, "f", &flipped);
            let detected = run(folder, &["detect", "f"], b"");
            for line in String::from_utf8_lossy(&detected.stdout).lines() {
                let system = name.split(['/', '_']).nth(1).unwrap();
                let format = line.split('\t').nth(1).unwrap().replace('-', "");
                let is_same = format.is_empty() || name.contains(&format[..4]);
                assert!(
                    is_same || system.contains(&format[..4]) || format.starts_with("bits"),
                    "{line}"
                );
            }
            // A file that still opens answers as before: the byte is a count, or a flag that is
            // ignored.
            for verb in ["info", "check", "add"] {
                let output = run(folder, &[verb, "-q", "f"], b"user:1\n");
                if verb == "check" {
                    let code = output.status.code();
                    assert_ne!(code, Some(1), "{name}, bit {bit}: user:1 is surely absent");
                }
                if output.status.code() == Some(2) {
                    refused += 1;
                    assert_eq!(
                        std::fs::read(folder.join("f")).unwrap(),
                        flipped,
                        "{name}, bit {bit}"
                    );
                }
            }
        }
    }
    assert!(refused > 20, "{refused}");
}
