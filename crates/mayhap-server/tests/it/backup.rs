//! `BF.BACKUP`: access to the files of the data folder, and the bytes read at a time.

use crate::command::Server as Called;
use crate::support::{Raw, request};
use mayhap_server::config::{Rights, Users};
use mayhap_server::{Config, Running, Server};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

fn start(folder: &Path) -> Running {
    let data = Some(folder.to_path_buf());
    Server::start(Config { data, port: 0, ..Config::default() }).unwrap()
}

fn connect(running: &Running) -> Raw {
    Raw::connect(running.address().unwrap())
}

/// The next line, without its end.
fn line(raw: &mut Raw) -> String {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        let mut byte = [0];
        raw.socket.read_exact(&mut byte).unwrap();
        line.extend(byte);
    }
    String::from_utf8(line).unwrap().trim_end().to_owned()
}

fn ask(raw: &mut Raw, words: &[&str]) -> String {
    raw.send(request(words));
    line(raw)
}

/// Bytes of a file, or the line of the answer.
fn read(raw: &mut Raw, path: &str, offset: u64, count: u64) -> Result<Vec<u8>, String> {
    let (offset, count) = (offset.to_string(), count.to_string());
    let head = ask(raw, &["BF.BACKUP", "READ", path, &offset, &count]);
    let length = head.strip_prefix('$').and_then(|length| length.parse().ok()).ok_or(head)?;
    let mut bytes = vec![0; length];
    raw.socket.read_exact(&mut bytes).unwrap();
    raw.expect("\r\n");
    Ok(bytes)
}

#[test]
fn files_are_read_between_begin_and_end() {
    let folder = tempfile::tempdir().unwrap();
    let running = start(folder.path());
    let mut raw = connect(&running);
    assert_eq!(ask(&mut raw, &["BF.ADD", "f", "a"]), ":1");
    let none = Err("-ERR no backup was begun on this connection".to_owned());
    assert_eq!(read(&mut raw, "manifest", 0, 10), none);
    assert_eq!(ask(&mut raw, &["BF.BACKUP", "begin"]), "*2");
    assert_eq!(line(&mut raw), ":1");
    let bytes: u64 = line(&mut raw)[1..].parse().unwrap();
    // Later records, and a new manifest with other files, are not part of it.
    let file = |path: &str| std::fs::read(folder.path().join(path)).unwrap();
    let (log, manifest) = (file("log/1.log"), file("manifest"));
    assert_eq!(ask(&mut raw, &["BF.ADD", "f", "b"]), ":1");
    assert_eq!(ask(&mut raw, &["SAVE"]), "+OK");
    assert_ne!(file("manifest"), manifest);
    let most = 1 << 20;
    assert_eq!(read(&mut raw, "manifest", 0, most).unwrap(), manifest);
    assert_eq!(read(&mut raw, "log/1.log", 0, most).unwrap(), log[..bytes as usize]);
    assert_eq!(read(&mut raw, "log/1.log", 3, 5).unwrap(), log[3..8]);
    assert_eq!(read(&mut raw, "key", 0, most).unwrap(), file("key"));
    let not_kept = Err("-ERR the backup has no such file".to_owned());
    for path in ["lock", "log/2.log", "filters/9.pack", "../x", "/etc/hostname", "\u{fffd}"] {
        assert_eq!(read(&mut raw, path, 0, 10), not_kept, "{path}");
    }
    assert_eq!(ask(&mut raw, &["BF.BACKUP", "END"]), "+OK");
    assert_eq!(read(&mut raw, "manifest", 0, 10), none);
    running.shut_down().unwrap();
}

#[test]
fn malformed_requests_are_refused_and_answers_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let running = start(folder.path());
    let mut raw = connect(&running);
    assert_eq!(ask(&mut raw, &["BF.BACKUP", "BEGIN"]), "*2");
    line(&mut raw);
    line(&mut raw);
    let bound = "-ERR the count must be from 1 to 1048576";
    let number = "-ERR value is not an integer or out of range";
    for (words, refused) in [
        (&["READ", "manifest", "0", "0"][..], bound),
        (&["READ", "manifest", "0", "1048577"], bound),
        (&["READ", "manifest", "0", "18446744073709551616"], number),
        (&["READ", "manifest", "-1", "1"], number),
        (&["READ", "manifest", "0"], "-ERR wrong number of arguments for 'bf.backup|READ' command"),
        (&["END", "now"], "-ERR wrong number of arguments for 'bf.backup|END' command"),
        (&["LIST"], "-ERR unknown subcommand 'LIST'. Try BEGIN, READ or END."),
    ] {
        assert_eq!(ask(&mut raw, &[&["BF.BACKUP"], words].concat()), refused);
    }
    let last = i64::MAX.cast_unsigned();
    assert_eq!(read(&mut raw, "manifest", last, 1).unwrap(), b"");
    running.shut_down().unwrap();
}

/// Sixteen at a time; a disconnected client makes room.
#[test]
fn a_backup_ends_with_its_connection() {
    let folder = tempfile::tempdir().unwrap();
    let running = start(folder.path());
    let begin = |raw: &mut Raw| {
        let answer = ask(raw, &["BF.BACKUP", "BEGIN"]);
        if answer == "*2" {
            line(raw);
            line(raw);
        }
        answer
    };
    let mut all: Vec<Raw> = (0..16).map(|_| connect(&running)).collect();
    for raw in &mut all {
        // A client that starts over has one lease.
        assert_eq!((begin(raw), begin(raw)), ("*2".into(), "*2".into()));
    }
    let mut other = connect(&running);
    assert!(begin(&mut other).starts_with("-ERR 16 backups are being copied"));
    all.pop();
    let mut bystander = connect(&running);
    bystander.until(|| begin(&mut other) == "*2");
    assert_eq!(ask(&mut all[0], &["RESET"]), "+RESET");
    assert_eq!(begin(&mut bystander), "*2");
    running.shut_down().unwrap();
}

#[test]
fn a_user_with_a_prefix_gets_no_backup_and_without_a_folder_there_is_none() {
    let mut server = Called::new();
    let answer = server.line("BF.BACKUP BEGIN");
    assert!(answer.starts_with("-ERR there is no data folder"), "{answer}");
    let mut users = Users::new().unwrap();
    let shop = Rights { prefix: Some(Arc::from(&b"shop:"[..])), ..Rights::ALL };
    users.add("shop", b"a password", shop).unwrap();
    let mut server = Called::with(Config { users: Arc::new(users), ..Config::default() }, |_| {});
    let login = [&b"AUTH"[..], b"shop", b"a password"].map(<[u8]>::to_vec);
    assert_eq!(server.ask(&login), b"+OK\r\n");
    for line in ["BF.BACKUP BEGIN", "BF.BACKUP READ key 0 10", "BF.BACKUP END"] {
        let answer = server.line(line);
        assert!(answer.starts_with("-NOPERM a backup has filters of all names"), "{answer}");
    }
}

/// A copy has the expiry of its source from its first record on.
#[test]
fn no_crash_leaves_a_copy_that_does_not_end() {
    let folder = tempfile::tempdir().unwrap();
    let running = start(folder.path());
    let mut raw = connect(&running);
    let at = 4_000_000_000_000_u64;
    assert_eq!(ask(&mut raw, &["BF.ADD", "f", "a"]), ":1");
    assert_eq!(ask(&mut raw, &["PEXPIREAT", "f", &at.to_string()]), ":1");
    let path = folder.path().join("log/1.log");
    let before = std::fs::metadata(&path).unwrap().len() as usize;
    assert_eq!(ask(&mut raw, &["COPY", "f", "g"]), ":1");
    assert_eq!(ask(&mut raw, &["PEXPIRETIME", "g"]), format!(":{at}"));
    let whole = std::fs::read(&path).unwrap();
    running.shut_down().unwrap();
    let mut ends: Vec<usize> = (before..whole.len())
        .filter(|&end| whole[end..].starts_with(b"\x89mhf"))
        .chain([whole.len()])
        .collect();
    let mut copies = 0;
    for end in ends.drain(..) {
        std::fs::write(&path, &whole[..end]).unwrap();
        let running = start(folder.path());
        let mut raw = connect(&running);
        let ends_at = ask(&mut raw, &["PEXPIRETIME", "g"]);
        assert!(["-2".into(), at.to_string()].contains(&ends_at[1..].into()), "{ends_at}");
        copies += u64::from(ends_at != ":-2");
        running.shut_down().unwrap();
    }
    assert!(copies > 0);
}
