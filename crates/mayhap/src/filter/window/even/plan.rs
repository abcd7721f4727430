//! The division of a window into generations of one length.

use crate::Error;
use crate::filter::window::{Age, Window};
use crate::sizing::window::{self, Load, MAX_OLDER_GENERATIONS};

/// A window divided into generations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::filter::window) struct Plan {
    pub(in crate::filter::window) window: Window,
    /// The keys or the time of a generation: a 14th of the window, rounded up.
    pub(in crate::filter::window) step: u64,
    /// The generations that can be queried: the full ones that hold the window, and the current
    /// one.
    pub(in crate::filter::window) live: u32,
    /// The keys that a generation is sized for.
    pub(in crate::filter::window) generation_items: u64,
}

impl Plan {
    pub(in crate::filter::window) fn new(window: Window) -> Result<Self, Error> {
        window.check()?;
        let size = window.size();
        let step = size.div_ceil(MAX_OLDER_GENERATIONS.into());
        // Short windows need fewer: 15 keys are 8 generations of 2.
        let live = size.div_ceil(step) as u32 + 1;
        let mut plan = Self { window, step, live, generation_items: 0 };
        plan.generation_items = plan.items_of_a_generation(window.expected_items());
        Ok(plan)
    }

    /// The share of a generation in `items` keys that are spread evenly over a window, rounded up.
    pub(in crate::filter::window) fn items_of_a_generation(&self, items: u64) -> u64 {
        let share = u128::from(items) * u128::from(self.step);
        let share = share.div_ceil(self.window.size().into());
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// Rows and k for a rate. (Count windows have always been sized for generations that end after
    /// `generation_items` keys that change them, slightly more than the keys that arrive.)
    pub(in crate::filter::window) fn solve(&self, target_fpp: f64) -> Result<(u64, u32), Error> {
        let load = match self.window {
            Window::Items(_) => Load::Counted(self.generation_items),
            Window::Time { .. } => Load::Distinct(self.generation_items),
        };
        window::for_items(load, self.live, target_fpp)
    }

    /// The age of a key `generations` back, when the current generation has `items` keys.
    pub(in crate::filter::window) fn age_in_items(&self, generations: u32, items: u64) -> Age {
        let full = |generations: u32| self.step.saturating_mul(generations.into());
        let at_most = full(generations).saturating_add(items).saturating_sub(1);
        let at_least =
            generations.checked_sub(1).map_or(0, |older| full(older).saturating_add(items));
        Age { generations, at_least, at_most }
    }

    /// The age of a key of generation `generation`, at the time `now` in a later one.
    pub(in crate::filter::window) fn age_in_time(&self, generation: u64, now: u64) -> Age {
        let begin = generation * self.step;
        let last = begin.saturating_add(self.step - 1);
        let generations = (now / self.step - generation) as u32;
        Age { generations, at_least: now.saturating_sub(last), at_most: now - begin }
    }
}
