//! Such a window as a file: `docs/native-format.md`, kind 4 with layout 1.

use super::{Clock, EvenWindow, Plan, Table, Window, column_of};
use crate::bits::{Block, OwnedBlocks};
use crate::filter::window::fields::{bad_field, check_fields};
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
        Window::Items(_) if now != 0 => bad_field("now", now),
        Window::Items(_) if ahead != 0 => bad_field("ahead", ahead),
        Window::Time { .. } if now / plan.step != fields.extra[GENERATION] => {
            bad_field("generation", fields.extra[GENERATION])
        }
        Window::Time { .. } if repeats != 0 => bad_field("repeats", repeats),
        Window::Time { .. } if ahead > now => bad_field("ahead", ahead),
        _ => Ok(plan),
    }
}

impl EvenWindow {
    /// Rejects what only a faulty writer can have produced: counts that do not agree with the rest,
    /// and bits set where the counts are 0.
    fn check_contents(&self, fields: &Fields) -> Result<(), Error> {
        let columns = 0..NUM_COLUMNS;
        if let Window::Items(_) = self.plan.window {
            let too_many = |column: &u32| self.count(*column) > self.plan.step;
            if let Some(column) = columns.clone().find(too_many) {
                return bad_field("count of a generation", self.count(column));
            }
            if self.came > self.plan.step {
                return bad_field("repeats", fields.extra[REPEATS]);
            }
        }
        if self.inserted_items() != fields.inserted_items {
            return bad_field("inserted_items", fields.inserted_items);
        }
        let spare = column_of(self.generation.wrapping_add(1));
        if self.cursor == self.table.num_blocks() && self.count(spare) != 0 {
            return bad_field("count of a cleared generation", self.count(spare));
        }
        let clear = columns.filter(|&column| self.count(column) == 0).fold(0, |a, c| a | 1 << c);
        let found = self.table.count_ones(clear, 0, self.table.num_blocks());
        if found != 0 {
            return bad_field("bits of generations without keys", found);
        }
        let found = self.table.count_ones(1 << spare, 0, self.cursor);
        if found != 0 {
            return bad_field("bits that were cleared", found);
        }
        if !self.table.is_zero_past_the_end() {
            return bad_field("bits past num_bits", 1);
        }
        Ok(())
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
            expected_items: self.plan.expected_items(),
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

    /// Of segments of the lengths of [`EvenWindow::segment_blocks`].
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
