//! Bugs that are put in are found (T19): what the other tests find nothing of, they would find.

use super::crash::cut_everywhere;
use super::damage::{flip_everywhere, misplace_everywhere};
use super::disk::{Fault, MemoryDisk};
use super::errors::strike;
use super::run::{Run, Setting};
use crate::durable::Policy;
use crate::durable::plant::Plant;

const ROUNDS: u64 = 40;

fn by_power_cuts(plant: Plant) -> Option<String> {
    (0..ROUNDS).find_map(|seed| {
        let policy = Policy::Always;
        let setting = Setting { policy, plant, seed, steps: 40 };
        let mut run = Run::new(MemoryDisk::default(), setting);
        run.go();
        cut_everywhere(&run, &setting).bad
    })
}

fn by_failing_calls(plant: Plant) -> Option<String> {
    (0..ROUNDS).find_map(|seed| {
        let setting = Setting { policy: Policy::Always, plant, seed, steps: 40 };
        strike(setting, Fault::Io, false).bad
    })
}

fn found(plant: Plant, how: impl Fn(Plant) -> Option<String>) {
    let why = how(plant).unwrap_or_else(|| panic!("{plant:?} is not found"));
    println!("{plant:?}: {why}");
}

#[test]
fn an_acknowledgement_before_the_write_is_found() {
    found(Plant::AckBeforeWrite, by_power_cuts);
}

#[test]
fn a_rename_before_the_sync_is_found() {
    found(Plant::NoSyncBeforeRename, by_power_cuts);
}

#[test]
fn a_folder_that_is_not_synced_is_found() {
    found(Plant::NoFolderSync, by_power_cuts);
}

#[test]
fn records_without_checksums_are_found() {
    found(Plant::NoRecordChecksum, by_power_cuts);
}

#[test]
fn records_that_are_not_chained_are_found() {
    found(Plant::NoChain, |plant| {
        (0..ROUNDS).find_map(|seed| misplace_everywhere(seed, plant).bad)
    });
}

#[test]
fn a_log_that_is_dropped_before_the_images_are_safe_is_found() {
    found(Plant::LogDroppedEarly, by_power_cuts);
}

#[test]
fn a_failed_sync_that_is_swallowed_is_found() {
    found(Plant::SyncErrorSwallowed, by_failing_calls);
}

#[test]
fn images_that_are_not_checked_are_found() {
    found(Plant::ImageUnchecked, |plant| {
        (0..ROUNDS).find_map(|seed| flip_everywhere(seed, plant, 1).bad)
    });
}
