//! How keys become digests.

use crate::error::Error;
use clap::Args;
use mayhap::{DigestFunction, SecretKey};
use mayhap_units::number::parse_whole;
use std::path::{Path, PathBuf};

/// How keys become digests.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Digest")]
pub struct DigestArgs {
    /// Seed of the public digest xxh3
    #[arg(long, value_name = "NUMBER", value_parser = parse_whole::<u64>)]
    #[arg(conflicts_with_all = ["key_file", "new_key_file"])]
    pub seed: Option<u64>,
    /// Secret key, for keys chosen by strangers: a file with 32 hex digits or 16 bytes
    #[arg(long, value_name = "FILE", conflicts_with = "new_key_file")]
    pub key_file: Option<PathBuf>,
    /// Create a new secret key, readable only by you, and use it
    #[arg(long, value_name = "FILE")]
    pub new_key_file: Option<PathBuf>,
}

impl DigestArgs {
    /// The digest function; creates the new key file if one was requested.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], [`Error::Usage`] for a file that is no key.
    pub fn function(&self) -> Result<DigestFunction, Error> {
        if let Some(path) = &self.new_key_file {
            return Ok(DigestFunction::sip13(super::secret_key::create(path)?));
        }
        Ok(match secret_key(self.key_file.as_deref())? {
            Some(key) => DigestFunction::sip13(key),
            None => DigestFunction::xxh3(self.seed.unwrap_or(0)),
        })
    }
}

/// The secret key in a file, if one is named.
///
/// # Errors
///
/// [`Error::Io`], [`Error::Usage`] for a file that is no key.
pub fn secret_key(path: Option<&Path>) -> Result<Option<SecretKey>, Error> {
    path.map(super::secret_key::read).transpose()
}
