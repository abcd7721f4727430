//! Live filters: recorded keys are there again.

use crate::common::{Folder, digest, filter, load_live};
use mayhap::{AnyFilter, Digest, DigestFunction, Layout, SecretKey};
use mayhap_store::{
    Error, LiveFilter, LogFound, Recovery, Snapshot, load, log_path, read_header, save,
};
use std::fs;
use std::path::Path;

fn log_of(path: &Path) -> LogFound {
    Snapshot::open(path).unwrap().log()
}

fn empty() -> AnyFilter {
    filter(Layout::Standard, 1 << 16, 0..0)
}

fn insert_and_record(live: &mut LiveFilter, keys: std::ops::Range<u64>) {
    let digests: Vec<Digest> = keys.map(digest).collect();
    for &digest in &digests {
        live.filter_mut().insert_digest(digest);
    }
    live.record(&digests).unwrap();
}

#[test]
fn what_was_recorded_survives_without_a_checkpoint() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let mut live = LiveFilter::create(path, empty(), "trim=1\n").unwrap();
    insert_and_record(&mut live, 0..100);
    live.checkpoint().unwrap();
    assert_eq!((live.log_bytes(), folder.names()), (0, vec![".a.mayhap-lck".into(), "a".into()]));
    insert_and_record(&mut live, 90..150);
    live.sync().unwrap();
    let expected = live.filter().blocks().to_vec();
    drop(live);
    assert_eq!(folder.names(), ["a", "a.log"]);
    assert_eq!(read_header(path).unwrap().inserted_items(), 100);
    // The file alone is not the filter, and is not taken for it.
    assert!(matches!(load(path, None), Err(Error::UnreadLog { log_bytes: 536, .. })));
    assert_eq!(log_of(path), LogFound::Records { bytes: 56 + 60 * 8 });
    for _ in 0..3 {
        // Replay changes neither file, so that it can be repeated.
        let (live, recovery) = LiveFilter::open(path, None).unwrap();
        assert_eq!(live.filter().blocks(), expected);
        assert_eq!(live.filter().inserted_items(), 150);
        assert_eq!(live.key_options(), "trim=1\n");
        let counts = Recovery { replayed_digests: 60, new_items: 50, ..Recovery::default() };
        assert_eq!(recovery, counts);
        let (loaded, recovery) = load_live(path, None).unwrap(); // not stopped by the lock
        assert_eq!(loaded.filter.blocks(), expected);
        assert_eq!(recovery, counts);
    }
    let (mut live, _) = LiveFilter::open(path, None).unwrap();
    live.checkpoint().unwrap();
    drop(live);
    assert_eq!((log_of(path), folder.names()), (LogFound::None, vec!["a".to_owned()]));
    assert_eq!(load(path, None).unwrap().filter.blocks(), expected);
}

#[test]
fn a_log_that_a_crash_in_a_checkpoint_left_is_ignored_and_removed() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let mut live = LiveFilter::create(path, empty(), "").unwrap();
    insert_and_record(&mut live, 0..100);
    let log = fs::read(folder.file("a.log")).unwrap();
    live.checkpoint().unwrap();
    let checkpoint = live.filter().blocks().to_vec();
    drop(live);
    fs::write(folder.file("a.log"), log).unwrap(); // the log that the crash had left
    assert_eq!(log_of(path), LogFound::Stale);
    assert_eq!(load(path, None).unwrap().filter.blocks(), checkpoint);
    let (live, recovery) = LiveFilter::open(path, None).unwrap();
    assert_eq!(recovery, Recovery::default());
    assert_eq!(live.filter().blocks(), checkpoint);
    assert_eq!(live.filter().inserted_items(), 100);
    drop(live);
    assert_eq!(folder.names(), ["a"]);
}

#[test]
fn more_than_a_log_is_worth_saves_the_filter() {
    const MAX_PENDING: u64 = 1 << 18;
    for (keys, has_log) in [(MAX_PENDING, true), (MAX_PENDING + 1, false)] {
        let folder = Folder::new();
        let path = &folder.file("a");
        let mut live = LiveFilter::create(path, empty(), "").unwrap();
        insert_and_record(&mut live, 0..keys);
        assert_eq!(matches!(log_of(path), LogFound::Records { .. }), has_log);
        let expected = live.filter().blocks().to_vec();
        let items = live.filter().inserted_items();
        drop(live); // without a checkpoint
        let (loaded, _) = load_live(path, None).unwrap();
        assert_eq!(loaded.filter.blocks(), expected);
        assert_eq!(loaded.filter.inserted_items(), items);
    }
}

#[test]
fn a_state_is_open_once_and_queried_by_all() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let live = LiveFilter::create(path, empty(), "").unwrap();
    let text = LiveFilter::open(path, None).unwrap_err().to_string();
    assert!(text.contains("is being changed by process"), "{text}");
    load_live(path, None).unwrap();
    drop(live);
    LiveFilter::open(path, None).unwrap();
}

#[test]
fn create_replaces_nothing() {
    let folder = Folder::new();
    let path = &folder.file("a");
    save(path, &filter(Layout::Standard, 1 << 16, 0..5), "").unwrap();
    assert!(matches!(LiveFilter::create(path, empty(), ""), Err(Error::Exists { .. })));
    assert_eq!(folder.names(), ["a"]);
    // An ordinary filter becomes a live one by opening it.
    let (mut live, _) = LiveFilter::open(path, None).unwrap();
    assert!(live.filter().contains(&3u64));
    insert_and_record(&mut live, 10..20);
    drop(live);
    // Recorded digests are not discarded because the checkpoint is missing.
    fs::remove_file(path).unwrap();
    assert!(matches!(LiveFilter::create(path, empty(), ""), Err(Error::OrphanLog { .. })));
    assert!(LiveFilter::open(path, None).is_err());
    assert_eq!(folder.names(), ["a.log"]);
    fs::remove_file(folder.file("a.log")).unwrap();
    // Another program's file of that name is not touched, and stops only callers that need the
    // name.
    fs::write(folder.file("a.log"), "my own notes\n").unwrap();
    assert!(matches!(LiveFilter::create(path, empty(), ""), Err(Error::NotALog { .. })));
    save(path, &empty(), "").unwrap();
    assert!(matches!(LiveFilter::open(path, None), Err(Error::NotALog { .. })));
    assert_eq!(load_live(path, None).unwrap().1, Recovery::default());
    assert_eq!(log_of(path), LogFound::NotALog);
    assert_eq!(fs::read(folder.file("a.log")).unwrap(), b"my own notes\n");
}

#[test]
fn a_missing_checkpoint_leaves_no_log_behind() {
    let folder = Folder::new();
    assert!(LiveFilter::open(&folder.file("a"), None).is_err());
    assert!(folder.names().is_empty());
}

#[test]
fn a_live_filter_can_be_replaced_by_a_larger_one_with_the_same_digests() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let mut live = LiveFilter::create(path, empty(), "").unwrap();
    insert_and_record(&mut live, 0..50);
    *live.filter_mut() = filter(Layout::Blocked, 1 << 18, 0..50);
    live.checkpoint().unwrap();
    insert_and_record(&mut live, 50..60);
    let larger = live.filter().blocks().to_vec();
    *live.filter_mut() =
        AnyFilter::builder().expected_items(10).target_fpp(0.01).seed(9).build().unwrap();
    assert!(matches!(live.checkpoint(), Err(Error::LogMismatch { .. })));
    drop(live);
    let (live, recovery) = LiveFilter::open(path, None).unwrap();
    assert_eq!(live.filter().blocks(), larger);
    assert_eq!((recovery.replayed_digests, recovery.new_items), (10, 10));
}

#[cfg(unix)]
#[test]
fn the_log_is_as_private_as_its_filter_and_lies_beside_it() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new();
    let mode = |name: &str| fs::metadata(folder.file(name)).unwrap().permissions().mode() & 0o777;
    let key = SecretKey::new([5; 16]);
    let keyed = AnyFilter::builder()
        .expected_items(10)
        .target_fpp(0.01)
        .digest_function(DigestFunction::sip13(key))
        .build()
        .unwrap();
    let mut live = LiveFilter::create(&folder.file("keyed"), keyed, "").unwrap();
    live.record(&[digest(1)]).unwrap();
    drop(live);
    assert_eq!((mode("keyed"), mode("keyed.log")), (0o600, 0o600));
    LiveFilter::open(&folder.file("keyed"), Some(key)).unwrap();
    assert!(LiveFilter::open(&folder.file("keyed"), None).is_err());
    save(&folder.file("b"), &empty(), "").unwrap();
    fs::set_permissions(folder.file("b"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(folder.file("links")).unwrap();
    symlink("../b", folder.file("links/b")).unwrap();
    let (mut live, _) = LiveFilter::open(&folder.file("links/b"), None).unwrap();
    live.record(&[digest(1)]).unwrap();
    assert_eq!(mode("b.log"), 0o640);
    // Through either name it is the same state.
    assert!(matches!(LiveFilter::open(&folder.file("b"), None), Err(Error::Locked { .. })));
    drop(live);
    assert_eq!(log_path(&folder.file("b")).unwrap(), folder.file("b.log"));
}

/// As when `cp` overwrites a state whose log stays: the epochs are equal, so that only the id tells
/// them apart.
#[test]
fn a_state_does_not_get_the_log_of_another_one_in_whose_place_it_is() {
    let folder = Folder::new();
    let (path, other) = (&folder.file("a"), &folder.file("b"));
    for (path, keys) in [(path, 0..50), (other, 100..150)] {
        let mut live = LiveFilter::create(path, empty(), "").unwrap();
        insert_and_record(&mut live, keys);
    }
    let epoch = |path: &Path| read_header(path).unwrap().identity().unwrap().epoch;
    assert_eq!(epoch(path), epoch(other));
    let theirs = read_header(path).unwrap().identity().unwrap().id;
    fs::copy(other, path).unwrap();
    assert_eq!(log_of(path), LogFound::Missing { epoch: epoch(path) });
    assert!(matches!(load_live(path, None), Err(Error::MissingLog { .. })));
    // A plain file has no log, and the error names the log that is not its own.
    fs::remove_file(path).unwrap();
    save(path, &empty(), "").unwrap();
    assert_eq!(log_of(path), LogFound::Foreign { id: Some(theirs) });
}
