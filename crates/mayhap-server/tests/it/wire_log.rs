//! Answers that depend on the log: together, later, or not at all.

use crate::support::{Running, options};
use mayhap_server::net::Ended;
use mayhap_server::net::Options;
use std::sync::atomic::Ordering;

/// With one loop, answers arrive in the order of execution.
fn one_loop() -> Running {
    Running::new(Options { threads: 1, ..options() })
}

fn requests(running: &Running) -> usize {
    running.engine.requests.lock().unwrap().len()
}

#[test]
fn a_pipeline_is_one_commit() {
    let running = one_loop();
    let mut raw = running.connect();
    raw.send("ADD k\r\n".repeat(100));
    raw.expect(":1\r\n".repeat(100));
    assert_eq!(running.engine.commits.load(Ordering::SeqCst), 1);
}

#[test]
fn changes_that_the_log_refuses_are_not_acknowledged() {
    let running = one_loop();
    let mut raw = running.connect();
    running.engine.full.store(true, Ordering::SeqCst);
    let refused = "-MISCONF a write was refused meanwhile\r\n";
    raw.send("PING\r\nECHO a\r\nADD k\r\nPING\r\nADD l\r\n");
    raw.expect(format!("+PONG\r\n$1\r\na\r\n{}", refused.repeat(3)));
    raw.send("PING\r\nPING\r\n");
    raw.expect("+PONG\r\n+PONG\r\n");
    running.engine.full.store(false, Ordering::SeqCst);
    raw.call(&["ADD", "m"], ":1\r\n");
    running.engine.full.store(true, Ordering::SeqCst);
    raw.send("ADD n\r\nQUIT\r\nPING\r\n");
    assert_eq!(raw.rest(), refused.repeat(2));
    assert_eq!(requests(&running), 4);
}

#[test]
fn answers_wait_for_the_log_and_those_without_changes_do_not() {
    let running = one_loop();
    let mut writer = running.connect();
    let mut reader = running.connect();
    running.engine.waits.store(true, Ordering::SeqCst);
    writer.send("PING\r\nADD k\r\nPING\r\n");
    reader.until(|| requests(&running) == 1);
    // Requests sent meanwhile are not executed.
    writer.send("ADD l\r\n");
    for _ in 0..10 {
        writer.silent(&mut reader);
    }
    assert_eq!(requests(&running), 1);
    running.engine.sync();
    writer.expect("+PONG\r\n:1\r\n+PONG\r\n");
    reader.until(|| requests(&running) == 2);
    writer.silent(&mut reader);
    running.engine.sync();
    writer.expect(":1\r\n");
}

#[test]
fn answers_that_wait_become_errors_if_the_log_fails() {
    let running = one_loop();
    let mut writer = running.connect();
    let mut reader = running.connect();
    running.engine.waits.store(true, Ordering::SeqCst);
    writer.send("PING\r\nADD k\r\n");
    reader.until(|| requests(&running) == 1);
    running.engine.fail();
    writer.expect("+PONG\r\n-MISCONF The log failed on the disk");
    reader.call(&["PING"], "+PONG\r\n");
    let mut other = running.connect();
    other.send("ADD l\r\n");
    other.expect("-MISCONF ");
}

#[test]
fn a_client_that_leaves_before_its_answer_affects_no_other() {
    let running = one_loop();
    let mut reader = running.connect();
    running.engine.waits.store(true, Ordering::SeqCst);
    let mut left = running.connect();
    left.send("ADD k\r\n");
    reader.until(|| requests(&running) == 1);
    drop(left);
    // Its end is read once it is answered.
    running.engine.sync();
    reader.until(|| running.clients().connected() == 1);
    let mut next = running.connect();
    next.send("ADD l\r\n");
    reader.until(|| requests(&running) == 2);
    next.silent(&mut reader);
    running.engine.sync();
    next.expect(":1\r\n");
}

#[test]
fn a_stopping_server_sends_due_answers() {
    let mut running = one_loop();
    let mut writer = running.connect();
    let mut reader = running.connect();
    let mut late = running.connect();
    late.send("BIG 20000000\r\n");
    running.engine.waits.store(true, Ordering::SeqCst);
    writer.send("ADD k\r\n");
    reader.until(|| requests(&running) == 1);
    let server = running.server.take().unwrap();
    server.stop();
    assert_eq!(reader.rest(), "");
    running.engine.sync();
    assert_eq!(writer.rest(), ":1\r\n");
    assert_eq!(late.rest().len(), 20_000_000 + 13);
    assert_eq!(server.join().unwrap(), Ended::Stopped);
}
