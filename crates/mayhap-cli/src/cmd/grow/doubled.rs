//! A compact filter with twice the room, from itself: each of its buckets becomes two, by a bit of
//! the remainders.

use super::{Args, Grown, Numbers};
use crate::args::secret_key;
use crate::error::Error;
use crate::files::refuse_existing;
use crate::io::messages::Reporter;
use crate::memory;
use crate::set::notes::say;
use crate::set::session::{Recording, Waiting, Writer};
use mayhap_lists::Stop;
use mayhap_sets::{LayoutName, OwnSet, open_snapshot};
use std::time::Instant;

/// Doubles the compact filter of a file, there or into the file of `-o`.
///
/// # Errors
///
/// [`Error::Usage`] where more than twice the room is requested, [`Error::TooMuchMemory`],
/// [`Error::Filter`], [`Error::Store`].
pub(super) fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    check(args)?;
    let started = Instant::now();
    let (key, stop) = (secret_key(args.key_file.as_deref())?, Stop::on_signals()?);
    let waiting = Waiting::new("grow", args.lock, talk, Some(&stop));
    let grown = if let Some(output) = &args.output {
        refuse_existing(output, args.force)?;
        // The old filter is unchanged, and others may change it.
        let snapshot = open_snapshot(&args.file, false, &|note| say([note], talk))?;
        let mut set = snapshot.image().load_set(key)?;
        snapshot.replay(|record| mayhap_store::apply(&mut *set, record))?;
        let (mut doubled, grown) = double(args, &OwnSet::new(set, false))?;
        let options = snapshot.image().header().key_options();
        waiting.save_set(output, (&mut doubled, options), None, args.force)?;
        grown
    } else {
        let how = (Recording::WhenOthersWait, false);
        let (set, mut writer) = Writer::open(&args.file, key, how, &waiting, talk)?;
        let (mut doubled, grown) = double(args, &set)?;
        stop.check()?;
        writer.save(&mut doubled)?;
        writer.finish(&mut doubled)?;
        grown
    };
    let grown = Grown { seconds: started.elapsed().as_secs_f64(), ..grown };
    talk.summary(args.json, &grown, |grown| (grown.text(), String::new()))
}

/// The filter with twice the room, and what there is to say about it.
fn double(args: &Args, set: &OwnSet) -> Result<(OwnSet, Grown), Error> {
    let before = Numbers::of_set(set);
    // And the buckets of the old one are read meanwhile.
    memory::check(before.num_bytes.saturating_mul(3), args.size.max_bytes())?;
    let doubled = set.doubled()?;
    let output = args.output.as_ref().unwrap_or(&args.file);
    let grown = Grown {
        file: args.file.display().to_string(),
        output: output.display().to_string(),
        distinct_items: set.distinct_fingerprints().unwrap_or(0),
        before,
        after: Numbers::of_set(&doubled),
        seconds: 0.0,
    };
    Ok((doubled, grown))
}

/// Refuses numbers that a filter without the digests of its keys cannot have.
fn check(args: &Args) -> Result<(), Error> {
    let size = &args.size;
    let is_same = size.layout.is_none_or(|layout| layout == LayoutName::Compact);
    let is_sized = size.is_fixed() || size.fpp.is_some() || size.preset.is_some();
    if is_same && !is_sized && !args.keep_digests {
        return Ok(());
    }
    let name = args.file.display();
    Err(Error::usage(
        format!("{name} is a compact filter, and of its keys there are no digests to keep or use"),
        format!(
            "double it, without -n, -p, --mem, --layout and --keep-digests: mayhap grow {name}; or \
             build it again from its keys: mayhap build"
        ),
    ))
}
