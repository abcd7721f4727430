//! Invalid RESP, absurd lengths, forged contents.

use super::{Target, command};
use mayhap_bench::process::Error;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

pub(super) fn lengths(target: &Target, until: Instant) -> Result<(), Error> {
    let requests: [&[u8]; 5] = [
        b"*1000000000\r\n",
        b"*2\r\n$4\r\nPING\r\n$9000000000\r\n",
        b"*1000000\r\n$1\r\nx\r\n",
        b"*-7\r\n$99999999999999999999\r\n",
        b"*2\r\n$6\r\nBF.ADD\r\n$500000000\r\nxxxxxxxxxxxxxxxx",
    ];
    while Instant::now() < until {
        for request in requests {
            let mut stream = target.connect()?;
            let _ = stream.write(request);
            let _ = stream.set_read_timeout(Some(Duration::from_millis(1)));
            let _ = stream.read(&mut [0; 100]);
        }
    }
    Ok(())
}

/// Each byte is a packet, a wake-up and a parse of an unfinished request.
pub(super) fn bytes(target: &Target, until: Instant) -> Result<(), Error> {
    let request = command(&["BF.EXISTS", "some-1", &"x".repeat(2000)]);
    let mut streams = Vec::new();
    for _ in 0..20 {
        let stream = target.connect()?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        streams.push(stream);
    }
    let mut buffer = [0; 1024];
    for byte in request.iter().cycle() {
        if Instant::now() > until {
            break;
        }
        for stream in &mut streams {
            let _ = stream.write(&[*byte]);
            let _ = stream.read(&mut buffer);
        }
    }
    Ok(())
}

pub(super) fn wrong_port(target: &Target, until: Instant) -> Result<(), Error> {
    let mut request = b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec();
    request.extend(command(&["BF.RESERVE", "smuggled", "0.01", "100000000"]));
    while Instant::now() < until {
        let mut stream = target.connect()?;
        let _ = stream.write(&request);
        let _ = stream.set_read_timeout(Some(Duration::from_millis(1)));
        let _ = stream.read(&mut [0; 100]);
    }
    Ok(())
}

/// Headers of dumps that declare layers, sizes and hashes of every extreme, then data for them.
pub(super) fn dumps(target: &Target, until: Instant) -> Result<(), Error> {
    let mut request = Vec::new();
    for (at, fill) in [0x00, 0x01, 0x7F, 0xFF].into_iter().enumerate() {
        for length in [1, 16, 60, 4096, 1 << 20] {
            let name = format!("dump-{at}");
            let chunk = vec![fill; length];
            let words: [&[u8]; 4] = [b"BF.LOADCHUNK", name.as_bytes(), b"1", &chunk];
            request.extend(command(&words));
            let words: [&[u8]; 4] = [b"BF.LOADCHUNK", name.as_bytes(), b"1048577", &chunk];
            request.extend(command(&words));
        }
        request.extend(command(&["DEL", &format!("dump-{at}")]));
    }
    target.flood(&request, until)
}
