//! Few open files: as many clients as promised are admitted, beside files, HTTP and a checkpoint.

use crate::client::Client;
use crate::server::{Server, get, ok, ready, until_alone};
use std::process::Command;

const FILES: usize = 100;

#[test]
fn as_many_clients_as_are_promised_come_in_beside_files_that_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let import = folder.path().join("data/import");
    std::fs::create_dir_all(&import).unwrap();
    let mut build = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    build.current_dir(folder.path()).args(["create", "f.mayhap", "-n", "1k", "-q"]);
    assert!(build.status().unwrap().success());
    for file in 0..FILES {
        let to = import.join(format!("i{file}.mayhap"));
        std::fs::copy(folder.path().join("f.mayhap"), to).unwrap();
    }
    let wrapper = |files: usize| format!("ulimit -n {files} && exec \"$@\"");
    let arguments = ["--http", "0", "--threads", "2"];
    // The files of `import/` leave nothing: before they are open it would have been enough.
    let few = wrapper(FILES + 75);
    let ended = Server::begin(folder.path(), &["sh", "-c", &few, "sh"], &arguments, &[]);
    let said = ended.err().unwrap().said;
    assert!(said.contains("mayhap: the limit of open files (ulimit -n) is 175"), "{said}");
    assert!(said.contains("hint: raise the limit of open files: ulimit -n"), "{said}");

    let some = wrapper(FILES + 160);
    let server = Server::begin(folder.path(), &["sh", "-c", &some, "sh"], &arguments, &[]).unwrap();
    let said = server.says("Redis clients: socket");
    let (_, rest) = said.split_once("the limit of open files allows ").unwrap();
    let promised: usize = rest.split(';').next().unwrap().parse().unwrap();
    assert!((10..100).contains(&promised), "{said}");
    let port = server.port("Redis clients: 127.0.0.1:");
    let http = server.port("http://127.0.0.1:");
    let mut first = Client::new(Server::connect_tcp(port));
    until_alone(&mut first);
    let mut clients = vec![first];
    clients.extend((1..promised).map(|_| Client::new(Server::connect_tcp(port))));
    for client in &mut clients {
        assert_eq!(format!("{:?}", client.ask("PING")), "Simple(\"PONG\")");
    }
    let answer = format!("{:?}", clients[0].ask("BF.EXISTS i99 a"));
    assert_eq!(answer, "Number(0)");
    clients[0].ask("BF.ADD f a");
    assert_eq!(clients[0].ask("SAVE"), ok());
    assert_eq!(ready(http), "200");
    assert!(get(http, "/healthz").starts_with("HTTP/1.1 200 "));
    // One more is refused by the server, and not by the system.
    let mut more = Client::new(Server::connect_tcp(port));
    assert!(format!("{:?}", more.answer()).contains("max number of clients reached"));
    server.stop();
}
