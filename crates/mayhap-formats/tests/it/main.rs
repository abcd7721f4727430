//! Every golden file, opened and queried for its own system's answers, and each system's quirks.

mod bits_and_blooms;
mod bloomfileter;
mod create;
mod dcso;
mod detect;
mod guava;
mod hostile;
mod magnuss;
mod parquet;
mod python;
mod redisbloom;
mod redisson;
mod releases;
mod spark;
mod suite;
mod text;

use test_data::golden;

/// The systems that have a module here, which accounts for every file of the system's folder.
const SYSTEMS: &[&str] = &[
    "bits-and-blooms",
    "bloomfileter",
    "dcso",
    "guava",
    "magnuss",
    "parquet",
    "python",
    "redisbloom",
    "redisson",
    "spark",
];

#[test]
fn every_golden_folder_has_its_tests() {
    let mut folders: Vec<String> = std::fs::read_dir(golden::root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    folders.sort();
    assert_eq!(folders, SYSTEMS);
}
