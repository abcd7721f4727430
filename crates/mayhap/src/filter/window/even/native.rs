//! Such a window as a file: `crates/mayhap/NATIVE-FORMAT.md`, kind 4 with layout 1.

use super::{Clock, EvenWindow, Plan, Table, Window, column_of};
use crate::bits::{Block, OwnedBlocks, block};
use crate::filter::window::fields::check_fields;
use crate::native::Fields;
use crate::sizing::window::{MAX_NUM_ROWS, NUM_COLUMNS};
use crate::{Error, Layout};
use alloc::vec;
use alloc::vec::Vec;

/// Fields of `extra`.
const SPAN: usize = 0;
const GENERATION: usize = 1;
const NOW: usize = 2;
const REPEATS: usize = 3;
const AHEAD: usize = 4;
const USED: usize = 5;

/// Blocks of the second segment: a count for each column.
const COUNT_BLOCKS: u64 = 2;

/// The window described by the fields, all of them checked.
fn plan_of(fields: &Fields) -> Result<Plan, Error> {
    check_fields::<NUM_COLUMNS>(fields, Layout::Standard.id(), USED, MAX_NUM_ROWS)?;
    let (items, now) = (fields.expected_items, fields.extra[NOW]);
    let plan = Plan::new(match fields.extra[SPAN] {
        0 => Window::Items(items),
        span => Window::Time { span, expected_items: items },
    })?;
    let (repeats, ahead) = (fields.extra[REPEATS], fields.extra[AHEAD]);
    match plan.window {
        Window::Items(_) if now != 0 => Error::bad_field("now", now),
        Window::Items(_) if ahead != 0 => Error::bad_field("ahead", ahead),
        Window::Time { .. } if now / plan.step != fields.extra[GENERATION] => {
            Error::bad_field("generation", fields.extra[GENERATION])
        }
        Window::Time { .. } if repeats != 0 => Error::bad_field("repeats", repeats),
        Window::Time { .. } if ahead > now => Error::bad_field("ahead", ahead),
        _ => Ok(plan),
    }
}

impl EvenWindow {
    /// Rejects contents that only a faulty writer can have produced: counts that do not agree with
    /// the rest, and bits set where the counts are 0.
    fn check_contents(&self, fields: &Fields) -> Result<(), Error> {
        let step = self.plan.step;
        let counts = block::words(&self.counts);
        if let Window::Items(_) = self.plan.window {
            for &count in counts {
                Error::check_field(count <= step, "count of a generation", count)?;
            }
            Error::check_field(self.came <= step, "repeats", fields.extra[REPEATS])?;
        }
        let inserted = fields.inserted_items;
        Error::check_field(self.inserted_items() == inserted, "inserted_items", inserted)?;
        let spare = column_of(self.generation.wrapping_add(1));
        self.table.check_clear(counts, spare, self.cursor)
    }

    pub(in crate::filter::window) fn fields(&self, target_fpp: f64) -> Fields {
        let mut extra = [0; 7];
        if let Window::Time { span, .. } = self.plan.window {
            extra[SPAN] = span;
        } else {
            extra[REPEATS] = self.came - self.count(column_of(self.generation));
        }
        extra[GENERATION] = self.generation;
        extra[NOW] = self.clock.now;
        extra[AHEAD] = self.clock.ahead();
        Fields {
            layout: Layout::Standard.id(),
            num_bits: self.table.num_bits(),
            num_hashes: self.table.num_hashes(),
            expected_items: self.plan.window.expected_items(),
            target_fpp,
            inserted_items: self.inserted_items(),
            extra,
            layers: Vec::new(),
        }
    }

    pub(in crate::filter::window) fn segment_blocks(fields: &Fields) -> Result<Vec<u64>, Error> {
        plan_of(fields)?;
        let rows = fields.num_bits / u64::from(NUM_COLUMNS);
        Ok(vec![Table::<u16>::blocks_of(rows), COUNT_BLOCKS])
    }

    pub(in crate::filter::window) fn segments(&self) -> Vec<&[Block]> {
        vec![self.table.blocks.as_ref(), &self.counts]
    }

    /// Builds a window from segments of the lengths of [`EvenWindow::segment_blocks`].
    pub(in crate::filter::window) fn from_segments(
        fields: &Fields,
        [blocks, counts]: [OwnedBlocks; 2],
    ) -> Result<Self, Error> {
        let num_rows = fields.num_bits / u64::from(NUM_COLUMNS);
        let table = Table::new(blocks, num_rows, fields.num_hashes);
        let mut window = Self {
            generation: fields.extra[GENERATION],
            clock: Clock::saved(0, fields.extra[NOW], fields.extra[AHEAD]),
            counts: core::array::from_fn(|i| counts.as_ref()[i]),
            ..Self::new(table, plan_of(fields)?)
        };
        if let Window::Items(_) = window.plan.window {
            let count = window.count(column_of(window.generation));
            window.came = count.saturating_add(fields.extra[REPEATS]);
        }
        window.find_cursor();
        window.check_contents(fields)?;
        Ok(window)
    }
}
