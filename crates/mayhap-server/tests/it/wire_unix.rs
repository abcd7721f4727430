//! A Unix socket.

use crate::support::{Running, options};
use mayhap_server::net::Loops;
use mayhap_server::net::{Listen, Options};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};

#[test]
fn a_socket_in_the_file_system_is_for_its_owner_and_goes_with_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.sock");
    // Left behind by a process that was killed.
    drop(UnixListener::bind(&path).unwrap());
    let options = || Options { listen: vec![Listen::Unix(path.clone())], ..options() };
    let running = Running::new(options());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut socket = UnixStream::connect(&path).unwrap();
    socket.write_all(b"PING\r\n").unwrap();
    let mut answer = [0; 7];
    socket.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"+PONG\r\n");
    assert_eq!(running.clients().list()[0].address, None);

    let error = Loops::start(options(), running.engine.clone()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot listen on {}: ", path.display())), "{error}");
    UnixStream::connect(&path).expect("the first server still listens");
    drop(running);
    assert!(!path.exists());

    std::fs::write(&path, "mine").unwrap();
    Loops::start(options(), crate::support::Echo::default().into()).unwrap_err();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}
