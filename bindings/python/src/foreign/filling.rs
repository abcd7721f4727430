//! The fill of a filter of another system while keys are added to it.

use crate::error::Error;
use mayhap_formats::{ForeignFilter, Limits, open, open_with};
use mayhap_sets::ByFormula;
use mayhap_sets::file::ForeignFile;
use std::collections::HashSet;

/// All bits are counted once per m / (16 k) new keys, where the file does not record its capacity.
const LOOKS: u64 = 16;

/// The keys in a file.
pub(super) struct Filling {
    expected_items: Option<u64>,
    /// The filter's own estimate when it was opened, plus the new keys since.
    items: u64,
    /// New keys until all bits are counted.
    until_look: u64,
    warned: bool,
}

impl Filling {
    /// Counts all bits.
    pub(super) fn new(file: &ForeignFile) -> Self {
        // One whose estimate fails has all bits set.
        let items = file.filter().estimated_items().unwrap_or(u64::MAX);
        Self { expected_items: file.expected_items(), items, until_look: 0, warned: false }
    }

    /// Counts `new` more keys.
    pub(super) fn note(&mut self, new: u64) {
        self.items = self.items.saturating_add(new);
        self.until_look = self.until_look.saturating_sub(new);
    }

    /// The warning after keys were inserted: once, when there are too many.
    pub(super) fn news(&mut self, file: &ForeignFile) -> Option<String> {
        let wrong = match self.expected_items {
            _ if self.warned => return None,
            Some(expected) if self.items <= expected => return None,
            Some(expected) => {
                format!("the filter has more keys than the {expected} that it is for")
            }
            None if self.until_look > 0 => return None,
            None => {
                let filter = file.filter();
                let step = filter.num_bits() / LOOKS / u64::from(filter.num_hashes()).max(1);
                self.until_look = step.max(1);
                format!("the filter is full: {}", file.numbers().overfilled()?)
            }
        };
        self.warned = true;
        Some(format!("{wrong}; create a larger one"))
    }

    /// Refuses keys if more of them would be new than there is room for.
    ///
    /// # Errors
    ///
    /// [`Error::FullForeign`].
    pub(super) fn check_room(&self, file: &ForeignFile, keys: &[&[u8]]) -> Result<(), Error> {
        let filter = file.filter();
        let absent: HashSet<&[u8]> =
            keys.iter().copied().filter(|key| !filter.contains(key)).collect();
        if absent.is_empty() {
            return Ok(());
        }
        let why = match self.expected_items {
            Some(expected) => {
                let over = self.items.saturating_add(absent.len() as u64) > expected;
                over.then(|| format!("it is for {expected} keys"))
            }
            None => tried(file, &absent)?,
        };
        why.map_or(Ok(()), |why| Err(Error::FullForeign { why }))
    }
}

/// The problem of a filter that also has these keys, if any.
fn tried(file: &ForeignFile, keys: &HashSet<&[u8]>) -> Result<Option<String>, Error> {
    let (filter, limits) = (file.filter(), Limits::default());
    let (format, bytes) = (filter.format(), filter.encode());
    let mut tried: Box<dyn ForeignFilter> = match file.unrecorded_shape() {
        Some(shape) => open_with(format, &bytes, shape, &limits)?,
        None => open(format, &bytes, &limits)?,
    };
    for key in keys {
        tried.insert(key)?;
    }
    let numbers = ByFormula {
        estimated_items: tried.estimated_items(),
        fill_ratio: tried.count_ones() as f64 / tried.num_bits() as f64,
        estimated_fpp: tried.estimated_fpp(),
        ..file.numbers()
    };
    Ok(numbers.overfilled())
}
