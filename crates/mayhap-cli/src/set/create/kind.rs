//! New filters of the kinds that `--layout` names.

use super::FIRST_ITEMS;
use crate::args::{DEFAULT_FPP, DigestArgs, SizeArgs};
use crate::error::Error;
use mayhap::set::Repeats;
use mayhap::{
    CompactFilter, CountingBloomFilter, DigestFunction, ScalableBloomFilter, WindowBloomFilter,
};
use mayhap_sets::{KeySet, LayoutName, OwnSet};
use mayhap_units::number::counted;
use mayhap_units::window::WindowSize;

/// A builder of a kind that is sized by two of n, p and memory, with those that are given.
macro_rules! sized {
    ($kind:ty, $items:expr, $size:expr, $function:expr) => {{
        let (items, size) = ($items, $size);
        let builder = <$kind>::builder().digest_function($function).max_bytes(size.max_bytes());
        let builder = if let Some(items) = items { builder.expected_items(items) } else { builder };
        let builder = if let Some(bytes) = size.mem { builder.num_bytes(bytes) } else { builder };
        match size.fpp {
            None if items.is_some() && size.mem.is_some() => builder,
            fpp => builder.target_fpp(fpp.unwrap_or(DEFAULT_FPP)),
        }
    }};
}

/// A kind to make, its numbers checked for what contradicts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Create {
    /// A window of this many keys.
    WindowItems(u64),
    /// Fingerprints instead of bits.
    Compact(Option<u64>),
    /// Counters instead of bits.
    Counting(Option<u64>),
    /// A chain whose first layer has room for this many keys.
    Scalable(u64),
    /// A window of this many milliseconds, and the keys expected in it.
    WindowMillis(u64, u64),
}

impl Create {
    /// The kind that is requested, with room for `items` keys where it matters; `None` for the
    /// plain one.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for numbers that are missing, or that the kind has no use for.
    pub fn of(size: &SizeArgs, items: Option<u64>) -> Result<Option<Self>, Error> {
        let Some(name) = size.layout else { return Ok(None) };
        let make = match name {
            LayoutName::Blocked | LayoutName::Standard => return Ok(None),
            // Without a size it is refused with the plain ones.
            LayoutName::Compact | LayoutName::Counting if items.is_none() && size.mem.is_none() => {
                return Ok(None);
            }
            LayoutName::Compact => {
                size.refuse_preset(name.name())?;
                return Ok(Some(Self::Compact(items)));
            }
            LayoutName::Counting => {
                size.refuse_preset(name.name())?;
                return Ok(Some(Self::Counting(items)));
            }
            LayoutName::Fuse | LayoutName::Ribbon => {
                let name = name.name();
                return Err(Error::usage(
                    format!("a {name} filter is immutable, so it cannot be created empty"),
                    format!("build it from all keys: mayhap build --layout {name} -o FILTER KEYS"),
                ));
            }
            LayoutName::Matrix => {
                return Err(Error::usage(
                    "a matrix has a set for each of many lists, so it is not created empty",
                    "build it from them: mayhap build --layout matrix -o FILTER A.txt B.txt",
                ));
            }
            LayoutName::Scalable => Self::Scalable(items.unwrap_or(FIRST_ITEMS)),
            LayoutName::Window(WindowSize::Items(window)) => {
                if let Some(given) = items.filter(|&given| given != window) {
                    return Err(Error::usage(
                        format!(
                            "a window of {} is requested, and -n {given}",
                            counted(window, "key")
                        ),
                        "omit -n: the window gives the number of keys",
                    ));
                }
                Self::WindowItems(window)
            }
            LayoutName::Window(WindowSize::Millis(span)) => match items {
                Some(items) => Self::WindowMillis(span, items),
                None => {
                    return Err(Error::usage(
                        "the number of keys in the window is missing: -n is not given",
                        "for example: add -n 10M for 10 million keys in the time of the window",
                    ));
                }
            },
        };
        size.refuse_preset(name.name())?;
        if size.mem.is_some() {
            return Err(Error::usage(
                format!("--mem does not size a {} filter", name.name()),
                "give the rate with -p; --max-memory sets a limit",
            ));
        }
        Ok(Some(make))
    }

    /// Creates an empty filter of the kind that is requested, or a plain one.
    ///
    /// # Errors
    ///
    /// Those of [`Create::of`], [`Create::build`] and [`SizeArgs::build`].
    pub fn build_any(
        size: &SizeArgs,
        items: Option<u64>,
        digest: &DigestArgs,
    ) -> Result<OwnSet, Error> {
        match Self::of(size, items)? {
            Some(create) => create.build(size, digest),
            None => Ok(size.build(items, digest)?.into()),
        }
    }

    /// Creates it, empty.
    ///
    /// # Errors
    ///
    /// [`Error::TooMuchMemory`], [`Error::Useless`], [`Error::Filter`], those of
    /// [`DigestArgs::function`].
    pub fn build(self, size: &SizeArgs, digest: &DigestArgs) -> Result<OwnSet, Error> {
        let make = |function| {
            self.build_with(function, size).map_err(|error| match error {
                mayhap::Error::TooLarge { limit, found: needed, .. }
                    if limit == size.max_bytes() =>
                {
                    Error::TooMuchMemory { needed, limit }
                }
                error => error.into(),
            })
        };
        if let Self::Counting(Some(items)) = self {
            let numbers = make(DigestFunction::default())?.numbers(Repeats::Renew);
            size.check_rate(items, numbers.num_bytes, numbers.target_fpp)?;
        }
        if digest.new_key_file.is_some() {
            // So that no key file is made for a filter that is refused.
            make(DigestFunction::default())?;
        }
        make(digest.function()?)
    }

    fn build_with(
        self,
        function: DigestFunction,
        size: &SizeArgs,
    ) -> Result<OwnSet, mayhap::Error> {
        let (fpp, max_bytes) = (size.fpp.unwrap_or(DEFAULT_FPP), size.max_bytes());
        let window = WindowBloomFilter::builder()
            .target_fpp(fpp)
            .digest_function(function)
            .max_bytes(max_bytes);
        Ok(match self {
            Self::Compact(items) => sized!(CompactFilter, items, size, function).build()?.into(),
            Self::Counting(items) => {
                sized!(CountingBloomFilter, items, size, function).build()?.into()
            }
            Self::Scalable(items) => {
                let mut filter = ScalableBloomFilter::new(items, fpp, function)?;
                let found = filter.num_bytes();
                if found > max_bytes {
                    let field = "filter bytes";
                    return Err(mayhap::Error::TooLarge { field, limit: max_bytes, found });
                }
                filter.set_max_bytes(size.max_memory.unwrap_or(u64::MAX));
                filter.into()
            }
            Self::WindowItems(items) => window.window_items(items).build()?.into(),
            Self::WindowMillis(span, items) => {
                OwnSet::new(Box::new(window.window_time(span, items).build()?), true)
            }
        })
    }
}
