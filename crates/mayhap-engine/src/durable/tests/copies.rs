//! Copies of folders, and folders without a key: on the file system.

use super::model::Model;
use crate::durable::{DataFolder, Error, Log, Operation, Options, back_up};
use mayhap::DigestFunction;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// A folder with a key of its own, with filters `a` and `b` of ids 1 and 2 in its log, followed by
/// these operations.
fn make(path: &Path, after: &[Operation<'_>]) {
    let folder = DataFolder::open(path).unwrap();
    let options = Options::new(DigestFunction::sip13(folder.secret_key().unwrap()));
    let model = Model::default();
    let (log, _) = Log::open(folder, options, &model, &|_| {}).unwrap();
    create(&log, 1, b"a");
    create(&log, 2, b"b");
    for operation in after {
        drop(log.now(operation).unwrap());
    }
    log.sync().unwrap();
}

fn create(log: &Arc<Log>, id: u64, name: &[u8]) {
    drop(log.now(&Operation::Create { id, name, spec: b"", expires_at: 0 }).unwrap());
}

fn files(path: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for folder in ["", "log", "filters"] {
        for entry in fs::read_dir(path.join(folder)).unwrap().map(Result::unwrap) {
            all.push(format!("{folder}/{}", entry.file_name().display()));
        }
    }
    all.sort();
    all
}

#[test]
fn a_folder_without_its_key_never_gets_another_one() {
    let parent = tempfile::tempdir().unwrap();
    let path = &parent.path().join("data");
    make(path, &[]);
    let key = DataFolder::open(path).unwrap().secret_key().unwrap();
    fs::remove_file(path.join("key")).unwrap();
    let before = files(path);
    let error = DataFolder::open(path).unwrap().secret_key().unwrap_err();
    assert!(matches!(error, Error::NoKey { id, .. } if id == key.id()), "{error:?}");
    let said = error.to_string();
    for part in [&*format!("{:016x}", key.id()), "key: missing"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(files(path), before);
    // Nothing states which key it needs, and none is created for it.
    fs::remove_file(path.join("manifest")).unwrap();
    let before = files(path);
    let error = DataFolder::open(path).unwrap().secret_key().unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error:?}");
    assert_eq!(files(path), before);
    fs::remove_dir_all(path.join("log")).unwrap();
    fs::write(path.join("filters/1.pack"), "").unwrap();
    let error = DataFolder::open(path).unwrap().secret_key().unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error:?}");
    assert!(!path.join("key").exists());
}

#[test]
fn a_backup_counts_the_filters_that_are_there_after_its_log() {
    let third = Operation::Create { id: 3, name: b"c", spec: b"", expires_at: 0 };
    for (after, filters) in [
        (&[][..], 2),
        (&[third], 3),
        (&[third, Operation::Remove { id: 1 }], 2),
        (&[third, Operation::Rename { id: 3, name: b"b" }], 2),
        (&[third, Operation::Rename { id: 3, name: b"c" }], 3),
        (&[Operation::Create { id: 3, name: b"b", spec: b"", expires_at: 0 }], 2),
        (&[Operation::Clear, third], 1),
    ] {
        let parent = tempfile::tempdir().unwrap();
        let (path, copy) = (&parent.path().join("data"), &parent.path().join("copy"));
        make(path, after);
        let backup = back_up(path, copy, false).unwrap();
        assert_eq!(backup.filters, filters, "{after:?}");
        let key = DataFolder::open(path).unwrap().secret_key().unwrap();
        assert_eq!((backup.has_key, backup.key_id), (false, key.id()));
    }
}

/// The remains of a copy that was cut short do not affect the next one.
#[test]
fn a_copy_is_begun_again_where_one_was_cut_short() {
    let parent = tempfile::tempdir().unwrap();
    let (path, copy) = (&parent.path().join("data"), &parent.path().join("copy"));
    make(path, &[]);
    fs::create_dir_all(copy.join("log")).unwrap();
    fs::create_dir_all(copy.join("filters")).unwrap();
    for name in ["incomplete", "key", "manifest.tmp", "log/7.log", "filters/9.pack"] {
        fs::write(copy.join(name), "of another one").unwrap();
    }
    let Err(error) = DataFolder::open(copy) else { panic!("it opened") };
    assert!(matches!(error, Error::Incomplete { .. }), "{error:?}");
    assert!(!copy.join("lock").exists());
    back_up(path, copy, true).unwrap();
    assert_eq!(files(copy), files(path));
    let Err(error) = back_up(path, copy, true) else { panic!("it copied") };
    assert!(error.to_string().contains("it has files already"), "{error}");
}
