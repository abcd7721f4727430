//! Bytes as the files of segments → `mayhap_store::assemble`, as they are and once more with right
//! checksums. A file begins at each magic.
//!
//! Oracles: an assembled filter opens, has the bits of its segments and no others, and answers for
//! their keys, whatever the order of the files; no allocation is larger than the input allows; a
//! refusal leaves no file.
use mayhap::native::{self, HEADER_BYTES};
use mayhap::{Digest, Segment};
use mayhap_fuzz::{limited_to, seal_pages};
use mayhap_store::{FilterLock, LockOptions};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const MAGIC: &[u8] = b"\x89mayhap\n";
/// Beyond it, an input is only slow.
const MAX_FILES: usize = 8;

pub(super) fn run(data: &[u8]) {
    let mut files = split(data);
    check(&files);
    files.iter_mut().for_each(|file| seal_pages(file));
    check(&files);
}

fn split(data: &[u8]) -> Vec<Vec<u8>> {
    let starts = data.windows(MAGIC.len()).enumerate().filter(|(_, bytes)| *bytes == MAGIC);
    let mut edges: Vec<usize> = starts.map(|(at, _)| at).filter(|&at| at > 0).collect();
    edges.truncate(MAX_FILES - 1);
    edges.insert(0, 0);
    edges.push(data.len());
    edges.windows(2).map(|edge| data[edge[0]..edge[1]].to_vec()).collect()
}

fn check(files: &[Vec<u8>]) {
    let paths: Vec<PathBuf> =
        (0..files.len()).map(|number| folder().join(number.to_string())).collect();
    for (path, bytes) in paths.iter().zip(files) {
        std::fs::write(path, bytes).unwrap();
    }
    // Files are copied in pieces of 256 KiB.
    let (whole, other) = (folder().join("whole"), folder().join("other"));
    let assemble = |paths: &[PathBuf], to: &Path| {
        let lock = FilterLock::take(to, &mut LockOptions::new("assemble")).unwrap();
        mayhap_store::assemble(&lock, paths, true, |_, _| {})
    };
    let result = limited_to(1 << 20, || assemble(&paths, &whole));
    let reversed: Vec<PathBuf> = paths.iter().rev().cloned().collect();
    let again = assemble(&reversed, &other);
    assert_eq!(result.is_ok(), again.is_ok());
    let Ok(assembled) = result else {
        assert!(!whole.exists() && !other.exists(), "a refusal left a file");
        return;
    };
    let bytes = std::fs::read(&whole).unwrap();
    assert!(bytes == std::fs::read(&other).unwrap(), "the order of the files counts");
    std::fs::remove_file(&whole).unwrap();
    std::fs::remove_file(&other).unwrap();
    assert_eq!(bytes[..HEADER_BYTES], assembled.header.encode(assembled.header.table_checksum()));
    answers(files, &bytes);
}

/// Each segment answers like the whole filter.
fn answers(files: &[Vec<u8>], bytes: &[u8]) {
    let Ok((filter, _)) = native::decode(bytes, None) else {
        // A secret key is needed to query them, but not to assemble them.
        return;
    };
    let mut ones = 0;
    for file in files {
        let (segment, _) = native::decode_as::<Segment>(file, None).unwrap();
        ones += segment.count_ones();
        let (first, last) = (segment.digests().start().get(), segment.digests().end().get());
        for digest in [first, first + (last - first) / 3, last].map(Digest::new) {
            assert_eq!(segment.contains_digest(digest).unwrap(), filter.contains_digest(digest));
        }
    }
    assert_eq!(ones, filter.count_ones());
}

/// A folder of this process.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
        let folder = parent.join(format!("mayhap-fuzz-segments-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    })
}
