//! One scheme in another container: the bits stay, the file changes.
//!
//! A filter of one scheme cannot become one of another, since its keys are gone; [`TARGETS`] has
//! what can be done. A new container is a new row there.

use crate::error::Error;
use crate::file::ForeignFile;
use mayhap_formats::{
    Bits, BitsAndBloomsFilter, BitsAndBloomsForm, DcsoFilter, ForeignFilter, Format, GuavaFilter,
    GuavaFunnel, KeyType, MagnusFilter, SparkFilter,
};

/// A form that a filter can be written in.
#[derive(Debug, Clone, Copy)]
struct Target {
    name: &'static str,
    /// Formats whose filters it can hold.
    of: &'static [Format],
    write: fn(&ForeignFile) -> Result<Vec<u8>, Error>,
}

const MAGNUS: &[Format] = &[Format::MagnusS, Format::MagnusRedis];

/// All of them.
const TARGETS: &[Target] = &[
    Target {
        name: "bits-and-blooms",
        of: &[Format::BitsAndBlooms],
        write: |file| bits_and_blooms(file, BitsAndBloomsForm::Binary),
    },
    Target {
        name: "bits-and-blooms-json",
        of: &[Format::BitsAndBlooms],
        write: |file| bits_and_blooms(file, BitsAndBloomsForm::Json),
    },
    Target {
        name: "bits-and-blooms-gob",
        of: &[Format::BitsAndBlooms],
        write: |file| bits_and_blooms(file, BitsAndBloomsForm::Gob),
    },
    Target { name: "dcso", of: &[Format::Dcso], write: |file| dcso(file, false) },
    Target { name: "dcso-gzip", of: &[Format::Dcso], write: |file| dcso(file, true) },
    Target { name: "guava", of: &[Format::Guava], write: |file| Ok(guava(file)?.to_stream()) },
    Target { name: "guava-java", of: &[Format::Guava], write: guava_java },
    Target { name: "magnuss", of: MAGNUS, write: |file| Ok(short(magnus(file)?)) },
    Target {
        name: "magnuss-redis",
        of: MAGNUS,
        write: |file| Ok(short(magnus(file)?).into_iter().map(u8::reverse_bits).collect()),
    },
    Target {
        name: "spark",
        of: &[Format::Spark],
        write: |file| Ok(of::<SparkFilter>(file)?.to_stream()),
    },
];

/// The file's filter in the form of this name.
///
/// # Errors
///
/// [`Error::NoForm`] for another scheme, or for a name that is none; [`Error::OnlyRead`],
/// [`Error::NoFunnel`], [`Error::Format`].
pub fn convert(file: &ForeignFile, to: &str) -> Result<Vec<u8>, Error> {
    match TARGETS.iter().find(|target| target.name == to) {
        Some(target) if target.of.contains(&file.filter().format()) => (target.write)(file),
        _ => Err(no_form(file.name(), Some(file.filter().format()), to)),
    }
}

/// The forms that a filter of this format can be written in.
pub fn forms_of(format: Format) -> Vec<&'static str> {
    TARGETS.iter().filter(|it| it.of.contains(&format)).map(|target| target.name).collect()
}

/// The [`Error::NoForm`] of a filter, mayhap's own where it has no format.
pub fn no_form(name: &str, from: Option<Format>, to: &str) -> Error {
    let is_known = to == "mayhap"
        || TARGETS.iter().any(|target| target.name == to)
        || Format::from_name(to).is_some();
    Error::NoForm { name: name.to_owned(), from, to: to.to_owned(), is_known }
}

fn of<F: 'static>(file: &ForeignFile) -> Result<&F, Error> {
    let (name, format) = (file.name(), file.filter().format());
    let read_only = || Error::OnlyRead { name: name.to_owned(), format };
    file.filter().as_any().downcast_ref().ok_or_else(read_only)
}

fn guava(file: &ForeignFile) -> Result<&GuavaFilter, Error> {
    of(file)
}

fn bits_and_blooms(file: &ForeignFile, form: BitsAndBloomsForm) -> Result<Vec<u8>, Error> {
    let mut filter = of::<BitsAndBloomsFilter>(file)?.clone();
    filter.set_form(form);
    Ok(filter.encode())
}

fn dcso(file: &ForeignFile, compressed: bool) -> Result<Vec<u8>, Error> {
    let mut filter = of::<DcsoFilter>(file)?.clone();
    filter.set_compressed(compressed);
    Ok(filter.encode())
}

/// The funnel is that of the file, or the one whose keys are of the type given.
fn guava_java(file: &ForeignFile) -> Result<Vec<u8>, Error> {
    let filter = guava(file)?;
    let string = |charset: &str| GuavaFunnel::String { charset: charset.to_owned() };
    let funnel = match (filter.funnel(), file.given_key_type()) {
        (Some(funnel), _) => funnel.clone(),
        (None, Some(KeyType::Int)) => GuavaFunnel::Integer,
        (None, Some(KeyType::Long)) => GuavaFunnel::Long,
        (None, Some(KeyType::Utf16)) => GuavaFunnel::UnencodedChars,
        (None, Some(KeyType::Utf16Be)) => string("UTF-16BE"),
        (None, Some(KeyType::Utf16Bom)) => string("UTF-16"),
        (None, Some(KeyType::Hex)) => GuavaFunnel::ByteArray,
        (None, Some(KeyType::Bytes)) => string("UTF-8"),
        (None, Some(KeyType::Latin1)) => string("ISO-8859-1"),
        (None, Some(KeyType::Ascii)) => string("US-ASCII"),
        (None, _) => return Err(Error::NoFunnel { name: file.name().to_owned() }),
    };
    let name = file.name().to_owned();
    filter.to_serialized(&funnel).map_err(|source| Error::Format { name, source })
}

fn magnus(file: &ForeignFile) -> Result<&Bits, Error> {
    of::<MagnusFilter>(file).map(MagnusFilter::bits)
}

/// Without the zero bytes at the end, which neither Java nor Redis writes.
fn short(bits: &Bits) -> Vec<u8> {
    let mut bytes = bits.to_lsb_bytes();
    bytes.truncate(bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1));
    bytes
}
