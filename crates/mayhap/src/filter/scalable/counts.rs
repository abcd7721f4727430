//! Counts for callers that keep a log of insertions, which knows better than the bits which keys
//! were new.

use super::ScalableBloomFilter;
use crate::{Bitmap, Digest, Error};

impl ScalableBloomFilter {
    /// Limits the count of inserted keys to `most`; any excess is subtracted from the newest layers
    /// first. No bit is changed.
    ///
    /// For a copy taken during insertions: it counts keys whose bits it does not have
    /// ([`snapshot`](super::ConcurrentScalableBloomFilter::snapshot)).
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{DigestFunction, ScalableBloomFilter};
    /// let mut seen = ScalableBloomFilter::new(100, 1e-6, DigestFunction::default())?;
    /// seen.insert_batch(&(0..150u64).collect::<Vec<_>>())?;
    /// seen.limit_inserted_items(90);
    /// assert_eq!(seen.inserted_items(), 90);
    /// assert!((0..150u64).all(|key| seen.contains(&key)));
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn limit_inserted_items(&mut self, most: u64) {
        let mut surplus = self.inserted_items().saturating_sub(most);
        for layer in self.layers.iter_mut().rev() {
            let taken = surplus.min(layer.inserted_items);
            layer.inserted_items -= taken;
            surplus -= taken;
        }
    }

    /// Inserts digests and counts each of them as a key, even if it is already present: then the
    /// layer that holds it counts it, or another one with room.
    ///
    /// For digests that were, according to a log, new when they were inserted into the filter of
    /// which this is a copy, taken then or later. If [`ScalableBloomFilter::limit_inserted_items`]
    /// has reset the copy to the count at the start of the log, it then counts exactly what the log
    /// has, whichever of the digests it already holds.
    ///
    /// # Errors
    ///
    /// As [`ScalableBloomFilter::insert_digests_into`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Digest, DigestFunction, ScalableBloomFilter};
    /// let logged: Vec<Digest> = (1..=10).map(|i| Digest::new(i << 40)).collect();
    /// let mut copy = ScalableBloomFilter::new(100, 1e-6, DigestFunction::default())?;
    /// copy.insert_digest(logged[0])?; // the copy has it, and the log says so once more
    /// copy.limit_inserted_items(0);
    /// copy.insert_digests_counted(&logged)?;
    /// assert_eq!(copy.inserted_items(), 10);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn insert_digests_counted(&mut self, digests: &[Digest]) -> Result<(), Error> {
        let mut new = Bitmap::new();
        self.insert_digests_into(digests, &mut new)?;
        for (i, &digest) in digests.iter().enumerate() {
            if !new.get(i) {
                self.count_again(digest)?;
            }
        }
        Ok(())
    }

    /// Inserts digests without counting them as keys.
    ///
    /// For digests that were, according to a log, already present when they were inserted; they
    /// count where the log has them as new.
    ///
    /// # Errors
    ///
    /// As [`ScalableBloomFilter::insert_digests_into`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{Digest, DigestFunction, ScalableBloomFilter};
    /// let mut copy = ScalableBloomFilter::new(100, 1e-6, DigestFunction::default())?;
    /// copy.insert_digests_uncounted(&[Digest::new(1 << 40)])?;
    /// assert!(copy.contains_digest(Digest::new(1 << 40)) && copy.inserted_items() == 0);
    /// # Ok::<(), mayhap::Error>(())
    /// ```
    pub fn insert_digests_uncounted(&mut self, digests: &[Digest]) -> Result<(), Error> {
        for &digest in digests {
            if self.insert_digest(digest)? {
                // A new key is in the newest layer, which has counted it.
                self.newest_mut().inserted_items -= 1;
            }
        }
        Ok(())
    }

    /// Counts a key that is present. No layer counts more keys than it has room for.
    fn count_again(&mut self, digest: Digest) -> Result<(), Error> {
        let fits = |has_it: bool| {
            let mut newest_first = self.layers.iter().enumerate().rev();
            let layer = newest_first
                .find(|(_, layer)| layer.room() > 0 && (!has_it || layer.contains(digest)));
            layer.map(|(index, _)| index)
        };
        if let Some(index) = fits(true).or_else(|| fits(false)) {
            self.layers[index].inserted_items += 1;
            return Ok(());
        }
        self.grow()?;
        self.newest_mut().inserted_items += 1;
        Ok(())
    }
}
