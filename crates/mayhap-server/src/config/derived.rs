//! Values that follow from several settings, or from the machine where a setting is not given.

use super::{Addresses, Config};
use mayhap_engine::num_cores;
use std::path::PathBuf;

/// The smallest default for the buffers of all clients: more than one request may be.
const LEAST_BUFFERS: u64 = 32 << 20;
/// The largest default.
const MOST_BUFFERS: u64 = 512 << 20;

impl Config {
    /// Loop threads: the setting, or one per core.
    pub fn loop_threads(&self) -> usize {
        self.threads.filter(|&threads| threads > 0).unwrap_or_else(num_cores)
    }

    /// Bytes that unfinished requests and unsent answers may take together: the setting, or by
    /// default an eighth of `max_memory`, from 32 MiB to 512 MiB.
    pub fn buffer_bytes(&self) -> u64 {
        let by_memory = |memory: u64| (memory / 8).clamp(LEAST_BUFFERS, MOST_BUFFERS);
        self.max_buffer_bytes.unwrap_or_else(|| self.max_memory.map_or(MOST_BUFFERS, by_memory))
    }

    /// The addresses of HTTP.
    pub fn http_bind(&self) -> &Addresses {
        self.http_bind.as_ref().unwrap_or(&self.bind)
    }

    /// Whether HTTP uses TLS.
    pub fn http_tls(&self) -> bool {
        self.http_tls.unwrap_or(self.tls_cert.is_some())
    }

    /// The file of the secret key.
    pub fn key_file(&self) -> Option<PathBuf> {
        let in_data = || self.data.as_ref().map(|data| data.join("key"));
        self.key_file.clone().or_else(in_data)
    }
}
