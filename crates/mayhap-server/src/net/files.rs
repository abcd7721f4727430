//! Open files: how many clients they allow.
//!
//! Files that are open just before the server listens stay open: the log, and one for each file of
//! `import/`. Some are reserved for temporary use, and the rest is for connections.

use super::Error;

/// Files reserved for checkpoints, backups, new files of `import/` and the like.
const KEPT: u64 = 64;
/// Files of the listeners of the loops; few servers have more.
const LISTENERS: u64 = 4;
/// Files of a loop thread: its queue, the same again for its connections, and its waker.
const LOOP_FILES: u64 = 4;
/// Files of the thread of HTTP, apart from its connections: its queue, its waker, its listeners.
const HTTP_FILES: u64 = 8;
/// If there are fewer files than connections, one in this many is for HTTP.
const HTTP_PART: u64 = 8;
/// The fewest connections of HTTP: a probe, a scraper, and a person.
const LEAST_HTTP: u64 = 4;

/// How many connections may be open at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    /// For Redis clients.
    pub(crate) clients: usize,
    /// For HTTP clients.
    pub(crate) http: usize,
}

impl Room {
    /// The room for this many clients of both kinds, with this many loop threads. Raises the limit
    /// of open files if that is needed and allowed.
    ///
    /// # Errors
    ///
    /// [`Error::Files`] if there is none for a client.
    pub(crate) fn find(clients: usize, http: usize, threads: usize) -> Result<Self, Error> {
        let (clients, http) = (clients as u64, http as u64);
        let own = open_files() + KEPT + LISTENERS + threads as u64 * LOOP_FILES;
        let own = own + if http > 0 { HTTP_FILES } else { 0 };
        let limit = raise(own.saturating_add(clients).saturating_add(http));
        Self::within(limit, own, clients, http)
    }

    /// Warns if there is room for fewer clients than requested.
    pub(crate) fn warn(self, clients: usize) {
        if self.clients < clients {
            log::warn!(
                "max_clients is {clients}, but the limit of open files allows {}; raise it \
                 (ulimit -n)",
                self.clients
            );
        }
    }

    fn within(limit: u64, own: u64, clients: u64, http: u64) -> Result<Self, Error> {
        let left = limit.saturating_sub(own);
        let least = http.min(LEAST_HTTP);
        if left <= least {
            return Err(Error::Files { limit, needed: own + least + 1 });
        }
        let http = http.min((left / HTTP_PART).max(left.saturating_sub(clients)).max(least));
        let number = |files: u64| usize::try_from(files).unwrap_or(usize::MAX);
        Ok(Self { clients: number(clients.min(left - http)), http: number(http) })
    }
}

/// Files that this process has open.
fn open_files() -> u64 {
    // Without the folder itself. If the system has no such folder, the usual number of a process.
    const USUAL: u64 = 16;
    let files = std::fs::read_dir("/proc/self/fd").or_else(|_| std::fs::read_dir("/dev/fd"));
    files.map_or(USUAL, |files| (files.count() as u64).saturating_sub(1))
}

/// Raises the limit of open files to this number, as far as allowed; returns the new limit.
#[cfg(unix)]
fn raise(needed: u64) -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < needed) {
        let current = Some(limit.maximum.map_or(needed, |maximum| maximum.min(needed)));
        let raised = Rlimit { current, maximum: limit.maximum };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            limit = raised;
        }
    }
    limit.current.unwrap_or(u64::MAX)
}

#[cfg(not(unix))]
fn raise(_needed: u64) -> u64 {
    u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_shared_so_that_promised_ones_are_available() {
        let room = |limit, own, clients, http| Room::within(limit, own, clients, http);
        let ok = |limit, own, clients, http| room(limit, own, clients, http).unwrap();
        // Enough for all.
        assert_eq!(ok(20_000, 100, 10_000, 512), Room { clients: 10_000, http: 512 });
        assert_eq!(ok(u64::MAX, 100, 10_000, 0), Room { clients: 10_000, http: 0 });
        for (limit, own, clients, http) in [
            (1024, 100, 10_000, 512),
            (1024, 100, 900, 512),
            (400, 100, 10_000, 512),
            (106, 100, 10_000, 512),
        ] {
            let Room { clients: got, http: web } = ok(limit, own, clients, http);
            assert_eq!((got + web) as u64 + own, limit, "all are assigned, and no more");
            assert!(got >= 1 && web >= 4, "{limit} {got} {web}");
        }
        assert_eq!(ok(1024, 100, 50, 512), Room { clients: 50, http: 512 });
        for (limit, http, needed) in [(0, 0, 101), (100, 0, 101), (104, 512, 105), (16, 512, 105)] {
            let refused = room(limit, 100, 10_000, http).unwrap_err();
            let wanted = Error::Files { limit, needed };
            assert_eq!(refused.to_string(), wanted.to_string());
        }
        assert_eq!(ok(101, 100, 10_000, 0), Room { clients: 1, http: 0 });
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn open_files_are_counted() {
        // Other tests open and close files meanwhile.
        let files: Vec<_> = (0..1000).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        let with = open_files();
        drop(files);
        assert!(with >= 1000 && open_files() < with, "{with}");
    }
}
