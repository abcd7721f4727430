//! A byte that selects the kind, then bytes as a file of a data folder: the manifest, a segment of
//! the log, the items in it, a record of a pack and the image in that, or lists of filters.
//!
//! Checksums are corrected, so that the parsers behind them are reached. Oracles: opening ends,
//! with the filters or with an error that names the problem; a folder that opened once opens again
//! with the same filters, and nothing more is cut off; lack of memory is an error, never an abort:
//! filters are recovered at the sizes in the log, whatever the present limits.
use mayhap::{DigestFunction, SecretKey};
use mayhap_fuzz::with_memory_of;
use mayhap_engine::durable::{self, DataFolder, Log, Report};
use mayhap_engine::keyspace::{Options, Recovery, Shape, Spec};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const KEY: SecretKey = SecretKey::new([7; 16]);
const LOG_ID: u64 = 5;
/// The input some times over, filters of the specs below, and 64 MiB for everything else.
const ALLOCATION: usize = 64 << 20;

pub(super) fn run(data: &[u8]) {
    let Some((&kind, bytes)) = data.split_first() else { return };
    let folder = folder();
    for name in ["manifest", "log", "filters", "import", "lock"] {
        let path = folder.join(name);
        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
    }
    std::fs::create_dir_all(folder.join("log")).unwrap();
    std::fs::create_dir_all(folder.join("filters")).unwrap();
    let (manifest, segment) = match kind {
        // A record as it is, and one whose image is the input.
        0xf0.. => {
            let record = if kind < 0xf8 { bytes.to_vec() } else { record(bytes) };
            let pack = [pack_header(), record.clone()].concat();
            std::fs::write(folder.join("filters/1.pack"), pack).unwrap();
            (manifest_of(&record), segment_header())
        }
        // Lists as they are, and lists of records.
        0xe0.. => {
            let lists = parts(bytes).map(|part| if kind < 0xe8 { raw(part) } else { list(part) });
            (listed(folder, &lists.collect::<Vec<_>>()), segment_header())
        }
        _ => match kind % 4 {
            0 => (sealed(1 + kind / 4 % 3, bytes), segment_header()),
            1 => (manifest(), [&segment_header()[..], bytes].concat()),
            2 => (manifest(), [segment_header(), frames(bytes)].concat()),
            _ => (manifest(), [segment_header(), frames(&items(bytes))].concat()),
        },
    };
    std::fs::write(folder.join("manifest"), manifest).unwrap();
    std::fs::write(folder.join("log/1.log"), segment).unwrap();
    let Some((first, names)) = open(folder) else { return };
    let (second, again) = open(folder).expect("an opened folder opens again");
    assert!(second.dropped.is_none(), "{first:?} {second:?}");
    assert_eq!(again, names);
}

/// A folder in memory, where the system has one.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
        let folder = parent.join(format!("mayhap-fuzz-log-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    })
}

/// The report, and name, number of keys and bytes of each filter.
fn open(folder: &Path) -> Option<(Report, Vec<(Vec<u8>, u64, u64)>)> {
    let recovery = Recovery::new(Options::new(KEY));
    let options = durable::Options::new(DigestFunction::sip13(KEY));
    let data = DataFolder::open(folder).unwrap();
    let opened = with_memory_of(ALLOCATION, || Log::open(data, options, &recovery, &|_| {}));
    match opened {
        Ok((_log, report)) => {
            let keyspace = match recovery.finish(report.next_id) {
                Ok(keyspace) => keyspace,
                Err(why) => {
                    assert!(!why.to_string().is_empty());
                    return None;
                }
            };
            let page = keyspace.scan(0, 10_000, None, 1).unwrap();
            let told = page.names.into_iter().filter_map(|name| {
                let info = keyspace.get(&name, 1)?.info();
                Some((name.to_vec(), info.items, info.num_bytes))
            });
            let mut told: Vec<_> = told.collect();
            told.sort();
            Some((report, told))
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

fn digest_id() -> [u8; 10] {
    let function = DigestFunction::sip13(KEY);
    let mut bytes = [0; 10];
    bytes[..2].copy_from_slice(&function.id().to_le_bytes());
    bytes[2..].copy_from_slice(&function.parameter().to_le_bytes());
    bytes
}

fn segment_header() -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..10].copy_from_slice(b"\x89mhpseg\n\x01\0");
    bytes[10..12].copy_from_slice(&digest_id()[..2]);
    bytes[16..24].copy_from_slice(&digest_id()[2..]);
    bytes[24..32].copy_from_slice(&LOG_ID.to_le_bytes());
    bytes[32] = 1;
    let checksum = xxh3_64(&bytes[..56]);
    bytes[56..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Magic and digest as they are, this version; the rest from the input, with the right checksum.
fn sealed(version: u8, input: &[u8]) -> Vec<u8> {
    let mut bytes = manifest_start();
    bytes[8] = version;
    bytes.extend_from_slice(input);
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

fn manifest_start() -> Vec<u8> {
    let mut bytes = b"\x89mhpman\n\x01\0".to_vec();
    bytes.extend_from_slice(&digest_id()[..2]);
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&digest_id()[2..]);
    bytes
}

/// A manifest without filters, whose log begins with segment 1 and frame 0.
fn manifest() -> Vec<u8> {
    let numbers = [LOG_ID, 0, 1, 0, LOG_ID, 1, 1, 0];
    sealed(1, &numbers.map(u64::to_le_bytes).concat())
}

/// Writes lists, each with its declared number of records; returns a manifest that names them.
fn listed(folder: &Path, lists: &[(Vec<u8>, u64)]) -> Vec<u8> {
    let count = lists.len() as u64;
    let mut numbers = vec![LOG_ID, 0, 1, 0, LOG_ID, 1, count + 1, count];
    for (number, (bytes, records)) in (1..).zip(lists) {
        std::fs::write(folder.join(format!("filters/{number}.list")), bytes).unwrap();
        numbers.extend([number, bytes.len() as u64, xxh3_64(bytes), *records]);
    }
    sealed(3, &numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>())
}

/// A list whose records are these bytes, after one for their number.
fn raw(input: &[u8]) -> (Vec<u8>, u64) {
    let (count, rest) = input.split_first().unwrap_or((&0, &[]));
    ([b"\x89mhplst\n\x01\0\0\0\0\0\0\0", rest].concat(), u64::from(*count))
}

/// A list of records from the input: the kind, the increment of the id, the number. Sound ones,
/// mostly.
fn list(input: &[u8]) -> (Vec<u8>, u64) {
    let (mut out, mut count, mut id) = (b"\x89mhplst\n\x01\0\0\0\0\0\0\0".to_vec(), 0, 0);
    for part in input.chunks(4) {
        let &[what, step, a, b] = part else { break };
        id += u64::from(step % 4);
        let kind = [1, 1, 1, 1, 2, 2, 3, 4][usize::from(what % 8)];
        out.extend_from_slice(&u64::to_le_bytes(id));
        out.extend_from_slice(&u32::to_le_bytes(kind));
        if kind < 3 {
            // Without an image, mostly.
            let number = u64::from(a == 255);
            out.extend([number, 0, 0, 0, u64::from(b)].iter().flat_map(|n| n.to_le_bytes()));
        }
        if kind == 1 {
            let spec = spec(a, b).encode();
            out.extend_from_slice(&[0; 8]);
            out.extend_from_slice(&[1, 0, 0, 0]);
            out.extend_from_slice(&(spec.len() as u32).to_le_bytes());
            out.push(b'a' + b % 8);
            out.extend_from_slice(&spec);
        }
        count += 1;
    }
    (out, count)
}

/// The parts of an input, cut where it has `|~|`.
fn parts(input: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(input);
    std::iter::from_fn(move || {
        let all = rest?;
        let cut = all.windows(3).position(|three| three == b"|~|");
        rest = cut.map(|cut| &all[cut + 3..]);
        Some(&all[..cut.unwrap_or(all.len())])
    })
}

fn pack_header() -> Vec<u8> {
    let mut bytes = b"\x89mhppck\n\x01\0\0\0\0\0\0\0".to_vec();
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

/// A record of filter 1 whose image is this, without runs of zeros.
fn record(image: &[u8]) -> Vec<u8> {
    let mut bytes = 1_u64.to_le_bytes().to_vec();
    bytes.extend_from_slice(&(image.len() as u32).to_le_bytes());
    let words = image.len().div_ceil(8);
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend_from_slice(&(words as u16).to_le_bytes());
    bytes.extend_from_slice(image);
    bytes.resize(16 + words * 8, 0);
    bytes
}

/// A manifest with a filter whose image is this record, which has the right checksum.
fn manifest_of(record: &[u8]) -> Vec<u8> {
    let spec = Spec::growing(100, 0.01, 2).encode();
    let mut bytes = manifest_start();
    bytes[8] = 2;
    let offset = pack_header().len() as u64;
    let numbers = [LOG_ID, 0, 1, 0, LOG_ID, 2, 2, 1, 1, 0, 1, offset];
    let image = [record.len() as u64, xxh3_64(record), 0];
    bytes.extend(numbers.iter().chain(&image).flat_map(|number| number.to_le_bytes()));
    bytes.extend_from_slice(&1_u32.to_le_bytes());
    bytes.extend_from_slice(&(spec.len() as u32).to_le_bytes());
    bytes.push(b'a');
    bytes.extend_from_slice(&spec);
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Frames of items, cut where the input has `|~|`.
fn frames(input: &[u8]) -> Vec<u8> {
    let (mut out, mut previous) = (Vec::new(), LOG_ID);
    for (sequence, payload) in (0_u64..).zip(parts(input)) {
        let mut header = [0; 48];
        header[..4].copy_from_slice(b"\x89mhf");
        header[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        header[8..16].copy_from_slice(&sequence.to_le_bytes());
        header[16..24].copy_from_slice(&previous.to_le_bytes());
        let checksum = xxh3_64_with_seed(payload, LOG_ID);
        header[32..40].copy_from_slice(&checksum.to_le_bytes());
        previous = xxh3_64_with_seed(&header[..40], LOG_ID);
        header[40..].copy_from_slice(&previous.to_le_bytes());
        out.extend_from_slice(&header);
        out.extend_from_slice(payload);
    }
    out
}

/// Items from the input: the kind, the filter, the length. Sound ones, in any order.
fn items(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in input.chunks(4) {
        let &[what, id, a, b] = part else { break };
        let id = u64::from(id % 8);
        let number = u64::from(a) << 8 | u64::from(b);
        let mut head = |kind: u8, count: u32| {
            out.extend_from_slice(&[kind, 0, 0, 0]);
            out.extend_from_slice(&count.to_le_bytes());
            out.extend_from_slice(&id.to_le_bytes());
        };
        let digest = |i: u64| xxh3_64(&(number + i).to_le_bytes()).to_le_bytes();
        match what % 9 {
            0 => {
                head(1, u32::from(b));
                out.extend((0..u64::from(b)).flat_map(digest));
            }
            1 => {
                head(2, 1);
                out.extend_from_slice(&[2, 0, 0, 0, a, b]);
            }
            2 => {
                head(3, 1);
                out.extend([u64::from(a), u64::from(b)].iter().flat_map(|n| n.to_le_bytes()));
                out.extend(digest(0));
            }
            3 | 4 => {
                let spec = spec(a, b).encode();
                head(16, 1);
                out.extend_from_slice(&[0; 8]);
                out.extend_from_slice(&(spec.len() as u32).to_le_bytes());
                out.push(b'a' + b % 8);
                out.extend_from_slice(&spec);
            }
            5 => head(18, 0),
            6 => {
                head(19, 1);
                out.push(b'a' + b % 8);
            }
            7 => {
                head(20, 0);
                out.extend_from_slice(&(1_u64 << (b % 64)).to_le_bytes());
            }
            _ if number == 0 => head(21, 0),
            _ => {
                head(17, 2);
                out.extend_from_slice(&number.to_le_bytes());
                out.extend_from_slice(&[a, b]);
            }
        }
    }
    out
}

fn spec(a: u8, b: u8) -> Spec {
    let (capacity, target_fpp) = (u64::from(b) + 1, 0.01);
    match a % 6 {
        0 => Spec::growing(capacity, target_fpp, 2),
        1 => Spec::fixed(capacity, target_fpp),
        2 => Spec { shape: Shape::Counting { capacity, target_fpp }, ..Spec::fixed(1, target_fpp) },
        3 => {
            let (time_ms, refresh) = (u64::from(a), b % 2 == 0);
            let shape = Shape::Window { items: capacity, time_ms, target_fpp, refresh };
            Spec { shape, ..Spec::fixed(1, target_fpp) }
        }
        4 => {
            let shape = Shape::Clearing { capacity, target_fpp, at: f64::from(b | 1) / 255.0 };
            Spec { shape, ..Spec::fixed(1, target_fpp) }
        }
        _ => Spec { shape: Shape::RedisBloom, ..Spec::fixed(1, target_fpp) },
    }
}
