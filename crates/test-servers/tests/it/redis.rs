use crate::exists;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::{env, path::Path, thread};
use test_servers::{Error, RedisOptions, RedisServer, ready};

fn start(options: &RedisOptions) -> Option<RedisServer> {
    ready(&["redis-server"]).then(|| RedisServer::start(options).unwrap())
}

#[test]
fn a_server_answers_and_is_gone_after_the_drop() {
    let Some(server) = start(&RedisOptions::default()) else { return };
    let pid = server.pid().unwrap();
    server.cli(&["SET", "a key", "two\r\nlines"]).unwrap();
    assert_eq!(server.cli(&["GET", "a key"]).unwrap(), "two\r\nlines");
    assert_eq!(server.cli(&["MGET", "a key", "none"]).unwrap(), "two\r\nlines\n");
    let info = server.cli(&["INFO", "server"]).unwrap();
    assert!(info.contains(&format!("process_id:{pid}\r\n")), "{info}");
    server.flush().unwrap();
    assert_eq!(server.cli(&["DBSIZE"]).unwrap(), "0");
    let folder = server.cli(&["CONFIG", "GET", "dir"]).unwrap().replace("dir\n", "");
    assert!(exists(pid) && Path::new(&folder).is_dir());
    drop(server);
    assert!(!exists(pid) && !Path::new(&folder).exists());
}

#[test]
fn the_server_is_the_one_that_is_named() {
    let Some(server) = start(&RedisOptions::default()) else { return };
    let info = server.cli(&["INFO", "server"]).unwrap();
    let named = env::var("MAYHAP_REDIS_SERVER").unwrap_or_default();
    let is_valkey = named.contains("valkey");
    assert_eq!(info.contains("\r\nserver_name:valkey\r\n"), is_valkey, "{info}");
}

#[test]
fn an_appended_key_is_there_after_a_kill_and_a_restart() {
    let Some(server) = start(&RedisOptions { appendonly: true, ..Default::default() }) else {
        return;
    };
    let (pid, url) = (server.pid().unwrap(), server.url());
    server.cli(&["SET", "key", "value"]).unwrap();
    server.kill();
    assert!(!exists(pid) && server.pid().is_none());
    assert!(matches!(server.cli(&["PING"]), Err(Error::Io { .. })));
    assert!(matches!(server.resume(), Err(Error::NotRunning { .. })));
    server.restart().unwrap();
    assert_eq!(server.cli(&["GET", "key"]).unwrap(), "value");
    assert_eq!(server.url(), url);
    assert_ne!(server.pid(), Some(pid));
    server.resume().unwrap();
}

#[test]
fn nothing_is_there_after_a_restart_without_a_log() {
    let Some(server) = start(&RedisOptions::default()) else { return };
    server.cli(&["SET", "key", "value"]).unwrap();
    server.restart().unwrap();
    assert_eq!(server.cli(&["GET", "key"]).unwrap(), "");
}

#[test]
fn options_reach_the_server() {
    let options = RedisOptions {
        maxmemory: Some("7mb".to_owned()),
        maxmemory_policy: Some("allkeys-lru".to_owned()),
        password: Some("pass \"word\\ @/".to_owned()),
        users: vec!["reader on >secret ~* +get".to_owned()],
        config: vec!["hz 17".to_owned(), "appendonly yes".to_owned()],
        ..Default::default()
    };
    let Some(server) = start(&options) else { return };
    for (name, value) in
        [("maxmemory", "7340032"), ("maxmemory-policy", "allkeys-lru"), ("hz", "17")]
    {
        let answer = server.cli(&["CONFIG", "GET", name]).unwrap();
        assert_eq!(answer, format!("{name}\n{value}"));
    }
    assert_eq!(server.cli(&["CONFIG", "GET", "appendonly"]).unwrap(), "appendonly\nyes");
    assert_eq!(server.cli(&["ACL", "GETUSER", "reader"]).unwrap().lines().next(), Some("flags"));
    let port = server.port();
    assert_eq!(
        server.url(),
        format!("redis://default:pass%20%22word%5C%20%40%2F@127.0.0.1:{port}")
    );
}

#[test]
fn a_password_is_required() {
    if !ready(&["redis-server", "redis-cli"]) {
        return;
    }
    let password = Some("secret".to_owned());
    let server = RedisServer::start(&RedisOptions { password, ..Default::default() }).unwrap();
    let stranger = |url: &str| {
        let output = Command::new("redis-cli").args(["-u", url, "PING"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(stranger(&server.url().replace("default:secret@", "")).starts_with("NOAUTH"));
    assert_eq!(stranger(&server.url()), "PONG\n");
}

#[test]
fn a_server_that_cannot_start_gives_its_log() {
    if !ready(&["redis-server"]) {
        return;
    }
    let config = vec!["no-such-directive 1".to_owned()];
    let error = RedisServer::start(&RedisOptions { config, ..Default::default() }).unwrap_err();
    assert!(matches!(error, Error::Died { .. }), "{error}");
    assert!(error.to_string().contains("no-such-directive"), "{error}");
}

#[test]
fn an_answer_that_is_an_error_is_an_error() {
    let Some(server) = start(&RedisOptions::default()) else { return };
    let error = server.cli(&["NONSENSE"]).unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error}");
    assert!(error.to_string().contains("unknown command"), "{error}");
}

#[test]
fn servers_side_by_side_keep_apart() {
    if !ready(&["redis-server"]) {
        return;
    }
    let ports = thread::scope(|scope| {
        let run = |name: &str| {
            let server = RedisServer::start(&RedisOptions::default()).unwrap();
            server.cli(&["SET", "name", name]).unwrap();
            server.restart().unwrap();
            server.cli(&["SET", name, name]).unwrap();
            assert_eq!(server.cli(&["KEYS", "*"]).unwrap(), name);
            server
        };
        let threads = ["one", "two", "three", "four"].map(|name| scope.spawn(move || run(name)));
        // All alive at the same time, so that none may have the port of another.
        let servers = threads.map(|thread| thread.join().unwrap());
        let mut ports = servers.each_ref().map(RedisServer::port);
        ports.sort_unstable();
        ports
    });
    assert!(ports.windows(2).all(|pair| pair[0] < pair[1]), "{ports:?}");
}

#[test]
fn a_server_outlives_the_thread_that_started_it() {
    if !ready(&["redis-server"]) {
        return;
    }
    let server = thread::spawn(|| RedisServer::start(&RedisOptions::default()).unwrap());
    let server = server.join().unwrap();
    // The signal at a thread's end would arrive about now.
    for _ in 0..200 {
        assert_eq!(server.cli(&["PING"]).unwrap(), "PONG");
    }
}

/// Not a test of its own: the next one runs it as another process and kills it.
#[test]
fn a_victim_waits_when_told_to() {
    if env::var_os("TEST_SERVERS_VICTIM").is_none() {
        return;
    }
    let server = RedisServer::start(&RedisOptions::default()).unwrap();
    println!("\npid {}", server.pid().unwrap());
    loop {
        thread::park();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_dies_with_a_killed_test() {
    if !ready(&["redis-server"]) {
        return;
    }
    // The folder that it cannot clean up.
    let folder = tempfile::tempdir().unwrap();
    let mut victim = Command::new(env::current_exe().unwrap())
        .args(["redis::a_victim_waits_when_told_to", "--exact", "--nocapture"])
        .env("TEST_SERVERS_VICTIM", "1")
        .env("TMPDIR", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines().map(Result::unwrap);
    let pid = lines.find_map(|line| line.strip_prefix("pid ")?.parse::<u32>().ok()).unwrap();
    assert!(exists(pid));
    victim.kill().unwrap();
    victim.wait().unwrap();
    // Its end, and init's wait for it, take a moment.
    let gone = (0..2000).any(|_| {
        thread::sleep(std::time::Duration::from_millis(5));
        !exists(pid)
    });
    assert!(gone, "process {pid} lives on");
}
