//! Answers about keys in filters of other systems: a line that is no key is not absent, and a
//! filter that is full or of another release gives a warning.

use crate::foreign::bytes;
use crate::remote::{server, url};
use crate::support::{fail, file, folder, json, lines, run, stderr, succeed};
use std::path::Path;

/// Creates a filter and adds lines to it.
fn filled(folder: &Path, name: &str, create: &[&str], more: &[&str], keys: &[u8]) {
    succeed(folder, &[&["create", "-q", name], create].concat(), b"");
    succeed(folder, &[&["add", "-q", "--overfill", name], more].concat(), keys);
}

fn code(folder: &Path, arguments: &[&str], input: &[u8]) -> Option<i32> {
    run(folder, arguments, input).status.code()
}

/// Arguments of a query, its input, its output, and words of its error.
type Case<'a> = (&'a [&'a str], &'a [u8], &'a [u8], &'a str);

#[test]
fn a_line_that_is_no_key_of_a_filter_is_not_absent() {
    let folder = folder();
    let folder = folder.path();
    filled(
        folder,
        "long",
        &["--format", "guava", "--key-type", "long", "-n", "100"],
        &["--key-type", "long"],
        b"1\n2\n3\n",
    );
    let rbloom = ["--format", "rbloom", "--key-type", "pickled-str"];
    filled(folder, "r", &[&rbloom[..], &["-n", "100"]].concat(), &rbloom, b"a\n");
    let hex = ["--key-type", "hex"];
    filled(folder, "d", &["--format", "dcso", "-n", "100"], &hex, b"00ff\n");
    let huge = [&vec![b'x'; 70_000][..], b"\na\n"].concat();
    let cases: [Case<'_>; 4] = [
        (&["long", "--key-type", "long"], b"x\n1\n99999999999999999999\n", b"1\n", "line 1: "),
        (&["r", "--format", "rbloom", "--key-type", "pickled-str"], &huge, b"a\n", "line 1: "),
        (&["d", "--key-type", "hex"], b"00ff\n0ff\n", b"00ff\n", "line 2: "),
        (&["long", "--key-type", "int"], b"1.5\n", b"", "line 1: "),
    ];
    for (arguments, input, found, first) in cases {
        for verb in ["check", "filter"] {
            let output = run(folder, &[&[verb], arguments].concat(), input);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{verb} {arguments:?}: {said}");
            assert!(said.contains(first) && said.contains("not looked up"), "{said}");
            assert_eq!(output.stdout, found, "{verb} {arguments:?}");
            let absent = run(folder, &[&[verb, "-v"], arguments].concat(), input);
            assert_eq!(absent.status.code(), Some(2), "{verb} -v {arguments:?}");
            assert!(absent.stdout.is_empty(), "{verb} -v {arguments:?} prints lines without a key");
        }
        let (name, rest) = arguments.split_first().unwrap();
        let output = run(folder, &[&["which", "-a", "-f", name], rest].concat(), input);
        assert_eq!(output.status.code(), Some(2), "which {arguments:?}");
        assert_eq!(
            output.stdout.split(|&byte| byte == b'\n').count() - 1,
            usize::from(!found.is_empty())
        );
    }
    // Both ways out of `filter` are closed to it.
    let rest = ["filter", "long", "--key-type", "long", "--rest", "rest"];
    assert_eq!(code(folder, &rest, b"x\n7\n"), Some(2));
    assert_eq!(std::fs::read(folder.join("rest")).unwrap(), b"7\n");
    // The first line found decides the answer.
    assert_eq!(code(folder, &["check", "-q", "long", "--key-type", "long"], b"1\nx\n"), Some(0));
    assert_eq!(code(folder, &["check", "-q", "long", "--key-type", "long"], b"x\n"), Some(2));
    let counted =
        run(folder, &["check", "-c", "--json", "long", "--key-type", "long"], b"x\n1\n7\n");
    assert_eq!(counted.status.code(), Some(2));
    let summary = json(&counted.stdout);
    assert_eq!((&summary["lines_without_key"], &summary["lines_selected"]), (&1.into(), &1.into()));
    assert_eq!(summary["filters"][0]["surely_absent"], 1);
    // One of two filters holds it: that is an answer too.
    succeed(folder, &["build", "-q", "-n", "100", "-o", "ours"], b"x\n");
    let both = ["check", "-f", "long", "-f", "ours", "--key-type", "long"];
    assert_eq!(succeed(folder, &both, b"x\n"), b"x\n");
    assert_eq!(code(folder, &both, b"y\n"), Some(2));
}

#[test]
fn no_more_keys_than_chance_explains_are_a_hint_whatever_was_named() {
    let folder = folder();
    let folder = folder.path();
    let keys = lines("key ", 0..2_000);
    for (format, named, wrong, hint) in [
        ("willf-fnv", "bits-and-blooms", "bytes", "--format willf-fnv"),
        ("bits-and-blooms", "willf-fnv", "bytes", "--format bits-and-blooms"),
        ("pybloomfiltermmap-0.3", "pybloomfiltermmap", "bytes", "--format pybloomfiltermmap-0.3"),
        ("pybloom-live3", "pybloom-live4", "bytes", "--format pybloom-live3"),
        ("guava", "guava", "utf16", "--key-type bytes"),
        ("spark", "spark", "hex", "--key-type bytes"),
    ] {
        filled(
            folder,
            "f",
            &["--format", format, "-n", "2000", "-p", "2%", "--force"],
            &["--format", format, "--key-type", "bytes"],
            &keys,
        );
        let check = ["check", "-c", "f", "--format", named, "--key-type", wrong];
        let digits = (1_000..2_000).flat_map(|i: u32| format!("{i}\n").into_bytes());
        let input = if wrong == "hex" { digits.collect() } else { keys.clone() };
        let output = run(folder, &check, &input);
        let said = stderr(&output);
        assert!(
            said.contains(hint) && said.contains("if there should be more"),
            "{format}: {said}"
        );
        let right = ["check", "-c", "f", "--format", format, "--key-type", "bytes"];
        let output = run(folder, &right, &keys);
        assert!(!stderr(&output).contains("if there should be more"), "{}", stderr(&output));
    }
    filled(folder, "d", &["--format", "dcso", "-n", "100"], &[], b"3AF\n");
    let said = stderr(&run(folder, &["check", "d"], b"a\nb\nc\nd\ne\n"));
    assert!(said.contains("in capitals"), "{said}");
}

/// Formats that are created, with the other options of their files.
const FORMATS: [(&str, &[&str]); 10] = [
    ("guava", &["--key-type", "bytes"]),
    ("spark", &["--key-type", "bytes"]),
    ("redisbloom", &[]),
    ("bloomfileter", &[]),
    ("dcso", &[]),
    ("bits-and-blooms", &[]),
    ("rbloom", &["--format", "rbloom", "--key-type", "bytes"]),
    ("pybloomfiltermmap", &["--key-type", "bytes"]),
    ("pybloom-live4", &["--format", "pybloom-live4"]),
    ("parquet-sbbf", &["--format", "parquet-sbbf", "--key-type", "bytes"]),
];

#[test]
fn verify_calls_no_sound_filter_off_and_no_overfull_one_good() {
    let folder = folder();
    let folder = folder.path();
    // The rate is 1 % or far above.
    let verify = ["verify", "--samples", "100k", "f"];
    for (format, more) in FORMATS {
        for (n, keys) in [("100", 4), ("1000", 300), ("1000", 1_000)] {
            let size = ["--format", format, "-n", n, "-p", "1%", "--force"];
            filled(folder, "f", &size, more, &lines("", 0..keys));
            let output = run(folder, &[&verify, more].concat(), b"");
            assert_eq!(output.status.code(), Some(0), "{format}, {keys} of {n}: {output:?}");
        }
        if ["redisbloom", "pybloom-live4"].contains(&format) {
            // The first one grows, the other one accepts no more.
            continue;
        }
        let size = ["--format", format, "-n", "100", "-p", "1%", "--force"];
        filled(folder, "f", &size, more, &lines("", 0..600));
        let output = run(folder, &[&verify, more].concat(), b"");
        assert_eq!(output.status.code(), Some(1), "{format}, overfull: {output:?}");
        for verb in ["check", "info"] {
            let output = run(folder, &[&[verb, "f"], more].concat(), b"1\n");
            let said = format!("{}{}", stderr(&output), String::from_utf8_lossy(&output.stdout));
            assert!(
                said.contains("rate is") || said.contains("bits are set"),
                "{verb} {format}: {said}"
            );
        }
    }
}

#[test]
fn two_alike_filters_of_dcso_are_merged_by_what_their_bits_hold() {
    let folder = folder();
    let folder = folder.path();
    for name in ["a", "b"] {
        filled(
            folder,
            name,
            &["--format", "dcso", "-n", "1000", "-p", "1%"],
            &[],
            &lines("", 0..600),
        );
    }
    succeed(folder, &["merge", "-o", "c", "a", "b"], b"");
    let info = json(&succeed(folder, &["info", "--json", "c"], b""));
    let items = info["estimated_items"].as_u64().unwrap();
    assert!((560..640).contains(&items), "{items}");
    succeed(folder, &["add", "c"], &lines("", 600..700));
}

#[test]
fn files_that_are_known_and_not_read_are_refused_by_name() {
    let folder = folder();
    let folder = folder.path();
    let mut poppy = [2u64, 100].iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>();
    poppy.extend(0.01f64.to_le_bytes());
    poppy.extend(7u64.to_le_bytes());
    poppy.resize(4_152, 0);
    file(folder, "poppy", &poppy);
    for verb in ["check", "info", "add"] {
        assert!(fail(folder, &[verb, "poppy"], b"a\n").contains("poppy 2"), "{verb}");
    }
    assert_eq!(std::fs::read(folder.join("poppy")).unwrap(), poppy);
    file(folder, "rbloom", &bytes("python/rbloom_a.bin"));
    let said = stderr(&run(folder, &["detect", "rbloom"], b""));
    assert!(said.contains("--format"), "{said}");
}

#[test]
fn defaults_and_options_of_the_classes_are_there() {
    let folder = folder();
    let folder = folder.path();
    succeed(folder, &["create", "s1", "--format", "magnuss-redis"], b"");
    let shape = ["--format", "magnuss-redis", "--bits", "12118639", "--hashes", "14"];
    succeed(folder, &[&["info", "s1"], &shape[..]].concat(), b"");
    let create = ["create", "o", "--format", "bloomfileter", "-n", "100", "--clear-at", "50%"];
    succeed(folder, &create, b"");
    let info = json(&succeed(folder, &["info", "--json", "o"], b""));
    assert!(info.to_string().contains("0.5"), "{info}");
    let create = ["create", "g", "--format", "guava", "-n", "100", "--clear-at", "50%"];
    assert!(fail(folder, &create, b"").contains("only filters of bloomfileter do"));
}

#[test]
fn filters_of_other_schemes_on_a_server_name_the_lines_that_are_no_keys_and_say_when_they_are_full()
{
    let Some(server) = server() else { return };
    let (folder, name) = (folder(), url(&server, "numbers"));
    let folder = folder.path();
    succeed(folder, &["create", &name, "--format", "redisson", "-n", "1000"], b"");
    let long = ["--key-type", "kryo-long"];
    let added = run(folder, &[&["add", &name], &long[..]].concat(), b"1\n2\nx\n3\ny\n");
    let said = stderr(&added);
    assert!(said.contains("2 lines are no key") && said.contains("line 3: "), "{said}");
    for verb in ["check", "filter"] {
        let arguments = [&[verb, &name], &long[..]].concat();
        let output = run(folder, &arguments, b"1\n7\nx\n3\ny\n");
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b"1\n3\n"[..]), "{verb}");
        let said = stderr(&output);
        assert!(said.contains("2 lines are no key") && said.contains("line 3: "), "{said}");
    }
    let wrong = run(folder, &["check", &name, "--key-type", "kryo-string"], b"1\n2\n3\n");
    assert!(stderr(&wrong).contains("kryo-long"), "{}", stderr(&wrong));
    // Bitmaps of a size, in the requested number.
    let bits = url(&server, "bits");
    let create = ["create", &bits, "--format", "magnuss-redis", "--bitmaps", "4", "-n", "100"];
    succeed(folder, &[&create[..], &["-p", "1%"]].concat(), b"");
    let default = url(&server, "default");
    succeed(folder, &["create", &default, "--format", "magnuss-redis"], b"");
    let shape = ["--format", "magnuss-redis", "--bits", "12118639", "--hashes", "14"];
    let info = json(&succeed(folder, &[&["info", "--json", &default], &shape[..]].concat(), b""));
    assert_eq!(info["health"], "ok", "{info}");
    // A full filter is not in good health.
    let full = url(&server, "full");
    let small = ["--format", "magnuss-redis", "--bits", "64", "--hashes", "7"];
    succeed(folder, &[&["create", &full], &small[..]].concat(), b"");
    succeed(
        folder,
        &[&["add", "-q", "--overfill", &full], &small[..]].concat(),
        &lines("", 0..300),
    );
    let info = json(&succeed(folder, &[&["info", "--json", &full], &small[..]].concat(), b""));
    assert_ne!(info["health"], "ok", "{info}");
    let said = stderr(&run(folder, &[&["check", &full], &small[..]].concat(), b"1\n"));
    assert!(said.contains("all of its bits are set"), "{said}");
    let verified = run(folder, &[&["verify", &full], &small[..]].concat(), b"");
    assert_eq!(verified.status.code(), Some(1), "{verified:?}");
}
