//! Notifications for systemd, where it requests them: `sd_notify(3)`.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The time that the reader of notifications may take to make room for one.
const PATIENCE: Duration = Duration::from_secs(1);

/// Sends a state, such as `READY=1`. Does nothing without a listener.
pub(super) fn notify(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = match name.as_bytes().split_first() {
        Some((b'@', name)) => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(&name),
    };
    let send = |address| {
        let socket = UnixDatagram::unbound()?;
        // Its reader may block; we do not.
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.send_to_addr(state.as_bytes(), &address)
    };
    if let Err(error) = address.and_then(send) {
        log::debug!("cannot notify systemd of {state}: {error}");
    }
}

/// The interval at which `WATCHDOG=1` is expected, halved as its manual advises.
pub(super) fn watchdog() -> Option<Duration> {
    let micros = std::env::var("WATCHDOG_USEC").ok()?.parse().ok()?;
    let ours =
        std::env::var("WATCHDOG_PID").ok().is_none_or(|pid| pid.parse() == Ok(std::process::id()));
    ours.then(|| Duration::from_micros(micros) / 2)
}
