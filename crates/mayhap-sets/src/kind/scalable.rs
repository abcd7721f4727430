//! Filters that grow.

use crate::error::Error;
use crate::key_set::{Contents, Detail, KeySet};
use crate::layout_name::LayoutName;
use crate::state::State;
use crate::state::whole;
use mayhap::native::{Header, Native};
use mayhap::{Bitmap, Block, Digest, DigestFunction, Estimate, ScalableBloomFilter, SecretKey};
use mayhap_store::{Image, Record};
use mayhap_units::number::format_fpp as rate;
use mayhap_units::number::{format_bytes, format_count};
use serde_json::{Value, json};

/// A chain, and the limit to its growth that is kept in its file.
#[derive(Debug)]
pub struct ScalableFile {
    filter: ScalableBloomFilter,
    max_bytes: u64,
}

impl ScalableFile {
    /// A filter whose limit is the one to keep.
    pub fn new(filter: ScalableBloomFilter) -> Self {
        Self { max_bytes: filter.max_bytes(), filter }
    }

    /// Does something with the filter while it has the limit of its file.
    fn with_limit_of_file<T>(&mut self, call: impl FnOnce(&mut ScalableBloomFilter) -> T) -> T {
        let limit = self.filter.max_bytes();
        self.filter.set_max_bytes(self.max_bytes);
        let result = call(&mut self.filter);
        self.filter.set_max_bytes(limit);
        result
    }
}

impl KeySet for ScalableFile {
    fn name(&self) -> &'static str {
        "scalable"
    }

    fn layout_name(&self) -> Option<LayoutName> {
        Some(LayoutName::Scalable)
    }

    fn digest_function(&self) -> DigestFunction {
        *self.filter.digest_function()
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) -> Result<(), Error> {
        self.filter.contains_digests_into(digests, found);
        Ok(())
    }

    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        Ok(self.filter.insert_digests_into(digests, new)?)
    }

    fn set_max_bytes(&mut self, max_bytes: u64) {
        self.filter.set_max_bytes(max_bytes.min(self.max_bytes));
    }

    fn clear(&mut self) -> Result<bool, Error> {
        self.filter.clear();
        Ok(true)
    }

    fn capacity(&self) -> Option<u64> {
        None
    }

    fn items(&self) -> u64 {
        self.filter.inserted_items()
    }

    fn distinct_items(&self, _absent_only: bool) -> Option<Estimate> {
        Some(self.filter.distinct_items())
    }

    fn num_bytes(&self) -> u64 {
        self.filter.num_bytes()
    }

    fn target_fpp(&self) -> f64 {
        self.filter.target_fpp()
    }

    fn expected_fpp(&self) -> f64 {
        self.filter.expected_fpp()
    }

    fn state(&self) -> State {
        State {
            layout: self.name(),
            num_bytes: self.filter.num_bytes(),
            items: self.filter.inserted_items(),
            distinct_items: whole(self.filter.distinct_items()),
            expected_items: None,
            target_fpp: self.filter.target_fpp(),
            estimated_fpp: self.filter.estimated_fpp(),
            fill_ratio: self.filter.fill_ratio(),
            health: self.filter.health(),
        }
    }

    fn details(&self) -> Vec<Detail> {
        let mut rows = Vec::new();
        let mut layers: Vec<Value> = Vec::new();
        for (params, items) in self.filter.layers() {
            let (bytes, expected) = (params.num_bytes(), params.expected_items());
            rows.push(format!(
                "{} of {} keys in {}",
                format_count(items),
                format_count(expected),
                format_bytes(bytes)
            ));
            layers.push(json!({
                "inserted_items": items,
                "expected_items": expected,
                "num_bytes": bytes,
            }));
        }
        let promised = self.filter.promised_fpp();
        let mut details = vec![Detail::new(
            "layers",
            "layers",
            format!("{}: {}", layers.len(), rows.join(", ")),
            layers,
        )];
        let text = format!("{} at most, for any number of keys", rate(promised));
        details.push(Detail::new("promised_fpp", "rate later", text, promised));
        details
    }

    fn contents(&mut self) -> Option<&mut dyn Contents> {
        Some(self)
    }
}

impl Contents for ScalableFile {
    fn header(&mut self, key_options: &str) -> Header {
        self.with_limit_of_file(|filter| Header::of(filter, key_options))
    }

    fn segments(&self) -> Vec<&[Block]> {
        self.filter.segments()
    }

    fn load(&mut self, image: &Image, key: Option<SecretKey>) -> Result<(), mayhap_store::Error> {
        let limit = self.filter.max_bytes();
        *self = Self::new(image.load(key, |_, _| {})?);
        self.set_max_bytes(limit);
        Ok(())
    }

    fn apply(&mut self, record: &Record<'_>) -> Result<u64, mayhap::Error> {
        // What others have put into it is in it, whatever the limit of this run.
        self.with_limit_of_file(|filter| mayhap_store::apply(filter, record))
    }
}
