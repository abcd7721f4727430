//! Dumps with a byte or two changed: refused, or a filter on which every command is safe.
//!
//! Half of ours get correct checksums, as from an attacker with write access.

use crate::command::Server;
use crate::conformance::{answer_len, words};
use mayhap::native::{HEADER_BYTES, PAGE_BYTES};
use mayhap_formats::{ForeignFilter, Limits, RedisBloomFilter, RedisBloomOptions};
use mayhap_server::Config;
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

/// One filter, and all of them.
const MAX_FILTER_BYTES: u64 = 1 << 20;
const MAX_MEMORY: u64 = 4 << 20;
/// Rounds that are always run; further ones until the time is over.
const ROUNDS: u64 = 300;

/// `SplitMix64`, by G. Steele, D. Lea, C. Flood, 2014.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

fn server() -> Server {
    Server::with(Config::default(), |options| {
        options.max_filter_bytes = MAX_FILTER_BYTES;
        options.max_memory = MAX_MEMORY;
    })
}

/// This number of the dumps is ours; they come first.
const OURS: usize = 8;

/// A dump and the bytes of its header.
struct Dump {
    bytes: Vec<u8>,
    header_bytes: usize,
    ours: bool,
}

fn dumps() -> Vec<Dump> {
    let mut server = server();
    let mut dumps = Vec::new();
    for options in [
        "0.01 100",
        "0.001 3000 KEYED no",
        "0.01 3000 NONSCALING",
        "0.01 3000 NONSCALING LAYOUT standard KEYED no",
        "0.01 2000 COUNTING",
        "0.01 2000 LAYOUT compact",
        "0.01 2000 LAYOUT compact EXPANSION 1 KEYED no",
        "0.01 2000 WINDOW 2000",
        "0.01 2000 WINDOW 1h KEYED no",
        "0.01 2000 CLEARAT 0.5",
    ] {
        assert_eq!(server.line(&format!("BF.RESERVE f {options}")), "+OK\r\n");
        for i in 0..3_000 {
            server.line(&format!("BF.ADD f {i}"));
        }
        let entry = server.shared.keyspace.get(b"f", 1).unwrap();
        // In pages, whatever its size: the checksum of a small form cannot be right after a change.
        let bytes = server.shared.keyspace.begin_dump(&entry, 1).unwrap().bytes().to_vec();
        dumps.push(Dump { bytes, header_bytes: HEADER_BYTES, ours: true });
        drop(entry);
        server.line("FLUSHALL");
    }
    for (error, capacity) in [(0.01, 1), (0.01, 1_000), (1e-9, 100)] {
        let options = RedisBloomOptions::new(error, capacity);
        let mut filter = RedisBloomFilter::create(&options, &Limits::default()).unwrap();
        for i in 0..2_000 {
            filter.insert(format!("{i}").as_bytes()).unwrap();
        }
        let chunks = filter.to_chunks();
        let header_bytes = chunks[0].1.len();
        let bytes = chunks.into_iter().flat_map(|(_, bytes)| bytes).collect();
        dumps.push(Dump { bytes, header_bytes, ours: false });
    }
    dumps
}

/// Corrects the checksums of the pages and of the header.
fn seal(bytes: &mut [u8]) {
    let (header, rest) = bytes.split_at_mut(HEADER_BYTES);
    let pages = rest.len() / (PAGE_BYTES + 8);
    let (body, table) = rest.split_at_mut(pages * PAGE_BYTES);
    for (page, entry) in body.chunks(PAGE_BYTES).zip(table.chunks_exact_mut(8)) {
        entry.copy_from_slice(&xxh3_64(page).to_le_bytes());
    }
    header[64..72].copy_from_slice(&xxh3_64(table).to_le_bytes());
    let checksum = xxh3_64(&header[..4088]);
    header[4088..].copy_from_slice(&checksum.to_le_bytes());
}

/// The dump with one or two bytes changed, most of them among the numbers at the front.
fn changed(dump: &Dump, random: &mut Random) -> Vec<u8> {
    let mut bytes = dump.bytes.clone();
    let front = dump.header_bytes.min(256);
    for _ in 0..=random.below(2) {
        let end = if random.below(4) == 0 { bytes.len() } else { front };
        let at = random.below(end);
        bytes[at] = match random.below(4) {
            0 => 0,
            1 => 0xFF,
            2 => bytes[at] ^ 1 << random.below(8),
            _ => random.next() as u8,
        };
    }
    if dump.ours && random.below(2) == 0 {
        seal(&mut bytes);
    }
    bytes
}

/// Sends it in chunks; returns whether a filter was created.
fn load(server: &mut Server, bytes: &[u8], header_bytes: usize) -> bool {
    let (header, rest) = bytes.split_at(header_bytes);
    let mut cursor = 1;
    for chunk in std::iter::once(header).chain(rest.chunks(100_000)) {
        if cursor > 1 || chunk.as_ptr() != header.as_ptr() {
            cursor += chunk.len();
        }
        let mut request = words(&format!("BF.LOADCHUNK f {cursor}"));
        request.push(chunk.to_vec());
        assert!(server.answers(&request), "{cursor}");
    }
    server.line("EXISTS f") == ":1\r\n"
}

/// Every operation on a filter, with the name `f`.
const COMMANDS: [&str; 41] = [
    "BF.EXISTS f 1",
    "BF.MEXISTS f 1 2 3 4 absent",
    "BF.INFO f",
    "BF.INFO f CAPACITY",
    "BF.INFO f SIZE",
    "BF.INFO f FILTERS",
    "BF.INFO f ITEMS",
    "BF.INFO f EXPANSION",
    "BF.INFO f ERROR",
    "BF.INFO f TIGHTENING",
    "BF.INFO f MAXSCALEDCAPACITY",
    "BF.INFO f FPP",
    "BF.INFO f FILL",
    "BF.INFO f FILLALARM",
    "BF.INFO f KIND",
    "BF.INFO f DIGEST",
    "BF.DEBUG f",
    "BF.CARD f",
    "BF.SCANDUMP f 0",
    "BF.SCANDUMP f 1",
    "BF.SCANDUMP f 4097",
    "BF.LOADCHUNK f 1 x",
    "BF.MERGECHUNK f x 0 x",
    "BF.ADD f new",
    "BF.MADD f 1 2 new newer",
    "BF.INSERT f ITEMS newest",
    "BF.REM f 1 new absent",
    "BF.MADDHASH f abcdefgh",
    "BF.MEXISTSHASH f abcdefgh",
    "BF.MERGE g f f",
    "BF.WHICH 1 f",
    "TYPE f",
    "EXISTS f",
    "MEMORY USAGE f",
    "OBJECT ENCODING f",
    "DUMP f",
    "COPY f h",
    "EXPIRE f 1000",
    "TTL f",
    "SCAN 0",
    "RENAME f i",
];

/// Every command and enough adds to make it grow.
fn use_all(server: &mut Server, seed: u64) {
    for resp in ["HELLO 3", "HELLO 2"] {
        server.line(resp);
        for line in COMMANDS {
            assert!(server.answers(&words(line)), "{line}, round {seed}");
        }
        server.line("RENAME i f");
    }
    for start in [0, 1_500] {
        let items = (start..start + 1_500).map(|i| format!("more:{i}").into_bytes());
        let request: Vec<_> = words("BF.MADD f").into_iter().chain(items).collect();
        let answer = server.ask(&request);
        assert_eq!(answer_len(&answer), Some(answer.len()), "round {seed}");
        assert!(server.shared.keyspace.used_bytes() <= MAX_MEMORY, "round {seed}");
    }
}

#[test]
fn every_command_is_safe_on_what_is_left_of_a_changed_dump() {
    let dumps = dumps();
    let mut server = server();
    for dump in &dumps {
        assert!(load(&mut server, &dump.bytes, dump.header_bytes), "an unchanged dump is accepted");
        use_all(&mut server, 0);
        server.line("FLUSHALL");
    }
    let soak = std::env::var_os("MAYHAP_SOAK").is_some();
    let end = Instant::now() + Duration::from_secs(if soak { 600 } else { 8 });
    let (mut round, mut survivors, mut theirs) = (0, 0, 0);
    while round < ROUNDS || Instant::now() < end {
        round += 1;
        // A failure names its round, which alone decides what is changed.
        let mut random = Random(round);
        // Half of them are RedisBloom's, which have no checksums.
        let (ours, others) = dumps.split_at(OURS);
        let kind = if random.below(2) == 0 { ours } else { others };
        let dump = &kind[random.below(kind.len())];
        let bytes = changed(dump, &mut random);
        if load(&mut server, &bytes, dump.header_bytes) {
            survivors += 1;
            theirs += u64::from(!dump.ours);
            use_all(&mut server, round);
        }
        // The received part of a refused dump is forgotten.
        assert_eq!(server.line("FLUSHALL"), "+OK\r\n");
        server.line("BF.LOADCHUNK f 1 x");
        assert_eq!(server.shared.keyspace.used_bytes(), 0, "round {round}");
    }
    println!("{round} changed dumps, {survivors} of them accepted, {theirs} of those RedisBloom's");
    assert!(survivors > 50 && theirs > 30 && survivors < round);
}

#[test]
fn every_command_is_safe_whatever_a_byte_of_a_header_of_redisbloom_is() {
    let dumps = dumps();
    let mut server = server();
    let (mut loads, mut survivors) = (0, 0);
    for dump in &dumps[OURS + 1..] {
        for at in 0..dump.header_bytes {
            for byte in [0, 1, 0x28, 0x7F, 0xFF, dump.bytes[at] ^ 0x80, dump.bytes[at] ^ 1] {
                let mut bytes = dump.bytes.clone();
                bytes[at] = byte;
                loads += 1;
                if load(&mut server, &bytes, dump.header_bytes) {
                    survivors += 1;
                    for line in COMMANDS {
                        assert!(server.answers(&words(line)), "{line}, byte {at} is {byte}");
                    }
                }
                server.line("FLUSHALL");
            }
        }
    }
    println!("{loads} changed headers, {survivors} of them accepted");
    assert!(survivors > 100 && survivors < loads);
}

/// 73 bytes that grow by a layer per key: without a limit of its own a query would check half a
/// million positions after a thousand keys.
#[test]
fn a_loaded_filter_that_grows_by_a_layer_a_key_takes_no_more_before_it_is_slow() {
    let options = RedisBloomOptions { growth: Some(1), ..RedisBloomOptions::new(0.01, 1) };
    let filter = RedisBloomFilter::create(&options, &Limits::default()).unwrap();
    let mut server = server();
    for (cursor, bytes) in filter.to_chunks() {
        let mut request = words(&format!("BF.LOADCHUNK f {cursor}"));
        request.push(bytes);
        assert_eq!(server.ask(&request), b"+OK\r\n");
    }
    let keys = 0..2_000;
    let refused = keys.into_iter().find_map(|i| {
        let answer = server.line(&format!("BF.ADD f key:{i}"));
        answer.starts_with('-').then_some((i, answer))
    });
    let (at, answer) = refused.unwrap();
    let layers = server.shared.keyspace.get(b"f", 1).unwrap().info().layers;
    println!("{layers} layers after {at} keys: {answer}");
    assert!(answer.contains("above the limit of 8192; create a new filter"), "{answer}");
    assert!((50..300).contains(&layers));
    // Its keys are found, and adding them again is no error.
    assert_eq!(server.line("BF.ADD f key:0"), ":0\r\n");
    assert!((0..at).all(|i| server.line(&format!("BF.EXISTS f key:{i}")) == ":1\r\n"));
    let copy = filter_of(&mut server);
    assert!(copy.hashes_per_key() <= 8_192 + 1_100);
}

fn filter_of(server: &mut Server) -> RedisBloomFilter {
    let entry = server.shared.keyspace.get(b"f", 1).unwrap();
    let (mut cursor, mut chunks) = (0, Vec::new());
    loop {
        let (next, bytes) = server.shared.keyspace.dump(&entry, cursor, 1).unwrap();
        if next == 0 {
            return RedisBloomFilter::from_chunks(&chunks, &Limits::default()).unwrap();
        }
        chunks.push((next, bytes));
        cursor = next;
    }
}
