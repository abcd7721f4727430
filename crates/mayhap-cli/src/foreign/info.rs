//! The numbers of a filter, and what `info` prints of it.

use super::ForeignFile;
use super::file::describe;
use crate::error::Error;
use crate::number::format_bytes;
use crate::talk::{self, Talk, grouped, print_stdout, rate};
use mayhap_formats::KeyType;
use serde::Serialize;
use serde_json::{Map, Value};

/// Above this share of bits set a filter of the best k holds more keys than it was made for.
pub const FULL_FILL: f64 = 0.5;

/// The numbers of a filter, by its own system's formulas; `null` where these fail, or the file does
/// not say.
#[derive(Debug, Serialize)]
pub struct Numbers {
    format: &'static str,
    num_bits: u64,
    num_hashes: u32,
    filter_bytes: u64,
    expected_items: Option<u64>,
    target_fpp: Option<f64>,
    estimated_items: Option<u64>,
    fill_ratio: f64,
    fpp_now: f64,
}

impl Numbers {
    /// Looks at all bits.
    pub fn of(file: &ForeignFile) -> Self {
        let filter = file.filter();
        Self {
            format: filter.format().name(),
            num_bits: filter.num_bits(),
            num_hashes: filter.num_hashes(),
            filter_bytes: filter.num_bits().div_ceil(8),
            expected_items: file.expected_items(),
            target_fpp: file.target_fpp(),
            estimated_items: filter.estimated_items(),
            fill_ratio: file.fill_ratio(),
            fpp_now: filter.estimated_fpp(),
        }
    }

    /// What is wrong, if it holds too many keys: by its own numbers where it has some, else by the
    /// share of bits set.
    pub fn overfilled(&self) -> Option<String> {
        let now = rate(self.fpp_now);
        match (self.expected_items, self.target_fpp) {
            (Some(made_for), asked) => {
                let over = self.estimated_items.is_none_or(|items| items > made_for);
                let asked = asked.map_or(String::new(), |asked| format!(", asked {}", rate(asked)));
                let made_for = grouped(made_for);
                over.then(|| format!("it was made for {made_for} keys: the rate is {now}{asked}"))
            }
            (None, Some(asked)) => (self.fpp_now > asked).then(|| {
                format!("the rate is {now}, asked {}: it holds too many keys", rate(asked))
            }),
            (None, None) => (self.fill_ratio > FULL_FILL).then(|| {
                let fill = self.fill_ratio * 100.0;
                format!("{fill:.0} % of its bits are set, the rate is {now}: is it too small?")
            }),
        }
    }

    /// In two lines.
    pub fn text(&self) -> String {
        format!(
            "{} filter of {}: {}, fill {:.1} %\nrate now {}{}",
            self.format,
            format_bytes(self.filter_bytes),
            self.estimated(),
            self.fill_ratio * 100.0,
            rate(self.fpp_now),
            self.target_fpp.map_or(String::new(), |asked| format!(", asked {}", rate(asked))),
        )
    }

    fn estimated(&self) -> String {
        self.estimated_items
            .map_or("any number of keys".into(), |items| format!("about {} keys", grouped(items)))
    }
}

/// All that is known, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Info {
    file: String,
    file_bytes: u64,
    kind: &'static str,
    /// `null` where the format was given.
    form: Option<&'static str>,
    #[serde(flatten)]
    numbers: Numbers,
    key_type: &'static str,
    key_types: Vec<&'static str>,
    /// What the bytes do not say.
    unknown: Option<&'static str>,
    checksums: &'static str,
    facts: Map<String, Value>,
}

/// Prints what is known of a filter.
///
/// # Errors
///
/// Those of the write.
pub fn print(file: &ForeignFile, json: bool) -> Result<(), Error> {
    let numbers = Numbers::of(file);
    let told = file.told();
    let facts = file.filter().facts();
    if !json {
        return print_stdout(&text(file, &numbers));
    }
    let info = Info {
        file: file.name().to_owned(),
        file_bytes: file.file_bytes(),
        kind: "foreign",
        form: told.map(|told| told.form),
        numbers,
        key_type: file.key_type().name(),
        key_types: file.filter().key_types().iter().map(|known| known.name()).collect(),
        unknown: told.map(|told| told.missing).filter(|missing| *missing != "nothing"),
        checksums: "none",
        facts: facts.into_iter().map(|fact| (fact.key.to_owned(), value(fact.value))).collect(),
    };
    Talk::json(&info, true)
}

/// A fact as JSON: a number as one, if it is a plain one.
fn value(text: String) -> Value {
    let parsed = serde_json::from_str(&text).ok();
    parsed.filter(|value: &Value| value.is_number() || value.is_boolean()).unwrap_or(text.into())
}

fn text(file: &ForeignFile, numbers: &Numbers) -> String {
    let size = format_bytes(file.file_bytes());
    let mut rows = vec![("file".to_owned(), format!("{} ({size})", file.name()))];
    let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
    row("format", file.told().as_ref().map_or_else(|| numbers.format.to_owned(), describe));
    let (bytes, bits) = (format_bytes(numbers.filter_bytes), grouped(numbers.num_bits));
    row("size", format!("{bytes} ({bits} bits, {} per key)", numbers.num_hashes));
    let made_for = numbers.expected_items.map(|items| format!("{} keys", grouped(items)));
    let asked = numbers.target_fpp.map(|asked| format!("a rate of {}", rate(asked)));
    row(
        "made for",
        match (made_for, asked) {
            (Some(items), Some(asked)) => format!("{items} at {asked}"),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => "unknown: the file does not say".into(),
        },
    );
    row("estimated", numbers.estimated());
    row("fill", format!("{:.2} %", numbers.fill_ratio * 100.0));
    row("rate now", rate(numbers.fpp_now));
    let types = file.filter().key_types().iter().map(|known| KeyType::name(*known));
    row("key types", types.collect::<Vec<_>>().join(", "));
    for fact in file.filter().facts() {
        // Said above already.
        if !["expected_items", "capacity", "target_fpp"].contains(&fact.key) {
            row(&fact.key.replace('_', " "), fact.value);
        }
    }
    row("checksums", "none in this format".into());
    if let Some(problem) = numbers.overfilled() {
        row("warning", problem);
    }
    rows.iter().map(|(name, value)| talk::row(name, value)).collect()
}
