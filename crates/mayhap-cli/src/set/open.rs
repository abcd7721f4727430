//! Filters that are queried, of mayhap and of other systems.

use crate::args::{OpenArgs, secret_key};
use crate::error::Error;
use crate::io::messages::{Reporter, counted, grouped, rate};
use crate::set::expressions::Expressions;
use crate::set::notes::say;
#[cfg(feature = "redis")]
use crate::set::remote;
use crate::set::with_cr::WithCr;
use mayhap::native::Kind;
use mayhap::set::Repeats;
use mayhap::{Bitmap, Digest, DigestFunction};
use mayhap_keys::KeyOptions;
use mayhap_lists::Batch;
use mayhap_sets::file::ForeignFile;
use mayhap_sets::{How, KeySet, KeyTypes, Keys, Located, Note, Opened, Room, TakesTexts, Texts};
#[cfg(feature = "redis")]
use mayhap_sets::{is_url, server};
use std::path::{Path, PathBuf};

/// A filter with its name.
pub type Named = (String, Box<dyn KeySet>);

/// Whether the file has a matrix; errors of a file without a filter are reported later.
pub fn is_matrix(path: &Path) -> bool {
    mayhap_store::read_header(path).is_ok_and(|header| header.kind() == Kind::Matrix)
}

/// Queries the lines of a batch that has keys; the answers hold if [`KeySet::check_unchanged`] says
/// so afterwards.
///
/// # Errors
///
/// [`Error::Remote`].
pub fn query(
    set: &mut dyn KeySet,
    batch: &Batch<'_>,
    digests: &mut Digests,
    found: &mut Bitmap,
) -> Result<(), Error> {
    if let Some(expressions) = digests.expressions(batch) {
        return expressions.query(set, found);
    }
    let Some(function) = set.digest_function() else {
        let (texts, first_line) = (batch.keys().collect::<Vec<_>>(), Some(batch.first_line()));
        return Ok(set.contains_into(Keys::Texts(Texts { texts: &texts, first_line }), found)?);
    };
    set.contains_into(digests.by(&function, batch).into(), found)?;
    if let Some(with_cr) = digests.with_cr(batch) {
        with_cr.query(set)?.for_each(|line| found.set(line));
    }
    Ok(())
}

/// Warnings about a filter that was queried for this many lines: that it is full; and,
/// where no more of them were found than its rate explains, what that may mean.
pub fn warn((name, set): (&str, &dyn KeySet), lines: u64, found: u64, talk: Reporter) {
    let texts = set.texts();
    let problem = texts.map_or_else(|| overfilled(set), TakesTexts::overfilled);
    if let Some(problem) = problem {
        talk.warn(&format!("{name}: {problem}"));
    }
    let Some(texts) = texts.filter(|_| lines > 0 && found < lines) else { return };
    if !is_chance(found, lines, set.numbers(Repeats::Renew).expected_fpp) {
        return;
    }
    let KeyTypes { taken, others, formats, .. } = texts.key_types();
    let mut other = Vec::new();
    if !others.is_empty() {
        other.push(format!("its keys are of another type (--key-type {})", others.join(", ")));
    }
    if !formats.is_empty() {
        let formats = formats.join(", ");
        other.push(format!("it is of another release (--format {formats})"));
    }
    if other.is_empty() && lines < MIN_HINT_LINES {
        return;
    }
    if other.is_empty() {
        other.push("keys are written in another way, such as in capitals".into());
    }
    let of = match found {
        0 => format!("no key was found as {taken}"),
        found => format!(
            "{} of {} keys were found as {taken}, no more than by chance",
            grouped(found),
            grouped(lines)
        ),
    };
    talk.say(&format!("{name}: {of}; if there should be more, {}", other.join(", or ")));
}

/// The fewest lines of which it is worth a word that none was found where nothing else was guessed.
const MIN_HINT_LINES: u64 = 5;

/// Whether so few of these lines were found that they may all be false positives: by 3 standard
/// deviations.
fn is_chance(found: u64, lines: u64, fpp: f64) -> bool {
    let expected = lines as f64 * fpp;
    found as f64 <= expected + 3.0 * (expected * (1.0 - fpp)).sqrt()
}

/// Refuses if this many lines were not looked up, as they are no keys of any of these filters.
///
/// # Errors
///
/// [`Error::Usage`] with the first one of each filter that had any.
pub fn check_answered<'a>(
    unanswered: u64,
    filters: impl Iterator<Item = (&'a str, &'a dyn KeySet)>,
) -> Result<(), Error> {
    if unanswered == 0 {
        return Ok(());
    }
    let texts: Vec<String> =
        filters.filter_map(|(_, filter)| Some(filter.all_not_keys()?.text)).collect();
    Err(Error::usage(
        format!("{}: not looked up", texts.join("; ")),
        "nobody can say whether such a line is in the filter: leave it out, or choose another \
         --key-type",
    ))
}

/// The warning about a filter of mayhap's own that holds more keys than it was made for. Reads its
/// bits only if its count says so: they decide, as repeats may have been counted.
fn overfilled(set: &dyn KeySet) -> Option<String> {
    if set.remote().is_some() || has_few_keys(set) {
        return None;
    }
    let numbers = set.numbers(Repeats::Renew);
    let target = numbers.target_fpp;
    let (fpp, made_for) = match (numbers.full_at, numbers.capacity) {
        (Some(full_at), Some(made_for)) if Room::left(set.held(), full_at) == Room::None => {
            (set.measurements().estimated_fpp(), format!(" of {}", counted(made_for, "key")))
        }
        (None, None) if set.capabilities().grows => (numbers.expected_fpp, " keys".into()),
        _ => return None,
    };
    let held = numbers.keys();
    // The shares of its layers add up to the target but for rounding.
    (fpp > target * (1.0 + 1e-9)).then(|| {
        let held = if held == u64::MAX { "any number".into() } else { grouped(held) };
        format!(
            "it is overfilled ({held}{made_for}): {} of absent keys are found, not {}",
            rate(fpp),
            rate(target)
        )
    })
}

/// Whether a filter that is read where it lies surely has room, which its numbers take longer to
/// say than a query takes: with k n ≤ m, n keys set at most 63 % of its bits, so it counts more
/// than a quarter of them.
fn has_few_keys(set: &dyn KeySet) -> bool {
    set.mapped().is_some_and(|mapped| {
        let (params, items) = (mapped.params(), set.items());
        let set_bits = params.expected_items().saturating_mul(params.num_hashes().into());
        set_bits <= params.num_bits() && items < params.expected_items() / 4
    })
}

/// Finds out what a path or URL stands for; the user hears what the client of a server warns of.
///
/// # Errors
///
/// Those of [`mayhap_sets::locate`].
#[cfg_attr(not(feature = "redis"), expect(unused_variables, reason = "there is no client"))]
pub fn locate(path: &Path, how: &How<'_>, talk: Reporter) -> Result<Located, Error> {
    #[cfg(feature = "redis")]
    remote::hear(talk);
    Ok(mayhap_sets::locate(path, how)?)
}

/// The filter on a server that a URL names, and its key options, if it keeps them; `None` for the
/// path of a file. Says of which type keys are taken to be, if that was guessed.
///
/// # Errors
///
/// Those of [`locate`].
#[cfg(feature = "redis")]
pub fn on_server(
    path: &Path,
    how: &How<'_>,
    talk: Reporter,
) -> Result<Option<server::Opened>, Error> {
    if !is_url(path) {
        return Ok(None);
    }
    let Located::Server(set, options) = locate(path, how, talk)? else { return Ok(None) };
    say(Note::of_guess(set.url(), &*set), talk);
    Ok(Some((set, options)))
}

/// Opens a file of another system; `None` if it is mayhap's own, or nothing that is known, so that
/// opening it as mayhap's own says what is wrong.
///
/// # Errors
///
/// Those of [`locate`] and [`ForeignFile::check_filters`].
pub fn foreign(path: &Path, args: &OpenArgs, talk: Reporter) -> Result<Option<ForeignFile>, Error> {
    let Located::Foreign(file) = locate(path, &args.how()?, talk)? else { return Ok(None) };
    file.check_filters()?;
    Ok(Some(*file))
}

/// Combines the key options of a file of this name with those given.
pub type Agree = fn(KeyOptions, &str, &KeyOptions) -> Result<KeyOptions, mayhap_keys::Error>;

/// Opens filters that cut keys alike, each with its name, and returns how: where a file keeps no
/// key options, as given. The pages of files that are trusted are not checked.
///
/// # Errors
///
/// Those of [`OpenArgs::how`], [`mayhap_sets::open()`] and `agree`; [`Error::Usage`] if two cut
/// keys in different ways; [`Error::Store`] for a secret key that none of them has.
pub fn open_all(
    paths: &[PathBuf],
    (args, trusted): (&OpenArgs, bool),
    (given, agree): (&KeyOptions, Agree),
    talk: Reporter,
) -> Result<(Vec<Named>, KeyOptions), Error> {
    let mut how = args.how()?;
    how.known.key_of_several = paths.len() > 1;
    #[cfg(feature = "redis")]
    remote::hear(talk);
    let mut files: Vec<Named> = Vec::new();
    let mut options = given.clone();
    for path in paths {
        let note = |note: Note<'_>| say([note], talk);
        let opened = mayhap_sets::open(path, &how, (args.without_log, trusted), &note)?;
        talk.notices();
        let Opened { name, set: file, key_options: own } = opened;
        if let Some(why) = file.texts().and_then(TakesTexts::holds_any) {
            // Alone, it would let everything pass; among others, it is one that may contain a line.
            if paths.len() == 1 && file.numbers(Repeats::Renew).num_bytes == 0 {
                return Err(mayhap_sets::file::Error::NoFilter { name, why }.into());
            }
            talk.warn(&format!("{name}: {why}"));
        }
        let own = match own {
            Some(own) => agree(own, &name, given)?,
            // A file of another system has no keys that mayhap 0.1 is known to have cut.
            None => given.for_new(),
        };
        options = match files.first() {
            None => own,
            Some((first, _)) => own.in_common(&options).ok_or_else(|| {
                Error::usage(
                    format!("{first} and {name} extract keys differently"),
                    "query them one at a time",
                )
            })?,
        };
        files.push((name, file));
    }
    let is_keyed = |(_, set): &Named| set.digest_function().is_some_and(DigestFunction::is_keyed);
    if !files.iter().any(is_keyed) {
        secret_key::refuse(how.known.secret_key, &paths[0])?;
    }
    Ok((files, options))
}

/// Whether one of the filters is on a server.
pub fn any_remote(filters: &[Named]) -> bool {
    filters.iter().any(|(_, filter)| filter.remote().is_some())
}

/// How many lines of the batch queried last are a key of none of the filters.
pub fn keyless_lines<'a>(files: impl IntoIterator<Item = &'a dyn KeySet>) -> u64 {
    let mut files = files.into_iter();
    let Some(first) = files.next() else { return 0 };
    let mut bad = first.not_keys().to_vec();
    for file in files {
        bad.retain(|line| file.not_keys().binary_search(line).is_ok());
    }
    bad.len() as u64
}

/// The digests of a batch, made once for all filters that share a function.
#[derive(Debug, Default)]
pub struct Digests {
    function: Option<DigestFunction>,
    values: Vec<Digest>,
    /// The expressions of lines that are queried by all of them.
    expressions: Option<Expressions>,
    has_expressions: bool,
    /// The other keys of lines that end with a carriage return, where these may be in a filter.
    with_cr: Option<WithCr>,
    has_cr: bool,
}

impl Digests {
    /// Of keys that are cut by these options.
    pub fn of(options: &KeyOptions) -> Self {
        let expressions = options.url_prefixes.then(Expressions::default);
        Self { expressions, ..Self::of_one_key(options) }
    }

    /// [`Digests::of`] for lines of which each is queried by its own key alone.
    pub fn of_one_key(options: &KeyOptions) -> Self {
        Self { with_cr: WithCr::of(options), ..Self::default() }
    }

    /// Forgets them, for the next batch.
    pub fn clear(&mut self) {
        self.function = None;
        self.has_expressions = false;
        self.has_cr = false;
    }

    /// Whether a line has one key, and not many.
    pub fn are_of_lines(&self) -> bool {
        self.expressions.is_none()
    }

    /// The expressions of the batch, if it is queried by these.
    pub fn expressions(&mut self, batch: &Batch<'_>) -> Option<&mut Expressions> {
        let expressions = self.expressions.as_mut()?;
        if !std::mem::replace(&mut self.has_expressions, true) {
            expressions.set(batch);
        }
        Some(expressions)
    }

    /// The other keys of lines that end with a carriage return, where these may be in a filter.
    pub fn with_cr(&mut self, batch: &Batch<'_>) -> Option<&mut WithCr> {
        let with_cr = self.with_cr.as_mut()?;
        if !std::mem::replace(&mut self.has_cr, true) {
            with_cr.set(batch);
        }
        Some(with_cr)
    }

    /// The digests of the batch by this function.
    pub fn by(&mut self, function: &DigestFunction, batch: &Batch<'_>) -> &[Digest] {
        if self.function.replace(*function) != Some(*function) {
            batch.digest_into(function, &mut self.values);
        }
        &self.values
    }
}
