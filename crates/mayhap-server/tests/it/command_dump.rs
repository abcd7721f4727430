//! Moving filters with `BF.SCANDUMP` and `BF.LOADCHUNK`.

use crate::command::{Server, words};
use mayhap_formats::{ForeignFilter, Limits, RedisBloomFilter, RedisBloomOptions};

/// All chunks of a server's dump of a filter.
fn dump(server: &mut Server, name: &str) -> Vec<(i64, Vec<u8>)> {
    let mut chunks = Vec::new();
    let mut cursor = 0;
    loop {
        let answer = server.ask(&words(&format!("BF.SCANDUMP {name} {cursor}")));
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
    for (cursor, bytes) in chunks {
        let cursor = cursor.to_string().into_bytes();
        let request = [b"BF.LOADCHUNK".to_vec(), name.into(), cursor, bytes.clone()];
        let answer = server.ask(&request);
        assert_eq!(answer, b"+OK\r\n", "{}", answer.escape_ascii());
    }
}

#[test]
fn a_filter_moves_by_its_dump() {
    let mut server = Server::new();
    for (name, reserve) in [("grown", "0.001 10"), ("fixed", "0.001 20000 NONSCALING")] {
        server.line(&format!("BF.RESERVE {name} {reserve}"));
        for i in 0..9_000 {
            server.line(&format!("BF.ADD {name} {i}"));
        }
        let chunks = dump(&mut server, name);
        assert!(chunks.len() > 1);
        let (last, but_last) = chunks.split_last().unwrap();
        load(&mut server, "copy", but_last);
        assert_eq!(server.line("EXISTS copy"), ":0\r\n", "half a filter is not visible");
        load(&mut server, "copy", std::slice::from_ref(last));
        for i in 0..9_000 {
            assert_eq!(server.line(&format!("BF.EXISTS copy {i}")), ":1\r\n");
        }
        let info = server.line(&format!("BF.INFO {name}"));
        assert_eq!(server.line("BF.INFO copy"), info);
        server.line("DEL copy");
    }
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
