//! Files of other systems: damage, detection, bare bitmaps, forms and columns.

use crate::foreign::{LONG, bytes, golden, joined};
use crate::support::{fail, file, folder, lines, run, stderr, succeed};
use std::io::Read;

#[test]
fn damaged_filters_are_refused_and_left_as_they_are() {
    let folder = folder();
    let folder = folder.path();
    for (name, format) in [
        ("guava/long_mitz64.bin", "guava"),
        ("guava/javaser_long_mitz64.ser", "guava"),
        ("spark/v2_string_seed0.bin", "spark"),
        ("bloomfileter/bf_small_100.obj", "bloomfileter"),
        ("magnuss/classic_a.ser", "magnuss"),
    ] {
        let whole = bytes(name);
        let longer = [&*whole, b"\0"].concat();
        for damaged in [&whole[..whole.len() - 1], &whole[..whole.len() / 2], &whole[..4], &longer]
        {
            file(folder, "f", damaged);
            for verb in ["info", "check", "add"] {
                for flags in [&[verb, "f", "--format", format] as &[&str], &[verb, "f"]] {
                    let talk = fail(folder, flags, b"");
                    assert!(talk.starts_with("mayhap: f: ") && talk.contains("hint: "), "{talk}");
                }
            }
            assert_eq!(std::fs::read(folder.join("f")).unwrap(), damaged);
            let output = run(folder, &["detect", "f"], b"");
            assert_eq!(output.status.code(), Some(1), "{name}: {}", stderr(&output));
        }
    }
    // 16 GiB are declared, 8 bytes are present.
    file(folder, "f", &[&[1, 1, 0x7F, 0xFF, 0xFF, 0xFF][..], &[0; 8]].concat());
    assert!(fail(folder, &["info", "--format", "guava", "f"], b"").contains("hint: "));
    file(folder, "f", &bytes("guava/long_mitz64.bin"));
    assert!(
        fail(folder, &["info", "--max-memory", "1KiB", "f"], b"").contains("above the limit of 1")
    );
    std::fs::create_dir(folder.join("empty")).unwrap();
    for verb in ["info", "check", "add", "verify", "detect"] {
        let wanted = if verb == "check" { "no filter in the folder" } else { "is a folder" };
        assert!(fail(folder, &[verb, "empty"], b"").contains(wanted), "{verb}");
    }
}

#[test]
fn every_golden_file_is_told_by_its_bytes_or_is_a_bare_bitmap() {
    for (system, ending, format) in [
        ("guava", ".bin", "guava"),
        ("guava", ".ser", "guava"),
        ("spark", ".bin", "spark"),
        ("spark", ".ser", "spark"),
        ("bloomfileter", ".obj", "bloomfileter"),
        ("magnuss", ".ser", "magnuss"),
        ("magnuss", ".bin", ""),
        ("redisson", ".bin", ""),
    ] {
        let folder = golden(system);
        let names = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
        let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        let names: Vec<&str> =
            names.iter().map(String::as_str).filter(|name| name.ends_with(ending)).collect();
        assert!(!names.is_empty(), "{system}");
        let output = run(&folder, &[&["detect"], &*names].concat(), b"");
        assert_eq!(output.status.code(), Some(i32::from(format.is_empty())), "{system}{ending}");
        let told = String::from_utf8(output.stdout).unwrap();
        let told = told.lines().map(|line| line.split('\t').take(2).collect::<Vec<_>>());
        let expected = names.iter().filter(|_| !format.is_empty()).map(|&name| vec![name, format]);
        assert!(told.eq(expected), "{system}{ending}");
    }
}

#[test]
fn a_bare_bitmap_needs_m_and_k() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "f", &bytes("magnuss/redis_a.bin"));
    let info = ["info", "f", "--format", "magnuss-redis"];
    assert!(fail(folder, &info, b"").contains("--bits M --hashes K"));
    assert!(fail(folder, &["info", "f"], b"").contains("--format"));
    fail(folder, &[&info[..], &["--bits", "10099"]].concat(), b"");
    let with = |bits, hashes| [&info[..], &["--bits", bits, "--hashes", hashes]].concat();
    succeed(folder, &with("10099", "7"), b"");
    // Too few for the file; more than memory; more than the class can have; none.
    for (bits, hashes) in [("100", "7"), ("2G", "7"), ("10G", "7"), ("10099", "0"), ("10099", "5G")]
    {
        let max = ["--max-memory", "1MiB"];
        fail(folder, &[&with(bits, hashes)[..], &max].concat(), b"");
    }
    // Options cannot contradict the file's own facts.
    file(folder, "f", &bytes("guava/union_a.bin"));
    let other = ["info", "f", "--format", "guava", "--bits", "64", "--hashes", "7"];
    assert!(fail(folder, &other, b"").contains("number of bits: 64 and 4800"));
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut out).unwrap();
    out
}

#[test]
fn forms_of_one_scheme_become_each_other() {
    let folder = folder();
    let folder = folder.path();
    let ser = bytes("guava/javaser_long_mitz64.ser");
    let shape = ["--format", "magnuss", "--bits", "10099", "--hashes", "7"];
    for (from, flags, to, expected) in [
        ("guava/javaser_long_mitz64.ser", &[][..], "guava", bytes("guava/javaser_long_mitz64.bin")),
        ("guava/javaser_long_mitz64.bin", LONG, "guava-java", ser),
        ("spark/v1_merge_a.ser", &[], "spark", bytes("spark/v1_merge_a.bin")),
        ("spark/v2_merge_a.ser", &[], "spark", bytes("spark/v2_merge_a.bin")),
        ("dcso/dcso_c_gz.bloom.gz", &[], "dcso", gunzip(&bytes("dcso/dcso_c_gz.bloom.gz"))),
        ("bits-and-blooms/bb_a.gob", &[], "bits-and-blooms", bytes("bits-and-blooms/bb_a.bin")),
        (
            "bits-and-blooms/bb_a.bin",
            &[],
            "bits-and-blooms-json",
            bytes("bits-and-blooms/bb_a.bloom.json"),
        ),
        ("magnuss/classic_a.ser", &[], "magnuss", bytes("magnuss/classic_a.bin")),
        ("magnuss/classic_a.bin", &shape, "magnuss-redis", bytes("magnuss/redis_a.bin")),
    ] {
        file(folder, "f", &bytes(from));
        let arguments = [&["convert", "f", "--force", "-o", "g", "--to", to], flags].concat();
        succeed(folder, &arguments, b"");
        assert!(std::fs::read(folder.join("g")).unwrap() == expected, "{from} to {to}");
    }
    std::fs::remove_file(folder.join("g")).unwrap();
    file(folder, "f", &bytes("guava/union_a.bin"));
    succeed(folder, &["create", "ours", "-n", "10"], b"");
    for (from, to, says) in [
        ("f", "spark", "its keys are unknown"),
        ("f", "mayhap", "its keys are unknown"),
        ("ours", "guava", "its keys are unknown"),
        ("f", "guva", "not a known form"),
        ("f", "guava-java", "--key-type"),
    ] {
        let talk = fail(folder, &["convert", from, "-o", "g", "--to", to], b"");
        assert!(talk.contains(says) && talk.contains("hint: "), "{talk}");
    }
    assert!(!folder.join("g").exists());
}

#[test]
fn a_column_of_a_parquet_file_is_asked_by_its_name() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "t.parquet", &bytes("parquet/pyarrow.parquet"));
    let numbers: Vec<String> = (0..1000).map(|i: u64| (3 * i + 10).to_string()).collect();
    let numbers = joined(&numbers);
    assert!(succeed(folder, &["check", "t.parquet#l"], &numbers) == numbers);
    let names = lines("user", 0..1000).iter().map(|&b| if b == b'-' { b':' } else { b }).collect();
    let names: Vec<u8> = names;
    assert!(succeed(folder, &["check", "t.parquet#s", "--format", "parquet"], &names) == names);
    let absent = lines("absent", 0..10_000);
    let found = run(folder, &["check", "-c", "t.parquet#s"], &absent).stdout;
    let found: u64 = String::from_utf8(found).unwrap().trim().parse().unwrap();
    // Three row groups, each with a rate of 1 % or less.
    assert!(found < 500, "{found}");
    let talk = fail(folder, &["info", "t.parquet"], b"");
    assert!(
        talk.contains("have filters: s, l, i, d, f, b") && talk.contains("t.parquet#s"),
        "{talk}"
    );
    for column in ["nobf", "absent"] {
        let talk = fail(folder, &["check", &format!("t.parquet#{column}")], b"");
        assert!(talk.contains(column), "{talk}");
    }
    assert!(fail(folder, &["add", "t.parquet#l"], b"1\n").contains("is a column"));
    fail(folder, &["merge", "-o", "made", "t.parquet#l", "t.parquet#l"], b"");
    assert!(!folder.join("made").exists());
    let whole = bytes("parquet/pyarrow.parquet");
    file(folder, "t.parquet", &whole[..whole.len() - 9]);
    fail(folder, &["check", "t.parquet#l"], b"1\n");
}

#[test]
fn a_file_that_may_be_of_two_releases_is_asked_only_when_one_is_named() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "f", &bytes("python/pybloomlive4_a.bin"));
    let talk = fail(folder, &["info", "f"], b"");
    let both = talk.contains("pybloom-live3") && talk.contains("pybloom-live4");
    assert!(both && talk.contains("--format"), "{talk}");
    let told = succeed(folder, &["detect", "f"], b"");
    assert_eq!(String::from_utf8(told).unwrap().lines().count(), 2);
    succeed(folder, &["info", "--format", "pybloom-live4", "f"], b"");
}

#[test]
fn a_format_without_a_mark_is_never_told() {
    let folder = folder();
    let folder = folder.path();
    // Its first number, 1, would be the k of rbloom.
    file(folder, "f", &bytes("dcso/dcso_a.bloom"));
    let told = String::from_utf8(succeed(folder, &["detect", "f"], b"")).unwrap();
    assert_eq!(told, "f\tdcso\tplain\t\n");
    let members: Vec<String> = (0..900).map(|i: u64| format!("user:{i}")).collect();
    let members = joined(&members);
    assert!(succeed(folder, &["check", "f"], &members) == members);
    file(folder, "g", &bytes("python/rbloom_a.bin"));
    let output = run(folder, &["detect", "g"], b"");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b""[..]));
    for verb in ["info", "check", "add"] {
        fail(folder, &[verb, "g"], b"a\n");
    }
    succeed(folder, &["info", "--format", "rbloom", "g"], b"");
}

#[test]
fn a_column_is_only_of_a_table() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "f", &bytes("guava/union_a.bin"));
    assert!(fail(folder, &["info", "f#ids"], b"").contains("the column \"ids\""));
    // A file of that name is one.
    file(folder, "f#ids", &bytes("guava/union_a.bin"));
    succeed(folder, &["info", "f#ids"], b"");
}

#[test]
fn a_bloomfileter_is_cleared_as_by_its_class_and_others_are_refused() {
    let folder = folder();
    let folder = folder.path();
    for name in ["bloomfileter/bf_empty.obj", "bloomfileter/bf_cleared.obj"] {
        file(folder, "f", &bytes(name));
        succeed(folder, &["add", "-q", "f"], b"a\n");
        let filled = std::fs::read(folder.join("f")).unwrap();
        assert!(filled != bytes(name));
        let talk = fail(folder, &["clear", "f"], b"");
        assert!(talk.contains("f has 1 key, which could not be recovered"), "{talk}");
        assert!(std::fs::read(folder.join("f")).unwrap() == filled);
        let output = run(folder, &["clear", "--force", "f"], b"");
        assert!(output.status.success() && stderr(&output).starts_with("f: empty\n"));
        let info = String::from_utf8(succeed(folder, &["info", "f"], b"")).unwrap();
        assert!(info.contains("\nfill        0.00 %\n"), "{info}");
        assert!(info.contains("\nuse count   0\n"), "{info}");
        assert_eq!(run(folder, &["check", "f"], b"a\n").status.code(), Some(1), "{name}");
    }
    file(folder, "g", &bytes("guava/union_a.bin"));
    let talk = fail(folder, &["clear", "--force", "g"], b"");
    assert!(talk.contains("g is a guava filter, which its system cannot clear"), "{talk}");
    assert!(talk.contains("hint: create it again: mayhap create --force g --format guava"));
    assert!(std::fs::read(folder.join("g")).unwrap() == bytes("guava/union_a.bin"));
}

#[test]
fn names_of_facts_are_set_apart_from_their_values() {
    let folder = folder();
    file(folder.path(), "f", &bytes("bloomfileter/bf_autoclear_0_5.obj"));
    let info = String::from_utf8(succeed(folder.path(), &["info", "f"], b"")).unwrap();
    assert!(info.contains("\nuse rate    0.5\nauto clear rate 0.5\n"), "{info}");
}

#[test]
fn the_rate_of_a_bloomfileter_is_not_reported_without_a_warning() {
    let folder = folder();
    let folder = folder.path();
    let create = ["--format", "bloomfileter", "-n", "1000", "-p", "1e-6"];
    // Hundreds of 1,000 similar absent keys are taken for present at a rate of nearly 0.
    file(folder, "keys", &lines("in", 0..1000));
    let warning = "its hash takes many short or similar keys for one another";
    let output = run(folder, &[&["build", "-o", "f"], &create[..], &["keys"]].concat(), b"");
    assert!(stderr(&output).contains(&format!("\nwarning: {warning}")), "{}", stderr(&output));
    let found = run(folder, &["check", "-c", "f"], &lines("io", 0..1000)).stdout;
    let found: u64 = String::from_utf8(found).unwrap().trim().parse().unwrap();
    assert!(found > 400, "{found} of 1,000 at a rate of 1e-6");
    for verb in ["info", "verify"] {
        let text = String::from_utf8(run(folder, &[verb, "f"], b"").stdout).unwrap();
        assert!(text.contains(&format!("\nwarning     {warning}")), "{verb}: {text}");
    }
    file(folder, "g", &bytes("guava/union_a.bin"));
    let info = String::from_utf8(succeed(folder, &["info", "g"], b"")).unwrap();
    assert!(!info.contains(warning), "{info}");
}
