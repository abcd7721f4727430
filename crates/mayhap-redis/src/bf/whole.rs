//! Whole filters: dumped, loaded, united piece by piece, and replaced by empty ones.

use super::filter::RemoteBf;
use crate::replies::{expiry, text};
use crate::server::{Command, Server, words};
use crate::{Error, Misfit, RemoteFilter};
use redis::{Value, cmd};
use std::time::Duration;

/// A reply of `BF.SCANDUMP`: its cursor and bytes, which `BF.LOADCHUNK` takes.
pub type BfChunk = (i64, Vec<u8>);

impl RemoteBf {
    /// `BF.SCANDUMP` up to the empty reply: the filter as it was when this began, on `mayhap serve`
    /// (its chunks are a file of mayhap, `RedisBloom`'s are a header and bits). `RedisBloom` adds
    /// keys between the chunks, of which the dump may have only part of the bits.
    ///
    /// # Errors
    ///
    /// [`Error::Layout`] beyond `max_bytes`; [`Error::Gone`]; [`Error::Refused`] on valkey-bloom,
    /// which has no such command; the errors of a call.
    pub async fn dump(&self, max_bytes: u64) -> Result<Vec<BfChunk>, Error> {
        let (mut chunks, mut cursor, mut bytes) = (Vec::new(), 0i64, 0u64);
        loop {
            let (next, chunk) = self.dump_chunk(cursor).await?;
            if next == 0 {
                return Ok(chunks);
            }
            bytes += chunk.len() as u64;
            if bytes > max_bytes {
                return Err(Error::Layout { misfit: Misfit::MoreThan(max_bytes) });
            }
            if next <= cursor {
                return Err(Error::strange("BF.SCANDUMP", &Value::Int(next)));
            }
            cursor = next;
            chunks.push((next, chunk));
        }
    }

    /// One reply of `BF.SCANDUMP`, of a dump that begins with cursor 0. On `mayhap serve` a cursor
    /// may also be 1 plus any number of the bytes after the header.
    ///
    /// # Errors
    ///
    /// Those of [`RemoteBf::dump`]; [`Error::Refused`] if `mayhap serve` has dropped the dump.
    pub async fn dump_chunk(&self, cursor: i64) -> Result<BfChunk, Error> {
        let mut scan = self.read("BF.SCANDUMP");
        scan.cmd.arg(cursor);
        let value = self.value(self.server.one(scan).await?, "BF.SCANDUMP")?;
        let parts = if let Value::Array(parts) = &value { parts.as_slice() } else { &[] };
        match parts {
            [Value::Int(next), Value::BulkString(chunk)] => Ok((*next, chunk.clone())),
            [Value::Int(next), Value::Nil] => Ok((*next, Vec::new())),
            _ => Err(Error::strange("BF.SCANDUMP", &value)),
        }
    }

    /// `BF.LOADCHUNK` of all chunks, in order, under a name that must be free; then attaches to it.
    ///
    /// On `mayhap serve` nothing is seen before the last chunk was found sound. `RedisBloom` has a
    /// part of the filter under the name from the first one on.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`]; [`Error::Refused`] for chunks that the server rejects, or if it has no
    /// such command; the errors of a call.
    pub async fn load(server: &Server, name: &str, chunks: &[BfChunk]) -> Result<Self, Error> {
        let exists = Command::read(name, words(&["EXISTS", name]));
        if server.one(exists).await?.int(name, "EXISTS")? > 0 {
            return Err(Error::Exists {
                name: name.into(),
                parameter: "its own keys",
                has: "there".into(),
                wanted: "a free name".into(),
            });
        }
        for (cursor, bytes) in chunks {
            let mut load = cmd("BF.LOADCHUNK");
            load.arg(name).arg(cursor).arg(bytes.as_slice());
            let reply = server.one(Command::write(name, load)).await?;
            reply.value.map_err(|error| super::error::refused(error, name, "BF.LOADCHUNK"))?;
        }
        Self::attach(server, name).await
    }

    /// `BF.MERGECHUNK`, of `mayhap serve` alone: adds pieces of the bits of a plain filter, each
    /// with its offset in bytes, to the filter of this name, which the first one creates. `header`
    /// is the header of the filter that they are of. Returns how many bits were lacking; after a
    /// lost reply, of which nothing is known, at least 1.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] for pieces that the server rejects, or if it has no such command; the
    /// errors of a call. Pieces before a rejected one are there.
    pub async fn merge_pieces(
        server: &Server,
        name: &str,
        header: &[u8],
        pieces: &[(u64, Vec<u8>)],
    ) -> Result<u64, Error> {
        let commands = pieces.iter().map(|(offset, bits)| {
            let mut merge = cmd("BF.MERGECHUNK");
            merge.arg(name).arg(header).arg(*offset).arg(bits.as_slice());
            Command::write(name, merge)
        });
        let mut lacking = 0;
        for reply in server.run(commands.collect()).await? {
            lacking += u64::from(reply.repeated);
            let refuse = |error| super::error::refused(error, name, "BF.MERGECHUNK");
            match reply.value.map_err(refuse)? {
                Value::Int(bits @ 0..) => lacking += bits.unsigned_abs(),
                other => return Err(Error::strange("BF.MERGECHUNK", &other)),
            }
        }
        Ok(lacking)
    }

    /// `RENAMENX`: gives the filter another name that is free; `false` if it is not.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; the errors of a call.
    pub async fn take_free_name(server: &Server, name: &str, free: &str) -> Result<bool, Error> {
        let rename = Command::write(name, words(&["RENAMENX", name, free]));
        let reply = server.one(rename).await?;
        let repeated = reply.repeated;
        match reply.int(name, "RENAMENX") {
            Ok(renamed) => Ok(renamed != 0),
            // It was renamed the first time.
            Err(Error::Refused { reason, .. }) if is_no_key(&reason) && repeated => Ok(true),
            Err(Error::Refused { reason, .. }) if is_no_key(&reason) => {
                Err(Error::NotFound { name: name.into() })
            }
            Err(error) => Err(error),
        }
    }

    /// Replaces the filter by an empty one with the same numbers: it is reserved under another name
    /// and renamed, so that clients see the old one or the new one.
    pub(super) async fn replace_by_empty(&self) -> Result<(), Error> {
        let refuse = |reason| Error::Unsupported {
            name: self.name.to_string(),
            scheme: "BF commands",
            what: "emptied",
            reason,
        };
        let next = "delete it and create it again";
        let (info, left) = (self.described().await?, self.info().await?.ttl_ms);
        let (Some(kind), Some(rate)) = (info.own.kind.as_deref(), info.own.target_fpp) else {
            return Err(refuse(next));
        };
        let keyed = match (info.seed(), info.own.digest.as_deref()) {
            (Some(0), _) => "no",
            (None, Some(digest)) if digest.starts_with("sip13:") => "yes",
            _ => return Err(refuse(next)),
        };
        let empty = beside(&self.name, "empty")?;
        let mut reserve = cmd("BF.RESERVE");
        let capacity = info.own.requested.unwrap_or(info.capacity);
        reserve.arg(&empty).arg(rate.to_string()).arg(capacity).arg("KEYED").arg(keyed);
        match (kind, info.expansion) {
            ("scalable" | "growing", Some(times)) => reserve.arg("EXPANSION").arg(times),
            ("blocked" | "standard", _) => reserve.arg("NONSCALING").arg("LAYOUT").arg(kind),
            ("fixed", _) => reserve.arg("NONSCALING"),
            ("compact", Some(times)) => reserve.arg("LAYOUT").arg(kind).arg("EXPANSION").arg(times),
            ("compact", None) => reserve.arg("LAYOUT").arg(kind).arg("NONSCALING"),
            ("counting", _) => reserve.arg("COUNTING"),
            _ => return Err(refuse(next)),
        };
        let mut commands = vec![Command::write(&empty, reserve)];
        commands.extend(left.map(|left| expiry(&empty, Some(Duration::from_millis(left)))));
        for reply in self.server.run(commands).await? {
            self.value(reply, "BF.RESERVE")?;
        }
        let placed = self.take_place(&empty).await;
        if placed.is_err() {
            // As far as possible; the first error is the one to report.
            let _ = self.server.one(Command::write(&empty, words(&["DEL", &empty]))).await;
        }
        placed
    }

    /// `RENAME`: the filter of another name takes the place of this one, in one step.
    async fn take_place(&self, of: &str) -> Result<(), Error> {
        let rename = Command::write(of, words(&["RENAME", of, &self.name]));
        let reply = self.server.one(rename).await?;
        let repeated = reply.repeated;
        match self.value(reply, "RENAME") {
            // It was renamed the first time.
            Err(Error::Refused { reason, .. }) if repeated && is_no_key(&reason) => Ok(()),
            done => done.map(|_| ()),
        }
    }

    /// Like [`RemoteBf::load`], but replaces any value of the name, in one step; expires after
    /// `ttl`, if given. It is loaded under a name of its own, `NAME:load:RANDOM`, which is deleted
    /// after an error.
    ///
    /// # Errors
    ///
    /// Same as [`RemoteBf::load`].
    pub async fn replace(
        server: &Server,
        name: &str,
        chunks: &[BfChunk],
        ttl: Option<Duration>,
    ) -> Result<Self, Error> {
        let next = beside(name, "load")?;
        let loaded = Self::load(server, &next, chunks).await;
        let placed = async {
            let loaded = loaded?;
            if ttl.is_some() {
                loaded.expire(ttl).await?;
            }
            let mut placed = loaded;
            placed.name = name.into();
            placed.take_place(&next).await?;
            Ok(placed)
        };
        match placed.await {
            Ok(placed) => Ok(placed),
            Err(error) => {
                // The loaded part is deleted as far as possible; the first error is the one to
                // report.
                let _ = server.one(Command::write(&next, words(&["DEL", &next]))).await;
                Err(error)
            }
        }
    }
}

/// A name next to the filter's, which no other client has.
fn beside(name: &str, what: &str) -> Result<String, Error> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|error| Error::Refused {
        what: "a random name".into(),
        reason: error.to_string(),
    })?;
    Ok(format!("{name}:{what}:{:016x}", u64::from_le_bytes(random)))
}

fn is_no_key(reason: &str) -> bool {
    reason.contains("no such key")
}

/// The type of a key on the server: `none` if there is none.
pub(crate) async fn type_of(server: &Server, key: &str) -> Result<String, Error> {
    let read = Command::read(key, words(&["TYPE", key]));
    let value = server.one(read).await?.of(key, "TYPE")?;
    text(&value).map(str::to_owned).ok_or_else(|| Error::strange("TYPE", &value))
}
