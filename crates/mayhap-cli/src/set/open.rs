//! Filters that are queried, of mayhap and of other systems.

use crate::args::OpenArgs;
use crate::error::Error;
use crate::io::messages::Talk;
use crate::set::expressions::Expressions;
use crate::set::file::ReadFile;
use crate::set::foreign;
use crate::set::remote::{self, Access};
use crate::set::with_cr::WithCr;
use mayhap::{Bitmap, Digest, DigestFunction, SecretKey};
use mayhap_foreign::ForeignSet;
use mayhap_keys::KeyOptions;
use mayhap_lists::{Batch, Reading};
use mayhap_sets::{KeySet, KeyTypes, Keys};
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

/// Warns of texts that are no keys; and where a file was queried for so many lines and none was
/// found, says what that may mean.
pub fn warn((name, set): (&str, &dyn KeySet), lines: u64, found: u64, talk: Talk) {
    let not_keys = set.all_not_keys();
    let num_keys = lines.saturating_sub(not_keys.as_ref().map_or(0, |not_keys| not_keys.lines));
    if let Some(not_keys) = not_keys {
        talk.warn(&not_keys.text);
    }
    let types = set.key_types().filter(|types| !types.others.is_empty() && !set.is_shared());
    if let (Some(KeyTypes { taken, others, .. }), 0, 1..) = (types, found, num_keys) {
        talk.say(&format!(
            "{name}: no key was found as {taken}; if it has keys of another type, choose it with \
             --key-type: {}",
            others.join(", ")
        ));
    }
}

/// Opens a filter, and returns its name and the key options that it keeps, if it does.
fn open(
    path: &Path,
    key: Option<SecretKey>,
    args: &OpenArgs,
    talk: Talk,
) -> Result<(Named, Option<KeyOptions>), Error> {
    if let Some((name, set, options)) = remote::open(path, Access::of(args)?, talk)? {
        return Ok(((name, set), options));
    }
    let name = path.display().to_string();
    if let Some(file) = foreign::open_for_keys(path, args, talk)? {
        return Ok(((name, Box::new(ForeignSet::to_query(file))), None));
    }
    let file = ReadFile::open(path, key, args.without_log, talk)?;
    let options = KeyOptions::from_header(&name, file.header.key_options())?;
    Ok(((name, file.set), Some(options)))
}

/// What becomes of the key options that a file of this name keeps, and of those that were given.
pub type Agree = fn(KeyOptions, &str, &KeyOptions) -> Result<KeyOptions, mayhap_keys::Error>;

/// Opens filters that cut keys alike, each with its name, and returns how: where a file keeps no
/// key options, as given.
///
/// # Errors
///
/// Those of [`OpenArgs::secret_key`], [`ReadFile::open`] and `agree`; [`Error::Usage`] if two cut
/// keys in different ways.
pub fn open_all(
    paths: &[PathBuf],
    args: &OpenArgs,
    (given, agree): (&KeyOptions, Agree),
    talk: Talk,
) -> Result<(Vec<Named>, KeyOptions), Error> {
    let key = args.secret_key()?;
    let mut files: Vec<Named> = Vec::new();
    let mut options = given.clone();
    for path in paths {
        let ((name, file), own) = open(path, key, args, talk)?;
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

/// The filters of `-f` and, where there are any, those of the lists that are filters themselves, as
/// a shell leaves them behind `-f *.mayhap`; and the lists that are lists.
pub fn split(
    filters: &[PathBuf],
    lists: &[PathBuf],
    reading: &Reading,
) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let is_filter = |path: &PathBuf| !filters.is_empty() && mayhap_lists::is_filter(path, reading);
    let (more, lists): (Vec<_>, Vec<_>) = lists.iter().cloned().partition(is_filter);
    (filters.iter().cloned().chain(more).collect(), lists)
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
