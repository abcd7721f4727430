//! A file of another system as a set of keys.

use crate::error::Error;
use crate::file::ForeignFile;
use crate::filling::Filling;
use crate::keys::{BadKeys, KeyBytes, random_text};
use mayhap::{Bitmap, Digest, DigestFunction, Health};
use mayhap_formats::KeyType;
use mayhap_sets::{
    Error as SetError, Held, KeySet, KeyTypes, Keys, NotKeys, Numbers, Refusal, State, WholeFile,
};
use mayhap_store::FilterLock;
use std::path::Path;

/// A file of another system as a set: keys are hashed by that system's scheme, texts that are none
/// of its type are left out, and it is saved as a whole.
///
/// # Examples
///
/// ```
/// use mayhap::Bitmap;
/// use mayhap_foreign::{ForeignFile, ForeignSet, Known};
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
/// set.insert_keys_into(keys[..].into(), &mut new)?;
/// assert_eq!(new.iter().collect::<Vec<_>>(), [true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ForeignSet {
    file: ForeignFile,
    /// Unless it is only queried.
    filling: Option<Filling>,
    keys: KeyBytes,
    bad_keys: BadKeys,
}

impl ForeignSet {
    /// A set that is only queried.
    pub fn to_query(file: ForeignFile) -> Self {
        Self { file, filling: None, keys: KeyBytes::default(), bad_keys: BadKeys::default() }
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

    fn takes_keys_alone(&self) -> SetError {
        SetError::Refused { name: self.file.name().to_owned(), why: Refusal::TakesKeys }
    }
}

impl KeySet for ForeignSet {
    fn name(&self) -> &'static str {
        self.file.filter().format().name()
    }

    fn digest_function(&self) -> DigestFunction {
        DigestFunction::default()
    }

    fn takes_keys(&self) -> bool {
        true
    }

    fn contains_keys_into(&mut self, keys: Keys<'_>, found: &mut Bitmap) -> Result<(), SetError> {
        let filter = self.file.filter();
        if self.file.key_type() == KeyType::Bytes {
            filter.contains_batch(keys.texts, found);
        } else {
            let key_type = self.file.key_type();
            self.keys.encode_for((filter, key_type), keys, &mut self.bad_keys);
            self.keys.query(filter, found);
        }
        Ok(())
    }

    fn insert_keys_into(&mut self, keys: Keys<'_>, new: &mut Bitmap) -> Result<(), SetError> {
        let Some(filling) = &mut self.filling else {
            let name = self.file.name().to_owned();
            return Err(SetError::Refused { name, why: Refusal::ReadOnly });
        };
        let key_type = self.file.key_type();
        self.keys.encode_for((self.file.filter(), key_type), keys, &mut self.bad_keys);
        filling.insert(&mut self.file, &self.keys, new).map_err(|source| {
            let name = self.file.name().to_owned();
            Error::Format { name, source }.into()
        })
    }

    fn contains_digests_into(&self, _: &[Digest], _: &mut Bitmap) -> Result<(), SetError> {
        Err(self.takes_keys_alone())
    }

    fn insert_digests_into(&mut self, _: &[Digest], _: &mut Bitmap) -> Result<(), SetError> {
        Err(self.takes_keys_alone())
    }

    fn refuses_insert(&self) -> Option<Refusal> {
        self.filling.is_none().then_some(Refusal::ReadOnly)
    }

    fn not_keys(&self) -> &[usize] {
        self.keys.not_keys()
    }

    fn all_not_keys(&self) -> Option<NotKeys> {
        self.bad_keys.of(self.file.name())
    }

    fn key_types(&self) -> Option<KeyTypes> {
        Some(self.file.key_types())
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

    fn capacity(&self) -> Option<u64> {
        self.file.expected_items()
    }

    /// Never: [`KeySet::warnings`] has it, in the words of its system.
    fn warn_at(&self) -> Option<u64> {
        None
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

    fn num_bytes(&self) -> u64 {
        self.file.filter().num_bits().div_ceil(8)
    }

    /// NaN where the file does not say.
    fn target_fpp(&self) -> f64 {
        self.file.target_fpp().unwrap_or(f64::NAN)
    }

    fn expected_fpp(&self) -> f64 {
        let estimated = || self.file.filter().estimated_fpp();
        self.filling.as_ref().map_or_else(estimated, Filling::fpp)
    }

    fn state(&self) -> State {
        let (numbers, items) = (self.file.numbers(), self.items());
        State {
            layout: numbers.format,
            num_bytes: numbers.num_bytes,
            items,
            distinct_items: numbers.estimated_items,
            expected_items: numbers.expected_items,
            target_fpp: self.target_fpp(),
            estimated_fpp: numbers.estimated_fpp,
            fill_ratio: numbers.fill_ratio,
            health: match numbers.expected_items {
                Some(expected) => Health::of(items as f64, expected),
                None if numbers.overfilled().is_some() => Health::OverCapacity,
                None => Health::Ok,
            },
        }
    }

    fn numbers(&self) -> Numbers {
        Numbers::Foreign(self.file.numbers())
    }

    fn warnings(&mut self) -> Vec<String> {
        self.filling.as_mut().map_or_else(Vec::new, Filling::warnings)
    }

    fn whole_file(&mut self) -> Option<&mut dyn WholeFile> {
        Some(self)
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

    fn save(&mut self, lock: &FilterLock) -> Result<(), SetError> {
        Ok(self.file.save_back(lock)?)
    }

    fn save_new(&mut self, lock: &FilterLock, replace: bool) -> Result<(), SetError> {
        Ok(self.file.save_new(lock, replace)?)
    }
}
