//! A container's limit of memory, where this process may set one: control groups of version 1 or 2,
//! as root. Elsewhere only the reader of their files is tested (`memory/cgroup/tests.rs`).

use crate::client::Answer;
use crate::server::{Server, ok};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// A control group of 256 MiB, removed at the end.
struct Group(PathBuf);

impl Group {
    fn make() -> Option<Self> {
        let name = format!("mayhap-test-{}", std::process::id());
        let places =
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        for (folder, limit) in places {
            let folder = Path::new(folder).join(&name);
            if fs::create_dir(&folder).is_ok() {
                let group = Self(folder);
                if fs::write(group.0.join(limit), "268435456").is_ok() {
                    return Some(group);
                }
            }
        }
        println!("no control group can be made here: nothing is tried");
        None
    }

    /// The command that runs a program inside of it.
    fn wrapper(&self) -> Vec<String> {
        let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.0.display());
        ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Empty a moment after its last process.
        for _ in 0..500 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn in_a_container_the_memory_is_that_of_the_container() {
    let Some(group) = Group::make() else { return };
    let folder = tempfile::tempdir().unwrap();
    let wrapper = group.wrapper();
    let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
    let server = Server::begin(folder.path(), &wrapper, &[], &[]).unwrap();
    let said = "max_memory: 192 MiB, three quarters of the container's 256 MiB; max_filter_bytes: \
                32.0 MiB, as a checkpoint copies a filter";
    server.says(said);
    let mut client = server.connect();
    let limit = Answer::Bulk(b"201326592".to_vec());
    assert_eq!(
        client.ask("CONFIG GET maxmemory"),
        Answer::List(vec![Answer::Bulk(b"maxmemory".to_vec()), limit])
    );
    let answer = format!("{:?}", client.ask("BF.RESERVE big 0.001 200000000 NONSCALING"));
    assert!(answer.contains("above the limit of 33554432 (max_filter_bytes)"), "{answer}");
    // The granted memory is usable, too: each page is touched, and each filter is copied.
    let mut filters = 0;
    while client.ask(&format!("BF.RESERVE f{filters} 0.01 25000000 NONSCALING")) == ok() {
        for round in 0..150 {
            let keys: Vec<String> = (0..500).map(|key| format!("{round}-{key}")).collect();
            client.ask(&format!("BF.MADD f{filters} {}", keys.join(" ")));
        }
        filters += 1;
    }
    assert_eq!(filters, 6);
    assert_eq!(client.ask("SAVE"), ok());
    // A lower limit for all filters does not contradict the limit for one.
    assert_eq!(client.ask("CONFIG SET max-memory 16MiB"), ok());
    server.stop();
    for (arguments, expected) in [
        (&["plan", "-n", "200M", "-p", "0.1%"][..], "main memory is 192 MiB"),
        (&["dedup", "-n", "200M", "-p", "0.1%", "/dev/null"], "above the limit of 192 MiB"),
        (&["build", "-n", "200M", "-p", "0.1%", "-o", "f", "/dev/null"], "limit of 192 MiB"),
        (&["bench", "-n", "200M", "-p", "0.1%"], "limit of 192 MiB"),
    ] {
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]).arg(env!("CARGO_BIN_EXE_mayhap")).args(arguments);
        let output = command.current_dir(folder.path()).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}
