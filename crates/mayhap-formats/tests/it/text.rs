//! The golden files of systems whose keys are bytes: texts, and rules of texts.

use crate::golden::{Key, ask};
use mayhap_formats::{ForeignFilter, KeyType};
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

/// All members are found, and the probes that the list names.
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
