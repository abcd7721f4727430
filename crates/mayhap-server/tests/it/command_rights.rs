//! Access control: logins, rights, prefixes.

use crate::command::{Server, all_commands};
use mayhap_server::Config;
use mayhap_server::command::After;
use mayhap_server::config::{Rights, Users};
use std::sync::Arc;

/// A configuration with these users, each with the password `secret`.
fn users(all: &[(&str, Rights)]) -> Config {
    let mut users = Users::new().unwrap();
    for (name, rights) in all {
        users.add(name, b"secret", rights.clone()).unwrap();
    }
    Config { users: Arc::new(users), ..Config::default() }
}

#[test]
fn nothing_is_revealed_before_a_login() {
    let mut server = Server::with(users(&[("default", Rights::ALL)]), |_| {});
    for command in all_commands(&mut Server::new()) {
        let words = match command.as_str() {
            "hello" | "auth" | "quit" | "reset" => continue,
            _ => format!("{command} a b c d"),
        };
        for line in [&words[..], &command, &format!("{command} a"), &format!("{command} a b")] {
            let answer = server.line(line);
            let refused = answer.starts_with("-NOAUTH ") || answer.contains("wrong number");
            assert!(refused, "{line}: {answer}");
        }
    }
    assert_eq!(server.line("PING"), "-NOAUTH Authentication required.\r\n");
    assert!(server.line("HELLO 3").starts_with("-NOAUTH HELLO must be called"));
    assert!(!server.session.info.resp3);
    assert!(server.line("AUTH wrong").starts_with("-WRONGPASS "));
    assert!(server.line("AUTH nobody secret").starts_with("-WRONGPASS "));
    assert!(server.line("PING").starts_with("-NOAUTH "));
    assert_eq!(server.line("AUTH secret"), "+OK\r\n");
    assert_eq!(server.line("PING"), "+PONG\r\n");
    assert_eq!(server.line("RESET"), "+RESET\r\n");
    assert!(server.line("PING").starts_with("-NOAUTH "));
    assert!(server.line("HELLO 3 AUTH default secret SETNAME me").starts_with("%7\r\n"));
    assert_eq!(server.line("CLIENT GETNAME"), "$2\r\nme\r\n");
}

#[test]
fn a_client_that_guesses_passwords_has_to_reconnect() {
    let mut server = Server::with(users(&[("default", Rights::ALL)]), |_| {});
    for _ in 0..2 {
        for _ in 0..9 {
            assert!(server.line("AUTH wrong").starts_with("-WRONGPASS "));
            assert_eq!(server.after, After::Go);
        }
        assert_eq!(server.line("AUTH secret"), "+OK\r\n");
    }
    for _ in 0..10 {
        assert_eq!(server.after, After::Go);
        assert!(server.line("AUTH wrong").starts_with("-WRONGPASS "));
    }
    assert_eq!(server.after, After::Close);
}

#[test]
fn users_can_use_their_rights_and_nothing_else() {
    let rights = |read, write, admin| Rights { read, write, admin, prefix: None };
    let mut server = Server::with(
        users(&[
            ("reader", rights(true, false, false)),
            ("writer", rights(true, true, false)),
            ("admin", rights(true, true, true)),
        ]),
        |_| {},
    );
    let may = |server: &mut Server, line: &str| !server.line(line).starts_with("-NOPERM ");
    for (user, reads, writes, admins) in
        [("admin", true, true, true), ("writer", true, true, false), ("reader", true, false, false)]
    {
        assert_eq!(server.line(&format!("AUTH {user} secret")), "+OK\r\n");
        for line in ["BF.EXISTS f a", "BF.INFO f", "EXISTS f", "SCAN 0", "TTL f", "BF.SCANDUMP f 0"]
        {
            assert_eq!(may(&mut server, line), reads, "{user} {line}");
        }
        for line in
            ["BF.ADD f a", "DEL x", "EXPIRE f 9", "BF.LOADCHUNK g 1 x", "BF.MERGECHUNK g x 0 x"]
        {
            assert_eq!(may(&mut server, line), writes, "{user} {line}");
        }
        for line in [
            "CONFIG GET save",
            "BGSAVE",
            "CLIENT KILL ID 99",
            "CLIENT LIST",
            "BF.MADDHASH f abcdefgh",
        ] {
            assert_eq!(may(&mut server, line), admins, "{user} {line}");
        }
    }
    let refused = server.line("BF.ADD f a");
    assert_eq!(refused, "-NOPERM User reader has no permissions to run the 'bf.add' command\r\n");
}

#[test]
fn a_user_with_a_prefix_sees_no_other_names() {
    let shop = Rights { prefix: Some(Arc::from(&b"shop:"[..])), ..Rights::ALL };
    let mut server = Server::with(users(&[("all", Rights::ALL), ("shop", shop)]), |_| {});
    server.line("AUTH all secret");
    server.line("BF.ADD other a");
    server.line("BF.ADD shop:1 a");
    server.line("AUTH shop secret");
    assert_eq!(server.line("KEYS *"), "*1\r\n$6\r\nshop:1\r\n");
    assert_eq!(server.line("SCAN 0"), "*2\r\n$1\r\n0\r\n*1\r\n$6\r\nshop:1\r\n");
    for line in [
        "BF.EXISTS other a",
        "BF.ADD other a",
        "DEL shop:1 other",
        "RENAME shop:1 other",
        "BF.MERGE shop:2 other",
        "BF.WHICH 2 shop:1 other a",
        "TYPE other",
        "MEMORY USAGE other",
    ] {
        assert_eq!(server.line(line), "-NOPERM No permissions to access a key\r\n", "{line}");
    }
    assert_eq!(server.line("BF.EXISTS shop:1 a"), ":1\r\n");
    assert_eq!(server.line("FLUSHALL"), "+OK\r\n");
    server.line("AUTH all secret");
    assert_eq!(server.line("KEYS *"), "*1\r\n$5\r\nother\r\n");
}

/// Limits apply to everybody, and a backup has everybody's filters.
#[test]
fn a_user_with_a_prefix_changes_no_setting() {
    let shop = Rights { prefix: Some(Arc::from(&b"shop:"[..])), ..Rights::ALL };
    let mut server = Server::with(users(&[("all", Rights::ALL), ("shop", shop)]), |_| {});
    server.line("AUTH shop secret");
    for line in [
        "CONFIG SET max_memory 1MiB",
        "CONFIG SET maxmemory 1048576",
        "CONFIG SET default-capacity 7",
        "CONFIG SET log-level off strict-names yes",
        "CONFIG SET nonsense 1",
        "config set metrics_filters 0",
    ] {
        let refused = server.line(line);
        assert!(refused.starts_with("-NOPERM settings are those of all names"), "{line} {refused}");
    }
    assert_eq!(server.line("CONFIG GET maxmemory"), "*2\r\n$9\r\nmaxmemory\r\n$1\r\n0\r\n");
    assert_eq!(server.shared.config().default_capacity, Config::default().default_capacity);
    server.line("AUTH all secret");
    assert_eq!(server.line("CONFIG SET max_memory 1MiB"), "+OK\r\n");
}
