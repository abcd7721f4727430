//! A whole server inside another program.

use crate::support::{Raw, request};
use mayhap_engine::OpenError;
use mayhap_server::{Config, Server, StartError};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

#[allow(dead_code, reason = "its `main` is not called")]
#[path = "../../examples/embed.rs"]
mod example;

#[test]
fn the_example_keeps_its_data_over_a_restart_and_sweeps_what_expired() {
    let folder = tempfile::tempdir().unwrap();
    example::embed(folder.path().into()).unwrap();
}

#[test]
fn a_server_that_is_dropped_gives_back_its_folder_and_its_port() {
    let folder = tempfile::tempdir().unwrap();
    let data = Some(folder.path().to_path_buf());
    let mut config = Config { data, port: 0, http_port: Some(0), ..Config::default() };
    let running = Server::start(config.clone()).unwrap();
    let (address, http) = (running.address().unwrap(), running.http_addresses()[0]);
    assert!(TcpStream::connect(address).is_ok() && TcpStream::connect(http).is_ok());
    assert!(
        matches!(Server::start(config.clone()), Err(StartError::Filters(OpenError::Data(_)))),
        "it is locked"
    );
    drop(running);
    config.port = address.port();
    let again = Server::start(config).unwrap();
    assert_eq!(again.address(), Some(address));
    again.shut_down().unwrap();
}

/// The dashboard's recorder stops reading filters before the folder is unlocked.
#[test]
fn a_server_with_many_filters_is_dropped_and_started_again_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = Some(folder.path().to_path_buf());
    let config = Config { data, port: 0, http_port: Some(0), ..Config::default() };
    let running = Server::start(config.clone()).unwrap();
    let mut client = Raw::connect(running.address().unwrap());
    for filter in 0..3_000 {
        client.send(request(&["BF.ADD", &format!("filter-{filter}"), "key"]));
    }
    client.send(request(&["SHUTDOWN"]));
    running.wait();
    running.shut_down().unwrap();
    for round in 0..30 {
        let running = Server::start(config.clone()).unwrap();
        assert_eq!(running.shared().keyspace.len(), 3_000);
        std::thread::sleep(Duration::from_micros(100 * round));
        drop(running);
    }
}

#[test]
fn a_start_that_fails_leaves_nothing_running() {
    let folder = tempfile::tempdir().unwrap();
    let data = Some(folder.path().to_path_buf());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let config = Config { data, port: 0, ..Config::default() };
    let of_http = Config { http_port: Some(port), ..config.clone() };
    let error = Server::start(of_http).unwrap_err();
    assert!(matches!(error, StartError::Http { address, .. } if address.port() == port));
    let of_loops = Config { port, ..config.clone() };
    let error = Server::start(of_loops).unwrap_err();
    assert!(matches!(error, StartError::Network(_)), "{error}");
    // The lock of the folder is free, so no thread of those servers has it.
    Server::start(config).unwrap().shut_down().unwrap();
}

#[test]
fn a_client_that_shuts_the_server_down_ends_the_wait_for_it() {
    use std::io::Write;
    let running = Server::start(Config { port: 0, ..Config::default() }).unwrap();
    assert!(!running.is_stopping());
    let mut client = TcpStream::connect(running.address().unwrap()).unwrap();
    client.write_all(b"SHUTDOWN NOSAVE\r\n").unwrap();
    running.wait();
    assert!(running.is_stopping());
    running.shut_down().unwrap();
}
