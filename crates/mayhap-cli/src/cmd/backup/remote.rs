//! The data folder of a remote server, over a connection.

use super::Args;
use super::copied::report;
use crate::args::ReplicaArgs;
use crate::error::Error;
use crate::io::messages::Reporter;
use crate::set::remote::Connection;
use mayhap_engine::durable::{Source, back_up_from};
use mayhap_redis::RemoteBackup;
use mayhap_sets::server::ServerUrl;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Runs `mayhap backup URL`.
pub(super) fn run(args: &Args, talk: Reporter) -> Result<(), Error> {
    let url = ServerUrl::of_server(Path::new(&args.data))?;
    if url.is_cluster() {
        return Err(Error::usage(
            format!("{} is a cluster, not a server", url.url),
            "for example: redis://127.0.0.1:6379",
        ));
    }
    let is_safe = url.is_tls() || args.with_key;
    let connection = Connection::open(url, &args.server, ReplicaArgs::default(), talk)?;
    let mut remote = Remote { connection, backup: None, failed: None };
    let to = Path::new(&args.output);
    let backup = back_up_from(&mut remote, to, is_safe && !args.no_key);
    let Remote { connection, backup: begun, failed } = remote;
    if let Some(error) = failed {
        return Err(error);
    }
    if let Some(begun) = begun {
        // The copy is complete, or will not be: the end of the connection ends it too.
        let _ = connection.wait(begun.end());
    }
    if !is_safe && !args.no_key && backup.is_ok() {
        talk.warn("the secret key was left out, as the connection has no TLS: --with-key");
    }
    report(to, backup, talk)
}

/// The files of a server.
struct Remote {
    connection: Connection,
    backup: Option<RemoteBackup>,
    /// The error of the connection, if it failed.
    failed: Option<Error>,
}

impl Remote {
    /// Keeps the error for the caller.
    fn note<T>(&mut self, result: Result<T, Error>) -> io::Result<T> {
        result.map_err(|error| {
            self.failed = Some(error);
            io::Error::other("the server does not provide it")
        })
    }

    /// A part of a file.
    fn part(&mut self, path: &str, offset: u64) -> io::Result<Vec<u8>> {
        let Some(backup) = &self.backup else { return Err(io::ErrorKind::NotFound.into()) };
        let part = self.connection.wait(backup.read(path, offset));
        self.note(part)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Source for Remote {
    fn manifest(&mut self) -> io::Result<Vec<u8>> {
        let begun = self.connection.wait(RemoteBackup::begin(&self.connection.origin.server));
        self.backup = Some(self.note(begun)?);
        let mut bytes = Vec::new();
        self.open("manifest")?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn segments(&mut self, first: u64) -> io::Result<Vec<(u64, u64)>> {
        let all = self.backup.as_ref().map_or(&[][..], RemoteBackup::segments);
        Ok(all.iter().copied().filter(|&(number, _)| number >= first).collect())
    }

    fn open(&mut self, path: &str) -> io::Result<Box<dyn Read + '_>> {
        let part = self.part(path, 0)?;
        Ok(Box::new(Parts { remote: self, path: path.to_owned(), part, at: 0, offset: 0 }))
    }

    fn path(&self, path: &str) -> PathBuf {
        format!("{}: {path}", self.connection.origin.url).into()
    }
}

/// A file, part by part.
struct Parts<'a> {
    remote: &'a mut Remote,
    path: String,
    part: Vec<u8>,
    /// The number of bytes of the part read so far.
    at: usize,
    /// Where it begins.
    offset: u64,
}

impl Read for Parts<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.part.len() && !RemoteBackup::is_last(&self.part) {
            self.offset += self.part.len() as u64;
            (self.part, self.at) = (self.remote.part(&self.path, self.offset)?, 0);
        }
        let found = (&self.part[self.at..]).read(buffer)?;
        self.at += found;
        Ok(found)
    }
}
