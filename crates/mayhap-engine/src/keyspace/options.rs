//! The limits of a keyspace.

use super::error::FILTER_BYTES;
use super::{Hash, Spec};
use mayhap::native::Header;
use mayhap::{DigestFunction, Error, SecretKey};
use mayhap_formats::Limits;

/// The limits of a keyspace, and its key.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The most bytes of one filter.
    pub max_filter_bytes: u64,
    /// The most bytes of all filters together: `max_memory`.
    pub max_memory: u64,
    /// The most bytes of a name.
    pub max_name_bytes: usize,
    /// The key of keyed filters.
    pub secret_key: SecretKey,
}

impl Options {
    /// No limits except that of names, 1 KiB.
    pub const fn new(secret_key: SecretKey) -> Self {
        Self {
            max_filter_bytes: u64::MAX,
            max_memory: u64::MAX,
            max_name_bytes: 1 << 10,
            secret_key,
        }
    }

    /// The limits for existing filters: they are restored, even if they are above a limit by now.
    pub(super) const fn unlimited(&self) -> Self {
        Self { max_filter_bytes: u64::MAX, ..*self }
    }

    /// The digest function of filters with this hash.
    pub(super) const fn digest_function(&self, hash: Hash) -> DigestFunction {
        match hash {
            Hash::Keyed => DigestFunction::sip13(self.secret_key),
            Hash::Plain { seed } => DigestFunction::xxh3(seed),
        }
    }

    /// The key of a file, if it has one.
    pub(super) fn key_for(&self, header: &Header) -> Option<SecretKey> {
        header.is_keyed().then_some(self.secret_key)
    }

    /// The limits of foreign filters.
    pub(super) fn format_limits(&self) -> Limits {
        let max_bytes = self.max_filter_bytes.min(Limits::default().max_bytes);
        Limits { max_bytes, ..Limits::default() }
    }

    /// Why a filter that cannot be sized is refused: the limit, if that is exceeded too, since it
    /// is more helpful than an arithmetic overflow; and in terms of the rate of the whole filter,
    /// of which a layer has a part.
    pub(super) fn explain(&self, spec: &Spec, error: Error) -> Error {
        let Some((capacity, fpp)) = spec.shape.size() else { return error };
        // n ln(1/p) / (ln 2)^2 bits: none of these kinds needs fewer.
        let bytes = capacity as f64 * -fpp.ln() / std::f64::consts::LN_2.powi(2) / 8.0;
        let (limit, found) = (self.max_filter_bytes, bytes as u64);
        match error {
            _ if found > limit => Error::TooLarge { field: FILTER_BYTES, limit, found },
            Error::FppUnreachable { target_fpp, lowest_fpp } => {
                let lowest_fpp = lowest_fpp * (fpp / target_fpp);
                Error::FppUnreachable { target_fpp: fpp, lowest_fpp }
            }
            error => error,
        }
    }
}
