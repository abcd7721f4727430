//! Files with secrets, and the users that can read them.
#![cfg(unix)]

use crate::wire_tls::file;
use mayhap_server::config::Sources;
use mayhap_server::{Config, Server};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_secret_key_that_every_user_can_read_is_refused_wherever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let config = Config { data: Some(data.clone()), port: 0, ..Config::default() };
    let start =
        |config: &Config| Server::start(config.clone()).map(|running| running.shut_down().unwrap());
    start(&config).unwrap();
    let key = data.join("key");
    let bytes = fs::read(&key).unwrap();
    // A key file elsewhere, as a Secret is mounted.
    let other = folder.path().join("other");
    fs::copy(&key, &other).unwrap();
    let named = Config { key_file: Some(other.clone()), ..config.clone() };
    for (path, config) in [(&key, &config), (&other, &named)] {
        // Its owner, its group (as Kubernetes makes it for fsGroup), all others.
        for (mode, is_taken) in [
            (0o600, true),
            (0o400, true),
            (0o640, true),
            (0o660, true),
            (0o644, false),
            (0o604, false),
        ] {
            set(path, mode);
            let started = start(config);
            assert_eq!(started.is_ok(), is_taken, "{mode:o} {started:?}");
            if let Err(error) = started {
                let text = error.to_string();
                assert!(text.contains("is readable by every user of this machine"), "{text}");
                assert!(text.contains(&format!("mode {mode:03o}")), "{text}");
                assert!(text.contains("--insecure-key-file"), "{text}");
                start(&Config { insecure_key_file: true, ..config.clone() }).unwrap();
            }
        }
        assert_eq!(fs::read(path).unwrap(), bytes);
    }
    assert!(!data.join(".permissions").exists());
}

#[test]
fn passwords_and_private_keys_that_every_user_can_read_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = |name: &str| at(name).display().to_string();
    fs::write(at("password"), "a long enough password\n").unwrap();
    fs::copy(file("server.key"), at("tls.key")).unwrap();
    let user = "name = \"a\"\nrights = \"read\"";
    for (name, lines) in [
        ("plain.toml", "password = \"a long enough password\"".to_owned()),
        ("user.toml", format!("[[user]]\n{user}\npassword = \"a long enough password\"")),
        ("file.toml", format!("password_file = {:?}", text("password"))),
        ("user_file.toml", format!("[[user]]\n{user}\npassword_file = {:?}", text("password"))),
        ("tls.toml", format!("tls_cert = {:?}\ntls_key = {:?}", file("server.pem"), at("tls.key"))),
        ("none.toml", "port = 1".to_owned()),
    ] {
        fs::write(at(name), lines).unwrap();
    }
    let warnings = |sources: &Sources| sources.load().unwrap().warnings;
    let config = |name: &str| Sources { file: Some(at(name)), ..Sources::default() };
    let environment = vec![("MAYHAP_PASSWORD_FILE".to_owned(), text("password"))];
    let by_environment = Sources { environment, ..Sources::default() };
    let by_flag = Sources { password_file: Some(at("password")), ..Sources::default() };
    for (sources, secret) in [
        (config("plain.toml"), "plain.toml"),
        (config("user.toml"), "user.toml"),
        (config("file.toml"), "password"),
        (config("user_file.toml"), "password"),
        (config("tls.toml"), "tls.key"),
        (by_environment, "password"),
        (by_flag, "password"),
    ] {
        for (mode, expected) in [(0o644, 1), (0o444, 1), (0o640, 0), (0o600, 0)] {
            set(&at(secret), mode);
            let found = warnings(&sources);
            assert_eq!(found.len(), expected, "{secret} {mode:o}: {found:?}");
            for warning in found {
                let start = format!("{} is readable by every user of this machine", text(secret));
                assert!(warning.starts_with(&start), "{warning}");
            }
        }
    }
    set(&at("none.toml"), 0o644);
    assert!(warnings(&config("none.toml")).is_empty(), "it holds no secret");
}
