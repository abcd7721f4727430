//! Files that change while the server runs: the certificate with its key, and those that name
//! users. In a container nobody sends a signal when they are renewed, and what is mounted is
//! swapped as a link.
//!
//! Only these are taken: other settings hold until SIGHUP, so that a certificate which is renewed
//! does not take back what `CONFIG SET` has set. A thread of its own looks, as a folder over the
//! network may stand still.

use super::run::Load;
use mayhap_server::Shared;
use mayhap_server::config::Users;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// Looks after which files that are of no use are reported: before, somebody may be writing them.
const PATIENCE: u32 = 3;

/// What is known of the files.
struct Watch {
    /// Whose files they are, as long as the server runs.
    shared: Weak<Shared>,
    /// Reads the settings, if users come from files.
    load: Option<Load>,
    /// The certificate's file and its key's at the last look.
    seen: [Option<Stamp>; 2],
    certificate: Trouble,
    users: Trouble,
    /// Other users that the last look has found: taken if the next one finds the same.
    pending: Option<Arc<Users>>,
}

/// What changes when a file does, wherever links lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp([u64; 2], u64, [i64; 4]);

/// Files that are of no use, look after look.
#[derive(Default)]
struct Trouble {
    looks: u32,
    said: Option<String>,
}

/// Begins to look, until the server has ended.
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
    /// Takes what has changed; false once the server has ended.
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
        // One that is of no use is read again at each look: it may be written at this moment.
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
            // Somebody may still be writing.
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
    /// Files are of no use at one more look; that is reported once it has lasted, and only once.
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
