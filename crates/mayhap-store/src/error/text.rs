//! The parts of messages that depend on a value.

use crate::Holder;
use std::ops::Range;
use std::path::Path;

pub(super) fn holder(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "another process".into(), ToString::to_string)
}

pub(super) const fn left_behind(is_left_behind: bool) -> &'static str {
    if is_left_behind { "; if that process is gone, it was killed: remove this file" } else { "" }
}

/// Pages in words; counted from 0, as in [`mayhap::Error::PageDamaged`].
pub(super) fn pages(range: &Range<u64>) -> String {
    format!("pages {} to {}", range.start, range.end.saturating_sub(1))
}

pub(super) fn missing(missing: &[Range<u64>], num_pages: u64, path: &Path) -> String {
    let (first, path) = (pages(&missing[0]), path.display());
    let first = format!("{first} of the {num_pages} of the filter of {path} are missing");
    match missing.len() - 1 {
        0 => first,
        1 => format!("{first}, and 1 more range of pages"),
        more => format!("{first}, and {more} more ranges of pages"),
    }
}
