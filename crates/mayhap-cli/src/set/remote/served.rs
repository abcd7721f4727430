//! A filter whose bits go to `mayhap serve` piece by piece: into one that is there, or under
//! another name until all of them are.

use super::Connection;
use super::bits::{Bits, refuse_unlike};
use crate::error::Error;
use crate::io::progress::Progress;
use mayhap::{Block, SecretKey};
use mayhap_lists::Stop;
use mayhap_redis::{Error as RedisError, Found, RemoteBf, RemoteFilter, find};
use mayhap_sets::server::wait;
use std::time::Duration;

/// Bytes of a piece, as `mayhap serve` dumps them.
const PIECE_BYTES: usize = 512 << 10;

/// A name on `mayhap serve`.
#[derive(Debug)]
pub struct Served {
    /// The server, and the name.
    pub connection: Connection,
    /// Whether the filter is there.
    is_there: bool,
}

impl Served {
    /// The name, with a plain filter or none.
    pub fn new(connection: Connection, is_there: bool) -> Self {
        Self { connection, is_there }
    }

    /// Refuses bits with which the filter there would hold more keys than it was made for.
    ///
    /// # Errors
    ///
    /// The errors of [`Bits::check_fits`].
    pub fn check_room(
        &self,
        bits: &Bits<'_>,
        key: Option<SecretKey>,
        stop: &Stop,
    ) -> Result<(), Error> {
        if !self.is_there {
            return Ok(());
        }
        let (connection, origin) = (&self.connection, &self.connection.origin);
        let filter = connection.wait(RemoteBf::attach(&origin.server, &origin.name))?;
        let info = connection.wait(filter.info())?;
        let made_for = info.expected_items.unwrap_or(u64::MAX);
        let theirs = || Bits::of_dump(connection, key);
        bits.check_fits((info.estimated_items, made_for), theirs, stop)
    }

    /// The name under which a filter comes until it is whole.
    fn coming(&self) -> String {
        format!("{}:moving", self.connection.origin.name)
    }

    /// Deletes what an unfinished move left.
    ///
    /// # Errors
    ///
    /// [`Error::Remote`].
    pub fn discard(&self) -> Result<(), Error> {
        let server = &self.connection.origin.server;
        let found = self.connection.wait(find(server, &self.coming(), None))?;
        if let Found::Bf(filter) = found {
            self.connection.wait(filter.delete())?;
        }
        Ok(())
    }

    /// Adds the bits that are lacking; returns whether any were. A filter that was not there has
    /// its name, and its time to live, once all of them are.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the two are not alike; [`Error::Remote`], [`Error::Store`],
    /// [`Error::Stopped`], after which part of the bits are there.
    pub fn pass(
        &mut self,
        bits: &Bits<'_>,
        ttl: Option<Duration>,
        run: (&Stop, &mut Progress),
    ) -> Result<bool, Error> {
        let (server, name) = (&self.connection.origin.server, &self.connection.origin.name);
        if self.is_there {
            return Ok(self.send(name, bits, run)? > 0);
        }
        let coming = self.coming();
        self.send(&coming, bits, run)?;
        if ttl.is_some() {
            let filter = self.connection.wait(RemoteBf::attach(server, &coming))?;
            self.connection.wait(filter.expire(ttl))?;
        }
        if !self.connection.wait(RemoteBf::take_free_name(server, &coming, name))? {
            return Err(Error::usage(
                format!("{} was created meanwhile", self.connection.origin.url),
                "run it again, and it adds the keys to that filter; or use another name",
            ));
        }
        self.is_there = true;
        Ok(true)
    }

    /// Sends all pieces to a name; returns how many bits were lacking.
    fn send(
        &self,
        name: &str,
        bits: &Bits<'_>,
        (stop, progress): (&Stop, &mut Progress),
    ) -> Result<u64, Error> {
        let header = bits.model().header()?.encode(0);
        let mut lacking = 0;
        for range in bits.pieces() {
            stop.check()?;
            let (mut offset, done) = (bytes_of(range.start), bytes_of(range.end));
            let mut pieces = Vec::new();
            for blocks in bits.blocks(range)?.chunks(PIECE_BYTES / Block::BYTES) {
                pieces.push((offset, bytes(blocks)));
                offset += bytes_of(blocks.len() as u64);
            }
            let server = &self.connection.origin.server;
            let merged = wait(RemoteBf::merge_pieces(server, name, &header, &pieces))?;
            lacking += merged.map_err(|source| self.refused(source, name, bits))?;
            progress.tick_bytes(done);
        }
        Ok(lacking)
    }

    /// The error for a piece.
    fn refused(&self, source: RedisError, name: &str, bits: &Bits<'_>) -> Error {
        let RedisError::Refused { reason, .. } = &source else {
            return self.connection.error(source);
        };
        let url = &self.connection.origin.url;
        match reason.split_once("the filters differ in ") {
            Some((_, differ)) if *name == *self.connection.origin.name => {
                refuse_unlike(url, &bits.name, differ)
            }
            Some((_, differ)) => Error::usage(
                format!("an unfinished move to {url} is one of another filter: {differ}"),
                "delete what it left: mayhap move --discard-unfinished FROM TO",
            ),
            None => self.connection.error(source),
        }
    }
}

/// Whether `mayhap serve` has a filter of this kind as plain bits of one size.
pub fn is_plain(kind: &str) -> bool {
    matches!(kind, "standard" | "blocked" | "blocked128" | "blocked64")
}

const fn bytes_of(blocks: u64) -> u64 {
    blocks * Block::BYTES as u64
}

fn bytes(blocks: &[Block]) -> Vec<u8> {
    blocks.iter().flat_map(|block| block.0).flat_map(u64::to_le_bytes).collect()
}
