//! Errors as fields: `package/fault.js` has the sentences, so that no formatting is in the module.

use mayhap::Error;
use wasm_bindgen::prelude::wasm_bindgen;

/// The reason why a call failed: a code, the subject, the bound and the value; NaN where there is
/// none.
#[wasm_bindgen]
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    code: &'static str,
    about: &'static str,
    /// The bound, the needed value, or the left one of two that differ.
    #[wasm_bindgen(readonly)]
    pub bound: f64,
    /// The value found, or the right one of two that differ.
    #[wasm_bindgen(readonly)]
    pub found: f64,
}

#[wasm_bindgen]
impl Fault {
    /// Which error, in the words of the library: `WrongLength`, `Incompatible`, …
    #[wasm_bindgen(getter)]
    pub fn code(&self) -> String {
        self.code.into()
    }

    /// The parameter, field or format that it is about; empty if the code is sufficient.
    #[wasm_bindgen(getter)]
    pub fn about(&self) -> String {
        self.about.into()
    }
}

impl Fault {
    pub(crate) const fn new(code: &'static str, about: &'static str) -> Self {
        Self { code, about, bound: f64::NAN, found: f64::NAN }
    }

    /// Of something that is larger than its bound.
    #[cfg(feature = "lists")]
    pub(crate) const fn too_large(about: &'static str, bound: usize) -> Self {
        Self::new("TooLarge", about).with(bound as f64, f64::NAN)
    }

    const fn with(self, bound: f64, found: f64) -> Self {
        Self { bound, found, ..self }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let of = |code, about, bound: u64, found: u64| {
            Self::new(code, about).with(bound as f64, found as f64)
        };
        match error {
            Error::ZeroItems => Self::new("ZeroItems", "items"),
            Error::FppOutOfRange { found } => Self::new("FppOutOfRange", "").with(1.0, found),
            Error::FppUnreachable { target_fpp, lowest_fpp } => {
                Self::new("FppUnreachable", "").with(lowest_fpp, target_fpp)
            }
            Error::OutOfRange { parameter, min, max, found } => {
                of("OutOfRange", parameter, if found < min { min } else { max }, found)
            }
            Error::NumberOutOfRange { parameter, max, found, .. } => {
                Self::new("OutOfRange", parameter).with(max, found)
            }
            Error::Missing { parameter } => Self::new("Missing", parameter),
            Error::OutOfMemory { bytes } => of("OutOfMemory", "", 0, bytes),
            Error::TooLarge { field, limit, found } => of("TooLarge", field, limit, found),
            Error::Incompatible { parameter, left, right } => {
                of("Incompatible", parameter, left, right)
            }
            Error::NotAFilter => Self::new("NotAFilter", ""),
            Error::NewerVersion { found, supported } => {
                of("NewerVersion", "", supported.into(), found.into())
            }
            Error::WrongLength { field, expected, found } => {
                of("WrongLength", field, expected, found)
            }
            Error::HeaderDamaged | Error::IdentityDamaged | Error::ShortDamaged => {
                Self::new("HeaderDamaged", "")
            }
            Error::BadField { field, found } => {
                Self::new("BadField", field).with(f64::NAN, found as f64)
            }
            Error::PageDamaged { page, damaged_pages, .. } => {
                of("PageDamaged", "", page, damaged_pages)
            }
            Error::WrongKind { found, .. } => Self::new("WrongKind", found),
            Error::WrongKey { .. } => Self::new("WrongKey", ""),
            _ => Self::new("Other", ""),
        }
    }
}
