//! New filters of other systems.

use super::error::Error;
use super::foreign_file::ForeignFile;
use crate::known::Known;
use mayhap_formats::{Error as Formats, Format, KeyType, Limits, NewFilter, Shape};
use std::path::Path;

/// How big a new filter is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size<'a> {
    /// As its system computes it from n and p, with the system's own parameters.
    Of(NewFilter<'a>),
    /// Of this m and k, where the system takes them.
    Shape(Shape),
}

impl ForeignFile {
    /// Creates an empty filter in memory, of at most `max_bytes` of bits, that
    /// [`ForeignFile::save`] writes to the file of this path.
    ///
    /// # Errors
    ///
    /// [`Error::Create`] for parameters that its system rejects, [`Error::TooLarge`] before it is
    /// allocated; [`Error::Format`] for a type that its keys never have.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_sets::file::{ForeignFile, Known, Size};
    /// use mayhap_formats::{Format, NewFilter};
    /// use mayhap_store::{FilterLock, LockOptions};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("ids.dcso");
    /// let size = Size::Of(NewFilter::new(1_000, 0.01));
    /// let mut file = ForeignFile::create(&path, Format::Dcso, size, None, 1 << 20)?;
    /// file.save(&FilterLock::take(&path, &mut LockOptions::new("create"))?, false)?;
    /// let again = ForeignFile::open(&path, Known::default(), 1 << 20)?.expect("a filter");
    /// assert_eq!(again.filter().format(), Format::Dcso);
    /// assert_eq!((again.expected_items(), again.target_fpp()), (Some(1_000), Some(0.01)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create(
        path: &Path,
        format: Format,
        size: Size<'_>,
        key_type: Option<KeyType>,
        max_bytes: u64,
    ) -> Result<Self, Error> {
        let name = path.display().to_string();
        let limits = Limits { max_bytes, ..Limits::default() };
        let (created, created_for) = match size {
            Size::Of(new) => {
                let numbers = (new.expected_items, new.target_fpp);
                (mayhap_formats::create(format, &new, &limits), Some(numbers))
            }
            Size::Shape(shape) => (mayhap_formats::create_with(format, shape, &limits), None),
        };
        let filter = created.map_err(|source| match source {
            // The limit of the caller, and none of the system.
            Formats::TooLarge { limit, found, .. } if limit == max_bytes.saturating_mul(8) => {
                Error::TooLarge { needed: found.div_ceil(8), limit: max_bytes }
            }
            source => Error::Create { name: name.clone(), format, source },
        })?;
        let shape = match size {
            Size::Shape(shape) => shape,
            Size::Of(_) => Shape {
                num_bits: i64::try_from(filter.num_bits()).unwrap_or(i64::MAX),
                num_hashes: filter.num_hashes(),
            },
        };
        let shape = mayhap_formats::needs_shape(format).then_some(shape);
        let known = Known { format: Some(format), key_type, shape, ..Known::default() };
        Self::of_new((name, path), filter, (known, max_bytes), created_for)
    }
}
