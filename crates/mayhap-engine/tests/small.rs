//! The memory of small filters, beside their bits: in a process of its own, whose allocations it
//! counts.
#![expect(unsafe_code, reason = "an allocator that counts")]

use mayhap::SecretKey;
use mayhap_engine::Work;
use mayhap_engine::keyspace::{Hash, Keyspace, Options, Shape, Spec};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that are allocated, small allocations rounded up as mimalloc does.
static BYTES: AtomicU64 = AtomicU64::new(0);

struct Counting;

/// The size of the memory that an allocation gets: of four sizes for each power of two, multiples
/// of 16 up to 128. Larger ones are the bits, whose size is not that of the objects around them.
const fn rounded(bytes: usize) -> u64 {
    if bytes > 1_024 {
        return bytes as u64;
    }
    let step = if bytes <= 128 { 16 } else { bytes.next_power_of_two() / 8 };
    bytes.next_multiple_of(step) as u64
}

// SAFETY: every call is handed on unchanged to the allocator of the system.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(rounded(layout.size()), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(rounded(layout.size()), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        BYTES.fetch_sub(rounded(layout.size()), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const FILTERS: u64 = 2_000;

/// The bytes of each of many filters of a shape with names of 8 bytes, and those charged for it,
/// without those of its bits.
fn beside_bits(shape: Shape) -> (u64, u64) {
    let keyspace = Keyspace::new(Options::new(SecretKey::new([7; 16])));
    let spec = Spec { shape, hash: Hash::Keyed };
    let mut work = Work::default();
    let mut create = |number: u64| {
        let entry = keyspace.create(format!("{number:08}").as_bytes(), spec, 1, None).unwrap();
        entry.insert(b"key", &mut work).unwrap();
        entry.num_bytes()
    };
    // Beside what all of them share.
    let bits = create(FILTERS);
    let charged = keyspace.used_bytes() - bits;
    let before = BYTES.load(Ordering::Relaxed);
    (0..FILTERS).for_each(|number| assert_eq!(create(number), bits));
    ((BYTES.load(Ordering::Relaxed) - before) / FILTERS - bits, charged)
}

#[test]
fn what_is_charged_for_a_small_filter_is_what_it_takes() {
    let (capacity, target_fpp) = (100, 0.01);
    for (shape, most) in [
        (Shape::Growing { capacity, target_fpp, expansion: 2 }, 850),
        (Shape::Fixed { capacity, target_fpp, layout: None }, 750),
        (Shape::Counting { capacity, target_fpp }, 850),
        (Shape::Compact { capacity, target_fpp, expansion: 0 }, 1_100),
        (Shape::Clearing { capacity, target_fpp, at: 0.5 }, 850),
        (Shape::Window { items: 100, time_ms: 0, target_fpp, refresh: true }, 3_100),
    ] {
        let (bytes, charged) = beside_bits(shape);
        println!("{bytes} bytes, {charged} charged: {shape:?}");
        assert!(bytes <= most && bytes <= charged, "{shape:?}: {bytes} bytes, {charged} charged");
    }
}
