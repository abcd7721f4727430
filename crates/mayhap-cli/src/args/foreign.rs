//! Arguments about files of other systems.

#[cfg(feature = "redis")]
use crate::error::Error;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use mayhap::SecretKey;
use mayhap_formats::{Format, KeyType, Shape};
use mayhap_sets::Known;
use mayhap_units::number::{NumberError, parse_count, parse_fpp};

/// Options for opening files of other systems.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Filters of other systems")]
pub struct ForeignArgs {
    /// Format of a file of another system [default: detected from its bytes]
    #[arg(long, value_name = "FORMAT", value_parser = formats(), hide_possible_values = true)]
    pub format: Option<Format>,
    /// How the system encodes keys: bytes, utf16, long ... [default: its usual encoding]
    #[arg(long, value_name = "TYPE", value_parser = key_types(), hide_possible_values = true)]
    pub key_type: Option<KeyType>,
    /// Size of a bare bitmap in bits (m)
    #[arg(long, value_name = "COUNT", value_parser = parse_count)]
    #[arg(requires_all = ["format", "hashes"])]
    pub bits: Option<u64>,
    /// Number of hash functions of a bare bitmap (k)
    #[arg(long, value_name = "COUNT", value_parser = parse_hashes, requires = "bits")]
    pub hashes: Option<u32>,
    /// Number of bitmaps of that size that a magnuss-redis filter on a server uses
    #[arg(long, value_name = "COUNT", value_parser = parse_hashes, requires = "format")]
    pub bitmaps: Option<u32>,
}

const CLASS: &str = "bloomfileter: Java class that will read the file [default: BloomFileter]";

/// Options for creating filters of other systems.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Filters of other systems")]
pub struct SystemArgs {
    /// Arguments about existing ones too.
    #[command(flatten)]
    pub foreign: ForeignArgs,
    /// pybloomfiltermmap: seeds of its hash functions, as 1,2,3 [default: from 1 on]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "format")]
    pub hash_seeds: Option<Vec<u32>>,
    /// The Java class of a file of `BloomFileter`.
    #[arg(long, value_name = "NAME", requires = "format", help = CLASS)]
    pub class: Option<String>,
    /// bloomfileter: it forgets all keys at this share of marks to bits: 50%
    #[arg(long, value_name = "SHARE", value_parser = parse_fpp, requires = "format")]
    pub clear_at: Option<f64>,
}

#[cfg(feature = "redis")]
impl SystemArgs {
    /// Refuses parameters that only files have.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`].
    pub fn check_server(&self) -> Result<(), Error> {
        let given = [
            ("--hash-seeds", self.hash_seeds.is_some()),
            ("--class", self.class.is_some()),
            ("--clear-at", self.clear_at.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Error::usage(
                format!("{option} is given, but no filter on a server has that"),
                "omit it, or name a file",
            )),
            None => Ok(()),
        }
    }
}

/// The help of `--format` for verbs that create files.
pub const NEW_FORMAT: &str = "\
For another system: guava, spark, redisson, redisbloom, dcso, bits-and-blooms, bloomfileter, \
magnuss, magnuss-redis, rbloom, pybloom-live, pybloomfiltermmap, parquet-sbbf";

fn formats() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.iter().map(|format| format.name());
    let aliases = Format::ALIASES.iter().map(|&(alias, _)| alias);
    PossibleValuesParser::new(names.chain(aliases))
        .try_map(|name| Format::from_name(&name).ok_or("unknown format"))
}

/// The names of key types.
pub fn key_types() -> impl TypedValueParser<Value = KeyType> {
    let names = KeyType::ALL.iter().map(|key_type| key_type.name());
    PossibleValuesParser::new(names)
        .try_map(|name| KeyType::from_name(&name).ok_or("unknown key type"))
}

/// Why a text is no number of hash functions.
#[derive(Debug, thiserror::Error)]
pub enum HashesError {
    /// It is no number.
    #[error(transparent)]
    Count(#[from] NumberError),
    /// It is above this limit.
    #[error("at most {0}")]
    TooMany(u32),
}

/// Reads a number of hash functions.
///
/// # Errors
///
/// Those of [`HashesError`].
pub fn parse_hashes(text: &str) -> Result<u32, HashesError> {
    u32::try_from(parse_count(text)?).map_err(|_| HashesError::TooMany(u32::MAX))
}

impl ForeignArgs {
    /// The facts that they give, with this secret key.
    pub fn known(&self, secret_key: Option<SecretKey>) -> Known {
        Known {
            secret_key,
            key_of_several: false,
            format: self.format,
            key_type: self.key_type,
            shape: self.shape(),
            num_bitmaps: self.bitmaps,
        }
    }

    /// m and k of a bare bitmap, if they were given.
    pub fn shape(&self) -> Option<Shape> {
        let num_hashes = self.hashes?;
        // The remainder of a Java int by a negative m is the one by |m|, so its sign only matters
        // for the one m that has no positive form.
        let num_bits = match (self.bits?, self.format) {
            (0x8000_0000, Some(Format::MagnusS | Format::MagnusRedis)) => i64::from(i32::MIN),
            (bits, _) => i64::try_from(bits).unwrap_or(i64::MAX),
        };
        Some(Shape { num_bits, num_hashes })
    }
}
