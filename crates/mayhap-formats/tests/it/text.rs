//! The golden files of systems whose keys are bytes: texts, and rules of texts.

use crate::golden::{Key, ask};
use mayhap_formats::{Error, ForeignFilter, KeyType, Limits};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::Value;
use std::collections::BTreeSet;

/// The members in the order in which they were added, or the probes.
pub(crate) fn keys(json: &Value, which: &str) -> Vec<Vec<u8>> {
    let explicit = json[format!("{which}_explicit")].as_array().into_iter().flatten();
    let text = |key: &Value| key.get("text").unwrap_or(key).as_str().unwrap().as_bytes().to_vec();
    let rule = Key::of_rule(&json[format!("{which}_rule")]);
    explicit.map(text).chain(rule.iter().map(bytes)).collect()
}

/// The bytes of a key of these systems.
pub(crate) fn bytes(key: &Key) -> Vec<u8> {
    key.encode(KeyType::Bytes).unwrap()
}

/// The indices in a list.
pub(crate) fn indices(json: &Value) -> BTreeSet<usize> {
    json.as_array().unwrap().iter().map(|i| i.as_u64().unwrap() as usize).collect()
}

/// All members are found, and of the probes those that the list names.
pub(crate) fn ask_all(name: &str, json: &Value, list: &str, filter: &dyn ForeignFilter) {
    let found = indices(&json[list]);
    let members = keys(json, "members").into_iter().map(|key| (Key::Bytes(key), true));
    let probes = keys(json, "probes").into_iter().enumerate();
    let probes = probes.map(|(i, key)| (Key::Bytes(key), found.contains(&i)));
    ask(name, &members.chain(probes).collect::<Vec<_>>(), bytes, filter);
}

pub(crate) fn text(json: &Value, name: &str) -> String {
    json[name].as_str().unwrap_or_else(|| panic!("{name} is no text")).to_owned()
}

pub(crate) fn u64_of(json: &Value, name: &str) -> u64 {
    json[name].as_u64().unwrap_or_else(|| panic!("{name} is no number"))
}

pub(crate) fn f64_of(json: &Value, name: &str) -> f64 {
    json[name].as_f64().unwrap_or_else(|| text(json, name).parse().unwrap())
}

/// How the bytes of a format are opened.
pub(crate) type Open = fn(&[u8], &Limits) -> Result<Box<dyn ForeignFilter>, Error>;

/// A file that is cut off or damaged at any one place is refused, or is another filter that is
/// written as it was read. `may_be_shorter` of a format that has no length and no end.
pub(crate) fn damage(name: &str, file: &[u8], may_be_shorter: bool, open: Open) {
    let limits = Limits { max_bytes: 1 << 20, max_hashes: 300 };
    let same = |bytes: &[u8]| match open(bytes, &limits) {
        Ok(filter) => assert!(filter.encode() == bytes, "{name} was written otherwise"),
        Err(error) => assert!(!error.to_string().is_empty()),
    };
    same(file);
    for len in 0..file.len().min(2_000) {
        same(&file[..len]);
        assert!(may_be_shorter || open(&file[..len], &limits).is_err(), "{name} of {len} bytes");
    }
    let mut damaged = file.to_vec();
    for i in 0..file.len().min(2_000) {
        for change in [1, 0x10, 0x80, 0xFF] {
            damaged[i] ^= change;
            same(&damaged);
            damaged[i] ^= change;
        }
    }
}

/// So many cases, the same in every run.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(0x0F0F);
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// Any bytes.
pub(crate) fn noise() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xFF), any::<u8>()], 0..200),
    ]
}
