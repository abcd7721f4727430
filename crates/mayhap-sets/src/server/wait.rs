//! Calls that are waited for.

use super::error::Error as ServerError;
use crate::error::Error;
use std::process;
use std::sync::{PoisonError, RwLock};
use tokio::runtime::{Builder, Runtime};

/// The runtime of all calls of a process: a child that was forked has none of its threads.
#[derive(Clone, Copy)]
struct Running {
    process: u32,
    runtime: &'static Runtime,
}

/// Waits for a call; the first one of a process starts what runs them all: one thread beside the
/// caller's, which sends and receives while the caller prepares the next keys.
///
/// # Errors
///
/// [`Error::Server`] if that thread cannot be started.
pub fn wait<T>(call: impl Future<Output = T>) -> Result<T, Error> {
    Ok(runtime()?.block_on(call))
}

fn runtime() -> Result<&'static Runtime, Error> {
    static RUNNING: RwLock<Option<Running>> = RwLock::new(None);
    let process = process::id();
    let ours = |running: &Option<Running>| {
        running.filter(|running| running.process == process).map(|running| running.runtime)
    };
    if let Some(runtime) = ours(&RUNNING.read().unwrap_or_else(PoisonError::into_inner)) {
        return Ok(runtime);
    }
    let mut running = RUNNING.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = ours(&running) {
        return Ok(runtime);
    }
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(ServerError::Thread)?;
    // Never dropped, as a static: calls of other threads may still wait on it.
    let runtime = Box::leak(Box::new(runtime));
    *running = Some(Running { process, runtime });
    Ok(runtime)
}
