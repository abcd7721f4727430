//! A cache of computed sizes: sizing takes a millisecond, and most filters repeat recent shapes.

use super::kind::{Plan, plan};
use super::{Shape, Spec};
use crate::sync::unpoisoned;
use mayhap::Error;
use std::sync::Mutex;

/// Number of cached shapes.
const KNOWN: usize = 16;

/// The sizes of the newest shapes.
#[derive(Debug, Default)]
pub(super) struct Sizes(Mutex<Vec<(Shape, Plan)>>);

impl Sizes {
    /// The size of a filter; nothing is allocated.
    pub(super) fn get(&self, spec: &Spec) -> Result<Plan, Error> {
        self.get_or(spec, plan)
    }

    fn get_or(
        &self,
        spec: &Spec,
        plan: impl FnOnce(&Spec) -> Result<Plan, Error>,
    ) -> Result<Plan, Error> {
        let shape = spec.shape;
        if let Some((_, known)) = unpoisoned(self.0.lock()).iter().find(|known| known.0 == shape) {
            return Ok(known.clone());
        }
        // Without the lock: others need not wait.
        let plan = plan(spec)?;
        let mut known = unpoisoned(self.0.lock());
        if known.len() >= KNOWN {
            known.remove(0);
        }
        known.push((shape, plan.clone()));
        Ok(plan)
    }

    /// How many are cached.
    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        unpoisoned(self.0.lock()).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_shape_is_sized_once_while_it_is_among_the_newest() {
        let (sizes, worked_out) = (Sizes::default(), Cell::new(0));
        let get = |capacity| {
            let spec = Spec::fixed(capacity, 0.01);
            let found = sizes.get_or(&spec, |spec| {
                worked_out.set(worked_out.get() + 1);
                plan(spec)
            });
            assert_eq!(found.unwrap().num_bytes, plan(&spec).unwrap().num_bytes);
            worked_out.get()
        };
        assert_eq!((get(1000), get(1000), get(2000), get(1000)), (1, 1, 2, 2));
        for i in 0..KNOWN as u64 {
            get(10_000 + i);
        }
        assert_eq!(get(1000), 2 + KNOWN as u64 + 1);
    }
}
