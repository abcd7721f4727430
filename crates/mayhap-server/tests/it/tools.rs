//! Requests of tools at their start and every minute: exporters, browsers, client libraries.

use crate::command::Server;
use mayhap_engine::keyspace::Upkeep;
use mayhap_server::Config;
use mayhap_server::config::{Rights, Users};
use std::sync::Arc;

/// The calls with which these begin, as they send them.
const START_UP: &[&str] = &[
    // redis-py and node-redis.
    "HELLO 3",
    "CLIENT SETINFO LIB-NAME redis-py",
    "CLIENT SETINFO LIB-VER 5.0.1",
    "SELECT 0",
    // ioredis.
    "INFO",
    // redis-cli.
    "COMMAND DOCS",
    "COMMAND",
    // redis_exporter.
    "CLIENT SETNAME redis_exporter",
    "CONFIG GET *",
    "INFO ALL",
    "LATENCY LATEST",
    "SLOWLOG LEN",
    "SLOWLOG GET 1",
    "MODULE LIST",
    // RedisInsight.
    "INFO server",
    "INFO keyspace",
    "INFO replication",
    "DBSIZE",
    "ACL WHOAMI",
    "ACL LIST",
    "ACL CAT",
    "ACL GETUSER default",
    "ROLE",
    "WAIT 0 0",
    "SCAN 0 COUNT 500",
    "TYPE f",
    "OBJECT ENCODING f",
    "MEMORY USAGE f",
    "TTL f",
];

#[test]
fn the_calls_with_which_tools_begin_are_answered() {
    let mut server = Server::new();
    server.line("BF.ADD f a");
    for line in START_UP {
        let answer = server.line(line);
        assert!(!answer.starts_with('-'), "{line}: {answer}");
    }
    // A client that looks for a cluster continues after the error text of Redis.
    for line in ["CLUSTER INFO", "CLUSTER SLOTS", "CLUSTER NODES"] {
        assert_eq!(server.line(line), "-ERR This instance has cluster support disabled\r\n");
    }
    // And after this one without a missing command.
    for line in ["WATCH a", "SUBSCRIBE a", "MONITOR", "DUMP f", "GET f", "SET f a"] {
        assert!(server.line(line).starts_with("-ERR unknown command '"), "{line}");
    }
}

/// A field of `INFO`.
fn field(server: &mut Server, section: &str, name: &str) -> String {
    let text = server.line(&format!("INFO {section}"));
    let found = text.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
    found.unwrap_or_else(|| panic!("{name} is not in {text}")).to_owned()
}

#[test]
fn info_has_the_fields_that_exporters_read_and_they_are_true() {
    let mut server = Server::new();
    server.line("BF.MADD f a b c");
    server.line("BF.MEXISTS f a b absent");
    server.line("BF.EXISTS f c");
    server.line("BF.EXISTS none c");
    // In whatever way they are looked up.
    server.line("BF.WHICH 1 f a absent");
    server.line("BF.RESERVE g 0.01 100 KEYED no");
    server.line("BF.MADDHASH g abcdefgh");
    server.line("BF.MEXISTSHASH g abcdefghABCDEFGH");
    server.shared.metrics.lane(0).take(&mut server.turn.counts);
    assert_eq!(field(&mut server, "stats", "keyspace_hits"), "5");
    assert_eq!(field(&mut server, "stats", "keyspace_misses"), "4");
    assert_eq!(field(&mut server, "replication", "role"), "master");
    assert_eq!(field(&mut server, "replication", "connected_slaves"), "0");
    for name in ["rdb_bgsave_in_progress", "aof_rewrite_in_progress"] {
        assert_eq!(field(&mut server, "persistence", name), "0");
    }
    let number = |text: String| text.parse::<f64>().unwrap();
    if cfg!(target_os = "linux") {
        let rss = number(field(&mut server, "memory", "used_memory_rss"));
        let peak = number(field(&mut server, "memory", "used_memory_peak"));
        assert!(rss > 1e6 && peak >= rss / 2.0, "{rss} {peak}");
        assert!(number(field(&mut server, "cpu", "used_cpu_user")) >= 0.0);
    }
    assert!(field(&mut server, "memory", "used_memory_human").ends_with('K'));
    number(field(&mut server, "stats", "instantaneous_ops_per_sec"));
    // Filters that expire are counted as they are created and removed.
    let db0 = |server: &mut Server| field(server, "keyspace", "db0");
    server.line("BF.ADD g a");
    assert_eq!(db0(&mut server), "keys=2,expires=0,avg_ttl=0");
    server.line("EXPIRE g 100");
    server.line("EXPIRE g 200");
    assert_eq!(db0(&mut server), "keys=2,expires=1,avg_ttl=0");
    server.line("PERSIST g");
    assert_eq!(db0(&mut server), "keys=2,expires=0,avg_ttl=0");
    server.line("EXPIRE g 100");
    let later = server.turn.work.now + 100_000;
    Upkeep::sweep(&server.shared.keyspace, 0, 10, later, None);
    assert_eq!(field(&mut server, "stats", "expired_keys"), "1");
    assert_eq!(db0(&mut server), "keys=1,expires=0,avg_ttl=0");
}

/// redis-py's own conftest looks for the first, `RedisBloom`'s flow runner for the second.
#[test]
fn info_says_that_there_is_no_cluster_and_which_module_there_is() {
    let mut server = Server::new();
    for section in ["", "all", "everything", "cluster", "default"] {
        assert_eq!(field(&mut server, section, "cluster_enabled"), "0", "{section}");
    }
    for section in ["", "modules", "everything"] {
        let module = field(&mut server, section, "module");
        assert_eq!(
            module, "name=bf,ver=80000,api=1,filters=0,usedby=[],using=[],options=[]",
            "{section}"
        );
    }
    let all = server.line("INFO");
    for title in ["# Modules\r\nmodule:name=bf", "# Cluster\r\ncluster_enabled:0\r\n"] {
        assert_eq!(all.matches(title).count(), 1, "{all}");
    }
    // They agree with the other reports.
    let list = server.line("MODULE LIST");
    assert!(list.contains("$2\r\nbf\r\n") && list.contains(":80000\r\n"), "{list}");
    for hello in ["HELLO 2", "HELLO 3"] {
        let text = server.line(hello);
        let (_, modules) = text.split_once("$7\r\nmodules\r\n*1\r\n").unwrap();
        assert!(modules.contains("$2\r\nbf\r\n"), "{text}");
    }
}

#[test]
fn a_copy_has_all_items_and_the_end_of_its_source_and_replaces_nothing() {
    let mut server = Server::new();
    for reserve in
        ["", " COUNTING", " LAYOUT compact", " WINDOW 1000", " CLEARAT 0.5", " NONSCALING"]
    {
        server.line("FLUSHALL");
        server.line(&format!("BF.RESERVE f 0.0001 1000{reserve}"));
        server.line("BF.MADD f a b c");
        server.line("EXPIRE f 1000");
        assert_eq!(server.line("COPY f g"), ":1\r\n", "{reserve}");
        assert_eq!(server.line("BF.MEXISTS g a b c d"), "*4\r\n:1\r\n:1\r\n:1\r\n:0\r\n");
        assert_eq!(server.line("TTL g"), ":1000\r\n");
        assert_eq!(server.line("BF.ADD g d"), ":1\r\n");
        assert_eq!(server.line("BF.EXISTS f d"), ":0\r\n");
        assert_eq!(server.line("COPY f g"), ":0\r\n");
        assert_eq!(server.line("COPY none h"), ":0\r\n");
        assert_eq!(server.line("COPY f h DB 0"), ":1\r\n");
    }
    assert!(server.line("COPY f g REPLACE").starts_with("-ERR COPY does not replace filters"));
    assert_eq!(server.line("COPY f i DB 1"), "-ERR DB index is out of range\r\n");
    assert_eq!(server.line("COPY f i JUNK"), "-ERR syntax error\r\n");
}

#[test]
fn users_are_listed_with_their_rights_and_never_with_their_passwords() {
    let mut users = Users::new().unwrap();
    let shop =
        Rights { read: true, write: true, admin: false, prefix: Some(Arc::from(&b"shop:"[..])) };
    users.add("shop", b"secret password", shop).unwrap();
    users.add("boss", b"secret password", Rights::ALL).unwrap();
    let mut server = Server::with(Config { users: Arc::new(users), ..Config::default() }, |_| {});
    let login = |server: &mut Server, name: &str| {
        let request = [&b"AUTH"[..], name.as_bytes(), b"secret password"];
        assert_eq!(server.ask(&request.map(<[u8]>::to_vec)), b"+OK\r\n");
    };
    login(&mut server, "shop");
    assert_eq!(server.line("ACL WHOAMI"), "$4\r\nshop\r\n");
    for line in ["ACL LIST", "ACL GETUSER boss", "ACL USERS", "SLOWLOG GET", "LATENCY LATEST"] {
        assert!(server.line(line).starts_with("-NOPERM User shop "), "{line}");
    }
    login(&mut server, "boss");
    let list = server.line("ACL LIST");
    assert!(list.contains("user shop on ~shop:* resetchannels -@all +@read +@write\r\n"), "{list}");
    assert!(list.contains("user boss on ~* resetchannels -@all +@read +@write +@admin"), "{list}");
    let one = server.line("ACL GETUSER shop");
    assert!(one.contains("~shop:*") && !one.contains("nopass"), "{one}");
    for answer in [list, one, server.line("ACL USERS")] {
        assert!(!answer.contains("secret"), "{answer}");
    }
    assert_eq!(server.line("ACL GETUSER nobody"), "$-1\r\n");
    assert!(server.line("ACL SETUSER x").starts_with("-ERR unknown subcommand 'SETUSER'"));
}

/// Through a socket, since only requests that leave the loop are recorded.
#[test]
fn slow_requests_are_in_the_slow_log_without_their_password() {
    use crate::support::{Raw, options};
    use mayhap_server::net::{Live, Loops};

    let folder = tempfile::tempdir().unwrap();
    let shared = crate::wire_live::shared(folder.path());
    let server = Loops::start(options(), Arc::new(Live(shared.clone()))).unwrap();
    let mut raw = Raw::connect(server.address().unwrap());
    // Argon2 takes long enough on any machine, or it would be pointless.
    for _ in 0..3 {
        raw.call(&["AUTH", "hashed", "hunter2"], "-WRONGPASS ");
        raw.expect("invalid username-password pair or user is disabled.\r\n");
    }
    raw.call(&["AUTH", "plain"], "+OK\r\n");
    raw.call(&["SLOWLOG", "LEN"], ":");
    raw.expect("3\r\n");
    raw.send("SLOWLOG GET 1\r\n");
    raw.expect("*1\r\n*6\r\n:2\r\n:");
    drop(raw);
    server.stop();
    server.join().unwrap();
    let mut caller = Server::new();
    let mut session = mayhap_server::Session::new(1, None, Rights::ALL);
    std::mem::swap(&mut caller.session, &mut session);
    caller.shared = shared;
    let log = caller.line("SLOWLOG GET");
    assert!(log.contains("AUTH") && log.contains("(redacted)"), "{log}");
    assert!(!log.contains("hunter2") && !log.contains("hashed"), "{log}");
    assert_eq!(caller.line("SLOWLOG RESET"), "+OK\r\n");
    assert_eq!(caller.line("SLOWLOG LEN"), ":0\r\n");
    assert!(caller.line("SLOWLOG GET -2").starts_with("-ERR count should be"));
}
