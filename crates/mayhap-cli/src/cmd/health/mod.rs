//! `mayhap health`: whether a server answers, for images without curl.
//!
//! `target.rs` takes the URL apart, `stream.rs` is a connection that ends in time.

mod stream;
mod target;

use crate::error::Error;
use crate::io::messages::Reporter;
use crate::outcome::Outcome;
use mayhap_units::line::printable;
use mayhap_units::span::parse_time;
use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};
use target::{Protocol, Target};

/// Ask a server whether it is healthy
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The server: http://host:port/path, https://, redis://, rediss://, or host:port
    #[arg(value_name = "URL")]
    url: String,
    /// Give up after this time: 500ms, 3s
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "3s")]
    timeout: Duration,
}

/// More of an answer is not needed.
const MAX_ANSWER_BYTES: u64 = 4096;

/// Runs the verb.
///
/// # Errors
///
/// [`Error::Usage`] for a URL that names no server.
pub fn run(args: &Args, talk: Reporter) -> Result<Outcome, Error> {
    let target = Target::parse(&args.url)?;
    let problem = match ask(&target, Instant::now() + args.timeout) {
        Ok(answer) => match verdict(&target, &answer) {
            Ok(what) => {
                talk.say(&format!("{target}: healthy, {what}"));
                return Ok(Outcome::Done);
            }
            Err(what) => what,
        },
        Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => {
            let time = mayhap_units::span::format_millis(args.timeout.as_millis() as u64);
            format!("no answer within {time} (--timeout)")
        }
        Err(error) => error.to_string(),
    };
    talk.warn(&format!("{target}: not healthy: {problem}"));
    Ok(Outcome::Off)
}

/// The beginning of the answer.
fn ask(target: &Target, until: Instant) -> io::Result<Vec<u8>> {
    let mut stream = stream::connect(target, until)?;
    let request = match target.protocol {
        Protocol::Redis => "*1\r\n$4\r\nPING\r\n".to_owned(),
        Protocol::Http => format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: mayhap-health\r\nAccept: */*\r\n\
             Connection: close\r\n\r\n",
            target.path, target.authority
        ),
    };
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    let mut answer = Vec::new();
    let is_whole = |answer: &[u8]| target.protocol == Protocol::Redis && answer.contains(&b'\n');
    let mut part = [0; 512];
    while (answer.len() as u64) < MAX_ANSWER_BYTES && !is_whole(&answer) {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(bytes) => answer.extend_from_slice(&part[..bytes]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Many servers end TLS without a closing message.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
            // The bytes so far may be enough.
            Err(_) if answer.contains(&b'\n') => break,
            Err(error) => return Err(error),
        }
    }
    Ok(answer)
}

/// The verdict of the answer: healthy or not.
fn verdict(target: &Target, answer: &[u8]) -> Result<String, String> {
    let text = String::from_utf8_lossy(answer);
    let line = text.lines().next().unwrap_or_default();
    let shown = |text: &str| printable(text.trim()).chars().take(200).collect::<String>();
    match target.protocol {
        Protocol::Redis => match line.split(' ').next().unwrap_or_default() {
            "+PONG" => Ok("PONG".into()),
            "-NOAUTH" => Ok("asks for a password".into()),
            "" => Err("it closed the connection without an answer".into()),
            _ => Err(format!("it answered {:?}", shown(line))),
        },
        Protocol::Http => {
            let mut words = line.split(' ');
            let version = words.next().unwrap_or_default();
            let status = words.next().and_then(|status| status.parse::<u16>().ok());
            match status.filter(|_| version.starts_with("HTTP/1.")) {
                Some(status @ 200..=299) => Ok(format!("status {status}")),
                Some(status) => {
                    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
                    Err(format!("status {status} {}", shown(body)).trim_end().to_owned())
                }
                None if line.is_empty() => Err("it closed the connection without an answer".into()),
                None => Err(format!("it speaks no HTTP: {:?}", shown(line))),
            }
        }
    }
}
