//! Lists of keys: compressed ones are read, other files are refused with the next step, and
//! byte-order marks and carriage returns are no part of keys.

use crate::support::{fail, file, folder, json, lines, run, start, stderr, succeed};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

/// The lists that other programs compressed: see their `README.md`.
fn golden(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/lists").join(name)).unwrap()
}

const COMPRESSED: [&str; 5] = ["two.gz", "two.bz2", "two.xz", "two.zst", "two.lz4"];

/// Each verb that reads a list of keys: the arguments before the list.
const READERS: [&[&str]; 9] = [
    &["dedup", "-n", "1k"],
    &["dedup", "--state", "state", "-n", "1k"],
    &["build", "-n", "1k", "-o", "new"],
    &["add", "plain"],
    &["remove", "counting"],
    &["check", "plain"],
    &["filter", "plain", "--rest", "rest"],
    &["which", "-f", "plain"],
    &["verify", "--samples", "1k", "plain"],
];

/// A folder with filters for [`READERS`], which hold these keys.
fn filters(keys: &[u8]) -> tempfile::TempDir {
    let folder = folder();
    succeed(folder.path(), &["build", "-q", "-n", "1k", "-p", "1e-9", "-o", "plain"], keys);
    let create = ["create", "-q", "counting", "-n", "1k", "-p", "1e-9", "--layout", "counting"];
    succeed(folder.path(), &create, b"");
    succeed(folder.path(), &["add", "-q", "counting"], keys);
    folder
}

fn snapshot(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    entries.map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

#[test]
fn compressed_lists_are_read_whoever_compressed_them() {
    let all = lines("key", 1..601);
    for name in COMPRESSED {
        let (folder, bytes) = (folder(), golden(name));
        file(folder.path(), name, &bytes);
        let dedup = ["dedup", "-n", "1k", "-p", "1e-9"];
        let of_file = succeed(folder.path(), &[&dedup[..], &[name]].concat(), b"");
        assert!(of_file == all, "{name}");
        assert!(succeed(folder.path(), &dedup, &bytes) == all, "{name} through a pipe");
        // Counted first, and sized by its lines.
        let built = run(folder.path(), &["build", "--json", "-o", "f", name], b"");
        assert_eq!(json(&built.stdout)["expected_items"], 600, "{name}");
        assert_eq!(succeed(folder.path(), &["check", "f", name], b""), all, "{name}");
        succeed(folder.path(), &["verify", "--samples", "1k", "f", name], b"");
        let raw = run(folder.path(), &["dedup", "-n", "1k", "--raw", name], b"");
        let printed = raw.stdout.strip_suffix(b"\n").unwrap();
        assert!(bytes.starts_with(printed), "--raw takes {name} as it is");
    }
}

#[test]
fn a_compressed_list_that_is_cut_is_an_error_and_never_a_shorter_one() {
    for name in COMPRESSED {
        let (folder, bytes) = (folder(), golden(name));
        for end in [bytes.len() - 1, bytes.len() - 5, bytes.len() * 3 / 4, 20] {
            file(folder.path(), "cut", &bytes[..end]);
            for arguments in [&["dedup", "-n", "1k", "cut"][..], &["build", "-o", "f", "cut"]] {
                let talk = fail(folder.path(), arguments, b"");
                assert!(talk.contains("cannot read cut: "), "{name} up to {end}: {talk}");
            }
            assert!(!folder.path().join("f").exists(), "{name} up to {end}");
        }
        let mut flipped = bytes.clone();
        flipped[bytes.len() / 3] ^= 0x10;
        file(folder.path(), "cut", &flipped);
        let talk = fail(folder.path(), &["dedup", "-n", "1k", "cut"], b"");
        assert!(talk.contains("cannot read cut: "), "{name} with a flipped bit: {talk}");
    }
}

#[test]
fn a_dictionary_beyond_the_limit_is_refused_before_it_is_allocated() {
    let folder = folder();
    file(folder.path(), "large.xz", &golden("large-dictionary.xz"));
    // With less memory than that dictionary has.
    let command =
        format!("ulimit -v 400000; {} dedup -n 1k large.xz", env!("CARGO_BIN_EXE_mayhap"));
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", &command]).current_dir(folder.path()).output().unwrap();
    let talk = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{talk}");
    assert!(talk.contains("needs more than 256 MiB; pipe it in: xz -dc FILE"), "{talk}");
}

/// Input that is no list, its name, and a part of the next step.
fn no_lists(folder: &Path) -> Vec<(&'static str, Vec<u8>, &'static str, &'static str)> {
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let plain = fs::read(folder.join("plain")).unwrap();
    let guava = vec![1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 32];
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    vec![
        ("zip", golden("list.zip"), "a zip archive", "unzip -p "),
        ("7z", b"7z\xBC\xAF\x27\x1C\0\x04\0".to_vec(), "a 7z archive", "7z e -so "),
        ("tar.gz", golden("list.tar.gz"), "a tar archive", "tar -xOf "),
        ("utf16", wide("\u{FEFF}key-1\r\nkey-2\r\n"), "text in UTF-16", "iconv -f UTF-16 -t UTF-8"),
        ("utf16le", wide("key-1\nkey-2\n"), "text in UTF-16LE", "iconv -f UTF-16LE -t UTF-8"),
        ("filter", plain, "a mayhap filter of 50 keys", "mayhap "),
        ("filter.gz", gzip.finish().unwrap(), "a mayhap filter of 50 keys", "mayhap "),
        ("guava", guava, "a guava filter", "mayhap "),
    ]
}

#[test]
fn what_is_no_list_is_refused_by_every_verb_with_the_way_out() {
    let folder = filters(&lines("key", 0..50));
    let folder = folder.path();
    for (name, bytes, what, step) in no_lists(folder) {
        file(folder, name, &bytes);
        file(folder, "list", &lines("other", 0..50));
        let before = snapshot(folder);
        for reader in READERS {
            // `check` and `which` query a filter that is named among the lists.
            let is_query = reader[0] == "which" && what.contains("filter");
            if !is_query {
                // Behind a list that is one.
                let words = [reader, &["list", name]].concat();
                let talk = fail(folder, &words, b"");
                let problem = format!("{name} is {what}, not a list of keys\nhint: ");
                assert!(talk.contains(&problem), "{words:?}: {talk}");
                assert!(talk.contains(step) && talk.contains("--raw"), "{words:?}: {talk}");
                assert_eq!(before, snapshot(folder), "{words:?}: nothing was done");
            }
            let talk = fail(folder, &[reader, &["-"]].concat(), &bytes);
            let problem = format!("standard input is {what}, not a list of keys\nhint: ");
            assert!(talk.contains(&problem) && talk.contains(step), "{reader:?} < {name}: {talk}");
            for made in ["state", "state.log", "rest"] {
                let _ = fs::remove_file(folder.join(made));
            }
            assert_eq!(before, snapshot(folder), "{reader:?} < {name}");
        }
        fs::remove_file(folder.join(name)).unwrap();
    }
}

#[test]
fn raw_takes_the_bytes_of_anything_as_lines() {
    let folder = filters(&lines("key", 0..50));
    let folder = folder.path();
    for (name, bytes, ..) in no_lists(folder) {
        file(folder, name, &bytes);
        let kept = succeed(folder, &["dedup", "--raw", "-n", "1k", "-p", "1e-9", name], b"");
        let mut input = bytes;
        if !input.ends_with(b"\n") {
            input.push(b'\n');
        }
        assert!(kept == crate::support::first_of_each(&input), "{name}");
    }
}

/// The same keys as files that end their lines in different ways, and begin with a mark or not.
fn spellings() -> Vec<(&'static str, Vec<u8>)> {
    let lf = lines("key", 0..200);
    let crlf: Vec<u8> = lf
        .split_inclusive(|&byte| byte == b'\n')
        .flat_map(|line| [&line[..line.len() - 1], b"\r\n"].concat())
        .collect();
    let marked = |text: &[u8]| [b"\xEF\xBB\xBF", text].concat();
    vec![("lf", lf.clone()), ("crlf", crlf.clone()), ("mark", marked(&lf)), ("both", marked(&crlf))]
}

#[test]
fn keys_are_found_however_the_lines_of_either_list_end() {
    let folder = folder();
    let folder = folder.path();
    for (name, bytes) in spellings() {
        file(folder, name, &bytes);
    }
    for options in [&[][..], &["--field", "1", "--delim", "\\t"], &["--trim"], &["--lower"]] {
        for (built, _) in spellings() {
            let mut build = vec!["build", "-q", "--force", "-p", "1e-9", "-o", "f", built];
            build.extend(options);
            succeed(folder, &build, b"");
            for (queried, bytes) in spellings() {
                let case = format!("{options:?}: {queried} in a filter of {built}");
                // Lines are printed as they were read.
                let found = run(folder, &["check", "f", queried], b"");
                assert!(found.stdout == bytes, "{case}");
                let mut filter = vec!["filter", "f", queried];
                filter.extend(options.iter().filter(|word| !["--trim", "--lower"].contains(word)));
                assert!(run(folder, &filter, b"").stdout == bytes, "{case}");
                succeed(folder, &["verify", "--samples", "1k", "f", queried], b"");
                let through_pipe = run(folder, &["check", "f"], &bytes);
                assert!(through_pipe.stdout == bytes, "{case}");
                let added = run(folder, &["add", "--json", "f", queried], b"");
                assert_eq!(json(&added.stdout)["new"], 0, "{case}");
                let which = run(folder, &["which", "-f", "f", queried], b"").stdout;
                let tags = which.split_inclusive(|&byte| byte == b'\n').count();
                assert_eq!(tags, 200, "{case}");
            }
        }
    }
}

#[test]
fn lists_for_confirming_and_removing_are_read_by_the_same_rules() {
    let folder = folder();
    let folder = folder.path();
    let sorted = |ends: &str| -> Vec<u8> {
        (1000..1200).flat_map(|i| format!("key-{i}{ends}").into_bytes()).collect()
    };
    let marked = [&b"\xEF\xBB\xBF"[..], &sorted("\r\n")].concat();
    for (sorted_by, bytes) in [("lf", sorted("\n")), ("crlf", sorted("\r\n")), ("both", marked)] {
        file(folder, sorted_by, &bytes);
    }
    for name in ["lf", "crlf", "both"] {
        succeed(folder, &["build", "-q", "--force", "-n", "1k", "-o", "f", name], b"");
        for (queried, confirmed) in [("lf", "crlf"), ("crlf", "lf"), ("both", "both")] {
            let arguments = ["check", "-c", "--confirm", confirmed, "f", queried];
            assert_eq!(succeed(folder, &arguments, b""), b"200\n", "{queried} in {confirmed}");
        }
        let create = ["create", "-q", "--force", "-n", "1k", "--layout", "counting", "c"];
        succeed(folder, &create, b"");
        succeed(folder, &["add", "-q", "c", name], b"");
        for (left, other) in [(200, "crlf"), (0, "lf")] {
            let removed = run(folder, &["remove", "--json", "c", other], b"");
            assert_eq!(json(&removed.stdout)["removed"], left, "{name}: {other}");
        }
    }
}

#[test]
fn bytes_that_are_no_part_of_keys_are_reported_once() {
    let folder = folder();
    let folder = folder.path();
    for (name, bytes) in spellings() {
        file(folder, name, &bytes);
        let said = |arguments: &[&str], name: &str| {
            let talk = stderr(&run(folder, arguments, b""));
            let mark = format!("{name} begins with a byte-order mark");
            let returns = "lines end with CR LF; the CR is not part of their keys";
            (talk.matches(&mark).count(), talk.matches(returns).count())
        };
        let expected = match name {
            "lf" => (0, 0),
            "crlf" => (0, 1),
            "mark" => (1, 0),
            _ => (1, 1),
        };
        // Without -n it is read twice.
        assert_eq!(said(&["build", "--force", "-o", "f", name], name), expected);
        assert_eq!(said(&["dedup", name], name), expected);
        assert_eq!(said(&["check", "f", name], name), expected);
        assert_eq!(said(&["check", "f", "lf", name], name), expected);
        assert_eq!(said(&["dedup", "--raw", name], name), (0, 0));
        assert_eq!(said(&["-q", "dedup", name], name), (0, 0));
        // No note about a requested treatment.
        assert_eq!(said(&["dedup", "--crlf", name], name), (expected.0, 0));
    }
}

#[test]
fn raw_keeps_returns_and_marks_in_keys() {
    let folder = folder();
    let folder = folder.path();
    let all: BTreeMap<_, _> = spellings().into_iter().collect();
    succeed(folder, &["build", "-q", "--raw", "-n", "1k", "-p", "1e-9", "-o", "f"], &all["crlf"]);
    assert_eq!(succeed(folder, &["check", "--raw", "f"], &all["crlf"]), all["crlf"]);
    // The file records it.
    assert_eq!(succeed(folder, &["check", "f"], &all["crlf"]), all["crlf"]);
    assert_eq!(run(folder, &["check", "f"], &all["lf"]).stdout, b"");
    let kept =
        succeed(folder, &["dedup", "--raw", "-n", "1k", "-p", "1e-9"], b"\xEF\xBB\xBFa\na\n");
    assert_eq!(kept, b"\xEF\xBB\xBFa\na\n");
}

#[test]
fn each_input_of_several_is_looked_at_by_itself_and_lines_stay_as_they_came() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "first", b"\xEF\xBB\xBFa\r\nb\r\n");
    file(folder, "second", b"a\nc\nd\re\n");
    file(folder, "third", b"\xEF\xBB\xBFd\re\r\nd\r\n");
    let kept = succeed(folder, &["dedup", "first", "second", "third"], b"");
    assert_eq!(kept, b"\xEF\xBB\xBFa\r\nb\r\nc\nd\re\nd\r\n");
    let kept = succeed(folder, &["dedup", "--exact", "first", "second", "third"], b"");
    assert_eq!(kept, b"\xEF\xBB\xBFa\r\nb\r\nc\nd\re\nd\r\n");
    // A line with only a mark has an empty key.
    let kept = succeed(folder, &["dedup"], b"\xEF\xBB\xBF\n\na\n");
    assert_eq!(kept, b"\xEF\xBB\xBF\na\n");
    let json = b"\xEF\xBB\xBF{\"id\":7}\r\n{\"id\":7}\r\n";
    let kept = succeed(folder, &["dedup", "--json-pointer", "/id"], json);
    assert_eq!(kept, b"\xEF\xBB\xBF{\"id\":7}\r\n");
}

#[test]
fn a_pipe_is_judged_by_its_first_lines_and_holds_none_of_them_back() {
    let folder = folder();
    for text in ["one\r\n", "one\n", "BZ\n", "\u{1F}\u{1}x\n"] {
        let mut child = start(folder.path(), &["dedup", "-n", "1000"]);
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        // In two pieces: an incomplete line cannot be judged.
        let (first, second) = text.as_bytes().split_at(1);
        stdin.write_all(first).unwrap();
        stdin.write_all(second).unwrap();
        let mut line = Vec::new();
        // Would wait forever if it waited for 64 KiB, or for a second line.
        stdout.read_until(b'\n', &mut line).unwrap();
        assert_eq!(line, text.as_bytes());
        stdin.write_all(b"one\r\ntwo").unwrap();
        drop(stdin);
        let mut rest = Vec::new();
        stdout.read_to_end(&mut rest).unwrap();
        let is_one = text.starts_with("one");
        let expected: &[u8] = if is_one { b"two\n" } else { b"one\r\ntwo\n" };
        assert_eq!(rest, expected, "{text:?}");
        let output = child.wait_with_output().unwrap();
        assert!(stderr(&output).contains("of 3 lines end with CR LF"), "{}", stderr(&output));
    }
}

#[test]
fn filters_that_a_shell_leaves_behind_f_are_queried_too() {
    let folder = folder();
    let folder = folder.path();
    for (name, keys) in [("a.mayhap", 0..10), ("b.mayhap", 10..20), ("c.mayhap", 5..15)] {
        let build = ["build", "-q", "-n", "100", "-p", "1e-9", "-o", name];
        succeed(folder, &build, &lines("key", keys));
    }
    let expected = b"a.mayhap,c.mayhap\tkey-7\nb.mayhap\tkey-17\n";
    // The arguments of `which -f *.mayhap < keys`.
    let which = ["which", "-f", "a.mayhap", "b.mayhap", "c.mayhap"];
    assert_eq!(succeed(folder, &which, b"key-7\nkey-17\nx\n"), expected);
    file(folder, "keys", b"key-7\nkey-17\nx\n");
    assert_eq!(succeed(folder, &[&which[..], &["keys"]].concat(), b""), expected);
    let check = ["check", "-f", "a.mayhap", "b.mayhap", "keys"];
    assert_eq!(succeed(folder, &check, b""), b"key-7\nkey-17\n");
    // Without -f the first one is the filter, and another one no list.
    let talk = fail(folder, &["check", "a.mayhap", "b.mayhap"], b"");
    assert!(talk.contains("b.mayhap is a mayhap filter of 10 keys, not a list"), "{talk}");
    let talk = fail(folder, &["verify", "a.mayhap", "b.mayhap"], b"");
    assert!(talk.contains("one at a time: mayhap verify b.mayhap"), "{talk}");
    let talk = fail(folder, &["add", "a.mayhap", "b.mayhap"], b"");
    assert!(talk.contains("mayhap merge -o FILTER b.mayhap"), "{talk}");
}
