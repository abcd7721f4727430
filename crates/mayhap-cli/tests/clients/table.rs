//! The server crate's table of answers, checked against the real command.

use crate::conformance::{ask, check};
use crate::server::Server;
use std::net::TcpStream;

#[test]
fn the_command_answers_as_the_table_says_in_both_versions_of_the_protocol() {
    let server = Server::start(&["--max-filter-bytes", "256MiB"]);
    for resp3 in [false, true] {
        let mut socket = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        let asked = check(resp3, |request| ask(&mut socket, request));
        println!("{asked} answers in RESP{}", if resp3 { 3 } else { 2 });
        assert!(asked >= 520, "{asked}");
    }
}
