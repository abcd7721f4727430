//! `mayhap grow`: a filter of another size, rate, layout or kind, without its keys: from their
//! digests here, and in `doubled.rs` from a compact filter alone.

mod doubled;

use crate::args::{DigestArgs, LockArgs, SizeArgs, secret_key};
use crate::error::Error;
use crate::files::refuse_existing;
use crate::io::messages::{Reporter, counted, grouped, rate};
use crate::io::progress::Progress;
use crate::set::create::Create;
use crate::set::create::frozen::{self, Collected, Site};
use crate::set::kept::Kept;
use crate::set::session::{Rebuilt, Waiting};
use mayhap::native::{Header, Kind};
use mayhap::set::Repeats;
use mayhap::{Bitmap, DigestFunction, Layout};
use mayhap_lists::Stop;
use mayhap_sets::{KeySet, LayoutName, OwnSet};
use mayhap_units::number::{format_bytes, format_count};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

const LAYOUT: &str =
    "blocked, standard, scalable, fuse, ribbon; with -o also compact, counting [default: as it is]";
const ITEMS: &str = "Expected number of distinct keys: 10M, 1.5G [default: twice its keys]";
const FPP: &str = "False-positive probability at -n keys: 1e-6, 0.1% [default: as it is]";

/// Rebuild a filter at another size, rate or layout from its kept digests; double a compact one
#[derive(Debug, clap::Args)]
#[command(mut_arg("layout", |arg| arg.help(LAYOUT)))]
#[command(mut_arg("items", |arg| arg.help(ITEMS)))]
#[command(mut_arg("fpp", |arg| arg.help(FPP)))]
pub struct Args {
    /// The filter file, with its digests beside it
    #[arg(value_name = "FILTER")]
    pub(super) file: PathBuf,
    /// Write the new filter here, and leave the old one as it is
    #[arg(short = 'o', long, value_name = "FILTER")]
    pub(super) output: Option<PathBuf>,
    /// Replace the file of -o if it exists
    #[arg(long)]
    pub(super) force: bool,
    /// With -o: keep the digests beside the new filter too
    #[arg(long, requires = "output")]
    pub(super) keep_digests: bool,
    /// The filter's secret key, if it has one
    #[arg(long, value_name = "FILE")]
    pub(super) key_file: Option<PathBuf>,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) size: SizeArgs,
    #[command(flatten)]
    pub(super) lock: LockArgs,
}

/// The summary, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Grown {
    file: String,
    output: String,
    /// Distinct digests.
    distinct_items: u64,
    before: Numbers,
    after: Numbers,
    seconds: f64,
}

/// A filter before or after.
#[derive(Debug, Serialize)]
struct Numbers {
    layout: &'static str,
    /// `null` for a chain, which grows.
    expected_items: Option<u64>,
    target_fpp: f64,
    num_bytes: u64,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    if mayhap_store::read_header(&args.file).is_ok_and(|header| header.kind() == Kind::Compact) {
        return doubled::run(args, talk);
    }
    check_layout(args)?;
    let mut kept = args.keep_digests.then(|| Kept::for_new(&args.size, false)).transpose()?;
    if let Some(output) = &args.output {
        refuse_existing(output, args.force)?;
    }
    let stop = Stop::on_signals()?;
    let waiting = Waiting::new("grow", args.lock, talk, Some(&stop));
    let mut rebuilt = Rebuilt::open(&args.file, &waiting)?;
    let header = rebuilt.header().clone();
    let key = secret_key(args.key_file.as_deref())?;
    let function = header.digest_function(key).map_err(|source| {
        Error::Store(mayhap_store::Error::Format { path: args.file.clone(), source })
    })?;
    let mut progress = Progress::new(talk, None);
    let mut distinct_items = 0;
    rebuilt.for_each_digest(|digests| {
        distinct_items += digests.len() as u64;
        progress.tick_bytes(distinct_items * 8);
        stop.check().map_err(Into::into)
    })?;
    let job = Job { args, header: &header, function, distinct_items, stop: &stop };
    let mut set = job.build(&mut rebuilt, &mut progress)?;
    let seconds = progress.end().as_secs_f64();
    let (before, after) = (Numbers::of_header(&header), Numbers::of_set(&set));
    let output = args.output.as_ref().unwrap_or(&args.file);
    if args.output.is_some() {
        if let Some(kept) = &mut kept {
            rebuilt.for_each_digest(|digests| kept.extend(digests))?;
        }
        // The old filter is unchanged, and others may change it.
        drop(rebuilt);
        let digests = kept.map(Kept::into_digests);
        waiting.save_set(output, (&mut set, header.key_options()), digests, args.force)?;
    } else {
        rebuilt.replace(&mut set)?;
    }
    let (file, output) = (args.file.display().to_string(), output.display().to_string());
    let grown = Grown { file, output, distinct_items, before, after, seconds };
    talk.summary(args.json, &grown, |grown| (grown.text(), String::new()))
}

/// Refuses kinds that cannot be built from digests alone, or not where digests are kept.
fn check_layout(args: &Args) -> Result<(), Error> {
    let refused = match args.size.layout {
        Some(LayoutName::Window(_)) => {
            "a window needs the order of its keys, which their digests do not have"
        }
        Some(LayoutName::Matrix) => {
            "a matrix needs the set of each key, which their digests do not have"
        }
        Some(LayoutName::Counting) if args.output.is_none() => {
            "keys can be removed from a counting filter, but their digests would stay"
        }
        Some(LayoutName::Compact) if args.output.is_none() => {
            "keys can be removed from a compact filter, but their digests would stay"
        }
        Some(name) if name.is_frozen() => return frozen::check(&args.size),
        _ => return Ok(()),
    };
    Err(Error::usage(
        refused,
        "--layout blocked, standard, scalable, fuse or ribbon; or compact or counting in another \
         file, with -o",
    ))
}

/// A filter that is being rebuilt.
struct Job<'a> {
    args: &'a Args,
    header: &'a Header,
    function: DigestFunction,
    distinct_items: u64,
    stop: &'a Arc<Stop>,
}

impl Job<'_> {
    /// The new filter, with all digests.
    fn build(&self, rebuilt: &mut Rebuilt, progress: &mut Progress) -> Result<OwnSet, Error> {
        let size = self.size();
        if size.layout.is_some_and(LayoutName::is_frozen) {
            return self.build_frozen(&size, rebuilt, progress);
        }
        let mut set = Create::build_any(&size, size.items, &self.digest())?;
        self.check_room(&set)?;
        let (mut new, mut done) = (Bitmap::new(), self.distinct_items);
        rebuilt.for_each_digest(|digests| {
            set.insert_into(digests.into(), Repeats::Renew, &mut new)?;
            done += digests.len() as u64;
            progress.tick_bytes(done * 8);
            self.stop.check().map_err(Into::into)
        })?;
        Ok(set)
    }

    fn build_frozen(
        &self,
        size: &SizeArgs,
        rebuilt: &mut Rebuilt,
        progress: &mut Progress,
    ) -> Result<OwnSet, Error> {
        frozen::check(size)?;
        let output = self.args.output.as_ref().unwrap_or(&self.args.file);
        let site = Site::beside(output, self.stop);
        let mut all = Collected::new(size, self.function, &site);
        let mut done = self.distinct_items;
        rebuilt.for_each_digest(|digests| {
            all.extend(digests)?;
            done += digests.len() as u64;
            progress.tick_bytes(done * 8);
            self.stop.check().map_err(Into::into)
        })?;
        all.build(progress)
    }

    /// The given numbers, and for the others the numbers of the old filter.
    fn size(&self) -> SizeArgs {
        let mut size = self.args.size.clone();
        size.layout = size.layout.or_else(|| layout_of(self.header));
        let gives_rate = size.items.is_some() && size.mem.is_some();
        if size.fpp.is_none() && size.preset.is_none() && !gives_rate {
            size.fpp = Some(self.header.fields().target_fpp);
        }
        if !size.is_fixed() && !size.layout.is_some_and(LayoutName::is_frozen) {
            let made_for = self.header.fields().expected_items;
            size.items = Some(self.distinct_items.saturating_mul(2).max(made_for));
        }
        size
    }

    /// Arguments for the digest function of the old filter.
    fn digest(&self) -> DigestArgs {
        let is_public = !self.function.is_keyed();
        DigestArgs {
            seed: is_public.then(|| self.header.digest_parameter()),
            key_file: self.args.key_file.clone(),
            new_key_file: None,
        }
    }

    fn check_room(&self, set: &OwnSet) -> Result<(), Error> {
        match set.numbers(Repeats::Renew).capacity {
            Some(capacity) if capacity < self.distinct_items => {
                let (file, keys) =
                    (self.args.file.display(), counted(self.distinct_items, "distinct key"));
                let capacity = grouped(capacity);
                Err(Error::usage(
                    format!("{file} has {keys}, but the new filter would be for {capacity}"),
                    "choose a larger -n or --mem, or omit them for twice its keys",
                ))
            }
            _ => Ok(()),
        }
    }
}

/// The layout of a filter as `--layout` takes it.
fn layout_of(header: &Header) -> Option<LayoutName> {
    match (header.kind(), header.params().map(|params| params.layout())) {
        (Kind::Scalable, _) => Some(LayoutName::Scalable),
        (Kind::Fuse, _) => Some(LayoutName::Fuse),
        (Kind::Ribbon, _) => Some(LayoutName::Ribbon),
        (_, Ok(Layout::Blocked)) => Some(LayoutName::Blocked),
        (_, Ok(Layout::Standard)) => Some(LayoutName::Standard),
        _ => None,
    }
}

impl Numbers {
    fn of_header(header: &Header) -> Self {
        let (fields, params) = (header.fields(), header.params().ok());
        Self {
            layout: params.map_or(header.kind().name(), |params| params.layout().name()),
            expected_items: (header.kind() != Kind::Scalable).then_some(fields.expected_items),
            target_fpp: fields.target_fpp,
            num_bytes: params.map_or(header.body_bytes(), |params| params.num_bytes()),
        }
    }

    fn of_set(set: &OwnSet) -> Self {
        let numbers = set.numbers(Repeats::Renew);
        Self {
            layout: set.name(),
            expected_items: numbers.capacity,
            target_fpp: numbers.target_fpp,
            num_bytes: numbers.num_bytes,
        }
    }

    fn text(&self) -> String {
        let bytes = format_bytes(self.num_bytes);
        let room = match self.expected_items {
            Some(items) => format!(", n {}", format_count(items)),
            None => String::new(),
        };
        format!("{}{room}, p {}, {bytes}", self.layout, rate(self.target_fpp))
    }
}

impl Grown {
    fn text(&self) -> String {
        let keys = counted(self.distinct_items, "distinct key");
        let (before, after) = (self.before.text(), self.after.text());
        format!("{}: {keys}; was {before}; is {after} ({:.2} s)", self.output, self.seconds)
    }
}
