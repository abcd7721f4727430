//! Many connections: silent, slow, never reading, never logged in.

use super::{Target, command, flood, wait};
use mayhap_bench::process::Error;
use std::io::Write;
use std::time::Instant;

/// Answers pile up in the server until it accepts no more requests.
pub(super) fn unread(target: &Target, until: Instant) -> Result<(), Error> {
    never_read(target, &command(&["KEYS", "*"]).repeat(100), until)
}

/// The same with answers of half a MiB each.
pub(super) fn unread_dumps(target: &Target, until: Instant) -> Result<(), Error> {
    let mut request = command(&["BF.SCANDUMP", "large", "0"]);
    request.extend(command(&["BF.SCANDUMP", "large", "1"]).repeat(100));
    never_read(target, &request, until)
}

fn never_read(target: &Target, request: &[u8], until: Instant) -> Result<(), Error> {
    let mut streams = Vec::new();
    for _ in 0..200 {
        let mut stream = target.connect()?;
        stream.set_nonblocking(true)?;
        let _ = stream.write(request);
        streams.push(stream);
    }
    wait(until);
    Ok(())
}

pub(super) fn silent(target: &Target, until: Instant) -> Result<(), Error> {
    let streams: Vec<_> = (0..2000).map_while(|_| target.stranger().ok()).collect();
    wait(until);
    drop(streams);
    Ok(())
}

pub(super) fn connections(target: &Target, until: Instant) -> Result<(), Error> {
    while Instant::now() < until {
        let mut stream = target.stranger()?;
        let _ = stream.write(b"PING\r\n");
    }
    Ok(())
}

/// Passwords of a user, and of unknown users.
pub(super) fn passwords(target: &Target, until: Instant) -> Result<(), Error> {
    let mut request = Vec::new();
    for (at, user) in ["default", "nobody", "admin"].into_iter().cycle().take(99).enumerate() {
        request.extend(command(&["AUTH", user, &format!("wrong {at}")]));
    }
    flood(|| target.stranger(), &request, until)
}
