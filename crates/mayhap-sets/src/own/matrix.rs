//! Many sets in one file: what a report shows of them. They are no [`KeySet`](crate::KeySet).

use crate::state::State;
use mayhap::{BloomMatrix, Health};

/// The numbers of the state of a matrix. Reads all bits.
pub fn matrix_state(matrix: &BloomMatrix) -> State {
    let of = |set| matrix.health_by_count(set);
    let blocks = matrix.panels().flatten();
    let ones: u64 = blocks.flat_map(|block| block.0).map(|word| u64::from(word.count_ones())).sum();
    // That at least one set is wrongly named.
    let none: f64 = matrix.estimated_fpps().into_iter().map(|fpp| 1.0 - fpp).product();
    State {
        layout: "matrix",
        num_bytes: matrix.num_bytes(),
        items: (0..matrix.num_sets())
            .map(|set| matrix.inserted_items(set))
            .fold(0, u64::saturating_add),
        distinct_items: (0..matrix.num_sets())
            .map(|set| matrix.distinct_items(set))
            .try_fold(0u64, u64::checked_add),
        expected_items: None,
        target_fpp: matrix.target_fpp(),
        estimated_fpp: 1.0 - none,
        fill_ratio: ones as f64 / (matrix.num_bits() as f64 * matrix.num_sets() as f64),
        health: (0..matrix.num_sets()).map(of).max().unwrap_or(Health::Ok),
        estimated_items: None,
    }
}

#[cfg(test)]
mod tests {
    use super::matrix_state;
    use mayhap::{AnyFilter, BlockedBloomFilter, BloomMatrix};

    #[test]
    fn counts_beyond_what_a_number_holds_are_its_largest() {
        let filter =
            BlockedBloomFilter::builder().expected_items(100).target_fpp(1e-3).num_hashes(8);
        let filter = filter.build().unwrap();
        let mut filter = AnyFilter::Blocked(filter);
        filter.set_inserted_items(u64::MAX);
        let AnyFilter::Blocked(filter) = filter else { unreachable!() };
        let matrix = BloomMatrix::from_filters(&[&filter, &filter]).unwrap();
        assert_eq!(matrix_state(&matrix).items, u64::MAX);
    }
}
