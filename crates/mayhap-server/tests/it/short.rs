//! Short files: uploaded whole, and loaded with one chunk.

use crate::command::Server as Commands;
use crate::http::Server;
use mayhap::AnyFilter;
use mayhap::native::encode_short;
use serde_json::json;

const FILE: [(&str, &str); 1] = [("Content-Type", "application/octet-stream")];

/// The short file of a filter with `item 0` to `item 99`.
fn file() -> Vec<u8> {
    let builder = AnyFilter::builder().expected_items(100).target_fpp(0.01);
    let mut filter = builder.build().unwrap();
    filter.insert_batch(&items());
    encode_short(&filter, "").unwrap()
}

fn items() -> Vec<String> {
    (0..100).map(|i| format!("item {i}")).collect()
}

#[test]
fn a_short_file_is_uploaded_and_a_damaged_one_refused() {
    let server = Server::plain();
    let bytes = file();
    assert_eq!(bytes.len(), 200);
    let put = |bytes: &[u8]| server.ask("PUT /v1/filters/a/file", &FILE, bytes);
    for at in [9, 10, 30, 70, 199] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert_eq!(put(&damaged).status, 400, "byte {at}");
        assert_eq!(put(&bytes[..at]).status, 400, "{at} bytes");
    }
    assert_eq!(put(&[&bytes[..], b"x"].concat()).status, 400);
    assert_eq!(server.get("/v1/filters/a").status, 404);
    let made = put(&bytes);
    assert_eq!(made.status, 201, "{}", made.text());
    let found = server.send("POST /v1/filters/a/check", &json!({ "items": items() })).json();
    assert_eq!(found["found"], 100, "{found}");
}

#[test]
fn a_short_file_is_a_dump_of_one_chunk() {
    let mut commands = Commands::new();
    let load = |bytes: Vec<u8>| [b"BF.LOADCHUNK".to_vec(), b"a".to_vec(), b"1".to_vec(), bytes];
    let mut damaged = file();
    damaged[150] ^= 1;
    assert!(commands.ask(&load(damaged)).starts_with(b"-"));
    assert_eq!(commands.line("EXISTS a"), ":0\r\n");
    assert_eq!(commands.ask(&load(file())), b"+OK\r\n");
    assert_eq!(commands.line("BF.MEXISTS a 'item 0' 'item 99'"), "*2\r\n:1\r\n:1\r\n");
    assert!(commands.ask(&load(file())).starts_with(b"-"), "the name is taken");
}
