//! Bytes as a file of digests beside a filter, as they are and once more with right checksums.
//!
//! Oracles: the digests read are ascending and no more than the file declares; reading it again
//! finds the same; no allocation is larger than the input allows.
use mayhap_fuzz::limited_to;
use mayhap_store::{Error, KeptDigests};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const HEADER: usize = 64;
const RECORD: usize = 40;

pub(super) fn run(data: &[u8]) {
    check(data);
    check(&sealed(data));
}

fn check(data: &[u8]) {
    let path = folder().join("f");
    std::fs::write(folder().join("f.digests"), data).unwrap();
    // The digests of a run take at most eight times its bytes, and the buffers little.
    let limit = data.len() * 8 + (1 << 20);
    let first = limited_to(limit, || read(&path));
    assert_eq!(first, read(&path));
}

/// The digests, if they can be read.
fn read(path: &Path) -> Option<Vec<u64>> {
    let kept = KeptDigests::open(path).ok()??;
    let mut all = Vec::new();
    let read = kept.for_each(|digests| {
        assert!(!digests.is_empty() && digests.len() <= 1024);
        all.extend(digests.iter().map(|digest| digest.get()));
        Ok::<(), Error>(())
    });
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "not ascending");
    assert!(all.len() as u64 <= kept.digests());
    assert!(read.is_err() || kept.digests() == 0 || !all.is_empty());
    read.ok().map(|()| all)
}

/// The same with a sound header, and records that are sound if their numbers are.
fn sealed(data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x89mhpdig\n\x01\0\x01\0\0\0\0\0".to_vec();
    bytes.resize(HEADER - 8, 0);
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    let mut rest = data;
    while let Some((start, codes)) = rest.split_first_chunk::<RECORD>() {
        let offset = bytes.len() as u64;
        let mut record = *start;
        record[..4].copy_from_slice(b"\x89mhd");
        // Mostly runs.
        let kind = 1 + u8::from(start[4] >= 0xC0);
        record[4..8].copy_from_slice(&[kind, 0, 0, 0]);
        let mut len = 0;
        if kind == 1 {
            len = u64::from_le_bytes(record[16..24].try_into().unwrap()).min(codes.len() as u64);
            let checksum = xxh3_64(&codes[..len as usize]);
            record[24..32].copy_from_slice(&checksum.to_le_bytes());
        } else {
            record[16..32].fill(0);
        }
        let checksum = xxh3_64_with_seed(&record[..RECORD - 8], offset);
        record[RECORD - 8..].copy_from_slice(&checksum.to_le_bytes());
        bytes.extend(record);
        bytes.extend(&codes[..len as usize]);
        rest = &codes[len as usize..];
    }
    bytes
}

/// A folder of this process.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
        let folder = parent.join(format!("mayhap-fuzz-digests-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    })
}
