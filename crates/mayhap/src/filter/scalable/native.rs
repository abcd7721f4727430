//! The chain in a file: a segment for each part of each layer, oldest first.

use super::{Layer, OwnedLayer, ScalableBloomFilter};
use crate::bits::{Block, OwnedBlocks};
use crate::native::{Fields, Kind, Native};
use crate::sizing::scalable::{self, GROWTH, LayerParams};
use crate::{BlockedBloomFilter, DigestFunction, Error, Layout, sizing};
use alloc::vec::Vec;

/// The layer of an entry of [`Fields::layers`], without its bits.
struct Entry {
    params: LayerParams,
    step: u32,
    inserted_items: u64,
}

impl Entry {
    fn of(layer: &OwnedLayer) -> [u64; 4] {
        let (params, part) = (&layer.params, layer.params.part());
        let numbers = u64::from(part.num_hashes())
            | u64::from(params.num_parts()) << 16
            | u64::from(layer.step) << 32;
        [numbers, part.num_bits(), params.expected_items(), layer.inserted_items]
    }

    fn read(entry: [u64; 4], first_items: u64) -> Result<Self, Error> {
        let [numbers, part_bits, expected_items, inserted_items] = entry;
        let (num_hashes, num_parts) = (numbers as u16, (numbers >> 16) as u16);
        let step = (numbers >> 32) as u32;
        let items = GROWTH.checked_pow(step).and_then(|growth| first_items.checked_mul(growth));
        let is_step = items == Some(expected_items);
        Error::check_field(is_step, "layer expected_items", expected_items)?;
        let fits = inserted_items <= expected_items;
        Error::check_field(fits, "layer inserted_items", inserted_items)?;
        let params =
            LayerParams::new(part_bits, num_hashes.into(), num_parts.into(), expected_items)?;
        Ok(Self { params, step, inserted_items })
    }
}

fn entries(fields: &Fields) -> Result<Vec<Entry>, Error> {
    let (layout, hashes) = (fields.layout, fields.num_hashes);
    Error::check_field(layout == Layout::Blocked.id(), "layout", layout.into())?;
    Error::check_field(hashes == 0, "num_hashes", hashes.into())?;
    fields.check_extra_is_zero(1)?;
    sizing::check_target(fields.expected_items, fields.target_fpp)?;
    let entries: Vec<Entry> = fields
        .layers
        .iter()
        .map(|&entry| Entry::read(entry, fields.expected_items))
        .collect::<Result<_, _>>()?;
    let Some(first) = entries.first() else { return Error::bad_field("num_layers", 0) };
    Error::check_field(first.step == 0, "layer step", first.step.into())?;
    // Keys are inserted into the last layer. That implies nothing about the room in layers of the
    // same step: a union puts the one with the most room last, and insertions then fill it.
    for pair in entries.windows(2) {
        let (older, newer) = (pair[0].step, pair[1].step);
        let next = scalable::next_step(fields.expected_items, older);
        // Until 0.1, no step was skipped.
        let follows = newer == older || newer == older + 1 || newer == next;
        Error::check_field(follows, "layer step", newer.into())?;
    }
    let sum = |numbers: &dyn Fn(&Entry) -> u64| {
        entries.iter().try_fold(0u64, |sum, entry| sum.checked_add(numbers(entry)))
    };
    let (bits, inserted) = (fields.num_bits, fields.inserted_items);
    Error::check_field(sum(&|entry| entry.params.num_bits()) == Some(bits), "num_bits", bits)?;
    let is_sum = sum(&|entry| entry.inserted_items) == Some(inserted);
    Error::check_field(is_sum, "inserted_items", inserted)?;
    Ok(entries)
}

impl Native for ScalableBloomFilter {
    const KIND: Kind = Kind::Scalable;

    fn digest_function(&self) -> &DigestFunction {
        self.digest_function()
    }

    fn fields(&self) -> Fields {
        let mut extra = [0; 7];
        extra[0] = self.max_bytes;
        Fields {
            layout: Layout::Blocked.id(),
            num_bits: self.num_bits(),
            num_hashes: 0,
            expected_items: self.first_items,
            target_fpp: self.target_fpp,
            inserted_items: self.inserted_items(),
            extra,
            layers: self.layers.iter().map(Entry::of).collect(),
        }
    }

    fn segment_blocks(fields: &Fields) -> Result<Vec<u64>, Error> {
        let entries = entries(fields)?;
        let parts = entries.iter().flat_map(|entry| {
            let num_blocks = entry.params.part().num_blocks();
            (0..entry.params.num_parts()).map(move |_| num_blocks)
        });
        Ok(parts.collect())
    }

    fn segments(&self) -> Vec<&[Block]> {
        let parts = self.layers.iter().flat_map(|layer| &*layer.parts);
        parts.map(|part| part.storage().as_ref()).collect()
    }

    fn from_segments(
        fields: &Fields,
        digest_function: DigestFunction,
        segments: Vec<OwnedBlocks>,
    ) -> Result<Self, Error> {
        let entries = entries(fields)?;
        let expected = entries.iter().map(|entry| u64::from(entry.params.num_parts())).sum();
        Error::check_length("segments", expected, segments.len() as u64)?;
        let mut segments = segments.into_iter();
        let layers = entries.into_iter().map(|Entry { params, step, inserted_items }| {
            let blocks = segments.by_ref().take(params.num_parts() as usize);
            let part =
                |blocks| BlockedBloomFilter::from_parts(*params.part(), digest_function, blocks, 0);
            let parts = blocks.map(part).collect::<Result<_, _>>()?;
            Ok(Layer::new(params, step, parts, inserted_items))
        });
        Ok(Self {
            layers: layers.collect::<Result<_, Error>>()?,
            first_items: fields.expected_items,
            target_fpp: fields.target_fpp,
            digest_function,
            max_bytes: fields.extra[0],
            num_united: 0,
        })
    }
}
