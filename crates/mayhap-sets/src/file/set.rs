//! A file of another system as a set of keys.

use super::error::Error;
use super::filling::Filling;
use super::foreign_file::ForeignFile;
use super::keys::{KeyBytes, random_text};
use crate::capabilities::Capabilities;
use crate::error::{Error as SetError, Refusal};
use crate::key_set::{Contents, KeySet, WholeFile};
use crate::keys::{KeyTypes, Keys, NotKeys, TakesTexts};
use crate::measurements::Measurements;
use crate::numbers::Numbers;
use crate::room::Held;
use mayhap::native::Kind;
use mayhap::set::Repeats;
use mayhap::{Bitmap, DigestFunction};
use mayhap_formats::KeyType;
use mayhap_store::FilterLock;
use std::path::Path;

/// A file of another system as a set: keys are hashed by that system's scheme, texts that are none
/// of its type are left out, and it is saved as a whole.
///
/// # Examples
///
/// ```
/// use mayhap::Bitmap;
/// use mayhap::set::Repeats;
/// use mayhap_sets::file::{ForeignFile, ForeignSet, Known};
/// use mayhap_formats::{GuavaFilter, GuavaOptions, Limits};
/// use mayhap_sets::KeySet;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("ids.guava");
/// let empty = GuavaFilter::create(&GuavaOptions::new(100), &Limits::default())?;
/// std::fs::write(&path, empty.to_stream())?;
/// let file = ForeignFile::open(&path, Known::default(), 1 << 20)?.expect("a filter");
/// let mut set = ForeignSet::to_fill(file, false)?;
/// let (keys, mut new): ([&[u8]; 2], _) = ([b"one", b"one"], Bitmap::new());
/// set.insert_into(keys[..].into(), Repeats::Renew, &mut new)?;
/// assert_eq!(new.iter().collect::<Vec<_>>(), [true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ForeignSet {
    file: ForeignFile,
    /// Unless it is only queried.
    filling: Option<Filling>,
    keys: KeyBytes,
}

impl ForeignSet {
    /// A set that is only queried.
    pub fn to_query(file: ForeignFile) -> Self {
        Self { file, filling: None, keys: KeyBytes::default() }
    }

    /// A set to insert into. A filter that forgets all keys when it is full does so only if
    /// `overfill` is set. Reads all bits.
    ///
    /// # Errors
    ///
    /// [`Error::IsColumn`].
    pub fn to_fill(file: ForeignFile, overfill: bool) -> Result<Self, Error> {
        file.check_change()?;
        let filling = Some(Filling::new(&file, overfill));
        Ok(Self { filling, ..Self::to_query(file) })
    }

    /// Without the warning at 80 %, where the capacity was counted from the input itself.
    #[must_use]
    pub fn without_warning(mut self) -> Self {
        if let Some(filling) = &mut self.filling {
            filling.never_warn();
        }
        self
    }

    /// The file.
    pub fn file(&self) -> &ForeignFile {
        &self.file
    }
}

impl KeySet for ForeignSet {
    fn name(&self) -> &'static str {
        self.file.filter().format().name()
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        None
    }

    fn capabilities(&self) -> Capabilities {
        let inserts = if self.filling.is_some() { Ok(()) } else { Err(Refusal::ReadOnly) };
        Capabilities { inserts, clears: false, ..Kind::Bloom.capabilities().into() }
    }

    fn contains_into(&mut self, keys: Keys<'_>, found: &mut Bitmap) -> Result<(), SetError> {
        let texts = keys.texts(self.file.name())?;
        let (filter, key_type) = (self.file.filter(), self.file.key_type());
        if key_type == KeyType::Bytes {
            filter.contains_batch(texts.texts, found);
        } else {
            self.keys.encode(texts, |text, scratch| filter.encode_key(key_type, text, scratch));
            self.keys.query(filter, found);
        }
        Ok(())
    }

    fn insert_into(
        &mut self,
        keys: Keys<'_>,
        _: Repeats,
        new: &mut Bitmap,
    ) -> Result<(), SetError> {
        let texts = keys.texts(self.file.name())?;
        let Some(filling) = &mut self.filling else {
            let name = self.file.name().to_owned();
            return Err(SetError::Refused { name, why: Refusal::ReadOnly });
        };
        let (filter, key_type) = (self.file.filter(), self.file.key_type());
        self.keys.encode(texts, |text, scratch| filter.encode_key(key_type, text, scratch));
        filling.insert(&mut self.file, &self.keys, new).map_err(|source| {
            let name = self.file.name().to_owned();
            Error::Format { name, source }.into()
        })
    }

    fn items(&self) -> u64 {
        let estimated = || self.file.filter().estimated_items().unwrap_or(u64::MAX);
        self.filling.as_ref().map_or_else(estimated, Filling::items)
    }

    fn held(&self) -> Held {
        let estimated = || Held::Estimated(self.items());
        let clears_next = self.file.filter().clears_next();
        self.filling.as_ref().map_or_else(estimated, |filling| filling.held(clears_next))
    }

    /// Reads all bits if it is only queried.
    fn numbers(&self, _: Repeats) -> Numbers {
        let filter = self.file.filter();
        let fpp = self.filling.as_ref().map_or_else(|| filter.estimated_fpp(), Filling::fpp);
        let rates = (self.file.target_fpp().unwrap_or(f64::NAN), fpp);
        let counts = (self.items(), self.file.expected_items());
        // Its warnings have it, in the words of its system.
        let warn_at = None;
        Numbers { warn_at, ..Numbers::of(counts, filter.num_bits().div_ceil(8), rates) }
    }

    fn measurements(&self) -> Measurements {
        Measurements::Foreign(self.file.numbers())
    }

    fn warnings(&mut self) -> Vec<String> {
        self.filling.as_mut().map_or_else(Vec::new, Filling::warnings)
    }

    fn texts(&self) -> Option<&dyn TakesTexts> {
        Some(self)
    }

    fn contents(&mut self) -> Option<Contents<'_>> {
        Some(Contents::Whole(self))
    }
}

impl TakesTexts for ForeignSet {
    fn not_keys(&self) -> &[usize] {
        self.keys.not_keys()
    }

    fn all_not_keys(&self) -> Option<NotKeys> {
        self.keys.all_not_keys(self.file.name())
    }

    fn key_types(&self) -> KeyTypes {
        self.file.key_types()
    }

    fn holds_any(&self) -> Option<String> {
        self.file.filter().holds_any()
    }

    fn overfilled(&self) -> Option<String> {
        self.file.numbers().overfilled()
    }

    fn random_key(&self, number: u64) -> String {
        let key_type = self.file.key_type();
        let value = self.file.filter().random_value(number).filter(|_| key_type != KeyType::Hex);
        value.unwrap_or_else(|| random_text(key_type)(number))
    }
}

impl WholeFile for ForeignSet {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn reload(&mut self) -> Result<bool, SetError> {
        let is_changed = self.file.reload()?;
        if let (Some(filling), true) = (&mut self.filling, is_changed) {
            filling.go_on(&self.file);
        }
        Ok(is_changed)
    }

    fn save(&mut self, lock: &FilterLock, replace: bool) -> Result<(), SetError> {
        Ok(self.file.save(lock, replace)?)
    }
}
