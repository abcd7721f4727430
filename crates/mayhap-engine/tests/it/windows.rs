//! Windows created by the command: pushed, in `import/`, and their times.

use crate::keyspace::{KEY, keyspace, numbered, turn, with_words};
use mayhap::native::{HEADER_BYTES, Header, paged};
use mayhap::{DigestFunction, WindowBloomFilter};
use mayhap_engine::keyspace::{
    Files, Hash, InsertError, Keyspace, LoadError, Shape, Spec, Unreadable,
};
use std::fs;
use std::path::Path;

/// Milliseconds since 1970, in the year 2026.
const NOW: u64 = 1_780_000_000_000;
const HOUR: u64 = 3_600_000;
/// The key options that the command writes into windows of time.
const CLOCK: &str = "crlf=strip\nclock=unix-ms\n";

/// A file of a window of an hour, or of 1,000 keys, with ten keys inserted at time `at`.
fn file(path: &Path, span: Option<u64>, at: u64, options: &str) -> Vec<u8> {
    let builder = WindowBloomFilter::builder().target_fpp(1e-6);
    let builder = match span {
        Some(span) => builder.window_time(span, 1_000),
        None => builder.window_items(1_000),
    };
    let mut window = builder.digest_function(DigestFunction::sip13(KEY)).build().unwrap();
    if at > 0 {
        for key in numbered(0..10) {
            assert!(window.insert_at(&key[..], at));
        }
    }
    mayhap_store::save(path, &window, options).unwrap();
    fs::read(path).unwrap()
}

/// As `BF.LOADCHUNK` and an upload do it.
fn load(keyspace: &Keyspace, bytes: &[u8], now: u64) -> Result<(), LoadError> {
    keyspace.load_chunk(b"w", 1, &bytes[..HEADER_BYTES], false, now, None)?;
    let cursor = 1 + (bytes.len() - HEADER_BYTES).cast_signed() as i64;
    keyspace.load_chunk(b"w", cursor, &bytes[HEADER_BYTES..], false, now, None).map(drop)
}

/// How many of the ten keys are present, or why that is unknown.
fn found(keyspace: &Keyspace, now: u64) -> Result<usize, Unreadable> {
    let entry = keyspace.get(b"w", now).unwrap();
    let mut turn = turn();
    turn.now = now;
    with_words(&numbered(0..10), |words| entry.contains_many(words, &mut turn));
    entry.check_file().map(|()| turn.answers.count_ones())
}

#[test]
fn a_window_of_the_command_is_served_from_any_source() {
    for is_pushed in [true, false] {
        for (span, options) in [(Some(HOUR), CLOCK), (Some(HOUR), ""), (None, "crlf=strip\n")] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("w.mayhap");
            let bytes = file(&path, span, NOW, options);
            let (keyspace, what) = (keyspace(), (is_pushed, span, options));
            if is_pushed {
                load(&keyspace, &bytes, NOW + 1_000).unwrap();
            } else {
                Files::serve_folder(&keyspace, folder.path()).unwrap();
                assert!(
                    keyspace.files().troubles().is_empty(),
                    "{:?}",
                    keyspace.files().troubles()
                );
            }
            assert_eq!(found(&keyspace, NOW + 1_000), Ok(10), "{what:?}");
            let entry = keyspace.get(b"w", NOW).unwrap();
            let (info, later) = (entry.info(), NOW + HOUR / 2);
            assert_eq!((info.kind, info.read_only), ("window", !is_pushed));
            let ages: Vec<_> =
                with_words(&numbered(9..11), |words| entry.ages(words, later).unwrap().collect());
            assert!(ages[1].is_none(), "{what:?}");
            let age = ages[0].unwrap();
            if span.is_some() {
                assert!((age.at_least..=age.at_most).contains(&(HOUR / 2)), "{what:?}: {age:?}");
                assert_eq!(found(&keyspace, NOW + HOUR * 9 / 8 + 1), Ok(0), "{what:?}");
                // A file is queried, and never advanced: a query for an earlier time is right.
                let again = found(&keyspace, NOW + 1_000).unwrap();
                assert!(is_pushed || again == 10, "{what:?}");
            } else {
                assert_eq!(age.at_least, 0, "{what:?}");
            }
            let mut turn = turn();
            turn.now = later;
            let added = entry.insert(b"new", &mut turn);
            assert_eq!(added, if is_pushed { Ok(true) } else { Err(InsertError::ReadOnly) });
        }
    }
}

#[test]
fn a_window_with_times_in_another_unit_is_refused_for_that() {
    for at in [1_780_000_000, 1_780_000_000_000_000, 5] {
        let folder = tempfile::tempdir().unwrap();
        let bytes = file(&folder.path().join("w.mayhap"), Some(HOUR), at, "crlf=strip\n");
        let keyspace = keyspace();
        let pushed = load(&keyspace, &bytes, NOW).unwrap_err();
        let LoadError::Bad(why) = pushed else { panic!("{pushed:?}") };
        assert!(why.to_string().contains("milliseconds since 1970"), "{at}: {why}");
        Files::serve_folder(&keyspace, folder.path()).unwrap();
        assert!(found(&keyspace, NOW).is_err(), "{at}");
        let troubles = keyspace.files().troubles();
        assert!(troubles[0].problem.contains("milliseconds since 1970"), "{at}: {troubles:?}");
    }
    // One without times does not state their unit, and uses the server's.
    let folder = tempfile::tempdir().unwrap();
    let bytes = file(&folder.path().join("w.mayhap"), Some(HOUR), 0, "");
    load(&keyspace(), &bytes, NOW).unwrap();
}

#[test]
fn key_options_that_the_server_cannot_carry_out_are_refused_for_windows_too() {
    for options in ["clock=unix-ms\nlower=ascii\n", "field=3\n"] {
        let folder = tempfile::tempdir().unwrap();
        let bytes = file(&folder.path().join("w.mayhap"), Some(HOUR), NOW, options);
        let refused = load(&keyspace(), &bytes, NOW).unwrap_err();
        let LoadError::Bad(why) = refused else { panic!("{refused:?}") };
        assert!(why.to_string().contains("extracted from lines"), "{options}: {why}");
    }
}

/// So that the command, which gets it by `pull` or a download, knows its times and continues with
/// them.
#[test]
fn the_file_of_a_window_of_the_server_states_the_unit_of_its_times() {
    for (time_ms, says) in [(HOUR, true), (0, false)] {
        let keyspace = keyspace();
        let shape = Shape::Window { items: 1_000, time_ms, target_fpp: 1e-6, refresh: true };
        let spec = Spec { shape, hash: Hash::Keyed };
        let entry = keyspace.create(b"w", spec, NOW, None).unwrap();
        let (next, header) = keyspace.dump(&entry, 0, NOW).unwrap();
        assert_eq!(next, 1);
        let header = Header::decode(&paged(&header).unwrap()).unwrap();
        assert_eq!(header.key_options().lines().any(|it| it == "clock=unix-ms"), says);
    }
}
