//! Filters, folders and child processes for all tests.

use mayhap::native::Native;
use mayhap::set::Set;
use mayhap::{AnyFilter, Digest, DigestFunction, Layout, SecretKey};
use mayhap_store::{Error, Loaded, Recovery, Snapshot};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the role that a child process plays; unset in the test run itself.
const ROLE: &str = "MAYHAP_STORE_TEST_ROLE";
/// The file that a child process works on.
const FILE: &str = "MAYHAP_STORE_TEST_FILE";

/// A folder for one test, removed at its end.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The names in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let name = |e: std::io::Result<std::fs::DirEntry>| e.unwrap().file_name();
        let mut names: Vec<_> = entries.map(|e| name(e).into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A filter of the given layout and size with the keys `from .. to` in it.
pub(crate) fn filter(layout: Layout, num_bits: u64, keys: std::ops::Range<u64>) -> AnyFilter {
    let mut filter =
        AnyFilter::builder().layout(layout).num_bits(num_bits).expected_items(100).build().unwrap();
    keys.for_each(|key| {
        filter.insert(&key);
    });
    filter
}

/// The digest of a number under the default function.
pub(crate) fn digest(key: u64) -> Digest {
    DigestFunction::default().digest(&key)
}

/// The filter at a path with its log, without a lock.
pub(crate) fn load_live_as<F: Native + Set>(
    path: &Path,
    secret_key: Option<SecretKey>,
) -> Result<(Loaded<F>, Recovery), Error> {
    Snapshot::open(path)?.load(secret_key, |_| {})
}

/// The same for a plain filter.
pub(crate) fn load_live(path: &Path, key: Option<SecretKey>) -> Result<(Loaded, Recovery), Error> {
    load_live_as(path, key)
}

/// Whether both have the same bits.
pub(crate) fn same_bits(left: &AnyFilter, right: &AnyFilter) -> bool {
    left.blocks() == right.blocks()
}

/// This test binary again, as the child process that runs only `test` and finds `role` and `file`
/// in [`child_role`]; `wrapper` precedes it on the command line.
pub(crate) fn child(wrapper: &[&str], test: &str, role: &str, file: &Path) -> Command {
    let exe = std::env::current_exe().unwrap();
    let mut command = match wrapper {
        [] => Command::new(exe),
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments).arg(exe);
            command
        }
    };
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(FILE, file).stdout(std::process::Stdio::null());
    command
}

/// The role and the file, in a child process.
pub(crate) fn child_role() -> Option<(String, PathBuf)> {
    Some((std::env::var(ROLE).ok()?, std::env::var_os(FILE)?.into()))
}

/// Whether a program can be run at all.
pub(crate) fn have_program(name: &str, argument: &str) -> bool {
    let output = Command::new(name).arg(argument).output();
    output.is_ok_and(|output| output.status.success())
}

/// Writes `bytes` over those at `at`, in place: some file systems make a truncated and rewritten
/// file wait for the disk.
pub(crate) fn overwrite(path: &Path, at: usize, bytes: &[u8]) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, bytes, at as u64).unwrap();
}
