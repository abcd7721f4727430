//! Saving: the old file or the new one, never another.

use crate::common::{Folder, child, child_role, filter, same_bits};
use mayhap::{AnyFilter, DigestFunction, Layout, SecretKey};
use mayhap_store::{Error, FilterLock, LockOptions, load, save, save_new, save_set};
use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

const TEMPORARY: &str = ".a.mayhap-tmp";
const LOCK: &str = ".a.mayhap-lck";

/// Two filters of a few pages that share no key.
pub(crate) fn two_filters() -> [AnyFilter; 2] {
    [0..500, 1000..1500].map(|keys| filter(Layout::Blocked, 20 * 4096 * 8, keys))
}

#[test]
fn kill_minus_nine_a_hundred_times_leaves_the_old_or_the_new_file() {
    let filters = two_filters();
    if let Some((_, path)) = child_role() {
        loop {
            for filter in &filters {
                save(&path, filter, "").unwrap();
            }
        }
    }
    let folder = Folder::new();
    let path = &folder.file("a");
    let test = "save::kill_minus_nine_a_hundred_times_leaves_the_old_or_the_new_file";
    save(path, &filters[0], "").unwrap();
    let (mut seen, mut leftovers) = ([0, 0], 0);
    for round in 0..100u64 {
        let mut saver = child(&[], test, "saver", path).spawn().unwrap();
        // Lets it get going, as seen by the file's identity, then kills it at another moment each
        // time.
        wait_for_renames(path, 1 + round % 3, &mut saver);
        let strike = Instant::now() + Duration::from_micros(round * 37 % 1500);
        while Instant::now() < strike {
            std::hint::spin_loop();
        }
        saver.kill().unwrap();
        saver.wait().unwrap();
        let loaded = load(path, None).unwrap().filter;
        let which = filters.iter().position(|filter| same_bits(filter, &loaded)).unwrap();
        seen[which] += 1;
        let mut names = folder.names();
        assert_eq!(names.pop().as_deref(), Some("a"));
        leftovers += usize::from(names.iter().any(|name| name == TEMPORARY));
        names.retain(|name| name != TEMPORARY && name != LOCK);
        assert!(names.is_empty(), "{names:?}");
    }
    // The kills hit saves at work, and both outcomes occurred, or this tested nothing.
    assert!(seen[0] > 0 && seen[1] > 0 && leftovers > 0, "{seen:?}, {leftovers} leftovers");
    save(path, &filters[1], "").unwrap();
    assert_eq!(folder.names(), ["a"], "the next save removes the leftover");
    assert!(same_bits(&load(path, None).unwrap().filter, &filters[1]));
}

/// Waits until the file has been replaced `count` times. A disk that compilers keep busy may take
/// seconds for each, so that the limit is for a saver that hangs; one that has ended is seen.
fn wait_for_renames(path: &Path, count: u64, saver: &mut Child) {
    use std::os::unix::fs::MetadataExt;
    let identity = || {
        let metadata = fs::metadata(path).unwrap();
        (metadata.ino(), metadata.ctime_nsec())
    };
    let give_up = Instant::now() + Duration::from_secs(900);
    let (mut last, mut seen) = (identity(), 0);
    while seen < count {
        assert!(Instant::now() < give_up, "the child process saves nothing");
        let ended = saver.try_wait().unwrap();
        assert!(ended.is_none(), "the child process has ended: {ended:?}");
        let now = identity();
        seen += u64::from(now != last);
        last = now;
        std::thread::yield_now();
    }
}

#[test]
fn save_new_never_replaces_a_file() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let [first, second] = two_filters();
    save_new(path, &first, "").unwrap();
    let error = save_new(path, &second, "").unwrap_err();
    assert!(matches!(error, Error::Exists { .. }), "{error}");
    assert!(same_bits(&load(path, None).unwrap().filter, &first));
    assert_eq!(folder.names(), ["a"]);
}

#[test]
fn a_set_is_saved_as_its_kind_is_and_replaces_only_if_it_is_to() {
    let folder = Folder::new();
    let (path, other) = (&folder.file("a"), &folder.file("b"));
    let [first, second] = two_filters();
    save_set(path, &first, "trim=1\n", false).unwrap();
    save(other, &first, "trim=1\n").unwrap();
    assert!(fs::read(path).unwrap() == fs::read(other).unwrap());
    let error = save_set(path, &second, "", false).unwrap_err();
    assert!(matches!(error, Error::Exists { .. }), "{error}");
    assert!(same_bits(&load(path, None).unwrap().filter, &first));
    save_set(path, &second, "", true).unwrap();
    assert!(same_bits(&load(path, None).unwrap().filter, &second));
    let error = save_set(path, &second, &"x".repeat(2049), true).unwrap_err().to_string();
    assert!(error.contains("key_options bytes"), "{error}");
}

#[test]
fn of_many_that_save_new_at_once_exactly_one_succeeds() {
    let folder = Folder::new();
    let [first, _] = two_filters();
    for round in 0..20 {
        let path = &folder.file(&format!("{round}"));
        let save_it = || match save_new(path, &first, "") {
            Ok(()) => 1,
            Err(Error::Exists { .. } | Error::Locked { .. }) => 0,
            Err(error) => panic!("{error}"),
        };
        let saved: u32 = std::thread::scope(|scope| {
            let savers: Vec<_> = (0..4).map(|_| scope.spawn(save_it)).collect();
            savers.into_iter().map(|saver| saver.join().unwrap()).sum()
        });
        assert_eq!(saved, 1);
        load(path, None).unwrap();
    }
    assert_eq!(folder.names().len(), 20, "no temporary file is left");
}

#[test]
fn threads_that_save_to_one_path_leave_one_of_their_files() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let filters = two_filters();
    save(path, &filters[0], "").unwrap();
    std::thread::scope(|scope| {
        for filter in filters.iter().chain(&filters) {
            scope.spawn(move || {
                for _ in 0..50 {
                    match save(path, filter, "") {
                        Ok(()) | Err(Error::Locked { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                    let loaded = load(path, None).unwrap().filter;
                    let filters = two_filters();
                    assert!(filters.iter().any(|filter| same_bits(filter, &loaded)));
                }
            });
        }
    });
    assert_eq!(folder.names(), ["a"]);
}

#[test]
fn a_leftover_that_is_a_second_name_of_the_file_is_removed_without_harm() {
    let folder = Folder::new();
    let (path, leftover) = (&folder.file("a"), folder.file(TEMPORARY));
    let [first, second] = two_filters();
    save(path, &first, "").unwrap();
    fs::hard_link(path, &leftover).unwrap(); // as after a crash in `save_new`
    let opened = fs::File::open(path).unwrap();
    save(path, &second, "").unwrap();
    assert_eq!(folder.names(), ["a"]);
    assert!(same_bits(&load(path, None).unwrap().filter, &second));
    assert_eq!(opened.metadata().unwrap().len(), load(path, None).unwrap().header.file_bytes());
}

#[test]
fn a_save_that_is_going_on_is_not_disturbed() {
    let folder = Folder::new();
    let path = &folder.file("a");
    let [first, _] = two_filters();
    let lock = FilterLock::take(path, &mut LockOptions::new("import")).unwrap();
    let error = save(path, &first, "").unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    assert_eq!(folder.names(), [LOCK]);
    drop(lock);
    save(path, &first, "").unwrap();
    assert_eq!(folder.names(), ["a"]);
}

#[cfg(unix)]
#[test]
fn permissions_are_kept_and_keyed_filters_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let [plain, _] = two_filters();
    let keyed = AnyFilter::builder()
        .expected_items(10)
        .target_fpp(0.01)
        .digest_function(DigestFunction::sip13(SecretKey::new([1; 16])))
        .build()
        .unwrap();
    let path = &folder.file("keyed");
    save(path, &keyed, "").unwrap();
    assert_eq!(mode(path), 0o600);
    let path = &folder.file("plain");
    save(path, &plain, "").unwrap();
    fs::write(folder.file("ordinary"), "").unwrap();
    assert_eq!(mode(path), mode(&folder.file("ordinary")));
    for kept in [0o640, 0o600, 0o444] {
        fs::set_permissions(path, fs::Permissions::from_mode(kept)).unwrap();
        save(path, &plain, "").unwrap();
        assert_eq!(mode(path), kept);
    }
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_stays_and_its_target_is_replaced() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    let [first, second] = two_filters();
    let (link, chain) = (&folder.file("link"), &folder.file("chain"));
    fs::create_dir(folder.file("far")).unwrap();
    let target = &folder.file("far/target");
    symlink("far/target", link).unwrap();
    symlink(link, chain).unwrap();
    save(chain, &first, "").unwrap(); // the target does not exist yet
    assert!(same_bits(&load(target, None).unwrap().filter, &first));
    save(link, &second, "").unwrap();
    assert!(same_bits(&load(target, None).unwrap().filter, &second));
    assert!(fs::symlink_metadata(link).unwrap().is_symlink());
    assert!(save_new(link, &first, "").is_err());
    let circle = &folder.file("circle");
    symlink("circle", circle).unwrap();
    assert!(save(circle, &first, "").unwrap_err().to_string().contains("symbolic links"));
}

#[test]
fn a_missing_folder_is_named() {
    let folder = Folder::new();
    let text = save(&folder.file("no/a"), &two_filters()[0], "").unwrap_err().to_string();
    assert!(text.contains("cannot create") && text.contains("no/"), "{text}");
}
