//! Which of the files of a command are filters, and which are lists of lines to look up in them.

use crate::args::FilterArgs;
use crate::error::Error;
use mayhap_lists::{Reading, is_filter};
use mayhap_units::number::format_bytes;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The longest list of filters: names of 64 bytes for as many as a matrix has.
const MAX_LIST_BYTES: u64 = 64 << 20;

/// The mark that some editors write at the beginning of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The filters and the lists of a command: filters are those of `-f` and `-F` or else the first
/// file, the files of a folder in its place. Others among the files are filters too, as a shell
/// leaves them behind `*.mayhap`, where any is named with `-f` or where `takes_many`.
///
/// # Errors
///
/// [`Error::Usage`] for a folder or a list without filters; [`Error::Io`].
pub fn sort(
    named: &FilterArgs,
    files: &[PathBuf],
    reading: &Reading,
    takes_many: bool,
) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Error> {
    let mut names = named.filters.clone();
    if let Some(list) = &named.filter_list {
        names.extend(listed(list)?);
    }
    let takes_many = takes_many || !names.is_empty();
    let mut files = files;
    if let (true, Some((first, rest))) = (names.is_empty(), files.split_first()) {
        names.push(first.clone());
        files = rest;
    }
    let mut filters = Vec::new();
    for path in names {
        if path.is_dir() {
            filters.extend(filters_in(&path, reading)?);
        } else {
            filters.push(path);
        }
    }
    let (more, lists): (Vec<_>, Vec<_>) =
        files.iter().cloned().partition(|path| takes_many && is_filter(path, reading));
    filters.extend(more);
    Ok((filters, lists))
}

/// The names in a list of filters.
fn listed(list: &Path) -> Result<Vec<PathBuf>, Error> {
    let text = read_list(list)?;
    let lines = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text).split(|byte| *byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let names = lines.filter(|line| !line.is_empty());
    let names: Vec<_> = names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect();
    if names.is_empty() {
        return Err(Error::usage(
            format!("{} names no filter", list.display()),
            "write the name of a filter on each line",
        ));
    }
    Ok(names)
}

/// The bytes of a list of filters, if it is as short as such lists are.
fn read_list(list: &Path) -> Result<Vec<u8>, Error> {
    let name = list.display().to_string();
    let file = std::fs::File::open(list).map_err(Error::io("open", &name))?;
    let mut text = Vec::new();
    let read = file.take(MAX_LIST_BYTES + 1).read_to_end(&mut text);
    let bytes = read.map_err(Error::io("read", &name))? as u64;
    if bytes > MAX_LIST_BYTES {
        let limit = format_bytes(MAX_LIST_BYTES);
        return Err(Error::usage(
            format!("{name} is a list of filters of more than {limit}"),
            "name the filters in it; keys to look up are the INPUT",
        ));
    }
    Ok(text)
}

/// The filters in a folder, in the order of their names.
fn filters_in(folder: &Path, reading: &Reading) -> Result<Vec<PathBuf>, Error> {
    let name = folder.display().to_string();
    let mut filters = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::io("read", &name))? {
        let path = entry.map_err(Error::io("read", &name))?.path();
        if is_filter(&path, reading) {
            filters.push(path);
        }
    }
    if filters.is_empty() {
        return Err(Error::usage(
            format!("there is no filter in the folder {name}"),
            "name the folder that has them, or each of them with -f",
        ));
    }
    filters.sort();
    Ok(filters)
}
