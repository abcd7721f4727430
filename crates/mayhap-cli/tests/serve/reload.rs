//! SIGHUP: the configuration file is read again.

use crate::server::{Server, until};
use rustix::process::Signal;
use std::fs;

const PLAIN: &str = "default_capacity = 200\n";

#[test]
fn sighup_takes_what_can_change_names_the_rest_and_keeps_all_when_the_file_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mayhap.toml");
    fs::write(&file, PLAIN).unwrap();
    let server = Server::start(folder.path(), &["--config", "mayhap.toml"]);
    let mut client = server.connect();
    let reload = |text: &str, says: &str| {
        fs::write(&file, text).unwrap();
        server.signal(Signal::HUP);
        until(|| server.said().contains(says).then_some(()));
    };
    reload(PLAIN, "settings reloaded; changed: nothing");
    reload("default_capacity = nonsense\n", "ERROR settings not reloaded: ");
    let capacity = |client: &mut crate::client::Client<_>, name: &str| {
        client.ask(&format!("BF.ADD {name} a"));
        format!("{:?}", client.ask(&format!("BF.INFO {name} CAPACITY")))
    };
    assert!(capacity(&mut client, "before").contains("200"));
    let more = "default_capacity = 300\nthreads = 7\n\
        [[user]]\nname = \"shop\"\npassword = \"sixteen bytes and more\"\nrights = [\"read\"]\n";
    reload(more, "settings reloaded; changed: default_capacity, user");
    assert!(server.said().contains("WARN after a restart: threads"), "{}", server.said());
    let answer = format!("{:?}", client.call("PING"));
    assert!(answer.contains("NOAUTH"), "{answer}");
    client.ask("AUTH shop \"sixteen bytes and more\"");
    server.stop();
}
