//! `mayhap remove`: keys out of a compact or counting filter.

#[cfg(feature = "redis")]
use crate::args::how_of;
use crate::args::{ForeignArgs, LineArgs, LockArgs, ServerArgs, secret_key};
use crate::error::Error;
use crate::io::messages::{Reporter, counted, grouped};
use crate::io::progress::Progress;
use crate::io::reader;
#[cfg(feature = "redis")]
use crate::set::open;
use crate::set::session::{Recording, Waiting, Writer};
use crate::set::with_cr::WithCr;
use mayhap::Bitmap;
use mayhap::native::Kind;
use mayhap_keys::KeyOptions;
use mayhap_lists::{LineReader, Pause, Reading, Stop};
use mayhap_sets::{KeySet, Keys, Measurements};
use mayhap_store::Operation;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Remove keys, one per line, from a compact or counting filter
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The filter: a file, or redis://host:port/name on mayhap serve
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Input files, or - for standard input, the default
    #[arg(value_name = "INPUT")]
    files: Vec<PathBuf>,
    /// Print the summary as JSON, on stdout
    #[arg(long)]
    json: bool,
    /// The filter's secret key, if it has one
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Continue without a missing log: what was recorded in it is lost
    #[arg(long)]
    without_log: bool,
    #[command(flatten)]
    foreign: ForeignArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    lines: LineArgs,
    #[command(flatten)]
    lock: LockArgs,
}

/// The removed keys, as `--json` prints them.
#[derive(Debug, Serialize)]
struct Summary {
    file: String,
    lines_read: u64,
    removed: u64,
    not_there: u64,
    /// Lines whose key stays in the filter.
    staying: u64,
    lines_without_key: u64,
    lines_with_crlf: u64,
    seconds: f64,
    complete: bool,
    #[serde(flatten)]
    measured: Measurements,
}

/// The counts of the lines.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    /// Lines dealt with.
    lines: u64,
    /// The lines whose key was removed.
    removed: u64,
    /// The lines whose key is present and stays.
    staying: u64,
}

impl Summary {
    fn new(
        file: String,
        counts: Counts,
        reader: &LineReader,
        (seconds, complete): (f64, bool),
        measured: Measurements,
    ) -> Self {
        let Counts { lines, removed, staying } = counts;
        let lines_without_key = reader.keyless().lines();
        Self {
            file,
            lines_read: lines,
            removed,
            not_there: lines - removed - staying - lines_without_key,
            staying,
            lines_without_key,
            lines_with_crlf: reader.cr_lines(),
            seconds,
            complete,
            measured,
        }
    }

    fn print(&self, talk: Reporter, json: bool) -> Result<(), Error> {
        if self.staying > 0 {
            let (keys, stay) = match self.staying {
                1 => ("key is", "stays"),
                _ => ("keys are", "stay"),
            };
            let place = match &self.measured {
                Measurements::Own(state) if state.layout == Kind::Compact.name() => {
                    "stored 15 times or more"
                }
                _ => "in saturated counters",
            };
            talk.warn(&format!("{} {keys} {place} and {stay}", grouped(self.staying)));
        }
        talk.summary(json, self, |Self { file, seconds, .. }| {
            let (removed, not_there) = (grouped(self.removed), grouped(self.not_there));
            let lines = counted(self.lines_read, "line");
            let line = format!(
                "{file}: {removed} removed, {not_there} not present ({lines}, {seconds:.2} s)"
            );
            (line, self.measured.text())
        })
    }
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    let (sources, total_bytes) = reader::input(&args.files)?;
    let Target { name, mut set, mut writer, options, stop } =
        target(args, total_bytes.is_none(), talk)?;
    let on_server = writer.is_none();
    let reading = Reading { gathers: on_server, ..args.lines.reading() };
    let mut reader = reader::open(sources, &options, reading, Some(stop), talk)?;
    let mut progress = Progress::new(talk, total_bytes);
    let mut counts = Counts::default();
    let with_cr = WithCr::of(&options).filter(|_| !on_server);
    let result = remove_all(
        &mut reader,
        (&name, &mut *set, writer.as_mut()),
        &mut counts,
        (with_cr, &mut progress),
    );
    let seconds = progress.end().as_secs_f64();
    let lines = (reader.keyless().lines(), counts.lines);
    let outcome = "the keys of the others were removed";
    let usable = reader::usable(&reader, lines, (talk, args.lines.skip_bad), outcome);
    if let Some(writer) = writer {
        writer.finish(&mut *set)?;
    } else if counts.lines > 0 && !result.as_ref().is_err_and(Error::is_of_server) {
        set.refresh()?;
    }
    if !on_server || counts.lines > 0 || result.is_ok() {
        let end = (seconds, result.is_ok());
        let summary = Summary::new(name, counts, &reader, end, set.measurements());
        summary.print(talk, args.json)?;
    }
    result.and(usable)
}

/// The filter from which keys are removed.
struct Target {
    name: String,
    set: Box<dyn KeySet>,
    /// Records the removals; a server does so itself.
    writer: Option<Writer>,
    options: KeyOptions,
    stop: Arc<Stop>,
}

fn target(args: &Args, streams: bool, talk: Reporter) -> Result<Target, Error> {
    let key = secret_key(args.key_file.as_deref())?;
    #[cfg(feature = "redis")]
    let how = how_of(args.foreign.known(key), &args.server)?;
    #[cfg(feature = "redis")]
    if let Some((set, options)) = open::on_server(&args.file, &how, talk)? {
        let (name, writer) = (set.url().to_owned(), None);
        let options = options.unwrap_or_else(|| args.lines.key_options());
        return Ok(Target { name, set, writer, options, stop: Stop::on_signals()? });
    }
    let name = args.file.display().to_string();
    let header = mayhap_store::read_header(&args.file)?;
    if !header.kind().capabilities().removes {
        return Err(cannot_remove(&name, header.kind()));
    }
    let options = KeyOptions::from_header(&name, header.key_options())?
        .agree(&name, &args.lines.key_options())?;
    let stop = Stop::on_signals()?;
    let recording = if streams { Recording::Streams } else { Recording::WhenOthersWait };
    let waiting = Waiting::new("remove", args.lock, talk, Some(&stop));
    let how = (recording, args.without_log);
    let (set, writer) = Writer::open(&args.file, key, how, &waiting, talk)?;
    if !set.capabilities().removes {
        return Err(cannot_remove(&name, Kind::Bloom));
    }
    Ok(Target { name, set: Box::new(set), writer: Some(writer), options, stop })
}

/// The keys that were not removed: they are surely absent, or stay.
fn left_of<T: Copy>(keys: &[T], gone: &Bitmap) -> Vec<T> {
    keys.iter().enumerate().filter(|(i, _)| !gone.get(*i)).map(|(_, &key)| key).collect()
}

/// Removes every line that has a key; `counts` is right even where an error ends it. A server
/// answers which of them were present.
fn remove_all(
    reader: &mut LineReader,
    (name, set, mut writer): (&str, &mut dyn KeySet, Option<&mut Writer>),
    counts: &mut Counts,
    (mut with_cr, progress): (Option<WithCr>, &mut Progress),
) -> Result<(), Error> {
    let function = set.digest_function().filter(|_| writer.is_some());
    if let Some(function) = function {
        reader.digest_by(function);
    }
    let (mut digests, mut gone) = (Vec::new(), Bitmap::new());
    loop {
        let raw_bytes = reader.raw_bytes();
        let batch = reader.next_batch_in_pauses(|paused| {
            let Some(writer) = &mut writer else { return Ok(Pause::Wait) };
            let due = writer.due_in_pause(paused);
            writer.settle(set, due).map(|()| due.pause())
        })?;
        let Some(batch) = batch else { return Ok(()) };
        if let Some(writer) = writer.as_mut().filter(|writer| !writer.is_ready()) {
            writer.ready(set)?;
        }
        if !set.capabilities().removes {
            return Err(Error::usage(
                format!("{name}: does not support removing keys"),
                "use a compact filter: mayhap create --layout compact, in a file or on mayhap \
                 serve; or let the filter expire: mayhap ttl URL 7d",
            ));
        }
        let mut texts: Vec<&[u8]> = Vec::new();
        match &function {
            // Leaves none for lines without a key.
            Some(function) => batch.digest_into(function, &mut digests),
            None => texts.extend(batch.keys()),
        }
        let keys = |digests, texts| if function.is_some() { digests } else { texts };
        set.remove_into(keys(digests[..].into(), texts[..].into()), &mut gone)?;
        counts.lines += batch.len() as u64;
        counts.removed += gone.count_ones() as u64;
        let (digests_left, texts_left) = (left_of(&digests, &gone), left_of(&texts, &gone));
        if let Some(writer) = &mut writer {
            writer.note(Operation::Remove, 0, gone.iter_ones().map(|i| digests[i]));
        }
        if let (Some(with_cr), Some(writer), Some(function)) =
            (&mut with_cr, &mut writer, &function)
        {
            with_cr.set(&batch);
            let lines: Vec<usize> = with_cr.lines().to_vec();
            let others = lines.iter().zip(with_cr.digests(function));
            let others: Vec<_> =
                others.filter(|(line, _)| !gone.get(**line)).map(|(_, d)| *d).collect();
            set.remove_into(others[..].into(), &mut gone)?;
            writer.note(Operation::Remove, 0, gone.iter_ones().map(|i| others[i]));
            counts.removed += gone.count_ones() as u64;
        }
        let left: Keys<'_> = keys(digests_left[..].into(), texts_left[..].into());
        if !left.is_empty() {
            set.contains_into(left, &mut gone)?;
            counts.staying += gone.count_ones() as u64;
        }
        if let Some(writer) = &mut writer {
            let due = writer.due();
            writer.settle(set, due)?;
        }
        progress.tick(counts.lines, raw_bytes, String::new);
    }
}

fn cannot_remove(file: &str, kind: Kind) -> Error {
    Error::usage(
        format!("{file} is a {} filter: keys cannot be removed from it", kind.name()),
        "create a compact filter with mayhap create --layout compact, or rebuild this one",
    )
}
