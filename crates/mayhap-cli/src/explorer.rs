//! The explorer page in the command, as a file that a browser opens.

use crate::error::Error;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, process};

/// Writes the page into the user's cache folder and returns its address, `file://…`.
///
/// # Errors
///
/// [`Error::Usage`] if this command is built without the page, or there is no cache folder;
/// [`Error::Io`].
pub fn address() -> Result<String, Error> {
    let Some(page) = page() else {
        return Err(Error::usage(
            "this command is built without the explorer page",
            "build it with --features explorer (docs/browser.md), or name another page: \
             mayhap plan --url PAGE",
        ));
    };
    let parent = cache_folder(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"));
    let parent = parent.ok_or_else(|| {
        Error::usage(
            "there is no cache folder for the explorer page: HOME is not set",
            "set XDG_CACHE_HOME to the whole path of a folder",
        )
    })?;
    let folder = parent.join("mayhap");
    let path = put(&folder, page).map_err(Error::io("write", &folder.to_string_lossy()))?;
    Ok(url_of(&path))
}

/// Shows an address without a state in the user's browser, if a person is there to see it: on a
/// terminal of a desktop. What opens files there drops the state of an address.
pub fn show(address: &str) {
    let is_mac = cfg!(target_os = "macos");
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    let has_screen = is_mac || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
    if io::stdout().is_terminal() && has_screen {
        let mut command = Command::new(if is_mac { "open" } else { "xdg-open" });
        command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // The end of this command, or Ctrl-C at the next one, is none of the browser's.
        command.process_group(0);
        // Without it the printed address has to do.
        let _ = command.spawn();
    }
}

/// The page, if it was there when this command was built.
fn page() -> Option<&'static str> {
    #[cfg(feature = "explorer")]
    return mayhap_dashboard::files::FILES
        .iter()
        .find(|file| file.path == "/explorer")
        .map(|file| file.text);
    #[cfg(not(feature = "explorer"))]
    None
}

/// The folder for what can be made again; relative paths do not count, as the XDG rules have it.
fn cache_folder(cache: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let whole = |path: Option<OsString>| path.map(PathBuf::from).filter(|path| path.is_absolute());
    whole(cache).or_else(|| whole(home).map(|home| home.join(".cache")))
}

/// Writes the page so that its path has the old one or the new one at any moment; the folder and
/// the file are the user's alone.
fn put(folder: &Path, page: &str) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join("explorer.html");
    let new = folder.join(format!(".explorer.html.{}", process::id()));
    // That of a process with this number, which did not end well.
    let _ = fs::remove_file(&new);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    let put = file.write_all(page.as_bytes()).and_then(|()| fs::rename(&new, &path));
    put.inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })?;
    Ok(path)
}

/// The address of a file, with bytes other than letters, digits and `/-._~` escaped.
fn url_of(path: &Path) -> String {
    let mut url = String::from("file://");
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                url.push(char::from(byte));
            }
            // Writing to a string does not fail.
            _ => _ = write!(url, "%{byte:02X}"),
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn the_page_is_replaced_whole_and_is_the_users_alone() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("a b").join("mayhap");
        for page in ["the first", "2nd"] {
            let path = put(&folder, page).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), page);
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "a temporary file is left");
        // A folder in the page's place: refused, and nothing is left beside it.
        fs::remove_file(folder.join("explorer.html")).unwrap();
        fs::create_dir(folder.join("explorer.html")).unwrap();
        put(&folder, "3rd").unwrap_err();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "a temporary file is left");
    }

    #[test]
    fn the_cache_folder_is_a_whole_path() {
        let of = |cache: Option<&str>, home: Option<&str>| {
            cache_folder(cache.map(Into::into), home.map(Into::into))
        };
        assert_eq!(of(Some("/c"), Some("/h")), Some("/c".into()));
        for cache in [None, Some(""), Some("relative")] {
            assert_eq!(of(cache, Some("/h")), Some("/h/.cache".into()), "{cache:?}");
            assert_eq!(of(cache, Some("h")), None, "{cache:?}");
            assert_eq!(of(cache, None), None, "{cache:?}");
        }
    }

    #[test]
    fn the_address_of_any_path_is_one_url() {
        let path = Path::new("/home/a b/100%#?é/x.html");
        assert_eq!(url_of(path), "file:///home/a%20b/100%25%23%3F%C3%A9/x.html");
    }
}
