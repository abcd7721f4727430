//! Filters that keys can be removed from.

use crate::error::Error;
use crate::key_set::{Contents, Detail, KeySet};
use crate::layout_name::LayoutName;
use crate::state::State;
use mayhap::native::{Header, Native};
use mayhap::{
    Bitmap, Block, CountingBloomFilter, Digest, DigestFunction, Estimate, FilterParams, SecretKey,
};
use mayhap_store::{Image, Record};
use mayhap_units::number::grouped;

impl KeySet for CountingBloomFilter {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn layout_name(&self) -> Option<LayoutName> {
        Some(LayoutName::Counting)
    }

    fn digest_function(&self) -> DigestFunction {
        *self.digest_function()
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) -> Result<(), Error> {
        self.contains_digests_into(digests, found);
        Ok(())
    }

    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        self.insert_digests_into(digests, new);
        Ok(())
    }

    fn insert_absent_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        self.insert_absent_digests_into(digests, new);
        Ok(())
    }

    fn repeats_change_it(&self, absent_only: bool) -> bool {
        !absent_only
    }

    fn remove_digests_into(&mut self, digests: &[Digest], removed: &mut Bitmap) -> bool {
        self.remove_digests_into(digests, removed);
        true
    }

    fn clear(&mut self) -> Result<bool, Error> {
        Self::clear(self);
        Ok(true)
    }

    fn capacity(&self) -> Option<u64> {
        Some(self.params().expected_items())
    }

    fn full_at(&self, absent_only: bool) -> Option<u64> {
        let params = self.params();
        Some(if absent_only { params.inserted_when_full() } else { params.expected_items() })
    }

    fn items(&self) -> u64 {
        self.inserted_items()
    }

    fn distinct_items(&self, absent_only: bool) -> Option<Estimate> {
        let items = self.inserted_items() as f64;
        Some(if absent_only {
            Estimate::from_inserted(self.params(), self.inserted_items())
        } else {
            Estimate { items, low: items, high: items }
        })
    }

    fn estimated_items(&self) -> Option<(Estimate, FilterParams)> {
        Some((self.estimated_items(), *self.params()))
    }

    fn num_bytes(&self) -> u64 {
        self.num_bytes()
    }

    fn target_fpp(&self) -> f64 {
        self.params().target_fpp()
    }

    /// Every insertion raises counters, also of a key that is taken for one that is there; repeats
    /// are counted too, so that it may be lower.
    fn expected_fpp(&self) -> f64 {
        self.expected_fpp(self.inserted_items())
    }

    fn state(&self) -> State {
        State {
            layout: KeySet::name(self),
            num_bytes: self.num_bytes(),
            items: self.inserted_items(),
            // Repeats count too, and how they were inserted is not known.
            distinct_items: None,
            expected_items: self.capacity(),
            target_fpp: self.params().target_fpp(),
            estimated_fpp: self.estimated_fpp(),
            fill_ratio: self.fill_ratio(),
            health: self.health(),
        }
    }

    fn details(&self) -> Vec<Detail> {
        let (counters, bits) = (self.num_counters(), self.counter_bits());
        let (k, saturated) = (self.num_hashes(), self.saturated_counters());
        let text = format!("{} of {} bits, {k} per key", grouped(counters), bits.bits());
        let stuck = match saturated {
            0 => format!("none at {}: every key can be removed", bits.max()),
            count => format!("{} at {}, which stay forever", grouped(count), bits.max()),
        };
        vec![
            Detail::new("num_counters", "counters", text, counters),
            Detail::new("counter_bits", "", String::new(), bits.bits()),
            Detail::new("saturated_counters", "saturated", stuck, saturated),
        ]
    }

    fn contents(&mut self) -> Option<&mut dyn Contents> {
        Some(self)
    }
}

impl Contents for CountingBloomFilter {
    fn header(&mut self, key_options: &str) -> Header {
        Header::of(self, key_options)
    }

    fn segments(&self) -> Vec<&[Block]> {
        Native::segments(self)
    }

    fn load(&mut self, image: &Image, key: Option<SecretKey>) -> Result<(), mayhap_store::Error> {
        *self = image.load(key, |_, _| {})?;
        Ok(())
    }

    fn apply(&mut self, record: &Record<'_>) -> Result<u64, mayhap::Error> {
        mayhap_store::apply(self, record)
    }
}
