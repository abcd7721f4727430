//! The server as clients see it.

mod support;
mod wire;
mod wire_hostile;
mod wire_log;
mod wire_tls;
#[cfg(unix)]
mod wire_unix;
