//! Refused requests have changed nothing: every kind of filter, added to and removed from on a full
//! disk, refused once, repeated, saved, killed.

use crate::client::{Answer, Client, request};
use crate::full::{WRAPPER, limit};
use crate::server::{Server, until};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// The filters, and the commands that reserve them. `w` has room for the acknowledged keys and no
/// more.
const FILTERS: [(&str, &str); 7] = [
    ("growing", "1e-6 1000"),
    ("fixed", "1e-6 9000 NONSCALING"),
    ("counting", "1e-6 9000 COUNTING"),
    ("compact", "1e-6 9000 LAYOUT compact"),
    ("window", "1e-6 2000 WINDOW 2000"),
    ("stale", "1e-6 2000 WINDOW 2000 NOREFRESH"),
    ("clearing", "1e-6 9000 CLEARAT 0.1"),
];
/// The kinds from which keys can be removed.
const REMOVED: [&str; 2] = ["counting", "compact"];
/// The number of keys acknowledged before, and of keys in a refused request.
const OLD: u64 = 1000;
const NEW: u64 = 3000;

/// The form of the refused requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// One after another, each waited for.
    Alone,
    Pipeline,
    Transaction,
    Http,
}

type Unix = Client<UnixStream>;

fn words(verb: &str, name: &str, keys: &str, count: u64) -> Vec<u8> {
    let keys: Vec<String> = (0..count).map(|key| format!("{keys}{key}")).collect();
    let words = [verb, name].into_iter().chain(keys.iter().map(String::as_str));
    request(&words.map(str::as_bytes).collect::<Vec<_>>())
}

fn ask(client: &mut Unix, bytes: &[u8]) -> Answer {
    client.send(bytes).unwrap();
    client.answer().unwrap()
}

/// The number of ones in a list.
fn ones(answer: &Answer) -> usize {
    let Answer::List(list) = answer else { panic!("{answer:?}") };
    list.iter().filter(|answer| **answer == Answer::Number(1)).count()
}

/// For each filter: the old and the new keys found, and its count; and whether a filter exists that
/// a refused request would have created.
fn state(client: &mut Unix) -> Vec<(usize, usize, Answer)> {
    let filters = FILTERS.map(|(name, _)| name).into_iter().chain(["made"]);
    let mut found = |name: &str| {
        let old = ones(&ask(client, &words("BF.MEXISTS", name, "old", OLD)));
        let new = ones(&ask(client, &words("BF.MEXISTS", name, "new", NEW)));
        (old, new, client.ask(&format!("BF.CARD {name}")))
    };
    let found: Vec<_> = filters.map(&mut found).collect();
    assert_eq!(client.ask("EXISTS made"), Answer::Number(0));
    found
}

/// Adds to every filter and to a missing one, and removes from those that allow it.
fn requests() -> Vec<Vec<u8>> {
    let adds = FILTERS.iter().map(|(name, _)| words("BF.MADD", name, "new", NEW));
    let made = words("BF.MADD", "made", "new", NEW);
    let one = request(&[b"BF.ADD", b"made", b"x"]);
    let removals = REMOVED.map(|name| words("BF.REM", name, "old", OLD));
    adds.chain([made, one]).chain(removals).collect()
}

fn post(port: u16, path: &str, body: &str) -> String {
    let mut stream = Server::connect_tcp(port);
    let head = format!(
        "POST /v1/filters/{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().to_owned()
}

/// Sends them all; each is refused.
fn refused(way: Way, client: &mut Unix, http: u16, nth: usize) {
    let requests = requests();
    // Each request is the first on the full disk once.
    let turned = requests.iter().cycle().skip(nth).take(requests.len());
    let is_refused = |answer: &Answer| {
        assert!(matches!(answer, Answer::Error(why) if why.starts_with("MISCONF ")), "{answer:?}");
    };
    match way {
        Way::Alone => turned.for_each(|bytes| is_refused(&ask(client, bytes))),
        Way::Pipeline => {
            client.send(&turned.flatten().copied().collect::<Vec<_>>()).unwrap();
            for _ in &requests {
                is_refused(&client.answer().unwrap());
            }
        }
        Way::Transaction => {
            client.ask("MULTI");
            turned
                .for_each(|bytes| assert_eq!(ask(client, bytes), Answer::Simple("QUEUED".into())));
            match client.ask("EXEC") {
                Answer::List(answers) => answers.iter().for_each(is_refused),
                answer => is_refused(&answer),
            }
        }
        Way::Http => {
            let items = |keys: &str, count| -> String {
                let items: Vec<_> = (0..count).map(|key| format!("\"{keys}{key}\"")).collect();
                items.join(",")
            };
            let (old, new) = (items("old", OLD), items("new", NEW));
            let adds = FILTERS
                .iter()
                .map(|(name, _)| (format!("{name}/add"), format!("{{\"items\":[{new}]}}")));
            let made = format!("{{\"items\":[{new}],\"create\":{{\"capacity\":100}}}}");
            let removals = REMOVED
                .iter()
                .map(|name| (format!("{name}/remove"), format!("{{\"items\":[{old}]}}")));
            let made = [("made/add".to_owned(), made)];
            let all: Vec<_> = adds.chain(removals).chain(made).collect();
            for (path, body) in all.iter().cycle().skip(nth).take(all.len()) {
                assert_eq!(post(http, path, body), "503", "{path}");
            }
        }
    }
}

fn start(folder: &std::path::Path, policy: &str) -> (Server, u16) {
    let arguments = ["--appendfsync", policy, "--http", "0", "--checkpoint-interval", "0"];
    let server = Server::begin(folder, &WRAPPER, &arguments, &[]).unwrap();
    let http = server.port("HTTP: http://127.0.0.1:");
    (server, http)
}

/// The disk is full from the `nth` request on; checks everything that may have changed: at once,
/// when there is room again, after a kill with and without a checkpoint, and repeats the requests.
fn meet(way: Way, policy: &str, nth: usize, saves: bool) {
    let folder = tempfile::tempdir().unwrap();
    let (server, http) = start(folder.path(), policy);
    let mut client = server.connect();
    for (name, how) in FILTERS {
        assert_eq!(client.ask(&format!("BF.RESERVE {name} {how}")), Answer::Simple("OK".into()));
        let added = ask(&mut client, &words("BF.MADD", name, "old", OLD));
        assert_eq!(ones(&added), OLD as usize);
    }
    // Once more, so that a removal that is executed twice would lose them.
    for name in REMOVED {
        ask(&mut client, &words("BF.MADD", name, "old", OLD));
    }
    let before = state(&mut client);
    let log = crate::shim::files(&folder.path().join("data/log"));
    let bytes = log.iter().map(|(_, file)| file.len()).max().unwrap();
    limit(&server, Some(bytes + 30));
    for _ in 0..2 {
        refused(way, &mut client, http, nth);
        assert_eq!(state(&mut client), before, "{way:?} {policy} {nth}: at once");
    }
    limit(&server, None);
    until(|| (client.ask("BF.ADD probe x") == Answer::Number(1)).then_some(()));
    assert_eq!(state(&mut client), before, "{way:?} {policy} {nth}: with room");
    if saves {
        assert_eq!(client.ask("SAVE"), Answer::Simple("OK".into()));
    }
    server.kill();
    let (server, _) = start(folder.path(), policy);
    let mut client = server.connect();
    assert_eq!(state(&mut client), before, "{way:?} {policy} {nth}: after a kill, {saves}");
    // Repeated keys are new.
    for (name, _) in FILTERS {
        let added = ones(&ask(&mut client, &words("BF.MADD", name, "new", NEW)));
        assert!(added >= NEW as usize - 1, "{way:?} {policy} {name}: {added}");
    }
    for name in REMOVED {
        let removed = ones(&ask(&mut client, &words("BF.REM", name, "old", OLD)));
        assert_eq!(removed, OLD as usize, "{name}");
        let left = ones(&ask(&mut client, &words("BF.MEXISTS", name, "old", OLD)));
        assert_eq!(left, OLD as usize, "{name}: they were added twice, and removed once");
    }
    server.stop();
}

#[test]
fn what_is_refused_alone_has_changed_nothing() {
    for (nth, saves) in
        [(0, false), (2, true), (3, false), (6, true), (7, false), (9, true), (10, false)]
    {
        meet(Way::Alone, "everysec", nth, saves);
    }
}

#[test]
fn what_is_refused_in_a_pipeline_has_changed_nothing() {
    meet(Way::Pipeline, "everysec", 0, true);
    meet(Way::Pipeline, "always", 10, false);
}

#[test]
fn what_is_refused_in_a_transaction_has_changed_nothing() {
    meet(Way::Transaction, "always", 0, true);
    meet(Way::Transaction, "everysec", 10, false);
}

#[test]
fn what_is_refused_by_http_has_changed_nothing() {
    for (nth, policy) in [(0, "always"), (3, "everysec"), (7, "always"), (8, "everysec")] {
        meet(Way::Http, policy, nth, nth % 2 == 0);
    }
}

/// Requests already in the log are answered as usual, whatever the fate of the rest of the
/// pipeline; requests after a refused one are refused, too.
#[test]
fn operations_of_a_refused_pipeline_are_carried_out_and_said_to_be_or_neither() {
    for (policy, in_transaction) in
        [("everysec", false), ("always", false), ("everysec", true), ("always", true)]
    {
        let folder = tempfile::tempdir().unwrap();
        let (server, _) = start(folder.path(), policy);
        let mut client = server.connect();
        client.ask("BF.ADD there x");
        let log = crate::shim::files(&folder.path().join("data/log"));
        let bytes = log.iter().map(|(_, file)| file.len()).max().unwrap();
        // Room for the record of one operation, and no more.
        limit(&server, Some(bytes + 300));
        // So few keys that the server reads all in one turn.
        let requests = [
            request(&[b"BF.RESERVE", b"before", b"0.01", b"100"]),
            words("BF.MADD", "there", "new", 100),
            request(&[b"BF.EXISTS", b"there", b"x"]),
            request(&[b"DEL", b"there"]),
            request(&[b"BF.RESERVE", b"after", b"0.01", b"100"]),
        ];
        let mut all = requests.concat();
        if in_transaction {
            all = [request(&[b"MULTI"]), all, request(&[b"EXEC"])].concat();
        }
        client.send(&all).unwrap();
        let answers = if in_transaction {
            (0..=requests.len()).for_each(|_| drop(client.answer().unwrap()));
            match client.answer().unwrap() {
                Answer::List(answers) => answers,
                answer => panic!("{answer:?}"),
            }
        } else {
            requests.iter().map(|_| client.answer().unwrap()).collect()
        };
        let is_misconf =
            |answer: &Answer| matches!(answer, Answer::Error(why) if why.starts_with("MISCONF "));
        assert_eq!(answers[0], Answer::Simple("OK".into()), "{policy} {in_transaction}");
        assert!(answers[1..].iter().all(is_misconf), "{policy} {in_transaction}: {answers:?}");
        let look = |client: &mut Unix| {
            ["EXISTS before", "EXISTS there", "EXISTS after", "BF.EXISTS there x", "BF.CARD there"]
                .map(|request| client.ask(request))
        };
        let expected = [1, 1, 0, 1, 1].map(Answer::Number);
        assert_eq!(look(&mut client), expected, "{policy} {in_transaction}");
        server.kill();
        let (server, _) = start(folder.path(), policy);
        assert_eq!(look(&mut server.connect()), expected, "{policy} {in_transaction}");
        server.stop();
    }
}

/// A checkpoint waits for the turns in progress, but not for its own.
#[test]
fn a_transaction_saves_and_is_backed_up_in_its_middle() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _) = start(folder.path(), "everysec");
    let mut client = server.connect();
    client.ask("MULTI");
    for request in ["BF.ADD f a", "SAVE", "BF.ADD f b", "BF.BACKUP BEGIN", "BF.ADD f c", "SAVE"] {
        assert_eq!(client.ask(request), Answer::Simple("QUEUED".into()));
    }
    let Answer::List(answers) = client.ask("EXEC") else { panic!("no list") };
    let errors: Vec<_> =
        answers.iter().filter(|answer| matches!(answer, Answer::Error(_))).collect();
    assert!(errors.is_empty() && answers.len() == 6, "{answers:?}");
    server.kill();
    let (server, _) = start(folder.path(), "everysec");
    assert_eq!(server.connect().ask("BF.CARD f"), Answer::Number(3));
    server.stop();
}
