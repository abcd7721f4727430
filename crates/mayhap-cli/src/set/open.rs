//! Filters that are queried, of mayhap and of other systems.

use crate::args::{OpenArgs, secret_key};
use crate::error::Error;
use crate::io::messages::{Talk, counted, grouped, rate};
use crate::set::expressions::Expressions;
use crate::set::file::ReadFile;
use crate::set::foreign;
use crate::set::remote::{self, Access};
use crate::set::with_cr::WithCr;
use mayhap::{Bitmap, Digest, DigestFunction, SecretKey};
use mayhap_foreign::ForeignSet;
use mayhap_keys::KeyOptions;
use mayhap_lists::Batch;
use mayhap_sets::{KeySet, KeyTypes, Keys, LayoutName, Room};
use std::path::{Path, PathBuf};

/// A filter with its name.
pub type Named = (String, Box<dyn KeySet>);

/// How keys become digests, if they do before they are queried or inserted.
pub fn digest_function(set: &dyn KeySet) -> Option<DigestFunction> {
    (!set.takes_keys()).then(|| set.digest_function())
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
    if set.takes_keys() {
        let (texts, first_line) = (batch.keys().collect::<Vec<_>>(), Some(batch.first_line()));
        return Ok(set.contains_keys_into(Keys { texts: &texts, first_line }, found)?);
    }
    set.contains_digests_into(digests.by(&set.digest_function(), batch), found)?;
    if let Some(with_cr) = digests.with_cr(batch) {
        with_cr.query(set)?.for_each(|line| found.set(line));
    }
    Ok(())
}

/// Inserts the first keys, or where the set takes none, the first digests; those alone that are
/// absent if `absent_only` is set.
///
/// # Errors
///
/// Those of the set.
pub fn insert(
    set: &mut dyn KeySet,
    (keys, digests): (Keys<'_>, &[Digest]),
    (count, absent_only): (usize, bool),
    new: &mut Bitmap,
) -> Result<(), mayhap_sets::Error> {
    if set.takes_keys() {
        set.insert_keys_into(keys.first(count), new)
    } else if absent_only {
        set.insert_absent_into(&digests[..count], new)
    } else {
        set.insert_digests_into(&digests[..count], new)
    }
}

/// What there is to say of a filter that was queried for so many lines: that it is full; and, where
/// no more of them were found than its rate explains, what that may mean.
pub fn warn((name, set): (&str, &dyn KeySet), lines: u64, found: u64, talk: Talk) {
    if let Some(problem) = set.overfilled().or_else(|| overfilled(set)) {
        talk.warn(&format!("{name}: {problem}"));
    }
    let Some(types) = set.key_types() else { return };
    if lines == 0 || found >= lines || !is_chance(found, lines, set.expected_fpp()) {
        return;
    }
    let KeyTypes { taken, others, formats, .. } = types;
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

/// That so many lines, which are no keys of these filters, are none.
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

/// What is wrong with a filter of mayhap's own that holds more keys than it was made for. Reads its
/// bits only if its count says so: they decide, as repeats may have been counted.
fn overfilled(set: &dyn KeySet) -> Option<String> {
    if set.takes_keys() || set.is_shared() {
        return None;
    }
    let target = set.target_fpp();
    let (fpp, made_for) = match (set.full_at(false), set.capacity()) {
        (Some(full_at), Some(made_for)) if Room::left(set.held(), full_at) == Room::None => {
            (set.estimated_fpp(), format!(" of {}", counted(made_for, "key")))
        }
        (None, None) if set.layout_name() == Some(LayoutName::Scalable) => {
            (set.expected_fpp(), " keys".into())
        }
        _ => return None,
    };
    let held = set.distinct_items(false).map_or(set.items(), |came| came.rounded());
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

/// Opens a filter, and returns its name and the key options that it keeps, if it does. One of
/// several may lack the secret key that others have.
fn open(
    path: &Path,
    (key, is_one_of_several): (Option<SecretKey>, bool),
    (args, trusted): (&OpenArgs, bool),
    talk: Talk,
) -> Result<(Named, Option<KeyOptions>), Error> {
    let access = Access { key_of_several: is_one_of_several, ..Access::of(args)? };
    if let Some((name, set, options)) = remote::open(path, access, talk)? {
        return Ok(((name, set), options));
    }
    let name = path.display().to_string();
    if let Some(file) =
        foreign::open_for_keys(path, args, key.filter(|_| !is_one_of_several), talk)?
    {
        return Ok(((name, Box::new(ForeignSet::to_query(file))), None));
    }
    let key = match key {
        Some(_) if is_one_of_several && !mayhap_store::read_header(path)?.is_keyed() => None,
        key => key,
    };
    let file = ReadFile::open(path, key, (args.without_log, trusted), talk)?;
    let options = KeyOptions::from_header(&name, file.header.key_options())?;
    Ok(((name, file.set), Some(options)))
}

/// What becomes of the key options that a file of this name keeps, and of those that were given.
pub type Agree = fn(KeyOptions, &str, &KeyOptions) -> Result<KeyOptions, mayhap_keys::Error>;

/// Opens filters that cut keys alike, each with its name, and returns how: where a file keeps no
/// key options, as given. The pages of files that are trusted are not checked.
///
/// # Errors
///
/// Those of [`OpenArgs::secret_key`], [`ReadFile::open`] and `agree`; [`Error::Usage`] if two cut
/// keys in different ways; [`Error::Store`] for a secret key that none of them has.
pub fn open_all(
    paths: &[PathBuf],
    (args, trusted): (&OpenArgs, bool),
    (given, agree): (&KeyOptions, Agree),
    talk: Talk,
) -> Result<(Vec<Named>, KeyOptions), Error> {
    let key = args.secret_key()?;
    let mut files: Vec<Named> = Vec::new();
    let mut options = given.clone();
    for path in paths {
        let ((name, file), own) = open(path, (key, paths.len() > 1), (args, trusted), talk)?;
        if let Some(why) = file.holds_any() {
            // Alone, it would let everything pass; among others, it is one that may contain a line.
            if paths.len() == 1 && file.num_bytes() == 0 {
                return Err(mayhap_foreign::Error::NoFilter { name, why }.into());
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
    let is_keyed = |(_, set): &Named| digest_function(&**set).is_some_and(DigestFunction::is_keyed);
    if !files.iter().any(is_keyed) {
        secret_key::refuse(key, &paths[0])?;
    }
    Ok((files, options))
}

/// Whether one of the filters is on a server.
pub fn any_remote(filters: &[Named]) -> bool {
    filters.iter().any(|(_, filter)| filter.is_shared())
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
