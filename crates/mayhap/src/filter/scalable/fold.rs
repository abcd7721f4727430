//! A chain that shrinks to one layer, without its keys.

use super::{OwnedLayer, ScalableBloomFilter};
use crate::sizing::Shrink;
use crate::sizing::scalable::{LayerParams, SHARE};
use crate::{BlockedBloomFilter, Error, FilterParams, Layout};
use alloc::vec::Vec;

/// The most of p that the layer may have: the rest is for the layers that follow.
const MOST: f64 = 15.0 / 16.0;

impl ScalableBloomFilter {
    /// This chain folded to a single, smaller layer: bit for bit the one into which the same keys
    /// were inserted at that size, without knowing them. `None` if no smaller size keeps the rate.
    ///
    /// Each part of a layer is a blocked filter, and folds to each number of blocks that divides
    /// its own ([`crate::Filter::fold`]); so all layers fold to each divisor of the greatest
    /// one that they have in common, and are ored there. The new layer keeps the share of the rate
    /// that its layers had together, p/6 · (1 + 5/6 + …), so that the chain keeps p at every size
    /// from then on, too; its first guess is the number of keys that the layer has room for.
    ///
    /// That is possible for a single layer with few keys, and for several if a size that divides
    /// all of theirs has room for the keys of all: that of the first one, if the second one has
    /// just begun. Longer chains have more keys than any size holds that their first layer folds
    /// to.
    ///
    /// Reads every block once. Memory: the new layer, and one folded part.
    ///
    /// # Errors
    ///
    /// [`Error::UnlikeLayers`] if layers differ in parts or hashes; [`Error::NoCollapse`] if their
    /// largest size in common does not keep the rate; of a single layer the errors of
    /// [`Shrink::of`]. [`Shrink::By`] is for a single layer: [`Error::NoFold`] for several.
    /// [`Error::OutOfMemory`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{DigestFunction, ScalableBloomFilter, sizing::Shrink};
    /// let mut seen = ScalableBloomFilter::new(32, 0.01, DigestFunction::default())?;
    /// (0..34u64).try_for_each(|key| seen.insert(&key).map(drop))?;
    /// assert_eq!((seen.num_layers(), seen.num_bytes()), (2, 64 + 58 * 64));
    /// let small = seen.shrunk(Shrink::default())?.expect("there is a smaller size");
    /// assert_eq!((small.num_layers(), small.num_bytes()), (1, 64));
    /// assert!((0..34u64).all(|key| small.contains(&key)) && !small.contains(&34u64));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn shrunk(&self, how: Shrink) -> Result<Option<Self>, Error> {
        let items = self.distinct_items().rounded();
        let (target_fpp, wanted) = match how {
            Shrink::To { items, target_fpp } => (target_fpp.unwrap_or(self.target_fpp), items),
            Shrink::By(_) => (self.target_fpp, None),
        };
        crate::sizing::check_fpp(target_fpp)?;
        let sizes = self.common_sizes()?;
        let left = libm::pow(1.0 - SHARE, self.layers.len() as f64);
        let most_fpp = target_fpp * (1.0 - left).min(MOST);
        let needed = wanted.unwrap_or(items).max(1);
        let keeps = |size: &&LayerParams| size.expected_fpp(needed) <= most_fpp;
        let found = match how {
            Shrink::By(factor) => self.by(factor, &sizes)?,
            Shrink::To { .. } => sizes.iter().find(keeps).copied(),
        };
        let Some(size) = found else { return Err(self.no_size(&sizes, needed, most_fpp)) };
        if size.num_bytes() == self.num_bytes() {
            return Ok(None);
        }
        let expected_items = wanted.unwrap_or_else(|| most_items(&size, most_fpp));
        if items > expected_items {
            let factor = self.num_bytes() / size.num_bytes();
            return Err(Error::FoldOverfull { factor, items, expected_items });
        }
        let part = size.part();
        let (num_bits, k, parts) = (part.num_bits(), part.num_hashes(), size.num_parts());
        let params = LayerParams::new(num_bits, k, parts, expected_items)?;
        let inserted = libm::round(params.intake().counted(items as f64)) as u64;
        let mut layer = OwnedLayer::empty(params, 0, self.digest_function)?;
        for from in &self.layers {
            for (part, from) in layer.parts.iter_mut().zip(&from.parts) {
                or_folded(part, from)?;
            }
        }
        layer.inserted_items = inserted;
        let layers = alloc::vec![layer];
        Ok(Some(Self { layers, first_items: expected_items, target_fpp, ..*self }))
    }

    /// The sizes to which all layers fold, in ascending order.
    fn common_sizes(&self) -> Result<Vec<LayerParams>, Error> {
        let first = &self.layers[0].params;
        let shape = |params: &LayerParams| {
            [("parts", params.num_parts()), ("hashes", params.part().num_hashes())]
        };
        for (i, layer) in self.layers.iter().enumerate() {
            for ((parameter, left), (_, right)) in
                shape(first).into_iter().zip(shape(&layer.params))
            {
                if left != right {
                    let layer = i as u64 + 1;
                    return Err(Error::UnlikeLayers { layer, parameter, left, right });
                }
            }
        }
        let blocks = self.layers.iter().map(|layer| layer.params.part().num_blocks());
        let common = blocks.reduce(greatest_common_divisor).unwrap_or(1);
        let (k, parts) = (first.part().num_hashes(), first.num_parts());
        let params = FilterParams::new(Layout::Blocked, common * 512, k, 1, 0.5)?;
        let factors = params.fold_factors().into_iter().rev();
        factors.map(|factor| LayerParams::new(common / factor * 512, k, parts, 1)).collect()
    }

    /// The only layer, at 1/`factor` of its size.
    fn by(&self, factor: u64, sizes: &[LayerParams]) -> Result<Option<LayerParams>, Error> {
        let no_fold = |unit, from| Err(Error::NoFold { unit, from, factor });
        let [layer] = &*self.layers else { return no_fold("layers", self.layers.len() as u64) };
        let blocks = layer.params.part().num_blocks();
        let size =
            sizes.iter().find(|it| Some(blocks) == it.part().num_blocks().checked_mul(factor));
        size.map_or_else(|| no_fold("blocks", blocks), |size| Ok(Some(*size)))
    }

    /// The reason why there is no size.
    fn no_size(&self, sizes: &[LayerParams], items: u64, target_fpp: f64) -> Error {
        let largest = sizes.last().unwrap_or(&self.layers[0].params);
        let (num_layers, expected_fpp) = (self.layers.len(), largest.expected_fpp(items));
        if num_layers == 1 {
            return Error::NoShrink { items, expected_fpp, target_fpp };
        }
        let num_blocks = largest.part().num_blocks();
        let num_layers = num_layers as u64;
        Error::NoCollapse { num_layers, num_blocks, items, expected_fpp, target_fpp }
    }
}

/// Adds the keys of a part to a smaller one.
fn or_folded(part: &mut BlockedBloomFilter, from: &BlockedBloomFilter) -> Result<(), Error> {
    let factor = from.params().num_bits() / part.params().num_bits();
    part.union_with(&from.fold(factor, 0.999)?)
}

/// The most keys for which a layer keeps a rate.
fn most_items(layer: &LayerParams, target_fpp: f64) -> u64 {
    let keeps = |items: u64| layer.expected_fpp(items) <= target_fpp;
    // It keeps no rate below 1 with a key for each bit.
    let (mut low, mut high) = (0, layer.part().num_bits());
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if keeps(middle) { low = middle } else { high = middle }
    }
    low.max(1)
}

const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
