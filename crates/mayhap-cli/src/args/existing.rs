//! Arguments that have to agree with a filter that exists already.

use super::{DigestArgs, SizeArgs};
use crate::error::Error;
use mayhap::Layout;
use std::fmt::Display;

/// The numbers of a filter that exists already.
#[derive(Debug, Clone, Copy)]
pub struct Existing<'a> {
    /// Its file or URL.
    pub name: &'a str,
    /// Keys that it was created for.
    pub expected_items: u64,
    /// The rate that it promises.
    pub target_fpp: f64,
    /// Its layout and bytes, of a plain filter.
    pub shape: Option<(Layout, u64)>,
    /// The seed of its digest; `None` if it has a secret key.
    pub seed: Option<u64>,
}

impl Existing<'_> {
    /// Refuses arguments that contradict the filter; what is not given is as it is there.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] with the first of them.
    pub fn check(&self, size: &SizeArgs, digest: &DigestArgs) -> Result<(), Error> {
        self.check_one("-n", size.items, &self.expected_items)?;
        self.check_one("-p", size.fpp, &self.target_fpp)?;
        if let Some((layout, num_bytes)) = self.shape {
            if let Some(given) = size.layout
                && given.layout() != Some(layout)
            {
                return Err(conflict("--layout", &given, &layout, self.name));
            }
            if let Some(preset) = size.preset {
                let items = Some(size.items.unwrap_or(self.expected_items));
                let params = size.builder(items)?.layout(layout).params()?;
                if params.num_bytes() != num_bytes {
                    let (given, has) = (preset.bits_per_item(), self.bits_per_item(num_bytes));
                    return Err(Error::usage(
                        format!(
                            "--preset {given} is given, but {} was created with {has} bits for \
                             each key",
                            self.name
                        ),
                        "omit --preset to use it, or name another filter",
                    ));
                }
            }
            // A filter is a whole number of cache lines.
            if let Some(given) = size.mem
                && given / 64 != num_bytes / 64
            {
                return Err(conflict("--mem", &given, &num_bytes, self.name));
            }
        }
        match (digest.seed, self.seed) {
            (Some(given), None) => {
                return Err(conflict("--seed", &given, &"a secret key", self.name));
            }
            (given, Some(seed)) => self.check_one("--seed", given, &seed)?,
            (None, None) => {}
        }
        if digest.new_key_file.is_some() {
            return Err(Error::usage(
                format!("--new-key-file is given, but {} exists already", self.name),
                "a key is chosen when a filter is created; give that one with --key-file",
            ));
        }
        Ok(())
    }

    /// Bits for each key that the filter was created for, rounded to hundredths.
    fn bits_per_item(&self, num_bytes: u64) -> f64 {
        let bits = num_bytes as f64 * 8.0 / self.expected_items as f64;
        (bits * 100.0).round() / 100.0
    }

    fn check_one<T: Display + PartialEq>(
        &self,
        flag: &str,
        given: Option<T>,
        has: &T,
    ) -> Result<(), Error> {
        match given {
            Some(given) if given != *has => Err(conflict(flag, &given, has, self.name)),
            _ => Ok(()),
        }
    }
}

/// The error of a flag that contradicts the filter of this name.
pub fn conflict(flag: &str, given: &dyn Display, has: &dyn Display, name: &str) -> Error {
    Error::usage(
        format!("{flag} {given} is given, but {name} was created with {flag} {has}"),
        format!("omit {flag} to use it, or name another filter"),
    )
}
