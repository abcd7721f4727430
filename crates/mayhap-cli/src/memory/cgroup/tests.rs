//! Trees of files as kernels and container systems show them.

use super::{limit, unescaped};
use std::fs;
use std::path::Path;

const MIB: u64 = 1 << 20;

/// A root with these files, `{"/proc/self/cgroup": …}`, and the limit that is found below it.
fn found(files: &[(&str, &str)]) -> Option<u64> {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path.strip_prefix('/').unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    limit(root.path())
}

const V2: &str = "\
    22 1 0:20 / / rw - overlay overlay rw\n\
    30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const V1: &str = "\
    30 22 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n\
    31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
    32 30 0:28 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n";

#[test]
fn version_2_in_a_namespace_has_its_limit_at_the_mount() {
    let group = ("/proc/self/cgroup", "0::/\n");
    let mounts = ("/proc/self/mountinfo", V2);
    let max = ("/sys/fs/cgroup/memory.max", "268435456\n");
    assert_eq!(found(&[group, mounts, max]), Some(256 * MIB));
    let high = ("/sys/fs/cgroup/memory.high", "134217728\n");
    assert_eq!(found(&[group, mounts, max, high]), Some(128 * MIB), "the smaller one holds");
    let none = ("/sys/fs/cgroup/memory.max", "max\n");
    assert_eq!(found(&[group, mounts, none]), None);
    assert_eq!(found(&[group, mounts, none, high]), Some(128 * MIB));
    assert_eq!(found(&[group, mounts]), None, "a machine, whose root has no such files");
}

#[test]
fn the_smallest_limit_of_all_groups_above_holds() {
    let group = ("/proc/self/cgroup", "0::/kubepods.slice/pod1/container 2\n");
    let mounts = ("/proc/self/mountinfo", V2);
    let at = |folder: &str| format!("/sys/fs/cgroup/{folder}/memory.max");
    let [slice, pod] = [at("kubepods.slice"), at("kubepods.slice/pod1")];
    let [ours, other] = [at("kubepods.slice/pod1/container 2"), at("kubepods.slice/pod0")];
    let sizes = [512, 300, 400].map(|mib| format!("{}\n", mib * MIB));
    let all = [(&*slice, &*sizes[0]), (&*pod, &*sizes[1]), (&*ours, &*sizes[2])];
    let with = |more: &[(&str, &str)]| found(&[&[group, mounts], more].concat());
    assert_eq!(with(&all), Some(300 * MIB));
    assert_eq!(with(&[all[0], (&*ours, "max\n")]), Some(512 * MIB));
    assert_eq!(with(&[(&*other, "1048576\n")]), None, "of a group that is not ours");
}

#[test]
fn version_1_has_its_limit_in_the_hierarchy_of_memory() {
    let groups = "9:name=systemd:/x\n4:cpu,cpuacct:/docker/abc\n3:memory:/docker/abc\n";
    let group = ("/proc/self/cgroup", groups);
    let limit = ("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "268435456\n");
    let above = ("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "134217728\n");
    let mounts = ("/proc/self/mountinfo", V1);
    assert_eq!(found(&[group, mounts, limit]), Some(256 * MIB));
    assert_eq!(found(&[group, mounts, limit, above]), Some(128 * MIB));
    let cpu = ("/sys/fs/cgroup/cpu,cpuacct/docker/abc/memory.limit_in_bytes", "1\n");
    assert_eq!(found(&[group, mounts, cpu]), None);
}

#[test]
fn version_1_in_a_container_tells_limits_of_groups_that_are_out_of_sight() {
    // Docker mounts the container's own folder, which has another name outside.
    let mounts = V1.replace("0:28 / ", "0:28 /docker/abc ");
    let mounts = ("/proc/self/mountinfo", mounts.as_str());
    let limit = ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    let stat = "cache 0\nhierarchical_memory_limit 201326592\nhierarchical_memsw_limit 1\n";
    let stat = ("/sys/fs/cgroup/memory/memory.stat", stat);
    for group in ["3:memory:/docker/abc\n", "3:memory:/\n", "3:memory:/../..\n"] {
        let group = ("/proc/self/cgroup", group);
        assert_eq!(found(&[group, mounts, limit, stat]), Some(192 * MIB), "{group:?}");
        assert_eq!(found(&[group, mounts, limit]), Some(9_223_372_036_854_771_712));
    }
}

#[test]
fn hybrid_machines_have_both_versions_and_either_may_limit() {
    let mounts = format!("{V1}33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    let mounts = ("/proc/self/mountinfo", mounts.as_str());
    let group = ("/proc/self/cgroup", "3:memory:/a\n0::/b\n");
    let v1 = ("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "268435456\n");
    let v2 = ("/sys/fs/cgroup/unified/b/memory.max", "134217728\n");
    assert_eq!(found(&[group, mounts, v1]), Some(256 * MIB));
    assert_eq!(found(&[group, mounts, v2]), Some(128 * MIB));
    assert_eq!(found(&[group, mounts, v1, v2]), Some(128 * MIB));
}

#[test]
fn groups_outside_of_our_namespace_are_looked_up_where_they_can_be() {
    // The mounts were made before the namespace, or belong to the machine.
    let mounts = V2.replace("0:26 / ", "0:26 /../.. ");
    let outside = ("/proc/self/mountinfo", mounts.as_str());
    let limit = ("/sys/fs/cgroup/pod/c/memory.max", "268435456\n");
    let group = ("/proc/self/cgroup", "0::/../../pod/c\n");
    assert_eq!(found(&[group, outside, limit]), Some(256 * MIB));
    // It has no name below the mount: the mounted group is the best that is known.
    let namespaced = ("/proc/self/mountinfo", V2);
    let at_the_mount = ("/sys/fs/cgroup/memory.max", "134217728\n");
    assert_eq!(found(&[group, namespaced, at_the_mount, limit]), Some(128 * MIB));
}

#[test]
fn a_mount_of_the_machines_groups_beside_ours_is_not_ours() {
    let text = format!("{V2}40 22 0:26 /../../.. /host/cgroup rw - cgroup2 cgroup2 rw\n");
    let mounts = ("/proc/self/mountinfo", text.as_str());
    let group = ("/proc/self/cgroup", "0::/\n");
    let ours = ("/sys/fs/cgroup/memory.max", "268435456\n");
    let other = ("/host/cgroup/memory.max", "1048576\n");
    assert_eq!(found(&[group, mounts, ours, other]), Some(256 * MIB));
}

#[test]
fn without_lists_of_groups_or_mounts_the_usual_places_are_looked_at() {
    let v2 = ("/sys/fs/cgroup/memory.max", "268435456\n");
    let v1 = ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n");
    assert_eq!(found(&[v2]), Some(256 * MIB));
    assert_eq!(found(&[v1]), Some(128 * MIB));
    assert_eq!(found(&[("/proc/self/cgroup", "0::/\n"), v2]), Some(256 * MIB));
    assert_eq!(found(&[]), None);
}

#[test]
fn files_that_hold_something_else_limit_nothing() {
    let group = ("/proc/self/cgroup", "0::/a\nnonsense\n\n::\n");
    let mounts = "\nnonsense\n1 2 3 4\n30 22 0:26 / - cgroup2\n30 22 0:26 / /sys/fs/cgroup rw -\n";
    let mounts = format!("{mounts}{V2}");
    let mounts = ("/proc/self/mountinfo", mounts.as_str());
    for text in ["", "\n", "-1\n", "lots\n", "0\n", "99999999999999999999999\n"] {
        assert_eq!(found(&[group, mounts, ("/sys/fs/cgroup/a/memory.max", text)]), None, "{text}");
    }
}

#[test]
fn mounts_may_have_spaces_in_their_names() {
    assert_eq!(unescaped(b"/a\\040b\\134c\\04"), b"/a b\\c\\04");
    let mounts = V2.replace("/sys/fs/cgroup", "/sys/fs/my\\040groups");
    let files = [
        ("/proc/self/cgroup", "0::/a\n"),
        ("/proc/self/mountinfo", mounts.as_str()),
        ("/sys/fs/my groups/a/memory.max", "268435456\n"),
    ];
    assert_eq!(found(&files), Some(256 * MIB));
}

#[test]
fn this_machine_has_a_limit_or_none() {
    // Any input: it is parsed without a panic, and the limit is never 0.
    assert_ne!(limit(Path::new("/")), Some(0));
}
