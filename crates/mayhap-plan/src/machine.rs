//! The sizes of this machine's memories.

use mayhap::plan::MemorySizes;
use mayhap_units::number::parse_bytes;
use std::path::Path;

/// Where Linux lists the caches of the first core.
const CACHES: &str = "/sys/devices/system/cpu/cpu0/cache";

/// The caches of this machine, with its memory if it is known; where they are unknown, the sizes of
/// a common server.
pub fn memory_sizes(ram_bytes: Option<u64>) -> MemorySizes {
    memory_sizes_of(Path::new(CACHES), ram_bytes)
}

fn memory_sizes_of(caches: &Path, ram_bytes: Option<u64>) -> MemorySizes {
    let usual = MemorySizes::default();
    let l2_bytes = cache_bytes(caches, "2").unwrap_or(usual.l2_bytes);
    // A machine that lists only a second level has no third.
    let l3_bytes = match cache_bytes(caches, "3") {
        Some(bytes) => bytes,
        None if caches.is_dir() => l2_bytes,
        None => usual.l3_bytes.max(l2_bytes),
    };
    MemorySizes { l2_bytes, l3_bytes, ram_bytes: ram_bytes.unwrap_or(usual.ram_bytes) }
}

/// The size of the data cache of a level.
fn cache_bytes(caches: &Path, level: &str) -> Option<u64> {
    let read = |folder: &Path, name| std::fs::read_to_string(folder.join(name)).ok();
    let folders = std::fs::read_dir(caches).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    folders
        .filter(|folder| read(folder, "level").is_some_and(|text| text.trim() == level))
        .filter(|folder| read(folder, "type").is_some_and(|text| text.trim() != "Instruction"))
        // The kernel's K are 1024 bytes.
        .filter_map(|folder| {
            let text = read(&folder, "size")?;
            parse_bytes(&text.trim().replace('K', "Ki").replace('M', "Mi")).ok()
        })
        .max()
}

#[cfg(test)]
mod tests {
    use super::memory_sizes_of;
    use mayhap::plan::MemorySizes;
    use std::path::Path;

    fn cache(folder: &Path, index: u32, level: &str, kind: &str, size: &str) {
        let folder = folder.join(format!("index{index}"));
        std::fs::create_dir(&folder).unwrap();
        for (name, text) in [("level", level), ("type", kind), ("size", size)] {
            std::fs::write(folder.join(name), format!("{text}\n")).unwrap();
        }
    }

    #[test]
    fn caches_are_those_that_the_kernel_lists() {
        let folder = tempfile::tempdir().unwrap();
        cache(folder.path(), 0, "1", "Data", "48K");
        cache(folder.path(), 1, "2", "Instruction", "4096K");
        cache(folder.path(), 2, "2", "Unified", "2048K");
        let small = memory_sizes_of(folder.path(), Some(7));
        assert_eq!(small, MemorySizes { l2_bytes: 2 << 20, l3_bytes: 2 << 20, ram_bytes: 7 });
        cache(folder.path(), 3, "3", "Unified", "32M");
        assert_eq!(memory_sizes_of(folder.path(), Some(7)).l3_bytes, 32 << 20);
        assert_eq!(memory_sizes_of(Path::new("/absent"), None), MemorySizes::default());
    }
}
