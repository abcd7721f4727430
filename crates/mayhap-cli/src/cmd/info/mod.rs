//! `mayhap info`: the design of a filter, and its present numbers.
//!
//! | file | contents |
//! |---|---|
//! | `foreign.rs` | the numbers of a foreign filter, as `info` prints them |
//! | `items.rs` | the keys that a filter was created for, has, and has room for |
//! | `key.rs` | how keys are cut and digested, as `info` prints it |
//! | `moves.rs` | whether a filter can move to a server |
//! | `server.rs` | `mayhap info` of a filter on a server |
//! | `table.rs` | several files, a line for each, or a block where a line would not fit |

mod foreign;
mod items;
mod key;
mod moves;
#[cfg(feature = "redis")]
mod server;
mod table;

#[cfg(feature = "redis")]
use crate::args::ReplicaArgs;
use crate::args::{OpenArgs, secret_key};
use crate::error::Error;
use crate::io::messages::{Reporter, counted, grouped, print_findings, print_stdout, rate, row};
use crate::io::terminal;
use crate::set::notes::say;
use crate::set::open;
#[cfg(feature = "redis")]
use crate::set::remote::Connection;
use items::{Estimated, made_for, room};
use key::Digesting;
use mayhap::native::{Header, Kind, PAGE_BYTES};
use mayhap::{Block, Estimate, FilterParams, Health, SecretKey, SegmentFields};
use mayhap_keys::KeyOptions;
#[cfg(feature = "redis")]
use mayhap_sets::server::ServerUrl;
use mayhap_sets::{
    Detail, Measurements, ReadFile, State, is_url, matrix_details, matrix_state, shown,
};
use mayhap_store::{KeptDigests, LogFound, Snapshot};
use mayhap_units::number::format_bytes;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Show the parameters and the current state of a filter
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The filter: a file, or redis://host:port/database/name; several files give a table
    #[arg(id = "file", value_name = "FILTER", required = true)]
    files: Vec<PathBuf>,
    /// Skip the checksums of the whole file
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
#[derive(Debug, Default, Serialize)]
struct Info {
    file: String,
    file_bytes: u64,
    kind: &'static str,
    layout: &'static str,
    num_bits: u64,
    num_hashes: u32,
    num_bytes: u64,
    bits_per_item: Option<f64>,
    expected_items: Option<u64>,
    target_fpp: f64,
    inserted_items: u64,
    distinct_items: Option<u64>,
    #[serde(flatten)]
    estimated: Estimated,
    fill_ratio: Option<f64>,
    estimated_fpp: Option<f64>,
    health: Option<&'static str>,
    headroom_items: Option<u64>,
    #[serde(flatten)]
    digesting: Digesting,
    /// The id of the file; `null` if it is no state.
    state_id: Option<String>,
    state_epoch: Option<u64>,
    /// The kind of file at the place of its log.
    log: &'static str,
    unsaved_log_bytes: u64,
    /// Bytes at the end of the log that are no record.
    torn_log_bytes: u64,
    checksums: &'static str,
    /// The kind of file at the place of its digests.
    digests: &'static str,
    /// The number of digests there; a digest that was added several times may count several times.
    kept_digests: Option<u64>,
    kept_digests_bytes: Option<u64>,
    /// Whether it can move to a server.
    can_move: bool,
    /// The fields that only this kind has.
    #[serde(flatten)]
    details: serde_json::Map<String, Value>,
    #[serde(skip)]
    detail_rows: Vec<(&'static str, String)>,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    if let [path] = &*args.files {
        return one(args, path, talk);
    }
    let (mut all, key, mut is_keyed) = (Vec::new(), args.open.secret_key()?, false);
    for path in &args.files {
        let is_other = is_url(path) || open::foreign(path, &args.open, talk)?.is_some();
        if is_other {
            return Err(Error::usage(
                format!("{} is not a file of mayhap's own kinds, which a table needs", shown(path)),
                "show it alone: mayhap info FILTER",
            ));
        }
        let header = mayhap_store::read_header(path)?;
        is_keyed |= header.is_keyed();
        all.push(Info::of_file(args, path, key.filter(|_| header.is_keyed()), talk)?);
    }
    if !is_keyed {
        secret_key::refuse(key, &args.files[0])?;
    }
    if args.json {
        return all.iter().try_for_each(|info| Reporter::json(info, true));
    }
    print_stdout(&table::table(&all, terminal::columns()))
}

/// Reports on one filter, wherever it is.
fn one(args: &Args, path: &Path, talk: Reporter) -> Result<(), Error> {
    #[cfg(feature = "redis")]
    if is_url(path) {
        let (url, replicas) = (ServerUrl::of(path)?, ReplicaArgs::default());
        let how = args.open.how()?;
        let connection = Connection::open(url, &args.open.server, replicas, talk)?;
        return server::print(&how, (&connection, args.json), talk);
    }
    if let Some(file) = open::foreign(path, &args.open, talk)? {
        return foreign::print(&file, args.json);
    }
    let info = Info::of_file(args, path, args.open.secret_key()?, talk)?;
    print_findings(args.json, &info, Info::text)
}

impl Info {
    /// All that is known of a file of mayhap's own.
    fn of_file(
        args: &Args,
        path: &Path,
        key: Option<SecretKey>,
        talk: Reporter,
    ) -> Result<Self, Error> {
        let name = path.display().to_string();
        let header =
            if args.fast { mayhap_store::read_header(path)? } else { mayhap_store::verify(path)? };
        secret_key::check(key, path, &header)?;
        // A keyed filter shows its numbers without the key, but no estimates from its bits.
        let known = key.is_some() || !header.is_keyed();
        let options = KeyOptions::from_header(&name, header.key_options())?;
        let mut info = Self::of_header(name, &header, &options);
        info.can_move = info.moves().0;
        info.look_at_log(&Snapshot::open(path)?);
        info.look_at_digests(path)?;
        info.checksums = if args.fast { "not checked" } else { "good" };
        let mut estimate = None;
        if known && header.kind() == Kind::Matrix {
            let matrix = mayhap_store::load_as(path, key)?.filter;
            info.look_into(&matrix_state(&matrix), matrix_details(&matrix));
        } else if let Ok(segment) = header.segment() {
            info.look_at_segment(&segment);
        } else if known {
            // Its missing part is reported, and nothing more can be.
            let opened = ReadFile::open(path, key, (true, false), &|note| say([note], talk))?;
            talk.notices();
            let ReadFile { set: filter, recovery, .. } = opened;
            info.torn_log_bytes = recovery.dropped_bytes;
            info.unsaved_log_bytes -= recovery.dropped_bytes.min(info.unsaved_log_bytes);
            if let Measurements::Own(state) = filter.measurements() {
                info.look_into(&state, filter.details());
                estimate = state.estimated_items.map(|(estimate, _)| estimate);
            }
            filter.check_unchanged()?;
        }
        if let Ok(params) = header.params() {
            info.look_at_room(&params, estimate);
        }
        Ok(info)
    }

    /// The numbers from the header alone.
    fn of_header(file: String, header: &Header, options: &KeyOptions) -> Self {
        let fields = header.fields();
        // A chain has the size of its first layer there.
        let expected_items = (header.kind() != Kind::Scalable).then_some(fields.expected_items);
        let keyed = header.digest_id() != 1;
        let params = header.params().ok();
        let memory = header.segment_blocks().iter().sum::<u64>() * Block::BYTES as u64;
        let (num_bits, bits_per_item) = match (header.kind(), fields.expected_items as f64) {
            // Their m is the counters, or the rows of each set.
            (Kind::Counting, items) => (memory * 8, (memory * 8) as f64 / items),
            // For a segment, the size is the part's, and bits per key are the filter's.
            (Kind::Matrix | Kind::Segment, items) => (memory * 8, fields.num_bits as f64 / items),
            (_, items) => (fields.num_bits, fields.num_bits as f64 / items),
        };
        Self {
            file,
            file_bytes: header.file_bytes(),
            kind: header.kind().name(),
            layout: params.as_ref().map_or(header.kind().name(), |params| params.layout().name()),
            num_bits,
            num_hashes: fields.num_hashes,
            num_bytes: params.map_or(memory, |params| params.num_bytes()),
            bits_per_item: expected_items.map(|_| bits_per_item),
            expected_items,
            target_fpp: fields.target_fpp,
            inserted_items: fields.inserted_items,
            digesting: Digesting::of(keyed, header.digest_parameter(), options),
            log: "none",
            checksums: "not checked",
            digests: "none",
            ..Self::default()
        }
    }

    /// Adds the length of the file, the id of the state, and the condition of its log.
    fn look_at_log(&mut self, snapshot: &Snapshot) {
        self.file_bytes = snapshot.image().file_bytes();
        let identity = snapshot.header().identity();
        let identity = identity.map(|it| (format!("{:032x}", it.id), it.epoch));
        (self.state_id, self.state_epoch) = identity.unzip();
        self.log = match snapshot.log() {
            LogFound::Records { bytes: unsaved } => {
                self.unsaved_log_bytes = unsaved;
                "there"
            }
            LogFound::Stale => "in the file",
            LogFound::Foreign { .. } => "of another filter",
            LogFound::Missing { .. } => "missing",
            LogFound::Newer { .. } => "by a newer file",
            _ => "none",
        };
    }

    /// Adds the condition of the digests of its keys.
    fn look_at_digests(&mut self, path: &Path) -> Result<(), Error> {
        let kept = KeptDigests::open(path).and_then(|kept| {
            kept.as_ref().map_or(Ok(()), KeptDigests::check)?;
            Ok(kept)
        });
        let kept = match kept {
            Err(
                mayhap_store::Error::DigestsDamaged { .. } | mayhap_store::Error::Format { .. },
            ) => {
                self.digests = "damaged";
                return Ok(());
            }
            kept => kept?,
        };
        let Some(kept) = kept else { return Ok(()) };
        let is_whole = kept.covers(Snapshot::open(path)?.image())?;
        self.digests = if is_whole { "there" } else { "of another filter" };
        (self.kept_digests, self.kept_digests_bytes) = (Some(kept.digests()), Some(kept.bytes()));
        Ok(())
    }

    /// Adds the estimates from the bits.
    fn look_into(&mut self, state: &State, details: Vec<Detail>) {
        self.inserted_items = state.items;
        self.distinct_items = state.distinct_items;
        self.num_bytes = state.num_bytes;
        self.fill_ratio = Some(state.fill_ratio);
        self.estimated_fpp = Some(state.estimated_fpp);
        self.health = Some(state.health.name());
        self.estimated = Estimated::of(state);
        for detail in details {
            self.details.insert(detail.key.into(), detail.value);
            if !detail.label.is_empty() {
                self.detail_rows.push((detail.label, detail.text));
            }
        }
    }

    /// Adds the numbers from the header of a segment.
    fn look_at_segment(&mut self, segment: &SegmentFields) {
        let (pages, digests) = (&segment.pages, segment.digests());
        let [first, last] =
            [digests.start(), digests.end()].map(|digest| format!("{:016x}", digest.get()));
        self.details.insert("first_page".into(), pages.start.into());
        self.details.insert("num_pages".into(), (pages.end - pages.start).into());
        self.details.insert("first_digest".into(), first.clone().into());
        self.details.insert("last_digest".into(), last.clone().into());
        let of = segment.params.num_bytes().div_ceil(PAGE_BYTES as u64);
        let text = format!("pages {} to {} of {of}", pages.start, pages.end - 1);
        self.detail_rows.push(("segment", text));
        self.detail_rows.push(("digests", format!("{first} to {last}")));
        let bits = self.num_bytes as f64 * 8.0;
        self.fill_ratio = Some(segment.ones as f64 / bits);
    }

    /// Adds the number of distinct keys that a plain filter has room for.
    fn look_at_room(&mut self, params: &FilterParams, estimate: Option<Estimate>) {
        let expected = params.expected_items();
        let health = match &estimate {
            Some(estimate) => Health::of_filter(params, self.inserted_items, estimate),
            None => Health::of_inserted(params, self.inserted_items),
        };
        self.health = Some(health.name());
        let by_count = params.distinct_items(self.inserted_items);
        // Where all bits are set there is no number.
        let known = estimate.is_none_or(|estimate| estimate.items.is_finite());
        let items = self.distinct_items.unwrap_or(if known { by_count } else { u64::MAX });
        self.headroom_items = Some(expected.saturating_sub(items));
    }

    /// Whether it can move to a server, and in words.
    fn moves(&self) -> (bool, String) {
        let is_plain = self.kind == Kind::Bloom.name();
        moves::of(if is_plain { self.layout } else { self.kind }, self.num_bytes)
    }

    /// The number of keys that were mistaken for repeats, in words.
    fn swallowed(&self) -> Option<String> {
        let distinct = self.distinct_items?;
        let swallowed = distinct.checked_sub(self.inserted_items).filter(|&keys| keys > 0)?;
        let (distinct, swallowed) = (grouped(distinct), grouped(swallowed));
        Some(format!("about {distinct} keys, of which {swallowed} were taken for repeats"))
    }

    fn text(&self) -> String {
        let mut rows = vec![("file", format!("{} ({})", self.file, format_bytes(self.file_bytes)))];
        rows.push(match self.kind {
            "bloom" => ("layout", format!("{}, k = {}", self.layout, self.num_hashes)),
            kind => ("kind", kind.into()),
        });
        let (bytes, bits) = (format_bytes(self.num_bytes), grouped(self.num_bits));
        rows.push(("size", format!("{bytes} ({bits} bits)")));
        let made_for = made_for(self.expected_items, self.bits_per_item, self.target_fpp);
        rows.push(("made for", made_for));
        let is_segment = self.kind == Kind::Segment.name();
        if !is_segment {
            rows.push(("inserted", counted(self.inserted_items, "key")));
        }
        rows.extend(self.swallowed().map(|text| ("came", text)));
        if self.kind == "bloom" {
            // Without the key nothing of its bits is known.
            let known = self.fill_ratio.map(|_| self.estimated.text());
            rows.push(("estimated", known.unwrap_or_else(needs_key)));
        }
        rows.extend(self.detail_rows.clone());
        let fill = |fill: f64| format!("{:.2} %", fill * 100.0);
        rows.push(("fill", self.fill_ratio.map_or_else(needs_key, fill)));
        if !is_segment {
            rows.push(("rate now", self.estimated_fpp.map_or_else(needs_key, rate)));
            let health = self.health.map_or_else(needs_key, Into::into);
            rows.push(("health", health + &room(self.headroom_items)));
        }
        rows.extend(self.digesting.rows());
        rows.push(("moves", self.moves().1));
        rows.push(("checksums", self.checksums.into()));
        if self.unsaved_log_bytes + self.torn_log_bytes > 0 {
            let bytes = format_bytes(self.unsaved_log_bytes);
            let torn = match self.torn_log_bytes {
                0 => String::new(),
                torn => format!("; {} after that are torn", format_bytes(torn)),
            };
            rows.push(("log", format!("{bytes} newer than the file, counted above{torn}")));
        } else if self.log == "missing" {
            rows.push(("log", "missing: what was recorded in it is not counted".into()));
        }
        if let (Some(digests), Some(bytes)) = (self.kept_digests, self.kept_digests_bytes) {
            let kept = format!("{} kept in {}", grouped(digests), format_bytes(bytes));
            let is_whole = self.digests == "there";
            let text = if is_whole { kept } else { format!("{kept}, but of another filter") };
            rows.push(("digests", text));
        } else if self.digests == "damaged" {
            rows.push(("digests", "damaged".into()));
        }
        rows.iter().map(|(name, value)| row(name, value)).collect()
    }
}

fn needs_key() -> String {
    "unknown without --key-file".into()
}
