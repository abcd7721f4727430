//! Filters are put back to their state in the folder, without the changes of refused turns.

use super::journal::Journal;
use super::load::load_images;
use super::previous::Checkpoints;
use super::recover::replay_log;
use super::watch::Watcher;
use super::{Error, Filters, Replay, Report, Saved, Store};

/// As [`Log::put_back`](super::Log::put_back), with no checkpoint meanwhile.
pub(super) fn put_back(
    store: &Store,
    journal: &Journal,
    watcher: &Watcher,
    state: &Checkpoints,
    filters: &dyn Filters,
) -> Result<(), Error> {
    loop {
        let (spoiled, number) = journal.spoiled();
        let done = if spoiled.is_empty() {
            Ok(())
        } else {
            watcher.check().and_then(|()| {
                filters.put_back(&spoiled, &|listed, replay| {
                    read_back(store, state, &spoiled, listed, replay)
                })
            })
        };
        if journal.end_putting_back(number, done.is_ok()) {
            return done;
        }
    }
}

/// Fills `replay` with the folder's contents of these filters; `listed` has their current names
/// and expiries.
fn read_back(
    store: &Store,
    state: &Checkpoints,
    ids: &[u64],
    listed: Vec<Saved>,
    replay: &dyn Replay,
) -> Result<(), Error> {
    let mut manifest = state.manifest.clone();
    let images = state.images_of(ids);
    let mut listed = listed.into_iter().peekable();
    manifest.filters = images
        .filter_map(|(id, of)| {
            while listed.next_if(|saved| saved.id < id).is_some() {}
            Some((listed.next_if(|saved| saved.id == id)?, of?))
        })
        .collect();
    let mut report = Report::default();
    load_images(store, &manifest, 1, replay, &|_| {}, &mut report)?;
    replay_log(store, &manifest, replay, Some(ids), &|_| {}, &mut report)?;
    Ok(())
}
