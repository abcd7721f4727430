//! A line passes everything on, delayed and counted.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use test_servers::{Line, RedisOptions, RedisServer, Trips, ready};

/// Sends a request and waits for `reply` bytes.
fn send(stream: &mut TcpStream, request: &[u8], reply: usize) -> Vec<u8> {
    stream.write_all(request).unwrap();
    let mut bytes = vec![0; reply];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

fn connect(line: &Line) -> TcpStream {
    TcpStream::connect(line.url().trim_start_matches("redis://")).unwrap()
}

const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";

#[test]
fn round_trips_are_counted_for_any_number_of_commands() {
    if !ready(&["redis-server"]) {
        return;
    }
    let server = RedisServer::start(&RedisOptions::default()).unwrap();
    let line = Line::start(server.port(), Duration::from_millis(30)).unwrap();
    let mut stream = connect(&line);
    assert_eq!(send(&mut stream, PING, 7), b"+PONG\r\n");
    assert_eq!(line.trips(), Trips { count: 1, most_commands: 1 });
    for _ in 0..3 {
        assert_eq!(send(&mut stream, &PING.repeat(10), 70), b"+PONG\r\n".repeat(10));
    }
    assert_eq!(line.trips(), Trips { count: 3, most_commands: 10 });
    assert_eq!(line.trips(), Trips::default());
}

#[test]
fn something_is_done_once_between_two_commands() {
    if !ready(&["redis-server"]) {
        return;
    }
    let server = Arc::new(RedisServer::start(&RedisOptions::default()).unwrap());
    let line = Line::start(server.port(), Duration::ZERO).unwrap();
    let mut stream = connect(&line);
    let done = Arc::new(AtomicU64::new(0));
    let (there, count) = (Arc::clone(&server), Arc::clone(&done));
    line.before("GET", 1, move || {
        there.cli(&["SET", "key", "new"]).unwrap();
        count.fetch_add(1, Ordering::SeqCst);
    });
    let get = b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n";
    assert_eq!(send(&mut stream, get, 5), b"$-1\r\n");
    assert!(!line.is_done());
    assert_eq!(send(&mut stream, get, 9), b"$3\r\nnew\r\n");
    assert_eq!(send(&mut stream, get, 9), b"$3\r\nnew\r\n");
    assert!(line.is_done());
    assert_eq!(done.load(Ordering::SeqCst), 1);
}
