//! Every kernel of this machine equals the scalar one, and that the formula.

use super::{Row, Rows, place};
use crate::Digest;
use crate::positions::{PROBE_MULTIPLIERS, splitmix64, standard};
use alloc::vec;
use alloc::vec::Vec;

fn kernels_are_alike<R: Row>() {
    let count = if cfg!(miri) { 8 } else { 3000 };
    let random = (0..count).map(|i| Digest::new(splitmix64(i)));
    let digests: Vec<Digest> =
        [0, 1, u64::MAX, 1 << 63].map(Digest::new).into_iter().chain(random).collect();
    let sizes: &[u64] = if cfg!(miri) { &[300] } else { &[4, 5, 100, 3000, 1 << 20] };
    for &num_rows in sizes {
        let all_hashes = [1, 8, 21, 11, 20, 2, 4, 5, 7, 9, 15, 16, 17, 32];
        for &num_hashes in &all_hashes[..if cfg!(miri) { 3 } else { all_hashes.len() }] {
            let all: Vec<Rows<R>> = Rows::all(num_rows, num_hashes).collect();
            assert_eq!(all.last().unwrap().kernel.name, "scalar");
            std::println!("{:?}: {} kernels", all[0], all.len());
            let rows_of = |digest| {
                let multipliers = &PROBE_MULTIPLIERS[..num_hashes as usize];
                multipliers.iter().map(move |&a| place::<R>(standard(digest, a, num_rows)))
            };
            let mut naive = vec![R::NONE; num_rows as usize];
            let mut tables = vec![naive.clone(); all.len()];
            let few = (num_rows as usize * 3 / num_hashes as usize).clamp(1, digests.len() / 2);
            for (i, &digest) in digests[..few].iter().enumerate() {
                let bit = R::of(1 << (i as u32 % R::COLUMNS));
                let before = rows_of(digest).fold(R::ALL, |columns, row| columns & naive[row]);
                rows_of(digest).for_each(|row| naive[row] |= bit);
                for (rows, table) in all.iter().zip(&mut tables) {
                    assert_eq!(rows.insert(table, digest, bit), before, "{rows:?}");
                }
            }
            assert!(tables.iter().all(|table| *table == naive), "{:?}", all[0]);
            for (i, &digest) in digests.iter().enumerate() {
                let among = if i % 3 == 0 { R::ALL } else { R::of(splitmix64(i as u64)) };
                let columns = rows_of(digest).fold(among, |columns, row| columns & naive[row]);
                assert!(i >= few || i % 3 != 0 || columns != R::NONE, "a member is lost");
                for rows in &all {
                    let far = Rows { is_near: false, ..*rows };
                    for rows in [rows, &far] {
                        assert_eq!(rows.columns(&naive, digest, among), columns, "{rows:?}");
                    }
                    let first = rows.first_columns(&naive, digest, among);
                    assert_eq!(rows.other_columns(&naive, digest, first), columns, "{rows:?}");
                }
            }
        }
    }
}

#[test]
fn every_kernel_equals_the_scalar_one() {
    kernels_are_alike::<u16>();
    kernels_are_alike::<u64>();
}
