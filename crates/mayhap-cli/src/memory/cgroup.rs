//! The memory that a container may have: the limits of control groups, versions 1 and 2.
//!
//! ```text
//! /proc/self/cgroup      which group of each hierarchy is ours:  0::/kubepods/pod1/c2
//! /proc/self/mountinfo   where the hierarchies are mounted, and from which of their folders on
//! memory.max, memory.high, memory.limit_in_bytes   of ours and of all groups above it
//! ```
//!
//! The smallest limit holds, whatever its origin. Inside a container, groups above the mounted
//! folder are out of sight; version 1 reports their limit in `memory.stat`.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// Files with a limit in bytes, or `max`.
const LIMITS: [&str; 3] = ["memory.max", "memory.high", "memory.limit_in_bytes"];
/// In version 1: the smallest limit of a group and its ancestors.
const HIERARCHICAL: &str = "hierarchical_memory_limit ";
/// Where container systems mount them, if the list of mounts cannot be read.
const USUAL: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/memory"];

/// A mounted hierarchy that limits memory.
struct Mount {
    /// Its folder that is mounted.
    root: PathBuf,
    /// Where.
    point: PathBuf,
    is_v2: bool,
}

/// The smallest limit of this process's control groups, in bytes; `None` without one. All files are
/// below `root`: `/`, except in tests.
///
/// Version 1 writes a number near 2^63 for no limit, which is above any machine's memory.
pub(super) fn limit(root: &Path) -> Option<u64> {
    let read = |path: &str| fs::read(below(root, Path::new(path))).ok();
    let mounts = read("/proc/self/mountinfo").map(|bytes| mounts(&bytes)).unwrap_or_default();
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let mut folders = Vec::new();
    for (is_v2, group) in groups.split(|&byte| byte == b'\n').filter_map(group) {
        folders.extend(folders_of(&mounts, is_v2, &group));
    }
    if folders.is_empty() {
        folders.extend(USUAL.map(PathBuf::from));
    }
    folders.iter().filter_map(|folder| limit_of(&below(root, folder))).min()
}

/// An absolute path below another root.
fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// A line of `/proc/self/cgroup` of a hierarchy that may limit memory: whether it is version 2, and
/// the group.
fn group(line: &[u8]) -> Option<(bool, PathBuf)> {
    let mut fields = line.splitn(3, |&byte| byte == b':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let is_v2 = number == b"0" && controllers.is_empty();
    let is_memory = controllers.split(|&byte| byte == b',').any(|name| name == b"memory");
    (is_v2 || is_memory).then(|| (is_v2, OsString::from_vec(path.to_vec()).into()))
}

/// Our group's folder and its ancestors, as far as they are mounted.
fn folders_of(mounts: &[Mount], is_v2: bool, group: &Path) -> Vec<PathBuf> {
    let ours = mounts.iter().filter(|mount| mount.is_v2 == is_v2);
    let inside = ours.clone().filter_map(|mount| {
        let rest = group.strip_prefix(&mount.root).ok()?;
        // Groups above the mounted folder cannot be reached by name.
        let is_below = rest.components().all(|part| matches!(part, Component::Normal(_)));
        is_below.then(|| (mount.point.clone(), rest.to_owned()))
    });
    let mut places: Vec<_> = inside.collect();
    if places.is_empty() {
        // A folder that container systems mount for us is ours, whatever its name outside.
        places.extend(ours.map(|mount| (mount.point.clone(), PathBuf::new())));
    }
    let mut folders = Vec::new();
    for (point, rest) in places {
        folders.extend(rest.ancestors().map(|rest| point.join(rest)));
    }
    folders
}

/// The smallest limit that a group's files have.
fn limit_of(folder: &Path) -> Option<u64> {
    let number = |text: &str| text.trim().parse().ok().filter(|&bytes: &u64| bytes > 0);
    let own = LIMITS.iter().filter_map(|name| {
        let text = fs::read_to_string(folder.join(name)).ok()?;
        number(&text)
    });
    let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let above = stat.lines().filter_map(|line| number(line.strip_prefix(HIERARCHICAL)?));
    own.chain(above).min()
}

/// The hierarchies that may limit memory, of `/proc/self/mountinfo`.
fn mounts(text: &[u8]) -> Vec<Mount> {
    text.split(|&byte| byte == b'\n').filter_map(mount).collect()
}

/// `36 35 98:0 /root /point options tags - type source options`.
fn mount(line: &[u8]) -> Option<Mount> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let end = fields.iter().skip(6).position(|field| *field == b"-")? + 6;
    let is_v2 = match *fields.get(end + 1)? {
        b"cgroup2" => true,
        b"cgroup" => {
            let options = fields.get(end + 3)?;
            if !options.split(|&byte| byte == b',').any(|option| option == b"memory") {
                return None;
            }
            false
        }
        _ => return None,
    };
    let path = |field: &[u8]| PathBuf::from(OsString::from_vec(unescaped(field)));
    Some(Mount { root: path(fields[3]), point: path(fields[4]), is_v2 })
}

/// A path in which spaces and similar characters are escaped as `\040`.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| first == b'\\');
        let octal = octal.and_then(|digits| std::ffi::OsStr::from_bytes(digits).to_str());
        let escaped = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    bytes
}

#[cfg(test)]
mod tests;
