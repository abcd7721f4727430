//! The server's life as a command: signals, messages, systemd.

use super::notify::{notify, watchdog};
use super::startup::Startup;
use super::watch::{self, Load};
use crate::error::{Error, is_out_of_files};
use crate::hints::{MORE_FILES, message_of_data};
use crate::memory::Memory;
use mayhap_engine::{CloseError, OpenError, durable};
use mayhap_lists::Stop;
use mayhap_server::config::{Config, KeyFileError, Loaded};
use mayhap_server::front::ConnectError;
use mayhap_server::{Running, Server, ShutdownError, StartError, net};
use mayhap_units::number::format_bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::SIGHUP;
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The interval of checks for the end of the server.
const TICK: Duration = Duration::from_millis(200);

/// Serves until a signal or `SHUTDOWN`; on SIGHUP, reloads the settings. With `has_files`, users
/// may be read from files.
pub(super) fn run(config: Config, load: &Load, has_files: bool) -> Result<(), Error> {
    // From the first moment on, so that a signal during recovery ends it too.
    let stop = Stop::on_signals()?;
    let hangup = Arc::new(AtomicBool::new(false));
    flag::register(SIGHUP, hangup.clone()).map_err(Error::io("listen for", "signals"))?;
    let is_said = config.max_memory.is_some() || config.store.is_some();
    let config = with_memory(config);
    if let (false, Some(memory), Some(limit)) = (is_said, Memory::found(), config.max_memory) {
        let one = memory.for_one_filter().and(config.max_filter_bytes).map(format_bytes);
        let one =
            one.map(|one| format!("; max_filter_bytes: {one}, as a checkpoint copies a filter"));
        let (limit, one) = (format_bytes(limit), one.unwrap_or_default());
        log::info!("max_memory: {limit}, three quarters of {memory}{one}");
    }
    if config.data.is_none() && config.store.is_none() {
        let keep = "keep them with --data DIR";
        log::warn!("no data folder: filters are lost when the server stops; {keep}");
    }
    let startup = Startup::new();
    let running = Server::start_with(config, &|event| startup.report(event));
    let running = running.map_err(|error| not_started(&error))?;
    mayhap_store::notices(|notice| log::warn!("{notice}"));
    say_where(&running);
    watch::begin(running.shared(), has_files.then(|| load.clone()));
    notify("READY=1");
    wait(&stop, &running, &hangup, load);
    notify("STOPPING=1");
    log::info!("ending");
    running.shut_down().map_err(|error| not_ended(&error))?;
    log::info!("ended");
    Ok(())
}

/// A filter beyond the memory of the machine or the container would only be noticed by the OOM
/// killer. Filters in a store are in other memory, unlike the buffers of clients.
fn with_memory(mut config: Config) -> Config {
    if let (None, Some(memory)) = (config.max_memory, Memory::found()) {
        config.max_memory = Some(memory.three_quarters());
        if config.store.is_none() {
            config.max_filter_bytes = config.max_filter_bytes.or(memory.for_one_filter());
        }
    }
    config
}

/// Applies the settings that can change, and names the others.
fn reload(running: &Running, load: &Load) {
    let Loaded { config, warnings } = match load() {
        Ok(loaded) => loaded,
        Err(error) => return log::error!("settings not reloaded: {error}"),
    };
    for warning in warnings {
        log::warn!("{warning}");
    }
    match running.shared().reload(with_memory(config)) {
        Ok(reloaded) => {
            let changed = reloaded.changed.join(", ");
            let changed = if changed.is_empty() { "nothing" } else { &changed };
            log::info!("settings reloaded; changed: {changed}");
            if !reloaded.after_restart.is_empty() {
                log::warn!("after a restart: {}", reloaded.after_restart.join(", "));
            }
        }
        Err(error) => log::error!("settings not reloaded: {error}"),
    }
}

/// Reads the certificate, as a start would.
pub(super) fn check_tls(config: &Config) -> Result<(), Error> {
    Server::check(config).map_err(|error| not_started(&error))
}

fn not_started(error: &StartError) -> Error {
    let hint = match error {
        error if is_out_of_files(error) => MORE_FILES,
        StartError::Network(error) => network_hint(error),
        StartError::Http { .. } => {
            "is another server running? choose another port with --http PORT"
        }
        StartError::Filters(OpenError::Data(error)) => {
            return Error::usage(message_of_data(error), data_hint(error));
        }
        StartError::Store(ConnectError::Store(_)) => {
            "the password is in REDISCLI_AUTH or in the URL; other options of --store are in \
             mayhap serve --help"
        }
        StartError::Key(KeyFileError::NoKey { .. })
        | StartError::Store(ConnectError::Key(KeyFileError::NoKey { .. })) => {
            "a key file has 32 hex digits or 16 bytes; create one with --new-key-file FILE"
        }
        StartError::Filters(OpenError::Restore(_)) => "give the server more memory",
        _ => "",
    };
    Error::usage(error.to_string(), hint)
}

fn not_ended(error: &ShutdownError) -> Error {
    let hint = match error {
        ShutdownError::Loops(error) => network_hint(error),
        ShutdownError::Filters(CloseError::Checkpoint(error)) => data_hint(error),
        _ => "see mayhap man serve",
    };
    Error::usage(error.to_string(), hint)
}

const fn network_hint(error: &net::Error) -> &'static str {
    match error {
        net::Error::Listen { .. } => {
            "is another server running? choose another port with --port PORT"
        }
        net::Error::Files { .. } => MORE_FILES,
        _ => "",
    }
}

fn data_hint(error: &durable::Error) -> &'static str {
    match error {
        durable::Error::OtherDigests { .. } => {
            "give the key that the filters were written with: --key-file FILE"
        }
        durable::Error::NoKey { .. } => {
            "the key is in the data folder of the server whose backup this is, or in a backup of it"
        }
        durable::Error::Incomplete { .. } => "see mayhap man backup",
        durable::Error::Damaged { .. } | durable::Error::Missing { .. } => {
            "mayhap serve --repair, with the same settings, drops what is damaged and keeps a copy"
        }
        durable::Error::Locked { .. } => {
            "stop it, or use another folder and port: --data DIR --port PORT"
        }
        durable::Error::Io { action, .. } if matches!(action.as_bytes(), b"lock") => {
            "the folder has to be on a file system with locks (flock), which keep a second server \
             out: a local disk, or a network file system that is mounted with them"
        }
        durable::Error::Io { action, .. } if matches!(action.as_bytes(), b"open") => {
            "--data DIR is a folder that this user can write to, or can create"
        }
        _ => "see mayhap man serve",
    }
}

fn say_where(running: &Running) {
    let config = &running.shared().config();
    if let Some(front) = running.shared().front() {
        log::info!("filters: {}", front.name());
    }
    for address in running.addresses() {
        log::info!("Redis clients: {address}");
    }
    if let Some(path) = &config.unix_socket {
        log::info!("Redis clients: {}", path.display());
    }
    for address in running.http_addresses() {
        let scheme = if config.http_tls() { "https" } else { "http" };
        log::info!("HTTP: {scheme}://{address}/");
    }
}

/// Waits for a signal, or until the server ends of itself.
fn wait(stop: &Stop, running: &Running, hangup: &AtomicBool, load: &Load) {
    let watchdog = watchdog();
    let mut notified = Instant::now();
    while !running.is_stopping() {
        let wake = stop.wake();
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(TICK.subsec_nanos()) };
        // An interrupted wait is one that ends early.
        let _ = poll(&mut [PollFd::new(&wake, PollFlags::IN)], Some(&timeout));
        if let Some(signal) = stop.signal() {
            let next = "a second signal stops at once";
            log::info!("signal {signal}: finishing the requests in progress; {next}");
            return;
        }
        // ORDERING: Relaxed. The signal's handler sets it, and it guards no memory.
        if hangup.swap(false, Ordering::Relaxed) {
            reload(running, load);
        }
        if watchdog.is_some_and(|every| notified.elapsed() >= every) {
            notified = Instant::now();
            notify("WATCHDOG=1");
        }
    }
}
