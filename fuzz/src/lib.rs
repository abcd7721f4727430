//! Shared parts of the targets: an allocation limit, right checksums, and the checks of every
//! foreign filter.

pub mod foreign;

use mayhap::native::{
    self, HEADER_BYTES, Header, IDENTITY_BYTES, IDENTITY_OFFSET, Native, PAGE_BYTES,
};
use mayhap_formats::{Error, ForeignFilter, Limits};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;
use xxhash_rust::xxh3::xxh3_64;

/// Aborts, and so reports, when one allocation is larger than the limit in force on its thread; or
/// refuses it, which ends the process unless the caller can do without.
struct Limited;

#[derive(Clone, Copy)]
struct Limit {
    bytes: usize,
    refuses: bool,
}

impl Limit {
    const NONE: Self = Self { bytes: usize::MAX, refuses: false };
}

thread_local! {
    static LIMIT: Cell<Limit> = const { Cell::new(Limit::NONE) };
}

// SAFETY: every call goes to the system allocator unchanged, returns null, or ends the process.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout.size()) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_refused(layout.size()) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if is_refused(new_size) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promises are handed on.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are handed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Limited = Limited;

fn is_refused(size: usize) -> bool {
    let limit = LIMIT.get();
    if size <= limit.bytes || limit.refuses {
        return size > limit.bytes;
    }
    // Printing allocates.
    LIMIT.set(Limit::NONE);
    eprintln!("an allocation of {size} bytes, above the limit of {}", limit.bytes);
    std::process::abort();
}

/// Runs `f`, in which no allocation may be larger than `bytes`.
pub fn limited_to<T>(bytes: usize, f: impl FnOnce() -> T) -> T {
    under(Limit { bytes, refuses: false }, f)
}

/// Runs `f`, in which larger allocations than `bytes` fail, as on a machine without that memory: an
/// error for fallible allocations, and an abort for all others.
pub fn with_memory_of<T>(bytes: usize, f: impl FnOnce() -> T) -> T {
    under(Limit { bytes, refuses: true }, f)
}

fn under<T>(limit: Limit, f: impl FnOnce() -> T) -> T {
    LIMIT.set(limit);
    let result = f();
    LIMIT.set(Limit::NONE);
    result
}

/// Makes magic and checksums of the header at the front of `data` right, if it has one. An identity
/// is no part of the checksum of versions that have one, and has its own.
pub fn seal_header(data: &mut [u8]) {
    let Some(header) = data.get_mut(..4096) else { return };
    header[..8].copy_from_slice(b"\x89mayhap\n");
    let mut identity = [0; IDENTITY_BYTES];
    let place = IDENTITY_OFFSET..IDENTITY_OFFSET + IDENTITY_BYTES;
    if u16::from_le_bytes([header[8], header[9]]) >= 3 {
        identity.swap_with_slice(&mut header[place.clone()]);
    }
    let checksum = xxh3_64(&header[..4088]);
    header[4088..].copy_from_slice(&checksum.to_le_bytes());
    if identity != [0; IDENTITY_BYTES] {
        let checksum = xxh3_64(&identity[..IDENTITY_BYTES - 8]);
        identity[IDENTITY_BYTES - 8..].copy_from_slice(&checksum.to_le_bytes());
        header[place].copy_from_slice(&identity);
    }
}

/// Checks that a decoded filter is encoded to the same header and body.
pub fn check_encoded<F: Native>(filter: &F, header: &Header, data: &[u8]) {
    assert!(header.encode(header.table_checksum()) == data[..HEADER_BYTES], "another header");
    let encoded = native::encode(filter, header.key_options());
    assert!(encoded[HEADER_BYTES..] == data[HEADER_BYTES..], "another body");
}

/// Makes the checksums right of as many pages as there are bytes for.
pub fn seal_pages(data: &mut [u8]) {
    let Some(rest) = data.get_mut(HEADER_BYTES..) else { return };
    let pages = rest.len() / (PAGE_BYTES + 8);
    let (body, table) = rest.split_at_mut(pages * PAGE_BYTES);
    for (page, entry) in body.chunks(PAGE_BYTES).zip(table.chunks_exact_mut(8)) {
        entry.copy_from_slice(&xxh3_64(page).to_le_bytes());
    }
    let checksum = xxh3_64(table);
    data[64..72].copy_from_slice(&checksum.to_le_bytes());
    seal_header(data);
}

/// The limits of foreign filters: small, so that no input is slow.
pub const LIMITS: Limits = Limits { max_bytes: 1 << 20, max_hashes: 300 };

/// Opens foreign bytes; no allocation may be larger than the input and 16 MiB, and an error has a
/// message.
pub fn open_foreign<F>(
    data: &[u8],
    open: impl Fn(&[u8], &Limits) -> Result<F, Error>,
) -> Option<F> {
    let result = limited_to(data.len() + (16 << 20), || open(data, &LIMITS));
    result.map_err(|error| assert!(!error.to_string().is_empty())).ok()
}

/// Checks that an opened filter keeps working: it holds inserted keys, and reports its numbers.
pub fn go_on(filter: &mut dyn ForeignFilter) {
    if filter.insert(b"mayhap").is_ok() {
        assert!(filter.contains(b"mayhap"));
    }
    assert!(filter.num_bits() > 0 && filter.count_ones() <= filter.num_bits());
    let fpp = filter.estimated_fpp();
    assert!((0.0..=1.0).contains(&fpp), "{fpp}");
    filter.estimated_items();
    filter.facts();
}
