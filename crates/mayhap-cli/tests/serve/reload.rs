//! SIGHUP: the configuration file is read again.

use crate::server::{Server, until};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

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
    server.says("WARN after a restart: threads");
    let answer = format!("{:?}", client.call("PING"));
    assert!(answer.contains("NOAUTH"), "{answer}");
    client.ask("AUTH shop \"sixteen bytes and more\"");
    server.stop();
}

/// A folder as Kubernetes mounts a Secret: names are links into `..data`, which is itself a link.
struct Mounted(PathBuf);

impl Mounted {
    fn new(folder: &Path, names: &[&str]) -> Self {
        fs::create_dir(folder).unwrap();
        for name in names {
            symlink(Path::new("..data").join(name), folder.join(name)).unwrap();
        }
        Self(folder.into())
    }

    /// Replaces the previous files by these, at once.
    fn swap(&self, version: &str, files: &[(&str, Vec<u8>)]) {
        fs::create_dir(self.0.join(version)).unwrap();
        for (name, bytes) in files {
            fs::write(self.0.join(version).join(name), bytes).unwrap();
        }
        let link = self.0.join("..data_tmp");
        symlink(version, &link).unwrap();
        fs::rename(link, self.0.join("..data")).unwrap();
    }
}

fn tls(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mayhap-server/tests/data/tls");
    fs::read(folder.join(name)).unwrap()
}

#[test]
fn a_certificate_that_is_renewed_is_taken_without_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let mounted = Mounted::new(&folder.path().join("tls"), &["tls.crt", "tls.key"]);
    let pair = |cert: &str, key: &str| [("tls.crt", tls(cert)), ("tls.key", tls(key))];
    mounted.swap("..1", &pair("server.pem", "server.key"));
    let arguments = ["--tls-cert", "tls/tls.crt", "--tls-key", "tls/tls.key"];
    let server = Server::start(folder.path(), &arguments);
    let count = |text: &str| server.said().matches(text).count();
    mounted.swap("..2", &pair("renewed.pem", "server.key"));
    let refused = "WARN certificate not reloaded, the one before stays: ";
    until(|| (count(refused) == 1).then_some(()));
    mounted.swap("..3", &pair("renewed.pem", "renewed.key"));
    until(|| server.said().contains("INFO reloaded: certificate (tls/tls.crt)").then_some(()));
    // It is also reported on a signal, without anything new then.
    server.signal(Signal::HUP);
    until(|| server.said().contains("settings reloaded; changed: nothing").then_some(()));
    fs::remove_file(folder.path().join("tls/..data")).unwrap();
    until(|| (count(refused) == 2).then_some(()));
    let said = server.stop();
    assert_eq!(said.matches("reloaded: certificate").count(), 1, "{said}");
}

#[test]
fn users_that_change_in_their_files_are_taken_without_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let mounted = Mounted::new(&folder.path().join("etc"), &["mayhap.toml", "password"]);
    let settings = |more: &str| {
        format!("password_file = \"etc/password\"\ndefault_capacity = 300\n{more}").into_bytes()
    };
    let files = |more: &str, password: &str| {
        [("mayhap.toml", settings(more)), ("password", password.as_bytes().to_vec())]
    };
    mounted.swap("..1", &files("", "the first password"));
    let server = Server::start(folder.path(), &["--config", "etc/mayhap.toml"]);
    let mut before = server.connect();
    let mut login = |words: &[&[u8]]| {
        before.send(&crate::client::request(words)).unwrap();
        format!("{:?}", before.answer().unwrap())
    };
    assert!(login(&[b"AUTH", b"the first password"]).contains("OK"));
    assert!(login(&[b"CONFIG", b"SET", b"default-capacity", b"400"]).contains("OK"));
    let shop = "[[user]]\nname = \"shop\"\npassword = \"sixteen bytes and more\"\n\
        rights = [\"read\"]\n";
    mounted.swap("..2", &files(shop, "the first password"));
    until(|| (server.said().matches("INFO reloaded: users").count() == 1).then_some(()));
    // Unchanged users stay connected, and settings stay.
    let capacity = login(&[b"CONFIG", b"GET", b"default-capacity"]);
    assert!(capacity.contains(&format!("{:?}", b"400".to_vec())), "{capacity}");
    mounted.swap("..3", &files(shop, "the second password"));
    until(|| (server.said().matches("INFO reloaded: users").count() == 2).then_some(()));
    assert!(login(&[b"PING"]).contains("NOAUTH"));
    // A file without users would admit everybody; a broken one is an error.
    mounted.swap("..4", &[("mayhap.toml", b"".to_vec())]);
    let refused = "WARN users not reloaded, those before stay: ";
    until(|| server.said().contains(&format!("{refused}there are none any more")).then_some(()));
    mounted.swap("..5", &files("port = [\n", "the third password"));
    until(|| (server.said().matches(refused).count() == 2).then_some(()));
    let mut client = server.connect();
    assert!(format!("{:?}", client.ask("PING")).contains("NOAUTH"));
    client.send(&crate::client::request(&[b"AUTH", b"the second password"])).unwrap();
    assert_eq!(client.answer().unwrap(), crate::server::ok());
    server.stop();
}
