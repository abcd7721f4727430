//! The choice.

use super::wish::Wish;
use super::{Candidate, Cost, Fits, KindName, Needs, Reason};
use super::{bloom, compact, counting, fuse, matrix, memory, ribbon, scalable, window};
use crate::native::Kind;
use crate::{Error, Layout};
use alloc::vec;
use alloc::vec::Vec;

/// A candidate may take this many times the bits of the smallest one if it touches fewer cache
/// lines: the rule of [`crate::sizing::default_layout`], for all kinds.
const BITS_FOR_SPEED: f64 = 1.25;

/// The assumed share of queries for absent keys if it is unknown.
const ABSENT_SHARE: f64 = 0.5;

/// The answer of [`plan`].
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The best kind, even if [`Plan::no_filter`] advises against any; `None` if no kind meets the
    /// needs.
    pub best: Option<Candidate>,
    /// The reason to use no filter at all, if there is one.
    pub no_filter: Option<Reason>,
    /// The other kinds that meet the needs and why they were not chosen; the runner-up first.
    pub rejected: Vec<(Candidate, Reason)>,
    /// The kinds that do not meet the needs, and why.
    pub unfit: Vec<(KindName, Reason)>,
    /// The costs of one query with the best kind, if [`Needs::costs`] are known.
    pub cost: Option<Cost>,
    /// Queries per second that read the disk needlessly, if [`Needs::queries_per_second`] and
    /// [`Needs::costs`] are known.
    pub false_positives_per_second: Option<f64>,
    /// Bytes of a hash set of the keys, if [`Needs::key_bytes`] is known.
    pub hash_set_bytes: Option<f64>,
}

/// Finds the kind, layout and size of filter for these needs.
///
/// Among the kinds that meet the needs, the one with the fewest cache lines per query is chosen
/// (assuming that half of the queries are for absent keys, unless [`Needs::costs`] has the share)
/// out of those within 1.25 times the bits of the smallest (for a given memory: 0.8 times the
/// information, log2 1/p, of the lowest rate, or 0.8 times the largest number of keys). Of the
/// kinds that are built from all keys at once only the smallest is chosen.
///
/// # Errors
///
/// [`Error::Missing`] unless two of `items`, `target_fpp` and `max_bytes` are given;
/// [`Error::ZeroItems`], [`Error::FppOutOfRange`]; [`Error::OutOfRange`] for zero sets;
/// [`Error::NumberOutOfRange`] for costs, bytes of a key or queries per second that are negative,
/// infinite or NaN, and for a share above 1.
///
/// # Examples
///
/// ```
/// use mayhap::native::Kind;
/// use mayhap::plan::{Needs, Reason, plan};
///
/// // A million sessions at 1 %, each removed when it ends.
/// let needs = Needs { target_fpp: Some(0.01), ..Needs::for_items(1_000_000) };
/// let removing = plan(&Needs { delete: true, ..needs.clone() })?;
/// let best = removing.best.unwrap();
/// assert_eq!(best.kind.kind, Kind::Compact);
/// assert_eq!((best.bits_per_item() * 10.0) as u32, 95);
/// let (other, why) = &removing.unfit[0];
/// assert_eq!((other.name(), *why), ("blocked", Reason::CannotDelete));
///
/// // The number of keys is unknown: the rate still holds with ten times as many.
/// let growing = plan(&Needs { unknown_items: true, ..needs })?.best.unwrap();
/// assert_eq!(growing.kind.kind, Kind::Scalable);
/// assert!(growing.fpp_at_10x.unwrap() <= 0.01);
/// # Ok::<(), mayhap::Error>(())
/// ```
pub fn plan(needs: &Needs) -> Result<Plan, Error> {
    let wish = Wish::of(needs)?;
    let (mut served, mut unfit) = (Vec::new(), Vec::new());
    for (kind, sized) in all(needs, &wish) {
        match sized.and_then(|candidate| within_budget(candidate.predicted(), needs)) {
            Ok(candidate) => served.push(candidate),
            Err(reason) => unfit.push((kind, reason)),
        }
    }
    let absent_share = needs.costs.map_or(ABSENT_SHARE, |costs| costs.absent_share);
    let lines = |candidate: &Candidate| candidate.cache_lines.mean(absent_share);
    let best = choose(&mut served, &wish, lines);
    let mut rejected: Vec<(Candidate, Reason)> = Vec::new();
    if let Some(best) = &best {
        served.sort_by(|a, b| size(a, &wish).total_cmp(&size(b, &wish)));
        rejected.extend(served.into_iter().map(|other| {
            let reason = why_not(&other, best, &wish, lines);
            (other, reason)
        }));
    }
    let costs_of = |best: &Candidate| needs.costs.map(|costs| costs.of(best.expected_fpp));
    let cost = best.as_ref().and_then(costs_of);
    let hash_set_bytes = best.as_ref().and_then(|best| {
        let one = memory::hash_set_bytes(best.items, needs.key_bytes?);
        Some(one * needs.sets as f64)
    });
    let false_positives_per_second =
        needs.queries_per_second.and_then(|queries| Some(queries * cost?.false_positives));
    let no_filter = no_filter(needs, best.as_ref(), cost.as_ref(), hash_set_bytes);
    Ok(Plan { best, no_filter, rejected, unfit, cost, false_positives_per_second, hash_set_bytes })
}

/// Every kind, sized or rejected. A new kind is one more line here and one more file.
///
/// A kind with more abilities than needed is left out: it would be a plain filter with more bits.
fn all(needs: &Needs, wish: &Wish) -> Vec<(KindName, Result<Candidate, Reason>)> {
    let plain = |layout| {
        let sized = lacks(needs, Kind::Bloom).and_then(|()| bloom::candidate(layout, wish));
        (KindName::bloom(layout), sized)
    };
    let mut kinds = vec![plain(Layout::Blocked), plain(Layout::Standard)];
    for (kind, is_needed) in [
        (Kind::Ribbon, true),
        (Kind::Fuse, true),
        (Kind::Matrix, needs.sets > 1),
        (Kind::Window, needs.forget),
        (Kind::Scalable, needs.unknown_items),
        (Kind::Compact, needs.delete),
        (Kind::Counting, needs.delete),
    ] {
        let sized = match (lacks(needs, kind), kind) {
            (Err(reason), _) => Err(reason),
            _ if !is_needed => continue,
            (_, Kind::Ribbon) => ribbon::candidate(wish),
            (_, Kind::Fuse) => fuse::candidate(wish),
            (_, Kind::Matrix) => matrix::candidate(needs, wish),
            (_, Kind::Window) => window::candidate(wish, needs.by_time),
            (_, Kind::Scalable) => scalable::candidate(wish),
            (_, Kind::Compact) => compact::candidate(wish),
            (_, Kind::Counting) => counting::candidate(wish),
            // Plain filters are above, and of no other kind is there a candidate.
            (_, _) => continue,
        };
        kinds.push((KindName::only(kind), sized));
    }
    kinds
}

/// The need that this kind does not meet, if there is one.
fn lacks(needs: &Needs, kind: Kind) -> Result<(), Reason> {
    if needs.delete && !matches!(kind, Kind::Compact | Kind::Counting) {
        Err(Reason::CannotDelete)
    } else if needs.forget && kind != Kind::Window {
        Err(Reason::CannotForget)
    } else if needs.unknown_items && kind != Kind::Scalable {
        Err(Reason::CannotGrow)
    } else if !needs.frozen && is_frozen(kind) {
        // Rebuilt for every change.
        Err(Reason::CannotInsert)
    } else {
        Ok(())
    }
}

/// Whether filters of this kind are built from all keys at once.
const fn is_frozen(kind: Kind) -> bool {
    matches!(kind, Kind::Fuse | Kind::Ribbon)
}

/// The candidate for all sets, if they fit in the budget.
fn within_budget(mut candidate: Candidate, needs: &Needs) -> Result<Candidate, Reason> {
    let sets = needs.sets as f64;
    candidate.sets = needs.sets;
    if candidate.kind.kind == Kind::Matrix {
        matrix::scale(&mut candidate, needs.sets);
    } else {
        candidate.num_bytes = candidate.num_bytes.saturating_mul(needs.sets);
        candidate.cache_lines.hit *= sets;
        candidate.cache_lines.miss *= sets;
    }
    candidate.fits = Fits::of(candidate.num_bytes, &needs.memory);
    match needs.max_bytes {
        Some(max_bytes) if candidate.num_bytes > max_bytes => {
            Err(Reason::OverBudget { num_bytes: candidate.num_bytes })
        }
        _ => Ok(candidate),
    }
}

/// The quantity to minimise, depending on the wish: the bits, or 1 / log2(1/p), or 1 / n.
fn size(candidate: &Candidate, wish: &Wish) -> f64 {
    match wish {
        Wish::Bits { .. } => candidate.num_bytes as f64,
        Wish::Fpp { .. } => 1.0 / -libm::log2(candidate.expected_fpp.min(1.0 - f64::EPSILON)),
        Wish::Items { .. } => 1.0 / candidate.items as f64,
    }
}

/// Removes the best of the candidates.
fn choose(
    served: &mut Vec<Candidate>,
    wish: &Wish,
    lines: impl Fn(&Candidate) -> f64,
) -> Option<Candidate> {
    let smallest = served.iter().map(|other| size(other, wish)).min_by(f64::total_cmp)?;
    // What never changes is built once to be small.
    let frozen = served.iter().filter(|other| is_frozen(other.kind.kind));
    let smallest_frozen = frozen.map(|other| size(other, wish)).fold(f64::INFINITY, f64::min);
    let limit = |other: &Candidate| {
        let for_speed = smallest * BITS_FOR_SPEED;
        if is_frozen(other.kind.kind) { for_speed.min(smallest_frozen) } else { for_speed }
    };
    let (index, _) =
        served.iter().enumerate().filter(|(_, other)| size(other, wish) <= limit(other)).min_by(
            |(_, a), (_, b)| {
                let by_lines = lines(a).total_cmp(&lines(b));
                by_lines.then(size(a, wish).total_cmp(&size(b, wish)))
            },
        )?;
    Some(served.swap_remove(index))
}

/// Why `best` was chosen over this one: it is larger, or not small enough to make up for its cache
/// lines.
fn why_not(
    other: &Candidate,
    best: &Candidate,
    wish: &Wish,
    lines: impl Fn(&Candidate) -> f64,
) -> Reason {
    if size(other, wish) <= size(best, wish) {
        return Reason::MoreCacheLines { lines: lines(other), best: lines(best) };
    }
    match wish {
        Wish::Bits { .. } => {
            Reason::MoreBits { times: other.num_bytes as f64 / best.num_bytes as f64 }
        }
        Wish::Fpp { .. } => Reason::HigherRate { times: other.expected_fpp / best.expected_fpp },
        Wish::Items { .. } => Reason::FewerItems { share: other.items as f64 / best.items as f64 },
    }
}

/// Whether to do without a filter: no kind meets the needs, the keys are smaller, or the disk is
/// not slow enough.
fn no_filter(
    needs: &Needs,
    best: Option<&Candidate>,
    cost: Option<&Cost>,
    hash_set_bytes: Option<f64>,
) -> Option<Reason> {
    let Some(best) = best else { return Some(Reason::NothingServes) };
    if let Some(bytes) = hash_set_bytes
        && bytes <= best.num_bytes as f64
    {
        return Some(Reason::KeysAreSmaller { num_bytes: bytes as u64 });
    }
    let (costs, cost) = (needs.costs?, cost?);
    // Cost(filter) < C2 − C1 solved for C1.
    let saved = cost.true_negatives * (costs.with_disk - costs.without_disk);
    let spent = costs.without_disk;
    (spent >= saved).then_some(Reason::SavesTooLittle { saved, spent })
}
