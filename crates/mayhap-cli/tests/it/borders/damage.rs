//! Native files of every kind, damaged in every way, read by everything that reads them: an
//! inserted key is found, or there is an error; never "surely not", and never a crash.

use super::is_whole;
use crate::support::{folder, lines, mayhap, run, stderr, succeed};
use mayhap::native::{HEADER_BYTES, PAGE_BYTES};
use mayhap::{Bitmap, BloomMatrix, Digest, DigestFunction, SecretKey, Segment};
use mayhap_engine::keyspace::{Files, Keyspace, Options};
use mayhap_sets::{KeySet, Keys, ReadFile};
use mayhap_store::{LiveFilter, Memory, Snapshot};
use std::fs;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// Keys in each filter, of several pages.
const KEYS: u64 = 2_000;
/// The number of these keys that only a log has, where there is one.
const IN_LOG: u64 = 300;
/// The same for a log that is held beside the mapped filter.
const IN_SHORT_LOG: u64 = 100;
/// Damages of each file.
const DAMAGES: u64 = 400;
const SECTOR_BYTES: usize = 512;

/// A file of each kind, and the commands that write it from `keys.txt`.
const KINDS: [(&str, &[&str]); 15] = [
    ("blocked", &["build -q -n 12k -p 1e-4 --layout blocked -o f keys.txt"]),
    ("standard", &["build -q -n 12k -p 1e-4 --layout standard -o f keys.txt"]),
    ("counting", &["build -q -n 8k -p 1e-3 --layout counting -o f keys.txt"]),
    ("compact", &["build -q -n 9k -p 1e-3 --layout compact -o f keys.txt"]),
    ("scalable", &["build -q -n 1k -p 1e-4 --layout scalable -o f keys.txt"]),
    ("window of keys", &["create -q --layout window:8k -p 1e-3 f", "add -q f keys.txt"]),
    ("window of time", &["create -q --layout window:1d -n 8k -p 1e-3 f", "add -q f keys.txt"]),
    ("fuse", &["build -q --layout fuse -p 1e-4 -o f keys.txt"]),
    ("ribbon", &["build -q --frozen -p 1e-4 -o f keys.txt"]),
    ("matrix", &["build -q --layout matrix -p 0.1 -o f keys.txt keys.txt"]),
    ("segment", &["build -q -n 12k -p 1e-4 --layout blocked --segment 1/1 -o f keys.txt"]),
    ("clearing", &["create -q -n 12k -p 1e-4 f", "add -q --clear-at 90% f keys.txt"]),
    ("with digests", &["build -q -n 12k -p 1e-4 --keep-digests -o f keys.txt"]),
    ("with a log", &["build -q -n 12k -p 1e-4 -o f keys.txt"]),
    ("with a short log", &["build -q -n 12k -p 1e-4 -o f keys.txt"]),
];

/// The verbs that read `f`, and the sign of a key taken for absent: missing lines, or printed ones.
const VERBS: [(&str, Shows); 9] = [
    ("check f keys.txt", Shows::AllKeys),
    ("filter f keys.txt", Shows::AllKeys),
    ("which -f f keys.txt", Shows::AllKeys),
    ("info f", Shows::Nothing),
    ("verify f keys.txt", Shows::Nothing),
    ("add f none.txt", Shows::AllKeysIn("f")),
    ("dedup --state f keys.txt", Shows::NoKey),
    ("merge --force -o g f f", Shows::AllKeysIn("g")),
    ("grow --force -n 20k -o g f", Shows::AllKeysIn("g")),
];

/// The output of a successful command for keys that are in the filter.
#[derive(Debug, Clone, Copy)]
enum Shows {
    /// All of them, a line each.
    AllKeys,
    /// None of the keys.
    NoKey,
    Nothing,
    /// No output, but this file has all of them.
    AllKeysIn(&'static str),
}

/// Small numbers that repeat from run to run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((u128::from(self.0) * limit as u128) >> 64) as usize
    }
}

/// The bytes of a file after the damage of this number.
fn damaged(bytes: &[u8], number: u64) -> Vec<u8> {
    let mut random = Random(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    random.below(2);
    let mut bytes = bytes.to_vec();
    let len = bytes.len();
    let pages = (len - HEADER_BYTES) / (PAGE_BYTES + 8);
    let page = |number: usize| HEADER_BYTES + number * PAGE_BYTES;
    let (one, other) = (page(random.below(pages)), page(random.below(pages)));
    match number % 10 {
        0 => bytes[random.below(len)] ^= 1 << random.below(8),
        1 => bytes[random.below(len)] = random.below(256) as u8,
        2 => bytes.truncate(random.below(len)),
        3 => bytes[one..one + PAGE_BYTES].fill(0),
        4 => {
            let start = random.below(len / SECTOR_BYTES) * SECTOR_BYTES;
            bytes[start..start + SECTOR_BYTES].fill(0);
        }
        5 => bytes.extend((0..=random.below(2 * PAGE_BYTES)).map(|i| i as u8)),
        6 => bytes.copy_within(one..one + PAGE_BYTES, other),
        7 => (0..PAGE_BYTES).for_each(|i| bytes.swap(one + i, other + i)),
        8 => bytes[random.below(512)] ^= 1 << random.below(8),
        _ => {
            let table = page(pages);
            bytes[table + random.below(len - table)] ^= 1 << random.below(8);
        }
    }
    bytes
}

/// A filter of a kind in `folder`, and a list of its keys.
fn write(folder: &Path, (kind, commands): (&str, &[&str])) {
    // The number of keys in the log, and in each record.
    let (in_log, in_record) = match kind {
        "with a log" => (IN_LOG, 1),
        "with a short log" => (IN_SHORT_LOG, IN_SHORT_LOG as usize),
        _ => (0, 1),
    };
    let keys = KEYS - in_log;
    fs::write(folder.join("keys.txt"), lines("key", 0..keys)).unwrap();
    fs::write(folder.join("none.txt"), b"").unwrap();
    for command in commands {
        succeed(folder, &command.split(' ').collect::<Vec<_>>(), b"");
    }
    if in_log > 0 {
        let (mut live, _) = LiveFilter::open(&folder.join("f"), None).unwrap();
        let function = *live.filter().digest_function();
        for digests in digests(&function)[keys as usize..].chunks(in_record) {
            for &digest in digests {
                live.filter_mut().insert_digest(digest);
            }
            live.record(digests).unwrap();
        }
        assert_eq!(live.log_bytes() < 2_000, in_record > 1);
    }
    fs::write(folder.join("keys.txt"), lines("key", 0..KEYS)).unwrap();
}

fn digests(function: &DigestFunction) -> Vec<Digest> {
    (0..KEYS).map(|i| function.digest(&*format!("key-{i}"))).collect()
}

/// The number of keys found by a server that serves the file from its start; `None` where it
/// answers with an error, as for kinds that it does not serve.
fn found_by_a_server(path: &Path) -> Option<u64> {
    let keyspace = Keyspace::new(Options::new(SecretKey::new([7; 16])));
    let served = Files::serve(&keyspace, path).is_ok();
    let entry = keyspace.get(b"f", 0).expect("its name is taken");
    let keys = (0..KEYS).map(|i| entry.contains(format!("key-{i}").as_bytes(), 1));
    let found = keys.filter(|&found| found).count() as u64;
    let is_sound = entry.check_file().is_ok();
    assert!(served || !is_sound);
    is_sound.then_some(found)
}

/// The number of keys found by each way to read the file; nothing for one that reports an error.
fn found(path: &Path) -> Vec<(&'static str, u64)> {
    let mut found = Vec::new();
    let mut bits = Bitmap::new();
    if let Ok(matrix) = mayhap_store::load_as::<BloomMatrix>(path, None) {
        let mut keys = 0;
        let digests = digests(matrix.filter.digest_function());
        matrix
            .filter
            .which_digests(&digests, |_, sets| keys += u64::from(sets.iter().count() == 2));
        found.push(("a matrix", keys));
    }
    if let Ok(segment) = mayhap_store::load_as::<Segment>(path, None) {
        let digests = digests(segment.filter.digest_function());
        found.push((
            "a segment",
            segment.filter.contains_digests(&digests).unwrap().count_ones() as u64,
        ));
    }
    if let Ok(mut file) = ReadFile::open(path, None, (false, false), &|_| {}) {
        let digests = digests(&file.set.digest_function().unwrap());
        let read = file.set.contains_into(Keys::from(&*digests), &mut bits);
        if read.and_then(|()| file.set.check_unchanged()).is_ok() {
            found.push(("queries", bits.count_ones() as u64));
        }
    }
    if let Ok(mapped) = mayhap_store::open_mapped(path, None) {
        let digests = digests(mapped.digest_function());
        let one_by_one = digests.iter().filter(|&&digest| mapped.contains_digest(digest)).count();
        if mapped.check().is_ok() {
            found.push(("a map", one_by_one as u64));
        }
    }
    found.extend(found_by_a_server(path).map(|keys| ("a server", keys)));
    if let Ok(snapshot) = Snapshot::open(path)
        && let Ok(mut set) = mayhap_sets::load(snapshot.image(), None)
        && snapshot.check().is_ok()
        && snapshot.replay(|record| set.apply(record)).is_ok()
    {
        let digests = digests(&set.digest_function().unwrap());
        set.contains_into(Keys::from(&*digests), &mut bits).unwrap();
        found.push(("changes", bits.count_ones() as u64));
    }
    found
}

#[test]
fn no_damage_of_a_file_makes_a_key_absent() {
    let step = if is_whole() { 1 } else { 13 };
    let mut wrong = Vec::new();
    for kind in KINDS {
        let folder = folder();
        write(folder.path(), kind);
        let path = &folder.path().join("f");
        let sound = fs::read(path).unwrap();
        let ways = found(path);
        assert!(!ways.is_empty() && ways.iter().all(|&(_, keys)| keys == KEYS), "{ways:?}");
        let mut refused = 0;
        for number in (0..DAMAGES).step_by(step) {
            let bytes = damaged(&sound, number);
            if bytes == sound {
                continue;
            }
            fs::write(path, &bytes).unwrap();
            assert!(mayhap_store::verify(path).is_err(), "{}: {number}", kind.0);
            let found = found(path);
            refused += u64::from(found.is_empty());
            let lost = found.into_iter().filter(|&(_, keys)| keys != KEYS);
            wrong.extend(lost.map(|(way, keys)| format!("{}: {number}: {way} {keys}", kind.0)));
        }
        println!("{}: {refused} refused by all", kind.0);
    }
    assert!(wrong.is_empty(), "{} wrong: {:?}", wrong.len(), &wrong[..wrong.len().min(9)]);
}

/// Restores files.
fn restore(files: &[(&PathBuf, Vec<u8>)]) {
    for (path, bytes) in files {
        fs::write(path, bytes).unwrap();
    }
}

/// The error in a verb's output about the filter in this folder, if any.
fn wrong(folder: &Path, (verb, shows): (&str, Shows), kernel: &str) -> Option<String> {
    let words = verb.split(' ').collect::<Vec<_>>();
    let mut command = mayhap(folder);
    let output = command.args(&words).env("MAYHAP_KERNEL", kernel).output().unwrap();
    let code = output.status.code();
    let num_lines = output.stdout.lines().count() as u64;
    let failed = code == Some(2) || code == Some(1) && words[0] == "verify";
    if failed && output.stdout.len() + output.stderr.len() > 10 {
        return None;
    }
    let is_right = match shows {
        _ if failed || !matches!(code, Some(0 | 1)) => false,
        Shows::AllKeys => num_lines == KEYS,
        Shows::NoKey => num_lines == 0,
        Shows::Nothing => code == Some(0),
        Shows::AllKeysIn(name) => {
            let output = run(folder, &["check", "-c", name, "keys.txt"], b"");
            // `check` refuses a matrix.
            output.status.code() == Some(2) || output.stdout == format!("{KEYS}\n").as_bytes()
        }
    };
    (!is_right).then(|| format!("{verb}: {code:?}, {num_lines} lines, {}", stderr(&output)))
}

#[test]
fn no_verb_takes_a_key_of_a_damaged_file_for_absent() {
    let step = if is_whole() { 37 } else { 397 };
    let mut all = Vec::new();
    for (i, kind) in KINDS.into_iter().enumerate() {
        let folder = folder();
        let folder = folder.path();
        write(folder, kind);
        let names: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
        let sound: Vec<_> = names.iter().map(|path| (path, fs::read(path).unwrap())).collect();
        let path = &folder.join("f");
        let bytes = fs::read(path).unwrap();
        // The sound file: a matrix and a segment are not for all verbs, nor is growing.
        for verb in VERBS {
            assert_eq!(wrong(folder, verb, "avx512"), None, "{}", kind.0);
            restore(&sound);
        }
        if !matches!(kind.0, "matrix" | "segment") {
            succeed(folder, &["check", "f", "keys.txt"], b"");
        }
        // Each kind begins with another damage, and each damage has another kernel.
        for number in (3 + i as u64..DAMAGES).step_by(step) {
            let kernel = ["scalar", "avx2", "avx512"][number as usize % 3];
            for verb in VERBS {
                restore(&sound);
                fs::write(path, damaged(&bytes, number)).unwrap();
                let wrong = wrong(folder, verb, kernel);
                all.extend(wrong.map(|wrong| format!("{}, damage {number}: {wrong}", kind.0)));
            }
        }
    }
    assert!(all.is_empty(), "{} wrong: {:#?}", all.len(), &all[..all.len().min(9)]);
}
