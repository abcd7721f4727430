//! The table of answers, checked in this process and through a socket.

use crate::command::Server;
use crate::conformance::{ask, check};
use crate::support::options;
use mayhap_server::net::Live;
use std::net::TcpStream;
use std::sync::Arc;

#[test]
fn replies_and_errors_are_those_of_redisbloom_in_both_versions_of_the_protocol() {
    for resp3 in [false, true] {
        let mut server = Server::new();
        let asked = check(resp3, |request| server.ask(request));
        println!("{asked} answers in RESP{}", if resp3 { 3 } else { 2 });
        assert!(asked >= 250);
    }
}

/// Through a socket, with the loop's own engine.
#[test]
fn a_socket_answers_as_a_call_does() {
    let engine = Arc::new(Live(Server::new().shared));
    let server = mayhap_server::net::Loops::start(options(), engine).unwrap();
    for resp3 in [false, true] {
        let mut socket = TcpStream::connect(server.address().unwrap()).unwrap();
        let asked = check(resp3, |request| ask(&mut socket, request));
        assert!(asked >= 250);
    }
    server.stop();
    server.join().unwrap();
}
