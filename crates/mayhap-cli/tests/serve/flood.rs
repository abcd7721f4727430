//! Many abusive clients (T10), against the process: its memory, and the waits of others.

use crate::client::{Answer, Client, request};
use crate::server::{Server, until, until_alone};
use rustix::process::{Resource, getrlimit};
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::time::Duration;
use test_servers::tool;

const MIB: u64 = 1 << 20;
const CLIENTS: &str = "Redis clients: 127.0.0.1:";

/// A server that has answered, so that the basic allocations of every server are made.
fn start(folder: &std::path::Path) -> (Server, u16, Client<TcpStream>) {
    // New keys must be new.
    let arguments = ["--max-clients", "20k", "--default-error", "1e-9"];
    let server = Server::start(folder, &arguments);
    let port = server.port(CLIENTS);
    let mut neighbour = Client::new(Server::connect_tcp(port));
    assert_eq!(neighbour.ask("BF.ADD f neighbour"), Answer::Number(1));
    (server, port, neighbour)
}

/// A neighbour is served, and can list the clients.
fn served(neighbour: &mut Client<TcpStream>, round: u32) {
    assert_eq!(neighbour.ask(&format!("BF.ADD f neighbour-{round}")), Answer::Number(1));
    assert_eq!(neighbour.ask("BF.EXISTS f neighbour"), Answer::Number(1));
}

fn grown(server: &Server, before: u64) -> u64 {
    server.resident().saturating_sub(before)
}

#[test]
fn a_hundred_clients_that_never_read_cost_little_and_delay_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let (server, port, mut neighbour) = start(folder.path());
    let before = server.resident();
    let keys: Vec<Vec<u8>> = (0..1000).map(|key| format!("{key}").into_bytes()).collect();
    let mut words: Vec<&[u8]> = vec![b"BF.MADD", b"f"];
    words.extend(keys.iter().map(Vec::as_slice));
    let pipeline = request(&words).repeat(200);
    let mut lazy = Vec::new();
    for round in 0..100 {
        let mut stream = Server::connect_tcp(port);
        stream.set_nonblocking(true).unwrap();
        let mut sent = 0;
        // Until nothing was accepted for a while, or everything was.
        let mut blocked = 0;
        while sent < 20 * pipeline.len() && blocked < 20 {
            match stream.write(&pipeline[sent % pipeline.len()..]) {
                Ok(bytes) => (sent, blocked) = (sent + bytes, 0),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock, "client {round}: {error}");
                    blocked += 1;
                    std::thread::sleep(Duration::from_micros(500));
                }
            }
        }
        assert!(blocked > 0, "client {round} was not stopped");
        lazy.push(stream);
        served(&mut neighbour, round);
    }
    let grown = grown(&server, before);
    println!("100 clients that never read: {} KiB more", grown >> 10);
    assert!(grown < 64 * MIB, "{grown} bytes");
    drop(lazy);
    served(&mut neighbour, 1000);
}

#[test]
fn a_thousand_half_sent_giants_cost_what_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let (server, port, mut neighbour) = start(folder.path());
    let before = server.resident();
    // The largest word that is allowed, and one that is not.
    let heads = [
        "*3\r\n$6\r\nBF.ADD\r\n$1\r\nf\r\n$1048576\r\nx",
        "*3\r\n$6\r\nBF.ADD\r\n$1\r\nf\r\n$536870912\r\nx",
    ];
    let mut giants = Vec::new();
    for giant in 0..1000 {
        let mut stream = Server::connect_tcp(port);
        let is_allowed = giant % 2 == 0;
        stream.write_all(heads[usize::from(!is_allowed)].as_bytes()).unwrap();
        let mut client = Client::new(stream);
        if !is_allowed {
            let answer = client.answer();
            assert!(matches!(answer, Ok(Answer::Error(_))), "{answer:?}");
        }
        giants.push(client);
    }
    served(&mut neighbour, 0);
    let grown = grown(&server, before);
    println!("1,000 half-sent giants: {} KiB more", grown >> 10);
    assert!(grown < 16 * MIB, "{grown} bytes");
    assert_eq!(neighbour.ask("BF.CARD f"), Answer::Number(2));
}

#[test]
fn a_burst_of_ten_thousand_connections_is_taken_and_idle_they_cost_little() {
    const ALL: u64 = 10_000;
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    if files < ALL + 2000 {
        tool(false, &format!("12,000 open files, and the limit is {files} (ulimit -n)"));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (server, port, mut neighbour) = start(folder.path());
    let before = server.resident();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(move || {
                (0..ALL / 4).map(|_| Server::connect_tcp(port)).collect::<Vec<_>>()
            })
        })
        .collect();
    let all: Vec<TcpStream> = threads.into_iter().flat_map(|it| it.join().unwrap()).collect();
    let mut all: Vec<_> = all.into_iter().map(Client::new).collect();
    for client in &mut all {
        client.send(b"PING\r\n").unwrap();
    }
    for client in &mut all {
        assert_eq!(client.answer().unwrap(), Answer::Simple("PONG".into()));
    }
    served(&mut neighbour, 0);
    let grown = grown(&server, before);
    println!("10,000 idle clients: {} KiB more, {} bytes each", grown >> 10, grown / ALL);
    assert!(grown < 64 * MIB, "{grown} bytes");
    drop(all);
    until_alone(&mut neighbour);
}

/// An allocator that keeps freed memory fails this: glibc's kept all of it.
#[test]
fn the_memory_of_filters_that_are_deleted_goes_back_to_the_system() {
    const FILTERS: usize = 60_000;
    let folder = tempfile::tempdir().unwrap();
    let (server, _, mut neighbour) = start(folder.path());
    let before = server.resident();
    for first in (0..FILTERS).step_by(1000) {
        let requests: Vec<Vec<u8>> = (first..first + 1000)
            .map(|i| request(&[b"BF.ADD", format!("small-{i}").as_bytes(), b"key"]))
            .collect();
        neighbour.send(&requests.concat()).unwrap();
        for _ in 0..1000 {
            assert_eq!(neighbour.answer().unwrap(), Answer::Number(1));
        }
    }
    let full = grown(&server, before);
    // The sizes of their bits, without the overhead.
    assert!(full > FILTERS as u64 * 256, "{full} bytes");
    assert_eq!(neighbour.ask("FLUSHALL"), Answer::Simple("OK".into()));
    let left = until(|| Some(grown(&server, before)).filter(|&left| left < full / 4));
    println!("{FILTERS} filters: {} KiB more, {} KiB when they are gone", full >> 10, left >> 10);
    assert_eq!(neighbour.ask("DBSIZE"), Answer::Number(0));
}
