//! The numbers of a filter, as `info` prints them.

use crate::error::Error;
use crate::io::messages::{self, counted, grouped, print_findings, rate};
use mayhap_formats::KeyType;
use mayhap_sets::ByFormula;
use mayhap_sets::file::{ForeignFile, describe};
use mayhap_units::number::format_bytes;
use serde::Serialize;
use serde_json::{Map, Value};

/// All that is known, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Info {
    file: String,
    file_bytes: u64,
    kind: &'static str,
    /// `null` where the format was given.
    form: Option<&'static str>,
    #[serde(flatten)]
    numbers: ByFormula,
    key_type: &'static str,
    key_types: Vec<&'static str>,
    /// The facts that the bytes do not record.
    unknown: Option<&'static str>,
    checksums: &'static str,
    facts: Map<String, Value>,
}

/// Prints the known facts about a filter.
///
/// # Errors
///
/// The errors of the write.
pub(super) fn print(file: &ForeignFile, json: bool) -> Result<(), Error> {
    let numbers = file.numbers();
    let detected = file.detected();
    let facts = file.filter().facts();
    let info = Info {
        file: file.name().to_owned(),
        file_bytes: file.file_bytes(),
        kind: "foreign",
        form: detected.map(|detected| detected.form),
        numbers,
        key_type: file.key_type().name(),
        key_types: file.filter().key_types().iter().map(|known| known.name()).collect(),
        unknown: detected.map(|detected| detected.missing).filter(|missing| *missing != "nothing"),
        checksums: "none",
        facts: facts.into_iter().map(|fact| (fact.key.to_owned(), value(fact.value))).collect(),
    };
    print_findings(json, &info, |info| text(file, &info.numbers))
}

/// A fact as JSON: a number as one, if it is a plain one.
fn value(text: String) -> Value {
    let parsed = serde_json::from_str(&text).ok();
    parsed.filter(|value: &Value| value.is_number() || value.is_boolean()).unwrap_or(text.into())
}

fn text(file: &ForeignFile, numbers: &ByFormula) -> String {
    let size = format_bytes(file.file_bytes());
    let mut rows = vec![("file".to_owned(), format!("{} ({size})", file.name()))];
    let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
    row("format", file.detected().as_ref().map_or_else(|| numbers.format.to_owned(), describe));
    let (bytes, bits) = (format_bytes(numbers.num_bytes), grouped(numbers.num_bits));
    row("size", format!("{bytes} ({bits} bits, {} per key)", numbers.num_hashes));
    let made_for = numbers.expected_items.map(|items| counted(items, "key"));
    let target = numbers.target_fpp.map(|target| format!("a rate of {}", rate(target)));
    row(
        "made for",
        match (made_for, target) {
            (Some(items), Some(target)) => format!("{items} at {target}"),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => "unknown: the file does not say".into(),
        },
    );
    row("estimated", numbers.estimated());
    row("fill", format!("{:.2} %", numbers.fill_ratio * 100.0));
    row("rate now", rate(numbers.estimated_fpp));
    let types = file.filter().key_types().iter().map(|known| KeyType::name(*known));
    row("key types", types.collect::<Vec<_>>().join(", "));
    for fact in file.filter().facts() {
        // Already shown above.
        if !["expected_items", "capacity", "target_fpp"].contains(&fact.key) {
            row(&fact.key.replace('_', " "), fact.value);
        }
    }
    row("checksums", "none in this format".into());
    let caution = numbers.fpp_caution.map(str::to_owned);
    for problem in numbers.overfilled().into_iter().chain(caution) {
        row("warning", problem);
    }
    rows.iter().map(|(name, value)| messages::row(name, value)).collect()
}
