//! Matrix files, and `which` of folders and lists of filters.

use crate::support::{fail, file, folder, json, json_and_talk, lines, run, stderr, succeed};
use mayhap::BloomMatrix;
use std::path::Path;

/// Writes the lists `a.txt`, `b.txt` and `c.txt` of 400, 300 and 200 keys, 100 of them in two.
fn write_lists(folder: &Path) {
    file(folder, "a.txt", &lines("key", 0..400));
    file(folder, "b.txt", &lines("key", 300..600));
    file(folder, "c.txt", &lines("key", 600..800));
}

const BUILD: [&str; 9] =
    ["build", "-p", "1e-4", "-o", "shards.mayhap", "--layout", "matrix", "a.txt", "b.txt"];

fn which(folder: &Path, arguments: &[&str], input: &[u8]) -> String {
    let output = run(folder, &[&["which"], arguments].concat(), input);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_matrix_has_a_set_for_each_file_and_keeps_its_name() {
    let folder = folder();
    let folder = folder.path();
    write_lists(folder);
    let built = run(folder, &[&BUILD[..], &["c.txt", "--json"]].concat(), b"");
    let summary = json(&built.stdout);
    assert_eq!((&summary["lines_read"], &summary["layout"]), (&900.into(), &"matrix".into()));
    assert!(stderr(&built).contains("mayhap which -f"), "of three sets: {}", stderr(&built));
    // Every key is named with every list that has it.
    let all = lines("key", 0..800);
    let found = which(folder, &["shards.mayhap"], &all);
    for (i, line) in found.lines().enumerate() {
        let (sets, key) = line.split_once('\t').unwrap();
        assert_eq!(key, format!("key-{i}"));
        let sets: Vec<&str> = sets.split(',').collect();
        let holds = [("a.txt", 0..400), ("b.txt", 300..600), ("c.txt", 600..800)];
        for (name, range) in holds {
            assert!(!range.contains(&i) || sets.contains(&name), "{line}");
        }
    }
    assert_eq!(found.lines().count(), 800);
    let report = json(&succeed(folder, &["info", "--json", "shards.mayhap"], b""));
    assert_eq!(report["names"], serde_json::json!(["a.txt", "b.txt", "c.txt"]));
    let text = String::from_utf8(succeed(folder, &["info", "shards.mayhap"], b"")).unwrap();
    assert!(text.contains("a.txt, b.txt, c.txt"), "{text}");
    // The longest list decides the size of all.
    let matrix: BloomMatrix = load(&folder.join("shards.mayhap"));
    assert!((400..450).contains(&matrix.expected_items()), "{}", matrix.expected_items());
    // An absent key is named with a set at the rate that was promised: 3 of 10,000.
    let absent = which(folder, &["shards.mayhap"], &lines("absent", 0..100_000));
    assert!(absent.lines().count() < 60, "{} wrong", absent.lines().count());
}

fn load(path: &Path) -> BloomMatrix {
    mayhap_store::load_as(path, None).unwrap().filter
}

#[test]
fn a_matrix_cuts_keys_as_it_was_built_and_refuses_lists_that_are_too_long() {
    let folder = folder();
    let folder = folder.path();
    write_lists(folder);
    file(folder, "upper.txt", b"  ONE\n  TWO\n");
    let upper = ["build", "-q", "-o", "u.mayhap", "--layout", "matrix", "--trim", "--lower"];
    succeed(folder, &[&upper[..], &["-n", "10", "upper.txt", "c.txt", "--overfill"]].concat(), b"");
    assert!(which(folder, &["u.mayhap"], b"one\nthree\n").starts_with("upper.txt\tone\n"));
    let talk = fail(folder, &[&BUILD[..], &["-n", "100"]].concat(), b"");
    assert!(talk.contains("a.txt has more than 100 distinct keys"), "{talk}");
    assert!(talk.contains("--overfill") && !folder.join("shards.mayhap").exists(), "{talk}");
    succeed(folder, &[&BUILD[..], &["-n", "100", "--overfill"]].concat(), b"");
    let again = fail(folder, &BUILD, b"");
    assert!(again.contains("--force"), "{again}");
    for (arguments, expected) in [
        (&["-"][..], "standard input has no name"),
        (&["--mem", "1MiB"], "--mem does not size a matrix"),
        (&["--max-memory", "64KiB"], "--max-memory"),
        (&["missing.txt"], "missing.txt"),
    ] {
        let talk = fail(folder, &[&BUILD[..], &["--force"], arguments].concat(), b"");
        assert!(talk.contains(expected), "{arguments:?}: {talk}");
    }
    let talk = fail(folder, &["build", "--layout", "matrix", "-o", "n.mayhap"], b"");
    assert!(talk.contains("a set for each list"), "{talk}");
    let talk = fail(folder, &["create", "--layout", "matrix", "-n", "10", "n.mayhap"], b"");
    assert!(talk.contains("build --layout matrix"), "{talk}");
    assert!(!folder.join("n.mayhap").exists());
}

#[test]
fn lists_are_added_to_their_sets_and_sets_are_replaced() {
    let folder = folder();
    let folder = folder.path();
    write_lists(folder);
    succeed(folder, &[&BUILD[..], &["-q"]].concat(), b"");
    let sets = || {
        let matrix = load(&folder.join("shards.mayhap"));
        let set = |set| (matrix.name(set).unwrap().to_owned(), matrix.inserted_items(set));
        (0..matrix.num_sets()).map(set).collect::<Vec<_>>()
    };
    let named = |sets: &[(&str, u64)]| -> Vec<(String, u64)> {
        sets.iter().map(|&(name, items)| (name.to_owned(), items)).collect()
    };
    assert_eq!(sets(), named(&[("a.txt", 400), ("b.txt", 300)]));
    // A new set, more keys for an existing one, and keys without a file.
    file(folder, "b.txt", &lines("key", 500..605));
    let added = run(folder, &["add", "--json", "shards.mayhap", "b.txt", "c.txt"], b"");
    let summary = json(&added.stdout);
    assert_eq!((&summary["lines_read"], &summary["new"]), (&305.into(), &205.into()));
    succeed(folder, &["add", "-q", "--set", "d", "shards.mayhap"], &lines("key", 7..10));
    let now = [("a.txt", 400), ("b.txt", 305), ("c.txt", 200), ("d", 3)];
    assert_eq!(sets(), named(&now));
    assert!(which(folder, &["shards.mayhap"], b"key-8\n").starts_with("a.txt,d\tkey-8"));
    // Rebuilt: its former keys are gone, all others are unchanged.
    succeed(folder, &["add", "-q", "--replace-sets", "shards.mayhap", "b.txt"], b"");
    assert_eq!(sets(), named(&[("a.txt", 400), ("b.txt", 105), ("c.txt", 200), ("d", 3)]));
    let found = which(folder, &["-a", "shards.mayhap"], b"key-450\nkey-604\nkey-350\n");
    assert_eq!(found, "\tkey-450\nb.txt,c.txt\tkey-604\na.txt\tkey-350\n");
    // A file that does not fit, or has no name, changes nothing.
    let before = std::fs::read(folder.join("shards.mayhap")).unwrap();
    for (arguments, input, says) in [
        (&["add", "shards.mayhap"][..], &b"x\n"[..], "--set NAME"),
        (&["add", "shards.mayhap", "--set", "d"], &lines("more", 0..2_000), "nothing was written"),
        (&["add", "shards.mayhap", "--clear-at", "1/2", "b.txt"], b"", "not for a matrix"),
        (&["add", "shards.mayhap", "absent"], b"", "absent"),
    ] {
        let talk = fail(folder, arguments, input);
        assert!(talk.contains(says), "{arguments:?}: {talk}");
        assert_eq!(std::fs::read(folder.join("shards.mayhap")).unwrap(), before);
    }
    succeed(folder, &["create", "-q", "plain", "-n", "10"], b"");
    for option in [&["--set", "a"][..], &["--replace-sets"]] {
        let talk = fail(folder, &[&["add", "plain"], option].concat(), b"");
        assert!(talk.contains("for matrix files"), "{talk}");
    }
}

#[test]
fn sets_without_names_are_numbers() {
    let folder = folder();
    let folder = folder.path();
    let builder = BloomMatrix::builder().num_sets(2).expected_items(100).target_fpp(1e-6);
    mayhap_store::save(&folder.join("m"), &builder.build().unwrap(), "").unwrap();
    succeed(folder, &["add", "-q", "m", "--set", "1"], &lines("key", 0..9));
    assert_eq!(load(&folder.join("m")).inserted_items(1), 9);
    for name in ["2", "east", "-1"] {
        let talk = fail(folder, &["add", "m", &format!("--set={name}")], b"x\n");
        assert!(talk.contains("--set 0 to --set 1"), "{talk}");
    }
}

#[test]
fn the_name_of_a_set_cannot_begin_a_line() {
    let folder = folder();
    let folder = folder.path();
    let mut matrix =
        BloomMatrix::builder().num_sets(2).expected_items(10).target_fpp(0.01).build().unwrap();
    matrix.set_names(&["evil\nother\tkey-1", ""]).unwrap();
    matrix.insert(0, "key-0".as_bytes());
    matrix.insert(1, "key-0".as_bytes());
    mayhap_store::save(&folder.join("m.mayhap"), &matrix, "").unwrap();
    let found = which(folder, &["m.mayhap"], b"key-0\n");
    assert_eq!(found, "evil\\nother\\tkey-1,1\tkey-0\n", "a set without a name has its number");
    let report = succeed(folder, &["info", "m.mayhap"], b"");
    assert!(!String::from_utf8(report).unwrap().lines().any(|line| line.starts_with("other")));
}

#[test]
fn a_folder_or_a_list_names_the_filters() {
    let folder = folder();
    let folder = folder.path();
    write_lists(folder);
    std::fs::create_dir_all(folder.join("filters/below")).unwrap();
    for name in ["a", "b", "c"] {
        let (list, filter) = (format!("{name}.txt"), format!("filters/{name}.mayhap"));
        succeed(folder, &["build", "-q", "-p", "1e-6", "-o", &filter, &list], b"");
    }
    file(folder, "filters/notes.txt", b"no filter\n");
    file(folder, "all.list", b"filters/c.mayhap\r\n\nfilters/a.mayhap\n");
    let input = lines("key", [350, 700]);
    let folder_of_both = "filters/a.mayhap,filters/b.mayhap\tkey-350\nfilters/c.mayhap\tkey-700\n";
    assert_eq!(which(folder, &["filters"], &input), folder_of_both);
    assert_eq!(which(folder, &["-f", "filters"], &input), folder_of_both);
    file(folder, "keys", &input);
    assert_eq!(which(folder, &["filters", "keys"], b""), folder_of_both);
    let of_list = "filters/a.mayhap\tkey-350\nfilters/c.mayhap\tkey-700\n";
    assert_eq!(which(folder, &["-F", "all.list"], &input), of_list);
    assert_eq!(which(folder, &["-F", "all.list", "-"], &input), of_list);
    assert_eq!(which(folder, &["-F", "all.list", "keys"], b""), of_list);
    let output = run(folder, &["which", "--json", "-F", "all.list", "-f", "filters"], &input);
    let (summary, _) = json_and_talk(&output.stderr);
    assert_eq!(summary["sets"].as_array().unwrap().len(), 5);
    file(folder, "none.list", b"\n\n");
    assert!(fail(folder, &["which", "-F", "none.list"], b"").contains("names no filter"));
    assert!(fail(folder, &["which", "filters/below"], b"").contains("no filter in the folder"));
    assert!(fail(folder, &["which", "-F", "absent.list"], b"").contains("absent.list"));
}

#[test]
fn several_files_have_a_line_each() {
    let folder = folder();
    let folder = folder.path();
    write_lists(folder);
    succeed(folder, &["build", "-q", "-n", "1000", "-p", "1%", "-o", "a.mayhap", "a.txt"], b"");
    let window = ["create", "-q", "--layout", "window:1000", "-p", "1%", "w.mayhap"];
    succeed(folder, &window, b"");
    succeed(folder, &[&BUILD[..], &["-q"]].concat(), b"");
    let files = ["a.mayhap", "w.mayhap", "shards.mayhap"];
    let table = String::from_utf8(succeed(folder, &[&["info"], &files[..]].concat(), b"")).unwrap();
    let cells = |line| -> Vec<&str> {
        let cells = str::split(line, "  ").map(str::trim);
        cells.filter(|cell| !cell.is_empty()).collect()
    };
    let rows: Vec<Vec<&str>> = table.lines().map(cells).collect();
    assert_eq!((rows.len(), rows[0][0], rows[0].len()), (4, "file", 8), "{table}");
    let kinds: Vec<(&str, &str)> = rows[1..].iter().map(|row| (row[0], row[1])).collect();
    assert_eq!(
        kinds,
        [("a.mayhap", "blocked"), ("w.mayhap", "window"), ("shards.mayhap", "matrix")]
    );
    let output = succeed(folder, &[&["info", "--json"], &files[..]].concat(), b"");
    let objects: Vec<serde_json::Value> =
        output.split_inclusive(|byte| *byte == b'\n').map(json).collect();
    for (object, name) in objects.iter().zip(files) {
        let alone = json(&succeed(folder, &["info", "--json", name], b""));
        assert_eq!(*object, alone);
    }
    assert_eq!(objects.len(), 3);
    let talk = fail(folder, &["info", "a.mayhap", "redis://127.0.0.1:1/0/x"], b"");
    assert!(talk.contains("show it alone"), "{talk}");
    assert!(fail(folder, &["info", "a.mayhap", "absent"], b"").contains("absent"));
}
