//! Our side of `others.sh`: `write FOLDER` makes the keys and our filters, `check FOLDER` compares
//! the files that the other side left there. `sbbf NAME MEMBERS MORE` is the other side itself, for
//! filters that the command has created: the crate `parquet` opens one.

use flate2::read::GzDecoder;
use mayhap_formats::{
    DcsoFilter, Error, ForeignFilter, Format, KeyType, Limits, ParquetFile, PyBloomFilterMmap,
    PyBloomLiveFilter, PyBloomLiveRelease, RbloomFilter, open,
};
use parquet::bloom_filter::Sbbf;
use std::collections::BTreeSet;
use std::error::Error as StdError;
use std::fs;
use std::io::Read;
use std::path::Path;

/// The number of keys inserted, and of keys queried that were not.
const KEYS: usize = 10_000;
const LIMITS: Limits = Limits { max_bytes: 1 << 20, max_hashes: 100 };
/// File name and format.
const FILES: &[(&str, Format)] = &[
    ("dcso", Format::Dcso),
    ("dcso.gz", Format::Dcso),
    ("rbloom", Format::Rbloom),
    ("pybloomfiltermmap", Format::PyBloomFilterMmap),
    ("pybloom-live3", Format::PyBloomLive3),
    ("pybloom-live4", Format::PyBloomLive4),
];

fn main() -> Result<(), Box<dyn StdError>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["write", folder] => write(Path::new(folder)),
        ["check", folder] => check(Path::new(folder)),
        ["sbbf", name, members, more] => extend_sbbf(name, members, more),
        _ => Err("write FOLDER, check FOLDER or sbbf NAME MEMBERS MORE".into()),
    }
}

/// Counts the members that the crate `parquet` finds in a lone filter, in `NAME.found`, and adds
/// more keys, in `NAME.theirs`.
fn extend_sbbf(name: &str, members: &str, more: &str) -> Result<(), Box<dyn StdError>> {
    let mut filter = Sbbf::from_bytes(&fs::read(name)?)?;
    let found = fs::read_to_string(members)?.lines().filter(|&key| filter.check(key)).count();
    fs::write(format!("{name}.found"), format!("{found}\n"))?;
    fs::read_to_string(more)?.lines().for_each(|key| filter.insert(key));
    let mut theirs = Vec::new();
    filter.write(&mut theirs)?;
    Ok(fs::write(format!("{name}.theirs"), theirs)?)
}

/// A file without gzip, whose compressor is each side's own.
fn plain(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    if !bytes.starts_with(&[0x1F, 0x8B]) {
        return Ok(bytes.to_vec());
    }
    let mut plain = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut plain)?;
    Ok(plain)
}

fn members() -> Vec<String> {
    (0..KEYS).map(|i| format!("user:{i}")).collect()
}

fn keys() -> Vec<String> {
    let mut keys = members();
    keys.extend((0..KEYS).map(|i| format!("absent-{i}")));
    keys
}

fn empty(name: &str) -> Result<Box<dyn ForeignFilter>, Error> {
    let (n, p) = (KEYS as u64, 0.01);
    let live = |release| PyBloomLiveFilter::create(n, p, release, &LIMITS);
    Ok(match name {
        "dcso" => Box::new(DcsoFilter::create(n, p, &LIMITS)?),
        "dcso.gz" => {
            let mut filter = DcsoFilter::create(n, p, &LIMITS)?;
            filter.set_compressed(true);
            Box::new(filter)
        }
        "rbloom" => Box::new(RbloomFilter::create(n, p, &LIMITS)?),
        "pybloom-live3" => Box::new(live(PyBloomLiveRelease::V3)?),
        "pybloom-live4" => Box::new(live(PyBloomLiveRelease::V4)?),
        _ => Box::new(PyBloomFilterMmap::create(n, p, &[1, 2, 3, 4, 5, 6], &LIMITS)?),
    })
}

/// The bytes that the system hashes.
fn encode<'a>(filter: &dyn ForeignFilter, key: &'a str, scratch: &'a mut Vec<u8>) -> &'a [u8] {
    filter.key_types()[0].encode(key.as_bytes(), scratch).unwrap_or_default()
}

fn write(folder: &Path) -> Result<(), Box<dyn StdError>> {
    fs::write(folder.join("members"), members().join("\n") + "\n")?;
    fs::write(folder.join("keys"), keys().join("\n") + "\n")?;
    let mut scratch = Vec::new();
    for (name, _) in FILES {
        let mut filter = empty(name)?;
        for key in members() {
            let key = encode(&*filter, &key, &mut scratch).to_vec();
            filter.insert(&key)?;
        }
        fs::write(folder.join(format!("ours.{name}")), filter.encode())?;
    }
    Ok(())
}

fn check(folder: &Path) -> Result<(), Box<dyn StdError>> {
    let mut failed = false;
    for &(name, format) in FILES {
        let read = |side: &str, end: &str| fs::read(folder.join(format!("{side}.{name}{end}")));
        let Ok(theirs) = read("theirs", "") else { continue };
        let ours = read("ours", "")?;
        let same = open(format, &plain(&ours)?, &LIMITS)?.encode() == plain(&theirs)?;
        // The original leaves a pointer in the file.
        let same = same || format == Format::PyBloomFilterMmap && ours[1077..] == theirs[1077..];
        for side in ["ours", "theirs"] {
            let filter = open(format, &read(side, "")?, &LIMITS)?;
            let their_answers = String::from_utf8(read(side, ".found")?)?;
            let their_answers: BTreeSet<&str> = their_answers.lines().collect();
            let mut scratch = Vec::new();
            let keys = keys();
            let wrong = keys.iter().filter(|key| {
                let found = filter.contains(encode(&*filter, key, &mut scratch));
                found != their_answers.contains(key.as_str())
            });
            let wrong = wrong.count();
            println!(
                "interop {name}: {side}: {} found by them, {wrong} answers differ",
                their_answers.len()
            );
            failed |= wrong != 0 || their_answers.len() < KEYS;
        }
        println!(
            "interop {name}: the files are {}",
            if same { "the same" } else { "not the same" }
        );
        failed |= !same;
    }
    failed |= !check_parquet(folder)?;
    if failed { Err("the sides disagree".into()) } else { Ok(()) }
}

/// The file of pyarrow: every value is found in its row group, and few others are.
fn check_parquet(folder: &Path) -> Result<bool, Box<dyn StdError>> {
    let Ok(file) = fs::File::open(folder.join("theirs.parquet")) else { return Ok(true) };
    let mut file = ParquetFile::open(file, &LIMITS)?;
    let mut right = true;
    for (path, key_type) in [("text", KeyType::Bytes), ("number", KeyType::Long)] {
        let column = file.column(path, &LIMITS)?;
        let texts: Vec<String> = match path {
            "text" => keys(),
            _ => (0..2 * KEYS).map(|i| i.to_string()).collect(),
        };
        let mut scratch = Vec::new();
        let found = |text: &String| -> Result<bool, Error> {
            Ok(column.contains(key_type.encode(text.as_bytes(), &mut scratch)?))
        };
        let found: Vec<bool> = texts.iter().map(found).collect::<Result<_, _>>()?;
        let there = found[..KEYS].iter().filter(|&&found| found).count();
        let absent = found[KEYS..].iter().filter(|&&found| found).count();
        println!("interop parquet {path}: {there} of {KEYS} found, and {absent} of as many absent");
        right &= there == KEYS && absent < KEYS / 20;
    }
    Ok(right)
}
