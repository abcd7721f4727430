//! Many sets in one file: what `info` shows of them. `which` queries them.

use crate::error::Error;
use crate::io::messages::grouped;
use crate::set::key_set::Detail;
use crate::set::state::State;
use mayhap::{BloomMatrix, Health};

/// The error of verbs for one set, given a matrix.
pub fn refuse(name: &str) -> Error {
    Error::usage(
        format!("{name} is a matrix, which holds many sets"),
        format!("to see which of them hold a line: mayhap which {name} < keys.txt"),
    )
}

/// The numbers of its state. Reads all bits.
pub fn state(matrix: &BloomMatrix) -> State {
    let of = |set| matrix.health_by_count(set);
    let blocks = matrix.panels().flatten();
    let ones: u64 = blocks.flat_map(|block| block.0).map(|word| u64::from(word.count_ones())).sum();
    // That at least one set is wrongly named.
    let none: f64 = matrix.estimated_fpps().into_iter().map(|fpp| 1.0 - fpp).product();
    State {
        layout: "matrix",
        num_bytes: matrix.num_bytes(),
        items: (0..matrix.num_sets()).map(|set| matrix.inserted_items(set)).sum(),
        distinct_items: (0..matrix.num_sets())
            .map(|set| matrix.distinct_items(set))
            .try_fold(0u64, u64::checked_add),
        expected_items: None,
        target_fpp: matrix.target_fpp(),
        estimated_fpp: 1.0 - none,
        fill_ratio: ones as f64 / (matrix.num_bits() as f64 * matrix.num_sets() as f64),
        health: (0..matrix.num_sets()).map(of).max().unwrap_or(Health::Ok),
    }
}

/// What only a matrix has.
pub fn details(matrix: &BloomMatrix) -> Vec<Detail> {
    let (sets, items) = (matrix.num_sets(), grouped(matrix.expected_items()));
    let wrong = matrix.estimated_wrong_sets();
    let text = format!("{}, each for {items} keys", grouped(sets as u64));
    let wrong_text = format!("{wrong:.3} on average for a key that is in none");
    vec![
        Detail::new("num_sets", "sets", text, sets),
        Detail::new("wrong_sets_now", "wrong sets", wrong_text, wrong),
    ]
}
