//! `mayhap build --segment`: a part of a filter.

use super::{Args, usable};
use crate::error::Error;
use crate::io::messages::{Reporter, counted, grouped};
use crate::io::progress::Progress;
use crate::set::create::segment::{self, Part};
use crate::set::fill::Counts;
use crate::set::session::Waiting;
use mayhap::native::{Header, Native};
use mayhap_lists::{LineReader, Stop};
use mayhap_units::number::format_bytes;
use serde::Serialize;

/// A segment, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Summary {
    file: String,
    segment: u64,
    segments: u64,
    first_digest: String,
    last_digest: String,
    lines_read: u64,
    lines_of_segment: u64,
    new: u64,
    lines_without_key: u64,
    lines_with_crlf: u64,
    num_bytes: u64,
    seconds: f64,
}

/// Builds the segment, saves it and reports its numbers.
pub(super) fn build(
    (args, part): (&Args, Part),
    reader: &mut LineReader,
    progress: &mut Progress,
    (waiting, stop): (&Waiting, &Stop),
    talk: Reporter,
) -> Result<(), Error> {
    let mut segment = segment::empty(&args.size, &args.digest, part)?;
    let taken = segment::fill(&mut segment, reader, progress);
    progress.clear();
    let taken = taken?;
    let (lines, without_key) = (reader.lines(), reader.keyless().lines());
    let counts = Counts { lines, without_key, ..Counts::default() };
    usable(args, reader, counts, talk)?;
    stop.check()?;
    let options = args.lines.key_options().to_header();
    let header = Header::of(&segment, &options);
    waiting.save(&args.output, &header, &segment.segments(), args.force)?;
    let digests = segment.digests();
    let summary = Summary {
        file: args.output.display().to_string(),
        segment: part.number,
        segments: part.count,
        first_digest: format!("{:016x}", digests.start().get()),
        last_digest: format!("{:016x}", digests.end().get()),
        lines_read: reader.lines(),
        lines_of_segment: taken.lines,
        new: taken.new,
        lines_without_key: reader.keyless().lines(),
        lines_with_crlf: reader.cr_lines(),
        num_bytes: segment.num_bytes(),
        seconds: progress.end().as_secs_f64(),
    };
    talk.summary(args.json, &summary, |summary| {
        let Summary { file, segment, segments, first_digest, last_digest, seconds, .. } = summary;
        let (lines, bytes) = (counted(summary.lines_read, "line"), format_bytes(summary.num_bytes));
        let (taken, new) = (grouped(summary.lines_of_segment), grouped(summary.new));
        let line = format!(
            "{file}: segment {segment} of {segments}: {lines} read, {taken} of this segment, \
             {new} new ({seconds:.2} s)"
        );
        let below = format!(
            "{bytes}, digests {first_digest} to {last_digest}; put all segments together with \
             mayhap assemble"
        );
        (line, below)
    })
}
