//! Filters that are only asked, of mayhap and of other systems.

use crate::args::OpenArgs;
use crate::error::Error;
use crate::io::input::{self, Reading};
use crate::io::lines::Batch;
use crate::io::messages::Talk;
use crate::set::file::ReadFilter;
use crate::set::foreign::{ForeignFile, Opener};
use crate::set::remote::{self, OnServer};
use mayhap::{Bitmap, Digest, DigestFunction, SecretKey};
use mayhap_keys::KeyOptions;
use std::path::{Path, PathBuf};

/// A filter that is asked for lines.
#[derive(Debug)]
pub enum AskedFile {
    /// Mayhap's own, in a file.
    Native(ReadFilter),
    /// Another system's.
    Foreign(Box<ForeignFile>),
    /// On a server.
    Remote(Box<dyn OnServer>),
}

impl AskedFile {
    /// Opens a filter file, and tells the key options that are kept in it, if they can be.
    ///
    /// # Errors
    ///
    /// [`Error::Store`], those of [`ForeignFile::open`].
    pub fn open(
        path: &Path,
        key: Option<SecretKey>,
        opener: Opener<'_>,
        (without_log, talk): (bool, Talk),
    ) -> Result<(Self, Option<KeyOptions>), Error> {
        if let Some(foreign) = opener.open_for_keys(path)? {
            return Ok((Self::Foreign(Box::new(foreign)), None));
        }
        let filter = ReadFilter::open(path, key, without_log, talk)?;
        let name = path.display().to_string();
        let options = KeyOptions::from_header(&name, filter.header().key_options())?;
        Ok((Self::Native(filter), Some(options)))
    }

    /// How keys become digests, if they do.
    pub fn digest_function(&self) -> Option<DigestFunction> {
        match self {
            Self::Native(filter) => Some(filter.digest_function()),
            Self::Foreign(_) => None,
            Self::Remote(filter) => Some(filter.digest_function()),
        }
    }

    /// Whether a file that is read where it lies is still what it was.
    pub fn is_unchanged(&self) -> bool {
        match self {
            Self::Native(filter) => filter.check().is_ok(),
            Self::Foreign(_) | Self::Remote(_) => true,
        }
    }

    /// Asks for the lines of a batch that has keys.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`]; [`Error::Store`] if the file was changed meanwhile.
    pub fn ask(
        &mut self,
        batch: &Batch<'_>,
        digests: &mut Digests,
        found: &mut Bitmap,
    ) -> Result<(), Error> {
        match self {
            Self::Native(filter) => {
                let digests = digests.by(&filter.digest_function(), batch);
                filter.contains_digests_into(digests, found);
                filter.check()?;
            }
            Self::Foreign(foreign) => foreign.ask(batch, found),
            Self::Remote(filter) => {
                let digests = digests.by(&filter.digest_function(), batch);
                filter.contains_digests_into(digests, found)?;
            }
        }
        Ok(())
    }

    /// The lines of the batch asked last whose text is no key of this filter.
    pub fn bad(&self) -> &[usize] {
        match self {
            Self::Foreign(foreign) => foreign.bad(),
            Self::Native(_) | Self::Remote(_) => &[],
        }
    }

    /// The file, if it is another system's.
    pub fn foreign(&self) -> Option<&ForeignFile> {
        match self {
            Self::Foreign(foreign) => Some(foreign),
            Self::Native(_) | Self::Remote(_) => None,
        }
    }
}

/// What becomes of the key options that a file of this name keeps, and of those that were given.
pub type Agree = fn(KeyOptions, &str, &KeyOptions) -> Result<KeyOptions, mayhap_keys::Error>;

/// Opens filters that cut keys alike, each with its name, and tells how: where a file keeps no key
/// options, as given.
///
/// # Errors
///
/// Those of [`OpenArgs::secret_key`], [`AskedFile::open`] and `agree`; [`Error::Usage`] if two cut
/// keys in different ways.
pub fn open_all(
    paths: &[PathBuf],
    args: &OpenArgs,
    (given, agree): (&KeyOptions, Agree),
    talk: Talk,
) -> Result<(Vec<(String, AskedFile)>, KeyOptions), Error> {
    let (key, opener) = (args.secret_key()?, Opener::of(args, talk));
    let mut files: Vec<(String, AskedFile)> = Vec::new();
    let mut options = given.clone();
    for path in paths {
        let on_server = remote::open(path, key, &args.server, talk)?;
        let (name, file, own) = if let Some((filter, own)) = on_server {
            (filter.name().to_owned(), AskedFile::Remote(filter), Some(own))
        } else {
            let (file, own) = AskedFile::open(path, key, opener, (args.without_log, talk))?;
            (path.display().to_string(), file, own)
        };
        let own = match own {
            Some(own) => agree(own, &name, given)?,
            None => given.clone(),
        };
        if let Some((first, _)) = files.first()
            && !own.cuts_like(&options)
        {
            return Err(Error::usage(
                format!("{first} and {name} cut keys in different ways"),
                "ask them one at a time",
            ));
        }
        options = own;
        files.push((name, file));
    }
    Ok((files, options))
}

/// Whether one of the filters is on a server.
pub fn any_remote(filters: &[(String, AskedFile)]) -> bool {
    filters.iter().any(|(_, filter)| matches!(filter, AskedFile::Remote(_)))
}

/// How many lines of the batch asked last are a key of none of the filters.
pub fn keyless_lines<'a>(files: impl IntoIterator<Item = &'a AskedFile>) -> u64 {
    let mut files = files.into_iter();
    let Some(first) = files.next() else { return 0 };
    let mut bad = first.bad().to_vec();
    for file in files {
        bad.retain(|line| file.bad().binary_search(line).is_ok());
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
    let is_filter = |path: &PathBuf| !filters.is_empty() && input::is_filter(path, reading);
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
