//! Several lists, one after another.

use mayhap::{Digest, DigestFunction};
use mayhap_lists::{Error, KeyOptions, LineReader, Note, Reading, Source};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The output of a reader of these files: keys, the numbers of the lines, notes.
fn read(folder: &Path, lists: &[&[u8]], reading: Reading) -> (Vec<Vec<u8>>, Vec<u64>, Vec<Note>) {
    let paths: Vec<_> = (0..lists.len()).map(|i| folder.join(i.to_string())).collect();
    for (path, list) in paths.iter().zip(lists) {
        std::fs::write(path, list).unwrap();
    }
    let options = KeyOptions::default();
    let sources = Source::from_paths(&paths);
    let mut reader = LineReader::new(sources, &options, reading, None).unwrap();
    let (notes, function) = (Arc::new(Mutex::new(Vec::new())), DigestFunction::default());
    let ours = Arc::clone(&notes);
    reader.on_note(move |note| ours.lock().unwrap().push(note));
    reader.digest_by(function);
    let (mut keys, mut lines, mut digests) = (Vec::new(), Vec::new(), Vec::<Digest>::new());
    while let Some(batch) = reader.next_batch(|| Ok::<(), Error>(())).unwrap() {
        lines.extend((0..batch.len() as u64).map(|i| batch.first_line() + i));
        let mut of_batch = Vec::new();
        batch.digest_into(&function, &mut of_batch);
        digests.extend(of_batch);
        keys.extend(batch.keys().map(<[u8]>::to_vec));
    }
    let expected: Vec<Digest> = keys.iter().map(|key| function.digest(key)).collect();
    assert_eq!(digests, expected);
    assert_eq!(reader.lines(), keys.len() as u64);
    let notes = notes.lock().unwrap().clone();
    (keys, lines, notes)
}

/// Each of them may begin with a mark, and its last line needs no end.
#[test]
fn each_list_begins_with_its_own_mark_and_a_new_line() {
    let folder = tempfile::tempdir().unwrap();
    let lists: [&[u8]; 5] =
        [b"\xEF\xBB\xBFa\nb", b"\xEF\xBB\xBFc\n", b"d\n\xEF\xBB\xBFe", b"", b"\xEF\xBB\xBFf"];
    for gathers in [false, true] {
        let reading = Reading { gathers, ..Reading::default() };
        let (keys, lines, notes) = read(folder.path(), &lists, reading);
        assert_eq!(keys, [&b"a"[..], b"b", b"c", b"d", b"\xEF\xBB\xBFe", b"f"]);
        assert_eq!(lines, [1, 2, 3, 4, 5, 6]);
        let path = |i: usize| folder.path().join(i.to_string()).display().to_string();
        assert_eq!(notes, [0, 1, 4].map(|i| Note::ByteOrderMark(path(i))));
        let raw = Reading { raw: true, ..reading };
        let (keys, _, notes) = read(folder.path(), &lists, raw);
        assert_eq!((&keys[2][..], notes.len()), (&b"\xEF\xBB\xBFc"[..], 0));
    }
}

/// More than a chunk, in lines of all lengths, in files that end anywhere.
#[test]
fn no_line_is_lost_or_cut_where_chunks_and_files_meet() {
    let folder = tempfile::tempdir().unwrap();
    let mut lists = Vec::new();
    let mut expected = Vec::new();
    for (file, (count, longest)) in
        [(60_000, 40), (3, 300_000), (1, 0), (50_000, 7)].iter().enumerate()
    {
        let mut list = Vec::new();
        for i in 0..*count {
            let mut key = format!("{file}.{i}.").into_bytes();
            key.resize(key.len() + i * 7919 % (longest + 1), b'x');
            list.extend_from_slice(&key);
            // Every other file has no line feed at its end.
            if i + 1 < *count || file % 2 == 0 {
                list.extend_from_slice(if i % 3 == 0 { b"\r\n" } else { b"\n" });
            }
            expected.push(key);
        }
        lists.push(list);
    }
    let lists: Vec<&[u8]> = lists.iter().map(Vec::as_slice).collect();
    for gathers in [false, true] {
        let reading = Reading { gathers, ..Reading::default() };
        let (keys, lines, _) = read(folder.path(), &lists, reading);
        assert!(keys == expected, "{} of {} keys", keys.len(), expected.len());
        assert!(lines.iter().copied().eq(1..=expected.len() as u64));
    }
}
