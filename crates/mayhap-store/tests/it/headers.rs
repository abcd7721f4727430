//! Headers that are sound by their checksum and absurd by their values.

use crate::common::{Folder, filter, overwrite};
use mayhap::native::{self, HEADER_BYTES};
use mayhap::{AnyFilter, Bitmap, DigestFunction, Layout};
use mayhap_store::{load, open_mapped, read_header, verify};
use std::fs::{self, File};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// A header field: its name, its offset and the values to try in it.
type Field = (&'static str, usize, Vec<Vec<u8>>);

fn integers<const N: usize>(values: &[u64]) -> Vec<Vec<u8>> {
    values.iter().map(|value| value.to_le_bytes()[..N].to_vec()).collect()
}

fn fields() -> Vec<Field> {
    let wide = [0, 1, 63, 64, 65, 511, 512, 513, 1 << 32, 1 << 56, (1 << 56) + 512, 1 << 63, !0];
    let reals = [
        0.0,
        -0.0,
        f64::MIN_POSITIVE,
        5e-324,
        1e-300,
        0.5,
        1.0 - f64::EPSILON / 2.0,
        1.0,
        2.0,
        -1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    vec![
        ("version", 8, integers::<2>(&[0, 1, 2, 3, 0xFFFF])),
        ("kind", 10, integers::<2>(&[0, 1, 2, 0xFFFF])),
        ("layout", 12, integers::<2>(&[0, 1, 2, 3, 0xFFFF])),
        ("digest", 14, integers::<2>(&[0, 1, 2, 3, 0xFFFF])),
        ("digest_parameter", 16, integers::<8>(&[0, !0])),
        ("num_bits", 24, integers::<8>(&wide)),
        ("num_hashes", 32, integers::<4>(&[0, 1, 7, 8, 16, 32, 33, 0xFFFF_FFFF])),
        ("key_options_bytes", 36, integers::<2>(&[0, 1, 2048, 2049, 0xFFFF])),
        ("reserved", 38, integers::<2>(&[0, 1])),
        ("expected_items", 40, integers::<8>(&wide)),
        ("target_fpp", 48, reals.iter().map(|real: &f64| real.to_le_bytes().to_vec()).collect()),
        ("inserted_items", 56, integers::<8>(&[0, !0])),
        ("table_checksum", 64, integers::<8>(&[0, !0])),
        ("reserved", 120, integers::<8>(&[0, 1 << 63])),
        ("reserved", 4080, integers::<8>(&[0, 1 << 63])),
    ]
}

fn with_sound_checksum(header: &mut [u8]) {
    let checksum = xxh3_64(&header[..HEADER_BYTES - 8]);
    header[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
}

/// Opens it every way: an error with the path in it, or a filter that all ways agree on and that
/// can be queried and filled.
fn check(path: &Path, what: &str) -> bool {
    let mapped = open_mapped(path, None);
    let loaded = load(path, None);
    let checked = verify(path);
    if let Ok(mapped) = &mapped {
        let _ = mapped.contains("key");
        assert_eq!(mapped.verify().is_ok(), loaded.is_ok(), "{what}");
    }
    for error in [mapped.err(), loaded.as_ref().err().map(|_| load(path, None).unwrap_err())] {
        let Some(error) = error else { continue };
        assert!(error.to_string().contains(path.to_str().unwrap()), "{what}: {error}");
    }
    match loaded {
        Ok(mut loaded) => {
            let _ = loaded.filter.contains("key");
            let _ = (loaded.filter.estimated_fpp(), loaded.filter.estimated_items());
            assert!(checked.is_ok(), "{what}");
            fill(&mut loaded.filter, what);
            return true;
        }
        // Only the missing key can stop a load and not a verification.
        Err(error) => assert!(checked.is_err() || error.to_string().contains("secret key")),
    }
    false
}

/// Inserts keys by each way; the count increases with them and stays at its largest value.
fn fill(filter: &mut AnyFilter, what: &str) {
    let before = filter.inserted_items();
    let mut new = u64::from(filter.insert("key"));
    new += filter.insert_batch(&["one", "two"]).count_ones() as u64;
    let mut some = Bitmap::new();
    filter.insert_digests_into(&[DigestFunction::Xxh3 { seed: 0 }.digest("three")], &mut some);
    new += some.count_ones() as u64;
    assert!(filter.contains("key") && filter.contains("two"), "{what}");
    assert_eq!(filter.inserted_items(), before.saturating_add(new), "{what}");
}

#[test]
fn all_pairs_of_extreme_values_are_refused_or_make_a_sound_filter() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let sound = native::encode(&filter(Layout::Standard, 512, 0..5), "");
    fs::write(path, &sound).unwrap();
    let fields = fields();
    let (mut refused, mut accepted) = (0, 0);
    for (i, (name, at, values)) in fields.iter().enumerate() {
        for (other_name, other_at, other_values) in &fields[i + 1..] {
            for (value, other) in
                values.iter().flat_map(|v| other_values.iter().map(move |o| (v, o)))
            {
                let mut bytes = sound.clone();
                bytes[*at..at + value.len()].copy_from_slice(value);
                bytes[*other_at..other_at + other.len()].copy_from_slice(other);
                with_sound_checksum(&mut bytes);
                overwrite(path, 0, &bytes);
                let what = format!("{name} {value:x?}, {other_name} {other:x?}");
                if check(path, &what) { accepted += 1 } else { refused += 1 }
            }
        }
    }
    // Both happen, or the test tests nothing.
    assert!(refused > 2000 && accepted > 50, "{refused} refused, {accepted} accepted");
}

#[test]
fn a_size_beyond_the_file_is_refused_as_a_length_and_never_allocated() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let mut bytes = native::encode(&filter(Layout::Blocked, 512, 0..5), "");
    for num_bits in [1u64 << 43, 1 << 50, 1 << 56] {
        bytes[24..32].copy_from_slice(&num_bits.to_le_bytes());
        with_sound_checksum(&mut bytes);
        fs::write(path, &bytes).unwrap();
        for error in [
            load(path, None).unwrap_err(),
            open_mapped(path, None).unwrap_err(),
            verify(path).unwrap_err(),
            read_header(path).unwrap_err(),
        ] {
            assert!(error.to_string().contains("file is truncated"), "{error}");
        }
    }
}

#[test]
fn bits_past_the_end_are_refused_though_all_checksums_are_right() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let file = native::encode(&filter(Layout::Standard, 1001, 0..5), "");
    for bit in [1001, 1023] {
        let mut bytes = file.clone();
        bytes[HEADER_BYTES + bit / 8] |= 1 << (bit % 8);
        let page = xxh3_64(&bytes[HEADER_BYTES..HEADER_BYTES + 4096]).to_le_bytes();
        bytes[HEADER_BYTES + 4096..].copy_from_slice(&page);
        bytes[64..72].copy_from_slice(&xxh3_64(&page).to_le_bytes());
        with_sound_checksum(&mut bytes);
        fs::write(path, &bytes).unwrap();
        for error in [
            load(path, None).unwrap_err(),
            open_mapped(path, None).unwrap_err(),
            verify(path).unwrap_err(),
        ] {
            assert!(error.to_string().contains("bits past num_bits is 1"), "{error}");
        }
    }
}

/// A file of 1 TiB that takes no space on disk: a sound header, then a hole.
#[cfg(target_os = "linux")]
pub(crate) fn sparse_file(path: &Path, num_bits: u64) -> std::io::Result<()> {
    let mut header = native::encode(&filter(Layout::Blocked, 512, 0..1), "");
    header.truncate(HEADER_BYTES);
    header[24..32].copy_from_slice(&num_bits.to_le_bytes());
    with_sound_checksum(&mut header);
    let file_bytes = native::Header::decode(&header).unwrap().file_bytes();
    fs::write(path, header)?;
    File::options().write(true).open(path)?.set_len(file_bytes)
}
