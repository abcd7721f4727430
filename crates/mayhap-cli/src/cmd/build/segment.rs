//! `mayhap build --segment`: a part of a filter.

use super::{Args, usable};
use crate::error::Error;
use crate::io::messages::{Talk, counted, grouped};
use crate::io::progress::Progress;
use crate::outcome::Outcome;
use crate::set::create::segment::{self, Part};
use crate::set::fill::Counts;
use crate::set::session::Waiting;
use mayhap::native::{Header, Native};
use mayhap_lists::{LineReader, Stop};
use mayhap_units::number::format_bytes;
use serde::Serialize;

/// What a segment is, as `--json` prints it.
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

/// Builds the segment, saves it and reports what it is.
pub(super) fn build(
    (args, part): (&Args, Part),
    reader: &mut LineReader,
    progress: &mut Progress,
    (waiting, stop): (&Waiting, &Stop),
    talk: Talk,
) -> Result<Outcome, Error> {
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
        seconds: progress.elapsed().as_secs_f64(),
    };
    if args.json {
        Talk::json(&summary, true)?;
    } else {
        let line = format!(
            "{}: segment {} of {}: {} read, {} of this segment, {} new ({:.2} s)",
            summary.file,
            part.number,
            part.count,
            counted(summary.lines_read, "line"),
            grouped(taken.lines),
            grouped(taken.new),
            summary.seconds
        );
        let below = format!(
            "{}, digests {} to {}; put all segments together with mayhap assemble",
            format_bytes(summary.num_bytes),
            summary.first_digest,
            summary.last_digest
        );
        talk.report(&line, &below);
    }
    Ok(Outcome::Done)
}
