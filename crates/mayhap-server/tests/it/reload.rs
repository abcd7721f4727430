//! Settings, users and certificates that change while the server runs.

use crate::command::Server as Caller;
use crate::wire_tls::{file, speak};
use mayhap_server::config::{Rights, SETTINGS, Users, hash_password};
use mayhap_server::{Config, ReloadError, Server};
use rustls::version::TLS13;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[test]
fn changes_by_config_set_hold_for_the_next_request() {
    let mut server = Caller::new();
    assert_eq!(server.line("CONFIG SET default-capacity 5k bf-error-rate 0.001"), "+OK\r\n");
    server.line("BF.ADD f a");
    assert!(server.line("BF.INFO f CAPACITY").contains(":5000\r\n"));
    assert!(server.line("CONFIG GET default-fpp").contains("0.001"));
    assert_eq!(server.line("CONFIG SET default-error 0.002"), "+OK\r\n"); // its former name
    assert!(server.line("CONFIG GET default-error").contains("0.002"));
    assert_eq!(server.line("CONFIG SET maxmemory 1MiB"), "+OK\r\n");
    let refused = server.line("BF.RESERVE large 0.01 10000000");
    assert!(refused.contains("max_memory"), "{refused}");
    assert_eq!(server.line("CONFIG SET max_memory 1GiB"), "+OK\r\n");
    assert_eq!(server.line("BF.RESERVE large 0.01 10000000"), "+OK\r\n");
}

#[test]
fn config_set_changes_all_named_settings_or_nothing() {
    let mut server = Caller::new();
    for (line, wrong) in [
        ("CONFIG SET default-capacity 9 default-error 7", "default-error = \"7\""),
        ("CONFIG SET default-capacity 9 port 7000", "can't set immutable config"),
        ("CONFIG SET default-capacity 9 nonsense 1", "Unknown option"),
        ("CONFIG SET default-capacity 9 requirepass x", "Unknown option"),
        ("CONFIG SET default-capacity 9 tls-cert a.pem", "TLS is switched on by a restart"),
        ("CONFIG SET default-capacity 9 tls-cert a tls-key b", "TLS is switched on by a restart"),
        ("CONFIG SET default-capacity 9 tls-cert", "wrong number of arguments"),
        ("CONFIG SET", "wrong number of arguments"),
        ("CONFIG REWRITE", "SIGHUP"),
        ("CONFIG RESETSTAT", "only grow"),
    ] {
        let answer = server.line(line);
        assert!(answer.starts_with("-ERR") && answer.contains(wrong), "{line}: {answer}");
        assert_eq!(server.shared.config().default_capacity, 100, "{line}");
    }
}

#[test]
fn a_setting_is_live_or_needs_a_restart_and_config_set_says_which() {
    for setting in SETTINGS {
        let mut server = Caller::new();
        let value = match setting.name {
            "http_hosts" => "a.example",
            "max_memory" => "1GiB",
            "metrics_filters" => "7",
            "require_imports" | "strict_names" => "true",
            "default_fpp" => "0.5",
            "default_capacity" | "default_expansion" => "8",
            "log_level" => "warn",
            // Either of them alone is refused.
            "tls_cert" | "tls_key" => continue,
            name => {
                assert!(!setting.is_live, "{name} has no test");
                let answer = server.line(&format!("CONFIG SET {name} 1"));
                assert!(answer.contains("immutable"), "{name}: {answer}");
                continue;
            }
        };
        assert!(setting.is_live);
        let line = format!("CONFIG SET {} {value}", setting.name);
        assert_eq!(server.line(&line), "+OK\r\n");
        assert_eq!((setting.get)(&server.shared.config()), value);
    }
    // Restored: other tests of this process read the log.
    log::set_max_level(log::LevelFilter::Trace);
}

/// Users by name and password, plain or hashed.
fn config(users: &[(&str, &str, Rights)]) -> Config {
    let mut list = Users::new().unwrap();
    for (name, password, rights) in users {
        if password.starts_with("$argon2") {
            list.add_hashed(name, password, rights.clone()).unwrap();
        } else {
            list.add(name, password.as_bytes(), rights.clone()).unwrap();
        }
    }
    Config { users: Arc::new(list), ..Config::default() }
}

#[test]
fn a_reload_logs_out_changed_users_and_nobody_else() {
    let hash = hash_password(b"hashed").unwrap();
    let reader = Rights { read: true, ..Rights::NONE };
    let before = [
        ("same", "one", Rights::ALL),
        ("hashed", hash.as_str(), Rights::ALL),
        ("password", "two", Rights::ALL),
        ("rights", "three", Rights::ALL),
        ("gone", "four", Rights::ALL),
    ];
    let after = [
        ("same", "one", Rights::ALL),
        ("hashed", hash.as_str(), Rights::ALL),
        ("password", "new", Rights::ALL),
        ("rights", "three", reader),
    ];
    for (name, password, stays) in [
        ("same", "one", true),
        ("hashed", "hashed", true),
        ("password", "two", false),
        ("rights", "three", false),
        ("gone", "four", false),
    ] {
        let mut server = Caller::with(config(&before), |_| {});
        assert_eq!(server.line(&format!("AUTH {name} {password}")), "+OK\r\n", "{name}");
        assert_eq!(server.line("PING"), "+PONG\r\n");
        // The same users in another order of words are no change.
        assert!(server.shared.reload(config(&before)).unwrap().changed.is_empty());
        assert_eq!(server.line("PING"), "+PONG\r\n", "{name}");
        // Another thread may hold them too.
        let config = config(&after);
        let _held = config.users.clone();
        let reloaded = server.shared.reload(config).unwrap();
        assert_eq!(reloaded.changed, ["user"]);
        let answer = server.line("PING");
        assert_eq!(answer == "+PONG\r\n", stays, "{name}: {answer}");
        assert_eq!(server.after == mayhap_server::command::After::Close, !stays, "{name}");
    }
    // A client without a login may do nothing once there are users, and everything without users.
    let mut server = Caller::new();
    assert_eq!(server.line("PING"), "+PONG\r\n");
    server.shared.reload(config(&before)).unwrap();
    assert!(server.line("PING").starts_with("-NOAUTH"));
    server.shared.reload(Config::default()).unwrap();
    assert_eq!(server.line("PING"), "+PONG\r\n");
}

/// Clients in several threads log in and send requests while reloads follow each other, each with
/// another password for one of two users.
#[test]
fn reloads_during_logins_log_out_changed_users_and_nobody_else() {
    const RELOADS: u64 = 500;
    let users = |password: u64| {
        config(&[("stays", "one", Rights::ALL), ("changes", &password.to_string(), Rights::ALL)])
    };
    let shared = Caller::with(users(0), |_| {}).shared;
    // The password of the last reload that was begun, and of the last one that was completed.
    let (begun, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let (logged_in, logged_out) = (AtomicU64::new(0), AtomicU64::new(0));
    let (pong, mut changed) = ("+PONG\r\n", 0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (shared, done) = (&shared, &done);
            scope.spawn(move || {
                let mut all = [Caller::another(shared), Caller::another(shared)];
                assert_eq!(all[0].line("AUTH stays one"), "+OK\r\n");
                while done.load(Ordering::Acquire) < RELOADS {
                    assert_eq!(all[0].line("PING"), pong, "nothing has changed for it");
                    assert_eq!(all[1].line("AUTH stays one"), "+OK\r\n");
                    assert_eq!(all[1].line("PING"), pong);
                }
            });
        }
        for _ in 0..2 {
            let (shared, begun, done) = (&shared, &begun, &done);
            let (logged_in, logged_out) = (&logged_in, &logged_out);
            scope.spawn(move || {
                while done.load(Ordering::Acquire) < RELOADS {
                    let mut caller = Caller::another(shared);
                    let password = done.load(Ordering::Acquire);
                    let answer = caller.line(&format!("AUTH changes {password}"));
                    if answer != "+OK\r\n" {
                        assert!(begun.load(Ordering::Acquire) > password, "{answer}");
                        continue;
                    }
                    logged_in.fetch_add(1, Ordering::Relaxed);
                    loop {
                        let is_old = done.load(Ordering::Acquire) > password;
                        let is_in = caller.line("PING") == pong;
                        assert!(!(is_old && is_in), "{password} is not the password any more");
                        if !is_in {
                            assert!(begun.load(Ordering::Acquire) > password);
                            logged_out.fetch_add(1, Ordering::Relaxed);
                            break;
                        }
                        if password == RELOADS {
                            break;
                        }
                    }
                }
            });
        }
        for password in 1..=RELOADS {
            begun.store(password, Ordering::Release);
            let reloaded = shared.reload(users(password));
            changed += usize::from(reloaded.is_ok_and(|reloaded| reloaded.changed == ["user"]));
            done.store(password, Ordering::Release);
            // On a busy machine all would be over before any client has logged in.
            let until = Instant::now() + Duration::from_secs(60);
            let few = || password < RELOADS && logged_in.load(Ordering::Relaxed) < password / 25;
            while few() && Instant::now() < until {
                std::thread::yield_now();
            }
        }
    });
    let (logged_in, logged_out) = (logged_in.into_inner(), logged_out.into_inner());
    println!("{logged_in} logins beside {RELOADS} reloads, {logged_out} ended by one");
    assert_eq!(changed as u64, RELOADS);
    assert!(logged_out > 10, "{logged_out}");
}

#[test]
fn connections_after_a_reload_get_the_new_certificate() {
    let pem = |name: &str| Some(file(name));
    let config = Config {
        port: 0,
        tls_cert: pem("server.pem"),
        tls_key: pem("server.key"),
        ..Config::default()
    };
    let running = Server::start(config.clone()).unwrap();
    let ping = || {
        let socket = TcpStream::connect(running.address().unwrap()).unwrap();
        let mut stream = speak(socket, "localhost", &TLS13);
        stream.write_all(b"PING\r\n").map(|()| stream)
    };
    let plain = Config { tls_cert: None, tls_key: None, ..config.clone() };
    let reloaded = running.shared().reload(plain).unwrap();
    assert_eq!(reloaded.after_restart, ["tls_cert", "tls_key"]);
    assert!(running.shared().config().tls_cert.is_some() && reloaded.changed.is_empty());
    let mut before = ping().unwrap();
    let none = Config { tls_key: pem("ca.pem"), ..config.clone() };
    assert!(matches!(running.shared().reload(none), Err(ReloadError::Tls(_))));
    assert!(ping().is_ok(), "the old one stays");
    let renewed =
        Config { tls_cert: pem("renewed.pem"), tls_key: pem("renewed.key"), ..config.clone() };
    assert_eq!(running.shared().reload(renewed).unwrap().changed, ["tls_cert", "tls_key"]);
    // Signed by an authority that the client does not know.
    let error = ping().unwrap_err().to_string();
    assert!(error.contains("UnknownIssuer"), "{error}");
    before.write_all(b"PING\r\n").unwrap();
    running.shared().reload(config).unwrap();
    assert!(ping().is_ok());
    running.shut_down().unwrap();
}

#[test]
fn a_renewed_certificate_is_served_once_the_pair_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let [cert, key] = ["tls.crt", "tls.key"].map(|name| folder.path().join(name));
    let take = |certificate: &str, private: &str| {
        for (from, to) in [(certificate, &cert), (private, &key)] {
            // The way certificates are renewed: another file under the same name.
            let new = folder.path().join("new");
            std::fs::copy(file(from), &new).unwrap();
            std::fs::rename(&new, to).unwrap();
        }
    };
    take("server.pem", "server.key");
    let (tls_cert, tls_key) = (Some(cert.clone()), Some(key.clone()));
    let config = Config { port: 0, tls_cert, tls_key, ..Config::default() };
    let running = Server::start(config.clone()).unwrap();
    let shared = running.shared();
    let ping = || {
        let socket = TcpStream::connect(running.address().unwrap()).unwrap();
        speak(socket, "localhost", &TLS13).write_all(b"PING\r\n")
    };
    assert!(!shared.reload_certificate().unwrap(), "nothing has changed");
    take("renewed.pem", "server.key");
    assert!(shared.reload_certificate().is_err(), "a pair that does not match");
    std::fs::write(&key, "").unwrap();
    assert!(shared.reload_certificate().is_err(), "an empty key");
    std::fs::remove_file(&cert).unwrap();
    assert!(shared.reload_certificate().is_err(), "no certificate");
    // Other settings change all the same.
    let mut caller = Caller::another(shared);
    assert_eq!(caller.line("CONFIG SET default-capacity 300"), "+OK\r\n");
    assert!(ping().is_ok(), "the old one stays");
    take("renewed.pem", "renewed.key");
    assert!(shared.reload_certificate().unwrap());
    assert!(!shared.reload_certificate().unwrap());
    let error = ping().unwrap_err().to_string();
    assert!(error.contains("UnknownIssuer"), "{error}");
    take("server.pem", "server.key");
    // By SIGHUP it is named, too.
    let reloaded = shared.reload(Config { default_capacity: 300, ..config }).unwrap();
    assert_eq!(reloaded.changed, ["certificate"]);
    assert!(ping().is_ok());
    running.shut_down().unwrap();
}

#[test]
fn users_are_reloaded_alone() {
    let before = [("stays", "one", Rights::ALL), ("changes", "two", Rights::ALL)];
    let after = [("stays", "one", Rights::ALL), ("changes", "three", Rights::ALL)];
    let mut server = Caller::with(config(&before), |_| {});
    server.line("AUTH stays one");
    assert_eq!(server.line("CONFIG SET default-capacity 300"), "+OK\r\n");
    assert!(config(&before).users.is_same(&server.shared.config().users));
    let users = config(&after).users;
    assert!(!users.is_same(&server.shared.config().users));
    let reloaded = server.shared.reload_users(users).unwrap();
    assert_eq!((reloaded.changed, reloaded.after_restart), (vec!["user"], vec![]));
    assert_eq!(server.shared.config().default_capacity, 300);
    assert_eq!(server.line("PING"), "+PONG\r\n");
    assert!(server.line("AUTH changes two").starts_with("-WRONGPASS"));
    assert_eq!(server.line("AUTH changes three"), "+OK\r\n");
    let fewer = config(&after[..1]).users;
    assert!(!fewer.is_same(&config(&after).users) && !config(&after).users.is_same(&fewer));
}
