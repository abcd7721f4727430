//! No file is taken for one of another system, and no damaged header makes keys absent.

use mayhap_formats::{ForeignFilter, Format, Limits};
use mayhap_sets::file::{ForeignFile, Known};
use rand_like::Numbers;
use std::path::{Path, PathBuf};
use test_data::golden;

/// Random numbers from a seed.
mod rand_like {
    /// `SplitMix64`.
    pub(super) struct Numbers(pub(super) u64);

    impl Numbers {
        /// The next number.
        pub(super) fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        }
    }
}

/// Whether all cases are tried, and not a sample.
fn is_whole() -> bool {
    std::env::var_os("BORDERS").is_some_and(|value| value != "0")
}

/// The system that bytes are taken for, of all systems.
fn taken_for(bytes: &[u8]) -> Vec<Box<dyn ForeignFilter>> {
    let limits = Limits { max_bytes: 64 << 20, ..Limits::default() };
    let mut candidates = mayhap_formats::detect(bytes);
    candidates.dedup_by_key(|candidate| candidate.format);
    let opened = candidates.iter().map(|it| mayhap_formats::open(it.format, bytes, &limits));
    opened.filter_map(Result::ok).collect()
}

/// As [`taken_for`], of a file.
fn is_opened(path: &Path, bytes: &[u8]) -> Option<Format> {
    std::fs::write(path, bytes).unwrap();
    let opened = ForeignFile::open(path, Known::default(), 64 << 20).ok().flatten();
    opened.map(|file| file.filter().format())
}

/// Golden files that are detected, with what they are and their bytes; the large ones have the same
/// headers as others.
fn detected() -> Vec<(PathBuf, Format, Vec<u8>)> {
    let mut found = Vec::new();
    for system in std::fs::read_dir(golden::root()).unwrap() {
        for file in std::fs::read_dir(system.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            if bytes.len() > 64 << 10 {
                continue;
            }
            let candidates = mayhap_formats::detect(&bytes);
            let sound = candidates.iter().find(|candidate| {
                mayhap_formats::open(candidate.format, &bytes, &Limits::default()).is_ok()
            });
            if let Some(candidate) = sound {
                found.push((path, candidate.format, bytes));
            }
        }
    }
    found.sort();
    assert!(found.len() > 60, "{}", found.len());
    found
}

/// Whether nothing in a file of this format shows that a bit at this byte was flipped: its
/// strategy, its number of hash functions, a seed or the size of `BloomFileter`, which it states
/// once and which may be any. `docs/formats.md` lists them.
fn is_unprotected(format: Format, bytes: &[u8], at: usize, filter: &dyn ForeignFilter) -> bool {
    let is_object = bytes.starts_with(&[0xAC, 0xED]);
    // Where an int of this value is before the bits.
    let is_int = |value: u32| {
        let found = bytes[..1_000.min(bytes.len())].windows(4);
        let mut places = found.enumerate().filter(|(_, int)| *int == value.to_be_bytes());
        places.any(|(place, _)| (place..place + 4).contains(&at))
    };
    let k = filter.num_hashes();
    match format {
        Format::Guava if is_object => is_int(k),
        Format::Guava => at < 2,
        Format::Spark if is_object => is_int(k) || is_int(filter_seed(filter)),
        Format::Spark => (4..12).contains(&at),
        Format::MagnusS => is_int(k),
        Format::BloomFileter => is_int(filter.num_bits() as u32),
        // In text a flipped bit of base64 is several bits.
        Format::BitsAndBlooms if bytes.starts_with(b"{") => at > 10,
        // Of gob the binary form stands in an envelope of 20 bytes.
        Format::BitsAndBlooms => (8..16).contains(&at) || (28..36).contains(&at),
        Format::PyBloomFilterMmap => (41..41 + 4 * k as usize).contains(&at),
        _ => false,
    }
}

/// The seed of a Spark filter.
fn filter_seed(filter: &dyn ForeignFilter) -> u32 {
    let facts = filter.facts();
    let seed = facts.iter().find(|fact| fact.key == "seed");
    seed.and_then(|fact| fact.value.parse::<i32>().ok()).map_or(u32::MAX, i32::cast_unsigned)
}

/// The bytes before the bits of a file of this format, at most, and those after them.
fn head_and_tail(format: Format, bytes: &[u8]) -> (usize, usize) {
    let head = match format {
        Format::PyBloomFilterMmap => 1_280,
        _ if bytes.starts_with(&[0xAC, 0xED]) => 1_000,
        _ => 120,
    };
    (head.min(bytes.len()), bytes.len().saturating_sub(200).max(head))
}

#[test]
fn one_flipped_bit_of_a_header_is_noticed_or_changes_no_answer() {
    let step = if is_whole() { 1 } else { 13 };
    let (mut flips, mut wrong) = (0, Vec::new());
    for (name, format, bytes) in detected() {
        let mut filter = mayhap_formats::open(format, &bytes, &Limits::default()).unwrap();
        let keys: Vec<[u8; 8]> = (0..40u64).map(|i| (i * 0x9E37_79B9 + 1).to_le_bytes()).collect();
        // Those that it takes: some are full, and some clear themselves.
        let _ = keys.iter().try_for_each(|key| filter.insert(key).map(|_| ()));
        let keys: Vec<_> = keys.iter().filter(|key| filter.contains(&key[..])).collect();
        let sound = filter.encode();
        let mut flipped = sound.clone();
        let (shape, ones) = ((filter.num_bits(), filter.num_hashes()), filter.count_ones());
        let (head, tail) = head_and_tail(format, &sound);
        for bit in (0..head * 8).chain(tail * 8..sound.len() * 8).step_by(step) {
            let at = bit / 8;
            flipped[at] ^= 1 << (bit % 8);
            flips += 1;
            for found in taken_for(&flipped) {
                // Of two releases that look the same, the user has to name one.
                if format.alike().contains(&found.format()) {
                    continue;
                }
                let same = found.format() == format;
                let is_body = (found.num_bits(), found.num_hashes()) == shape
                    && found.count_ones().abs_diff(ones) == 1;
                let all = keys.iter().all(|key| found.contains(&key[..]));
                if !same || !(all || is_body || is_unprotected(format, &sound, at, &*filter)) {
                    let name = name.file_name().unwrap().display();
                    wrong.push(format!("{name}: {at}.{}: {}", bit % 8, found.format().name()));
                }
            }
            flipped[at] ^= 1 << (bit % 8);
        }
    }
    assert!(flips > 4_000, "{flips}");
    assert!(wrong.is_empty(), "{} of {flips}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn random_files_are_of_no_system() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let mut numbers = Numbers(35);
    for file in 0..500 {
        let len = 9 + numbers.next() % 4_096;
        let mut bytes: Vec<u8> = (0..len).map(|_| numbers.next() as u8).collect();
        // Half of them begin with a small number, as many formats do.
        match file % 4 {
            0 => bytes[..8].copy_from_slice(&(1 + numbers.next() % 64).to_le_bytes()),
            1 => bytes[..8].copy_from_slice(&(1 + numbers.next() % 64).to_be_bytes()),
            _ => {}
        }
        assert_eq!(is_opened(&path, &bytes), None, "{file}");
    }
}

/// `MarshalBinary` of a Go filter of others: k, n, m, k keys, the bits, SHA-384.
fn steakknife() -> Vec<u8> {
    let (k, m) = (4u64, 4_608u64);
    let mut numbers: Vec<u64> = vec![k, 500, m];
    numbers.extend((1..=k).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
    let mut random = Numbers(4);
    numbers.extend((0..m / 64 + 6).map(|_| random.next() & random.next()));
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// An export of `pyprobables`, nearly empty: bits, then n, the count and p.
fn pyprobables() -> Vec<u8> {
    let mut bytes = vec![0; 1_200];
    bytes[0] = 1;
    bytes.extend(1_000u64.to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    bytes.extend(0.01f32.to_le_bytes());
    bytes
}

#[test]
fn files_of_systems_that_are_not_read_are_of_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    let rbloom = std::fs::read(golden::root().join("python/rbloom_a.bin")).unwrap();
    let ids: Vec<u8> = [7u64, 1 << 40, 9].iter().flat_map(|id| id.to_le_bytes()).collect();
    let dcso = std::fs::read(golden::root().join("dcso/dcso_a.bloom")).unwrap();
    let mut files = vec![
        ("rbloom", rbloom),
        ("steakknife/bloomfilter", steakknife()),
        ("pyprobables", pyprobables()),
        ("a list of binary ids", ids),
    ];
    for bad in ["huge_k", "zero_k", "short_header", "bad_version", "truncated"] {
        let path = golden::root().join(format!("dcso/dcso_bad_{bad}.bloom"));
        files.push((bad, std::fs::read(path).unwrap()));
    }
    for len in 9..dcso.len().min(48) {
        files.push(("a cut DCSO file", dcso[..len].to_vec()));
    }
    for (name, bytes) in files {
        assert_eq!(is_opened(&path, &bytes), None, "{name}");
        let named = mayhap_formats::detect(&bytes).iter().any(|it| it.format == Format::Rbloom);
        assert!(!named, "{name} is detected as rbloom");
    }
}
