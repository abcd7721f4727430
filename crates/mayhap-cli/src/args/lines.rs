//! How lines are cut, and keys out of them.

use clap::Args;
use mayhap_keys::{JsonPointer, KeyOptions, parse_delim, parse_field};
use mayhap_lists::Reading;
use mayhap_units::number::parse_bytes;
use std::num::NonZeroU32;

/// How lines are split, and keys extracted from them.
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
    /// Use the bytes as they are: do not decompress, and keep CR and byte-order marks in keys
    #[arg(long)]
    pub raw: bool,
    /// Longest line allowed
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "64MiB")]
    pub max_line: u64,
    /// Use this field as the key, counted from 1; quotes have no special meaning
    #[arg(long, alias = "by-field", value_name = "NUMBER", value_parser = parse_field)]
    pub field: Option<NonZeroU32>,
    /// Field delimiter, one byte: , or : or \t or \x1F [default: \t]
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
    /// Decode a key from hexadecimal, in either case
    #[arg(long, conflicts_with_all = ["lower", "normalize_url"])]
    pub hex: bool,
    /// Normalize each key, an absolute URL, and drop its fragment
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

    /// How lists are read, for lines of at least 1 byte.
    pub fn reading(&self) -> Reading {
        let max_line = usize::try_from(self.max_line).unwrap_or(usize::MAX).max(1);
        Reading { raw: self.raw, gathers: false, max_line }
    }
}
