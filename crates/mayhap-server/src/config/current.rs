//! The settings of a running server, some of which can change.

use super::load::check;
use super::settings::SETTINGS;
use super::{Config, ConfigError};
use crate::lock::lock;
use arc_swap::ArcSwap;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The current settings, and older ones for as long as a reader holds them.
#[derive(Debug)]
pub(crate) struct Current {
    pub(crate) config: ArcSwap<Config>,
    users_version: AtomicU64,
    /// By user name, the version of the users that last changed it; no entry if unchanged since
    /// the start.
    changed_in: Mutex<BTreeMap<String, u64>>,
}

/// Settings that are about to take effect, made by [`Current::merge`].
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) config: Config,
    pub(crate) reloaded: Reloaded,
    /// Names of users.
    changed_users: Vec<String>,
}

/// The changes of a reload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reloaded {
    /// Settings that take effect at once, by name; `user` for the users, `certificate` for one that
    /// was read from the same files.
    pub changed: Vec<&'static str>,
    /// Settings that take effect at the next start.
    pub after_restart: Vec<&'static str>,
}

impl Current {
    pub(crate) fn new(config: Config) -> Self {
        let (users_version, changed_in) = (AtomicU64::new(0), Mutex::default());
        Self { config: ArcSwap::from_pointee(config), users_version, changed_in }
    }

    /// Changes whenever a user has changed.
    #[inline]
    pub(crate) fn users_version(&self) -> u64 {
        // ORDERING: Acquire, with the release in `store`: a reader of the number sees the users.
        self.users_version.load(Ordering::Acquire)
    }

    /// Whether a user is unchanged since this version.
    pub(crate) fn is_same(&self, name: &str, version: u64) -> bool {
        lock(&self.changed_in).get(name).is_none_or(|changed| *changed <= version)
    }

    /// The settings that result from loading `new`: the ones that can change come from `new`, the
    /// rest stays. Adding TLS, or removing it, takes a restart.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if they contradict each other.
    pub(crate) fn merge(&self, new: Config) -> Result<Merged, ConfigError> {
        let old = self.config.load_full();
        let mut config = (*old).clone();
        let switches_tls = old.tls_cert.is_some() != new.tls_cert.is_some();
        let mut reloaded = Reloaded::default();
        for setting in SETTINGS {
            if (setting.get)(&old) == (setting.get)(&new) {
                continue;
            }
            if setting.is_live && !(switches_tls && setting.name.starts_with("tls_")) {
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
        // The limit of one filter stays as at the start, unless the total limit is lower now.
        let max_filter_bytes = config.max_filter_bytes.min(config.max_memory);
        check(&Config { max_filter_bytes, ..config.clone() }, &mut Vec::new())?;
        Ok(Merged { config, reloaded, changed_users })
    }

    /// Makes these settings current. One caller at a time.
    pub(crate) fn store(&self, merged: Merged) -> Reloaded {
        let Merged { config, reloaded, changed_users } = merged;
        self.config.store(Arc::new(config));
        if !changed_users.is_empty() {
            let version = self.users_version() + 1;
            lock(&self.changed_in).extend(changed_users.into_iter().map(|name| (name, version)));
            // ORDERING: Release, after the users that the number refers to.
            self.users_version.store(version, Ordering::Release);
        }
        reloaded
    }
}
