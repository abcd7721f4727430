//! The settings of a running server, of which some can change.

use super::load::check;
use super::settings::SETTINGS;
use super::{Config, ConfigError};
use arc_swap::ArcSwap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The settings that hold, and those before them as long as somebody reads them.
#[derive(Debug)]
pub(crate) struct Current {
    config: ArcSwap<Config>,
    users_version: AtomicU64,
}

/// What a reload has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reloaded {
    /// Settings that hold at once, by name; `user` for the users.
    pub changed: Vec<&'static str>,
    /// Settings that hold after the next start.
    pub after_restart: Vec<&'static str>,
}

impl Current {
    pub(crate) fn new(config: Config) -> Self {
        Self { config: ArcSwap::from_pointee(config), users_version: AtomicU64::new(0) }
    }

    pub(crate) fn load(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// Another number when a user has changed.
    #[inline]
    pub(crate) fn users_version(&self) -> u64 {
        // ORDERING: Acquire, with the release in `store`: who sees the number sees the users.
        self.users_version.load(Ordering::Acquire)
    }

    /// The settings that will hold if these are loaded: what can change from `new`, the rest as it
    /// is.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if they contradict each other.
    pub(crate) fn merge(&self, mut new: Config) -> Result<(Config, Reloaded), ConfigError> {
        let old = self.load();
        let mut merged = (*old).clone();
        let mut reloaded = Reloaded::default();
        for setting in SETTINGS {
            if (setting.get)(&old) == (setting.get)(&new) {
                continue;
            }
            if setting.is_live() {
                (setting.copy)(&mut merged, &new);
                reloaded.changed.push(setting.name);
            } else {
                reloaded.after_restart.push(setting.name);
            }
        }
        if !Arc::ptr_eq(&old.users, &new.users) {
            let version = self.users_version() + 1;
            // Nobody else has the new ones yet.
            let has_changed =
                Arc::get_mut(&mut new.users).is_none_or(|users| users.follow(&old.users, version));
            if has_changed {
                reloaded.changed.push("user");
            }
            merged.users = new.users;
        }
        check(&merged, &mut Vec::new())?;
        Ok((merged, reloaded))
    }

    /// Lets these settings hold. One caller at a time, with what [`Current::merge`] has made.
    pub(crate) fn store(&self, config: Config, reloaded: &Reloaded) {
        self.config.store(Arc::new(config));
        if reloaded.changed.contains(&"user") {
            // ORDERING: Release, after the users that the number stands for.
            self.users_version.fetch_add(1, Ordering::Release);
        }
    }
}
