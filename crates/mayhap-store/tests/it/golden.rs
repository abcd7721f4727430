//! States whose image and log were written from the specification by another program, and states of
//! 0.1: they must always open.

use crate::common::{Folder, load_live};
use mayhap::native::Native;
use mayhap::set::{Repeats, Set};
use mayhap::{
    AnyFilter, Bitmap, CountingBloomFilter, Digest, ScalableBloomFilter, SecretKey,
    WindowBloomFilter, native,
};
use mayhap_store::{Error, LiveFilter, LogFound, Snapshot, log_path, save};
use std::fs;
use std::path::{Path, PathBuf};

const ANSWERS: &str = include_str!("../../../mayhap/tests/golden/native/answers_v3.txt");

fn golden(name: &str) -> PathBuf {
    let native = concat!(env!("CARGO_MANIFEST_DIR"), "/../mayhap/tests/golden/native");
    PathBuf::from(native).join(name)
}

fn secret_key() -> SecretKey {
    SecretKey::new(std::array::from_fn(|i| i as u8))
}

/// The texts `absent-i` that are answered "maybe".
fn false_positives(filter: &AnyFilter) -> String {
    let found = (0..1000).filter(|i| filter.contains(&format!("absent-{i}")));
    let found: Vec<String> = found.map(|i| i.to_string()).collect();
    if found.is_empty() { "-".into() } else { found.join(",") }
}

#[test]
fn golden_states_answer_with_what_their_logs_add() {
    let mut with_records = 0;
    for line in ANSWERS.lines() {
        let [name, count, _, expected] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let path = golden(&format!("{name}.mayhap"));
        let snapshot = Snapshot::open(&path).unwrap();
        let (torn, records) = match name {
            "v3-state-log" => (0, 500),
            "v3-state-torn-log" => (100, 70),
            _ => (0, 0),
        };
        with_records += u32::from(matches!(snapshot.log(), LogFound::Records { bytes: 1.. }));
        let key = snapshot.header().is_keyed().then(secret_key);
        let (loaded, recovery) = snapshot.load::<AnyFilter>(key, |_| {}).unwrap();
        assert_eq!((recovery.dropped_bytes, recovery.replayed_digests), (torn, records), "{name}");
        let mut members = (0..count.parse().unwrap()).map(|i: u32| format!("member-{i}"));
        assert!(members.all(|key| loaded.filter.contains(&key)), "{name}: a key is missing");
        assert_eq!(false_positives(&loaded.filter), expected, "{name}");
    }
    assert_eq!(with_records, 2);
}

#[test]
fn a_golden_state_goes_on_in_another_state_when_its_epochs_are_used_up() {
    let folder = Folder::new();
    for name in ["v3-state-log.mayhap", "v3-state-log.mayhap.log"] {
        fs::copy(golden(name), folder.file(name)).unwrap();
    }
    let path = &folder.file("v3-state-log.mayhap");
    let (mut live, recovery) = LiveFilter::open(path, Some(secret_key())).unwrap();
    assert_eq!(recovery.replayed_digests, 500);
    live.checkpoint().unwrap();
    drop(live);
    assert_eq!(folder.names(), ["v3-state-log.mayhap"]);
    let (loaded, recovery) = load_live(path, Some(secret_key())).unwrap();
    let identity = loaded.header.identity().unwrap();
    assert_eq!((identity.epoch, identity.log_begun, recovery.replayed_digests), (1, false, 0));
    assert!((0..1400).all(|i| loaded.filter.contains(&format!("member-{i}"))));
}

fn state_of_0_1(kind: &str) -> (Folder, PathBuf) {
    let folder = Folder::new();
    for name in [format!("v0.1-{kind}"), format!("v0.1-{kind}.log")] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(&name);
        fs::copy(from, folder.file(&name)).unwrap();
    }
    let path = folder.file(&format!("v0.1-{kind}"));
    (folder, path)
}

/// Replays as 0.1 did, becomes a state of the present version, and a log that a crash leaves behind
/// at that moment is recognised as included in the new image.
fn check_state_of_0_1<F: Native + Set>(kind: &str, keys: impl IntoIterator<Item = u32>) {
    let (folder, path) = &state_of_0_1(kind);
    let (image, log) = (fs::read(path).unwrap(), fs::read(log_path(path).unwrap()).unwrap());
    let snapshot = Snapshot::open(path).unwrap();
    assert_eq!(snapshot.log(), LogFound::Records { bytes: log.len() as u64 - 64 });
    let (loaded, recovery) = snapshot.load::<F>(None, |_| {}).unwrap();
    let mut expected: F = snapshot.image().load(None, |_, _| {}).unwrap();
    let digest = |key| Set::digest_function(&expected).digest(&format!("key-{key}"));
    let digests: Vec<Digest> = keys.into_iter().map(digest).collect();
    expected.insert_into(&digests, Repeats::Renew, &mut Bitmap::new()).unwrap();
    let expected = native::encode(&expected, "");
    assert!(native::encode(&loaded.filter, "") == expected, "{kind}: read otherwise");
    assert_eq!(recovery.replayed_digests, digests.len() as u64);

    let (live, recovery) = LiveFilter::<F>::open_as(path, None, |_| {}).unwrap();
    assert!(native::encode(live.filter(), "") == expected, "{kind}: opened otherwise");
    assert_eq!(recovery.replayed_digests, digests.len() as u64);
    drop(live);
    assert_eq!((fs::read(path).unwrap(), folder.names().len()), (image, 2), "nothing is changed");

    let (mut live, _) = LiveFilter::<F>::open_as(path, None, |_| {}).unwrap();
    live.record(&[]).unwrap();
    live.checkpoint().unwrap();
    drop(live);
    assert_eq!(folder.names(), [format!("v0.1-{kind}")]);
    let identity = native::Header::decode(&fs::read(path).unwrap()).unwrap().identity().unwrap();
    assert_eq!((identity.id >> 64) as u64, u64::from_le_bytes(log[32..40].try_into().unwrap()));
    fs::write(log_path(path).unwrap(), &log).unwrap();
    let snapshot = Snapshot::open(path).unwrap();
    assert_eq!(snapshot.log(), LogFound::Stale);
    let loaded = snapshot.load::<F>(None, |_| {}).unwrap().0;
    assert!(native::encode(&loaded.filter, "") == expected, "{kind}: done again");
    // The next writer removes it.
    drop(LiveFilter::<F>::open_as(path, None, |_| {}).unwrap());
    assert_eq!(folder.names(), [format!("v0.1-{kind}")]);
}

#[test]
fn states_of_0_1_open_with_their_logs_and_become_states_of_today() {
    check_state_of_0_1::<AnyFilter>("plain", 50..92);
    check_state_of_0_1::<ScalableBloomFilter>("scalable", 50..92);
    check_state_of_0_1::<CountingBloomFilter>("counting", 50..92);
    check_state_of_0_1::<WindowBloomFilter>("window", (50..90).chain(0..10).chain(90..92));
}

/// After a small first guess, today's chains skip steps; the chains of 0.1 did not.
#[test]
fn a_chain_of_0_1_grows_on_as_those_of_today_and_unites_with_them() {
    let (_folder, path) = &state_of_0_1("scalable");
    let decode = |bytes: &[u8]| native::decode_as::<ScalableBloomFilter>(bytes, None).unwrap().0;
    let mut old = decode(&fs::read(path).unwrap());
    let sizes = |filter: &ScalableBloomFilter| -> Vec<u64> {
        filter.layers().map(|(params, _)| params.expected_items()).collect()
    };
    assert_eq!(sizes(&old), [16, 32, 64]);
    let function = *old.digest_function();
    let mut new = ScalableBloomFilter::new(16, old.target_fpp(), function).unwrap();
    let insert = |filter: &mut ScalableBloomFilter, from: u64| {
        (from..from + 100).for_each(|key| assert!(filter.insert(&key).unwrap()));
    };
    insert(&mut old, 0);
    insert(&mut new, 5_000);
    assert_eq!((sizes(&old), sizes(&new)), (vec![16, 32, 64, 2_048], vec![16, 2_048]));
    new.union_with(&old).unwrap();
    let copy = decode(&native::encode(&new, ""));
    assert!((0..100).chain(5_000..5_100).all(|key: u64| copy.contains(&key)));
    assert!((0..50).all(|i| copy.contains(&format!("key-{i}"))));
}

#[test]
fn a_log_of_0_1_is_of_no_file_of_today() {
    let (folder, path) = &state_of_0_1("plain");
    let log = log_path(path).unwrap();
    let (image, records) = (fs::read(path).unwrap(), fs::read(&log).unwrap());
    let (filter, _) = native::decode(&image, None).unwrap();
    save(path, &filter, "").unwrap();
    assert_eq!(folder.names(), ["v0.1-plain"], "it was the log of the replaced filter");
    fs::write(&log, &records).unwrap();
    let snapshot = Snapshot::open(path).unwrap();
    assert_eq!(snapshot.log(), LogFound::Foreign { id: None });
    let (loaded, recovery) = snapshot.load::<AnyFilter>(None, |_| {}).unwrap();
    assert!(!loaded.filter.contains("key-60") && recovery.replayed_digests == 0);
    assert!(matches!(LiveFilter::open(path, None), Err(Error::ForeignLog { .. })));
    save(path, &filter, "").unwrap();
    assert_eq!(fs::read(&log).unwrap(), records, "it is left alone");
}

#[test]
fn a_log_of_0_1_is_of_no_keys_of_another_meaning() {
    let (_folder, path) = &state_of_0_1("plain");
    let mut image = fs::read(path).unwrap();
    // Another seed, under a right checksum.
    image[16] = 5;
    let checksum = mayhap::DigestFunction::default().digest(&image[..4088]).get();
    image[4088..4096].copy_from_slice(&checksum.to_le_bytes());
    fs::write(path, image).unwrap();
    for error in [Snapshot::open(path).err(), LiveFilter::open(path, None).err()] {
        assert!(matches!(error, Some(Error::LogMismatch { .. })), "{error:?}");
    }
}
