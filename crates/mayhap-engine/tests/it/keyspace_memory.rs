//! The memory that `max_memory` counts in addition to bits: names and a constant per filter.

use mayhap::SecretKey;
use mayhap_engine::Work;
use mayhap_engine::durable::Replay;
use mayhap_engine::keyspace::{
    ChangeError, CreateError, Entry, Hash, Keyspace, Options, Pages, Recovery, Shape, Spec,
    overhead_bytes,
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
        assert!(filters * (1_152 + 4 * name_bytes as u64) <= max_memory);
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

/// The page faults of this thread so far.
#[cfg(target_os = "linux")]
fn page_faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    // The tenth field; the second one, a name in parentheses, may have spaces.
    stat.rsplit(')').next().unwrap().split_whitespace().nth(7).unwrap().parse().unwrap()
}

/// Keys that are the first of their pages take no page faults: in a loop thread, all other clients
/// would wait for them.
#[cfg(target_os = "linux")]
#[test]
fn a_created_filter_has_its_pages_before_its_keys_come() {
    let (capacity, target_fpp) = (12_000_000, 1e-4);
    let items = capacity;
    let shapes = [
        Spec::growing(capacity, target_fpp, 2).shape,
        Spec::fixed(capacity, target_fpp).shape,
        Shape::Counting { capacity: capacity / 4, target_fpp },
        Shape::Window { items, time_ms: 0, target_fpp, refresh: true },
        Shape::Clearing { capacity, target_fpp, at: 0.5 },
        Shape::Compact { capacity, target_fpp, expansion: 0 },
    ];
    let keyspace = Keyspace::new(Options::new(KEY));
    for (number, shape) in shapes.into_iter().enumerate() {
        let spec = Spec { shape, hash: Hash::Keyed };
        let insert = |entry: &Entry, keys: std::ops::Range<u64>| {
            let mut turn = Work::default();
            entry.insert(b"the first one makes room for the turn", &mut turn).unwrap();
            let before = page_faults();
            for key in keys {
                entry.insert(&key.to_le_bytes(), &mut turn).unwrap();
            }
            page_faults() - before
        };
        let name = [number as u8];
        let entry = keyspace.create(&name, spec, 1, None).unwrap();
        assert!(
            (16 << 20..=64 << 20).contains(&entry.num_bytes()),
            "{} {spec:?}",
            entry.num_bytes()
        );
        let faults = insert(&entry, 0..200);
        assert!(faults <= 2, "{faults} page faults: {spec:?}");
        assert_eq!(entry.items(), 201);
        keyspace.remove(&name, 1, None).unwrap();
        // On the way of an insertion nobody waits for more than the pages of its keys.
        let entry = keyspace.get_or_create(&name, (spec, Pages::WhenUsed), 1, None).unwrap();
        let faults = insert(&entry, 0..200);
        assert!(faults > 4, "{faults} page faults: {spec:?}");
        keyspace.remove(&name, 1, None).unwrap();
    }
}
