//! The native form: the panels' rows, the sets' counts as a segment, and their names as another if
//! they have any.

use super::names::Names;
use super::shape::Shape;
use super::{BloomMatrix, PANEL_SETS};
use crate::bits::{Block, OwnedBlocks};
use crate::native::{Fields, Kind, Native};
use crate::sizing::{check_fpp, check_items, matrix as sizing};
use crate::{DigestFunction, Error};
use alloc::vec;
use alloc::vec::Vec;

/// Counts in a block.
const BLOCK_COUNTS: usize = 8;

impl Native for BloomMatrix {
    const KIND: Kind = Kind::Matrix;

    fn digest_function(&self) -> &DigestFunction {
        self.digest_function()
    }

    fn fields(&self) -> Fields {
        let mut extra = [0; 7];
        extra[0] = self.num_sets as u64;
        extra[1] = self.names.num_bytes();
        Fields {
            layout: 0,
            num_bits: self.num_bits(),
            num_hashes: self.num_hashes(),
            expected_items: self.expected_items(),
            target_fpp: self.target_fpp(),
            inserted_items: total(self.counts()),
            extra,
            layers: Vec::new(),
        }
    }

    fn segment_blocks(fields: &Fields) -> Result<Vec<u64>, Error> {
        let (shape, num_sets) = shape_of(fields)?;
        let mut segments = vec![shape.num_bits(); num_sets.div_ceil(PANEL_SETS)];
        segments.push(num_sets.div_ceil(BLOCK_COUNTS) as u64);
        let names = Names::num_blocks(fields.extra[1], num_sets)?;
        segments.extend((names > 0).then_some(names));
        Ok(segments)
    }

    fn segments(&self) -> Vec<&[Block]> {
        let names = Some(self.names.blocks()).filter(|names| !names.is_empty());
        self.panels().chain([self.counts.as_slice()]).chain(names).collect()
    }

    fn from_segments(
        fields: &Fields,
        digest_function: DigestFunction,
        segments: Vec<OwnedBlocks>,
    ) -> Result<Self, Error> {
        let (shape, num_sets) = shape_of(fields)?;
        let lengths = Self::segment_blocks(fields)?;
        Error::check_length("segments", lengths.len() as u64, segments.len() as u64)?;
        for (segment, blocks) in segments.iter().zip(lengths) {
            Error::check_length("segment", blocks * 64, segment.as_ref().len() as u64 * 64)?;
        }
        let mut panels = segments;
        let name_bytes = fields.extra[1];
        let names = if name_bytes > 0 { panels.pop() } else { None };
        let names = names.as_ref().map_or(&[][..], AsRef::as_ref);
        let names = Names::decode(names, name_bytes, num_sets)?;
        let counts = panels.pop().map(|counts| counts.as_ref().to_vec()).unwrap_or_default();
        let max_bytes = u64::MAX;
        let matrix = Self { shape, digest_function, panels, num_sets, counts, names, max_bytes };
        matrix.check_unused()?;
        let inserted = fields.inserted_items;
        Error::check_field(total(matrix.counts()) == inserted, "inserted_items", inserted)?;
        Ok(matrix)
    }
}

/// Counts also come from files, which may hold any number.
fn total(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, &count| sum.saturating_add(count))
}

fn shape_of(fields: &Fields) -> Result<(Shape, usize), Error> {
    Error::check_field(fields.layout == 0, "layout", fields.layout.into())?;
    fields.check_no_layers()?;
    fields.check_extra_is_zero(2)?;
    sizing::check_num_hashes(fields.num_hashes)?;
    let group_bits = sizing::num_bits(1, fields.num_hashes);
    let num_bits = fields.num_bits;
    let in_range = (1..=sizing::MAX_NUM_BITS).contains(&num_bits);
    Error::check_field(in_range && num_bits.is_multiple_of(group_bits), "num_bits", num_bits)?;
    let num_sets = fields.extra[0];
    let in_range = (1..=BloomMatrix::MAX_SETS as u64).contains(&num_sets);
    Error::check_field(in_range, "num_sets", num_sets)?;
    check_items(fields.expected_items)?;
    check_fpp(fields.target_fpp)?;
    let shape = Shape {
        num_groups: num_bits / group_bits,
        num_hashes: fields.num_hashes,
        expected_items: fields.expected_items,
        target_fpp: fields.target_fpp,
    };
    Ok((shape, num_sets as usize))
}
