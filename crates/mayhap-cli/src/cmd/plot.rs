//! `mayhap plot`: the rate models as pictures.

use crate::error::Error;
use crate::io::output::Output;
use crate::outcome::Outcome;
use clap::builder::PossibleValue;
use mayhap::Layout;
use mayhap_plot::{Given, Plot, page};
use mayhap_sets::LayoutName;
use mayhap_units::number::{parse_count, parse_fpp, parse_whole};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  mayhap plot fpp -o fpp.svg        # the rate against the number of keys
  mayhap plot fpp -m 20 -k 3 -o 20.svg       # the same for 20 bits and k = 3
  mayhap plot size -n 10M -p 1% -o size.svg  # the rate against the bits
  mayhap plot hashes -o hashes.svg  # the rate against k
  mayhap plot bits -o bits.svg      # the cost of each kind of filter
  mayhap plot bits -o bits.html     # the same as a page for a browser
  mayhap plot overfill > over.svg   # the effect of too many keys";

/// Plot the rate models as SVG, or as HTML if the file is named so
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub struct Args {
    /// The plot
    #[arg(value_enum, value_name = "WHAT")]
    what: What,
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

/// A picture as it is named on the command line.
#[derive(Debug, Clone, Copy)]
struct What(Plot);

impl clap::ValueEnum for What {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [What; Plot::ALL.len()] = [
            What(Plot::ALL[0]),
            What(Plot::ALL[1]),
            What(Plot::ALL[2]),
            What(Plot::ALL[3]),
            What(Plot::ALL[4]),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.about()))
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
pub fn run(args: &Args) -> Result<Outcome, Error> {
    if let Some(path) = &args.output {
        refuse_other_pictures(path)?;
    }
    let mut picture = match args.given()? {
        Some(given) => args.what.0.svg_of(&given).map_err(|source| {
            let hint = "for example: mayhap plot fpp -m 8M -k 7 -p 1% -o fpp.svg";
            Error::Number { doing: "draw", source, hint }
        })?,
        None => args.what.0.svg()?,
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
    output.flush()?;
    Ok(Outcome::Done)
}

impl Args {
    /// The numbers, if any is given.
    fn given(&self) -> Result<Option<Given>, Error> {
        let plot = self.what.0;
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
        Ok(is_given.then_some(Given {
            layout,
            items: self.items,
            num_bits: self.bits,
            num_hashes: self.hashes,
            target_fpp: self.fpp,
        }))
    }
}
