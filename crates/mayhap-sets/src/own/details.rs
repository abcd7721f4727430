//! Details that only one kind reports: a function for each such kind.

use super::clock::Clock;
use crate::measurements::Detail;
use mayhap::set::Set;
use mayhap::sizing::window::spans;
use mayhap::{
    BinaryFuse, BloomMatrix, CompactFilter, CountingBloomFilter, RibbonFilter, ScalableBloomFilter,
    Window, WindowBloomFilter,
};
use mayhap_units::number::{
    counted, counted_short, format_bytes, format_count, format_fpp as rate, grouped,
};
use serde_json::{Value, json};

/// Details that only the kind of this filter reports: a row for each kind that has some.
pub(crate) fn of(set: &dyn Set, clock: Clock) -> Vec<Detail> {
    let filter = set.as_any();
    let rows = (filter.downcast_ref().map(compact))
        .or_else(|| filter.downcast_ref().map(counting))
        .or_else(|| filter.downcast_ref().map(scalable))
        .or_else(|| filter.downcast_ref().map(|filter| window(filter, clock)))
        .or_else(|| filter.downcast_ref().map(fuse))
        .or_else(|| filter.downcast_ref().map(ribbon));
    rows.unwrap_or_default()
}

fn compact(filter: &CompactFilter) -> Vec<Detail> {
    let (copies, distinct) = (filter.inserted_items(), filter.distinct_fingerprints());
    let (stuck, grows) = (filter.stuck(), filter.grows());
    let stored = format!("{} of {} fingerprints", grouped(copies), grouped(distinct));
    let stay = match stuck {
        0 => "none with 15 copies: every key can be removed".into(),
        count => format!("{} with 15 copies, which stay forever", grouped(count)),
    };
    let when_full = if grows { "doubles itself" } else { "takes no more copies" };
    let mut details = vec![
        Detail::new("copies", "copies", stored, copies),
        Detail::new("distinct_fingerprints", "", String::new(), distinct),
        Detail::new("stuck_fingerprints", "stuck", stay, stuck),
        Detail::new("grows", "when full", when_full.into(), grows),
    ];
    if copies > 0 {
        let bits = filter.num_bytes() as f64 * 8.0 / copies as f64;
        let text = format!("{bits:.1} bits for each copy");
        details.push(Detail::new("bits_per_copy", "now", text, bits));
    }
    details
}

fn counting(filter: &CountingBloomFilter) -> Vec<Detail> {
    let (counters, bits) = (filter.num_counters(), filter.counter_bits());
    let (k, saturated) = (filter.num_hashes(), filter.saturated_counters());
    let text = format!("{} of {} bits, {k} per key", grouped(counters), bits.bits());
    let stuck = match saturated {
        0 => format!("none at {}: every key can be removed", bits.max()),
        count => format!("{} at {}, which stay forever", grouped(count), bits.max()),
    };
    vec![
        Detail::new("num_counters", "counters", text, counters),
        Detail::new("counter_bits", "", String::new(), bits.bits()),
        Detail::new("saturated_counters", "saturated", stuck, saturated),
    ]
}

fn fuse(filter: &BinaryFuse) -> Vec<Detail> {
    let bits = filter.params().mean_bits();
    let text = format!("{bits:.2} bits in each of 3 slots; immutable").replace(".00 ", " ");
    vec![fingerprint(text, bits)]
}

fn ribbon(filter: &RibbonFilter) -> Vec<Detail> {
    let bits = filter.width().mean_bits();
    let slots = format_count(filter.params().num_slots());
    let text = format!("{bits:.2} bits in each of {slots} slots; immutable").replace(".00 ", " ");
    vec![fingerprint(text, bits)]
}

fn fingerprint(text: String, bits: f64) -> Detail {
    let whole = (bits.fract() == 0.0).then_some(bits as u64);
    let number = whole.map_or_else(|| Value::from(bits), Value::from);
    Detail::new("fingerprint_bits", "fingerprint", text, number)
}

fn scalable(filter: &ScalableBloomFilter) -> Vec<Detail> {
    let (mut rows, mut layers) = (Vec::new(), Vec::<Value>::new());
    for (params, items) in filter.layers() {
        let (bytes, expected) = (params.num_bytes(), params.expected_items());
        rows.push(format!(
            "{} of {} in {}",
            format_count(items),
            counted_short(expected, "key"),
            format_bytes(bytes)
        ));
        layers.push(json!({
            "inserted_items": items,
            "expected_items": expected,
            "num_bytes": bytes,
        }));
    }
    let promised = filter.promised_fpp();
    let layers_text = format!("{}: {}", layers.len(), rows.join(", "));
    let later = format!("{} at most, for any number of keys", rate(promised));
    vec![
        Detail::new("layers", "layers", layers_text, layers),
        Detail::new("promised_fpp", "rate later", later, promised),
    ]
}

fn window(filter: &WindowBloomFilter, clock: Clock) -> Vec<Detail> {
    let mut details = Vec::new();
    match filter.window() {
        Window::Items(items) => {
            let text = format!(
                "the last {}; what came before the last {} is surely forgotten",
                counted(items, "key"),
                grouped(filter.max_age())
            );
            details.push(Detail::new("window_items", "window", text, items));
        }
        Window::Time { span, .. } => {
            let (window, most) = (clock.span(span), clock.span(filter.max_age()));
            let text = format!("the last {window}; older than {most} is surely forgotten");
            details.push(Detail::new("window_time", "window", text, span));
            let ago = match filter.now() {
                0 => "nothing was added yet".into(),
                then if clock.unix_ms => format!("last added to {}", clock.moment(then)),
                then => format!("{} was the latest", clock.moment(then)),
            };
            details.push(Detail::new("window_now", "time", ago, filter.now()));
            details.extend(clock_ahead(filter, clock));
        }
        _ => {}
    }
    details.extend(forgotten(filter));
    if let Some(since) = filter.complete_since() {
        let text = format!("since {}", clock.moment(since));
        details.push(Detail::new("complete_since", "complete", text, since));
    }
    let (generations, size) = (filter.num_generations(), filter.generation_size());
    let text = match (filter.window(), filter.forgotten_early()) {
        (Window::Time { expected_items, .. }, Some(_)) => {
            let items = counted(spans::generation_items(expected_items), "key");
            format!("up to {generations} of {items} or of {}", clock.span(size))
        }
        (Window::Time { .. }, None) => format!("{generations} of {}", clock.span(size)),
        _ => format!("{generations} of {}", counted(size, "key")),
    };
    details.push(Detail::new("num_generations", "generations", text, generations));
    details.push(Detail::new("generation_size", "", String::new(), size));
    let (rows, k) = (filter.num_rows(), filter.num_hashes());
    let columns = filter.num_bits() / rows;
    let text = format!("{} of {columns} bits, {k} per key", grouped(rows));
    details.push(Detail::new("num_rows", "rows", text, rows));
    details
}

/// Keys forgotten early, so far.
fn forgotten(filter: &WindowBloomFilter) -> Option<Detail> {
    let keys = filter.forgotten_early()?;
    let more = grouped(filter.expected_items());
    let text = match keys {
        0 => "none early".into(),
        keys => {
            let keys = counted(keys, "key");
            format!("{keys} early so far: more than {more} came within the window")
        }
    };
    Some(Detail::new("forgotten_early", "forgotten", text, keys))
}

/// By how much the latest time is ahead of this clock, where that is more than a clock is off.
fn clock_ahead(filter: &WindowBloomFilter, clock: Clock) -> Option<Detail> {
    let now = clock.time(|| filter.now());
    let ahead = filter.now().checked_sub(now).filter(|_| filter.is_ahead_of(now))?;
    let (latest, most) = (clock.span(ahead), clock.span(filter.generation_size()));
    let text = format!("{latest} behind; once keys have come for {most}, the window goes by it");
    Some(Detail::new("clock_behind", "clock", text, ahead))
}

/// Names that a report shows.
const SHOWN_NAMES: usize = 8;

/// Details of a matrix.
pub fn matrix_details(matrix: &BloomMatrix) -> Vec<Detail> {
    let (sets, items) = (matrix.num_sets(), counted(matrix.expected_items(), "key"));
    let wrong = matrix.estimated_wrong_sets();
    let text = format!("{}, each for {items}", grouped(sets as u64));
    let wrong_text = format!("{wrong:.3} on average for a key that is in none");
    let mut details = vec![
        Detail::new("num_sets", "sets", text, sets),
        Detail::new("wrong_sets_now", "wrong sets", wrong_text, wrong),
    ];
    let names: Option<Vec<&str>> = (0..sets).map(|set| matrix.name(set)).collect();
    if let Some(names) = names {
        let mut text = names[..sets.min(SHOWN_NAMES)].join(", ");
        if sets > SHOWN_NAMES {
            text += " and ";
            text += &grouped((sets - SHOWN_NAMES) as u64);
            text += " more";
        }
        details.push(Detail::new("names", "names", text, names));
    }
    details
}
