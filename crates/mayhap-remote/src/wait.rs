//! Calls that are waited for.

use mayhap_sets::Error;
use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};

/// Waits for a call; the first one starts what runs them all: one thread beside the caller's, which
/// sends and receives while the caller prepares the next keys.
///
/// # Errors
///
/// [`Error::Server`] if that thread cannot be started.
pub fn wait<T>(call: impl Future<Output = T>) -> Result<T, Error> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = if let Some(runtime) = RUNTIME.get() {
        runtime
    } else {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| Error::Server {
            message: format!("cannot start a thread: {error}"),
            hint: None,
        })?;
        RUNTIME.get_or_init(|| runtime)
    };
    Ok(runtime.block_on(call))
}
