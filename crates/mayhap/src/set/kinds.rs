//! The face of each kind, and the table of all.

use super::face::{as_native, own};
use super::numbers::exactly;
use super::{ByBits, Capabilities, Numbers, Repeats, Set, same_kind};
use crate::bits::OwnedBlocks;
use crate::layout::LayoutKind;
use crate::native::{Fields, Header, Kind, Native};
use crate::sizing::Shrink;
use crate::{
    Age, AnyFilter, BinaryFuse, Bitmap, Block, ClearingFilter, CompactFilter, CountingBloomFilter,
    Digest, DigestFunction, Error, Estimate, FilterParams, Health, RibbonFilter,
    ScalableBloomFilter, Window, WindowBloomFilter,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;

/// The filter of this header with this body: the one table of kinds.
///
/// # Errors
///
/// [`Error::NotOfKind`] for a matrix and a segment, which are no sets; the errors of
/// [`Native::from_segments`].
pub fn from_segments(
    header: &Header,
    function: DigestFunction,
    segments: Vec<OwnedBlocks>,
) -> Result<Box<dyn Set>, Error> {
    let fields = header.fields();
    Ok(match header.kind() {
        Kind::Bloom => Box::new(AnyFilter::from_segments(fields, function, segments)?),
        Kind::Compact => Box::new(CompactFilter::from_segments(fields, function, segments)?),
        Kind::Counting => Box::new(CountingBloomFilter::from_segments(fields, function, segments)?),
        Kind::Scalable => Box::new(ScalableBloomFilter::from_segments(fields, function, segments)?),
        Kind::Window => Box::new(WindowBloomFilter::from_segments(fields, function, segments)?),
        Kind::Fuse => Box::new(BinaryFuse::from_segments(fields, function, segments)?),
        Kind::Ribbon => Box::new(RibbonFilter::from_segments(fields, function, segments)?),
        kind @ (Kind::Matrix | Kind::Segment) => {
            return Err(Error::NotOfKind { operation: "set", kind: kind.name() });
        }
    })
}

/// The measurements of a plain filter with this many set bits.
fn by_ones(params: &FilterParams, items: u64, ones: u64, estimated_fpp: f64) -> ByBits {
    let estimated_items = Estimate::from_ones(params, ones);
    ByBits {
        fill_ratio: ones as f64 / params.num_bits() as f64,
        estimated_fpp,
        estimated_items: Some(estimated_items),
        distinct_items: Estimate::distinct(params, items, ones),
        health: Health::of_filter(params, items, &estimated_items),
    }
}

impl ByBits {
    /// The measurements of a plain filter, wherever its bits are. Reads all of them.
    pub fn of_filter<S: AsRef<[Block]>>(filter: &AnyFilter<S>) -> Self {
        let (items, ones) = (filter.inserted_items(), filter.count_ones());
        by_ones(filter.params(), items, ones, filter.estimated_fpp())
    }
}

impl Set for AnyFilter {
    as_native!(inserted_items);
    own!(contains, insert, clear, union);

    fn numbers(&self) -> Numbers {
        Numbers::of_params(self.params(), self.inserted_items())
    }

    fn inserted_when_full(&self) -> Option<u64> {
        Some(self.params().inserted_when_full())
    }

    fn by_bits(&self) -> ByBits {
        ByBits::of_filter(self)
    }

    fn shrunk(&self, how: Shrink) -> Result<Option<Box<dyn Set>>, Error> {
        let inserted = self.distinct_items().rounded();
        let (factor, params) = how.of(self.params(), inserted)?;
        let (items, target_fpp) = match how {
            _ if factor > 1 => (params.expected_items(), params.target_fpp()),
            Shrink::By(_) | Shrink::To { items: None, target_fpp: None } => return Ok(None),
            // The same size with another promise.
            Shrink::To { items, target_fpp } => {
                let params = params.folded(1, target_fpp.unwrap_or(params.target_fpp()))?;
                (items.unwrap_or(params.expected_items()), params.target_fpp())
            }
        };
        if inserted > items {
            return Err(Error::FoldOverfull { factor, items: inserted, expected_items: items });
        }
        Ok(Some(Box::new(self.fold(factor, target_fpp)?.promising(items, target_fpp)?)))
    }
}

/// Its file is that of the plain filter in it.
impl<L: LayoutKind + 'static> Set for ClearingFilter<L> {
    own!(contains, insert, clear, any);

    fn kind(&self) -> Kind {
        Kind::Bloom
    }

    /// It would forget the keys of both filters at once, and at another moment than each of them.
    fn capabilities(&self) -> Capabilities {
        Capabilities { unites: false, ..Kind::Bloom.capabilities() }
    }

    fn digest_function(&self) -> &DigestFunction {
        self.filter().digest_function()
    }

    fn inserted_items(&self) -> u64 {
        self.filter().inserted_items()
    }

    fn numbers(&self) -> Numbers {
        Numbers::of_params(self.filter().params(), self.filter().inserted_items())
    }

    fn inserted_when_full(&self) -> Option<u64> {
        Some(self.filter().params().inserted_when_full())
    }

    fn by_bits(&self) -> ByBits {
        let (filter, items) = (self.filter(), self.filter().inserted_items());
        by_ones(filter.params(), items, filter.count_ones(), filter.estimated_fpp())
    }

    fn fields(&self) -> Fields {
        Native::fields(self.filter())
    }

    fn segments(&self) -> Vec<&[Block]> {
        Native::segments(self.filter())
    }

    fn copy(&self) -> Result<Box<dyn Set>, Error> {
        Ok(Box::new(self.try_clone()?))
    }
}

impl Set for CountingBloomFilter {
    as_native!(inserted_items);
    own!(contains, renew, clear, union);

    fn numbers(&self) -> Numbers {
        let numbers = Numbers::of_params(self.params(), self.inserted_items());
        Numbers {
            layout: None,
            num_bits: self.num_bits(),
            num_bytes: self.num_bytes(),
            // Every insertion raises counters, also of a key that is taken for one that is there.
            expected_fpp: self.expected_fpp(self.inserted_items()),
            ..numbers
        }
    }

    fn inserted_when_full(&self) -> Option<u64> {
        Some(self.params().inserted_when_full())
    }

    fn by_bits(&self) -> ByBits {
        let occupied = self.num_occupied();
        let estimated_items = Estimate::from_ones(self.params(), occupied);
        ByBits {
            fill_ratio: occupied as f64 / self.num_counters() as f64,
            estimated_fpp: self.estimated_fpp(),
            estimated_items: Some(estimated_items),
            distinct_items: estimated_items,
            health: estimated_items.health(self.params().expected_items()),
        }
    }

    fn insert_digest(&mut self, digest: Digest, repeats: Repeats) -> Result<bool, Error> {
        let is_there = repeats == Repeats::Ignore && self.contains_digest(digest);
        Ok(!is_there && self.insert_digest(digest))
    }

    fn remove_into(&mut self, digests: &[Digest], removed: &mut Bitmap) -> Result<(), Error> {
        self.remove_digests_into(digests, removed);
        Ok(())
    }
}

impl Set for CompactFilter {
    as_native!(inserted_items);
    own!(contains, clear, union);

    fn capabilities(&self) -> Capabilities {
        Capabilities { grows: self.grows(), ..Kind::Compact.capabilities() }
    }

    fn numbers(&self) -> Numbers {
        let params = self.params();
        Numbers {
            layout: None,
            num_bits: self.num_bytes() * 8,
            num_hashes: 1,
            num_bytes: self.num_bytes(),
            expected_items: params.expected_items(),
            capacity: (!self.grows()).then(|| params.expected_items()),
            inserted_items: self.inserted_items(),
            distinct_items: exactly(self.inserted_items()),
            target_fpp: params.target_fpp(),
            expected_fpp: self.expected_fpp(self.inserted_items()),
        }
    }

    fn by_bits(&self) -> ByBits {
        let items = self.estimated_items();
        ByBits {
            fill_ratio: self.fill_ratio(),
            estimated_fpp: self.estimated_fpp(),
            estimated_items: Some(items),
            distinct_items: items,
            health: self.health(),
        }
    }

    fn insert_digest(&mut self, digest: Digest, repeats: Repeats) -> Result<bool, Error> {
        match repeats {
            Repeats::Renew => self.insert_digest(digest),
            Repeats::Ignore => self.insert_absent_digest(digest),
        }
    }

    fn insert_into(
        &mut self,
        digests: &[Digest],
        repeats: Repeats,
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        match repeats {
            Repeats::Renew => self.insert_digests_into(digests, new),
            Repeats::Ignore => self.insert_absent_digests_into(digests, new),
        }
    }

    fn remove_into(&mut self, digests: &[Digest], removed: &mut Bitmap) -> Result<(), Error> {
        self.remove_digests_into(digests, removed);
        Ok(())
    }
}

impl Set for ScalableBloomFilter {
    as_native!(inserted_items);
    own!(contains, clear, union);

    fn numbers(&self) -> Numbers {
        let num_hashes = self.layers().map(|(layer, _)| layer.part().num_hashes()).max();
        Numbers {
            layout: None,
            num_bits: self.num_bits(),
            num_hashes: num_hashes.unwrap_or(0),
            num_bytes: self.num_bytes(),
            expected_items: self.first_items(),
            capacity: None,
            inserted_items: self.inserted_items(),
            distinct_items: self.distinct_items(),
            target_fpp: self.target_fpp(),
            expected_fpp: self.expected_fpp(),
        }
    }

    fn shrunk(&self, how: Shrink) -> Result<Option<Box<dyn Set>>, Error> {
        Ok(self.shrunk(how)?.map(|chain| Box::new(chain) as Box<dyn Set>))
    }

    fn by_bits(&self) -> ByBits {
        ByBits {
            fill_ratio: self.fill_ratio(),
            estimated_fpp: self.estimated_fpp(),
            estimated_items: Some(self.estimated_items()),
            distinct_items: self.distinct_items(),
            health: self.health(),
        }
    }

    fn insert_digest(&mut self, digest: Digest, _repeats: Repeats) -> Result<bool, Error> {
        self.insert_digest(digest)
    }

    fn insert_into(
        &mut self,
        digests: &[Digest],
        _repeats: Repeats,
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        self.insert_digests_into(digests, new)
    }
}

impl Set for WindowBloomFilter {
    as_native!(inserted_items);
    own!(renew, clear);

    fn numbers(&self) -> Numbers {
        Numbers {
            layout: None,
            num_bits: self.num_bits(),
            num_hashes: self.num_hashes(),
            num_bytes: self.num_bytes(),
            expected_items: self.expected_items(),
            capacity: None,
            inserted_items: self.inserted_items(),
            distinct_items: exactly(self.inserted_items()),
            target_fpp: self.target_fpp(),
            expected_fpp: self.expected_fpp_now(),
        }
    }

    fn by_bits(&self) -> ByBits {
        ByBits {
            fill_ratio: self.fill_ratio(),
            estimated_fpp: self.estimated_fpp(),
            estimated_items: None,
            distinct_items: exactly(self.inserted_items()),
            health: self.health(),
        }
    }

    fn contains_digest(&self, digest: Digest, now: u64) -> bool {
        self.contains_digest_at(digest, now)
    }

    fn contains_into(&self, digests: &[Digest], now: u64, found: &mut Bitmap) {
        self.contains_digests_at_into(digests, now, found);
    }

    fn insert_digest(&mut self, digest: Digest, repeats: Repeats) -> Result<bool, Error> {
        Ok(match repeats {
            Repeats::Renew => self.insert_digest(digest),
            Repeats::Ignore => self.insert_absent_digest(digest),
        })
    }

    fn age(&self, digest: Digest, now: u64) -> Option<Age> {
        self.age_of_digest_at(digest, now)
    }

    fn now(&self) -> u64 {
        self.now()
    }

    fn advance(&mut self, now: u64) {
        self.advance(now);
    }

    fn moment_of_last(&self, digests: usize) -> u64 {
        match self.window() {
            Window::Items(_) => self.moment().saturating_sub(digests as u64),
            Window::Time { .. } => self.moment(),
        }
    }

    fn resume(&mut self, moment: u64) {
        self.resume(moment);
    }
}

impl Set for BinaryFuse {
    as_native!(len);
    own!(contains);

    fn numbers(&self) -> Numbers {
        Numbers {
            layout: None,
            num_bits: self.num_bits(),
            num_hashes: 3,
            num_bytes: self.num_bytes(),
            expected_items: self.len(),
            capacity: Some(self.len()),
            inserted_items: self.len(),
            distinct_items: exactly(self.len()),
            target_fpp: self.width().fpp(),
            expected_fpp: self.expected_fpp(),
        }
    }

    fn by_bits(&self) -> ByBits {
        ByBits {
            // The share of slots that a key chose.
            fill_ratio: self.len() as f64 / self.params().num_slots() as f64,
            estimated_fpp: self.expected_fpp(),
            estimated_items: None,
            distinct_items: exactly(self.len()),
            health: Health::Ok,
        }
    }
}

impl Set for RibbonFilter {
    as_native!(len);
    own!(contains);

    fn numbers(&self) -> Numbers {
        Numbers {
            layout: None,
            num_bits: self.num_bits(),
            num_hashes: 1,
            num_bytes: self.num_bytes(),
            expected_items: self.len(),
            capacity: Some(self.len()),
            inserted_items: self.len(),
            distinct_items: exactly(self.len()),
            target_fpp: self.width().fpp(),
            expected_fpp: self.expected_fpp(),
        }
    }

    fn by_bits(&self) -> ByBits {
        ByBits {
            // The share of slots that a key chose.
            fill_ratio: match self.params().num_slots() {
                0 => 0.0,
                slots => (self.len() - self.params().rest()) as f64 / slots as f64,
            },
            estimated_fpp: self.expected_fpp(),
            estimated_items: None,
            distinct_items: exactly(self.len()),
            health: Health::Ok,
        }
    }
}
