//! Files that change while the server runs: the certificate with its key, and files with users. In
//! a container no signal is sent when they are renewed, and a mounted folder is swapped as a link.
//!
//! Only these are reloaded: other settings hold until SIGHUP, so that a renewed certificate does
//! not revert values of `CONFIG SET`. A dedicated thread watches, as a network folder may hang.

use crate::error::Error;
use mayhap_server::Shared;
use mayhap_server::config::{Loaded, Users};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// The number of checks after which unusable files are reported: before, they may still be being
/// written.
const PATIENCE: u32 = 3;

/// Reads the settings again.
pub(super) type Load = Arc<dyn Fn() -> Result<Loaded, Error> + Send + Sync>;

/// The known state of the files.
struct Watch {
    /// The server that uses the files, as long as it runs.
    shared: Weak<Shared>,
    /// Reads the settings, if users are read from files.
    load: Option<Load>,
    /// The files of the certificate and its key at the last check.
    seen: [Option<Stamp>; 2],
    certificate: Trouble,
    users: Trouble,
    /// Changed users found by the last check: applied if the next one finds the same.
    pending: Option<Arc<Users>>,
}

/// The metadata that changes with a file, after following links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp([u64; 2], u64, [i64; 4]);

/// The number of consecutive checks with unusable files.
#[derive(Default)]
struct Trouble {
    looks: u32,
    said: Option<String>,
}

/// Starts the checks, until the server has ended.
pub(super) fn begin(shared: &Arc<Shared>, load: Option<Load>) {
    let mut watch = Watch {
        shared: Arc::downgrade(shared),
        load,
        seen: [None; 2],
        certificate: Trouble::default(),
        users: Trouble::default(),
        pending: None,
    };
    let thread = thread::Builder::new().name("mayhap-watch".into());
    let looks = move || {
        while watch.look() {
            thread::sleep(LOOK);
        }
    };
    if let Err(error) = thread.spawn(looks) {
        log::warn!("certificates and users are only read on SIGHUP: no thread: {error}");
    }
}

impl Watch {
    /// Reloads changed files; false once the server has ended.
    fn look(&mut self) -> bool {
        let Some(shared) = self.shared.upgrade() else { return false };
        self.look_at_certificate(&shared);
        if let Some(load) = self.load.clone() {
            self.look_at_users(&shared, &load);
        }
        true
    }

    fn look_at_certificate(&mut self, shared: &Shared) {
        let config = shared.config();
        let Some((cert, key)) = config.tls_cert.as_deref().zip(config.tls_key.as_deref()) else {
            return;
        };
        let now = [stamp(cert), stamp(key)];
        // An unusable one is reread at each check: it may just be being written.
        if now == self.seen && self.certificate.looks == 0 {
            return;
        }
        self.seen = now;
        match shared.reload_certificate() {
            Ok(is_other) => {
                self.certificate = Trouble::default();
                if is_other {
                    log::info!("reloaded: certificate ({})", cert.display());
                }
            }
            Err(error) => {
                let problem = format!("certificate not reloaded, the one before stays: {error}");
                self.certificate.again(problem);
            }
        }
    }

    fn look_at_users(&mut self, shared: &Shared, load: &Load) {
        let users = match load() {
            Ok(loaded) => loaded.config.users,
            Err(error) => {
                self.pending = None;
                return self.users.again(format!("users not reloaded, those before stay: {error}"));
            }
        };
        let current = shared.config().users.clone();
        if users.is_same(&current) {
            (self.pending, self.users) = (None, Trouble::default());
            return;
        }
        if current.asks_password() && !users.asks_password() {
            self.pending = None;
            return self.users.again(
                "users not reloaded, those before stay: there are none any more, and everybody \
                 could do everything; SIGHUP or a restart takes that"
                    .into(),
            );
        }
        if !self.pending.as_ref().is_some_and(|pending| pending.is_same(&users)) {
            // The file may still be being written.
            self.pending = Some(users);
            return;
        }
        self.pending = None;
        match shared.reload_users(users) {
            Ok(_) => {
                self.users = Trouble::default();
                log::info!("reloaded: users");
            }
            Err(error) => {
                self.users.again(format!("users not reloaded, those before stay: {error}"));
            }
        }
    }
}

impl Trouble {
    /// Files are unusable at one more check; that is reported once it has lasted, and only once.
    fn again(&mut self, problem: String) {
        self.looks = self.looks.saturating_add(1);
        if self.looks >= PATIENCE && self.said.as_ref() != Some(&problem) {
            log::warn!("{problem}");
            self.said = Some(problem);
        }
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let meta = fs::metadata(path).ok()?;
    let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
    Some(Stamp([meta.dev(), meta.ino()], meta.size(), times))
}
