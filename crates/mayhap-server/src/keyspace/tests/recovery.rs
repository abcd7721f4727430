//! What comes back at start.

use crate::durable::{Answered, Replay, Saved};
use crate::keyspace::{Keyspace, Options, Recovery, Spec};
use mayhap::{Digest, SecretKey};

#[test]
fn filters_that_are_made_and_removed_again_and_again_are_sized_once() {
    let recovery = Recovery::new(Options::new(SecretKey::new([7; 16])));
    let spec = Spec::growing(10_000, 0.001, 2).encode();
    for id in 1..=1000 {
        recovery.create(id, b"scratch", &spec, 0).unwrap();
        recovery.insert(id, &[Digest::new(id)], Answered::New).unwrap();
        if id < 1000 {
            recovery.remove(id);
        }
    }
    assert_eq!(recovery.sizes.known(), 1);
    let keyspace = Keyspace::restored(recovery, 1001).unwrap();
    let entry = keyspace.get(b"scratch", 1).unwrap();
    assert_eq!((entry.id, keyspace.sizes.known()), (1000, 1));
}

fn listed(names: &[&str]) -> Recovery {
    let recovery = Recovery::new(Options::new(SecretKey::new([7; 16])));
    let spec = Spec::growing(10_000, 0.001, 2).encode();
    let filters: Vec<Saved> = (1..)
        .zip(names)
        .map(|(id, name)| Saved {
            id,
            name: name.as_bytes().into(),
            spec: spec.as_slice().into(),
            expires_at: 0,
        })
        .collect();
    recovery.create_all(&mut filters.iter()).unwrap();
    recovery
}

fn ids(recovery: Recovery, names: &[&str]) -> (Vec<Option<u64>>, Vec<u64>) {
    let keyspace = Keyspace::restored(recovery, 0).unwrap();
    let id = |name: &&str| keyspace.get(name.as_bytes(), 1).map(|entry| entry.id);
    (names.iter().map(id).collect(), keyspace.all().iter().map(|(_, it)| it.id).collect())
}

#[test]
fn the_log_changes_names_of_filters_that_the_manifest_lists() {
    let recovery = listed(&["a", "b", "c", "d"]);
    recovery.rename(1, b"b");
    recovery.create(9, b"c", &Spec::growing(10, 0.1, 2).encode(), 0).unwrap();
    recovery.remove(4);
    let names = ["a", "b", "c", "d"];
    assert_eq!(ids(recovery, &names), (vec![None, Some(1), Some(9), None], vec![1, 9]));
}

#[test]
fn of_filters_of_one_name_the_last_one_stays() {
    let found = (vec![Some(3), Some(2)], vec![2, 3]);
    assert_eq!(ids(listed(&["a", "b", "a"]), &["a", "b"]), found);
    let changed = listed(&["a", "b", "a"]);
    changed.rename(9, b"there is none of this id");
    assert_eq!(ids(changed, &["a", "b"]), found);
}
