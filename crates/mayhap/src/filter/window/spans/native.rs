//! Such a window as a file: `crates/mayhap/NATIVE-FORMAT.md`, kind 4 with layout 5.

use super::{BEGIN, CAME, COLUMN_BLOCKS, COUNT, LAST, MOST_CAME, Plan, SpanWindow, Table};
use crate::Error;
use crate::bits::{Block, OwnedBlocks, block};
use crate::filter::window::clock::Clock;
use crate::filter::window::fields::check_fields;
use crate::native::Fields;
use crate::sizing::window::spans::{MAX_NUM_ROWS, NUM_COLUMNS};
use alloc::vec;
use alloc::vec::Vec;

/// The id of the layout: rows of 64 bits.
pub(in crate::filter::window) const LAYOUT: u16 = 5;

/// Fields of `extra`.
const SPAN: usize = 0;
const NEXT: usize = 1;
const NOW: usize = 2;
const OLDEST: usize = 3;
const FORGOTTEN: usize = 4;
const FORGOTTEN_UNTIL: usize = 5;
const AHEAD: usize = 6;
const USED: usize = 7;

/// Keeps the numbers of generations from overflowing.
const MOST_GENERATIONS: u64 = 1 << 63;

/// The window described by the fields, all of them checked.
fn plan_of(fields: &Fields) -> Result<Plan, Error> {
    check_fields::<NUM_COLUMNS>(fields, LAYOUT, USED, MAX_NUM_ROWS)?;
    let columns = u64::from(NUM_COLUMNS);
    let [span, next, now, oldest, forgotten, forgotten_until, ahead] = fields.extra;
    Error::check_field(next < MOST_GENERATIONS, "generations", next)?;
    let is_live = oldest <= next && next - oldest < columns;
    Error::check_field(is_live, "oldest generation", oldest)?;
    let is_past = forgotten_until <= now && (forgotten != 0 || forgotten_until == 0);
    Error::check_field(is_past, "forgotten until", forgotten_until)?;
    Error::check_field(ahead <= now, "ahead", ahead)?;
    Plan::new(span, fields.expected_items)
}

impl SpanWindow {
    /// Rejects numbers of generations that only a faulty writer can have produced, before anything
    /// is computed with them.
    fn check_generations(&self, fields: &Fields) -> Result<(), Error> {
        let (mut items, mut before) = (0u64, 0);
        for generation in self.oldest..self.next {
            let numbers = [COUNT, BEGIN, LAST, CAME].map(|n| self.number(n, generation));
            let [count, begin, last, came] = numbers;
            let is_full = (1..=self.plan.items).contains(&count);
            Error::check_field(is_full, "count of a generation", count)?;
            let all_came = (count..=MOST_CAME).contains(&came);
            Error::check_field(all_came, "insertions of a generation", came)?;
            let is_ordered = (before..=last).contains(&begin);
            Error::check_field(is_ordered, "beginning of a generation", begin)?;
            let is_short = last <= self.clock.now && last - begin < self.plan.time;
            Error::check_field(is_short, "last time of a generation", last)?;
            before = begin;
            // 63 times n/54 at most.
            items = items.saturating_add(count);
        }
        let is_sum = items == fields.inserted_items && items <= self.plan.most_items;
        Error::check_field(is_sum, "inserted_items", fields.inserted_items)?;
        let now = self.clock.first_behind().unwrap_or(self.clock.now);
        let is_kept = self.oldest >= self.next || !self.is_past(self.oldest, now);
        Error::check_field(is_kept, "oldest generation", self.oldest)?;
        // For the current one, time advances even if it has been forgotten.
        let begin = self.next.checked_sub(1).map_or(0, |present| self.number(BEGIN, present));
        Error::check_field(begin <= self.clock.now, "beginning of a generation", begin)
    }

    pub(in crate::filter::window) fn fields(&self, target_fpp: f64) -> Fields {
        let mut extra = [0; 7];
        extra[SPAN] = self.plan.span;
        extra[NEXT] = self.next;
        extra[NOW] = self.clock.now;
        extra[OLDEST] = self.oldest;
        extra[FORGOTTEN] = self.forgotten;
        extra[FORGOTTEN_UNTIL] = self.forgotten_until;
        extra[AHEAD] = self.clock.ahead();
        Fields {
            layout: LAYOUT,
            num_bits: self.table.num_bits(),
            num_hashes: self.table.num_hashes(),
            expected_items: self.plan.expected_items,
            target_fpp,
            inserted_items: self.items,
            extra,
            layers: Vec::new(),
        }
    }

    pub(in crate::filter::window) fn segment_blocks(fields: &Fields) -> Result<Vec<u64>, Error> {
        plan_of(fields)?;
        let rows = fields.num_bits / u64::from(NUM_COLUMNS);
        Ok(vec![Table::<u64>::blocks_of(rows), COLUMN_BLOCKS as u64])
    }

    pub(in crate::filter::window) fn segments(&self) -> Vec<&[Block]> {
        vec![self.table.blocks.as_ref(), &self.columns]
    }

    /// Builds a window from segments of the lengths of [`SpanWindow::segment_blocks`].
    pub(in crate::filter::window) fn from_segments(
        fields: &Fields,
        [blocks, columns]: [OwnedBlocks; 2],
    ) -> Result<Self, Error> {
        let num_rows = fields.num_bits / u64::from(NUM_COLUMNS);
        let table = Table::new(blocks, num_rows, fields.num_hashes);
        let plan = plan_of(fields)?;
        let mut window = Self {
            clock: Clock::saved(plan.time, fields.extra[NOW], fields.extra[AHEAD]),
            next: fields.extra[NEXT],
            oldest: fields.extra[OLDEST],
            open: fields.extra[OLDEST],
            items: fields.inserted_items,
            columns: core::array::from_fn(|i| columns.as_ref()[i]),
            forgotten: fields.extra[FORGOTTEN],
            forgotten_until: fields.extra[FORGOTTEN_UNTIL],
            ..Self::new(table, plan)
        };
        window.check_generations(fields)?;
        let live = window.oldest..window.next;
        window.came = live.map(|generation| window.number(CAME, generation)).sum();
        window.close();
        window.cursor = window.due();
        let counts = &block::words(&window.columns)[COUNT..BEGIN];
        let spare = (window.next % u64::from(NUM_COLUMNS)) as u32;
        window.table.check_clear(counts, spare, window.cursor)?;
        Ok(window)
    }
}
