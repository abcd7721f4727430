//! The part of the Redis protocol that tests need: one command, its answer as text.

use crate::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// A running server is never silent for this long, on however loaded a machine.
const SILENCE: Duration = Duration::from_secs(30);

/// A connection to a server on loopback.
#[derive(Debug)]
pub(crate) struct Connection(BufReader<TcpStream>);

impl Connection {
    pub(crate) fn open(port: u16, password: Option<&str>) -> Result<Self, Error> {
        let stream = connect(port).map_err(Error::io(format!("connect to port {port}")))?;
        let mut connection = Self(BufReader::new(stream));
        if let Some(password) = password {
            connection.ask(&["AUTH", password])?;
        }
        Ok(connection)
    }

    /// Sends a command and returns its answer as `redis-cli` prints it into a pipe: a line per
    /// element, nothing for nil.
    pub(crate) fn ask(&mut self, command: &[&str]) -> Result<String, Error> {
        let answer = self.exchange(command).map_err(Error::io(format!("run `{}`", name(command))));
        answer?.map_err(|answer| Error::Refused { command: name(command), answer })
    }

    fn exchange(&mut self, command: &[&str]) -> io::Result<Result<String, String>> {
        let mut request = format!("*{}\r\n", command.len()).into_bytes();
        for word in command {
            write!(request, "${}\r\n{word}\r\n", word.len())?;
        }
        self.0.get_mut().write_all(&request)?;
        let mut lines = Vec::new();
        Ok(match self.answer(&mut lines)? {
            Some(error) => Err(error),
            None => Ok(lines.join("\n")),
        })
    }

    /// Appends an answer's lines; an error, even within an array, is returned separately.
    fn answer(&mut self, lines: &mut Vec<String>) -> io::Result<Option<String>> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        let Some(line) = line.strip_suffix("\r\n") else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let strange = || io::Error::other(format!("not an answer of RESP2: {line:?}"));
        let (kind, rest) = line.split_at_checked(1).ok_or_else(strange)?;
        let length = || rest.parse::<i64>().map_err(|_| strange());
        match kind {
            "+" | ":" => lines.push(rest.to_owned()),
            "-" => return Ok(Some(rest.to_owned())),
            "$" => {
                let Ok(length) = u64::try_from(length()?) else {
                    lines.push(String::new());
                    return Ok(None);
                };
                let mut bytes = Vec::new();
                self.0.by_ref().take(length + 2).read_to_end(&mut bytes)?;
                let text = bytes.strip_suffix(b"\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
                lines.push(String::from_utf8_lossy(text).into_owned());
            }
            "*" => {
                let mut error = None;
                for _ in 0..length()? {
                    error = self.answer(lines)?.or(error);
                }
                return Ok(error);
            }
            _ => return Err(strange()),
        }
        Ok(None)
    }
}

fn connect(port: u16) -> io::Result<TcpStream> {
    let stream =
        TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), SILENCE)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Names a command in an error, without the secret of an `AUTH`.
fn name(command: &[&str]) -> String {
    if command.first() == Some(&"AUTH") { "AUTH …".to_owned() } else { command.join(" ") }
}
