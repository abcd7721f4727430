//! `mayhap info`: what a filter was made for, and what it is now.

use super::Outcome;
use crate::args::OpenArgs;
use crate::error::Error;
use crate::fill::State;
use crate::filter_file::ReadFilter;
use crate::foreign;
use crate::keys::{KeyOptions, escape};
use crate::kind::{self, Detail, matrix};
use crate::number::format_bytes;
#[cfg(feature = "redis")]
use crate::remote;
use crate::talk::{Talk, grouped, print_stdout, rate, row};
use mayhap::native::{Header, Kind};
use mayhap::{Block, Estimate, FilterParams, Health};
use serde::Serialize;
use serde_json::Value;
use std::num::NonZeroU32;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mayhap info seen.mayhap
  mayhap info --fast huge.mayhap       # without checking its checksums
  mayhap info --json seen.mayhap | jq .fpp_now
  mayhap info redis://127.0.0.1:6379/0/seen    # a filter on a server
  mayhap info ids.guava                # a filter of another system";

const NOTES: &str = "\
Of a filter on a server (see mayhap push --help) the bits are counted there. How many keys were \
inserted is not kept, and there are no checksums. It also says when it expires, and what the \
server keeps when it is killed.

A filter of another system is told by its bytes, or named with --format; a bare bitmap, as of \
magnuss-redis or redisson, needs --bits and --hashes too. Its numbers are those of its own \
formulas. What it is not known to be is named: few formats say how keys are encoded.";

/// Show what a filter was made for and what it is now
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
pub struct Args {
    /// The filter: a file, or redis://host:port/database/name
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Do not check the checksums of the whole file
    #[arg(long)]
    fast: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    open: OpenArgs,
}

/// All that is known, as `--json` prints it; `null` where the secret key is needed, and where the
/// kind has no such number.
#[derive(Debug, Serialize)]
struct Info {
    file: String,
    file_bytes: u64,
    kind: &'static str,
    layout: &'static str,
    num_bits: u64,
    num_hashes: u32,
    filter_bytes: u64,
    bits_per_item: Option<f64>,
    expected_items: Option<u64>,
    target_fpp: f64,
    inserted_items: u64,
    estimated_items: Option<f64>,
    estimated_items_low: Option<f64>,
    estimated_items_high: Option<f64>,
    fill_ratio: Option<f64>,
    fpp_now: Option<f64>,
    health: Option<&'static str>,
    headroom_items: Option<u64>,
    digest: &'static str,
    digest_seed: Option<u64>,
    digest_key_id: Option<String>,
    separator: &'static str,
    crlf: &'static str,
    key: Key,
    unsaved_log_bytes: u64,
    checksums: &'static str,
    /// What only this kind has.
    #[serde(flatten)]
    details: serde_json::Map<String, Value>,
    #[serde(skip)]
    detail_rows: Vec<(&'static str, String)>,
}

/// How keys are cut, beyond the ends of lines.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Key {
    delim: Option<String>,
    field: Option<u32>,
    json_pointer: Option<String>,
    trim: bool,
    lower: bool,
    hex: bool,
    normalize_url: bool,
    #[serde(skip)]
    pub(crate) words: String,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    #[cfg(feature = "redis")]
    if remote::is_url(&args.file) {
        let (key, server) = (args.open.secret_key()?, &args.open.server);
        remote::info::print(&args.file, key, (server, args.json), talk)?;
        return Ok(Outcome::Done);
    }
    if let Some(file) = args.open.opener(talk).open(&args.file)? {
        foreign::info::print(&file, args.json)?;
        return Ok(Outcome::Done);
    }
    let name = args.file.display().to_string();
    let header = if args.fast {
        mayhap_store::read_header(&args.file)?
    } else {
        mayhap_store::verify(&args.file)?
    };
    let key = args.open.secret_key()?;
    // A keyed filter tells its numbers without the key, but not what its bits say.
    let known = key.is_some() || header.digest_function(None).is_ok();
    let options = KeyOptions::from_header(&name, header.key_options())?;
    let log_bytes = mayhap_store::pending_log_bytes(&args.file)?;
    let mut info = Info::of_header(name, &header, &options);
    info.unsaved_log_bytes = log_bytes;
    info.checksums = if args.fast { "not checked" } else { "good" };
    let mut estimate = None;
    if known && header.kind() == Kind::Matrix {
        let matrix = kind::load_as(&args.file, key)?;
        info.look_into(&matrix::state(&matrix), None, matrix::details(&matrix));
    } else if known {
        let filter = ReadFilter::open(&args.file, key)?;
        estimate = filter.estimated_items();
        info.look_into(&filter.state(), estimate, filter.details());
    }
    if let Ok(params) = header.params() {
        info.look_at_room(&params, estimate);
    }
    if args.json {
        Talk::json(&info, true)?;
    } else {
        print_stdout(&info.text())?;
    }
    Ok(Outcome::Done)
}

impl Info {
    /// What the header alone tells.
    fn of_header(file: String, header: &Header, options: &KeyOptions) -> Self {
        let fields = header.fields();
        // A chain says there how its first layer was sized.
        let expected_items = (header.kind() != Kind::Scalable).then_some(fields.expected_items);
        let keyed = header.digest_id() != 1;
        let params = header.params().ok();
        let memory = header.segment_blocks().iter().sum::<u64>() * Block::BYTES as u64;
        let (num_bits, bits_per_item) = match (header.kind(), fields.expected_items as f64) {
            // Their m is the counters, or the rows of each set.
            (Kind::Counting, items) => (memory * 8, (memory * 8) as f64 / items),
            (Kind::Matrix, items) => (memory * 8, fields.num_bits as f64 / items),
            (_, items) => (fields.num_bits, fields.num_bits as f64 / items),
        };
        Self {
            file,
            file_bytes: header.file_bytes(),
            kind: header.kind().name(),
            layout: params.as_ref().map_or(header.kind().name(), |params| params.layout().name()),
            num_bits,
            num_hashes: fields.num_hashes,
            filter_bytes: params.map_or(memory, |params| params.num_bytes()),
            bits_per_item: expected_items.map(|_| bits_per_item),
            expected_items,
            target_fpp: fields.target_fpp,
            inserted_items: fields.inserted_items,
            estimated_items: None,
            estimated_items_low: None,
            estimated_items_high: None,
            fill_ratio: None,
            fpp_now: None,
            health: None,
            headroom_items: None,
            digest: if keyed { "sip13" } else { "xxh3" },
            digest_seed: (!keyed).then(|| header.digest_parameter()),
            digest_key_id: keyed.then(|| format!("{:016x}", header.digest_parameter())),
            separator: if options.nul { "nul" } else { "lf" },
            crlf: if options.strip_cr { "strip" } else { "keep" },
            key: Key::of(options),
            unsaved_log_bytes: 0,
            checksums: "not checked",
            details: serde_json::Map::new(),
            detail_rows: Vec::new(),
        }
    }

    /// What the bits tell.
    fn look_into(&mut self, state: &State, estimate: Option<Estimate>, details: Vec<Detail>) {
        let finite = |number: f64| number.is_finite().then_some(number);
        self.inserted_items = state.items;
        self.filter_bytes = state.filter_bytes;
        self.fill_ratio = Some(state.fill_ratio);
        self.fpp_now = Some(state.fpp_now);
        self.health = Some(state.health);
        if let Some(estimate) = estimate {
            self.estimated_items = finite(estimate.items);
            self.estimated_items_low = finite(estimate.low);
            self.estimated_items_high = finite(estimate.high);
        }
        for detail in details {
            self.details.insert(detail.key.into(), detail.value);
            if !detail.label.is_empty() {
                self.detail_rows.push((detail.label, detail.text));
            }
        }
    }

    /// How many keys a plain filter has room for.
    fn look_at_room(&mut self, params: &FilterParams, estimate: Option<Estimate>) {
        let expected = params.expected_items();
        let counted = self.inserted_items as f64;
        // Whichever is higher: a union or an overfilled filter holds more than was counted.
        let items = estimate.map_or(0.0, |estimate| estimate.items).max(counted);
        let counted = Health::of(counted, expected);
        let health = estimate.map_or(counted, |estimate| estimate.health(expected).max(counted));
        self.health = Some(health.name());
        self.headroom_items = Some(expected.saturating_sub(items.round() as u64));
    }

    /// How many keys the bits speak of, in words.
    fn estimated(&self) -> String {
        let whole = |items: f64| grouped(items.round() as u64);
        match (self.estimated_items, self.fill_ratio) {
            (Some(items), _) => {
                let low = self.estimated_items_low.unwrap_or(0.0);
                let high = self.estimated_items_high.map_or("any".into(), whole);
                format!("{} (99 %: {} to {high})", whole(items), whole(low))
            }
            (None, Some(_)) => match self.estimated_items_low {
                Some(low) => format!("at least {}: every bit is set", whole(low)),
                None => "any number: every bit is set".into(),
            },
            (None, None) => needs_key(),
        }
    }

    fn text(&self) -> String {
        let mut rows = vec![("file", format!("{} ({})", self.file, format_bytes(self.file_bytes)))];
        rows.push(match self.kind {
            "bloom" => ("layout", format!("{}, {} bits per key", self.layout, self.num_hashes)),
            kind => ("kind", kind.into()),
        });
        let (bytes, bits) = (format_bytes(self.filter_bytes), grouped(self.num_bits));
        rows.push(("size", format!("{bytes} ({bits} bits)")));
        let asked = rate(self.target_fpp);
        rows.push((
            "made for",
            match (self.expected_items, self.bits_per_item) {
                (Some(items), Some(bits)) => {
                    format!("{} keys at a rate of {asked} ({bits:.2} bits a key)", grouped(items))
                }
                _ => format!("any number of keys at a rate of {asked}"),
            },
        ));
        rows.push(("inserted", format!("{} keys", grouped(self.inserted_items))));
        if self.kind == "bloom" {
            rows.push(("estimated", self.estimated()));
        }
        rows.extend(self.detail_rows.clone());
        let fill = |fill: f64| format!("{:.2} %", fill * 100.0);
        rows.push(("fill", self.fill_ratio.map_or_else(needs_key, fill)));
        rows.push(("rate now", self.fpp_now.map_or_else(needs_key, rate)));
        let health = self.health.map_or_else(needs_key, Into::into);
        let room = match self.headroom_items {
            None => String::new(),
            Some(0) => ": no more keys without a higher rate".into(),
            Some(items) => format!(": room for {} more keys", grouped(items)),
        };
        rows.push(("health", health + &room));
        let digest = match (&self.digest_key_id, self.digest_seed) {
            (Some(id), _) => format!("sip13, secret key with id {id}"),
            (None, seed) => format!("xxh3, seed {}", seed.unwrap_or(0)),
        };
        rows.push(("digest", digest));
        rows.push(("key", self.key.words.clone()));
        rows.push(("checksums", self.checksums.into()));
        if self.unsaved_log_bytes > 0 {
            let bytes = format_bytes(self.unsaved_log_bytes);
            rows.push(("log", format!("{bytes} newer than the file, counted above")));
        }
        rows.iter().map(|(name, value)| row(name, value)).collect()
    }
}

impl Key {
    pub(crate) fn of(options: &KeyOptions) -> Self {
        Self {
            delim: options.field.map(|_| escape(&[options.delim()])),
            field: options.field.map(NonZeroU32::get),
            json_pointer: options.json_pointer.as_ref().map(|it| it.as_str().into()),
            trim: options.trim,
            lower: options.lower,
            hex: options.hex,
            normalize_url: options.normalize_url,
            words: options.describe(),
        }
    }
}

fn needs_key() -> String {
    "not known without --key-file".into()
}
