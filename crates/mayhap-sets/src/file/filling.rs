//! How full a filter of another system is while keys are added to it.

use super::foreign_file::ForeignFile;
use super::keys::KeyBytes;
use crate::loss::RateSum;
use crate::measurements::FULL_FILL;
use crate::room::{Held, near_full};
use mayhap::Bitmap;
use mayhap_formats::Error;
use mayhap_units::number::{counted_short, format_count, grouped};

/// Keys between looks at all bits, at least, where the file does not say for how many it is;
/// looking costs less than they do then.
const MIN_LOOK_KEYS: u64 = 4096;
/// Looks at all bits while as many keys come as it is for: in all they read as many words as it is
/// for keys a few times over.
const LOOKS: u64 = 16;

/// The keys that were inserted, and the warnings about them.
#[derive(Debug)]
pub(crate) struct Filling {
    /// Whether it goes on when it is full.
    overfill: bool,
    expected_items: Option<u64>,
    /// The filter's own estimate at the start, plus the new keys since.
    items: u64,
    /// New keys that were taken for repeats.
    rates: RateSum,
    /// New keys since the start, and their number at which all bits are read again.
    new: u64,
    look_at: u64,
    warn_at: u64,
    /// Warnings not yet printed.
    warnings: Vec<String>,
}

/// The keys in a filter, by its own estimate: one whose estimate fails has all bits set.
fn items(file: &ForeignFile) -> u64 {
    file.filter().estimated_items().unwrap_or(u64::MAX)
}

impl Filling {
    /// Looks at all bits.
    pub(crate) fn new(file: &ForeignFile, overfill: bool) -> Self {
        let (expected_items, items) = (file.expected_items(), items(file));
        Self {
            overfill,
            expected_items,
            items,
            rates: RateSum::starting_at(items, file.filter().estimated_fpp()),
            new: 0,
            look_at: 1,
            warn_at: expected_items.map_or(u64::MAX, near_full),
            warnings: Vec::new(),
        }
    }

    /// Does not warn at 80 %.
    pub(crate) fn never_warn(&mut self) {
        self.warn_at = u64::MAX;
    }

    /// Goes on with the file as others have left it.
    pub(crate) fn go_on(&mut self, file: &ForeignFile) {
        self.items = items(file);
        self.rates.go_on_at(self.items, file.filter().estimated_fpp());
    }

    /// The keys that it holds, without new keys taken for repeats.
    pub(crate) fn items(&self) -> u64 {
        self.items
    }

    /// The rate when all bits were looked at last.
    pub(crate) fn fpp(&self) -> f64 {
        self.rates.fpp()
    }

    /// The keys that count: with those that were surely taken for repeats it is full, but never
    /// over-full. One that would forget all its keys next is full too.
    pub(crate) fn held(&self, clears_next: bool) -> Held {
        let full = self.expected_items.unwrap_or(u64::MAX);
        Held::Estimated(match self.items {
            _ if clears_next => full,
            items if items < full => full - self.rates.left(items, full),
            items => items,
        })
    }

    /// Inserts keys until one is refused, or would make it forget all others; `new` is as long as
    /// there were texts dealt with, those that are no keys too.
    ///
    /// # Errors
    ///
    /// The errors of the filter.
    pub(crate) fn insert(
        &mut self,
        file: &mut ForeignFile,
        keys: &KeyBytes,
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        let (mut done, mut result, mut inserted) = (keys.num_texts(), Ok(()), Vec::new());
        for (at, key) in keys.lines_and_keys() {
            let filter = file.filter_mut();
            if filter.clears_next() {
                if !self.overfill && filter.contains(key) {
                    // Inserting it again would forget it with all others.
                    continue;
                }
                if !self.overfill {
                    done = at;
                    break;
                }
                self.clear(file.name());
            }
            match file.filter_mut().insert(key) {
                Ok(true) => {
                    inserted.push(at);
                    self.new += 1;
                    self.items = self.items.saturating_add(1);
                }
                Ok(false) => {}
                Err(source) => {
                    (done, result) = (at, Err(source));
                    break;
                }
            }
        }
        new.clear_to(done);
        for at in inserted {
            new.set(at);
        }
        self.look(file);
        self.warn_if_near_full(file);
        result
    }

    /// Notes that the filter forgets all keys.
    fn clear(&mut self, name: &str) {
        let removed = match std::mem::take(&mut self.items) {
            1 => "1 key was".into(),
            items => format!("{} keys were", grouped(items)),
        };
        self.warnings.push(format!(
            "{name} was full and cleared itself, as in its own system: {removed} removed"
        ));
        self.rates.go_on_at(0, 0.0);
    }

    /// Looks at all bits, if it is time; warns, once, at half of them where the keys are not known.
    fn look(&mut self, file: &ForeignFile) {
        if self.new < self.look_at {
            return;
        }
        let filter = file.filter();
        let step = match self.expected_items {
            Some(expected) => (expected / LOOKS).max(1),
            None => (filter.num_bits() / LOOKS / u64::from(filter.num_hashes())).max(MIN_LOOK_KEYS),
        };
        self.look_at = self.new.saturating_add(step);
        self.rates.advance(self.items, filter.estimated_fpp());
        if self.expected_items.is_none() && file.fill_ratio() > FULL_FILL {
            self.look_at = u64::MAX;
            let name = file.name();
            self.warnings.push(format!(
                "half of the bits of {name} are set; the rate now rises \
                                        fast"
            ));
        }
    }

    /// Warns, once, at 80 % of the keys.
    fn warn_if_near_full(&mut self, file: &ForeignFile) {
        let items = self.items.saturating_add(self.rates.lost().lines as u64);
        let Some(expected) = self.expected_items.filter(|_| items >= self.warn_at) else { return };
        self.warn_at = u64::MAX;
        let (name, items) = (file.name(), format_count(items));
        let expected = counted_short(expected, "key");
        let next = match (self.overfill, file.filter().clears_after()) {
            (true, Some(_)) => "it clears itself when it is full",
            (true, None) => "beyond that the rate rises",
            (false, _) => "it stops when it is full",
        };
        self.warnings.push(format!("{name} holds {items} of {expected}; {next}"));
    }

    /// The warnings since the last call.
    pub(crate) fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}
