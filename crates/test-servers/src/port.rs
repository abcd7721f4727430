//! Ports that no other process takes.

use crate::Error;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};

// Below the ports that systems give to outgoing connections (32768 and up on Linux), so that none
// takes the port of a server that was killed and will be restarted. A cluster node's second port is
// 10000 above its first: still below, and never another server's first.
const FIRST: u16 = 10_000;
const PORTS: u16 = 10_000;
pub(crate) const BUS_OFFSET: u16 = 10_000;

/// A TCP port of 127.0.0.1 that is ours until this value is dropped.
///
/// The UDP port of the same number is held as the claim: it can be bound once in the whole system,
/// including other test processes, the server does not need it, and it is released with this
/// process. Once it is dropped the port is free for others, except for a moment if this process is
/// just starting another one, which has copies of its sockets until it executes its program.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) number: u16,
    _claim: UdpSocket,
}

impl Port {
    /// Claims a port that is free now, and whose cluster bus port is. A process that does not
    /// follow this protocol may still take it before the server binds; then start with another.
    pub(crate) fn claim() -> Result<Self, Error> {
        let start = RandomState::new().build_hasher().finish() % u64::from(PORTS);
        let mut last = None;
        for step in 0..PORTS {
            let number = FIRST + (start as u16 + step) % PORTS;
            match Self::try_claim(number) {
                Ok(port) => return Ok(port),
                Err(error) => last = Some(error),
            }
        }
        let source = last.unwrap_or_else(|| std::io::ErrorKind::AddrInUse.into());
        Err(Error::Io { action: format!("find a port from {FIRST} to 19999"), source })
    }

    fn try_claim(number: u16) -> std::io::Result<Self> {
        let claim = UdpSocket::bind((Ipv4Addr::LOCALHOST, number))?;
        TcpListener::bind((Ipv4Addr::LOCALHOST, number))?;
        TcpListener::bind((Ipv4Addr::LOCALHOST, number + BUS_OFFSET))?;
        Ok(Self { number, _claim: claim })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_port_is_claimed_once() {
        let port = Port::claim().unwrap();
        assert!(Port::try_claim(port.number).is_err());
        let number = port.number;
        drop(port);
        // A process that another test is just starting has copies of all our sockets until it
        // executes its program: the port is free when the last one is closed.
        while Port::try_claim(number).is_err() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_port_that_is_listened_on_is_not_claimed() {
        let port = Port::claim().unwrap();
        let number = port.number;
        let _listener = TcpListener::bind((Ipv4Addr::LOCALHOST, number)).unwrap();
        drop(port);
        assert!(Port::try_claim(number).is_err());
    }
}
