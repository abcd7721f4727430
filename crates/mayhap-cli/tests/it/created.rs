//! Filters of other systems, created here: byte for byte like the systems' own, by the golden files
//! of `mayhap-formats`.

use crate::foreign::{bytes, joined, notes, of_rule};
use crate::support::{fail, file, folder, json, lines, numbers, run, stderr, succeed};
use serde_json::Value;
use std::path::Path;

/// A golden filter that the command has to create.
struct Case {
    notes: &'static str,
    file: &'static str,
    flags: &'static [&'static str],
    /// The bytes of our file that equal the golden one, beginning here in both.
    from: Compared,
}

/// The parts of the two files that have to be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    Whole,
    /// The original leaves a pointer in the header.
    From(usize),
    /// The golden file is a bare bit set, ours has a header.
    BitSet,
    /// The golden files are the chunks of ours.
    Chunks,
}

const fn case(notes: &'static str, file: &'static str, flags: &'static [&'static str]) -> Case {
    Case { notes, file, flags, from: Compared::Whole }
}

const CASES: [Case; 19] = [
    case("guava/default_fpp_mitz64", "guava/default_fpp_mitz64.bin", &["guava"]),
    case("guava/long_mitz64", "guava/long_mitz64.bin", &["guava", "--key-type", "long"]),
    case("guava/large_mitz64", "guava/large_mitz64.bin", &["guava", "--key-type", "long"]),
    case("guava/high_fpp_mitz64", "guava/high_fpp_mitz64.bin", &["guava"]),
    case("spark/v1_big", "spark/v1_big.bin", &["spark", "--key-type", "long"]),
    case(
        "spark/v2_long_seed42",
        "spark/v2_long_seed42.bin",
        &["spark", "--key-type", "long", "--seed", "42"],
    ),
    case("bits-and-blooms/bb_a", "bits-and-blooms/bb_a.bin", &["bits-and-blooms"]),
    case("bits-and-blooms/bb_b", "bits-and-blooms/bb_b.bin", &["bits-and-blooms"]),
    case("bits-and-blooms/bb_big", "bits-and-blooms/bb_big.bin", &["bits-and-blooms"]),
    case("dcso/dcso_b", "dcso/dcso_b.bloom", &["dcso"]),
    case("python/rbloom_b", "python/rbloom_b.bin", &["rbloom", "--key-type", "bytes"]),
    case("python/pybloomlive3_a", "python/pybloomlive3_a.bin", &["pybloom-live3"]),
    case("python/pybloomlive4_a", "python/pybloomlive4_a.bin", &["pybloom-live"]),
    Case {
        from: Compared::From(1077),
        ..case("python/pybloommmap_a", "python/pybloommmap_a.bin", &["pybloomfiltermmap"])
    },
    Case {
        from: Compared::Chunks,
        ..case("redisbloom/rb_default", "redisbloom/rb_default.header", &["redisbloom"])
    },
    case("redisson/rb_kryo5_string", "redisson/rb_kryo5_string.bin", &["redisson"]),
    case("magnuss/classic_b", "magnuss/classic_b.bin", &["magnuss"]),
    case("magnuss/redis_a", "magnuss/redis_a.bin", &["magnuss-redis"]),
    Case {
        from: Compared::BitSet,
        ..case("parquet/sbbf_bytes", "parquet/sbbf_bytes.bin", &["parquet-sbbf"])
    },
];

/// A parameter, by the names that the notes of the systems have for it.
fn parameter(notes: &Value, names: &[&str]) -> String {
    let found = names.iter().find_map(|name| notes.get(name).or(notes["header"].get(name)));
    match found.unwrap() {
        Value::String(text) => text.clone(),
        number => number.to_string(),
    }
}

/// The keys that are written one by one.
fn explicit(notes: &Value) -> Vec<String> {
    let rows = notes["members_explicit"].as_array().map_or(&[][..], Vec::as_slice);
    let text = |row: &Value| {
        let places = [Some(row), row.get("text"), row.get("key"), row["key"].get("text")];
        let dec = row["key"].get("dec");
        let text = places.into_iter().flatten().chain(dec).find_map(Value::as_str);
        text.unwrap_or_else(|| panic!("no line: {row}")).to_owned()
    };
    rows.iter().map(text).collect()
}

impl Case {
    fn members(&self, notes: &Value) -> Vec<u8> {
        let mut members = explicit(notes);
        members.extend(of_rule(&notes["members_rule"]));
        assert!(
            members.iter().all(|key| !key.contains('\n')),
            "{}: a key of two lines",
            self.notes
        );
        joined(&members)
    }

    /// The arguments for its size, its system and its keys.
    fn creation(&self, notes: &Value) -> Vec<String> {
        let items = ["expected_insertions", "expected_items", "n", "capacity", "ndv"];
        let mut all = vec!["-n".to_owned(), parameter(notes, &items)];
        all.extend(["-p".to_owned(), parameter(notes, &["fpp", "p", "error_rate", "error", "f"])]);
        all.push("--format".to_owned());
        all.extend(self.flags.iter().map(|flag| (*flag).to_owned()));
        if let Some(seeds) = notes["hash_seeds"].as_array() {
            let seeds: Vec<String> = seeds.iter().map(ToString::to_string).collect();
            all.extend(["--hash-seeds".to_owned(), seeds.join(",")]);
        }
        all
    }

    /// Compares a file with the golden one.
    fn compare(&self, folder: &Path, name: &str) {
        let (ours, golden) = (std::fs::read(folder.join(name)).unwrap(), bytes(self.file));
        let same = match self.from {
            Compared::Whole => ours == golden,
            Compared::From(start) => ours[start..] == golden[start..] && ours.len() == golden.len(),
            Compared::BitSet => ours.ends_with(&golden) && ours.len() < golden.len() + 32,
            Compared::Chunks => {
                let bits = bytes(&self.file.replace(".header", ".bits"));
                chunks(&ours).concat() == [golden, bits].concat()
            }
        };
        assert!(same, "{}: {name} is not as the system created it", self.notes);
    }
}

/// The bytes of the chunks of a `RedisBloom` dump.
fn chunks(mut dump: &[u8]) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    dump = dump.strip_prefix(b"RedisBloom dump\n").unwrap();
    while let Some((head, rest)) = dump.split_at_checked(16) {
        let len = u64::from_le_bytes(head[8..].try_into().unwrap());
        let (chunk, rest) = rest.split_at(len.try_into().unwrap());
        chunks.push(chunk.to_vec());
        dump = rest;
    }
    chunks
}

fn strs<'a>(first: &[&'a str], rest: &'a [String]) -> Vec<&'a str> {
    first.iter().copied().chain(rest.iter().map(String::as_str)).collect()
}

#[test]
fn build_writes_the_bytes_that_each_system_wrote_for_the_same_keys_and_numbers() {
    for case in &CASES {
        let folder = folder();
        let notes = notes(case.notes);
        let (members, creation) = (case.members(&notes), case.creation(&notes));
        let build = strs(&["build", "-q", "--overfill", "--json", "-o", "f"], &creation);
        let summary = json(&succeed(folder.path(), &build, &members));
        case.compare(folder.path(), "f");
        let count = members.split(|&byte| byte == b'\n').count() - 1;
        assert_eq!(summary["lines_read"], count, "{}", case.notes);
        assert_eq!(summary["lines_without_key"], 0, "{}", case.notes);
    }
}

#[test]
fn create_and_add_give_the_file_that_build_does() {
    for case in &CASES {
        let folder = folder();
        let notes = notes(case.notes);
        let (members, creation) = (case.members(&notes), case.creation(&notes));
        let create = strs(&["create", "-q", "--json", "f"], &creation);
        let summary = json(&succeed(folder.path(), &create, b""));
        assert_eq!((&summary["new"], &summary["fill_ratio"]), (&0.into(), &0.0.into()));
        // The parameters that the file does not record.
        let (bits, hashes) = (summary["num_bits"].to_string(), summary["num_hashes"].to_string());
        let mut add = vec!["add", "-q", "--overfill", "--format", case.flags[0]];
        if let Some(i) = case.flags.iter().position(|&flag| flag == "--key-type") {
            add.extend(&case.flags[i..i + 2]);
        }
        if ["redisson", "magnuss", "magnuss-redis"].contains(&case.flags[0]) {
            add.extend(["--bits", &bits, "--hashes", &hashes]);
        }
        add.push("f");
        succeed(folder.path(), &add, &members);
        case.compare(folder.path(), "f");
    }
}

#[test]
fn an_object_names_the_class_that_reads_it() {
    let folder = folder();
    let folder = folder.path();
    // The preset MIDDLE, 16 bits per key, has a rate of 6.5e-4.
    let create = ["create", "--format", "bloomfileter", "-n", "9", "-p", "0.001"];
    let class = ["--class", "com.unclezs.novel.utis.BloomFileter", "f"];
    succeed(folder, &[&create[..], &class].concat(), b"");
    assert_eq!(std::fs::read(folder.join("f")).unwrap(), bytes("bloomfileter/bf_empty.obj"));
    succeed(folder, &[&create[..], &["g"]].concat(), b"");
    let info = json(&succeed(folder, &["info", "--json", "g"], b""));
    assert_eq!(info["facts"]["class"], "BloomFileter");
}

/// Every format, with a rate that it can have.
const FORMATS: [&str; 14] = [
    "guava",
    "spark",
    "redisson",
    "redisbloom",
    "dcso",
    "bits-and-blooms",
    "bloomfileter",
    "magnuss",
    "magnuss-redis",
    "rbloom",
    "pybloom-live",
    "pybloom-live3",
    "pybloomfiltermmap",
    "parquet-sbbf",
];

/// The options with which a file that was built with this summary is opened.
fn opening(format: &str, summary: &Value) -> Vec<String> {
    let mut all = vec!["--format".to_owned(), format.to_owned()];
    if ["redisson", "magnuss", "magnuss-redis"].contains(&format) {
        let number = |name: &str| summary[name].to_string();
        all.extend(["--bits".into(), number("num_bits"), "--hashes".into(), number("num_hashes")]);
    }
    all
}

#[test]
fn filters_of_every_format_hold_counted_keys_at_the_rate_that_they_report() {
    // Random, as BloomFileter hashes most numbers after a prefix to the same value.
    let key = |number: u64| format!("{:06}{number:016x}\n", number >> 44);
    let keys: Vec<u8> = numbers(1).take(3_000).flat_map(|n| key(n).into_bytes()).collect();
    let absent: Vec<u8> = numbers(2).take(50_000).flat_map(|n| key(n).into_bytes()).collect();
    for format in FORMATS {
        let folder = folder();
        let folder = folder.path();
        let list = file(folder, "keys", &keys);
        let list = list.to_str().unwrap();
        // Without -n: the list is counted, and there is room for all of it.
        let build = ["build", "--json", "--format", format, "-p", "2%", "-o", "f", list];
        let output = run(folder, &build, b"");
        assert!(output.status.success(), "{format}: {}", stderr(&output));
        let summary = json(&output.stdout);
        assert_eq!(summary["lines_read"], 3_000, "{format}");
        let opening = opening(format, &summary);
        let check = strs(&["check", "-c"], &opening);
        let found = |keys: &[u8]| -> f64 {
            let output = run(folder, &[&check[..], &["f"]].concat(), keys);
            String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
        };
        assert_eq!(found(&keys), 3_000.0, "{format}: a key is absent");
        if format == "bloomfileter" {
            // No formula has the rate of its hash.
            continue;
        }
        let rate = summary["estimated_fpp"].as_f64().unwrap();
        let (expected, measured) = (50_000.0 * rate, found(&absent));
        let sigma = (expected * (1.0 - rate)).sqrt();
        // Redisson's rate is a sample, accurate to 2 %.
        let sampled = if format == "redisson" { 0.02 * expected } else { 0.0 };
        assert!(
            (measured - expected).abs() <= 3.0 * sigma + sampled,
            "{format}: {measured} of 50,000 absent keys, predicted {expected}"
        );
        assert!(rate < 0.03, "{format}: {rate}");
    }
}

/// Arguments beside the file, the refusal, and the next step.
const REFUSED: &[(&[&str], &str, &str)] = &[
    (
        &["--format", "guava", "-n", "1", "-p", "0.9"],
        "cannot create f as a guava filter: Could not create BloomFilter of 0 bits: data \
         length is zero!",
        "choose another number of keys (-n) or another rate (-p)",
    ),
    (&["--format", "guava", "-n", "100G", "-p", "1%"], "Out of range", "choose another number"),
    (
        &["--format", "spark", "-n", "1G", "-p", "1%", "--max-memory", "16GiB"],
        "number of bits of version 1 (a seed chooses version 2) is 9585058432, above the limit \
         of 2147483648",
        "choose fewer keys (-n) or a higher rate (-p)",
    ),
    (
        &["--format", "spark", "-n", "10", "--seed", "3000000000"],
        "seed is 3000000000, above the limit of 2147483647",
        "choose a smaller one",
    ),
    (
        &["--format", "redisson", "-n", "1G", "-p", "1%"],
        "Bloom filter size can't be greater than 4294967294. But calculated size is 9585058377",
        "choose another number of keys",
    ),
    (
        &["--format", "redisbloom", "-n", "2G"],
        "ERR capacity must be in the range [1, 1073741824]",
        "choose another number of keys",
    ),
    (
        &["--format", "bloomfileter", "-n", "100", "-p", "1e-7"],
        "p is 0.0000001, allowed is 4.3e-7 and more, which the preset HIGH has",
        "choose another rate (-p)",
    ),
    (
        &["--format", "bloomfileter", "-n", "134217728", "-p", "6e-4"],
        "number of bits is 4294967296, above the limit of 2147483647",
        "choose fewer keys",
    ),
    (
        &["--format", "magnuss-redis", "-n", "1G", "-p", "1%"],
        "number of bits is 10098865287, above the limit of 2147483647",
        "choose fewer keys",
    ),
    (
        &["--format", "magnuss", "-n", "3G"],
        "number of keys is 3000000000, above the limit of 2147483647",
        "choose fewer keys",
    ),
    (&["--format", "rbloom", "-n", "9", "-p", "0.6"], "0 hash functions", "choose another"),
    (
        &["--format", "parquet-sbbf", "-n", "1G", "-p", "1e-4"],
        "number of keys is 1000000000, above the limit of",
        "choose fewer keys",
    ),
    (&["--format", "dcso", "-n", "0"], "capacity is 0", "choose another number of keys"),
    (
        &["--format", "dcso", "-n", "1M", "-p", "1%", "--max-memory", "1MiB"],
        "the filter needs 1.14 MiB, above the limit of 1.00 MiB",
        "--max-memory",
    ),
    (
        &["--format", "guava", "-n", "9", "--seed", "1"],
        "a seed is not possible with a guava filter: only spark filters of version 2 have one",
        "omit it",
    ),
    (
        &["--format", "guava", "-n", "9", "--hash-seeds", "1,2"],
        "choosing the seeds of its hash functions is not possible with a guava filter",
        "omit it",
    ),
    (
        &["--format", "spark", "-n", "9", "--class", "a.B"],
        "naming its class is not possible with a spark filter",
        "omit it",
    ),
    (
        &["--format", "guava", "-n", "9", "--layout", "counting"],
        "--layout counting is given, but a guava filter has a fixed layout",
        "omit --layout; or omit --format, for mayhap's own counting filter",
    ),
    (
        &["--format", "guava", "--mem", "1MiB"],
        "--mem does not size a guava filter",
        "give the keys with -n",
    ),
    (
        &["--format", "guava", "-n", "9", "--new-key-file", "key"],
        "a secret key is given, but a guava filter is hashed without one",
        "omit it",
    ),
    (
        &["--format", "guava", "--bits", "64", "--hashes", "3"],
        "choosing m and k is not possible with a guava filter",
        "give -n and -p instead",
    ),
    (
        &["--format", "magnuss", "--bits", "64", "--hashes", "3", "-n", "9"],
        "--bits and --hashes are given, and -n or -p",
        "omit one",
    ),
    (
        &["--format", "guava", "-n", "9", "--key-type", "kryo-int"],
        "this guava filter has no keys of type kryo-int",
        "choose one of these with --key-type",
    ),
    (
        &["--key-type", "long", "-n", "9"],
        "--key-type long is given, and no --format",
        "omit it: mayhap's own filters hash the bytes of a key; or name a system",
    ),
];

#[test]
fn what_a_system_cannot_have_is_refused_with_the_next_step_and_nothing_is_written() {
    let folder = folder();
    let folder = folder.path();
    for (arguments, problem, hint) in REFUSED {
        for verb in [&["create", "f"][..], &["build", "-o", "f"]] {
            let talk = fail(folder, &[verb, *arguments].concat(), b"key\n");
            assert!(talk.contains(*problem), "{arguments:?}: {talk}");
            let hints = talk.split_once("hint: ").map(|(_, hint)| hint);
            assert!(hints.is_some_and(|hints| hints.contains(*hint)), "{arguments:?}: {talk}");
        }
        let left: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
        assert!(left.is_empty(), "{arguments:?}: {left:?}");
    }
    let talk = fail(folder, &["create", "f", "--format", "guava"], b"");
    assert!(talk.contains("the capacity is missing: -n is not given"), "{talk}");
    assert!(talk.contains("mayhap create f --format guava -n 10M -p 0.1%"), "{talk}");
    let talk = fail(folder, &["build", "-o", "f", "--format", "guava"], b"key\n");
    assert!(talk.contains("so -n must be given"), "{talk}");
    let create = ["create", "redis://127.0.0.1:1/0/f", "--format", "redisson", "--class", "A"];
    let talk = fail(folder, &[&create[..], &["-n", "9"]].concat(), b"");
    assert!(talk.contains("--class is given, but no filter on a server has that"), "{talk}");
}

#[test]
fn a_bitmap_names_the_options_that_open_it_and_what_its_system_needs() {
    let folder = folder();
    let folder = folder.path();
    let create = ["create", "--format", "redisson", "-n", "300", "-p", "1e-4", "users"];
    let talk = stderr(&run(folder, &create, b""));
    assert!(talk.contains("use it with --format redisson --bits 5751 --hashes 13\n"), "{talk}");
    assert!(
        talk.contains(
            "users: for the Redisson filter NAME: redis-cli -x SET NAME < users; redis-cli HSET \
             '{NAME}:config' size 5751 hashIterations 13 expectedInsertions 300 falseProbability \
             1.0E-4\n"
        ),
        "{talk}"
    );
    // No bit is set, so the value is empty.
    assert_eq!(std::fs::read(folder.join("users")).unwrap(), b"");
    let shape = ["--format", "redisson", "--bits", "5751", "--hashes", "13", "users"];
    let info = json(&succeed(folder, &[&["info", "--json"], &shape[..]].concat(), b""));
    assert_eq!((&info["num_bits"], &info["fill_ratio"]), (&5751.into(), &0.0.into()));
    succeed(folder, &[&["add"], &shape[..]].concat(), b"one\ntwo\n");
    let found = succeed(folder, &[&["check"], &shape[..]].concat(), b"one\nthree\n");
    assert_eq!(found, b"one\n");
    // Where the system takes m and k themselves.
    let shape = ["--format", "bits-and-blooms", "--bits", "100", "--hashes", "3"];
    succeed(folder, &[&["build", "-o", "b"], &shape[..]].concat(), b"one\n");
    let info = json(&succeed(folder, &["info", "--json", "b"], b""));
    assert_eq!((&info["num_bits"], &info["num_hashes"]), (&100.into(), &3.into()));
    let shape = ["--format", "magnuss-redis", "--bits", "100", "--hashes", "3"];
    let talk = stderr(&run(folder, &[&["build", "-o", "m"], &shape[..]].concat(), b"one\n"));
    assert!(talk.contains("--format magnuss-redis --bits 100 --hashes 3\n"), "{talk}");
    let check = [&["check"], &shape[..], &["m"]].concat();
    assert_eq!(succeed(folder, &check, b"one\ntwo\n"), b"one\n");
}

#[test]
fn build_stops_at_the_given_number_of_keys_and_leaves_the_old_file() {
    let folder = folder();
    let folder = folder.path();
    file(folder, "f", b"old");
    let build = ["build", "-o", "f", "--format", "guava", "-n", "100", "-p", "1e-3"];
    let keys = lines("key", 0..200);
    assert!(fail(folder, &build, &keys).contains("f exists"), "it was replaced");
    let forced = [&build[..], &["--force"]].concat();
    let talk = fail(folder, &forced, &keys);
    assert!(talk.contains("is full") && talk.contains("nothing was written"), "{talk}");
    assert_eq!(std::fs::read(folder.join("f")).unwrap(), b"old");
    let talk = stderr(&run(folder, &[&forced[..], &["--overfill"]].concat(), &keys));
    assert!(talk.contains("its capacity is 100 keys"), "{talk}");
    assert_eq!(std::fs::read(folder.join("f")).unwrap()[..2], [1, 10]);
    // As many keys as it is for, and one repeat.
    let mut keys = lines("key", 0..100);
    keys.extend(b"key-7\n");
    let output = run(folder, &[&forced[..], &["--json"]].concat(), &keys);
    let (summary, talk) = (json(&output.stdout), stderr(&output));
    assert_eq!((&summary["new"], &summary["already_there"]), (&100.into(), &1.into()));
    // Its estimate may be above the number by chance.
    assert!(!talk.contains("its capacity"), "{talk}");
    assert_eq!((&summary["expected_items"], &summary["target_fpp"]), (&100.into(), &1e-3.into()));
}

#[test]
fn keys_are_encoded_as_the_system_does_and_lines_that_are_none_are_left_out() {
    let folder = folder();
    let folder = folder.path();
    let build = ["build", "-o", "f", "--format", "spark", "-n", "100", "--key-type", "long"];
    let talk = stderr(&run(folder, &build, b"17\nseventeen\n18\n"));
    assert!(talk.contains("1 line is no key for f (first: line 2: "), "{talk}");
    assert!(talk.contains("2 new, 0 already there (3 lines"), "{talk}");
    let check = ["check", "--key-type", "long", "f"];
    assert_eq!(succeed(folder, &check, b"17\n18\n19\n"), b"17\n18\n");
    // Without a type the usual one is used, and named; how keys are cut is not in the file.
    let build = ["build", "-o", "g", "--format", "rbloom", "-n", "100", "--field", "2"];
    let talk = stderr(&run(folder, &build, b"a\tone\nb\ttwo\n"));
    assert!(talk.contains("keys are encoded as pickled-str (--key-type chooses: "), "{talk}");
    assert!(talk.contains("cannot record that"), "{talk}");
    let check = ["check", "--format", "rbloom", "g"];
    assert_eq!(succeed(folder, &check, b"one\nthree\n"), b"one\n");
}
