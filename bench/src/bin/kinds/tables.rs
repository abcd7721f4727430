//! Which contestants stand in which table.

use crate::contestants::Calls::{Batch, Single};
use crate::contestants::{DIGEST, Table};
use crate::ours::Fuse;
use crate::peers::{Aleph, Cuckoo, Growable, Quotient, Rotating, Static, Sux};
use aleph_filter::AlephFilter;
use growable_bloom_filter::GrowableBloom;
use mayhap::{
    BlockedBloomFilter, ConcurrentScalableBloomFilter, CounterBits, CountingBloomFilter, FuseWidth,
    ScalableBloomFilter, WindowBloomFilter,
};

/// Why a build cannot fail.
const FITS: &str = "valid numbers and enough memory";

/// Keys are removed again.
pub(crate) fn delete(n: u64, p: f64, is_first: bool) -> Table {
    let mut table = Table::new("Delete", n, Some(p));
    let counting = |bits| {
        move || {
            let builder = CountingBloomFilter::builder().expected_items(n).target_fpp(p);
            let bits = CounterBits::new(bits).expect("4 or 8");
            builder.counter_bits(bits).digest_function(DIGEST).build().expect(FITS)
        }
    };
    table.add("mayhap counting, 4 bits", Single, counting(4));
    table.add("mayhap counting, 4 bits, batch", Batch, counting(4));
    table.add("mayhap counting, 8 bits", Single, counting(8));
    table.add("mayhap counting, 8 bits, batch", Batch, counting(8));
    table.add("qfilter, xxh3 digest", Single, move || Quotient::removable(n, p));
    if is_first {
        table.add("cuckoofilter", Single, move || Cuckoo::new(n));
    }
    for row in &mut table.rows {
        row.can_remove = true;
    }
    table
}

/// The first guess is a thousandth of the keys that come.
pub(crate) fn grow(n: u64, p: f64) -> Table {
    let first = n / 1000;
    let mut table = Table::new("Unknown size, first guess n/1000", n, Some(p));
    let scalable = move || ScalableBloomFilter::new(first, p, DIGEST).expect(FITS);
    table.add("mayhap scalable", Single, scalable);
    table.add("mayhap scalable, batch", Batch, scalable);
    let concurrent = move || ConcurrentScalableBloomFilter::new(first, p, DIGEST).expect(FITS);
    table.add("mayhap concurrent scalable", Single, concurrent);
    table.add("mayhap concurrent scalable, batch", Batch, concurrent);
    table.add("growable-bloom-filter", Single, move || {
        Growable(GrowableBloom::new(p, first as usize))
    });
    table.add("aleph-filter", Single, move || Aleph(AlephFilter::new(first as usize, p)));
    table.add("qfilter given the final n, xxh3 digest", Single, move || {
        Quotient::growing(first, n, p)
    });
    table
}

/// Only the last n keys are members; n more than twice have gone before them.
pub(crate) fn forget(n: u64, p: f64) -> Table {
    let mut table = Table::new("Forgetting, window of n keys", n, Some(p));
    let window = move || {
        let builder = WindowBloomFilter::builder().window_items(n).target_fpp(p);
        builder.digest_function(DIGEST).build().expect(FITS)
    };
    table.add("mayhap window", Single, window).fed = 3;
    table.add("mayhap window, batch", Batch, window).fed = 3;
    let rotating = move || Rotating::new(n, p);
    table.add("two rotating fastbloom, xxh3 digest", Single, rotating).fed = 3;
    let blocked = move || {
        let builder = BlockedBloomFilter::builder().expected_items(n).target_fpp(p);
        builder.digest_function(DIGEST).build().expect(FITS)
    };
    table.add("for scale: mayhap blocked, forgets nothing", Single, blocked);
    table.add("for scale: mayhap blocked, batch", Batch, blocked);
    table
}

/// The set never changes.
pub(crate) fn frozen(n: u64) -> Table {
    let mut table = Table::new("Frozen", n, None);
    let fuse = |width| move || Fuse::new(width, n);
    table.add("mayhap fuse 8", Single, fuse(FuseWidth::Bits8));
    table.add("mayhap fuse 8, batch", Batch, fuse(FuseWidth::Bits8));
    table.add("xorf BinaryFuse8, xxh3 digest", Single, move || Static::<xorf::BinaryFuse8>::new(n));
    table.add("sux VFilter, 8 bits", Single, move || Sux::new(n));
    table.add("mayhap fuse 16", Single, fuse(FuseWidth::Bits16));
    table.add("mayhap fuse 16, batch", Batch, fuse(FuseWidth::Bits16));
    table.add("xorf BinaryFuse16, xxh3 digest", Single, move || {
        Static::<xorf::BinaryFuse16>::new(n)
    });
    table
}
