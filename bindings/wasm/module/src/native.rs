//! Our own filters: the common part of all kinds.

use crate::Info;
use crate::contents::Contents;
use crate::keys::{self, Keys};
use mayhap::native::{Header, Native};
use mayhap::{Bitmap, Digest};

/// A filter with the key options of its file.
#[derive(Debug)]
pub(crate) struct Kept<F> {
    filter: F,
    key_options: String,
}

/// The operations that differ by kind.
pub(crate) trait Answers {
    /// Bit i of `found` is the answer for `digests[i]`.
    fn contains(&self, digests: &[Digest], found: &mut Bitmap);

    /// Sets the fields that are not in the header.
    fn describe(&self, info: &mut Info);
}

impl<F> Kept<F>
where
    Self: Contents + 'static,
{
    pub(crate) fn boxed(filter: F, key_options: &str) -> Box<dyn Contents> {
        Box::new(Self { filter, key_options: key_options.into() })
    }
}

impl<F: Native + Answers> Kept<F> {
    fn found(&self, keys: &Keys<'_>, answers: &mut keys::Answers) {
        keys.digest(self.filter.digest_function(), &mut answers.digests);
        self.filter.contains(&answers.digests, &mut answers.bits);
        answers.spread();
    }

    fn described(&self) -> Info {
        let header = Header::of(&self.filter, "");
        let fields = header.fields();
        let mut info = Info {
            format: "mayhap",
            kind: F::KIND.name(),
            digest: self.filter.digest_function().name(),
            seed: hex(header.digest_parameter()),
            key_options: self.key_options.clone(),
            num_bytes: header.segment_blocks().iter().sum::<u64>() as f64 * 64.0,
            num_bits: fields.num_bits as f64,
            num_hashes: f64::from(fields.num_hashes),
            expected_items: fields.expected_items as f64,
            target_fpp: fields.target_fpp,
            inserted_items: fields.inserted_items as f64,
            ..Info::unknown()
        };
        self.filter.describe(&mut info);
        info
    }
}

#[cfg(not(feature = "write"))]
impl<F: Native + Answers> Contents for Kept<F> {
    fn answer(&self, keys: &Keys<'_>, answers: &mut keys::Answers) {
        self.found(keys, answers);
    }

    fn info(&self) -> Info {
        self.described()
    }
}

#[cfg(feature = "write")]
impl<F: Native + Answers + crate::create::Fill + 'static> Contents for Kept<F> {
    fn answer(&self, keys: &Keys<'_>, answers: &mut keys::Answers) {
        self.found(keys, answers);
    }

    fn info(&self) -> Info {
        self.described()
    }

    fn insert(&mut self, keys: &Keys<'_>, answers: &mut keys::Answers) -> Result<(), crate::Fault> {
        keys.digest(self.filter.digest_function(), &mut answers.digests);
        self.filter.fill(&answers.digests, &mut answers.bits)?;
        answers.spread();
        Ok(())
    }

    #[cfg(feature = "kinds")]
    fn remove(&mut self, keys: &Keys<'_>, answers: &mut keys::Answers) -> Result<(), crate::Fault> {
        keys.digest(self.filter.digest_function(), &mut answers.digests);
        self.filter.take(&answers.digests, &mut answers.bits)?;
        answers.spread();
        Ok(())
    }

    fn union(&mut self, other: &dyn Contents) -> Result<(), crate::Fault> {
        let other: &dyn std::any::Any = other;
        match other.downcast_ref::<Self>() {
            Some(other) => self.filter.unite(&other.filter),
            None => Err(crate::Fault::new("Incompatible", "kind")),
        }
    }

    fn encode(&self, key_options: &str) -> Result<Vec<u8>, crate::Fault> {
        if key_options.len() > mayhap::native::MAX_KEY_OPTIONS_BYTES {
            return Err(crate::Fault::new("TooLarge", "key options"));
        }
        let options = if key_options.is_empty() { &self.key_options } else { key_options };
        Ok(mayhap::native::encode(&self.filter, options))
    }

    fn positions(&self, key: &[u8]) -> Vec<f64> {
        self.filter.positions(self.filter.digest_function().digest(key))
    }

    fn bits(&self) -> &[u8] {
        self.filter.bits()
    }
}

/// Sixteen digits, without the machinery of `format!`.
fn hex(number: u64) -> String {
    let digit = |i: u32| char::from_digit((number >> (4 * i) & 15) as u32, 16).unwrap_or('0');
    (0..16).rev().map(digit).collect()
}
