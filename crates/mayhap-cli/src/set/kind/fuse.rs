//! Sets that never change.

use crate::args::layout_name::LayoutName;
use crate::args::{DEFAULT_FPP, DigestArgs, SizeArgs};
use crate::error::Error;
use crate::io::messages::rate;
use crate::io::progress::Progress;
use crate::memory;
use crate::set::key_set::{Contents, Detail, KeySet};
use crate::set::state::State;
use mayhap::native::{Header, Native};
use mayhap::{BinaryFuse, Bitmap, Block, Digest, DigestFunction, FuseWidth, Health, SecretKey};
use mayhap_lists::LineReader;
use mayhap_store::Image;

/// Bytes of memory per line while a filter is built: our digest, and 20 that the building takes.
const BYTES_PER_LINE: u64 = 28;

/// Builds a filter of all lines; none is added later.
///
/// # Errors
///
/// [`Error::Usage`] for numbers that it has no use for, [`Error::TooMuchMemory`],
/// [`Error::Filter`], those of [`LineReader`].
pub fn build(
    size: &SizeArgs,
    digest: &DigestArgs,
    reader: &mut LineReader,
    progress: &mut Progress,
) -> Result<BinaryFuse, Error> {
    if size.is_fixed() {
        return Err(Error::usage(
            "a fuse filter is sized by its keys, but -n or --mem is given",
            "leave them out; -p 1% or -p 1e-4 chooses between its two rates",
        ));
    }
    let fpp = size.fpp.unwrap_or(DEFAULT_FPP);
    let width = |items| {
        FuseWidth::for_target(items, fpp).ok_or_else(|| {
            Error::usage(
                format!("a fuse filter cannot keep the rate {}", rate(fpp)),
                "it has the rates 1/256 and 1/65,536; --layout standard keeps lower ones",
            )
        })
    };
    // Before anything is read, and before a key file is made.
    width(1)?;
    let function = digest.function()?;
    reader.digest_by(function);
    let (mut all, mut digests): (Vec<Digest>, _) = (Vec::new(), Vec::new());
    loop {
        let raw_bytes = reader.raw_bytes();
        let Some(batch) = reader.next_batch(|| Ok::<(), Error>(()))? else { break };
        // Leaves none for lines without a key.
        batch.digest_into(&function, &mut digests);
        let lines = (all.len() + digests.len()) as u64;
        memory::check(lines * BYTES_PER_LINE, size.max_bytes())?;
        let no_memory = |_| mayhap::Error::OutOfMemory { bytes: lines * BYTES_PER_LINE };
        all.try_reserve(digests.len()).map_err(no_memory)?;
        all.extend_from_slice(&digests);
        progress.tick(lines, raw_bytes, String::new);
    }
    Ok(BinaryFuse::build(width(all.len() as u64)?, function, all)?)
}

/// The error of an insertion into what takes no more keys than it has.
pub(super) fn full(limit: u64) -> Error {
    let found = limit.saturating_add(1);
    mayhap::Error::TooLarge { field: "keys", limit, found }.into()
}

/// The error of verbs that would change one.
pub fn refuse(name: &str) -> Error {
    Error::usage(
        format!("{name} is a fuse filter, which never changes"),
        format!("build it again from all keys: mayhap build --layout fuse --force -o {name} KEYS"),
    )
}

impl KeySet for BinaryFuse {
    fn name(&self) -> &'static str {
        "fuse"
    }

    fn layout_name(&self) -> Option<LayoutName> {
        Some(LayoutName::Fuse)
    }

    fn digest_function(&self) -> DigestFunction {
        *self.digest_function()
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) -> Result<(), Error> {
        self.contains_digests_into(digests, found);
        Ok(())
    }

    fn insert_digests_into(&mut self, _digests: &[Digest], _new: &mut Bitmap) -> Result<(), Error> {
        // `check_insert` has refused it.
        Err(full(self.len()))
    }

    fn check_insert(&self, name: &str) -> Result<(), Error> {
        Err(refuse(name))
    }

    fn capacity(&self) -> Option<u64> {
        Some(self.len())
    }

    fn items(&self) -> u64 {
        self.len()
    }

    fn num_bytes(&self) -> u64 {
        self.num_bytes()
    }

    fn target_fpp(&self) -> f64 {
        self.width().fpp()
    }

    fn expected_fpp(&self) -> f64 {
        self.expected_fpp()
    }

    fn state(&self) -> State {
        let bits = u64::from(self.width().bits());
        State {
            layout: KeySet::name(self),
            num_bytes: self.num_bytes(),
            items: self.len(),
            distinct_items: Some(self.len()),
            expected_items: self.capacity(),
            target_fpp: self.width().fpp(),
            estimated_fpp: self.expected_fpp(),
            // The share of slots that a key chose.
            fill_ratio: (self.len() * bits) as f64 / self.num_bits() as f64,
            health: Health::Ok,
        }
    }

    fn details(&self) -> Vec<Detail> {
        let bits = self.width().bits();
        let text = format!("{bits} bits in each of 3 slots; no key is ever added");
        vec![Detail::new("fingerprint_bits", "fingerprint", text, bits)]
    }

    fn contents(&mut self) -> Option<&mut dyn Contents> {
        Some(self)
    }
}

impl Contents for BinaryFuse {
    fn header(&mut self, key_options: &str) -> Header {
        Header::of(self, key_options)
    }

    fn segments(&self) -> Vec<&[Block]> {
        Native::segments(self)
    }

    fn load(&mut self, image: &Image, key: Option<SecretKey>) -> Result<(), mayhap_store::Error> {
        *self = image.load(key, |_, _| {})?;
        Ok(())
    }
}
