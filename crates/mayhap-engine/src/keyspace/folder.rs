//! The filter names of the files in a folder.

use mayhap_formats::{Format, KeyType};
use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder that some file systems have at their root.
const LOST_AND_FOUND: &str = "lost+found";
/// Extensions of files that belong to a filter file in the same folder.
const COMPANIONS: [&str; 2] = ["log", "digests"];

/// The entries of the folder, by filter name: sound files or not, links, and other entries. An
/// entry that is left out here is "surely not" to clients, so these are few: hidden entries,
/// `lost+found`, and files that belong to another one.
pub(super) fn names_in(folder: &Path) -> io::Result<BTreeMap<Arc<[u8]>, Vec<PathBuf>>> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name()));
    let all = entries.collect::<io::Result<HashSet<OsString>>>()?;
    let mut names = BTreeMap::<Arc<[u8]>, Vec<PathBuf>>::new();
    let shown = all.iter().filter(|entry| !entry.as_encoded_bytes().starts_with(b"."));
    for entry in shown.filter(|entry| *entry != LOST_AND_FOUND && !is_companion(entry, &all)) {
        if let Some((name, _)) = named(Path::new(entry)) {
            names.entry(name.as_encoded_bytes().into()).or_default().push(folder.join(entry));
        }
    }
    for paths in names.values_mut() {
        paths.sort_unstable();
    }
    Ok(names)
}

fn is_companion(entry: &OsStr, all: &HashSet<OsString>) -> bool {
    let path = Path::new(entry);
    let is_one = path.extension().is_some_and(|it| COMPANIONS.iter().any(|one| it == *one));
    is_one && path.file_stem().is_some_and(|filter| all.contains(filter))
}

type Said = (Option<Format>, Option<KeyType>);

/// The name of the filter in a file, which is the file name without its extension; and the format
/// and key type of a foreign filter by the extensions `.FORMAT` and `.TYPE.FORMAT`.
pub(super) fn named(path: &Path) -> Option<(&OsStr, Said)> {
    let stem = path.file_stem()?;
    let extension = |path: &Path| path.extension().and_then(OsStr::to_str).map(str::to_owned);
    let Some(format) = extension(path).and_then(|name| Format::from_name(&name)) else {
        return Some((stem, (None, None)));
    };
    let key_type = extension(Path::new(stem)).and_then(|name| KeyType::from_name(&name));
    let name = if key_type.is_some() { Path::new(stem).file_stem()? } else { stem };
    Some((name, (Some(format), key_type)))
}

/// The name of a file up to its first dot, for examples.
pub(super) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_file_names_without_type_and_format() {
        let folder = tempfile::tempdir().unwrap();
        for file in [
            "f.mayhap",
            "g",
            "ids.long.guava",
            "ids.bin",
            "day.2024.mayhap",
            "f.mayhap.log",
            "f.mayhap.digests",
            "alone.log",
            ".hidden",
        ] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        fs::create_dir(folder.path().join(LOST_AND_FOUND)).unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        let names = names_in(folder.path()).unwrap();
        let names: Vec<_> = names
            .iter()
            .map(|(name, paths)| (name.escape_ascii().to_string(), paths.len()))
            .collect();
        let expected =
            [("alone", 1), ("day.2024", 1), ("f", 1), ("folder", 1), ("g", 1), ("ids", 2)];
        assert_eq!(names, expected.map(|(name, files)| (name.to_owned(), files)));
        assert!(names_in(&folder.path().join("nowhere")).is_err());
    }
}
