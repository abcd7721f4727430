//! The log of a large filter stays when a session ends, until writing an image pays.

use crate::common::{Folder, digest, filter, load_live};
use mayhap::native::{Header, Native};
use mayhap::{AnyFilter, Block, Layout};
use mayhap_store::{
    Error, Finished, Image, LockOptions, Memory, Operation, Record, Session, SessionOptions, apply,
    log_path, save,
};
use std::fs;
use std::path::Path;

struct Seen(AnyFilter);

impl Memory for Seen {
    fn load(&mut self, image: &Image) -> Result<(), Error> {
        self.0 = image.load(None, |_, _| {})?;
        Ok(())
    }

    fn apply(&mut self, record: &Record<'_>) -> Result<u64, mayhap::Error> {
        apply(&mut self.0, record)
    }

    fn header(&mut self, key_options: &str) -> Header {
        Header::of(&self.0, key_options)
    }

    fn segments(&self) -> Vec<&[Block]> {
        self.0.segments()
    }
}

/// A session that inserts these keys, and its end.
fn insert(path: &Path, keys: std::ops::Range<u64>) -> Finished {
    let options = SessionOptions::new(LockOptions::new("test")).keeps_log_from(64 << 10);
    let opening = Session::open(path, options).unwrap();
    let mut seen = Seen(opening.image().load(None, |_, _| {}).unwrap());
    let (mut session, _) = opening.follow(&mut seen).unwrap();
    let new: Vec<_> = keys.map(digest).filter(|&digest| seen.0.insert_digest(digest)).collect();
    session.note(Operation::Insert, 0, new);
    session.finish(&mut seen).unwrap()
}

fn has_all(path: &Path, keys: u64) -> bool {
    let filter = load_live(path, None).unwrap().0.filter;
    (0..keys).all(|key| filter.contains_digest(digest(key)))
}

#[test]
fn a_large_filter_is_not_written_for_a_few_keys_and_has_them_all_the_same() {
    let folder = Folder::new();
    let path = &folder.file("a");
    // 64 KiB; the log of 500 keys is a sixteenth of that.
    save(path, &filter(Layout::Blocked, 8 << 16, 0..10), "").unwrap();
    let body = |path: &Path| fs::read(path).unwrap()[4096..].to_vec();
    let before = body(path);
    for keys in [0..10, 10..11, 11..200, 200..201] {
        let expected = if keys.start == 0 { Finished::Unchanged } else { Finished::Recorded };
        let end = keys.end;
        assert_eq!(insert(path, keys), expected);
        assert!(has_all(path, end) && body(path) == before);
    }
    assert!(log_path(path).unwrap().exists());
    assert_eq!(insert(path, 201..900), Finished::Saved, "the log is as long as it pays");
    assert!(has_all(path, 900) && body(path) != before);
    assert!(!log_path(path).unwrap().exists());
    assert_eq!(insert(path, 900..901), Finished::Recorded, "from then on anew");
    assert!(has_all(path, 901));
}

#[test]
fn a_small_filter_is_written_at_the_end_of_each_session() {
    let folder = Folder::new();
    let path = &folder.file("a");
    save(path, &filter(Layout::Blocked, 8 << 15, 0..10), "").unwrap();
    assert_eq!(insert(path, 10..11), Finished::Saved);
    assert!(has_all(path, 11) && !log_path(path).unwrap().exists());
}
