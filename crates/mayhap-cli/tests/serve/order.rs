//! Acknowledged operations are replayed in order: on a window, a filter that clears itself and a
//! counting and a compact one, while another thread commits later than it has changed them.

use crate::client::{Answer, request};
use crate::server::{Server, until};
use rustix::process::Signal;

fn keys(verb: &str, name: &str, keys: &str, count: u64) -> Vec<u8> {
    let keys: Vec<String> = (0..count).map(|key| format!("{keys}{key}")).collect();
    let words = [verb, name].into_iter().chain(keys.iter().map(String::as_str));
    request(&words.map(str::as_bytes).collect::<Vec<_>>())
}

/// One connection fills a filter in a transaction that takes a while; another one, which sees that,
/// adds a key to it (or removes one) and is answered first. Its answer holds after a restart.
fn cross(reserve: &str, removes: bool, policy: &str, kills: bool) {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--threads", "2", "--appendfsync", policy, "--checkpoint-interval", "0"];
    let server = Server::start(folder.path(), &arguments);
    let (mut one, mut other) = (server.connect(), server.connect());
    assert_eq!(one.ask(&format!("BF.RESERVE f {reserve}")), Answer::Simple("OK".into()));
    one.ask("BF.RESERVE busy 0.0001 1000000");
    let mut all = vec![request(&[b"MULTI"])];
    if removes {
        all.push(request(&[b"BF.ADD", b"f", b"x"]));
    } else {
        all.push(keys("BF.MADD", "f", "fill", 7000));
    }
    all.push(request(&[b"BF.ADD", b"f", b"mark"]));
    all.extend((0..6).map(|n| keys("BF.MADD", "busy", &format!("busy{n}-"), 9000)));
    all.push(request(&[b"EXEC"]));
    let count = all.len();
    one.send(&all.concat()).unwrap();
    until(|| (other.ask("BF.EXISTS f mark") == Answer::Number(1)).then_some(()));
    let (changed, wanted) = if removes {
        (other.ask("BF.REM f x"), Answer::List(vec![Answer::Number(1)]))
    } else {
        (other.ask("BF.ADD f x"), Answer::Number(1))
    };
    assert_eq!(changed, wanted);
    (0..count).for_each(|_| drop(one.answer().unwrap()));
    let before = [other.ask("BF.EXISTS f x"), other.ask("BF.CARD f")];
    assert_eq!(before[0], Answer::Number(i64::from(!removes)));
    if kills {
        server.kill();
    } else {
        server.signal(Signal::TERM);
        server.wait();
    }
    let server = Server::start(folder.path(), &arguments);
    let mut client = server.connect();
    let after = [client.ask("BF.EXISTS f x"), client.ask("BF.CARD f")];
    assert_eq!(after, before, "{reserve}, {policy}, kills {kills}");
    server.stop();
}

#[test]
fn what_is_acknowledged_beside_a_longer_turn_is_replayed_after_it() {
    for (policy, kills) in [("everysec", true), ("always", false)] {
        cross("0.001 5000 WINDOW 5000", false, policy, kills);
        cross("0.001 5000 CLEARAT 0.5", false, policy, kills);
        cross("0.001 5000 COUNTING", true, policy, kills);
        cross("0.001 5000 LAYOUT compact", true, policy, kills);
    }
}
