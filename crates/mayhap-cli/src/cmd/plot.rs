//! `mayhap plot`: the rate models as pictures.

use crate::error::Error;
use crate::io::messages::Reporter;
use crate::io::output::Output;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mayhap::Layout;
use mayhap_plan::Known;
use mayhap_plan::plot::{Plot, page};
use mayhap_sets::LayoutName;
use mayhap_units::number::{parse_count, parse_fpp, parse_whole};
use std::path::{Path, PathBuf};

/// Plot the rate models as SVG, or as HTML if the file is named so
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The plot
    #[arg(value_name = "WHAT", value_parser = plots())]
    what: Plot,
    /// Distinct keys, for size and hashes
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = parse_count,
          help_heading = "Numbers")]
    items: Option<u64>,
    /// Bits of the filter, for fpp and hashes
    #[arg(short = 'm', long, value_name = "COUNT", value_parser = parse_count,
          help_heading = "Numbers")]
    bits: Option<u64>,
    /// Bits that a key sets, for fpp and size [default: several]
    #[arg(short = 'k', long, value_name = "COUNT", value_parser = parse_whole::<u32>,
          help_heading = "Numbers")]
    hashes: Option<u32>,
    /// A line at this rate, for fpp, size and hashes
    #[arg(short = 'p', long, value_name = "RATE", value_parser = parse_fpp,
          help_heading = "Numbers")]
    fpp: Option<f64>,
    /// standard or blocked, for fpp, size and hashes [default: standard]
    #[arg(long, value_name = "LAYOUT", value_parser = LayoutName::parse,
          help_heading = "Numbers")]
    layout: Option<LayoutName>,
    /// Write the picture to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "output")]
    force: bool,
}

/// The pictures by their names, with what each shows.
fn plots() -> impl TypedValueParser<Value = Plot> {
    let name = |plot: Plot| PossibleValue::new(plot.name()).help(about(plot));
    PossibleValuesParser::new(Plot::ALL.map(name)).try_map(|name| {
        Plot::ALL.into_iter().find(|plot| plot.name() == name).ok_or("unknown plot")
    })
}

/// The caption of a picture.
fn about(plot: Plot) -> &'static str {
    match plot {
        Plot::Fpp => "The rate against the number of keys, for several k, in 1 MiB or -m bits",
        Plot::Size => "The rate against the bits, for several k, with a million or -n keys",
        Plot::Hashes => "The rate against k, for several sizes or -m bits",
        Plot::Bits => "Bits per key against the rate, for every kind of filter",
        Plot::Overfill => "The rate of filters with up to 10 times the keys they were created for",
    }
}

/// Refuses a name that promises another kind of picture.
fn refuse_other_pictures(path: &Path) -> Result<(), Error> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let others = ["gif", "jpeg", "jpg", "pdf", "png", "ps", "webp"];
    if others.contains(&&*ending.to_ascii_lowercase()) {
        return Err(Error::usage(
            format!("{} would be {ending}, but plots are SVG or HTML", path.display()),
            "name it .svg, or .html for a page; a browser saves either as a picture",
        ));
    }
    Ok(())
}

/// Runs the verb.
///
/// # Errors
///
/// Any of [`Error`].
pub fn run(args: &Args, _: Reporter) -> Result<(), Error> {
    if let Some(path) = &args.output {
        refuse_other_pictures(path)?;
    }
    let mut picture = match args.given()? {
        Some(given) => args.what.svg_of(&given).map_err(|source| {
            let hint = "for example: mayhap plot fpp -m 8M -k 7 -p 1% -o fpp.svg";
            Error::Number { doing: "draw", source, hint }
        })?,
        None => args.what.svg()?,
    };
    let is_page = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "html");
    if args.output.as_ref().is_some_and(is_page) {
        picture = page(&picture);
    }
    let mut output = match args.output.as_deref().filter(|path| *path != Path::new("-")) {
        Some(path) => Output::create(path, args.force, &[])?,
        None => Output::stdout(&[])?,
    };
    output.write(picture.as_bytes())?;
    output.flush()
}

impl Args {
    /// The numbers, if any is given.
    fn given(&self) -> Result<Option<Known>, Error> {
        let plot = self.what;
        let taken = match plot {
            Plot::Fpp => "mpk",
            Plot::Size => "npk",
            Plot::Hashes => "nmp",
            Plot::Bits | Plot::Overfill => "",
        };
        let numbers = [
            ('n', self.items.is_some()),
            ('m', self.bits.is_some()),
            ('p', self.fpp.is_some()),
            ('k', self.hashes.is_some()),
        ];
        let is_other = |(name, is_given): &(char, bool)| *is_given && !taken.contains(*name);
        if let Some((name, _)) = numbers.into_iter().find(is_other) {
            return Err(Error::usage(
                format!("-{name} changes nothing in the picture {}", plot.name()),
                "fpp is drawn over n and takes -m, -k and -p; size over m, and takes -n, -k and \
                 -p; hashes over k, and takes -n, -m and -p",
            ));
        }
        let layout = match self.layout {
            None => Layout::Standard,
            Some(name) => name.layout().filter(|_| !taken.is_empty()).ok_or_else(|| {
                Error::usage(
                    format!("--layout {name} is none of the picture {}", plot.name()),
                    "there are standard and blocked, for fpp, size and hashes",
                )
            })?,
        };
        let is_given = self.layout.is_some() || numbers.into_iter().any(|(_, is_given)| is_given);
        Ok(is_given.then_some(Known {
            layout,
            items: self.items,
            num_bits: self.bits,
            num_hashes: self.hashes,
            target_fpp: self.fpp,
        }))
    }
}
