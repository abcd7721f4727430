//! The settings of a running server, of which some can change.

use super::load::check;
use super::settings::SETTINGS;
use super::{Config, ConfigError};
use arc_swap::ArcSwap;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The settings that hold, and those before them as long as somebody reads them.
#[derive(Debug)]
pub(crate) struct Current {
    config: ArcSwap<Config>,
    users_version: AtomicU64,
    /// The version of the users in which one was changed last, by name; of those of the start none.
    changed_in: Mutex<BTreeMap<String, u64>>,
}

/// Settings that are about to hold, made by [`Current::merge`].
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) config: Config,
    pub(crate) reloaded: Reloaded,
    /// Names of users.
    changed_users: Vec<String>,
}

/// What a reload has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reloaded {
    /// Settings that hold at once, by name; `user` for the users, `certificate` for one that was
    /// read from the same files.
    pub changed: Vec<&'static str>,
    /// Settings that hold after the next start.
    pub after_restart: Vec<&'static str>,
}

impl Current {
    pub(crate) fn new(config: Config) -> Self {
        let (users_version, changed_in) = (AtomicU64::new(0), Mutex::default());
        Self { config: ArcSwap::from_pointee(config), users_version, changed_in }
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

    /// Whether a user has not changed since this version.
    pub(crate) fn is_same(&self, name: &str, version: u64) -> bool {
        self.changes().get(name).is_none_or(|changed| *changed <= version)
    }

    fn changes(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        // Whole after every step.
        self.changed_in.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The settings that will hold if these are loaded: what can change from `new`, the rest as it
    /// is. TLS where there was none, or none where there was, takes a restart.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if they contradict each other.
    pub(crate) fn merge(&self, new: Config) -> Result<Merged, ConfigError> {
        let old = self.load();
        let mut config = (*old).clone();
        let switches_tls = old.tls_cert.is_some() != new.tls_cert.is_some();
        let mut reloaded = Reloaded::default();
        for setting in SETTINGS {
            if (setting.get)(&old) == (setting.get)(&new) {
                continue;
            }
            if setting.is_live() && !(switches_tls && setting.name.starts_with("tls_")) {
                (setting.copy)(&mut config, &new);
                reloaded.changed.push(setting.name);
            } else {
                reloaded.after_restart.push(setting.name);
            }
        }
        let changed_users = new.users.follow(&old.users);
        if !changed_users.is_empty() {
            config.users = new.users;
            reloaded.changed.push("user");
        }
        // The limit of one filter stays as at the start, above what all may take if need be.
        let max_filter_bytes = config.max_filter_bytes.min(config.max_memory);
        check(&Config { max_filter_bytes, ..config.clone() }, &mut Vec::new())?;
        Ok(Merged { config, reloaded, changed_users })
    }

    /// Lets these settings hold. One caller at a time.
    pub(crate) fn store(&self, merged: Merged) -> Reloaded {
        let Merged { config, reloaded, changed_users } = merged;
        self.config.store(Arc::new(config));
        if !changed_users.is_empty() {
            let version = self.users_version() + 1;
            self.changes().extend(changed_users.into_iter().map(|name| (name, version)));
            // ORDERING: Release, after the users that the number stands for.
            self.users_version.store(version, Ordering::Release);
        }
        reloaded
    }
}
