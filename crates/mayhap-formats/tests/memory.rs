//! Memory that a Parquet footer takes, under an allocator that counts.
#![expect(unsafe_code, reason = "a global allocator is unsafe to write")]

use mayhap_formats::{Limits, ParquetFile};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Cursor;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes allocated now, and their maximum since the count was started.
static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call goes to the system allocator with the caller's own arguments. A block that
// grows is a new one here, so that copied bytes count twice.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // ORDERING: Relaxed. Statistics of one thread; no other memory belongs to them.
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller returns memory of this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const FOOTER_BYTES: usize = 8_000_000;

/// The header of a list of this number of structures, which follow.
fn list(header: u8, count: usize) -> Vec<u8> {
    let mut bytes = vec![header, 0xFC];
    varint(count as u64, &mut bytes);
    bytes
}

fn varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A file of this footer: a schema of columns named `c`, and row groups of one row.
fn file(columns: usize, row_groups: usize, chunk: &dyn Fn(u64) -> Vec<u8>) -> Vec<u8> {
    let mut footer = list(0x29, columns + 1);
    footer.extend(b"\x48\x01r\x15");
    varint(columns as u64 * 2, &mut footer);
    footer.push(0);
    footer.extend(b"\x15\x02\x38\x01c\0".repeat(columns));
    footer.push(0x16);
    varint(row_groups as u64 * 2, &mut footer);
    footer.extend(list(0x19, row_groups));
    for group in 0..row_groups {
        footer.extend(list(0x19, columns));
        (0..columns).for_each(|i| footer.extend(chunk((group * columns + i) as u64)));
        footer.extend(b"\x26\x02\0");
    }
    footer.push(0);
    let len = (footer.len() as u32).to_le_bytes();
    // Filters may be before the footer.
    [b"PAR1", &*vec![0; FOOTER_BYTES], &footer, &len, b"PAR1"].concat()
}

/// Type, path and the offset of a filter.
fn with_filter(number: u64) -> Vec<u8> {
    let mut chunk = b"\x3C\x15\x02\x29\x18\x01c\xB6".to_vec();
    varint((4 + number) * 2, &mut chunk);
    chunk.extend(b"\0\0");
    chunk
}

/// One test, as all threads of a process share the count.
#[test]
fn a_footer_takes_four_times_its_bytes_at_most() {
    let empty = |_| vec![0];
    let most = |name: &str, bytes: &[u8], opens: bool| {
        let len = u32::from_le_bytes(*bytes[bytes.len() - 8..].first_chunk().unwrap()) as usize;
        assert!(len > FOOTER_BYTES / 2, "{name}: {len} bytes");
        let before = NOW.load(Ordering::Relaxed);
        MOST.store(before, Ordering::Relaxed);
        let file = ParquetFile::open(Cursor::new(bytes), &Limits::default());
        assert_eq!(file.is_ok(), opens, "{name}: {:?}", file.err());
        if let Ok(mut file) = file {
            let columns = file.columns().unwrap().len();
            let column = file.column("c", &Limits::default());
            assert!(column.is_err(), "{name}");
            println!("{name}: {columns} columns with filters");
        }
        let most = MOST.load(Ordering::Relaxed) - before;
        println!("{name}: {:.2} bytes for each", most as f64 / len as f64);
        assert!(most <= 4 * len, "{name}: {most} bytes for {len}");
    };
    // More chunks than columns.
    let claims = [b"\x29\x1C\x48\x01r\0\x16\x02\x19\x1C", &*list(0x19, FOOTER_BYTES)].concat();
    let footer = [&claims[..], &vec![0; FOOTER_BYTES], b"\x26\x02\0\0"].concat();
    let len = (footer.len() as u32).to_le_bytes();
    let chunks = [b"PAR1", &footer[..], &len, b"PAR1"].concat();
    most("empty chunks without columns", &chunks, false);
    most("empty chunks", &file(FOOTER_BYTES / 7, 1, &empty), true);
    most("row groups", &file(1, FOOTER_BYTES / 20, &with_filter), true);
    most("columns", &file(FOOTER_BYTES / 25, 1, &with_filter), true);
    most("row groups of columns", &file(1_000, FOOTER_BYTES / 20_000, &with_filter), true);
}
