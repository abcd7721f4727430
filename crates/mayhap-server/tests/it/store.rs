//! A server in front of filters on Redis: the same answers, nothing kept here, and an error where
//! the store has not answered.

mod away;
mod clients;
mod fields;
mod http;
mod http_changes;
mod list;
mod live;
mod names;
mod rename;
mod ui;

use crate::support::request;
use mayhap_redis::{Address, NativeFilter, NativeOptions, ServerOptions};
use mayhap_server::config::{Rights, Users};
use mayhap_server::{Config, Running, Server};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use test_servers::{ClusterOptions, RedisCluster, RedisOptions, RedisServer, ready};

const MARK: &str = "$13\r\nend-of-answer\r\n";

/// A client that reads whole answers as bytes.
struct Client(TcpStream);

impl Client {
    fn of(running: &Running) -> Self {
        let stream = TcpStream::connect(running.address().unwrap()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self(stream)
    }

    /// The bytes of the answers to these requests.
    fn ask_all(&mut self, requests: &[&[&str]]) -> String {
        self.ask_in_parts(requests, usize::MAX)
    }

    /// Like [`Client::ask_all`], with the requests written in parts of this many bytes.
    fn ask_in_parts(&mut self, requests: &[&[&str]], part: usize) -> String {
        let bytes: Vec<u8> = requests.iter().flat_map(|words| request(words)).collect();
        self.ask_bytes_in_parts(bytes, part)
    }

    /// The bytes of the answers to requests as they are sent.
    fn ask_bytes(&mut self, requests: &[u8]) -> String {
        self.ask_bytes_in_parts(requests.to_vec(), usize::MAX)
    }

    fn ask_bytes_in_parts(&mut self, mut bytes: Vec<u8>, part: usize) -> String {
        bytes.extend(request(&["ECHO", "end-of-answer"]));
        bytes.chunks(part).for_each(|part| self.0.write_all(part).unwrap());
        let (mut got, mut part) = (Vec::new(), [0; 4096]);
        while !got.ends_with(MARK.as_bytes()) {
            let len = self.0.read(&mut part).unwrap();
            assert!(len > 0, "closed after {}", got.escape_ascii());
            got.extend_from_slice(&part[..len]);
        }
        String::from_utf8(got).unwrap().strip_suffix(MARK).unwrap().to_owned()
    }

    /// The bytes of the answer to a request of words without spaces.
    fn ask(&mut self, words: &str) -> String {
        self.ask_all(&[&words.split(' ').collect::<Vec<_>>()])
    }
}

fn config(url: &str) -> Config {
    let store = Some(Address::parse(url).unwrap());
    Config { store, port: 0, http_port: Some(0), ..Config::default() }
}

fn redis() -> Option<RedisServer> {
    ready(&["redis-server"]).then(|| RedisServer::start(&RedisOptions::default()).unwrap())
}

/// A cluster of three masters, and its URL.
fn cluster() -> Option<(RedisCluster, String)> {
    let options = ClusterOptions { replicas: 0, ..ClusterOptions::default() };
    ready(&["redis-server", "redis-cli"]).then(|| {
        let cluster = RedisCluster::start(&options).unwrap();
        let url = format!("redis+cluster://127.0.0.1:{}", cluster.nodes()[0].port());
        (cluster, url)
    })
}

/// The status and the body of `GET path`.
fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    (text[9..12].parse().unwrap(), text)
}

#[test]
fn answers_are_those_of_a_server_with_its_own_filters() {
    let Some(redis) = redis() else { return };
    let own = Server::start(Config { port: 0, ..Config::default() }).unwrap();
    for hello in ["HELLO 2", "HELLO 3"] {
        redis.flush().unwrap();
        let front = Server::start(config(&redis.url())).unwrap();
        let (mut own, mut front) = (Client::of(&own), Client::of(&front));
        own.ask(hello);
        front.ask(hello);
        for words in [
            "BF.RESERVE f 0.001 1000 NONSCALING",
            "BF.RESERVE f 0.001 1000 NONSCALING",
            "BF.ADD f a",
            "BF.ADD f a",
            "BF.MADD f a b c",
            "BF.EXISTS f b",
            "BF.EXISTS f x",
            "BF.MEXISTS f x c",
            "BF.CARD f",
            "BF.INSERT f ITEMS c d",
            "BF.INSERT f NOCREATE ITEMS e",
            "BF.INSERT g CAPACITY 10 NONSCALING ITEMS a b",
            "BF.INSERT g CAPACITY 10 NONSCALING",
            "BF.INFO f items",
            "BF.INFO f filters",
            "BF.INFO f expansion",
            "BF.INFO f nothing",
            "BF.INFO f items more",
            "BF.ADD f",
            "BF.RESERVE h 2 10",
            "BF.RESERVE h 0.1 0",
            "BF.RESERVE h 0.1 10 ODD",
            "EXISTS f g none f",
            "DEL f none",
            "UNLINK g",
            "EXISTS f g",
            "PING",
            "SELECT 0",
            "COMMAND COUNT",
        ] {
            assert_eq!(front.ask(words), own.ask(words), "{hello}: {words}");
        }
        let pipelined: [&[&str]; 4] = [
            &["BF.RESERVE", "f", "0.01", "100"],
            &["BF.ADD", "f", "k"],
            &["PING"],
            &["BF.EXISTS", "f", "k"],
        ];
        let yes = if hello == "HELLO 2" { ":1" } else { "#t" };
        let answers = format!("+OK\r\n{yes}\r\n+PONG\r\n{yes}\r\n");
        assert_eq!(front.ask_all(&pipelined), answers);
        let info = front.ask("BF.INFO f");
        let head = if hello == "HELLO 2" { "*10" } else { "%5" };
        assert!(info.starts_with(&format!("{head}\r\n+Capacity\r\n:100\r\n+Size\r\n:")), "{info}");
    }
    own.shut_down().unwrap();
}

#[test]
fn what_the_layout_cannot_hold_is_refused_by_name() {
    let Some(redis) = redis() else { return };
    let front = Server::start(config(&redis.url())).unwrap();
    let mut client = Client::of(&front);
    for words in [
        "BF.REM f a",
        "BF.AGE f a",
        "BF.SCANDUMP f 0",
        "BF.LOADCHUNK f 1 x",
        "BF.MERGE f g",
        "BF.MERGECHUNK f x 0 x",
        "BF.DEBUG f",
        "BF.WHICH a f g",
        "BF.BACKUP x",
        "CF.ADD f a",
        "CF.RESERVE f 10",
        "RANDOMKEY",
        "EXPIREAT f 10",
        "EXPIRETIME f",
        "MEMORY USAGE f",
        "FLUSHALL",
        "MULTI",
        "EXEC",
        "SAVE",
        "COPY f g",
        "WAIT 0 0",
        "OBJECT FREQ f",
    ] {
        let name = words.split(' ').next().unwrap().to_ascii_lowercase();
        let start = format!("-ERR '{name}' is not served for filters in a store; ");
        let refused = client.ask(words);
        assert!(refused.starts_with(&start), "{words}: {refused}");
    }
    for (option, name) in [
        ("EXPANSION 2", "EXPANSION"),
        ("COUNTING", "COUNTING"),
        ("WINDOW 100", "WINDOW"),
        ("CLEARAT 0.5", "CLEARAT"),
        ("LAYOUT compact", "LAYOUT compact"),
        ("KEYED yes", "KEYED"),
        ("VALIDATESCALETO 1000", "VALIDATESCALETO"),
    ] {
        let refused = client.ask(&format!("BF.RESERVE f 0.01 100 {option}"));
        assert!(
            refused.starts_with(&format!("-ERR {name} is not for filters in a store")),
            "{refused}"
        );
    }
    assert_eq!(client.ask("EXISTS f"), ":0\r\n", "nothing was created");
    assert_eq!(client.ask("BF.RESERVE f 0.01 100 LAYOUT standard EXPANSION 0"), "+OK\r\n");
    let too_large = Config { max_filter_bytes: Some(1 << 20), ..config(&redis.url()) };
    let small = Server::start(too_large).unwrap();
    let refused = Client::of(&small).ask("BF.RESERVE large 0.01 10000000");
    assert!(refused.contains("above the limit of 1048576 (max_filter_bytes)"), "{refused}");
}

#[test]
fn a_name_without_a_filter_is_an_error() {
    let Some(redis) = redis() else { return };
    let front = Server::start(config(&redis.url())).unwrap();
    let mut client = Client::of(&front);
    // A filter that was never created, and one that was lost, are the same here.
    for words in [
        "BF.EXISTS none a",
        "BF.MEXISTS none a",
        "BF.CARD none",
        "BF.INFO none",
        "BF.ADD none a",
        "BF.INSERT none ITEMS a",
        "BF.INSERT none CAPACITY 9 NOCREATE ITEMS a",
    ] {
        let refused = client.ask(words);
        assert!(refused.starts_with("-ERR not found; filters in a store do not grow"), "{refused}");
    }
    let refused = client.ask("BF.ADD a{b a");
    assert!(refused.contains("{ and } mark the slot of a key"), "{refused}");
    assert!(
        client.ask("INFO server").contains(&format!("store:redis://127.0.0.1:{}", redis.port()))
    );
    front.shut_down().unwrap();
}

#[test]
fn many_clients_of_two_servers_add_each_key_once() {
    const KEYS: usize = 400;
    let Some(redis) = redis() else { return };
    let fronts = [(); 2].map(|()| Server::start(config(&redis.url())).unwrap());
    Client::of(&fronts[0]).ask("BF.RESERVE f 0.000001 100000");
    let new: usize = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..16)
            .map(|i| {
                let mut client = Client::of(&fronts[i % 2]);
                scope.spawn(move || {
                    let add = |key| client.ask(&format!("BF.ADD f key-{key}")) == ":1\r\n";
                    (0..KEYS).map(add).filter(|&is_new| is_new).count()
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    assert_eq!(new, KEYS, "each key was new for one of 16 clients");
    let mut other = Client::of(&fronts[1]);
    for key in 0..KEYS {
        assert_eq!(other.ask(&format!("BF.EXISTS f key-{key}")), ":1\r\n");
    }
    // A server whose handle is of a filter that another one deletes finds the next one.
    assert_eq!(Client::of(&fronts[0]).ask("DEL f"), ":1\r\n");
    assert!(other.ask("BF.EXISTS f key-1").starts_with("-ERR not found"));
    assert_eq!(Client::of(&fronts[0]).ask("BF.RESERVE f 0.01 5000"), "+OK\r\n");
    assert_eq!(other.ask("BF.EXISTS f key-1"), ":0\r\n");
    assert_eq!(other.ask("BF.ADD f key-1"), ":1\r\n");
    assert_eq!(Client::of(&fronts[0]).ask("BF.EXISTS f key-1"), ":1\r\n");
}

/// They are used less often than the bits, so they are evicted first.
#[test]
fn a_server_notices_that_the_parameters_of_a_filter_are_lost_and_another_has_its_name() {
    let Some(redis) = redis() else { return };
    let fronts = [(); 3].map(|()| Server::start(config(&redis.url())).unwrap());
    let [mut busy, mut idle, mut fresh] = fronts.each_ref().map(Client::of);
    assert_eq!(busy.ask("BF.RESERVE f 0.01 5000"), "+OK\r\n");
    for client in [&mut busy, &mut idle] {
        assert!(client.ask("BF.ADD f a").starts_with(':'));
    }
    redis.cli(&["DEL", "{f}:meta"]).unwrap();
    assert!(fresh.ask("BF.EXISTS f a").starts_with("-ERR not found"));
    let notices = (0..1_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        let answer = busy.ask("BF.EXISTS f a");
        assert!(answer == ":1\r\n" || answer.starts_with("-ERR not found"), "{answer}");
        answer != ":1\r\n"
    });
    assert!(notices, "it goes on without parameters");
    // Nor is anything left of it.
    assert_eq!(redis.cli(&["DBSIZE"]).unwrap(), "0");
    assert_eq!(fresh.ask("BF.RESERVE f 0.01 5000"), "+OK\r\n");
    for client in [&mut idle, &mut busy] {
        assert_eq!(client.ask("BF.EXISTS f a"), ":0\r\n");
    }

    // A handle that was not used for some seconds, to a filter whose bits are still there.
    assert_eq!(fresh.ask("BF.RESERVE g 0.01 5000"), "+OK\r\n");
    assert_eq!(idle.ask("BF.ADD g a"), ":1\r\n");
    redis.cli(&["DEL", "{g}:meta"]).unwrap();
    assert_eq!(fresh.ask("BF.RESERVE g 0.01 5000"), "+OK\r\n");
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(idle.ask("BF.ADD g b"), ":1\r\n");
    assert_eq!(fresh.ask("BF.EXISTS g b"), ":1\r\n");
}

#[test]
fn without_an_answer_of_the_store_the_answer_is_an_error() {
    let Some(redis) = redis() else { return };
    let hurried = Config { store_timeout_ms: 600, ..config(&redis.url()) };
    let front = Server::start(hurried).unwrap();
    let (http, mut client) = (front.http_addresses()[0], Client::of(&front));
    client.ask("BF.RESERVE f 0.01 1000");
    client.ask("BF.ADD f a");
    assert_eq!(get(http, "/readyz").0, 200);
    assert!(get(http, "/metrics").1.contains("mayhap_store_reached 1\n"));

    redis.pause().unwrap();
    for words in [
        "BF.EXISTS f a",
        "BF.EXISTS f x",
        "BF.ADD f b",
        "BF.MADD f b c",
        "BF.CARD f",
        "EXISTS f",
        "DEL f",
        "BF.RESERVE g 0.01 100",
    ] {
        let refused = client.ask(words);
        assert!(refused.starts_with("-ERR redis://"), "{words}: {refused}");
    }
    assert_eq!(client.ask("PING"), "+PONG\r\n");
    let (status, text) = get(http, "/readyz");
    assert!(status == 503 && text.contains("redis://"), "{text}");
    assert_eq!(get(http, "/healthz").0, 200);
    assert!(get(http, "/metrics").1.contains("mayhap_store_reached 0\n"));

    redis.resume().unwrap();
    // A request that was sent before may still be executed: DEL has an error, not an answer.
    let mut until = |words: &str, answer: &str| {
        let is_so = (0..100).any(|_| {
            // Requests are sent once a second until one has an answer.
            std::thread::sleep(Duration::from_millis(50));
            client.ask(words) == answer
        });
        assert!(is_so, "{words} is never {answer}");
    };
    until("EXISTS h", ":0\r\n");
    until("BF.INSERT h CAPACITY 100 ITEMS a", "*1\r\n:0\r\n");
    assert_eq!(get(http, "/readyz").0, 200);

    // The store keeps nothing, so the filter is lost: no "surely not" for its keys.
    redis.restart().unwrap();
    until("EXISTS h", ":0\r\n");
    for words in ["BF.EXISTS h a", "BF.MEXISTS h a", "BF.ADD h b"] {
        assert!(client.ask(words).starts_with("-ERR not found"), "{words}");
    }
}

#[test]
fn a_cluster_has_the_shards_of_a_filter() {
    let Some((cluster, url)) = cluster() else { return };
    let front = Server::start(config(&url)).unwrap();
    let mut client = Client::of(&front);
    assert_eq!(client.ask("BF.RESERVE f 0.0001 10000000"), "+OK\r\n");
    let keys: Vec<String> = (0..2_000).map(|key| format!("key-{key}")).collect();
    let keys = keys.join(" ");
    let all = |yes: &str| format!("*2000\r\n{}", format!("{yes}\r\n").repeat(2_000));
    assert_eq!(client.ask(&format!("BF.MADD f {keys}")), all(":1"));
    assert_eq!(client.ask(&format!("BF.MEXISTS f {keys}")), all(":1"));
    let values = |node: &RedisServer| node.cli(&["DBSIZE"]).unwrap().trim().parse::<u64>().unwrap();
    assert!(cluster.nodes().iter().all(|node| values(node) > 0), "each node has shards");
    cluster.reshard(0, 1, 3_000).unwrap();
    assert_eq!(client.ask(&format!("BF.MEXISTS f {keys}")), all(":1"));
    assert_eq!(client.ask("DEL f"), ":1\r\n");
    assert_eq!(cluster.nodes().iter().map(values).sum::<u64>(), 0);
}

#[test]
fn rights_and_the_secret_key_are_as_for_filters_of_the_server() {
    let Some(redis) = redis() else { return };
    let folder = tempfile::tempdir().unwrap();
    let key_file = folder.path().join("key");
    std::fs::write(&key_file, [7; 16]).unwrap();
    let keyed = Config {
        key_file: Some(key_file),
        insecure_key_file: true,
        users: users(),
        ..config(&redis.url())
    };
    let keyed = Server::start(keyed).unwrap();
    let mut client = Client::of(&keyed);
    client.0.write_all(&request(&["BF.ADD", "shop:f", "a"])).unwrap();
    let mut refused = [0; 7];
    client.0.read_exact(&mut refused).unwrap();
    assert_eq!(&refused, b"-NOAUTH");
    let mut client = Client::of(&keyed);
    assert_eq!(client.ask("AUTH writer long-enough-password"), "+OK\r\n");
    assert_eq!(client.ask("BF.RESERVE shop:f 0.01 100"), "+OK\r\n");
    assert_eq!(client.ask("BF.ADD shop:f a"), ":1\r\n");
    assert!(client.ask("BF.ADD other a").starts_with("-NOPERM"));
    assert_eq!(client.ask("AUTH reader long-enough-password"), "+OK\r\n");
    assert_eq!(client.ask("BF.EXISTS shop:f a"), ":1\r\n");
    assert!(client.ask("BF.ADD shop:f a").starts_with("-NOPERM"));

    let plain = Server::start(config(&redis.url())).unwrap();
    let refused = Client::of(&plain).ask("BF.EXISTS shop:f a");
    assert!(refused.starts_with("-ERR") && refused.contains("key"), "{refused}");
}

fn users() -> Arc<Users> {
    let mut users = Users::new().unwrap();
    let prefix = Some(b"shop:".as_slice().into());
    let writer = Rights { admin: false, prefix, ..Rights::ALL };
    let reader = Rights { write: false, ..writer.clone() };
    users.add("writer", b"long-enough-password", writer).unwrap();
    users.add("reader", b"long-enough-password", reader).unwrap();
    Arc::new(users)
}

/// A filter whose keys are parts of lines.
fn made_of_lines(redis: &RedisServer, name: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let address = Address::parse(&redis.url()).unwrap();
        let server = mayhap_redis::Server::connect(&address, ServerOptions::default()).await;
        let (server, key_options) = (server.unwrap(), "trim".to_owned());
        let options = NativeOptions::for_items(100, 0.01).unwrap();
        let options = NativeOptions { key_options, ..options };
        NativeFilter::create(&server, name, &options).await.unwrap();
    });
}

#[test]
fn a_filter_whose_keys_are_made_of_lines_is_refused() {
    let Some(redis) = redis() else { return };
    made_of_lines(&redis, "lines");
    let front = Server::start(config(&redis.url())).unwrap();
    let mut client = Client::of(&front);
    for words in ["BF.ADD lines a", "BF.EXISTS lines a", "BF.EXISTS lines a"] {
        let refused = client.ask(words);
        assert!(refused.contains("made of lines (trim)"), "{words}: {refused}");
    }
}
