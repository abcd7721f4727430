//! A disk that holds writes back: only synced ones are sure to survive.

use super::disk::{Event, Files};

/// The state that a disk keeps for sure, and the calls since.
#[derive(Debug, Default)]
pub(super) struct Cache {
    sure: Files,
    pub(super) pending: Vec<Event>,
}

impl Cache {
    pub(super) fn new(sure: Files) -> Self {
        Self { sure, pending: Vec::new() }
    }

    pub(super) fn tell(&mut self, event: &Event) {
        match event {
            Event::Sync { inode } => self.settle(|of| inode_of(of) == Some(*inode), true),
            Event::FailedSync { inode } => self.settle(|of| inode_of(of) == Some(*inode), false),
            Event::SyncDir { path } => self.settle(|of| folder_of(of) == Some(path), true),
            Event::Note(_) => {}
            other => self.pending.push(other.clone()),
        }
    }

    fn settle(&mut self, which: impl Fn(&Event) -> bool, kept: bool) {
        let sure = &mut self.sure;
        self.pending.retain(|event| {
            let settled = which(event);
            if settled && kept {
                sure.apply(event);
            }
            !settled
        });
    }

    /// The files that are left if `keep` decides about each pending operation.
    pub(super) fn left(&self, mut keep: impl FnMut(usize, &Event) -> Option<Event>) -> Files {
        let mut files = self.sure.clone();
        for (place, event) in self.pending.iter().enumerate() {
            if let Some(event) = keep(place, event) {
                files.apply(&event);
            }
        }
        files.tidy()
    }
}

fn inode_of(event: &Event) -> Option<usize> {
    match event {
        Event::Write { inode, .. } | Event::SetLen { inode, .. } => Some(*inode),
        _ => None,
    }
}

fn folder_of(event: &Event) -> Option<&str> {
    match event {
        Event::Create { path, .. } | Event::Remove { path } | Event::Rename { to: path, .. } => {
            Some(path.rsplit_once('/').map_or("", |(folder, _)| folder))
        }
        _ => None,
    }
}
