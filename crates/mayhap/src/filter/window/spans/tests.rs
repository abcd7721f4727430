//! Rules that the public interface does not show.

use super::*;
use crate::DigestFunction;

fn window(span: u64, items: u64) -> SpanWindow {
    let plan = Plan::new(span, items).unwrap();
    let (rows, k) = plan.solve(0.01).unwrap();
    SpanWindow::empty(plan, rows, k).unwrap()
}

/// No insertion clears more than its share of a column, so that none takes long.
#[test]
fn clearing_is_spread_over_the_insertions() {
    let mut window = window(1_000, 54_000);
    let blocks = window.table.num_blocks();
    let most = (blocks * 8).div_ceil(window.plan.items) + 1;
    let (mut cleared, mut before) = (0, window.cursor);
    for key in 0..1_000_000u64 {
        window.insert_digest(DigestFunction::xxh3(1).digest(&key));
        if window.number(COUNT, window.next) != 0 {
            cleared += u64::from(window.cursor > before);
            assert!(window.cursor <= before + most, "{before} to {}", window.cursor);
        }
        before = window.cursor;
    }
    assert!(cleared > 100_000, "{cleared} steps");
    // And by the time, where few keys arrive.
    let mut now = 0;
    for key in 0..2_000u64 {
        now += 1;
        window.advance(now);
        if window.number(COUNT, window.next) != 0 {
            assert!(window.cursor <= before + blocks.div_ceil(window.plan.time) + 1);
        }
        window.insert_digest(DigestFunction::xxh3(2).digest(&key));
        before = window.cursor;
    }
}

#[test]
fn generations_are_columns_in_a_ring() {
    assert_eq!(columns_of(0, 0), 0);
    assert_eq!(columns_of(0, 3), 0b111);
    assert_eq!(columns_of(63, 65), 1 << 63 | 1);
    assert_eq!(columns_of(130, 193), !(1 << 1));
    let mut window = window(1_000, 540);
    for next in [1, 63, 64, 65, 1_000] {
        window.next = next;
        for generation in next.saturating_sub(63)..next {
            assert_eq!(window.newest_of(columns_of(generation, generation + 1)), generation);
        }
    }
}

/// Where all columns are live and none is free, the oldest is forgotten, and none is lost sight of.
#[test]
fn a_65th_generation_takes_the_place_of_the_oldest() {
    let mut window = window(80, 54);
    // One key at a time, each in a generation of its own by count; then by time as well.
    for key in 0..500u64 {
        window.advance(key / 7);
        window.insert_digest(DigestFunction::xxh3(3).digest(&key));
        let live = window.next - window.oldest;
        assert!(live <= 63 && window.items <= window.plan.most_items);
        assert_eq!(
            window.items,
            (window.oldest..window.next).map(|g| window.number(COUNT, g)).sum()
        );
        assert_eq!(window.number(COUNT, window.next), 0, "the next is clear before it begins");
    }
    assert!(window.forgotten > 300 && window.forgotten_until <= window.now());
}
