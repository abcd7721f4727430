//! `mayhap dedup`: the first of equal lines, in order, in bounded memory.

use super::{Outcome, refuse_terminal, total_size};
use crate::args::{DEFAULT_FPP, DigestArgs, LineArgs, SizeArgs, secret_key};
use crate::error::Error;
use crate::input::Source;
use crate::keys::KeyOptions;
use crate::layout_name::LayoutName;
use crate::lines::LineReader;
use crate::memory;
use crate::number::{format_bytes, format_count};
use crate::output::{Output, for_each_run};
use crate::progress::Progress;
use crate::seen::{Inserter, Seen};
use crate::signals::Stop;
use crate::talk::{Talk, grouped, rate};
use mayhap::native::{Header, Kind};
use mayhap_store::LiveFilter;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  mayhap dedup urls.txt > unique.txt
  zcat logs/*.gz | mayhap dedup -n 100M -p 1e-6 > unique.txt
  crawl | mayhap dedup --state seen.mayhap -n 1G | fetch   goes on where it ended
  mayhap dedup -d mail.txt                                 the repeats instead";

const NOTES: &str = "\
A line is dropped if it was seen before, and by mistake with the probability -p once -n \
distinct lines are in; the expected number of lines lost is printed. Without -n a file is \
counted first (-n = its lines), and for a pipe memory grows. At -n distinct lines it stops \
(exit code 2): all before is printed. --overfill goes on, and loses more and more.

The key of a line is its bytes without the line feed, unless options say how to cut it. A last \
line without one gets one. A line without a key (too few fields, no JSON ...) is always printed, \
with -d never. \
Nothing is held back: when the input pauses, all lines so far are out.

--state keeps the filter in FILE, and what came since in FILE.log. A line is recorded once it \
is printed: after Ctrl-C or a full disk nothing is printed twice, after kill -9 at most the \
last chunk, and no line is ever lost.";

/// New lines after which the output is flushed and they are recorded.
const RECORD_LINES: usize = 4096;

/// Print the first of equal lines, order kept, in bounded memory
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// Input; - or none is standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print the repeats instead: every line but the first of equal ones
    #[arg(short = 'd', long)]
    repeated: bool,
    /// Write to FILE instead of standard output
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file of -o
    #[arg(long)]
    force: bool,
    /// Remember the lines in this filter file, from run to run
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Go on when the filter is full
    #[arg(long)]
    overfill: bool,
    /// Print the summary as JSON, on stderr
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    size: SizeArgs,
    #[command(flatten)]
    lines: LineArgs,
    #[command(flatten)]
    digest: DigestArgs,
}

/// What a run did, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Summary {
    lines_read: u64,
    bytes_read: u64,
    lines_kept: u64,
    lines_dropped: u64,
    lines_without_key: u64,
    expected_lost_lines: f64,
    expected_lost_lines_sigma: f64,
    seconds: f64,
    lines_per_second: f64,
    filter_bytes: u64,
    filter_kind: &'static str,
    items: u64,
    expected_items: Option<u64>,
    target_fpp: f64,
    fpp_now: f64,
    fill_ratio: f64,
    complete: bool,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let sources = Source::from_paths(&args.files);
    refuse_terminal("dedup", &sources)?;
    let total_bytes = total_size(&sources)?;
    let stop = Arc::new(Stop::on_signals().map_err(Error::io("set up", "signal handlers"))?);
    let (seen, options) = open(args, &sources, talk)?;
    let output = match &args.output {
        Some(path) => Output::create(path, args.force, &sources)?,
        None => Output::stdout(&sources)?,
    };
    let counted = args.state.is_none() && !args.size.is_fixed();
    let mut run = Run {
        args,
        talk,
        reader: LineReader::new(sources, &options, args.lines.max_line(), Some(stop)),
        inserter: Inserter::new(seen, args.overfill).without_warning(counted),
        output,
        progress: Progress::new(talk, total_bytes),
        lines: 0,
        kept: 0,
    };
    let result = run.pump();
    let seconds = run.progress.elapsed();
    run.progress.clear();
    // Where the output failed, lines that are in the filter may not be out: then the log, which
    // has only what is out, stays as it is.
    let output_failed = match &result {
        Err(error) => error.is_about_output(),
        Ok(()) => false,
    };
    if !output_failed {
        run.output.flush()?;
        run.inserter.record()?;
        run.inserter.checkpoint()?;
    }
    if !matches!(result, Err(Error::BrokenPipe)) {
        run.report(seconds, result.is_ok())?;
    }
    result.map(|()| Outcome::Done)
}

/// The set to remember lines in, and how keys are cut.
fn open(args: &Args, sources: &[Source], talk: Talk) -> Result<(Seen, KeyOptions), Error> {
    let options = args.lines.key_options();
    if let Some(path) = &args.state {
        return open_state(args, path, talk);
    }
    if args.size.is_fixed() {
        return Ok((Seen::Fixed(args.size.build(args.size.items, &args.digest)?), options));
    }
    let grows = args.size.layout == Some(LayoutName::Scalable);
    let mut lines = Some(0u64).filter(|_| !grows);
    for source in sources {
        // Counting stops at the first source that cannot be counted.
        let Some(before) = lines else { break };
        lines = source.count_lines(options.separator())?.map(|count| before + count);
    }
    if let Some(lines) = lines {
        match args.size.build(Some(lines.max(1)), &args.digest) {
            // Repeats may make it fit.
            Err(Error::TooMuchMemory { .. }) => {}
            Err(error) => return Err(error),
            Ok(filter) => {
                talk.say(&format!(
                    "sized for {} lines, as many as the input has: {}",
                    format_count(lines),
                    format_bytes(filter.params().num_bytes())
                ));
                return Ok((Seen::Fixed(filter), options));
            }
        }
    }
    if !matches!(args.size.layout, None | Some(LayoutName::Blocked | LayoutName::Scalable)) {
        return Err(Error::usage(
            "a filter that grows has the layout blocked",
            "give -n or --mem for another layout",
        ));
    }
    let fpp = args.size.fpp.unwrap_or(DEFAULT_FPP);
    Ok((Seen::growing(fpp, args.digest.function()?, args.size.max_bytes())?, options))
}

/// Opens the filter that `--state` names, or makes it.
fn open_state(args: &Args, path: &Path, talk: Talk) -> Result<(Seen, KeyOptions), Error> {
    let options = args.lines.key_options();
    let name = path.display();
    if !path.exists() {
        if !args.size.is_fixed() {
            return Err(Error::usage(
                format!(
                    "{name} does not exist yet, so -n has to say for how many lines to make it"
                ),
                format!("for example: mayhap dedup --state {name} -n 10M -p 1e-6"),
            ));
        }
        let filter = args.size.build(args.size.items, &args.digest)?;
        let live = LiveFilter::create(path, filter, &options.to_header())?;
        return Ok((Seen::Live(Box::new(live)), options));
    }
    let header = mayhap_store::read_header(path)?;
    if header.kind() != Kind::Bloom {
        return Err(Error::usage(
            format!(
                "{name} is a {} filter, and the state of dedup is a plain one",
                header.kind().name()
            ),
            "name another file; mayhap check -v tells new lines from those in any filter",
        ));
    }
    memory::check(header.params()?.num_bytes(), args.size.max_bytes())?;
    check_state_arguments(args, path, &header)?;
    let options = KeyOptions::from_header(&name.to_string(), header.key_options())?
        .agree(&name.to_string(), &options)?;
    let key = secret_key(args.digest.key_file.as_deref())?;
    let (live, recovery) = LiveFilter::open(path, key)?;
    if recovery.replayed_digests > 0 {
        talk.say(&format!(
            "{name}: recovered {} lines from the log of a run that did not end",
            format_count(recovery.replayed_digests)
        ));
    }
    Ok((Seen::Live(Box::new(live)), options))
}

/// Refuses numbers that contradict those in the file.
fn check_state_arguments(args: &Args, path: &Path, header: &Header) -> Result<(), Error> {
    let (params, name) = (header.params()?, path.display());
    let conflict = |flag: &str, given: String, has: String| {
        Err(Error::usage(
            format!("{flag} {given} is asked for, but {name} was made with {flag} {has}"),
            format!("leave {flag} out to go on with it, or name another file"),
        ))
    };
    match (args.size.items, params.expected_items()) {
        (Some(given), has) if given != has => {
            return conflict("-n", given.to_string(), has.to_string());
        }
        _ => {}
    }
    match (args.size.fpp, params.target_fpp()) {
        (Some(given), has) if given != has => {
            return conflict("-p", given.to_string(), has.to_string());
        }
        _ => {}
    }
    if let Some(given) = args.size.layout
        && given.layout() != Some(params.layout())
    {
        return conflict("--layout", given.name().into(), params.layout().to_string());
    }
    if let Some(given) = args.size.mem
        && given / 64 != params.num_bytes() / 64
    {
        return conflict("--mem", given.to_string(), params.num_bytes().to_string());
    }
    match (args.digest.seed, header.digest_id()) {
        (Some(given), 1) if given != header.digest_parameter() => {
            conflict("--seed", given.to_string(), header.digest_parameter().to_string())
        }
        (Some(given), 2) => conflict("--seed", given.to_string(), "a secret key".into()),
        _ if args.digest.new_key_file.is_some() => Err(Error::usage(
            format!("--new-key-file is given, but {name} exists already"),
            "a key is chosen when the filter is made; give that one with --key-file",
        )),
        _ => Ok(()),
    }
}

/// A run: everything that the loop works on.
struct Run<'a> {
    args: &'a Args,
    talk: Talk,
    reader: LineReader,
    inserter: Inserter,
    output: Output,
    progress: Progress,
    /// Lines dealt with.
    lines: u64,
    /// Those that were new, or have no key.
    kept: u64,
}

impl Run<'_> {
    /// Reads to the end: the hot loop.
    fn pump(&mut self) -> Result<(), Error> {
        let keep_new = !self.args.repeated;
        let Self { reader, inserter, output, progress, .. } = self;
        reader.digest_by(inserter.seen().digest_function());
        loop {
            let batch = reader.next_batch(|| {
                output.flush()?;
                inserter.record()
            })?;
            let Some(batch) = batch else { return Ok(()) };
            let mut from = 0;
            if batch.is_keyless() {
                from = batch.len();
                self.lines += from as u64;
                self.kept += from as u64;
                if keep_new {
                    output.write(batch.lines(0..from))?;
                }
            } else {
                inserter.digest(&batch);
            }
            while from < batch.len() {
                let (count, new) = inserter.insert(from)?;
                if count == 0 {
                    return Err(full(inserter, self.lines));
                }
                self.lines += count as u64;
                self.kept += new.count_ones() as u64;
                for_each_run(new.as_words(), count, keep_new, |run| {
                    output.write(batch.lines(from + run.start..from + run.end))
                })?;
                from += count;
                inserter.warn_if_near_full(self.talk, || progress.clear());
            }
            if inserter.unrecorded() >= RECORD_LINES {
                output.flush()?;
                inserter.record()?;
            }
            progress.tick(self.lines, reader.raw_bytes(), || inserter.load());
        }
    }

    fn summary(&mut self, seconds: Duration, complete: bool) -> Summary {
        let (lines, dropped) = (self.lines, self.lines - self.kept);
        let (lost, sigma) = self.inserter.loss().expected(dropped);
        let seen = self.inserter.seen();
        let seconds = seconds.as_secs_f64();
        Summary {
            lines_read: lines,
            bytes_read: self.reader.bytes(),
            lines_kept: self.kept,
            lines_dropped: dropped,
            lines_without_key: self.reader.keyless().lines(),
            expected_lost_lines: lost,
            expected_lost_lines_sigma: sigma,
            seconds,
            lines_per_second: lines as f64 / seconds.max(1e-9),
            filter_bytes: seen.num_bytes(),
            filter_kind: seen.kind(),
            items: seen.items(),
            expected_items: seen.expected_items(),
            target_fpp: seen.target_fpp(),
            fpp_now: seen.fpp_now(),
            fill_ratio: seen.fill_ratio(),
            complete,
        }
    }

    fn report(&mut self, seconds: Duration, complete: bool) -> Result<(), Error> {
        self.reader.keyless().warn(self.talk);
        if self.args.json {
            return Talk::json(&self.summary(seconds, complete), false);
        }
        if !self.talk.is_quiet() {
            let repeated = self.args.repeated;
            self.talk.say(&self.summary(seconds, complete).text(repeated));
        }
        Ok(())
    }
}

fn full(inserter: &Inserter, lines: u64) -> Error {
    Error::Full {
        expected_items: inserter.seen().expected_items().unwrap_or(0),
        lines,
        advice: "all lines up to there are out; start again with a larger -n, or go on and lose \
                 more lines with --overfill",
    }
}

impl Summary {
    fn text(&self, repeated: bool) -> String {
        let (kept, dropped) = (grouped(self.lines_kept), grouped(self.lines_dropped));
        let verdict = if repeated {
            let first = grouped(self.lines_kept - self.lines_without_key);
            format!("printed {dropped} repeats, left out {first} first ones")
        } else {
            format!("kept {kept}, dropped {dropped}")
        };
        let lost = match self.expected_lost_lines {
            lost if lost < 0.005 => "none expected".into(),
            lost if lost < 10.0 => format!("{lost:.2} ± {:.2}", self.expected_lost_lines_sigma),
            lost => format!("{lost:.0} ± {:.0}", self.expected_lost_lines_sigma),
        };
        let lost_what = if repeated { "not repeats" } else { "lost (new, but taken for repeats)" };
        let asked = match self.expected_items {
            Some(items) => {
                format!("asked {} with {} keys", rate(self.target_fpp), format_count(items))
            }
            None => format!("asked {}", rate(self.target_fpp)),
        };
        format!(
            "read {} lines ({}) in {:.2} s, {}/s\n{verdict}\n{lost_what}: {lost}\n\
             {} filter of {}, fill {:.1} %\nrate now {}, {asked}",
            grouped(self.lines_read),
            format_bytes(self.bytes_read),
            self.seconds,
            format_count(self.lines_per_second as u64),
            self.filter_kind,
            format_bytes(self.filter_bytes),
            self.fill_ratio * 100.0,
            rate(self.fpp_now),
        )
    }
}
