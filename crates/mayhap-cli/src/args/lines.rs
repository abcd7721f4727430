//! How lines are cut, and keys out of them.

use crate::error::Error;
use clap::{ArgMatches, Args};
use mayhap_keys::{Fields, JsonPointer, KeyOptions, LineEnd, parse_delim};
use mayhap_lists::Reading;
use mayhap_units::number::parse_bytes;

/// How lines are split, and keys extracted from them.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Lines and keys")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct LineArgs {
    /// Lines end with NUL instead of a line feed
    #[arg(short = '0', long)]
    pub null: bool,
    /// One CR at the end of a line is not part of its key: the default, except with -0
    #[arg(long, conflicts_with = "raw")]
    pub crlf: bool,
    /// Use the bytes as they are: do not decompress, and keep CR and byte-order marks in keys
    #[arg(long)]
    pub raw: bool,
    /// Go on without the lines that have no key, however many: they are skipped, with a warning
    #[arg(long)]
    pub skip_bad: bool,
    /// Longest line allowed
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "64MiB")]
    pub max_line: u64,
    /// Use this field as the key, or several as one: 1,3; counted from 1
    #[arg(long, alias = "by-field", value_name = "NUMBERS", value_parser = Fields::parse)]
    pub field: Option<Fields>,
    /// Lines are records of CSV: fields may be quoted, and hold line feeds
    #[arg(long, requires = "field")]
    pub csv: bool,
    /// Field delimiter, one byte: , or : or \t or \x1F [default: \t, with --csv a comma]
    #[arg(long, value_name = "BYTE", value_parser = parse_delim, requires = "field")]
    pub delim: Option<u8>,
    /// Use this value of the JSON on each line as the key: /user/id
    #[arg(long, value_name = "POINTER", value_parser = JsonPointer::parse)]
    #[arg(conflicts_with = "field")]
    pub json_pointer: Option<JsonPointer>,
    /// Strip white space from both ends of a key
    #[arg(long)]
    pub trim: bool,
    /// Convert ASCII letters of a key to lower case
    #[arg(long)]
    pub lower: bool,
    /// Convert ASCII letters of a key to upper case
    #[arg(long, conflicts_with = "lower")]
    pub upper: bool,
    /// Decode a key from hexadecimal, in either case
    #[arg(long, conflicts_with_all = ["lower", "upper", "fold", "sha1"])]
    #[arg(group = "spelling")]
    pub hex: bool,
    /// Normalize each key, an absolute URL, and drop its fragment
    #[arg(long, group = "spelling")]
    pub normalize_url: bool,
    /// Use the domain of each key, a URL or an e-mail address
    #[arg(long, group = "spelling")]
    pub domain: bool,
    /// Query each URL with the hosts and folders above it, as in lists of Safe Browsing
    #[arg(long, group = "spelling", conflicts_with = "sha1")]
    pub url_prefixes: bool,
    /// Fold the case of all letters of a key, not only of ASCII ones
    #[arg(long, conflicts_with_all = ["lower", "upper"])]
    pub fold: bool,
    /// Use the SHA-1 of each key: plain words for a list of hashes
    #[arg(long)]
    pub sha1: bool,
}

/// Refuses values that contradict each other, which the flags alone do not.
///
/// # Errors
///
/// [`Error::Usage`] with the next step.
pub fn check(matches: &ArgMatches) -> Result<(), Error> {
    let Some((_, matches)) = matches.subcommand() else { return Ok(()) };
    let is_set = |id| matches!(matches.try_get_one::<bool>(id), Ok(Some(true)));
    let fields = matches.try_get_one::<Fields>("field").ok().flatten();
    if is_set("url_prefixes")
        && let Some(fields) = fields.filter(|fields| fields.are_several())
    {
        return Err(Error::usage(
            format!("--url-prefixes is for one URL, but --field {fields} is given"),
            "name the field of the URL",
        ));
    }
    if is_set("csv") && matches!(matches.try_get_one::<u8>("delim"), Ok(Some(b'"'))) {
        return Err(Error::usage(
            "--delim is a quote, which in CSV is around fields",
            "omit --csv, or name the delimiter",
        ));
    }
    Ok(())
}

impl LineArgs {
    /// As key options; those of a new filter are [`KeyOptions::for_new`] of them.
    pub fn key_options(&self) -> KeyOptions {
        let line_end = match () {
            () if self.crlf => LineEnd::CrLf,
            () if self.raw && !self.null => LineEnd::Lf,
            () => LineEnd::Unrecorded,
        };
        KeyOptions {
            nul: self.null,
            line_end,
            delim: self.delim,
            csv: self.csv,
            field: self.field.clone(),
            json_pointer: self.json_pointer.clone(),
            trim: self.trim,
            lower: self.lower,
            upper: self.upper,
            hex: self.hex,
            normalize_url: self.normalize_url,
            domain: self.domain,
            url_prefixes: self.url_prefixes,
            fold: self.fold,
            sha1: self.sha1,
            unix_ms: false,
        }
    }

    /// How lists are read, for lines of at least 1 byte.
    pub fn reading(&self) -> Reading {
        let max_line = usize::try_from(self.max_line).unwrap_or(usize::MAX).max(1);
        Reading { raw: self.raw, expects_cr: self.crlf, max_line, ..Reading::default() }
    }
}
