//! Eight patterns of keys for a time window: n in each span, and more.

/// The number of keys at each time, in order.
pub(crate) type Pattern = Vec<(u64, u64)>;

/// The number of spans that each pattern lasts.
const SPANS: u64 = 3;

/// The patterns, with whether more keys arrive in a span than the window is made for.
pub(crate) fn patterns(span: u64, items: u64) -> [(&'static str, bool, Pattern); 8] {
    let even = |times: u64| -> Pattern {
        (0..items * SPANS * times).map(|i| (i * span / items / times, 1)).collect()
    };
    let each_span = |count: u64| -> Pattern {
        // A tick more than the span, so that no two of them are in one.
        (0..SPANS).map(|i| (i * (span + 1), count)).collect()
    };
    let mut half: Pattern = (0..items / 2 * SPANS).map(|i| (i * 2 * span / items, 1)).collect();
    half.extend((0..SPANS).map(|i| (i * (span + 1) + span / 3, items / 2)));
    half.sort_unstable();
    let tenths = (0..10 * SPANS).map(|i| (i * (span / 10 + 1), items / 10)).collect();
    // A third of each day.
    let office = |day: u64| (0..items).map(move |i| (day * span + i * span / 3 / items, 1));
    let border = |i: u64| [((i + 1) * span - 1, items), ((i + 1) * span, items)];
    [
        ("even", false, even(1)),
        ("all at once", false, each_span(items)),
        ("half at once", false, half),
        ("ten bursts", false, tenths),
        ("office hours", false, (0..SPANS).flat_map(office).collect()),
        ("twice as many, even", true, even(2)),
        ("three times at once", true, each_span(3 * items)),
        ("twice across a border", true, (0..SPANS).flat_map(border).collect()),
    ]
}
