//! The sizing input for every kind, derived from the [`Needs`].

use super::cost::check_number;
use super::size::Size;
use super::{Needs, Reason};
use crate::Error;
use crate::sizing::{self, MAX_NUM_BITS};

/// The sizing input for every kind: two of n, p and bytes, for one set, checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Wish {
    /// The fewest bits; the budget, if any, is compared later.
    Bits { items: u64, target_fpp: f64 },
    /// The lowest rate.
    Fpp { items: u64, max_bytes: u64 },
    /// The most keys.
    Items { target_fpp: f64, max_bytes: u64 },
}

impl Wish {
    pub(super) fn of(needs: &Needs) -> Result<Self, Error> {
        Error::check_range("sets", 1..=u64::MAX, needs.sets)?;
        needs.items.map_or(Ok(()), sizing::check_items)?;
        needs.target_fpp.map_or(Ok(()), sizing::check_fpp)?;
        needs.costs.map_or(Ok(()), |costs| costs.check())?;
        for (parameter, found) in
            [("key_bytes", needs.key_bytes), ("queries_per_second", needs.queries_per_second)]
        {
            check_number(parameter, f64::MAX, found.unwrap_or(0.0))?;
        }
        // Per set, in whole blocks, and no more than a filter can use.
        let per_set = |bytes: u64| (bytes / needs.sets / 64 * 64).min(MAX_NUM_BITS / 8);
        let max_bytes = needs.max_bytes.map(per_set);
        match (needs.items, needs.target_fpp, max_bytes) {
            (Some(items), Some(target_fpp), _) => Ok(Self::Bits { items, target_fpp }),
            (Some(items), None, Some(max_bytes)) => Ok(Self::Fpp { items, max_bytes }),
            (None, Some(target_fpp), Some(max_bytes)) => Ok(Self::Items { target_fpp, max_bytes }),
            (None, _, None) => Err(Error::Missing { parameter: "items or max_bytes" }),
            (_, None, _) => Err(Error::Missing { parameter: "target_fpp or max_bytes" }),
        }
    }

    /// The wish for a filter that gets only one in `times` of the bytes.
    pub(super) const fn with_share_of_bytes(self, times: u64) -> Self {
        match self {
            Self::Bits { .. } => self,
            Self::Fpp { items, max_bytes } => Self::Fpp { items, max_bytes: max_bytes / times },
            Self::Items { target_fpp, max_bytes } => {
                Self::Items { target_fpp, max_bytes: max_bytes / times }
            }
        }
    }

    /// The budget of one set in bits, if the bits are given.
    pub(super) const fn max_bits(&self) -> u64 {
        match *self {
            Self::Bits { .. } => 0,
            Self::Fpp { max_bytes, .. } | Self::Items { max_bytes, .. } => max_bytes * 8,
        }
    }

    /// The size by a kind's `bits_and_hashes(n, p)`, which grows with n and with 1/p (if it does so
    /// with steps back, the result fits but may not be the best).
    pub(super) fn solve(
        &self,
        max_bits: u64,
        bits_and_hashes: impl Fn(u64, f64) -> Result<(u64, u32), Error>,
    ) -> Result<Size, Reason> {
        let fits = |items: u64, target_fpp: f64| {
            bits_and_hashes(items, target_fpp).is_ok_and(|(bits, _)| bits <= max_bits)
        };
        let (items, target_fpp) = match *self {
            Self::Bits { items, target_fpp } => (items, target_fpp),
            Self::Items { target_fpp, .. } => {
                (sizing::largest(|items| fits(items, target_fpp)).max(1), target_fpp)
            }
            // Steps of p by 2^(1/8), from 1/2 to 2^-64.
            Self::Fpp { items, .. } => {
                let rate = |step: u64| libm::exp2(-(step as f64) / 8.0);
                let step = sizing::largest(|step| step <= 512 && fits(items, rate(step)));
                (items, rate(step.max(1)))
            }
        };
        let (num_bits, num_hashes) =
            bits_and_hashes(items, target_fpp).map_err(|error| self.refusal(&error))?;
        match *self {
            Self::Fpp { max_bytes, .. } | Self::Items { max_bytes, .. } if num_bits > max_bits => {
                Err(Reason::BudgetTooSmall { max_bytes })
            }
            _ => Ok(Size { items, target_fpp, num_bits, num_hashes }),
        }
    }

    /// The reason for a kind that sizing rejects.
    pub(super) fn refusal(&self, error: &Error) -> Reason {
        match (error, self) {
            (&Error::FppUnreachable { lowest_fpp, .. }, _) => {
                Reason::RateUnreachable { lowest_fpp }
            }
            (_, Self::Bits { .. }) => Reason::TooLarge,
            (_, Self::Fpp { max_bytes, .. } | Self::Items { max_bytes, .. }) => {
                Reason::BudgetTooSmall { max_bytes: *max_bytes }
            }
        }
    }
}
