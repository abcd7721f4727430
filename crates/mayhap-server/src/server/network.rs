//! The network settings, in the form that the loops need.

use super::StartError;
use crate::config::Config;
use crate::http::MAX_CONNECTIONS;
use crate::net::{Certificate, Listen, Options, Room};
use crate::resp::Limits;
use mayhap_engine::num_cores;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Listen addresses and limits of the loops.
pub(super) fn options(
    config: &Config,
    certificate: Option<&Arc<Certificate>>,
) -> Result<Options, StartError> {
    let time = |millis| if millis == 0 { FOR_EVER } else { Duration::from_millis(millis) };
    // On one core polling would take time from the very thread that it waits for.
    let busy_poll_us = if num_cores() > 1 { config.busy_poll_us } else { 0 };
    Ok(Options {
        listen: listen(config, certificate)?,
        threads: config.loop_threads(),
        busy_poll: Duration::from_micros(busy_poll_us.into()),
        max_clients: config.max_clients as usize,
        http_clients: http_clients(config),
        max_buffer_bytes: usize::try_from(config.buffer_bytes()).unwrap_or(usize::MAX),
        limits: Limits {
            max_word_bytes: config.max_word_bytes,
            max_chunk_bytes: config.max_chunk_bytes,
            max_words: config.max_words,
            max_request_bytes: config.max_request_bytes,
            ..Limits::default()
        },
        request_timeout: time(config.request_timeout_ms),
        write_timeout: time(config.output_timeout_ms),
        idle_timeout: (config.idle_timeout_ms != 0).then(|| time(config.idle_timeout_ms)),
        keepalive: time(config.keepalive_ms),
        ..Options::default()
    })
}

/// Number of HTTP connections, if HTTP is on.
fn http_clients(config: &Config) -> usize {
    config.http_port.map_or(0, |_| MAX_CONNECTIONS)
}

/// Refuses a start without enough open files, before opening one fails.
pub(super) fn check_files(config: &Config) -> Result<(), StartError> {
    let threads = config.loop_threads();
    Room::find(config.max_clients as usize, http_clients(config), threads)?;
    Ok(())
}

const FOR_EVER: Duration = Duration::from_secs(u32::MAX as u64);

/// The certificate, if TLS is on.
pub(super) fn certificate(config: &Config) -> Result<Option<Arc<Certificate>>, StartError> {
    let files = config.tls_cert.as_deref().zip(config.tls_key.as_deref());
    Ok(files.map(|(cert, key)| Certificate::open(cert, key)).transpose()?)
}

fn listen(
    config: &Config,
    certificate: Option<&Arc<Certificate>>,
) -> Result<Vec<Listen>, StartError> {
    let places = config.bind.present();
    let at = |port| places.iter().map(move |&place| SocketAddr::new(place, port));
    let tls = certificate.map(Certificate::tls_config).transpose()?;
    let mut listen: Vec<Listen> = match (&tls, config.tls_port) {
        (Some(tls), None) => {
            at(config.port).map(|address| Listen::Tls(address, tls.clone())).collect()
        }
        _ => at(config.port).map(Listen::Tcp).collect(),
    };
    if let (Some(tls), Some(port)) = (tls, config.tls_port) {
        listen.extend(at(port).map(|address| Listen::Tls(address, tls.clone())));
    }
    listen.extend(config.unix_socket.clone().map(Listen::Unix));
    Ok(listen)
}
