//! A client that writes requests and reads answers of RESP2.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Simple(String),
    Error(String),
    Number(i64),
    Bulk(Vec<u8>),
    Null,
    List(Vec<Answer>),
}

/// A connection over any stream.
pub(crate) struct Client<S: Read + Write> {
    stream: BufReader<S>,
}

/// Whether this is how a connection ends if the server is gone.
pub(crate) fn is_end(error: &Error) -> bool {
    let ends = [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
    ends.contains(&error.kind())
}

/// The bytes of a request.
pub(crate) fn request(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).into_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

impl<S: Read + Write> Client<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream: BufReader::new(stream) }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// The next answer; `UnexpectedEof` at the end of the connection.
    pub(crate) fn answer(&mut self) -> Result<Answer> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let Some(text) = line.strip_suffix("\r\n") else {
            return Err(ErrorKind::UnexpectedEof.into());
        };
        let (kind, rest) = text.split_at_checked(1).ok_or_else(|| strange(text))?;
        let number = || rest.parse::<i64>().map_err(|_| strange(text));
        Ok(match kind {
            "+" => Answer::Simple(rest.into()),
            "-" => Answer::Error(rest.into()),
            ":" => Answer::Number(number()?),
            "$" if rest == "-1" => Answer::Null,
            "$" => {
                let mut bytes = vec![0; number()? as usize + 2];
                self.stream.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Answer::Bulk(bytes)
            }
            "*" => Answer::List((0..number()?).map(|_| self.answer()).collect::<Result<_>>()?),
            _ => return Err(strange(text)),
        })
    }

    /// One request of words that are text, and its answer.
    pub(crate) fn call(&mut self, words: &str) -> Result<Answer> {
        let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        self.send(&request(&words))?;
        self.answer()
    }

    /// The same, for requests that have to succeed.
    pub(crate) fn ask(&mut self, words: &str) -> Answer {
        self.call(words).unwrap_or_else(|error| panic!("{words}: {error}"))
    }
}

fn strange(line: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("{line:?} is no answer"))
}
