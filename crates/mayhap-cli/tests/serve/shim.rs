//! Slow syncs that record the safe bytes, and the power cut that removes the rest.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use test_servers::tool;

/// The library of `shim.c`, with its settings and records.
pub(crate) struct Shim {
    library: PathBuf,
    slow: PathBuf,
    log: PathBuf,
}

/// Files by inode, and how many bytes of each are on the disk.
pub(crate) type Safe = HashMap<u64, u64>;

impl Shim {
    /// Compiles it into this folder; `None` without a C compiler.
    pub(crate) fn build(folder: &Path) -> Option<Self> {
        let library = folder.join("shim.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/shim.c");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl");
        let Ok(status) = cc.status() else {
            tool(false, "a C compiler, cc (gcc)");
            return None;
        };
        assert!(status.success(), "{cc:?}");
        let (slow, log) = (folder.join("slow"), folder.join("synced"));
        Some(Self { library, slow, log })
    }

    pub(crate) fn settings(&self) -> [(&str, &Path); 3] {
        [("LD_PRELOAD", &self.library), ("SHIM_SLOW", &self.slow), ("SHIM_LOG", &self.log)]
    }

    /// Makes every later sync take this long.
    pub(crate) fn slow(&self, millis: u64) {
        let new = self.slow.with_extension("new");
        fs::write(&new, millis.to_string()).unwrap();
        fs::rename(new, &self.slow).unwrap();
    }

    /// The contents of the disk before the server starts: everything.
    pub(crate) fn begin(&self, data: &Path) -> Safe {
        self.slow(0);
        File::create(&self.log).unwrap();
        files(data).iter().map(|(_, file)| (file.ino(), file.len())).collect()
    }

    /// The number of syncs and files recorded.
    pub(crate) fn notes(&self) -> usize {
        fs::read_to_string(&self.log).unwrap().lines().count()
    }

    /// Removes everything that was not synced since; returns the number of bytes.
    pub(crate) fn cut(&self, data: &Path, mut safe: Safe) -> u64 {
        for line in fs::read_to_string(&self.log).unwrap().lines() {
            let (inode, bytes) = line.split_once(' ').unwrap();
            let (inode, bytes): (u64, u64) = (inode.parse().unwrap(), bytes.parse().unwrap());
            let known = safe.entry(inode).or_default();
            *known = if bytes == 0 { 0 } else { bytes.max(*known) };
        }
        let mut gone = 0;
        for (path, file) in files(data) {
            let keep = safe.get(&file.ino()).copied().unwrap_or(0);
            if file.len() > keep {
                gone += file.len() - keep;
                File::options().write(true).open(path).unwrap().set_len(keep).unwrap();
            }
        }
        gone
    }
}

/// All files in a folder and in its subfolders.
pub(crate) fn files(folder: &Path) -> Vec<(PathBuf, fs::Metadata)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() {
            all.extend(files(&entry.path()));
        } else {
            all.push((entry.path(), metadata));
        }
    }
    all
}
