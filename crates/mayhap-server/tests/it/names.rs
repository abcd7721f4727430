//! Lists of names: names that exist throughout are in them, and a user with a prefix sees only
//! those.

use crate::command::Server;
use mayhap_server::Config;
use mayhap_server::config::{Rights, Users};
use std::sync::Arc;

/// All names of a scan, with `change` executed after its first page.
fn scan(server: &mut Server, count: usize, change: &[&str]) -> Vec<String> {
    let (mut names, mut cursor) = (Vec::new(), "0".to_owned());
    for page in 0.. {
        assert!(page < 1_000, "a scan without an end");
        let answer = server.line(&format!("SCAN {cursor} COUNT {count}"));
        let lines: Vec<&str> = answer.lines().collect();
        lines[2].clone_into(&mut cursor);
        names.extend(lines[4..].iter().skip(1).step_by(2).map(|name| (*name).to_owned()));
        if page == 0 {
            for line in change {
                server.line(line);
            }
        }
        if cursor == "0" {
            break;
        }
    }
    names
}

#[test]
fn a_name_that_exists_throughout_a_scan_is_listed_for_any_filter() {
    // Older and newer than the ones they replace, once and repeatedly, behind the scan and before
    // it.
    for change in [
        &["RENAME next live"][..],
        &["RENAME next live", "BF.RESERVE next 0.1 10", "RENAME next live"],
        &["RENAME live aside", "RENAME next live", "RENAME aside next"],
        &["RENAME next live", "COPY live other"],
        &["DEL next", "BF.RESERVE next 0.1 10", "RENAME next live"],
    ] {
        let mut server = Server::new();
        server.line("BF.RESERVE next 0.1 10");
        for n in 0..30 {
            server.line(&format!("BF.RESERVE f{n} 0.1 10"));
        }
        server.line("BF.RESERVE live 0.1 10");
        let names = scan(&mut server, 10, change);
        assert!(names.iter().any(|name| name == "live"), "{change:?}: {names:?}");
        for n in 0..30 {
            let name = format!("f{n}");
            assert_eq!(names.iter().filter(|it| **it == name).count(), 1, "{change:?}: {name}");
        }
        // And from then on once.
        let names = scan(&mut server, 7, &[]);
        assert_eq!(names.iter().filter(|name| *name == "live").count(), 1, "{change:?}");
    }
}

#[test]
fn a_user_with_a_prefix_gets_names_and_numbers_of_their_own() {
    let mut users = Users::new().unwrap();
    let mine = Rights { prefix: Some(Arc::from(&b"zz:"[..])), ..Rights::ALL };
    users.add("all", b"secret", Rights::ALL).unwrap();
    users.add("mine", b"secret", mine).unwrap();
    let config = Config { users: Arc::new(users), ..Config::default() };
    let mut server = Server::with(config, |_| {});
    server.line("AUTH mine secret");
    assert_eq!(
        (server.line("RANDOMKEY"), server.line("DBSIZE")),
        ("$-1\r\n".into(), ":0\r\n".into())
    );
    server.line("AUTH all secret");
    for n in 0..10_050 {
        server.line(&format!("BF.RESERVE f{n} 0.1 10"));
    }
    server.line("AUTH mine secret");
    assert_eq!(server.line("RANDOMKEY"), "$-1\r\n");
    server.line("BF.RESERVE zz:a 0.1 10");
    server.line("BF.RESERVE zz:b 0.1 10");
    server.line("PEXPIRE zz:b 1000");
    assert_eq!(server.line("DBSIZE"), ":2\r\n");
    assert!(["$4\r\nzz:a\r\n", "$4\r\nzz:b\r\n"].contains(&&*server.line("RANDOMKEY")));
    assert!(server.line("INFO keyspace").contains("db0:keys=2,expires=1"));
    server.turn.work.now += 1_000;
    assert_eq!(server.line("RANDOMKEY"), "$4\r\nzz:a\r\n");
    server.line("AUTH all secret");
    assert_eq!(server.line("DBSIZE"), ":10052\r\n", "expired filters count until they are swept");
    assert!(server.line("INFO keyspace").contains("db0:keys=10052,expires=1"));
}

#[test]
fn a_layout_is_for_filters_that_do_not_grow_and_never_ignored() {
    let mut server = Server::new();
    for kind in ["COUNTING", "WINDOW 10", "WINDOW 1h", "CLEARAT 0.5"] {
        for options in
            ["LAYOUT blocked", "EXPANSION 0 LAYOUT blocked", "LAYOUT standard EXPANSION 0"]
        {
            let answer = server.line(&format!("BF.RESERVE f 0.1 10 {kind} {options}"));
            assert_eq!(answer, "-ERR LAYOUT is for NONSCALING filters\r\n", "{kind} {options}");
        }
    }
    for options in ["NONSCALING LAYOUT blocked", "EXPANSION 0 LAYOUT standard"] {
        assert_eq!(server.line(&format!("BF.RESERVE f 0.1 10 {options}")), "+OK\r\n");
        server.line("DEL f");
    }
}

/// With memory full, each name is deleted and another one created, so that the table of names has
/// to be reallocated now and then; nothing is leaked meanwhile.
#[test]
fn a_deleted_filter_makes_room_for_the_next_at_once() {
    let mut server = Server::with(Config::default(), |options| options.max_memory = 16 << 20);
    let add = |server: &mut Server, number: usize| {
        server.line(&format!("BF.RESERVE name:{number:06} 0.1 10"))
    };
    let filters = (0..20_000).find(|&number| add(&mut server, number) != "+OK\r\n").unwrap();
    assert!(filters > 2_000, "{filters}");
    let refused = add(&mut server, filters);
    assert!(refused.contains("max_memory"), "{refused}");
    for number in 0..10_000 {
        assert_eq!(server.line(&format!("DEL name:{number:06}")), ":1\r\n");
        let next = number + filters;
        assert_eq!(add(&mut server, next), "+OK\r\n", "{next} with room for {filters}");
    }
    assert_eq!(server.line("DBSIZE"), format!(":{filters}\r\n"));
    assert_eq!(server.line("KEYS *").matches("name:").count(), filters);
}
