//! Forged files under an allocator that refuses large requests and poisons memory.
#![expect(unsafe_code, reason = "a global allocator is unsafe to write")]

use mayhap::native::{self, HEADER_BYTES};
use mayhap::{AnyFilter, Layout};
use mayhap_store::{LiveFilter, load, open_mapped, open_trusted, read_header, save, verify};
use std::alloc::{GlobalAlloc, Layout as Request, System};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use xxhash_rust::xxh3::xxh3_64;

/// No test here needs more at once: a filter of 64 KiB, the chunk to check it with, a log window.
const LIMIT: usize = 4 << 20;

/// The largest request so far.
static LARGEST: AtomicUsize = AtomicUsize::new(0);

/// A failed test may read all it needs for its backtrace.
fn is_refused(request: Request) -> bool {
    request.size() > LIMIT && !std::thread::panicking()
}

struct Refusing;

// SAFETY: every call goes to the system allocator with the caller's own arguments, or returns null,
// which means "refused". Memory is written only right after its allocation or right before it is
// freed.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, request: Request) -> *mut u8 {
        // ORDERING: Relaxed. A statistic; no other memory belongs to it.
        LARGEST.fetch_max(request.size(), Ordering::Relaxed);
        if is_refused(request) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps `alloc`'s contract; the written bytes are the allocated ones.
        unsafe {
            let memory = System.alloc(request);
            if !memory.is_null() {
                memory.write_bytes(0xA5, request.size());
            }
            memory
        }
    }

    unsafe fn alloc_zeroed(&self, request: Request) -> *mut u8 {
        LARGEST.fetch_max(request.size(), Ordering::Relaxed);
        if is_refused(request) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc_zeroed(request) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, request: Request) {
        // SAFETY: the caller returns memory of this request, which is no longer read.
        unsafe {
            memory.write_bytes(0x5A, request.size());
            System.dealloc(memory, request);
        }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Every way to open it.
fn errors(path: &Path) -> Vec<String> {
    [
        load(path, None).map(drop),
        open_mapped(path, None).map(drop),
        verify(path).map(drop),
        read_header(path).map(drop),
        LiveFilter::open(path, None).map(drop),
    ]
    .into_iter()
    .filter_map(|result| result.err().map(|error| error.to_string()))
    .collect()
}

fn small_filter(layout: Layout) -> AnyFilter {
    let builder = AnyFilter::builder().layout(layout).num_bits(8 * 4096 * 8);
    let mut filter = builder.expected_items(1000).build().unwrap();
    (0..1000u64).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

fn forge(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
    let checksum = xxh3_64(&bytes[..HEADER_BYTES - 8]).to_le_bytes();
    bytes[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&checksum);
}

// One test, since the statistic belongs to the whole process.
#[test]
fn forged_files_are_refused_without_large_allocations_and_good_ones_are_read_right() {
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("a");

    // The allocator does refuse, and the core returns an error instead of aborting.
    let too_large = AnyFilter::builder().num_bytes(64 << 20).target_fpp(0.01).build();
    assert!(matches!(too_large, Err(mayhap::Error::OutOfMemory { .. })));
    LARGEST.store(0, Ordering::Relaxed);

    // 1 TiB declared in a file of 4 KiB, and in one of a few pages.
    for kept in [HEADER_BYTES, usize::MAX] {
        for num_bits in [1u64 << 36, 1 << 43, 1 << 56, u64::MAX] {
            let mut bytes = native::encode(&small_filter(Layout::Blocked), "");
            bytes.truncate(kept);
            forge(&mut bytes, 24, &num_bits.to_le_bytes());
            fs::write(path, &bytes).unwrap();
            assert_eq!(errors(path).len(), 5);
        }
    }
    for (at, value) in [(32, &[0xFF; 4][..]), (36, &[0xFF; 2]), (40, &[0xFF; 8]), (56, &[0xFF; 8])]
    {
        let mut bytes = native::encode(&small_filter(Layout::Standard), "");
        forge(&mut bytes, at, value);
        fs::write(path, &bytes).unwrap();
        errors(path);
    }
    // A record that declares 2^32 − 1 digests.
    let log = folder.path().join("a.log");
    let _ = fs::remove_file(&log);
    fs::write(path, native::encode(&small_filter(Layout::Standard), "")).unwrap();
    let (mut live, _) = LiveFilter::open(path, None).unwrap();
    live.record(&[mayhap::Digest::new(1)]).unwrap();
    drop(live);
    let mut bytes = fs::read(&log).unwrap();
    bytes.extend([0; 16]);
    bytes.extend(u32::MAX.to_le_bytes());
    bytes.extend(b"\x89mhr and no more");
    fs::write(&log, bytes).unwrap();
    assert_eq!(LiveFilter::open(path, None).unwrap().1.dropped_bytes, 36);
    let largest = LARGEST.load(Ordering::Relaxed);
    assert!(largest < 1 << 20, "{largest} bytes at once");

    // A sparse file that has the length it declares, but is larger than memory.
    let mut bytes = native::encode(&small_filter(Layout::Blocked), "");
    bytes.truncate(HEADER_BYTES);
    forge(&mut bytes, 24, &(1u64 << 33).to_le_bytes());
    let file_bytes = native::Header::decode(&bytes).unwrap().file_bytes();
    fs::write(path, &bytes).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_len(file_bytes).unwrap();
    let text = load(path, None).unwrap_err().to_string();
    assert!(text.contains("cannot allocate 1073741824 bytes"), "{text}");
    assert!(!open_trusted(path, None).unwrap().contains("key").unwrap());

    // Poisoned memory shows in no answer.
    for layout in [Layout::Standard, Layout::Blocked] {
        let filter = small_filter(layout);
        save(path, &filter, "").unwrap();
        assert_eq!(load(path, None).unwrap().filter.blocks(), filter.blocks());
        assert_eq!(fs::read(path).unwrap(), native::encode(&filter, ""));
        let _ = fs::remove_file(&log);
        let (mut live, _) = LiveFilter::open(path, None).unwrap();
        let digest = live.filter().digest_function().digest("recorded");
        live.record(&[digest]).unwrap();
        drop(live);
        assert!(LiveFilter::open(path, None).unwrap().0.filter().contains("recorded"));
    }
}
