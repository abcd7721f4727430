//! Every golden file, opened and asked as its own system answered, and each system's quirks.

mod bloomfileter;
mod golden;
mod guava;
mod magnuss;
mod redisson;
mod spark;

/// The systems that have a module here; it takes every file of its folder into account.
const SYSTEMS: &[&str] = &["bloomfileter", "guava", "magnuss", "redisson", "spark"];

#[test]
fn every_golden_folder_has_its_tests() {
    let mut folders: Vec<String> = std::fs::read_dir(golden::root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    folders.sort();
    assert_eq!(folders, SYSTEMS);
}
