//! The memory that `max_memory` counts in addition to bits: names and a constant per filter.

use mayhap::SecretKey;
use mayhap_engine::durable::Replay;
use mayhap_engine::keyspace::{
    ChangeError, CreateError, Keyspace, Options, Recovery, Spec, overhead_bytes,
};

const KEY: SecretKey = SecretKey::new([7; 16]);

fn name(number: usize, bytes: usize) -> Vec<u8> {
    let mut name = format!("{number}:").into_bytes();
    name.resize(bytes, b'n');
    name
}

/// 60,000 bytes of name are 60,000 bytes of memory, and more while a checkpoint lists them.
#[test]
fn names_and_a_constant_for_each_filter_are_charged() {
    for name_bytes in [10, 1_000, 60_000] {
        let max_memory = 16 << 20;
        let options = Options { max_memory, max_name_bytes: 64 << 10, ..Options::new(KEY) };
        let keyspace = Keyspace::new(options);
        let create =
            |number| keyspace.create(&name(number, name_bytes), Spec::growing(10, 0.1, 2), 1, None);
        let refused = (0..).find_map(|number| create(number).err()).unwrap();
        assert!(matches!(refused, CreateError::TooLarge(_)), "{refused}");
        let filters = keyspace.len() as u64;
        assert!(filters * (2_048 + 4 * name_bytes as u64) <= max_memory);
        let one = overhead_bytes(name_bytes) + keyspace.all()[0].1.num_bytes();
        assert_eq!(keyspace.used_bytes(), filters * one);
        assert!((filters + 1) * one > max_memory);
        keyspace.clear(None).unwrap();
        assert_eq!(keyspace.used_bytes(), 0);
    }
}

#[test]
fn a_rename_charges_the_name_that_the_filter_has() {
    let options = Options { max_memory: 16 << 10, ..Options::new(KEY) };
    let keyspace = Keyspace::new(options);
    let entry = keyspace.create(b"a", Spec::growing(10, 0.1, 2), 1, None).unwrap();
    let bits = entry.num_bytes();
    for bytes in [500, 3, 1_000, 1_000, 1] {
        let from = keyspace.all()[0].0.clone();
        keyspace.rename(&from, &name(7, bytes.max(2))[..bytes], true, 1, None).unwrap();
        assert_eq!(keyspace.used_bytes(), bits + overhead_bytes(bytes));
    }
    let from = keyspace.all()[0].0.clone();
    let full = keyspace.create(b"b", Spec::growing(10, 0.1, 2), 1, None).map(drop);
    let used = keyspace.used_bytes();
    if full.is_ok() {
        let refused = keyspace.rename(&from, &name(8, 1_024), true, 1, None);
        assert!(
            matches!(refused, Err(ChangeError::TooLarge(_))) || keyspace.used_bytes() <= 16 << 10
        );
        assert!(keyspace.used_bytes() <= 16 << 10);
    }
    assert!(used <= 16 << 10);
}

/// Existing filters are restored, however many there are.
#[test]
fn filters_are_restored_even_if_the_limit_is_below_the_first_of_them() {
    let options = Options { max_memory: 1, ..Options::new(KEY) };
    let recovery = Recovery::new(options);
    let spec = Spec::growing(10, 0.1, 2);
    for id in 1..=5 {
        recovery.create(id, &name(id as usize, 5_000), &spec.encode(), 0).unwrap();
    }
    let keyspace = recovery.finish(6).unwrap();
    assert_eq!(keyspace.len(), 5);
    let one = keyspace.get(&name(1, 5_000), 1).unwrap().num_bytes() + overhead_bytes(5_000);
    assert_eq!(keyspace.used_bytes(), 5 * one);
    assert!(keyspace.create(b"new", spec, 1, None).is_err());
}
