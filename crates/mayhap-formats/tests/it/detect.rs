//! Detection of a format by the beginning of a file.

use crate::golden;
use mayhap_formats::{detect, detect_start};
use std::path::{Path, PathBuf};

/// All files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn the_beginning_and_the_length_are_as_good_as_the_whole() {
    let mut paths = Vec::new();
    files(&golden::root(), &mut paths);
    let (mut found, mut longer) = (0, 0);
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let all = detect(&bytes);
        for start in [4096, 65_536].map(|length| &bytes[..bytes.len().min(length)]) {
            let told = detect_start(start, Some(bytes.len() as u64));
            assert_eq!(told, all, "{} from {} bytes", path.display(), start.len());
            longer += usize::from(start.len() < bytes.len() && !told.is_empty());
        }
        found += usize::from(!all.is_empty());
    }
    assert!(found > 50 && longer > 15, "{found} filters, {longer} longer than the part shown");
}

#[test]
fn without_the_length_only_marks_are_detected() {
    let marks = detect_start(b"RedisBloom dump\n", None);
    assert_eq!(marks.len(), 1);
    // A length that does not fit proves nothing, like an unknown length.
    let guava = [1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 32];
    assert_eq!(detect(&guava).len(), 1);
    assert!(detect_start(&guava, None).is_empty());
    assert!(detect_start(&guava, Some(15)).is_empty());
}
