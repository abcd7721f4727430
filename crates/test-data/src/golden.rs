//! The golden files of one system, and which of them were read.

use mayhap::Bitmap;
use mayhap_formats::{Error, ForeignFilter, KeyType, Scheme};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The parent folder of the systems' folders.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../mayhap-formats/tests/golden")
}

/// A system's folder.
pub struct Golden {
    folder: PathBuf,
    used: RefCell<BTreeSet<String>>,
}

impl Golden {
    /// The folder of a system.
    pub fn of(system: &str) -> Self {
        Self { folder: root().join(system), used: RefCell::default() }
    }

    /// All names except that of the notes.
    pub fn names(&self) -> BTreeSet<String> {
        let entries = std::fs::read_dir(&self.folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "README.md").collect()
    }

    /// A file's bytes; counts as its use.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.used.borrow_mut().insert(name.to_owned());
        std::fs::read(self.folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A file as JSON; counts as its use.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.bytes(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The JSON files that describe one filter: the ones that name a file and its members.
    pub fn described(&self) -> Vec<(String, Value)> {
        let names = self.names();
        let names = names.iter().filter(|name| name.split('.').next_back() == Some("json"));
        names
            .filter_map(|name| {
                let text = std::fs::read(self.folder.join(name)).unwrap();
                let json: Value = serde_json::from_slice(&text).unwrap();
                json.get("members_explicit")?;
                self.used.borrow_mut().insert(name.clone());
                Some((name.clone(), json))
            })
            .collect()
    }

    /// Fails for files that no test has read.
    pub fn all_were_used(self) {
        let used = self.used.into_inner();
        let folder = Self { folder: self.folder, used: RefCell::default() };
        let unused: Vec<_> = folder.names().difference(&used).cloned().collect();
        assert!(unused.is_empty(), "no test uses {unused:?}");
    }
}

/// A key as the golden files write it.
#[derive(Debug, Clone)]
pub enum Key {
    /// The code units of a Java string.
    Utf16(Vec<u16>),
    /// Bytes as they are.
    Bytes(Vec<u8>),
    /// A number of 64 bits.
    Number(i64),
}

impl Key {
    /// The bytes to hash.
    ///
    /// # Errors
    ///
    /// [`Error`] of a key that the type has no bytes for.
    pub fn encode(&self, key_type: KeyType) -> Result<Vec<u8>, Error> {
        let mut scratch = Vec::new();
        match self {
            Self::Utf16(units) => key_type.encode_utf16(units, &mut scratch).map(<[u8]>::to_vec),
            Self::Bytes(bytes) => key_type.encode(bytes, &mut scratch).map(<[u8]>::to_vec),
            Self::Number(number) => {
                key_type.encode(number.to_string().as_bytes(), &mut scratch).map(<[u8]>::to_vec)
            }
        }
    }

    /// A row's key: an object, or plain text in the row.
    pub fn explicit(row: &Value) -> Self {
        if let Some(text) = row.get("text").or(row.get("key")).and_then(Value::as_str) {
            return Self::Utf16(text.encode_utf16().collect());
        }
        let json = &row["key"];
        if let Some(units) = json.get("utf16be") {
            let bytes = hex(units.as_str().unwrap());
            return Self::Utf16(
                bytes.as_chunks().0.iter().map(|&b| u16::from_be_bytes(b)).collect(),
            );
        }
        if let Some(bytes) = json.get("hex") {
            return Self::Bytes(hex(bytes.as_str().unwrap()));
        }
        Self::Number(number(&json["dec"]))
    }

    /// All keys of a rule.
    pub fn of_rule(rule: &Value) -> Vec<Self> {
        if rule.is_null() {
            return Vec::new();
        }
        let count = rule["count"].as_i64().unwrap();
        let start = || number(&rule["start"]);
        let step = || number(&rule["step"]);
        let text = |i| {
            let part = |name: &str| rule[name].as_str().unwrap_or_default().to_owned();
            format!("{}{}{}", part("prefix"), number(&rule["from"]) + i, part("suffix"))
        };
        (0..count)
            .map(|i| match rule["kind"].as_str().unwrap() {
                "decimal-string" | "string" => Self::Utf16(text(i).encode_utf16().collect()),
                "decimal-string-utf8-bytes" | "binary" => Self::Bytes(text(i).into_bytes()),
                "i64-wrapping" | "long" | "int" | "integer" => {
                    Self::Number(start().wrapping_add(step().wrapping_mul(i)))
                }
                "i32-wrapping" => {
                    Self::Number(i64::from((start().wrapping_add(step().wrapping_mul(i))) as i32))
                }
                other => panic!("a rule of kind {other}"),
            })
            .collect()
    }
}

/// The positions of a key.
pub fn positions(scheme: &impl Scheme, key: &[u8]) -> Vec<u64> {
    let mut positions = Vec::new();
    scheme.positions(key, |position| {
        positions.push(position);
        true
    });
    positions
}

/// A number that may be written as text.
pub fn number(json: &Value) -> i64 {
    json.as_i64().unwrap_or_else(|| json.as_str().unwrap().parse().unwrap())
}

/// A double that is written as text.
pub fn double(json: &Value) -> f64 {
    json.as_str().unwrap().parse().unwrap()
}

/// The bytes of hex digits.
pub fn hex(text: &str) -> Vec<u8> {
    let mut scratch = Vec::new();
    KeyType::Hex.encode(text.as_bytes(), &mut scratch).unwrap().to_vec()
}

/// The field names of a system's answers in its golden files.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// For an explicit member: whether it was new.
    pub inserted: &'static str,
    /// The members of the rule that were not new.
    pub not_new_at: &'static str,
    /// For an explicit probe: whether it was found.
    pub found: &'static str,
    /// The probes of the rule that were found.
    pub found_at: &'static str,
}

/// The names for Guava and Spark.
pub const PUT_AND_MIGHT_CONTAIN: Names = Names {
    inserted: "put_returned",
    not_new_at: "members_rule_put_returned_false_at",
    found: "might_contain",
    found_at: "probes_rule_might_contain_true_at",
};

/// The keys of `<which>_explicit` and `<which>_rule` with the system's answers: `answer` for the
/// explicit ones, and `unusual` for the keys of the rule whose indices `at` lists.
pub fn keys(json: &Value, which: &str, answer: &str, at: &str, unusual: bool) -> Vec<(Key, bool)> {
    let mut keys = Vec::new();
    for row in json[format!("{which}_explicit")].as_array().into_iter().flatten() {
        keys.push((Key::explicit(row), row[answer].as_bool().unwrap()));
    }
    let at: BTreeSet<u64> =
        json[at].as_array().into_iter().flatten().map(|i| i.as_u64().unwrap()).collect();
    for (i, key) in (0..).zip(Key::of_rule(&json[format!("{which}_rule")])) {
        keys.push((key, at.contains(&i) == unusual));
    }
    keys
}

/// Inserts all members into `empty` with the system's own answers, which must give `written`;
/// queries `written` for all members and probes; both one by one and as a batch.
pub fn replay(
    name: &str,
    json: &Value,
    names: Names,
    encode: impl Fn(&Key) -> Vec<u8>,
    empty: &mut dyn ForeignFilter,
    written: &dyn ForeignFilter,
) {
    let members = keys(json, "members", names.inserted, names.not_new_at, false);
    let probes = keys(json, "probes", names.found, names.found_at, true);
    assert!(!members.is_empty() || written.count_ones() == 0, "{name} has no members");
    for (key, new) in &members {
        assert_eq!(empty.insert(&encode(key)), Ok(*new), "{name}: insert of {key:?}");
    }
    let members = members.into_iter().map(|(key, _)| (key, true));
    ask(name, &members.chain(probes).collect::<Vec<_>>(), encode, written);
    assert_eq!(empty.count_ones(), written.count_ones(), "{name}: set bits");
    assert!(empty.encode() == written.encode(), "{name}: rebuilt otherwise");
}

/// Queries all keys, one by one and as a batch.
pub fn ask(
    name: &str,
    keys: &[(Key, bool)],
    encode: impl Fn(&Key) -> Vec<u8>,
    filter: &dyn ForeignFilter,
) {
    let bytes: Vec<Vec<u8>> = keys.iter().map(|(key, _)| encode(key)).collect();
    let mut found = Bitmap::new();
    filter.contains_batch(&bytes.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut found);
    for (i, (key, answer)) in keys.iter().enumerate() {
        assert_eq!(filter.contains(&bytes[i]), *answer, "{name}: {key:?}");
        assert_eq!(found.get(i), *answer, "{name}: {key:?} in a batch");
    }
}
