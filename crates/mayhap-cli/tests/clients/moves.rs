//! Filters that move from server to server, through sockets with default limits.

use crate::golden::{Golden, Key};
use crate::server::Server;
use mayhap_formats::KeyType;
use redis::{Connection, cmd};
use std::fs;
use std::path::Path;

type Chunk = (i64, Vec<u8>);

fn dump(connection: &mut Connection, name: &str) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut cursor = 0;
    loop {
        let (next, bytes): Chunk =
            cmd("BF.SCANDUMP").arg(name).arg(cursor).query(connection).unwrap();
        if next == 0 {
            assert!(bytes.is_empty());
            return chunks;
        }
        cursor = next;
        chunks.push((next, bytes));
    }
}

fn load(connection: &mut Connection, name: &str, chunks: &[Chunk]) -> redis::RedisResult<()> {
    for (cursor, bytes) in chunks {
        let () = cmd("BF.LOADCHUNK").arg(name).arg(cursor).arg(bytes).query(connection)?;
    }
    Ok(())
}

/// Chunks as files whose names are their cursors.
fn write(folder: &Path, chunks: &[Chunk]) {
    for (cursor, bytes) in chunks {
        fs::write(folder.join(format!("{cursor:020}")), bytes).unwrap();
    }
}

fn read(folder: &Path) -> Vec<Chunk> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    let cursor = |path: &Path| path.file_name().unwrap().to_str().unwrap().parse().unwrap();
    names.iter().map(|path| (cursor(path), fs::read(path).unwrap())).collect()
}

fn exists(connection: &mut Connection, name: &str, items: &[Vec<u8>]) -> Vec<bool> {
    let mut answers = Vec::new();
    for items in items.chunks(5_000) {
        let part: Vec<bool> = cmd("BF.MEXISTS").arg(name).arg(items).query(connection).unwrap();
        answers.extend(part);
    }
    answers
}

fn items(prefix: &str, count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|i| format!("{prefix}{i}").into_bytes()).collect()
}

#[test]
fn a_filter_moves_through_files_and_answers_as_before() {
    let from = Server::start(&[]);
    let key = from.path().join("data/key");
    let to = Server::start(&["--key-file", key.to_str().unwrap()]);
    let (mut source, mut target) = (from.connect("resp2"), to.connect("resp3"));
    // One grows, one is more than a chunk.
    for (name, reserve) in [
        ("grown", "0.01 100"),
        ("plain", "0.01 100 KEYED no"),
        ("large", "0.001 15000000 NONSCALING"),
        ("counting", "0.01 11000 COUNTING"),
        ("compact", "0.01 11000 LAYOUT compact"),
        ("window", "0.01 20000 WINDOW 20000"),
    ] {
        let mut command = cmd("BF.RESERVE");
        command.arg(name).arg(reserve.split(' ').collect::<Vec<_>>());
        let () = command.query(&mut source).unwrap();
        let members = items("member ", 10_000);
        for part in members.chunks(5_000) {
            let _: Vec<bool> = cmd("BF.MADD").arg(name).arg(part).query(&mut source).unwrap();
        }
        let chunks = dump(&mut source, name);
        assert!(chunks.iter().all(|(_, bytes)| bytes.len() <= 16 << 20));
        assert_eq!(chunks.len() > 2, name == "large", "{name}");
        let folder = from.path().join(name);
        fs::create_dir(&folder).unwrap();
        write(&folder, &chunks);
        load(&mut target, name, &read(&folder)).unwrap();
        assert!(exists(&mut target, name, &members).iter().all(|found| *found), "{name}");
        let others = items("other ", 20_000);
        let answers = exists(&mut source, name, &others);
        assert_eq!(exists(&mut target, name, &others), answers, "{name}");
        // Both continue alike.
        for connection in [&mut source, &mut target] {
            let _: Vec<bool> =
                cmd("BF.MADD").arg(name).arg(&others[..100]).query(connection).unwrap();
            assert!(exists(connection, name, &others[..100]).iter().all(|found| *found));
        }
    }
}

#[test]
fn a_keyed_filter_is_refused_where_there_is_another_key() {
    let (from, to) = (Server::start(&[]), Server::start(&[]));
    let (mut source, mut target) = (from.connect("resp2"), to.connect("resp2"));
    for (name, keyed) in [("keyed", "yes"), ("plain", "no")] {
        let words = [name, "0.01", "1000", "KEYED", keyed];
        let () = cmd("BF.RESERVE").arg(&words).query(&mut source).unwrap();
        let _: bool = cmd("BF.ADD").arg(name).arg("a").query(&mut source).unwrap();
        let loaded = load(&mut target, name, &dump(&mut source, name));
        if keyed == "no" {
            loaded.unwrap();
        } else {
            let error = loaded.unwrap_err().to_string();
            assert!(error.contains("received bad data") && error.contains("key"), "{error}");
        }
        let there: u64 = cmd("EXISTS").arg(name).query(&mut target).unwrap();
        assert_eq!(there == 1, keyed == "no");
    }
}

/// The chunks of a header and all bits, one for each layer as in the header.
fn chunks(header: Vec<u8>, bits: &[u8]) -> Vec<Chunk> {
    let lens: Vec<usize> = header[20..]
        .as_chunks::<53>()
        .0
        .iter()
        .map(|layer| u64::from_le_bytes(*layer.first_chunk().unwrap()) as usize)
        .collect();
    let mut chunks = vec![(1, header)];
    let mut end = 0;
    for len in lens {
        chunks.push(((end + len + 1).cast_signed() as i64, bits[end..end + len].to_vec()));
        end += len;
    }
    assert_eq!(end, bits.len());
    chunks
}

fn encoded(json: &serde_json::Value, rule: &str) -> Vec<Vec<u8>> {
    let keys = Key::of_rule(&json[rule]);
    keys.iter().map(|key| key.encode(KeyType::Bytes).unwrap()).collect()
}

#[test]
fn chunks_of_redisbloom_answer_here_as_there_and_are_given_back() {
    let server = Server::start(&[]);
    let mut connection = server.connect("resp2");
    let golden = Golden::of("redisbloom");
    let mut loaded = 0;
    for file in golden.names() {
        let Some(name) = file.strip_suffix(".json") else { continue };
        let json = golden.json(&file);
        let header = golden.bytes(json["file"].as_str().unwrap());
        let chunks = chunks(header, &golden.bytes(&format!("{name}.bits")));
        load(&mut connection, name, &chunks).unwrap();
        let card: u64 = cmd("BF.CARD").arg(name).query(&mut connection).unwrap();
        assert_eq!(card, json["items"].as_u64().unwrap(), "{name}");
        let members = encoded(&json, "members_rule");
        let found = exists(&mut connection, name, &members);
        if json["refused"].as_u64() == Some(0) {
            assert!(found.iter().all(|found| *found), "{name}");
        }
        let listed = json["probes_rule_contains_true_at"].as_array().unwrap();
        let listed: Vec<u64> = listed.iter().map(|i| i.as_u64().unwrap()).collect();
        let found = exists(&mut connection, name, &encoded(&json, "probes_rule"));
        let found: Vec<u64> =
            (0..).zip(found).filter(|(_, found)| *found).map(|(i, _)| i).collect();
        assert_eq!(found, listed, "{name}");
        assert_eq!(dump(&mut connection, name), chunks, "{name}");
        loaded += 1;
    }
    assert!(loaded >= 9, "{loaded}");
}
