//! Lines with the age of their keys.

use crate::error::Error;
use crate::io::output::Output;
use crate::io::progress::Progress;
use crate::set::open::Named;
use crate::set::with_cr::WithCr;
use mayhap_keys::KeyOptions;
use mayhap_lists::LineReader;
use mayhap_sets::{KeySet, OwnSet};

/// The result.
#[derive(Debug, Clone, Copy, Default)]
pub struct Aged {
    /// Lines whose key may be in the window.
    pub maybe_present: u64,
}

/// The ages of a filter's keys.
///
/// # Errors
///
/// [`Error::Usage`] for a filter that does not keep them.
pub fn ages_of((name, filter): &Named) -> Result<&OwnSet, Error> {
    let own = filter.own().filter(|own| own.capabilities().forgets);
    own.ok_or_else(|| {
        if filter.remote().is_some() {
            return Error::usage(
                format!("--age reads the times of a file, and {name} is on a server"),
                "pull it, and check that file: mayhap pull URL -o window.mayhap; or query one key \
                 there: BF.AGE NAME KEY",
            );
        }
        Error::usage(
            format!("{name} does not record when its keys arrived"),
            "use a window file: mayhap create --layout window:7d -n 10M FILTER",
        )
    })
}

/// Prints each line that may be in the window below its age: as lower and upper bound, then a tab
/// and the line. Without an output only counts.
///
/// # Errors
///
/// The errors of reading and writing, and of a file that changed while it was read.
pub fn print(
    named: &Named,
    reader: &mut LineReader,
    mut output: Option<Output>,
    (options, progress): (&KeyOptions, &mut Progress),
) -> Result<Aged, Error> {
    let ages = ages_of(named)?;
    let (_, filter) = named;
    let function = *ages.function();
    reader.digest_by(function);
    let (mut aged, mut digests, mut found) = (Aged::default(), Vec::new(), Vec::new());
    let (mut with_cr, mut more) = (WithCr::of(options), Vec::new());
    loop {
        let raw_bytes = reader.raw_bytes();
        let flush = || output.iter_mut().try_for_each(Output::flush);
        let Some(batch) = reader.next_batch(flush)? else { break };
        found.clear();
        // Leaves none for lines without a key.
        batch.digest_into(&function, &mut digests);
        ages.ages_into(&digests, &mut found);
        if let Some(with_cr) = &mut with_cr {
            with_cr.set(&batch);
            more.clear();
            ages.ages_into(with_cr.digests(&function), &mut more);
            for (&line, age) in with_cr.lines().iter().zip(more.drain(..)) {
                found[line] = found[line].take().or(age);
            }
        }
        filter.check_unchanged()?;
        for (i, age) in found.iter().enumerate() {
            let Some(age) = age else { continue };
            aged.maybe_present += 1;
            if let Some(output) = &mut output {
                output.write(ages.age_text(age).as_bytes())?;
                output.write(b"\t")?;
                output.write(batch.lines(i..i + 1))?;
            }
        }
        progress.tick(reader.lines(), raw_bytes, String::new);
    }
    progress.clear();
    output.iter_mut().try_for_each(Output::flush)?;
    Ok(aged)
}
