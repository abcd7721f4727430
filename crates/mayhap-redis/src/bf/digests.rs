//! Keys by their digests, and removal of keys: extensions of `mayhap serve`.

use super::filter::RemoteBf;
use super::info::BfInfo;
use crate::server::{Command, Reply};
use crate::{Error, InsertedBatch};
use mayhap::{Bitmap, Digest, DigestFunction, SecretKey};
use redis::{Value, cmd};

/// Digests in one command: 64 KiB.
const MAX_DIGESTS: usize = 8_192;
/// Keys in one command.
const MAX_KEYS: usize = 1_000;

impl RemoteBf {
    /// How keys become digests that [`RemoteBf::insert_digests`] takes: as `BF.INFO name DIGEST`
    /// reports (`xxh3:SEED` or `sip13:KEYID`, in hexadecimal digits). `None` on a server that takes
    /// no digests, and for a keyed filter with another secret key or none.
    pub fn digest_function(&self, secret_key: Option<SecretKey>) -> Option<DigestFunction> {
        let (name, parameter) = self.digest.as_deref()?.split_once(':')?;
        let parameter = u64::from_str_radix(parameter, 16).ok()?;
        let function = match name {
            "xxh3" => DigestFunction::xxh3(parameter),
            "sip13" => DigestFunction::sip13(secret_key?),
            _ => return None,
        };
        (function.parameter() == parameter).then_some(function)
    }

    /// `BF.MADDHASH`: inserts keys by their digests. Digests of a keyed filter are taken only from
    /// users with the right admin.
    ///
    /// # Errors
    ///
    /// Same as `insert_batch`; [`Error::Refused`] on a server without commands for digests.
    pub async fn insert_digests(&self, digests: &[Digest]) -> Result<InsertedBatch, Error> {
        let mut batch = InsertedBatch::present(digests.len());
        let commands = digests.chunks(MAX_DIGESTS).map(|digests| {
            let mut insert = cmd("BF.MADDHASH");
            insert.arg(&*self.name).arg(word_of(digests));
            Command::write(&self.name, insert)
        });
        let replies = self.server.run(commands.collect()).await?;
        for (part, (digests, reply)) in digests.chunks(MAX_DIGESTS).zip(replies).enumerate() {
            let repeated = reply.repeated;
            let bits = self.bits(reply, "BF.MADDHASH", digests.len())?;
            for i in 0..digests.len() {
                batch.note(part * MAX_DIGESTS + i, bits.get(i), repeated);
            }
        }
        Ok(batch)
    }

    /// `BF.MEXISTSHASH`: queries keys by their digests.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`]; the errors of a call; [`Error::Refused`] on a server without commands for
    /// digests.
    pub async fn contains_digests(&self, digests: &[Digest]) -> Result<Bitmap, Error> {
        let mut found = Bitmap::new();
        found.clear_to(digests.len());
        let commands = digests.chunks(MAX_DIGESTS).map(|digests| {
            let mut exists = self.read("BF.MEXISTSHASH");
            exists.cmd.arg(word_of(digests));
            exists
        });
        let replies = self.server.run(commands.collect()).await?;
        for (part, (digests, reply)) in digests.chunks(MAX_DIGESTS).zip(replies).enumerate() {
            let bits = self.bits(reply, "BF.MEXISTSHASH", digests.len())?;
            bits.iter_ones().for_each(|i| found.set(part * MAX_DIGESTS + i));
        }
        Ok(found)
    }

    /// `BF.REM`: removes keys from a compact or counting filter; bit `i` is set if `keys[i]` may
    /// have been in it. Never sent twice: removing a key twice could remove others.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if a reply was lost; [`Error::Unsupported`] for other kinds;
    /// [`Error::Gone`]; the errors of a call.
    pub async fn remove_batch(&self, keys: &[&[u8]]) -> Result<Bitmap, Error> {
        if !matches!(self.kind(), Some("compact" | "counting")) {
            return Err(Error::Unsupported {
                name: self.name.to_string(),
                scheme: "BF commands",
                what: "freed of single keys",
                reason: "only a compact or counting filter of mayhap serve can: BF.RESERVE ... \
                         LAYOUT compact",
            });
        }
        let mut removed = Bitmap::new();
        removed.clear_to(keys.len());
        // One after another, so that an error leaves later keys alone.
        for (part, keys) in keys.chunks(MAX_KEYS).enumerate() {
            let mut remove = cmd("BF.REM");
            remove.arg(&*self.name).arg(keys);
            let reply = match self.server.one(Command::once(&self.name, remove)).await {
                Err(Error::Lost { .. }) => return Err(Error::Lost { what: "BF.REM".into() }),
                reply => reply?,
            };
            let answers = self.answers(reply, "BF.REM", keys.len());
            let answers = answers.map_err(|error| self.or_gone(error))?;
            for (i, _) in answers.into_iter().enumerate().filter(|(_, was)| *was) {
                removed.set(part * MAX_KEYS + i);
            }
        }
        Ok(removed)
    }

    /// A missing filter is gone: this handle has seen it.
    fn or_gone(&self, error: Error) -> Error {
        if matches!(error, Error::NotFound { .. }) { self.gone() } else { error }
    }

    /// The answer to many digests: bit `i % 8` of byte `i / 8`.
    fn bits(&self, reply: Reply, command: &str, len: usize) -> Result<Bitmap, Error> {
        let value = self.value(reply, command).map_err(|error| self.or_gone(error))?;
        let Value::BulkString(bytes) = &value else {
            return Err(Error::strange(command, &value));
        };
        if bytes.len() != len.div_ceil(8) {
            return Err(Error::strange(command, &value));
        }
        let mut bits = Bitmap::new();
        bits.clear_to(len);
        (0..len).filter(|i| bytes[i / 8] >> (i % 8) & 1 == 1).for_each(|i| bits.set(i));
        Ok(bits)
    }
}

impl BfInfo {
    /// The seed of a public digest; `None` for a keyed filter, or where the server has no digests.
    pub(super) fn seed(&self) -> Option<u64> {
        let seed = self.own.digest.as_deref()?.strip_prefix("xxh3:")?;
        u64::from_str_radix(seed, 16).ok()
    }
}

fn word_of(digests: &[Digest]) -> Vec<u8> {
    digests.iter().flat_map(|digest| digest.get().to_le_bytes()).collect()
}
