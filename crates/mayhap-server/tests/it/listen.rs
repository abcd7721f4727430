//! Listen addresses: lists of them, and the meaning of `::`.

use crate::support::Raw;
use mayhap_server::config::Addresses;
use mayhap_server::{Config, Running, Server};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

fn start(bind: &str, port: u16) -> Running {
    let bind = Addresses::parse(bind).unwrap();
    let insecure_no_password = true;
    let config =
        Config { bind, port, http_port: Some(0), insecure_no_password, ..Config::default() };
    Server::start(config).unwrap()
}

/// A machine without IPv6 can test none of this.
fn has_v6() -> bool {
    let has_it = TcpListener::bind("[::1]:0").is_ok();
    if !has_it {
        println!("there is no IPv6 on this machine");
    }
    has_it
}

fn at(host: &str, address: SocketAddr) -> SocketAddr {
    SocketAddr::new(host.parse().unwrap(), address.port())
}

fn status(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn all_addresses_of_ipv6_take_ipv4_too_for_both_protocols() {
    if !has_v6() {
        return;
    }
    let running = start("::", 0);
    let (redis, http) = (running.address().unwrap(), running.http_addresses()[0]);
    for host in ["127.0.0.1", "::1"] {
        Raw::connect(at(host, redis)).call(&["PING"], "+PONG\r\n");
        assert_eq!(status(at(host, http)), "HTTP/1.1 200 OK", "{host}");
    }
    // A client of IPv4 is one, whichever socket it connected to: guesses are counted by its
    // address.
    let _other = Raw::connect(at("127.0.0.1", redis));
    let hosts: Vec<IpAddr> = running
        .shared()
        .clients
        .list()
        .iter()
        .filter_map(|client| Some(client.address?.ip()))
        .collect();
    assert!(
        hosts.iter().all(|host| matches!(host, IpAddr::V4(_)) || host.is_loopback()),
        "{hosts:?}"
    );
    running.shut_down().unwrap();
}

#[test]
fn all_addresses_of_a_list_are_listened_on_except_absent_optional_ones() {
    let running = start("127.0.0.1,127.0.0.2 -203.0.113.7", 0);
    let hosts = |addresses: &[SocketAddr]| -> Vec<String> {
        addresses.iter().map(|address| address.ip().to_string()).collect()
    };
    assert_eq!(hosts(running.addresses()), ["127.0.0.1", "127.0.0.2"]);
    assert_eq!(hosts(running.http_addresses()), ["127.0.0.1", "127.0.0.2"]);
    for address in running.addresses() {
        Raw::connect(*address).call(&["PING"], "+PONG\r\n");
    }
    for address in running.http_addresses() {
        assert_eq!(status(*address), "HTTP/1.1 200 OK");
    }
    running.shut_down().unwrap();
    let bind = Addresses::parse("127.0.0.1,203.0.113.7").unwrap();
    let insecure_no_password = true;
    let config = Config { bind, port: 0, insecure_no_password, ..Config::default() };
    let error = Server::start(config).unwrap_err().to_string();
    assert!(error.starts_with("cannot listen on 203.0.113.7:0: "), "{error}");
    let bind = Addresses::parse("-203.0.113.7").unwrap();
    let config = Config { bind, port: 0, insecure_no_password, ..Config::default() };
    let error = Server::start(config).unwrap_err().to_string();
    assert!(error.starts_with("cannot listen on "), "{error}");
}

#[test]
fn both_wildcards_share_a_port() {
    for bind in ["0.0.0.0,::", "*", ":: 0.0.0.0"] {
        // It was free a moment ago.
        let port = TcpListener::bind("0.0.0.0:0").unwrap().local_addr().unwrap().port();
        let running = start(bind, port);
        let hosts: &[&str] = if has_v6() { &["127.0.0.1", "::1"] } else { &["127.0.0.1"] };
        for host in hosts {
            Raw::connect(at(host, running.address().unwrap())).call(&["PING"], "+PONG\r\n");
        }
        running.shut_down().unwrap();
    }
}

#[test]
fn lists_are_read_and_written_alike() {
    for (text, shown) in [
        ("localhost", "127.0.0.1"),
        ("127.0.0.1 ::1", "127.0.0.1,::1"),
        (" 10.0.0.1 , -::1,10.0.0.1", "10.0.0.1,-::1"),
        ("* -10.0.0.1", "0.0.0.0,-::,-10.0.0.1"),
    ] {
        let list = Addresses::parse(text).unwrap();
        assert_eq!(list.to_string(), shown);
        assert_eq!(Addresses::parse(shown).unwrap(), list);
    }
    for text in ["", " ,", "-", "a", "127.0.0.1:80", "127.0.0.1,x", "--::1", "[::1]"] {
        let error = Addresses::parse(text).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("is not an address; allowed: IP addresses such as"), "{error}");
    }
}

#[test]
fn a_transaction_with_a_refused_request_is_not_executed() {
    let config = Config { port: 0, max_words: 5, ..Config::default() };
    let running = Server::start(config).unwrap();
    let mut raw = Raw::connect(running.address().unwrap());
    raw.call(&["MULTI"], "+OK\r\n");
    raw.call(&["BF.ADD", "f", "a"], "+QUEUED\r\n");
    let refused =
        "-ERR the request has 6 words, above the limit of 5 (max_words); send it in parts\r\n";
    raw.call(&["BF.MADD", "f", "a", "b", "c", "d"], refused);
    raw.call(&["EXEC"], "-EXECABORT Transaction discarded because of previous errors.\r\n");
    raw.call(&["EXISTS", "f"], ":0\r\n");
    raw.call(&["BF.MADD", "f", "a", "b", "c"], "*3\r\n:1\r\n:1\r\n:1\r\n");
    running.shut_down().unwrap();
}

#[test]
fn a_hundred_thousand_items_are_added_by_one_command() {
    let running = Server::start(Config { port: 0, ..Config::default() }).unwrap();
    let mut raw = Raw::connect(running.address().unwrap());
    let keys: Vec<String> = (0..300_000).map(|key| key.to_string()).collect();
    let mut words = vec!["BF.MADD", "f"];
    words.extend(keys.iter().map(String::as_str));
    raw.call(&["BF.RESERVE", "f", "0.0000001", "300000"], "+OK\r\n");
    raw.call(&words, &format!("*300000\r\n{}", ":1\r\n".repeat(300_000)));
    words[0] = "BF.MEXISTS";
    raw.call(&words, &format!("*300000\r\n{}", ":1\r\n".repeat(300_000)));
    raw.call(&["BF.CARD", "f"], ":300000\r\n");
    running.shut_down().unwrap();
}
