//! Files that are no filters, or not whole.

use crate::support::{fail, file, folder, lines, succeed};

#[test]
fn a_wrong_file_is_told_by_what_it_is_and_what_to_do() {
    // The paper cut: "unexpected EOF" for a wrong file, with no hint.
    let folder = folder();
    file(folder.path(), "text", b"just\nsome\nlines\n");
    file(folder.path(), "gzip", b"\x1F\x8B\x08\x00aaaaaaaaaaaaaaaaaaaaa");
    file(folder.path(), "empty", b"");
    for name in ["text", "gzip", "empty", "absent", "."] {
        for verb in ["check", "add", "info"] {
            let talk = fail(folder.path(), &[verb, name], b"a\n");
            assert!(talk.starts_with("mayhap: ") && talk.contains(name), "{verb} {name}: {talk}");
            assert!(name == "." || talk.contains("hint: "), "{verb} {name}: {talk}");
        }
    }
    assert!(fail(folder.path(), &["info", "text"], b"").contains("looks like text"));
}

#[test]
fn a_truncated_or_damaged_filter_is_refused() {
    let folder = folder();
    succeed(folder.path(), &["build", "-n", "1000", "-o", "f"], &lines("key", 0..1000));
    let whole = std::fs::read(folder.path().join("f")).unwrap();
    for length in [7, 100, 4096, 5000, whole.len() - 1] {
        file(folder.path(), "cut", &whole[..length]);
        for verb in ["check", "add", "info"] {
            let talk = fail(folder.path(), &[verb, "cut"], b"a\n");
            assert!(talk.starts_with("mayhap: "), "{length} bytes, {verb}: {talk}");
        }
    }
    for at in [9, 30, 4000, 4096 + 100, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        file(folder.path(), "flipped", &bytes);
        // `check` opens by mmap and reads only the pages that it needs; `info` and `add` read every
        // byte.
        for verb in ["add", "info"] {
            let talk = fail(folder.path(), &[verb, "flipped"], b"a\n");
            assert!(talk.starts_with("mayhap: "), "byte {at}, {verb}: {talk}");
        }
    }
}
