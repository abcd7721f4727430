//! How big a new filter is, and of which kind.

use super::DigestArgs;
use crate::error::{Error, Useless};
use crate::memory;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use mayhap::{AnyFilter, Builder, Layout, Preset, sizing};
use mayhap_sets::LayoutName;
use mayhap_units::number::{parse_bytes, parse_count, parse_fpp};
use mayhap_units::window::{self, WindowError, WindowSize};

/// The default rate: 1 absent key in 10,000 at the end, 1 in 70,000 on the way.
pub const DEFAULT_FPP: f64 = 1e-4;

/// A rate above this one is not what somebody wants who names none: three bits a key have it.
pub const MAX_DEFAULT_FPP: f64 = 0.25;

/// Reads the size of a window, as `--window` takes it.
///
/// # Errors
///
/// The errors of [`window::parse_window`].
pub fn parse_window(text: &str) -> Result<WindowSize, WindowError> {
    window::parse_window(text, "--window ")
}

/// The size of a new filter.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Size")]
pub struct SizeArgs {
    /// Expected number of distinct keys: 10M, 1.5G, 1e6
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = parse_count)]
    pub items: Option<u64>,
    /// False-positive probability at -n keys: 1e-6, 0.1%, 1/1000 [default: 1e-4]
    #[arg(short = 'p', long, value_name = "RATE", value_parser = parse_fpp)]
    pub fpp: Option<f64>,
    /// Bits per key in place of -p: rates of 16 %, 2.5 %, 9.1e-4 or 5.7e-6 (mayhap man create)
    #[arg(long, value_name = "BITS", value_parser = preset(), conflicts_with_all = ["fpp", "mem"])]
    pub preset: Option<Preset>,
    /// Memory for the filter: 512M, 2GiB; -n or -p is derived from it (up to a rate of 25 %)
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub mem: Option<u64>,
    /// blocked (fast), standard (fewest bits), compact or counting (removal), scalable (grows),
    /// window:10M or window:7d (forgets); build: ribbon or fuse (frozen), matrix [default: blocked;
    /// standard below a rate of 2e-5]
    #[arg(long, value_name = "LAYOUT", value_parser = LayoutName::parse)]
    pub layout: Option<LayoutName>,
    /// Refuse larger filters [default: the memory of the machine or container]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub max_memory: Option<u64>,
}

impl SizeArgs {
    /// Whether the size of a filter follows from the arguments alone.
    pub fn is_fixed(&self) -> bool {
        self.items.is_some() || self.mem.is_some()
    }

    /// Whether the kind needs no number of keys in all: it grows, or forgets.
    pub fn grows_or_forgets(&self) -> bool {
        matches!(self.layout, Some(LayoutName::Scalable | LayoutName::Window(_)))
    }

    /// The largest filter that is allowed.
    pub fn max_bytes(&self) -> u64 {
        memory::limit(self.max_memory)
    }

    /// A filter for `items` keys, or of the requested memory.
    ///
    /// # Errors
    ///
    /// [`Error::TooMuchMemory`], [`Error::Useless`], [`Error::Filter`], those of
    /// [`DigestArgs::function`].
    pub fn build(&self, items: Option<u64>, digest: &DigestArgs) -> Result<AnyFilter, Error> {
        let builder = self.builder(items)?;
        let params = builder.params()?;
        memory::check(params.num_bytes(), self.max_bytes())?;
        self.check_rate(params.expected_items(), params.num_bytes(), params.target_fpp())?;
        // Last, so that no key file is made for a filter that is refused.
        Ok(builder.digest_function(digest.function()?).build()?)
    }

    /// Refuses a filter that could not keep any useful rate, unless a rate was requested.
    ///
    /// # Errors
    ///
    /// [`Error::Useless`].
    pub fn check_rate(&self, items: u64, bytes: u64, fpp: f64) -> Result<(), Error> {
        if self.fpp.is_some() || self.preset.is_some() || fpp <= MAX_DEFAULT_FPP {
            return Ok(());
        }
        let usual = sizing::for_items(Layout::Blocked, items, DEFAULT_FPP);
        let usual = usual.ok().map(|params| (params.num_bytes(), DEFAULT_FPP));
        Err(Error::Useless(Useless { items, bytes, fpp, usual }))
    }

    /// Refuses `--preset` for a filter that is sized by its rate.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`].
    pub fn refuse_preset(&self, kind: &str) -> Result<(), Error> {
        let Some(preset) = self.preset else { return Ok(()) };
        Err(Error::usage(
            format!("--preset {} does not size a {kind} filter", preset.bits_per_item()),
            "give the rate with -p; blocked, standard and bloomfileter filters have presets",
        ))
    }

    /// The builder that [`SizeArgs::build`] makes a plain filter with.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] for other kinds.
    pub fn builder(&self, items: Option<u64>) -> Result<Builder<AnyFilter>, Error> {
        let mut builder: Builder<AnyFilter> = AnyFilter::builder();
        if let Some(name) = self.layout {
            let Some(layout) = name.layout() else {
                return Err(Error::usage(
                    format!("this command does not support --layout {}", name.name()),
                    "create the file with mayhap build, or with mayhap create and mayhap add",
                ));
            };
            builder = builder.layout(layout);
        }
        if let Some(items) = items {
            builder = builder.expected_items(items);
        }
        if let Some(preset) = self.preset {
            return Ok(builder.preset(preset));
        }
        if let Some(bytes) = self.mem {
            builder = builder.num_bytes(bytes);
        }
        match (self.fpp, items, self.mem) {
            (Some(fpp), ..) => builder = builder.target_fpp(fpp),
            // n and memory alone give the lowest rate.
            (None, Some(_), Some(_)) => {}
            (None, ..) => builder = builder.target_fpp(DEFAULT_FPP),
        }
        Ok(builder)
    }
}

/// The sizes in bits per key that have a name.
fn preset() -> impl TypedValueParser<Value = Preset> {
    let of = |bits: String| match &*bits {
        "4" => Preset::Bits4,
        "8" => Preset::Bits8,
        "16" => Preset::Bits16,
        _ => Preset::Bits32,
    };
    PossibleValuesParser::new(["4", "8", "16", "32"]).map(of)
}
