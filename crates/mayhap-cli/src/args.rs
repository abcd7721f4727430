//! Arguments that several verbs share.

use crate::error::Error;
use crate::foreign::{ForeignArgs, Opener};
use crate::input::Reading;
use crate::keys::{JsonPointer, KeyOptions, parse_delim, parse_field};
use crate::layout_name::LayoutName;
use crate::memory;
use crate::number::{parse_bytes, parse_count, parse_fpp};
use crate::remote::ServerArgs;
use crate::room;
use crate::talk::Talk;
use clap::Args;
use mayhap::{AnyFilter, Builder, DigestFunction, SecretKey};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// The rate when none is asked for: 1 absent key in 10,000 at the end, 1 in 70,000 on the way.
pub const DEFAULT_FPP: f64 = 1e-4;

/// How big a filter is made.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Size")]
pub struct SizeArgs {
    /// Distinct keys to make room for: 10M, 1.5G, 1e6
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = parse_count)]
    pub items: Option<u64>,
    /// False-positive probability at -n keys: 1e-6, 0.1%, 1/1000 [default: 1e-4]
    #[arg(short = 'p', long, value_name = "RATE", value_parser = parse_fpp)]
    pub fpp: Option<f64>,
    /// Memory for the filter: 512M, 2GiB; then -n or -p follows from it (up to a rate of 25 %)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub mem: Option<u64>,
    /// blocked (fast), standard (fewest bits), or a kind: counting (for removing), scalable
    /// (grows), window:10M or window:7d (forget), fuse (build only: small, never changes)
    /// [default: blocked, standard for rates below 2e-5]
    #[arg(long, value_name = "LAYOUT", value_parser = LayoutName::parse)]
    pub layout: Option<LayoutName>,
    /// Refuse larger filters [default: the memory of this machine]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub max_memory: Option<u64>,
}

impl SizeArgs {
    /// Whether the size of a filter follows from the arguments alone.
    pub fn is_fixed(&self) -> bool {
        self.items.is_some() || self.mem.is_some()
    }

    /// Whether the kind needs no number of keys in all: it grows, or forgets.
    pub fn grows_or_forgets(&self) -> bool {
        use LayoutName::{Scalable, WindowItems, WindowMillis};
        matches!(self.layout, Some(Scalable | WindowItems(_) | WindowMillis(_)))
    }

    /// Whether any of the numbers is given.
    pub fn any_given(&self) -> bool {
        self.is_fixed() || self.fpp.is_some() || self.layout.is_some()
    }

    /// The largest filter that is allowed.
    pub fn max_bytes(&self) -> u64 {
        memory::limit(self.max_memory)
    }

    /// A filter for `items` keys, or of the memory asked for.
    ///
    /// # Errors
    ///
    /// [`Error::TooMuchMemory`], [`Error::Useless`], [`Error::Filter`], those of
    /// [`DigestArgs::function`].
    pub fn build(&self, items: Option<u64>, digest: &DigestArgs) -> Result<AnyFilter, Error> {
        let builder = self.builder(items)?;
        let params = builder.params()?;
        memory::check(params.num_bytes(), self.max_bytes())?;
        self.check_rate(params.expected_items(), params.num_bytes(), params.target_fpp())?;
        // Last, so that no key file is made for a filter that is refused.
        Ok(builder.digest_function(digest.function()?).build()?)
    }

    /// Refuses a filter that could not keep any useful rate, unless that was asked for.
    ///
    /// # Errors
    ///
    /// [`Error::Useless`].
    pub fn check_rate(&self, items: u64, bytes: u64, fpp: f64) -> Result<(), Error> {
        room::check_rate(items, bytes, fpp, self.fpp.is_some())
    }

    /// What [`SizeArgs::build`] makes a plain filter with.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for other kinds.
    pub fn builder(&self, items: Option<u64>) -> Result<Builder<AnyFilter>, Error> {
        let mut builder: Builder<AnyFilter> = AnyFilter::builder();
        if let Some(name) = self.layout {
            let Some(layout) = name.layout() else {
                return Err(Error::usage(
                    format!("--layout {} is not for this command", name.name()),
                    "make the file with mayhap build, or with mayhap create and mayhap add",
                ));
            };
            builder = builder.layout(layout);
        }
        if let Some(items) = items {
            builder = builder.expected_items(items);
        }
        if let Some(bytes) = self.mem {
            builder = builder.num_bytes(bytes);
        }
        match (self.fpp, items, self.mem) {
            (Some(fpp), ..) => builder = builder.target_fpp(fpp),
            // n and memory alone give the lowest rate.
            (None, Some(_), Some(_)) => {}
            (None, ..) => builder = builder.target_fpp(DEFAULT_FPP),
        }
        Ok(builder)
    }
}

/// How keys become digests.
#[derive(Debug, Args)]
#[command(next_help_heading = "Digest")]
pub struct DigestArgs {
    /// Seed of the public digest xxh3
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["key_file", "new_key_file"])]
    pub seed: Option<u64>,
    /// Secret key, for keys that strangers choose: a file of 32 hex digits or 16 bytes
    #[arg(long, value_name = "FILE", conflicts_with = "new_key_file")]
    pub key_file: Option<PathBuf>,
    /// Make a new secret key, readable by you alone, and use it
    #[arg(long, value_name = "FILE")]
    pub new_key_file: Option<PathBuf>,
}

impl DigestArgs {
    /// Whether any is given.
    pub fn any_given(&self) -> bool {
        self.seed.is_some() || self.key_file.is_some() || self.new_key_file.is_some()
    }

    /// The digest function asked for; makes a new key file if that was asked for.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], [`Error::Usage`] for a file that is no key.
    pub fn function(&self) -> Result<DigestFunction, Error> {
        if let Some(path) = &self.new_key_file {
            return Ok(DigestFunction::sip13(crate::filter_file::new_secret_key(path)?));
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
    path.map(crate::filter_file::read_secret_key).transpose()
}

/// How a filter file is opened, mayhap's own or another system's.
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// The filter's secret key, if it has one
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Refuse larger filters of other systems [default: the memory of this machine]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub max_memory: Option<u64>,
    /// Go on without a log that is not there: what was recorded in it is lost
    #[arg(long)]
    pub without_log: bool,
    #[command(flatten)]
    foreign: ForeignArgs,
    /// How servers are spoken to.
    #[command(flatten)]
    pub server: ServerArgs,
}

impl OpenArgs {
    /// The secret key, if one is named.
    ///
    /// # Errors
    ///
    /// Those of [`secret_key`].
    pub fn secret_key(&self) -> Result<Option<SecretKey>, Error> {
        secret_key(self.key_file.as_deref())
    }

    /// The largest filter that is allowed.
    pub fn max_bytes(&self) -> u64 {
        memory::limit(self.max_memory)
    }

    /// Opens files of other systems as asked.
    pub fn opener(&self, talk: Talk) -> Opener<'_> {
        Opener::new(&self.foreign, self.max_bytes(), talk)
    }
}

/// How lines are cut, and keys out of them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Lines and keys")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct LineArgs {
    /// Lines end with NUL instead of a line feed
    #[arg(short = '0', long)]
    pub null: bool,
    /// A carriage return at the end of a line is not part of its key
    #[arg(long)]
    pub crlf: bool,
    /// Take bytes as they stand: decompress nothing, leave no CR and no byte-order mark out of keys
    #[arg(long)]
    pub raw: bool,
    /// Refuse longer lines
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "64MiB")]
    pub max_line: u64,
    /// The key is this field, counted from 1; quotes mean nothing
    #[arg(long, alias = "by-field", value_name = "NUMBER", value_parser = parse_field)]
    pub field: Option<NonZeroU32>,
    /// The byte between fields: , or : or \t or \x1F [default: \t]
    #[arg(long, value_name = "BYTE", value_parser = parse_delim, requires = "field")]
    pub delim: Option<u8>,
    /// The key is this value of the JSON in a line: /user/id
    #[arg(long, value_name = "POINTER", value_parser = JsonPointer::parse)]
    #[arg(conflicts_with = "field")]
    pub json_pointer: Option<JsonPointer>,
    /// White space at both ends is not part of a key
    #[arg(long)]
    pub trim: bool,
    /// ASCII letters of a key are made lower case
    #[arg(long)]
    pub lower: bool,
    /// The key is the bytes that its hex digits stand for, in either case
    #[arg(long, conflicts_with_all = ["lower", "normalize_url"])]
    pub hex: bool,
    /// The key is an absolute URL in normal form, without its fragment
    #[arg(long)]
    pub normalize_url: bool,
}

impl LineArgs {
    /// As key options.
    pub fn key_options(&self) -> KeyOptions {
        KeyOptions {
            nul: self.null,
            strip_cr: self.crlf,
            delim: self.delim,
            field: self.field,
            json_pointer: self.json_pointer.clone(),
            trim: self.trim,
            lower: self.lower,
            hex: self.hex,
            normalize_url: self.normalize_url,
            unix_ms: false,
        }
    }

    /// How lists are read by a verb, for lines of at least 1 byte.
    pub fn reading(&self, verb: &'static str, talk: Talk) -> Reading {
        let max_line = usize::try_from(self.max_line).unwrap_or(usize::MAX).max(1);
        Reading { verb, raw: self.raw, gathers: false, max_line, talk }
    }
}
