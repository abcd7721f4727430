//! `mayhap info`: what a filter was made for, and what it is now.

use super::Outcome;
use crate::args::secret_key;
use crate::error::Error;
use crate::fill::State;
use crate::filter_file::ReadFilter;
use crate::key_options::KeyOptions;
use crate::number::format_bytes;
use crate::talk::{Talk, grouped, print_stdout, rate};
use mayhap::native::Header;
use mayhap::{Estimate, FilterParams, Health};
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mayhap info seen.mayhap
  mayhap info --fast huge.mayhap       without checking its checksums
  mayhap info --json seen.mayhap | jq .fpp_now";

/// Show what a filter was made for and what it is now
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub struct Args {
    /// The filter file
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Do not check the checksums of the whole file
    #[arg(long)]
    fast: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The filter's secret key, if it has one
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

/// All that is known, as `--json` prints it; `null` where the secret key is needed.
#[derive(Debug, Serialize)]
struct Info {
    file: String,
    file_bytes: u64,
    layout: &'static str,
    num_bits: u64,
    num_hashes: u32,
    filter_bytes: u64,
    bits_per_item: f64,
    expected_items: u64,
    target_fpp: f64,
    inserted_items: u64,
    estimated_items: Option<f64>,
    estimated_items_low: Option<f64>,
    estimated_items_high: Option<f64>,
    fill_ratio: Option<f64>,
    fpp_now: Option<f64>,
    health: &'static str,
    headroom_items: u64,
    digest: &'static str,
    digest_seed: Option<u64>,
    digest_key_id: Option<String>,
    separator: &'static str,
    crlf: &'static str,
    unsaved_log_bytes: u64,
    checksums: &'static str,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args) -> Result<Outcome, Error> {
    let name = args.file.display().to_string();
    let header = if args.fast {
        mayhap_store::read_header(&args.file)?
    } else {
        mayhap_store::verify(&args.file)?
    };
    let key = secret_key(args.key_file.as_deref())?;
    // A keyed filter tells its numbers without the key, but not what its bits say.
    let filter = match header.digest_function(key) {
        Err(_) if key.is_none() => None,
        _ => Some(ReadFilter::open(&args.file, key)?),
    };
    let options = KeyOptions::from_header(&name, header.key_options())?;
    let log_bytes = mayhap_store::pending_log_bytes(&args.file)?;
    let params = header.params()?;
    let bits = filter.map(|filter| (filter.state(), filter.estimated_items()));
    let info = Info::new(name, &header, &params, options, bits.as_ref(), log_bytes, args.fast);
    if args.json {
        Talk::json(&info, true)?;
    } else {
        print_stdout(&info.text())?;
    }
    Ok(Outcome::Done)
}

impl Info {
    fn new(
        file: String,
        header: &Header,
        params: &FilterParams,
        options: KeyOptions,
        bits: Option<&(State, Estimate)>,
        unsaved_log_bytes: u64,
        fast: bool,
    ) -> Self {
        let (state, estimate) = (bits.map(|bits| &bits.0), bits.map(|bits| &bits.1));
        let inserted = state.map_or(header.inserted_items(), |state| state.items);
        // Whichever is higher: a union or an overfilled filter holds more than was counted.
        let items = estimate.map_or(0.0, |estimate| estimate.items).max(inserted as f64);
        let counted = Health::of(inserted as f64, params.expected_items());
        let health = match estimate {
            Some(estimate) => estimate.health(params.expected_items()).max(counted),
            None => counted,
        };
        let finite = |number: f64| number.is_finite().then_some(number);
        let keyed = header.digest_id() != 1;
        Self {
            file,
            file_bytes: header.file_bytes(),
            layout: params.layout().name(),
            num_bits: params.num_bits(),
            num_hashes: params.num_hashes(),
            filter_bytes: params.num_bytes(),
            bits_per_item: params.bits_per_item(),
            expected_items: params.expected_items(),
            target_fpp: params.target_fpp(),
            inserted_items: inserted,
            estimated_items: estimate.and_then(|estimate| finite(estimate.items)),
            estimated_items_low: estimate.and_then(|estimate| finite(estimate.low)),
            estimated_items_high: estimate.and_then(|estimate| finite(estimate.high)),
            fill_ratio: state.map(|state| state.fill_ratio),
            fpp_now: state.map(|state| state.fpp_now),
            health: health.name(),
            headroom_items: params.expected_items().saturating_sub(items.round() as u64),
            digest: if keyed { "sip13" } else { "xxh3" },
            digest_seed: (!keyed).then(|| header.digest_parameter()),
            digest_key_id: keyed.then(|| format!("{:016x}", header.digest_parameter())),
            separator: if options.nul { "nul" } else { "lf" },
            crlf: if options.strip_cr { "strip" } else { "keep" },
            unsaved_log_bytes,
            checksums: if fast { "not checked" } else { "good" },
        }
    }

    fn text(&self) -> String {
        let needs_key = || String::from("not known without --key-file");
        let whole = |items: f64| grouped(items.round() as u64);
        let estimated = match (self.estimated_items, self.fill_ratio) {
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
        };
        let now = self.fpp_now.map_or_else(needs_key, rate);
        let fill = self.fill_ratio.map_or_else(needs_key, |fill| format!("{:.2} %", fill * 100.0));
        let room = match self.headroom_items {
            0 => "no more keys without a higher rate".into(),
            items => format!("room for {} more keys", grouped(items)),
        };
        let digest = match (&self.digest_key_id, self.digest_seed) {
            (Some(id), _) => format!("sip13, secret key with id {id}"),
            (None, seed) => format!("xxh3, seed {}", seed.unwrap_or(0)),
        };
        let end = if self.separator == "nul" { "NUL" } else { "line feed" };
        let crlf = if self.crlf == "strip" { ", without \\r before it" } else { "" };
        let mut rows = vec![
            ("file", format!("{} ({})", self.file, format_bytes(self.file_bytes))),
            ("layout", format!("{}, {} bits per key", self.layout, self.num_hashes)),
            (
                "size",
                format!("{} ({} bits)", format_bytes(self.filter_bytes), grouped(self.num_bits)),
            ),
            (
                "made for",
                format!(
                    "{} keys at a rate of {} ({:.2} bits a key)",
                    grouped(self.expected_items),
                    rate(self.target_fpp),
                    self.bits_per_item
                ),
            ),
            ("inserted", format!("{} keys", grouped(self.inserted_items))),
            ("estimated", estimated),
            ("fill", fill),
            ("rate now", now),
            ("health", format!("{}: {room}", self.health)),
            ("digest", digest),
            ("key", format!("a line up to its {end}{crlf}")),
            ("checksums", self.checksums.into()),
        ];
        if self.unsaved_log_bytes > 0 {
            let bytes = format_bytes(self.unsaved_log_bytes);
            rows.push(("log", format!("{bytes} newer than the file, counted above")));
        }
        let mut text = String::new();
        for (name, value) in rows {
            text.extend([&format!("{name:<12}"), value.as_str(), "\n"]);
        }
        text
    }
}
