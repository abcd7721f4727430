//! Requests that take long, from the view of the loop: they stop their own connection and no other.

use crate::support::{Echo, Raw, Running, options};
use mayhap_server::net::Ended;
use mayhap_server::net::{Client, Options};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// With one loop, a request that stops it stops everybody.
fn one_loop() -> Running {
    Running::new(Options { threads: 1, ..options() })
}

fn requests(running: &Running) -> usize {
    running.engine.requests.lock().unwrap().len()
}

#[test]
fn neighbours_are_answered_while_a_request_takes_long() {
    let running = one_loop();
    let (mut slow, mut other) = (running.connect(), running.connect());
    let busy = running.engine.busy.lock().unwrap();
    slow.send("SLOW ECHO a\r\n");
    other.until(|| requests(&running) == 1);
    for _ in 0..100 {
        slow.silent(&mut other);
    }
    let mut late = running.connect();
    late.call(&["ECHO", "b"], "$1\r\nb\r\n");
    drop(busy);
    slow.expect("$1\r\na\r\n");
    slow.call(&["PING"], "+PONG\r\n");
}

#[test]
fn answers_around_a_request_that_takes_long_keep_their_order() {
    let running = one_loop();
    let mut raw = running.connect();
    for cut in [0, 1, 9, 21, 30, 45, 60] {
        let stream =
            "ECHO 1\r\nSLOW ECHO 2\r\nECHO 3\r\nSLOW ECHO 4\r\nSLOW ADD k\r\nADD l\r\nECHO 5\r\n";
        raw.send(&stream[..cut]);
        raw.send(&stream[cut..]);
        raw.expect("$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n:1\r\n:1\r\n$1\r\n5\r\n");
    }
    // Many, with others at the same time.
    let mut others: Vec<_> = (0..20).map(|_| running.connect()).collect();
    for (i, other) in others.iter_mut().enumerate() {
        other.send(format!("SLOW ECHO {i}\r\nECHO x{i}\r\n").repeat(20));
    }
    for (i, other) in others.iter_mut().enumerate() {
        let (slow, fast) = (i.to_string(), format!("x{i}"));
        let pair = format!("${}\r\n{slow}\r\n${}\r\n{fast}\r\n", slow.len(), fast.len());
        other.expect(pair.repeat(20));
    }
}

#[test]
fn the_session_moves_with_the_request_and_returns() {
    let running = one_loop();
    let mut raw = running.connect();
    raw.send("NAME first\r\nSLOW WHO\r\nSLOW NAME second\r\nWHO\r\n");
    raw.expect("+OK\r\n$5\r\nfirst\r\n+OK\r\n$6\r\nsecond\r\n");
    let list = running.clients().list();
    assert_eq!(list[0].info().name, b"second");
    assert_eq!(list[0].requests(), 4);
    raw.send("PING\r\nSLOW QUIT\r\nPING\r\n");
    assert_eq!(raw.rest(), "+PONG\r\n+OK\r\n");
}

#[test]
fn requests_received_meanwhile_are_not_executed_and_count_as_memory() {
    let running = one_loop();
    let (mut slow, mut other) = (running.connect(), running.connect());
    let busy = running.engine.busy.lock().unwrap();
    let word = "w".repeat(30_000);
    slow.send(format!("SLOW ECHO {word}\r\nADD k\r\n"));
    other.until(|| requests(&running) == 1);
    slow.send("ADD l\r\n");
    other.until(|| running.clients().buffered_bytes() > 30_000);
    for _ in 0..10 {
        slow.silent(&mut other);
    }
    assert_eq!(requests(&running), 1);
    drop(busy);
    slow.expect(format!("$30000\r\n{word}\r\n:1\r\n:1\r\n"));
    other.until(|| running.clients().buffered_bytes() == 0);
}

#[test]
fn a_request_that_takes_long_waits_for_the_log_of_those_before_it_and_for_its_own() {
    let running = one_loop();
    let (mut writer, mut other) = (running.connect(), running.connect());
    running.engine.waits.store(true, Ordering::SeqCst);
    writer.send("ADD k\r\nSLOW ADD l\r\nPING\r\n");
    other.until(|| requests(&running) == 1);
    for _ in 0..10 {
        writer.silent(&mut other);
    }
    assert_eq!(requests(&running), 1);
    running.engine.sync();
    writer.expect(":1\r\n");
    // `SLOW` and the request in it.
    other.until(|| requests(&running) == 3);
    for _ in 0..10 {
        writer.silent(&mut other);
    }
    // Its record may be written a moment after it is counted above.
    other.until(|| running.engine.commits.load(Ordering::SeqCst) == 2);
    running.engine.sync();
    writer.expect(":1\r\n+PONG\r\n");
    running.engine.full.store(true, Ordering::SeqCst);
    writer.send("SLOW ADD m\r\nPING\r\n");
    writer.expect("-MISCONF a write was refused meanwhile\r\n+PONG\r\n");
}

#[test]
fn the_answer_to_a_closed_connection_reaches_nobody() {
    let running = one_loop();
    let mut other = running.connect();
    other.call(&["PING"], "+PONG\r\n");
    let busy = running.engine.busy.lock().unwrap();
    let mut slow = running.connect();
    slow.send("SLOW ECHO a\r\nADD k\r\n");
    other.until(|| requests(&running) == 1);
    // A second one waits behind it, and is never begun.
    let mut next = running.connect();
    next.send("SLOW ADD l\r\n");
    let begun =
        |list: Vec<_>| list.iter().filter(|of: &&Arc<Client>| of.buffered_bytes() > 0).count();
    other.until(|| begun(running.clients().list()) == 2);
    let ids: Vec<_> = running.clients().list().iter().map(|client| client.id).collect();
    for id in &ids[1..] {
        assert!(running.clients().kill(*id));
    }
    assert_eq!((slow.rest(), next.rest()), (String::new(), String::new()));
    // These get the places of the two.
    let mut heirs = [running.connect(), running.connect()];
    for heir in &mut heirs {
        heir.call(&["PING"], "+PONG\r\n");
    }
    drop(busy);
    // Queues are processed in order, so the two are done after this.
    heirs[0].send("SLOW ECHO b\r\n");
    heirs[0].expect("$1\r\nb\r\n");
    for heir in &mut heirs {
        heir.silent(&mut other);
    }
    let requests = running.engine.requests.lock().unwrap().clone();
    assert_eq!(requests, [b"SLOW".to_vec(), b"SLOW".to_vec()], "the first and the last");
}

/// A connection that is reset cannot be answered, so its pending request is not begun.
#[test]
fn a_request_of_a_connection_that_is_reset_is_not_begun() {
    let running = one_loop();
    let mut other = running.connect();
    let busy = running.engine.busy.lock().unwrap();
    let mut slow = running.connect();
    slow.send("SLOW ECHO a\r\n");
    other.until(|| requests(&running) == 1);
    let mut next = running.connect();
    next.send("ECHO unread\r\nSLOW ADD l\r\n");
    // A socket that is closed with bytes unread is reset.
    assert_eq!(next.socket.peek(&mut [0]).unwrap(), 1);
    let waiting = |list: Vec<Arc<Client>>| list.iter().filter(|of| of.buffered_bytes() > 0).count();
    other.until(|| waiting(running.clients().list()) == 2);
    drop(next);
    other.until(|| running.clients().connected() == 2);
    drop(busy);
    slow.expect("$1\r\na\r\n");
    slow.send("SLOW ECHO b\r\n");
    slow.expect("$1\r\nb\r\n");
    let requests = running.engine.requests.lock().unwrap().clone();
    let heard: Vec<_> = requests.iter().map(|word| String::from_utf8_lossy(word)).collect();
    assert_eq!(heard, ["SLOW", "SLOW"]);
}

#[test]
fn a_client_that_sends_no_more_still_gets_the_answer() {
    let running = one_loop();
    let mut other = running.connect();
    let busy = running.engine.busy.lock().unwrap();
    let mut slow = running.connect();
    slow.send("SLOW ECHO a\r\nPING\r\n");
    slow.socket.shutdown(Shutdown::Write).unwrap();
    other.until(|| requests(&running) == 1);
    drop(busy);
    assert_eq!(slow.rest(), "$1\r\na\r\n+PONG\r\n");
}

/// Occupies the thread of logged-in connections, and the one place of its queue.
fn fill(running: &Running, other: &mut Raw) -> [Raw; 2] {
    let mut all = [running.connect(), running.connect()];
    all[0].send("LOGIN\r\nSLOW ECHO a\r\n");
    all[0].expect("+OK\r\n");
    other.until(|| requests(running) == 1);
    all[1].send("LOGIN\r\nSLOW ECHO b\r\n");
    all[1].expect("+OK\r\n");
    // Its turn has ended, so its request is in the queue.
    other.call(&["PING"], "+PONG\r\n");
    all
}

#[test]
fn beyond_the_queue_requests_are_refused_and_before_a_login_there_is_another() {
    let options = Options { threads: 1, max_jobs: 1, ..options() };
    let running = Running::with(options, Echo::with_logins());
    let mut other = running.connect();
    let busy = running.engine.busy.lock().unwrap();
    let mut all = fill(&running, &mut other);
    let mut third = running.connect();
    let refused = "-ERR too many requests that take long are waiting already; \
                   nothing was done, try again later\r\n";
    third.send("LOGIN\r\nSLOW ECHO c\r\nSLOW ADD k\r\nECHO d\r\n");
    third.expect(format!("+OK\r\n{refused}{refused}$1\r\nd\r\n"));
    assert_eq!(requests(&running), 1);
    // A connection that has not logged in does not wait behind them.
    let mut stranger = running.connect();
    stranger.send("SLOW ECHO e\r\n");
    other.until(|| requests(&running) == 2);
    drop(busy);
    stranger.expect("$1\r\ne\r\n");
    all[0].expect("$1\r\na\r\n");
    all[1].expect("$1\r\nb\r\n");
    third.send("SLOW ECHO f\r\n");
    third.expect("$1\r\nf\r\n");
}

#[test]
fn a_stopping_server_answers_long_requests() {
    let mut running = one_loop();
    let (mut slow, mut other) = (running.connect(), running.connect());
    let server = running.server.take().unwrap();
    {
        let _busy = running.engine.busy.lock().unwrap();
        slow.send("SLOW ECHO a\r\nPING\r\n");
        other.until(|| requests(&running) == 1);
        server.stop();
        assert_eq!(other.rest(), "");
    }
    assert_eq!(slow.rest(), "$1\r\na\r\n");
    assert_eq!(server.join().unwrap(), Ended::Stopped);
}

/// A connection has a millisecond of a turn, whatever it has sent; then it waits behind all
/// connections with less work.
#[test]
fn a_pipeline_of_heavy_requests_has_its_share_of_a_turn_and_no_more() {
    let running = one_loop();
    let (mut busy, mut heavy, mut other) =
        (running.connect(), running.connect(), running.connect());
    other.call(&["PING"], "+PONG\r\n");
    heavy.call(&["PING"], "+PONG\r\n");
    let guard = running.engine.busy.lock().unwrap();
    busy.send("BUSY\r\n");
    while requests(&running) == 0 {
        std::thread::yield_now();
    }
    // All of this has arrived before the loop looks again.
    heavy.send("WORK 600000\r\n".repeat(200));
    other.send("ADD first\r\n");
    drop(guard);
    other.expect(":1\r\n");
    other.call(&["ADD", "second"], ":1\r\n");
    heavy.expect("+OK\r\n".repeat(200));
    let requests = running.engine.requests.lock().unwrap();
    let before = |word: &[u8]| {
        let at = requests.iter().position(|request| request == word).unwrap();
        requests[..at].iter().filter(|request| *request == b"WORK").count()
    };
    assert!(before(b"first") <= 2, "{} of its requests were first", before(b"first"));
    assert_eq!(requests.iter().filter(|request| *request == b"WORK").count(), 200);
}
