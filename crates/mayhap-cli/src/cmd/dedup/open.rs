//! The set that a run remembers lines in: from arguments, or from a state file.

use super::Args;
use crate::args::{DEFAULT_FPP, secret_key};
use crate::error::Error;
use crate::input::Source;
use crate::keys::KeyOptions;
use crate::layout_name::LayoutName;
use crate::memory;
use crate::number::{format_bytes, format_count};
use crate::seen::Seen;
use crate::talk::Talk;
use mayhap::native::{Header, Kind};
use mayhap_store::LiveFilter;
use std::path::Path;

/// The set to remember lines in, and how keys are cut.
pub(super) fn open(
    args: &Args,
    sources: &[Source],
    talk: Talk,
) -> Result<(Seen, KeyOptions), Error> {
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
