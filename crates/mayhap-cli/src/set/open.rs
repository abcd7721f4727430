//! Filters that are queried, of mayhap and of other systems.

use crate::args::OpenArgs;
use crate::error::Error;
use crate::io::messages::Talk;
use crate::set::file::ReadFile;
use crate::set::foreign::{self, Opener};
use crate::set::remote::{self, Access};
use mayhap::{Bitmap, Digest, DigestFunction, SecretKey};
use mayhap_foreign::ForeignFile;
use mayhap_keys::KeyOptions;
use mayhap_lists::{Batch, Reading};
use mayhap_sets::KeySet;
use std::fmt;
use std::path::{Path, PathBuf};

/// A filter that is queried for lines: what `check`, `filter` and `which` know.
///
/// Apart from [`KeySet`], as the keys of another system are no digests.
pub trait Queried: fmt::Debug {
    /// How keys become digests, if they do.
    fn digest_function(&self) -> Option<DigestFunction>;

    /// Queries the lines of a batch that has keys; the answers hold if
    /// [`Queried::check_unchanged`] says so afterwards.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    fn query(
        &mut self,
        batch: &Batch<'_>,
        digests: &mut Digests,
        found: &mut Bitmap,
    ) -> Result<(), Error>;

    /// Whether a file that is read where it lies is still what it was, so that all answers until
    /// now hold. A system call.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] with what happened to it.
    fn check_unchanged(&self) -> Result<(), Error> {
        Ok(())
    }

    /// The lines of the batch queried last whose text is no key of this filter.
    fn not_keys(&self) -> &[usize] {
        &[]
    }

    /// Warns of texts that are no keys, after so many lines of which so many were found.
    fn warn(&self, _lines: u64, _found: u64, _talk: Talk) {}

    /// The set of digests, if it is one.
    fn key_set(&self) -> Option<&dyn KeySet> {
        None
    }
}

impl Queried for Box<dyn KeySet> {
    fn digest_function(&self) -> Option<DigestFunction> {
        (!(**self).takes_keys()).then(|| (**self).digest_function())
    }

    fn query(
        &mut self,
        batch: &Batch<'_>,
        digests: &mut Digests,
        found: &mut Bitmap,
    ) -> Result<(), Error> {
        if (**self).takes_keys() {
            return Ok(self.contains_keys_into(&batch.keys().collect::<Vec<_>>(), found)?);
        }
        let digests = digests.by(&(**self).digest_function(), batch);
        Ok(self.contains_digests_into(digests, found)?)
    }

    fn check_unchanged(&self) -> Result<(), Error> {
        Ok((**self).check_unchanged()?)
    }

    fn not_keys(&self) -> &[usize] {
        (**self).not_keys()
    }

    fn warn(&self, _lines: u64, _found: u64, talk: Talk) {
        if let Some(text) = self.not_keys_text() {
            talk.warn(&text);
        }
    }

    fn key_set(&self) -> Option<&dyn KeySet> {
        Some(&**self)
    }
}

impl Queried for ForeignFile {
    fn digest_function(&self) -> Option<DigestFunction> {
        None
    }

    fn query(
        &mut self,
        batch: &Batch<'_>,
        _digests: &mut Digests,
        found: &mut Bitmap,
    ) -> Result<(), Error> {
        self.query(batch, found);
        Ok(())
    }

    fn not_keys(&self) -> &[usize] {
        self.not_keys()
    }

    fn warn(&self, lines: u64, found: u64, talk: Talk) {
        foreign::warn(self, lines, found, talk);
    }
}

/// A filter with its name.
pub type Named = (String, Box<dyn Queried>);

/// Opens a filter, and returns its name and the key options that it keeps, if it does.
fn open(
    path: &Path,
    key: Option<SecretKey>,
    args: &OpenArgs,
    talk: Talk,
) -> Result<(Named, Option<KeyOptions>), Error> {
    if let Some((name, set, options)) = remote::open(path, Access::of(args)?, talk)? {
        return Ok(((name, Box::new(set)), options));
    }
    let name = path.display().to_string();
    if let Some(foreign) = Opener::of(args, talk).open_for_keys(path)? {
        return Ok(((name, Box::new(foreign)), None));
    }
    let file = ReadFile::open(path, key, args.without_log, talk)?;
    let options = KeyOptions::from_header(&name, file.header.key_options())?;
    Ok(((name, Box::new(file.set)), Some(options)))
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
            None => given.clone(),
        };
        if let Some((first, _)) = files.first()
            && !own.cuts_like(&options)
        {
            return Err(Error::usage(
                format!("{first} and {name} extract keys differently"),
                "query them one at a time",
            ));
        }
        options = own;
        files.push((name, file));
    }
    Ok((files, options))
}

/// Whether one of the filters is on a server.
pub fn any_remote(filters: &[Named]) -> bool {
    filters.iter().any(|(_, filter)| filter.key_set().is_some_and(KeySet::is_shared))
}

/// How many lines of the batch queried last are a key of none of the filters.
pub fn keyless_lines<'a>(files: impl IntoIterator<Item = &'a dyn Queried>) -> u64 {
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
    digests: Vec<Digest>,
}

impl Digests {
    /// Forgets them, for the next batch.
    pub fn clear(&mut self) {
        self.function = None;
    }

    /// The digests of the batch by this function.
    pub fn by(&mut self, function: &DigestFunction, batch: &Batch<'_>) -> &[Digest] {
        if self.function.replace(*function) != Some(*function) {
            batch.digest_into(function, &mut self.digests);
        }
        &self.digests
    }
}
