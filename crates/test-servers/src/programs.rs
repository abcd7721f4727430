//! Finding programs, and the result of a test if some are missing.

use crate::Error;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The variable that names another server than `redis-server`, such as Valkey's.
const REDIS_VARIABLE: &str = "MAYHAP_REDIS_SERVER";
/// The variable that makes a test fail, not skip, without its servers.
const REQUIRE_VARIABLE: &str = "MAYHAP_REQUIRE_SERVERS";
/// The variable that lets a test skip, and not fail, without a tool.
const TOOLS_VARIABLE: &str = "MAYHAP_REQUIRE_TOOLS";
/// The folder of `PostgreSQL`'s server programs on Debian, by version.
const POSTGRES_VERSIONS: &str = "/usr/lib/postgresql";

/// Returns the path of `program`, if it is installed.
///
/// `redis-server` is replaced by the program in `MAYHAP_REDIS_SERVER`, if it is set. The others are
/// searched on the path and then in Debian's folders of `PostgreSQL`, newest version first.
fn find(program: &str) -> Option<PathBuf> {
    let named = env::var_os(REDIS_VARIABLE).filter(|_| program == "redis-server");
    let name = named.unwrap_or_else(|| program.into());
    let path = env::var_os("PATH").unwrap_or_default();
    // A name with a slash replaces the folder or is relative to here, as in a shell.
    let here = Path::new(&name).components().count() > 1;
    let mut places: Vec<PathBuf> =
        if here { vec![PathBuf::new()] } else { env::split_paths(&path).collect() };
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(POSTGRES_VERSIONS)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|e| Some((e.file_name().to_str()?.parse().ok()?, e.path().join("bin"))))
        .collect();
    versions.sort_unstable();
    places.extend(versions.into_iter().rev().map(|(_, folder)| folder));
    let file = places.into_iter().map(|folder| folder.join(&name)).find(|file| file.is_file())?;
    // The server runs in another folder. A link is kept: `redis-server` selects its mode by it.
    std::path::absolute(file).ok()
}

/// Returns the path of `program`.
///
/// # Errors
///
/// [`Error::Missing`] if it is not installed.
pub(crate) fn need(program: &str) -> Result<PathBuf, Error> {
    find(program).ok_or_else(|| Error::Missing(missing(&[program]).unwrap_or_default()))
}

/// Returns a sentence that names the missing programs and their Debian packages, or `None` if all
/// are installed.
///
/// `redis-server` counts as installed if the program in `MAYHAP_REDIS_SERVER` is.
pub fn missing(programs: &[&str]) -> Option<String> {
    let gone: Vec<&str> = programs.iter().copied().filter(|name| find(name).is_none()).collect();
    if gone.is_empty() {
        return None;
    }
    let mut packages: Vec<&str> = gone.iter().map(|name| package(name)).collect();
    packages.sort_unstable();
    packages.dedup();
    let mut message = format!("{} not found: install {}", gone.join(", "), packages.join(" "));
    if let Some(value) = env::var_os(REDIS_VARIABLE).filter(|_| gone.contains(&"redis-server")) {
        let _ = write!(message, " ({REDIS_VARIABLE} is {})", value.display());
    }
    Some(message)
}

fn package(program: &str) -> &str {
    match program {
        "redis-benchmark" | "redis-cli" => "redis-tools",
        "initdb" | "postgres" | "pg_isready" => "postgresql",
        "setpriv" => "util-linux",
        other => other,
    }
}

/// Returns whether a test that needs these programs can run; if not, prints `SKIPPED` and why.
///
/// # Panics
///
/// If a program is missing and `MAYHAP_REQUIRE_SERVERS` is 1, as set by `make check`.
pub fn ready(programs: &[&str]) -> bool {
    let required = env::var(REQUIRE_VARIABLE).is_ok_and(|value| value == "1");
    match missing(programs) {
        None => true,
        Some(message) if required => panic!("{message} ({REQUIRE_VARIABLE} is 1)"),
        Some(message) => {
            skipped(&message);
            false
        }
    }
}

/// Returns whether a test that needs a tool of this machine can run: whether it `is_here`.
///
/// `what` names the tool, with its package. A test without its tool would pass unnoticed, so it
/// fails; with `MAYHAP_REQUIRE_TOOLS=0` it prints `SKIPPED` and why.
///
/// # Panics
///
/// If the tool is missing and `MAYHAP_REQUIRE_TOOLS` is not 0.
///
/// # Examples
///
/// ```
/// if !test_servers::tool(std::path::Path::new("/").is_dir(), "a file system") {
///     return;
/// }
/// ```
pub fn tool(is_here: bool, what: &str) -> bool {
    let is_required = env::var(TOOLS_VARIABLE).map_or(true, |value| value != "0");
    assert!(is_here || !is_required, "needs {what}; with {TOOLS_VARIABLE}=0 it is skipped");
    if !is_here {
        skipped(&format!("needs {what}"));
    }
    is_here
}

/// Prints that a test is incomplete, for a reason that no installation resolves.
pub fn skipped(why: &str) {
    // Not by `println!`, whose output is hidden for a test that passes.
    let _ = writeln!(io::stderr(), "SKIPPED: {why}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let message = missing(&["sh", "no-such-program"]).unwrap();
        assert_eq!(message, "no-such-program not found: install no-such-program");
        assert_eq!(missing(&["sh"]), None);
    }
}
