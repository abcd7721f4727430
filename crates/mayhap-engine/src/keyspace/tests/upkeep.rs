//! Maintenance, even if the log refuses.

use super::whole::open;
use crate::durable::tests::disk::{Failing, Fault, MemoryDisk};
use crate::keyspace::Upkeep;
use crate::keyspace::{Keyspace, Options, Spec};
use mayhap::SecretKey;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SPEC: Spec = Spec::growing(10, 0.1, 2);

/// The log refuses to remove an expired filter; those after the first thousand, and idle dumps of
/// theirs, are maintained all the same.
#[test]
fn a_log_that_refuses_does_not_stop_maintenance() {
    let disk = MemoryDisk::default();
    let (keyspace, log) = open(&disk);
    let keyspace = Arc::new(keyspace);
    for n in 0..2_500 {
        keyspace.create(format!("f{n}").as_bytes(), SPEC, 1, Some(&log)).unwrap();
    }
    keyspace.expire(b"f0", 2, 1, Some(&log)).unwrap();
    let last = keyspace.get(b"f2499", 1).unwrap();
    let before = keyspace.used_bytes();
    keyspace.dump(&last, 0, 1).unwrap();
    assert!(keyspace.used_bytes() > before);
    disk.state().failing = Some(Failing { fault: Fault::Full, from: 0, all: true });
    let upkeep = Upkeep::start(&keyspace, Some(log)).unwrap();
    let deadline = Instant::now() + Duration::from_secs(300);
    while keyspace.used_bytes() > before {
        assert!(Instant::now() < deadline, "the dump was not forgotten");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!((keyspace.len(), keyspace.expired()), (2_500, 0), "invisible, but still in memory");
    disk.state().failing = None;
    drop(upkeep);
}

#[test]
fn filters_that_end_at_one_moment_go_in_one_run() {
    let keyspace = Keyspace::new(Options::new(SecretKey::new([7; 16])));
    for n in 0..7_000 {
        let name = format!("f{n}");
        keyspace.create(name.as_bytes(), SPEC, 1, None).unwrap();
        keyspace.expire(name.as_bytes(), if n == 6_500 { 0 } else { 2 }, 1, None).unwrap();
    }
    Upkeep::sweep_expired(&keyspace, 0, None);
    assert_eq!((keyspace.len(), keyspace.expired()), (1, 6_999));
}
