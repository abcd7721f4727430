//! The contestants of each table.

use crate::contestants::Calls::{Batch, Digests, ReadyDigests, Single};
use crate::contestants::{DIGEST, Fills, Table};
use crate::floor;
use crate::ours::Frozen;
use crate::peers::{
    Aleph, Classic, Cuckoo, FastAtomic, FastDigest, Growable, OtherRibbon, Quotient, Rotating,
    Sbbf, Static, Sux,
};
use aleph_filter::AlephFilter;
use fastbloom::{AtomicBloomFilter, BloomFilter};
use growable_bloom_filter::GrowableBloom;
use mayhap::{
    BinaryFuse, Blocked, BlockedBloomFilter, Build, CompactFilter, ConcurrentScalableBloomFilter,
    CounterBits, CountingBloomFilter, Filter, FuseWidth, OwnedBlocks, RibbonFilter,
    ScalableBloomFilter, SharedBlocks, Standard, WindowBloomFilter,
};
use mayhap_bench::keys::BenchKey;
use std::collections::HashSet;

/// The reason why a build cannot fail.
const FITS: &str = "valid numbers and enough memory";

/// The number of keys from which on only some rows are run, to bound time and memory.
const LARGE: u64 = 50_000_000;
const HUGE: u64 = 500_000_000;

/// An empty plain filter.
fn empty<F: Build>(n: u64, p: f64) -> F {
    let builder = F::builder().expected_items(n).target_fpp(p);
    builder.digest_function(DIGEST).build().expect(FITS)
}

/// Filters for a known number of keys. Contestants without a choice of rate take part only with
/// the first one.
pub(crate) fn plain<K: BenchKey>(n: u64, p: f64, is_first: bool) -> Table<K> {
    let mut table = Table::new("", n, Some(p));
    table.fills = if n >= LARGE / 5 { Fills::Once } else { Fills::Cleared };
    table.mixes = true;
    let (is_large, has_most) = match n {
        HUGE.. => (false, false),
        LARGE.. => (true, is_first && K::NAME == "u64"),
        _ => (true, true),
    };
    floor::add(&mut table, p);
    let blocked = move || empty::<Filter<Blocked, OwnedBlocks>>(n, p);
    table.add("mayhap blocked", Single, blocked);
    table.add("mayhap blocked, batch", Batch, blocked);
    table.add("mayhap blocked, ready digests", ReadyDigests, blocked);
    if is_large {
        let standard = move || empty::<Filter<Standard, OwnedBlocks>>(n, p);
        table.add("mayhap standard", Single, standard);
        table.add("mayhap standard, batch", Batch, standard);
    }
    if has_most {
        let blocked = move || empty::<Filter<Blocked, SharedBlocks>>(n, p);
        let standard = move || empty::<Filter<Standard, SharedBlocks>>(n, p);
        for threads in [1, 2] {
            table.add("mayhap concurrent blocked", Single, blocked).threads = threads;
        }
        for threads in [1, 2] {
            table.add("mayhap concurrent blocked, batch", Batch, blocked).threads = threads;
        }
        for threads in [1, 2] {
            table.add("mayhap concurrent standard", Single, standard).threads = threads;
        }
        for threads in [1, 2] {
            table.add("mayhap concurrent standard, batch", Batch, standard).threads = threads;
        }
    }
    peers(&mut table, p, is_first, has_most);
    table
}

/// The peers of plain filters.
fn peers<K: BenchKey>(table: &mut Table<K>, p: f64, is_first: bool, has_most: bool) {
    let (n, items) = (table.n, table.n as usize);
    let fast = move || BloomFilter::with_false_pos(p).expected_items(items);
    table.add("fastbloom", Single, fast);
    if has_most {
        table.add("fastbloom, xxh3 digest", Single, move || FastDigest(fast()));
        let atomic = move || FastAtomic(AtomicBloomFilter::with_false_pos(p).expected_items(items));
        table.add("fastbloom atomic", Single, atomic);
        table.add("fastbloom atomic", Single, atomic).threads = 2;
    }
    table.add("sbbf-rs-safe, xxh3 digest", Single, move || Sbbf::new(n, p));
    if has_most {
        let classic = move || bloomfilter::Bloom::new_for_fp_rate(items, p).expect(FITS);
        table.add("bloomfilter", Single, move || Classic(classic()));
    }
    if has_most && is_first {
        let fuse = move || Static::<xorf::BinaryFuse8>::new(n);
        table.add("xorf BinaryFuse8, xxh3 digest", Single, fuse);
        let exact = move || HashSet::<K>::with_capacity(items);
        table.add("std HashSet (exact)", Single, exact);
    }
}

/// Keys are removed again.
pub(crate) fn delete(n: u64, p: f64, is_first: bool) -> Table<u64> {
    let mut table = Table::new("Delete", n, Some(p));
    let counting = |bits| {
        move || {
            let builder = CountingBloomFilter::builder().expected_items(n).target_fpp(p);
            let bits = CounterBits::new(bits).expect("4 or 8");
            builder.counter_bits(bits).digest_function(DIGEST).build().expect(FITS)
        }
    };
    let compact = move || {
        let builder = CompactFilter::builder().expected_items(n).target_fpp(p);
        builder.digest_function(DIGEST).build().expect(FITS)
    };
    table.add("mayhap compact", Single, compact);
    table.add("mayhap compact, batch", Digests, compact);
    table.add("mayhap counting, 4 bits", Single, counting(4));
    table.add("mayhap counting, 4 bits, batch", Digests, counting(4));
    table.add("mayhap counting, 8 bits", Single, counting(8));
    table.add("mayhap counting, 8 bits, batch", Digests, counting(8));
    table.add("qfilter, xxh3 digest", Single, move || Quotient::removable(n, p));
    if is_first {
        table.add("cuckoofilter", Single, move || Cuckoo::new(n));
    }
    for row in &mut table.rows {
        row.can_remove = true;
    }
    table
}

/// The first guess is a thousandth of the keys that are inserted.
pub(crate) fn grow(n: u64, p: f64) -> Table<u64> {
    let first = n / 1000;
    let mut table = Table::new("Unknown size, first guess n/1000", n, Some(p));
    let scalable = move || ScalableBloomFilter::new(first, p, DIGEST).expect(FITS);
    table.add("mayhap scalable", Single, scalable);
    table.add("mayhap scalable, batch", Digests, scalable);
    let concurrent = move || ConcurrentScalableBloomFilter::new(first, p, DIGEST).expect(FITS);
    table.add("mayhap concurrent scalable", Single, concurrent);
    table.add("mayhap concurrent scalable, batch", Digests, concurrent);
    table.add("growable-bloom-filter", Single, move || {
        Growable(GrowableBloom::new(p, first as usize))
    });
    table.add("aleph-filter", Single, move || Aleph(AlephFilter::new(first as usize, p)));
    table.add("qfilter given the final n, xxh3 digest", Single, move || {
        Quotient::growing(first, n, p)
    });
    table
}

/// Only the last n keys are members; more than 2 n were inserted before them.
pub(crate) fn forget(n: u64, p: f64) -> Table<u64> {
    let mut table = Table::new("Forgetting, window of n keys", n, Some(p));
    let window = move || {
        let builder = WindowBloomFilter::builder().window_items(n).target_fpp(p);
        builder.digest_function(DIGEST).build().expect(FITS)
    };
    table.add("mayhap window", Single, window).fed = 3;
    table.add("mayhap window, batch", Digests, window).fed = 3;
    let rotating = move || Rotating::new(n, p);
    table.add("two rotating fastbloom, xxh3 digest", Single, rotating).fed = 3;
    let blocked = move || empty::<BlockedBloomFilter>(n, p);
    table.add("for scale: mayhap blocked, forgets nothing", Single, blocked);
    table.add("for scale: mayhap blocked, batch", Digests, blocked);
    table
}

/// The set never changes. A fingerprint of 8 bits is a byte a key, which is what the floors read.
pub(crate) fn frozen(n: u64) -> Table<u64> {
    let mut table = Table::new("Frozen", n, None);
    if n >= LARGE {
        table.fills = Fills::Once;
    }
    floor::add_of_size(&mut table, n.div_ceil(64));
    let fuse = |width| move || Frozen::<BinaryFuse>::new(width, n);
    let ribbon = |width| move || Frozen::<RibbonFilter>::new(width, n);
    table.add("mayhap ribbon 8", Single, ribbon(FuseWidth::BITS_8));
    table.add("mayhap ribbon 8, batch", Digests, ribbon(FuseWidth::BITS_8));
    table.add("mayhap fuse 8", Single, fuse(FuseWidth::BITS_8));
    table.add("mayhap fuse 8, batch", Digests, fuse(FuseWidth::BITS_8));
    table.add("xorf BinaryFuse8, xxh3 digest", Single, move || Static::<xorf::BinaryFuse8>::new(n));
    table.add("sux VFilter, 8 bits", Single, move || Sux::new(n));
    if n < LARGE {
        table.add("ribbon-filter, 8 bits", Single, move || OtherRibbon::new(n));
    }
    table.add("mayhap ribbon 16", Single, ribbon(FuseWidth::BITS_16));
    table.add("mayhap ribbon 16, batch", Digests, ribbon(FuseWidth::BITS_16));
    table.add("mayhap fuse 16", Single, fuse(FuseWidth::BITS_16));
    table.add("mayhap fuse 16, batch", Digests, fuse(FuseWidth::BITS_16));
    table.add("xorf BinaryFuse16, xxh3 digest", Single, move || {
        Static::<xorf::BinaryFuse16>::new(n)
    });
    table
}
