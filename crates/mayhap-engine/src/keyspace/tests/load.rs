//! Dumps that come in and go out in chunks, over time.

use crate::Work;
use crate::keyspace::{BadFilter, CreateError, Keyspace, LoadError, Options, Spec, Upkeep};
use mayhap::native::encode_short;
use mayhap::{AnyFilter, Layout, SecretKey};

const MINUTE: u64 = 60_000;

fn keyspace() -> Keyspace {
    Keyspace::new(Options::new(SecretKey::new([7; 16])))
}

/// A filter `a` with a key, and its dump: the header, and the rest in ten parts with their cursors.
fn parts(keyspace: &Keyspace) -> (Vec<u8>, Vec<(i64, Vec<u8>)>) {
    let entry = keyspace.create(b"a", Spec::fixed(100_000, 0.01), 1, None).unwrap();
    entry.insert(b"key", &mut Work::default()).unwrap();
    let (_, header) = keyspace.dump(&entry, 0, 1).unwrap();
    let (_, body) = keyspace.dump(&entry, 1, 1).unwrap();
    let mut cursor = 1;
    let part = |part: &[u8]| {
        cursor += (part.len() as u64).cast_signed();
        (cursor, part.to_vec())
    };
    let parts = body.chunks(body.len().div_ceil(10)).map(part).collect();
    (header, parts)
}

/// A chunk every 59 seconds, and whoever looks for idle ones looks in between.
#[test]
fn an_upload_that_goes_on_is_kept_however_slow_it_is_and_one_that_stops_is_not() {
    let keyspace = keyspace();
    let (header, parts) = parts(&keyspace);
    for stops_at in [Some(0), Some(5), None] {
        let mut now = 1;
        keyspace.load_chunk(b"b", 1, &header, false, now, None).unwrap();
        for (i, (cursor, bytes)) in parts.iter().enumerate() {
            Upkeep::sweep(&keyspace, 0, 10, now + MINUTE, None);
            if stops_at == Some(i) {
                Upkeep::sweep(&keyspace, 0, 10, now + MINUTE + 1, None);
                let refused =
                    keyspace.load_chunk(b"b", *cursor, bytes, false, now, None).unwrap_err();
                assert_eq!(refused, LoadError::NotFound, "{stops_at:?}");
                break;
            }
            now += MINUTE - 1_000;
            let done = keyspace.load_chunk(b"b", *cursor, bytes, false, now, None).unwrap();
            assert_eq!(done.is_some(), i + 1 == parts.len(), "{stops_at:?}");
        }
        assert_eq!(keyspace.get(b"b", now).is_some(), stops_at.is_none());
    }
    assert!(keyspace.get(b"b", 1).unwrap().contains(b"key", 1));
}

#[test]
fn a_download_that_goes_on_is_kept_however_slow_it_is() {
    let keyspace = keyspace();
    let entry = keyspace.create(b"a", Spec::fixed(2_000_000, 0.01), 1, None).unwrap();
    let (mut now, mut cursor, mut chunks) = (1, 0, 0);
    loop {
        let (next, bytes) = keyspace.dump(&entry, cursor, now).unwrap();
        if next == 0 {
            break;
        }
        assert!(!bytes.is_empty());
        Upkeep::sweep(&keyspace, 0, 10, now + MINUTE, None);
        (now, cursor, chunks) = (now + MINUTE - 1_000, next, chunks + 1);
    }
    assert!(chunks > 4, "{chunks}");
}

/// Of 64 uploads, the one whose last chunk is the oldest makes room, if that is 5 seconds ago.
#[test]
fn the_upload_that_waits_the_longest_makes_room_and_one_that_went_on_does_not() {
    let keyspace = keyspace();
    let (header, parts) = parts(&keyspace);
    let begin =
        |name: &str, now| keyspace.load_chunk(name.as_bytes(), 1, &header, false, now, None);
    let go_on = |name: &str, i: usize, now| {
        let (cursor, bytes) = &parts[i];
        keyspace.load_chunk(name.as_bytes(), *cursor, bytes, false, now, None)
    };
    for i in 0..64 {
        begin(&i.to_string(), 1_000 + i).unwrap();
    }
    go_on("0", 0, 1_100).unwrap();
    assert!(matches!(
        begin("more", 6_000),
        Err(LoadError::Bad(BadFilter::TooManyDumps { limit: 64 }))
    ));
    begin("more", 6_001).unwrap();
    assert_eq!(go_on("1", 0, 6_001).unwrap_err(), LoadError::NotFound);
    for (name, i) in [("0", 1), ("2", 0), ("63", 0), ("more", 0)] {
        assert!(go_on(name, i, 6_001).unwrap().is_none(), "{name}");
    }
    // Its own name needs no room of another.
    begin("0", 6_002).unwrap();
    assert!(go_on("3", 0, 6_002).unwrap().is_none());
}

#[test]
fn only_the_last_chunk_ends_a_load_and_tells_the_bytes_of_the_whole() {
    let keyspace = keyspace();
    let (header, parts) = parts(&keyspace);
    let whole = header.len() + parts.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
    assert_eq!(keyspace.ends_load(b"b", &parts[0].1), None);
    keyspace.load_chunk(b"b", 1, &header, false, 1, None).unwrap();
    let used = keyspace.used_bytes();
    let mut came = 0;
    for (i, (cursor, bytes)) in parts.iter().enumerate() {
        let is_last = i + 1 == parts.len();
        let ends = keyspace.ends_load(b"b", bytes);
        assert_eq!(ends.is_some(), is_last, "part {i}");
        assert!(ends.is_none_or(|bytes| bytes.abs_diff(whole as u64) <= 4_096), "{ends:?} {whole}");
        assert_eq!(keyspace.ends_load(b"b", &bytes[1..]), None);
        assert_eq!(keyspace.used_bytes(), used + came, "what came is charged");
        keyspace.load_chunk(b"b", *cursor, bytes, false, 1, None).unwrap();
        came += bytes.len() as u64;
    }
    // The chunks are given back, and the filter is charged as the one that it was dumped from.
    let [a, b] = [b"a", b"b"].map(|name| keyspace.get(name, 1).unwrap().num_bytes());
    assert_eq!(a, b);
    drop(keyspace.remove(b"b", 1, None));
    let of_a = keyspace.used_bytes();
    keyspace.remove(b"a", 1, None).unwrap();
    assert!(of_a >= a && keyspace.used_bytes() == 0, "{of_a} {a}");
}

#[test]
fn a_name_that_is_taken_is_loaded_over_only_where_that_was_asked_for() {
    let keyspace = keyspace();
    let (header, parts) = parts(&keyspace);
    let other = keyspace.create(b"b", Spec::fixed(100, 0.1), 1, None).unwrap();
    assert_eq!(
        keyspace.load_chunk(b"b", 1, &header, false, 1, None).unwrap_err(),
        LoadError::Exists
    );
    keyspace.load_chunk(b"b", 1, &header, true, 1, None).unwrap();
    for (cursor, bytes) in &parts {
        assert_eq!(keyspace.get(b"b", 1).unwrap().id, other.id, "the old one until then");
        keyspace.load_chunk(b"b", *cursor, bytes, true, 1, None).unwrap();
    }
    assert!(keyspace.get(b"b", 1).unwrap().contains(b"key", 1));
    // A filter that was created while another one was loaded stays.
    keyspace.load_chunk(b"c", 1, &header, false, 1, None).unwrap();
    let (last, rest) = parts.split_last().unwrap();
    for (cursor, bytes) in rest {
        keyspace.load_chunk(b"c", *cursor, bytes, false, 1, None).unwrap();
    }
    let other = keyspace.create(b"c", Spec::fixed(100, 0.1), 1, None).unwrap();
    let refused = keyspace.load_chunk(b"c", last.0, &last.1, false, 1, None).unwrap_err();
    assert_eq!(refused, LoadError::Exists);
    assert_eq!(keyspace.get(b"c", 1).unwrap().id, other.id);
}

/// A filter of which half fits into what is left is refused by its header.
#[test]
fn a_load_for_which_there_is_no_room_is_refused_at_its_header() {
    let (header, parts) = parts(&keyspace());
    let whole: usize = header.len() + parts.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
    let options = Options { max_memory: whole as u64 / 2, ..Options::new(SecretKey::new([7; 16])) };
    let small = Keyspace::new(options);
    let refused = small.load_chunk(b"b", 1, &header, false, 1, None).unwrap_err();
    let LoadError::Create(CreateError::TooLarge(too_large)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!((too_large.limit, too_large.setting), (whole as u64 / 2, "max_memory"));
    assert!(too_large.requested > too_large.limit && small.used_bytes() == 0, "{too_large}");
}

/// It is smaller than a header: there is nothing to wait for.
#[test]
fn a_short_file_is_loaded_with_one_chunk_or_refused() {
    let keyspace = keyspace();
    for layout in [Layout::Standard, Layout::Blocked] {
        let builder = AnyFilter::builder().layout(layout).expected_items(100).target_fpp(0.01);
        let mut filter = builder.build().unwrap();
        filter.insert("key");
        let short = encode_short(&filter, "").unwrap();
        for bit in 0..short.len() * 8 {
            let mut damaged = short.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let refused = keyspace.load_chunk(b"b", 1, &damaged, true, 1, None);
            assert!(refused.is_err(), "bit {bit}");
        }
        let loaded = keyspace.load_chunk(b"b", 1, &short, true, 1, None).unwrap().unwrap();
        assert!(loaded.contains(b"key", 1) && !loaded.contains(b"other", 1));
        let exists = keyspace.load_chunk(b"b", 1, &short, false, 1, None);
        assert!(exists.is_err());
        let again = keyspace.get(b"b", 1).unwrap();
        assert!(again.contains(b"key", 1) && again.items() == 1);
    }
}
