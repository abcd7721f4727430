//! Files in `import/`, at the start of a whole server and while it runs: the name of an unreadable
//! file is an error, and never "surely not".

use crate::attack::numbered;
use crate::http::Answer;
use crate::support::{Raw, request};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap::native::encode;
use mayhap::{AnyFilter, BinaryFuse, DigestFunction, FuseWidth, RibbonFilter};
use mayhap_server::config::{Rights, Users};
use mayhap_server::{Config, Running, Server};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A filter file with `key:FROM` and the nine keys after it.
fn file(from: u64) -> Vec<u8> {
    let builder = AnyFilter::builder().expected_items(3_000).target_fpp(1e-6);
    let mut filter = builder.build().unwrap();
    for key in numbered("key", from..from + 10) {
        assert!(filter.insert(&key[..]));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    mayhap_store::save(&path, &filter, "").unwrap();
    fs::read(path).unwrap()
}

/// A data folder, and a server on it.
struct Place {
    folder: tempfile::TempDir,
    server: Option<Running>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("data/import")).unwrap();
        Self { folder, server: None }
    }

    /// A path beside the data folder.
    fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn import(&self, name: &str) -> PathBuf {
        self.folder.path().join("data/import").join(name)
    }

    fn start(&mut self) {
        self.start_with(Config::default());
    }

    fn start_with(&mut self, config: Config) {
        self.server = None;
        let data = Some(self.folder.path().join("data"));
        let config = Config { data, port: 0, http_port: Some(0), ..config };
        self.server = Some(Server::start(config).unwrap());
    }

    fn running(&self) -> &Running {
        self.server.as_ref().unwrap()
    }

    /// The first line of the answer to a command.
    fn ask(&self, words: &[&str]) -> String {
        let mut raw = Raw::connect(self.running().address().unwrap());
        raw.send(request(words));
        let mut line = Vec::new();
        let mut byte = [0];
        while !line.ends_with(b"\r\n") {
            raw.socket.read_exact(&mut byte).unwrap();
            line.push(byte[0]);
        }
        String::from_utf8(line).unwrap().trim_end().to_owned()
    }

    fn http(&self, line: &str, body: &str) -> Answer {
        self.http_as(line, "", body)
    }

    /// The same with an additional header line.
    fn http_as(&self, line: &str, header: &str, body: &str) -> Answer {
        let address = self.running().http_addresses()[0];
        let mut stream = TcpStream::connect(address).unwrap();
        let request = format!(
            "{line} HTTP/1.1\r\nConnection: close\r\nHost: {address}\r\n{header}\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        Answer::parse(&answer)
    }

    fn text(&self, path: &str) -> String {
        String::from_utf8(self.http(&format!("GET {path}"), "").body).unwrap()
    }

    /// A value of `/metrics`.
    fn metric(&self, name: &str) -> u64 {
        let page = self.text("/metrics");
        let line = page.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("no {name} in {page}")).parse().unwrap()
    }

    /// Waits up to a minute until the keys from `from` on are served.
    fn until_served(&self, name: &str, from: u64) {
        let key = format!("key:{}", from + 9);
        until(&|| self.ask(&["BF.EXISTS", name, &key]) == ":1", &key);
    }
}

fn until(is_true: &dyn Fn() -> bool, what: &str) {
    let deadline = Instant::now() + Duration::from_secs(300);
    while !is_true() {
        assert!(Instant::now() < deadline, "it never became true: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

type Put = fn(&Place, &Path);

/// Entries that may have the name `f`, none of them a filter.
const UNUSABLE: [(&str, &str, Put); 13] = [
    ("truncated", "f.mayhap", |_, path| fs::write(path, &file(0)[..1000]).unwrap()),
    ("cut after its header", "f.mayhap", |_, path| fs::write(path, &file(0)[..5000]).unwrap()),
    ("empty", "f", |_, path| fs::write(path, "").unwrap()),
    ("text", "f.txt", |_, path| fs::write(path, "no filter\n").unwrap()),
    ("damaged header", "f.mayhap", |_, path| {
        let mut bytes = file(0);
        bytes[40] ^= 1;
        fs::write(path, bytes).unwrap();
    }),
    ("a folder", "f.mayhap", |_, path| fs::create_dir(path).unwrap()),
    ("a pipe", "f.mayhap", |_, path| {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }),
    ("a socket", "f", |_, path| {
        drop(std::os::unix::net::UnixListener::bind(path).unwrap());
    }),
    ("a link to nothing", "f.mayhap", |_, path| symlink("nowhere", path).unwrap()),
    ("a link to itself", "f.mayhap", |_, path| symlink("f.mayhap", path).unwrap()),
    ("a link to a folder", "f.mayhap", |_, path| symlink("..", path).unwrap()),
    ("a link to half a file", "f.mayhap", |place, path| {
        fs::write(place.beside("half"), &file(0)[..5000]).unwrap();
        symlink(place.beside("half"), path).unwrap();
    }),
    ("two of one name", "f.mayhap", |_, path| {
        fs::write(path, file(0)).unwrap();
        fs::write(path.with_extension("bloom"), file(100)).unwrap();
    }),
];

/// Requests that need the contents of `f`, or would create another filter of its name.
const REQUESTS: [&[&str]; 13] = [
    &["BF.EXISTS", "f", "key:0"],
    &["BF.MEXISTS", "f", "key:0", "key:1"],
    &["BF.ADD", "f", "x"],
    &["BF.RESERVE", "f", "0.01", "100"],
    &["BF.CARD", "f"],
    &["BF.INFO", "f"],
    &["BF.INFO", "f", "ITEMS"],
    &["BF.DEBUG", "f"],
    &["BF.AGE", "f", "key:0"],
    &["BF.REM", "f", "key:0"],
    &["BF.SCANDUMP", "f", "0"],
    &["BF.WHICH", "1", "f", "key:0"],
    &["BF.MERGE", "g", "f"],
];

fn assert_unusable(place: &Place, what: &str) {
    for words in REQUESTS {
        let answer = place.ask(words);
        assert!(answer.starts_with('-'), "{what}: {words:?}: {answer}");
    }
    // The answer has the error for each item.
    assert_eq!(place.ask(&["BF.MADD", "f", "x"]), "*1", "{what}");
    assert_eq!(place.ask(&["EXISTS", "f"]), ":1", "{what}");
    let items = r#"{"items":["key:0"]}"#;
    assert_eq!(place.http("POST /v1/filters/f/check", items).status, 503, "{what}");
    assert_eq!(place.http("PUT /v1/filters/f", "{}").status, 409, "{what}");
    assert!(place.http("POST /v1/filters/f/add", items).status >= 400, "{what}");
    assert_eq!(place.http("GET /v1/filters/f/file", "").status, 503, "{what}");
    assert_eq!(place.metric("mayhap_unreadable_files"), 1, "{what}");
    assert!(place.text("/v1/filters/f").contains("\"problem\""), "{what}");
    let ready = place.http("GET /readyz?verbose", "");
    let text = String::from_utf8_lossy(&ready.body).into_owned();
    assert!(ready.status == 200 && text.contains("\nf: "), "{what}: {} {text}", ready.status);
}

fn clear(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            fs::remove_dir(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn an_unreadable_file_at_the_start_is_an_error_of_its_name_until_it_is_readable() {
    for (what, name, put) in UNUSABLE {
        let mut place = Place::new();
        put(&place, &place.import(name));
        place.start();
        assert_unusable(&place, what);
        // A folder of that name is removed, and a sound file takes its place.
        clear(&place.import(""));
        fs::write(place.import("f.mayhap"), file(50)).unwrap();
        place.until_served("f", 50);
        until(&|| place.metric("mayhap_unreadable_files") == 0, what);
        assert_eq!(place.text("/readyz?verbose"), "ready\n", "{what}");
    }
}

#[test]
fn a_new_file_is_served_or_an_error_of_its_name() {
    for (what, name, put) in UNUSABLE {
        let mut place = Place::new();
        place.start();
        assert_eq!(place.ask(&["EXISTS", "f"]), ":0");
        put(&place, &place.import(name));
        until(&|| place.metric("mayhap_unreadable_files") == 1, what);
        assert_unusable(&place, what);
        clear(&place.import(""));
        // Never served, and gone: the name is free.
        until(&|| place.ask(&["EXISTS", "f"]) == ":0", what);
        fs::write(place.import("f.bin"), file(50)).unwrap();
        place.until_served("f", 50);
        until(&|| place.metric("mayhap_unreadable_files") == 0, what);
    }
}

#[test]
fn links_are_followed_and_their_targets_watched() {
    let mut place = Place::new();
    let import = place.import("");
    fs::write(place.beside("x"), file(0)).unwrap();
    symlink(place.beside("x"), place.import("direct.mayhap")).unwrap();
    // The way Kubernetes mounts a ConfigMap, a Secret or a projected volume.
    for (version, from) in [("..2024_01", 100), ("..2024_02", 200)] {
        fs::create_dir(import.join(version)).unwrap();
        fs::write(import.join(version).join("swapped.mayhap"), file(from)).unwrap();
    }
    symlink("..2024_01", import.join("..data")).unwrap();
    symlink("..data/swapped.mayhap", place.import("swapped.mayhap")).unwrap();
    place.start();
    assert_eq!(place.ask(&["BF.EXISTS", "direct", "key:3"]), ":1");
    assert_eq!(place.ask(&["BF.EXISTS", "swapped", "key:103"]), ":1");
    // Neither the links to folders nor the folders are filters.
    assert_eq!(place.ask(&["DBSIZE"]), ":2");
    assert_eq!(place.metric("mayhap_unreadable_files"), 0);
    symlink("..2024_02", import.join("..data_tmp")).unwrap();
    fs::rename(import.join("..data_tmp"), import.join("..data")).unwrap();
    fs::remove_file(import.join("..2024_01/swapped.mayhap")).unwrap();
    fs::remove_dir(import.join("..2024_01")).unwrap();
    place.until_served("swapped", 200);
    assert_eq!(place.ask(&["BF.EXISTS", "swapped", "key:103"]), ":0");
    fs::write(place.beside("y"), file(300)).unwrap();
    fs::rename(place.beside("y"), place.beside("x")).unwrap();
    place.until_served("direct", 300);
    // A name that appears with the next swap.
    fs::write(import.join("..2024_02/more.mayhap"), file(400)).unwrap();
    symlink("..data/more.mayhap", place.import("more.mayhap")).unwrap();
    place.until_served("more", 400);
    assert_eq!((place.ask(&["DBSIZE"]), place.metric("mayhap_unreadable_files")), (":3".into(), 0));
}

#[test]
fn a_removed_file_still_answers_and_is_reported_as_gone() {
    let mut place = Place::new();
    fs::write(place.import("f.mayhap"), file(0)).unwrap();
    place.start();
    assert_eq!(place.metric("mayhap_stale_files"), 0);
    fs::remove_file(place.import("f.mayhap")).unwrap();
    until(&|| place.metric("mayhap_stale_files") == 1, "it is gone");
    assert_eq!(place.ask(&["BF.EXISTS", "f", "key:3"]), ":1");
    let ready = place.text("/readyz?verbose");
    assert!(ready.starts_with("ready\n") && ready.contains("\nf: "), "{ready}");
    assert!(ready.contains("was removed"), "{ready}");
    // The present file is not a filter: the old one answers, and that is reported.
    fs::write(place.import("f.mayhap"), "no filter").unwrap();
    until(&|| place.text("/readyz?verbose").contains("looks like text"), "it is text");
    assert_eq!(place.ask(&["BF.EXISTS", "f", "key:3"]), ":1");
    assert_eq!(place.metric("mayhap_stale_files"), 1);
    fs::write(place.import("f.mayhap"), file(50)).unwrap();
    place.until_served("f", 50);
    until(&|| place.metric("mayhap_stale_files") == 0, "a whole file");
    assert_eq!(place.text("/readyz?verbose"), "ready\n");
}

#[test]
fn a_file_waits_for_its_name_while_another_filter_has_it() {
    let mut place = Place::new();
    place.start();
    assert_eq!(place.ask(&["BF.ADD", "f", "mine"]), ":1");
    fs::write(place.import("f.mayhap"), file(0)).unwrap();
    until(&|| place.metric("mayhap_unreadable_files") == 1, "the name is taken");
    for _ in 0..2 {
        assert_eq!(place.ask(&["BF.EXISTS", "f", "mine"]), ":1", "the acknowledged item is there");
        assert_eq!(place.ask(&["BF.ADD", "f", "more"]).as_bytes()[0], b':');
        let ready = place.text("/readyz?verbose");
        assert!(ready.contains("\nf: ") && ready.contains("a filter of this name"), "{ready}");
        // The same after a start.
        place.start();
        assert_eq!(place.metric("mayhap_unreadable_files"), 1);
    }
    assert_eq!(place.ask(&["RENAME", "f", "g"]), "+OK");
    place.until_served("f", 0);
    until(&|| place.metric("mayhap_unreadable_files") == 0, "the name is free");
    assert_eq!(place.ask(&["BF.EXISTS", "g", "mine"]), ":1");
}

#[test]
fn hidden_files_companions_and_lost_and_found_are_no_filters() {
    let mut place = Place::new();
    fs::create_dir(place.import("lost+found")).unwrap();
    fs::write(place.import(".f.mayhap.Xa12"), &file(0)[..1000]).unwrap();
    fs::write(place.import("f.mayhap"), file(0)).unwrap();
    fs::write(place.import("f.mayhap.digests"), "kept digests").unwrap();
    place.start();
    assert_eq!(place.ask(&["DBSIZE"]), ":1");
    assert_eq!(place.metric("mayhap_unreadable_files"), 0);
    assert_eq!(place.text("/readyz?verbose"), "ready\n");
}

#[test]
fn a_server_that_requires_its_imports_is_not_ready_without_them() {
    let mut place = Place::new();
    fs::write(place.import("f.mayhap"), &file(0)[..1000]).unwrap();
    place.start();
    assert_eq!(place.http("GET /readyz", "").status, 200);
    place.start_with(Config { require_imports: true, ..Config::default() });
    for path in ["/readyz", "/readyz?verbose"] {
        let ready = place.http(&format!("GET {path}"), "");
        let text = String::from_utf8_lossy(&ready.body).into_owned();
        assert!(ready.status == 503 && text.contains("import/"), "{path}: {text}");
    }
    assert_eq!(place.http("GET /healthz", "").status, 200);
    fs::write(place.import("f.mayhap"), file(0)).unwrap();
    until(&|| place.http("GET /readyz", "").status == 200, "a whole file");
    // A filter that answers from a replaced file is no reason to report "not ready".
    fs::remove_file(place.import("f.mayhap")).unwrap();
    until(&|| place.metric("mayhap_stale_files") == 1, "it is gone");
    assert_eq!(place.http("GET /readyz", "").status, 200);
}

#[test]
fn problems_of_a_file_are_only_shown_to_users_who_may_see_its_name() {
    let mut users = Users::new().unwrap();
    let mine = Rights { prefix: Some(Arc::from(&b"mine:"[..])), ..Rights::ALL };
    users.add("all", b"secret", Rights::ALL).unwrap();
    users.add("mine", b"secret", mine).unwrap();
    users.add("blind", b"secret", Rights { read: false, ..Rights::ALL }).unwrap();
    let mut place = Place::new();
    fs::write(place.import("mine:a"), "no filter").unwrap();
    fs::write(place.import("other"), "no filter").unwrap();
    let users = Arc::new(users);
    place.start_with(Config { users, require_imports: true, ..Config::default() });
    for path in ["/readyz?verbose", "/readyz?a=b&verbose=1", "/readyz?verbose=0"] {
        assert_eq!(place.http(&format!("GET {path}"), "").status, 401, "{path}");
    }
    let plain = place.http("GET /readyz", "");
    assert!(plain.status == 503 && !String::from_utf8(plain.body).unwrap().contains("other"));
    let told = |user: &str| {
        let encoded = STANDARD.encode(format!("{user}:secret"));
        let header = format!("Authorization: Basic {encoded}\r\n");
        let answer = place.http_as("GET /readyz?verbose", &header, "");
        let text = String::from_utf8(answer.body).unwrap();
        (answer.status, text.contains("\nmine:a: "), text.contains("\nother: "))
    };
    assert_eq!(told("all"), (503, true, true));
    assert_eq!(told("mine"), (503, true, false));
    assert_eq!(told("blind"), (403, false, false));
}

/// Of kinds that take no keys.
#[test]
fn frozen_filters_are_served_and_replaced_by_files_of_any_kind() {
    let mut place = Place::new();
    let (function, width) = (DigestFunction::default(), FuseWidth::from_bits(20).unwrap());
    let keys = |from| numbered("key", from..from + 10);
    let fuse = encode(&BinaryFuse::from_keys(width, function, keys(0)).unwrap(), "");
    let ribbon = encode(&RibbonFilter::from_keys(width, function, keys(50)).unwrap(), "");
    fs::write(place.import("f.mayhap"), &fuse).unwrap();
    fs::write(place.import("g.mayhap"), &ribbon).unwrap();
    place.start();
    for (name, from) in [("f", 0), ("g", 50)] {
        place.until_served(name, from);
        assert_eq!(place.ask(&["BF.EXISTS", name, &format!("key:{}", from + 20)]), ":0");
        assert!(place.ask(&["BF.ADD", name, "x"]).contains("is a file and read-only"));
        let page = place.text(&format!("/v1/filters/{name}"));
        assert!(page.contains("\"read_only\":true") && page.contains("\"items\":10"), "{page}");
    }
    fs::write(place.beside("next"), &ribbon).unwrap();
    fs::rename(place.beside("next"), place.import("f.mayhap")).unwrap();
    place.until_served("f", 50);
    assert_eq!(place.ask(&["BF.EXISTS", "f", "key:0"]), ":0");
    fs::write(place.beside("next"), file(100)).unwrap();
    fs::rename(place.beside("next"), place.import("f.mayhap")).unwrap();
    place.until_served("f", 100);
    // One that is cut is an error of its name.
    fs::write(place.import("h.mayhap"), &fuse[..fuse.len() - 8]).unwrap();
    until(&|| place.metric("mayhap_unreadable_files") == 1, "a cut file");
    assert!(place.ask(&["BF.EXISTS", "h", "key:0"]).starts_with('-'));
}
