//! Requests and answers over sockets: pieces, pipelines, order, both ends closing.

use crate::support::{Raw, Running, options, request};
use mayhap_server::net::Ended;
use mayhap_server::net::Options;
use std::net::Shutdown;

#[test]
fn a_request_is_answered_however_it_is_cut() {
    let running = Running::new(options());
    let mut raw = running.connect();
    let stream = [
        request(&["PING"]),
        b"ECHO \"a b\"\r\n".to_vec(),
        b"*0\r\n\r\n".to_vec(),
        request(&["ECHO", "x\r\ny"]),
        request(&["COUNT", "", "", ""]),
    ]
    .concat();
    let answers = "+PONG\r\n$3\r\na b\r\n$4\r\nx\r\ny\r\n+3\r\n";
    for byte in &stream {
        raw.send([*byte]);
    }
    raw.expect(answers);
    for cut in 0..stream.len() {
        raw.send(&stream[..cut]);
        raw.send(&stream[cut..]);
        raw.expect(answers);
    }
}

#[test]
fn answers_arrive_in_the_order_of_requests() {
    let running = Running::new(options());
    let mut raw = running.connect();
    let writer = raw.socket.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        let mut writer = Raw { socket: writer };
        for start in (0..200_000).step_by(1000) {
            let part = (start..start + 1000).flat_map(|n| request(&["ECHO", &n.to_string()]));
            writer.send(part.collect::<Vec<_>>());
        }
    });
    for n in 0..200_000 {
        let text = n.to_string();
        raw.expect(format!("${}\r\n{text}\r\n", text.len()));
    }
    sender.join().unwrap();
}

#[test]
fn a_word_of_many_packets_arrives_whole() {
    let running = Running::new(options());
    let mut raw = running.connect();
    let word: String = (0..1 << 20).map(|n| char::from(b'a' + (n % 23) as u8)).collect();
    raw.call(&["ECHO", &word], &format!("${}\r\n{word}\r\n", word.len()));
    raw.call(&["PING"], "+PONG\r\n");
}

#[test]
fn requests_before_the_end_of_input_are_answered() {
    let running = Running::new(options());
    let mut raw = running.connect();
    raw.send("PING\r\nBIG 3000000\r\nPING\r\nPI");
    raw.socket.shutdown(Shutdown::Write).unwrap();
    let rest = raw.rest();
    assert_eq!(rest.len(), 7 + 10 + 3_000_000 + 2 + 7);
    assert!(rest.ends_with("x\r\n+PONG\r\n"));
}

#[test]
fn an_end_that_arrives_with_the_last_request_is_seen() {
    let running = Running::new(Options { threads: 1, ..options() });
    let mut raw = running.connect();
    raw.call(&["PING"], "+PONG\r\n");
    let mut other = running.connect();
    let busy = running.engine.busy.lock().unwrap();
    other.send("BUSY\r\n");
    while running.engine.requests.lock().unwrap().is_empty() {
        std::thread::yield_now();
    }
    // The loop sees both at once.
    raw.send("PING\r\n");
    raw.socket.shutdown(Shutdown::Write).unwrap();
    drop(busy);
    assert_eq!(raw.rest(), "+PONG\r\n");
    other.expect("+OK\r\n");
}

#[test]
fn answers_unsent_at_the_end_of_input_still_arrive() {
    let running = Running::new(options());
    let mut bystander = running.connect();
    // Some fit into the system's buffers, some do not, and some just barely.
    let sizes: Vec<_> = (1..40).map(|n| n * (150 << 10)).collect();
    let mut all: Vec<_> = sizes.iter().map(|_| running.connect()).collect();
    for (raw, size) in all.iter_mut().zip(&sizes) {
        raw.send(format!("BIG {size}\r\n"));
        raw.socket.shutdown(Shutdown::Write).unwrap();
    }
    let big = sizes.len() as u64;
    bystander.until(|| {
        let connected = running.clients().list();
        running.clients().received() == big + 1 && connected.iter().all(|c| c.requests() > 0)
    });
    for (raw, size) in all.iter_mut().zip(&sizes) {
        assert_eq!(raw.rest().len(), size + format!("${size}\r\n\r\n").len());
    }
}

#[test]
fn quit_is_answered_and_nothing_after_it() {
    let running = Running::new(options());
    let mut raw = running.connect();
    raw.send("PING\r\nQUIT\r\nPING\r\n");
    assert_eq!(raw.rest(), "+PONG\r\n+OK\r\n");
}

#[test]
fn shutdown_ends_the_server_and_says_how() {
    for (words, save) in [(&["SHUTDOWN"][..], true), (&["SHUTDOWN", "NOSAVE"], false)] {
        let mut running = Running::new(options());
        let mut idle = running.connect();
        idle.call(&["PING"], "+PONG\r\n");
        let mut raw = running.connect();
        raw.send(request(words));
        assert_eq!(raw.rest(), "");
        assert_eq!(idle.rest(), "");
        let ended = running.server.take().unwrap().join().unwrap();
        assert_eq!(ended, Ended::Shutdown { save });
    }
}
