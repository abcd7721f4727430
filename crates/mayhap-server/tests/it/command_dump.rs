//! Moving filters with `BF.SCANDUMP` and `BF.LOADCHUNK`.

use crate::command::{Server, words};
use mayhap::native::HEADER_BYTES;
use mayhap_formats::{ForeignFilter, Limits, RedisBloomFilter, RedisBloomOptions};

/// All chunks of a server's dump of a filter.
fn dump(server: &mut Server, name: &str) -> Vec<(i64, Vec<u8>)> {
    dump_with(server, "BF", name)
}

/// The same with the commands of this prefix.
fn dump_with(server: &mut Server, prefix: &str, name: &str) -> Vec<(i64, Vec<u8>)> {
    let mut chunks = Vec::new();
    let mut cursor = 0;
    loop {
        let answer = server.ask(&words(&format!("{prefix}.SCANDUMP {name} {cursor}")));
        let ends: Vec<usize> = answer
            .windows(2)
            .enumerate()
            .filter(|(_, end)| *end == b"\r\n")
            .map(|(i, _)| i)
            .collect();
        assert!(answer.starts_with(b"*2\r\n:"), "{}", answer.escape_ascii());
        cursor = std::str::from_utf8(&answer[5..ends[1]]).unwrap().parse().unwrap();
        let bytes = answer[ends[2] + 2..answer.len() - 2].to_vec();
        if cursor == 0 {
            assert!(bytes.is_empty());
            return chunks;
        }
        chunks.push((cursor, bytes));
    }
}

fn load(server: &mut Server, name: &str, chunks: &[(i64, Vec<u8>)]) {
    load_with(server, "BF", name, chunks);
}

fn load_with(server: &mut Server, prefix: &str, name: &str, chunks: &[(i64, Vec<u8>)]) {
    for (cursor, bytes) in chunks {
        let cursor = cursor.to_string().into_bytes();
        let command = format!("{prefix}.LOADCHUNK").into_bytes();
        let request = [command, name.into(), cursor, bytes.clone()];
        let answer = server.ask(&request);
        assert_eq!(answer, b"+OK\r\n", "{}", answer.escape_ascii());
    }
}

#[test]
fn a_filter_moves_by_its_dump() {
    let mut server = Server::new();
    for (name, reserve) in [("grown", "0.001 10"), ("fixed", "0.001 60000 NONSCALING")] {
        server.line(&format!("BF.RESERVE {name} {reserve}"));
        server.line(&(0..50_000).fold(format!("BF.MADD {name}"), |line, i| format!("{line} {i}")));
        let chunks = dump(&mut server, name);
        assert!(chunks.len() > 1);
        let (last, but_last) = chunks.split_last().unwrap();
        load(&mut server, "copy", but_last);
        assert_eq!(server.line("EXISTS copy"), ":0\r\n", "half a filter is not visible");
        load(&mut server, "copy", std::slice::from_ref(last));
        for i in (0..50_000).step_by(7) {
            assert_eq!(server.line(&format!("BF.EXISTS copy {i}")), ":1\r\n");
        }
        let info = server.line(&format!("BF.INFO {name}"));
        assert_eq!(server.line("BF.INFO copy"), info);
        server.line("DEL copy");
    }
}

/// The chunks of earlier versions: the header of the file, and what follows it.
fn pages(server: &Server, name: &str) -> Vec<(i64, Vec<u8>)> {
    let entry = server.shared.keyspace.get(name.as_bytes(), 1).unwrap();
    let dump = server.shared.keyspace.begin_dump(&entry, 1).unwrap();
    let (header, rest) = dump.bytes().split_at(HEADER_BYTES);
    vec![(1, header.to_vec()), (1 + i64::try_from(rest.len()).unwrap(), rest.to_vec())]
}

#[test]
fn a_small_filter_moves_by_one_chunk_as_by_those_of_earlier_versions() {
    let mut server = Server::new();
    for (reserve, most_bytes) in [
        ("BF.RESERVE f 0.01 100", 450),
        ("BF.RESERVE f 0.01 100 NONSCALING", 2_600),
        ("BF.RESERVE f 0.01 100 COUNTING", 4_000),
        ("BF.RESERVE f 0.01 100 WINDOW 100", 2_000),
        ("BF.RESERVE f 0.01 100 LAYOUT compact", 4_000),
        ("CF.RESERVE f 100", 4_000),
    ] {
        assert_eq!(server.line(reserve), "+OK\r\n", "{reserve}");
        let prefix = &reserve[..2];
        let add = if prefix == "CF" { "CF.INSERT f ITEMS" } else { "BF.MADD f" };
        server.line(&(0..100).fold(add.to_owned(), |line, i| format!("{line} {i}")));
        let chunks = dump_with(&mut server, prefix, "f");
        let [(1, bytes)] = &*chunks else { panic!("{reserve}: {} chunks", chunks.len()) };
        assert!(bytes.len() < most_bytes, "{reserve}: {} bytes", bytes.len());
        let pages = pages(&server, "f");
        for form in [chunks, pages] {
            load_with(&mut server, prefix, "copy", &form);
            let check =
                (0..100).fold("BF.MEXISTS copy".to_owned(), |line, i| format!("{line} {i}"));
            assert_eq!(server.line(&check).matches(":1\r\n").count(), 100, "{reserve}");
            assert_eq!(server.line("BF.INFO copy ITEMS"), server.line("BF.INFO f ITEMS"));
            assert_eq!(server.line("DEL copy"), ":1\r\n");
        }
        server.line("DEL f");
    }
}

#[test]
fn a_small_filter_of_another_kind_is_not_loaded_as_a_compact_one() {
    let mut server = Server::new();
    server.line("BF.RESERVE f 0.01 100");
    server.line("BF.RESERVE g 0.01 100 NONSCALING");
    for name in ["f", "g"] {
        let (_, bytes) = dump(&mut server, name).remove(0);
        let request = [b"CF.LOADCHUNK".to_vec(), b"c".to_vec(), b"1".to_vec(), bytes];
        let answer = server.ask(&request);
        assert!(answer.starts_with(b"-Invalid header"), "{}", answer.escape_ascii());
    }
    assert_eq!(server.line("EXISTS c"), ":0\r\n");
}

#[test]
fn a_dump_of_redisbloom_is_loaded_grows_and_is_dumped_again() {
    use mayhap_formats::{ForeignFilter, Limits, RedisBloomFilter, RedisBloomOptions};
    let limits = Limits::default();
    let mut filter =
        RedisBloomFilter::create(&RedisBloomOptions::new(0.001, 1_000), &limits).unwrap();
    for i in 0..3_000 {
        filter.insert(format!("{i}").as_bytes()).unwrap();
    }
    let mut server = Server::new();
    load(&mut server, "f", &filter.to_chunks());
    assert_eq!(server.line("BF.INFO f KIND"), "*1\r\n$10\r\nredisbloom\r\n");
    assert_eq!(server.line("BF.INFO f DIGEST"), "*1\r\n$-1\r\n");
    for i in 0..3_000 {
        assert_eq!(server.line(&format!("BF.EXISTS f {i}")), ":1\r\n");
    }
    for i in 3_000..9_000 {
        server.line(&format!("BF.ADD f {i}"));
        filter.insert(format!("{i}").as_bytes()).unwrap();
    }
    let given = dump(&mut server, "f");
    assert_eq!(RedisBloomFilter::from_chunks(&given, &limits).unwrap(), filter);
    assert!(server.line("BF.MADDHASH f abcdefgh").starts_with("-ERR the filter has no digests"));
}

#[test]
fn a_dump_with_any_byte_changed_is_refused_or_harmless() {
    let mut server = Server::new();
    server.line("BF.RESERVE f 0.01 100");
    server.line("BF.MADD f a b c");
    let chunks = dump(&mut server, "f");
    let header = &chunks[0].1;
    for at in (0..header.len()).step_by(7) {
        let mut changed = chunks.clone();
        changed[0].1[at] ^= 0x10;
        for (cursor, bytes) in &changed {
            let cursor = cursor.to_string().into_bytes();
            let request = [b"BF.LOADCHUNK".to_vec(), b"g".to_vec(), cursor, bytes.clone()];
            assert!(server.answers(&request));
        }
        assert_eq!(server.line("EXISTS g"), ":0\r\n", "byte {at} of the header");
    }
}

/// The number after `field:` in each line of `BF.DEBUG`, except for the first line.
fn layers(answer: &str, field: &str) -> Vec<f64> {
    let lines = answer.lines().filter(|line| line.starts_with("bytes:"));
    let of = |line: &str| {
        let mut fields = line.split(' ').filter_map(|part| part.split_once(':'));
        fields.find(|(name, _)| *name == field).unwrap().1.parse().unwrap()
    };
    lines.map(of).collect()
}

#[test]
fn debug_has_a_line_for_each_layer_as_redisbloom_has() {
    let mut server = Server::new();
    for i in 0..20_000 {
        server.line(&format!("BF.ADD f {i}"));
    }
    let answer = server.line("BF.DEBUG f");
    let (sizes, ratios) = (layers(&answer, "size"), layers(&answer, "ratio"));
    let card: f64 = server.line("BF.CARD f").trim_start_matches(':').trim_end().parse().unwrap();
    assert!(sizes.len() > 2, "{answer}");
    assert_eq!(sizes.iter().sum::<f64>(), card, "{answer}");
    assert!(answer.contains(&format!("size:{card}\r\n")), "{answer}");
    assert!(ratios.iter().sum::<f64>() <= 0.01, "{answer}");
    let filled = layers(&answer, "capacity");
    let newest = sizes.len() - 1;
    assert_eq!(sizes[..newest], filled[..newest], "all except the newest are full: {answer}");
    let bytes: f64 = layers(&answer, "bytes").iter().sum();
    assert!(server.line("BF.INFO f SIZE").ends_with(&format!(":{bytes}\r\n")), "{answer}");

    // k and rates of BF.RESERVE key 0.01 100 EXPANSION 2 in RedisBloom.
    let options = RedisBloomOptions::new(0.01, 100);
    let mut filter = RedisBloomFilter::create(&options, &Limits::default()).unwrap();
    for i in 0..250 {
        filter.insert(format!("{i}").as_bytes()).unwrap();
    }
    load(&mut server, "r", &filter.to_chunks());
    let answer = server.line("BF.DEBUG r");
    assert_eq!(layers(&answer, "hashes"), [8.0, 9.0], "{answer}");
    assert_eq!(layers(&answer, "capacity"), [100.0, 200.0], "{answer}");
    assert_eq!(layers(&answer, "ratio"), [0.005, 0.0025], "{answer}");
    assert_eq!(layers(&answer, "hashwidth"), [64.0, 64.0], "{answer}");
}
