//! `mayhap check`: which lines may be in a filter.

use super::{Outcome, refuse_terminal, total_size};
use crate::args::{LineArgs, secret_key};
use crate::error::Error;
use crate::filter_file::ReadFilter;
use crate::input::Source;
use crate::keys::KeyOptions;
use crate::lines::{Batch, LineReader};
use crate::output::{Output, for_each_run};
use crate::progress::Progress;
use crate::talk::{Talk, print_stdout};
use mayhap::{Bitmap, Digest, DigestFunction};
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mayhap check seen.mayhap < urls.txt        the lines that may be in it
  mayhap check -v seen.mayhap urls.txt       the lines that are surely not
  echo hunter2 | mayhap check -q pw.mayhap && echo 'choose another one'
  mayhap check -f ads.mayhap -f spam.mayhap --tag < hosts.txt";

const NOTES: &str = "\
Exit codes, as those of grep: 0 if a line was printed (or would have been with -c or -q), 1 if \
none was, 2 after an error.

A line that is printed may be wrong with the rate of the filter (mayhap info); with -v no line \
is wrong that is printed. With several filters a line is printed if any of them may hold it, \
with -v if none does; with --tag once per filter. How keys are cut (-0, --field, --lower ...) \
is known from the file; a line without a key is surely not in it.";

/// Print the lines that may be in a filter
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, after_help = NOTES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// The filter (unless -f is given) and the input; - or none is standard input
    #[arg(value_name = "FILTER] [INPUT")]
    files: Vec<PathBuf>,
    /// A filter; may be given several times
    #[arg(short = 'f', long = "filter", value_name = "FILTER")]
    filters: Vec<PathBuf>,
    /// Print the lines that are surely not in it
    #[arg(short = 'v', long)]
    invert: bool,
    /// Print the number of lines only
    #[arg(short = 'c', long)]
    count: bool,
    /// Print the filter's name and a tab before each line
    #[arg(long)]
    tag: bool,
    /// Print a summary as JSON: on stderr, or with -c on stdout instead of the number
    #[arg(long)]
    json: bool,
    /// The filter's secret key, if it has one
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    #[command(flatten)]
    lines: LineArgs,
}

/// What was found, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Summary {
    lines_read: u64,
    lines_selected: u64,
    lines_without_key: u64,
    filters: Vec<Found>,
}

#[derive(Debug, Serialize)]
struct Found {
    file: String,
    maybe_present: u64,
    surely_absent: u64,
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, talk: Talk) -> Result<Outcome, Error> {
    let (filters, inputs) = match (args.filters.as_slice(), args.files.split_first()) {
        ([], None) => {
            return Err(Error::usage(
                "which filter? None is named",
                "for example: mayhap check seen.mayhap < urls.txt",
            ));
        }
        ([], Some((filter, inputs))) => (std::slice::from_ref(filter), inputs),
        (filters, _) => (filters, args.files.as_slice()),
    };
    let key = secret_key(args.key_file.as_deref())?;
    let mut asked = Vec::new();
    let mut options: Option<(String, KeyOptions)> = None;
    for path in filters {
        let name = path.display().to_string();
        let filter = ReadFilter::open(path, key)?;
        let own = KeyOptions::from_header(&name, filter.header().key_options())?
            .agree(&name, &args.lines.key_options())?;
        if let Some((first, theirs)) = options.replace((name.clone(), own.clone()))
            && !theirs.cuts_like(&own)
        {
            return Err(Error::usage(
                format!("{first} and {name} cut keys in different ways"),
                "ask them one at a time",
            ));
        }
        asked.push(Asked { name, filter, found: Bitmap::new(), maybe_present: 0 });
    }
    let sources = Source::from_paths(inputs);
    refuse_terminal("check", &sources)?;
    let mut progress = Progress::new(talk, total_size(&sources)?);
    let options = options.map_or_else(KeyOptions::default, |(_, options)| options);
    let output = Output::stdout(&sources)?;
    let mut reader = LineReader::new(sources, &options, args.lines.max_line(), None);
    let mut run = Run {
        args,
        prints_lines: !args.count && !talk.is_quiet(),
        quits_early: talk.is_quiet() && !args.json,
        asked,
        output,
        any: Vec::new(),
        digests: Vec::new(),
        selected: 0,
    };
    run.pump(&mut reader, &mut progress)?;
    progress.clear();
    run.output.flush()?;
    reader.keyless().warn(talk);
    run.report(&reader, talk)?;
    Ok(if run.selected > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// A filter that is asked.
struct Asked {
    name: String,
    filter: ReadFilter,
    found: Bitmap,
    maybe_present: u64,
}

struct Run<'a> {
    args: &'a Args,
    prints_lines: bool,
    quits_early: bool,
    asked: Vec<Asked>,
    output: Output,
    any: Vec<u64>,
    digests: Vec<Digest>,
    selected: u64,
}

impl Run<'_> {
    fn pump(&mut self, reader: &mut LineReader, progress: &mut Progress) -> Result<(), Error> {
        if let Some(asked) = self.asked.first() {
            reader.digest_by(asked.filter.digest_function());
        }
        let mut lines = 0;
        loop {
            let Some(batch) = reader.next_batch(|| self.output.flush())? else { return Ok(()) };
            self.ask(&batch);
            lines += batch.len() as u64;
            if self.quits_early && self.selected > 0 {
                return Ok(());
            }
            if self.prints_lines && self.args.tag {
                self.print_tagged(&batch)?;
            } else if self.prints_lines {
                let output = &mut self.output;
                for_each_run(&self.any, batch.len(), !self.args.invert, |run| {
                    output.write(batch.lines(run))
                })?;
            }
            progress.tick(lines, reader.raw_bytes(), String::new);
        }
    }

    /// Asks every filter, with one digest per line for those that share the function.
    fn ask(&mut self, batch: &Batch<'_>) {
        let mut function: Option<DigestFunction> = None;
        self.any.clear();
        self.any.resize(batch.len().div_ceil(64), 0);
        if batch.is_keyless() {
            self.selected += if self.args.invert { batch.len() as u64 } else { 0 };
            return;
        }
        for asked in &mut self.asked {
            let own = asked.filter.digest_function();
            if function.replace(own) != Some(own) {
                batch.digest_into(&own, &mut self.digests);
            }
            asked.filter.contains_digests_into(&self.digests, &mut asked.found);
            asked.maybe_present += asked.found.count_ones() as u64;
            self.any.iter_mut().zip(asked.found.as_words()).for_each(|(any, more)| *any |= more);
        }
        let ones =
            |words: &[u64]| words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        let lines = batch.len() as u64;
        self.selected += if !self.args.invert {
            ones(&self.any)
        } else if !self.args.tag {
            lines - ones(&self.any)
        } else {
            // Tagged, a line is printed if at least one filter surely lacks it.
            let mut all = vec![u64::MAX; self.any.len()];
            for asked in &self.asked {
                all.iter_mut().zip(asked.found.as_words()).for_each(|(all, more)| *all &= more);
            }
            lines - ones(&all)
        };
    }

    fn print_tagged(&mut self, batch: &Batch<'_>) -> Result<(), Error> {
        for i in 0..batch.len() {
            for asked in &self.asked {
                let found = !batch.is_keyless() && asked.found.get(i);
                if found != self.args.invert {
                    self.output.write(asked.name.as_bytes())?;
                    self.output.write(b"\t")?;
                    self.output.write(batch.lines(i..i + 1))?;
                }
            }
        }
        Ok(())
    }

    fn report(&self, reader: &LineReader, talk: Talk) -> Result<(), Error> {
        let lines_read = reader.lines();
        let selected_by = |asked: &Asked| {
            let absent = lines_read - asked.maybe_present;
            if self.args.invert { absent } else { asked.maybe_present }
        };
        if self.args.json {
            let found = |asked: &Asked| Found {
                file: asked.name.clone(),
                maybe_present: asked.maybe_present,
                surely_absent: lines_read - asked.maybe_present,
            };
            let filters = self.asked.iter().map(found).collect();
            let summary = Summary {
                lines_read,
                lines_selected: self.selected,
                lines_without_key: reader.keyless().lines(),
                filters,
            };
            return Talk::json(&summary, self.args.count);
        }
        if !self.args.count || talk.is_quiet() {
            return Ok(());
        }
        if self.args.tag {
            let line = |asked: &Asked| format!("{}\t{}\n", asked.name, selected_by(asked));
            return print_stdout(&self.asked.iter().map(line).collect::<String>());
        }
        print_stdout(&format!("{}\n", self.selected))
    }
}
