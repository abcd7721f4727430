//! One scheme in another container: the bits stay, the file changes.
//!
//! A filter of one scheme cannot become one of another, since its keys are gone; [`TARGETS`] has
//! what can be done. A new container is a new row there.

use super::error::Error;
use super::foreign_file::ForeignFile;
use mayhap_formats::{
    Bits, BitsAndBloomsFilter, BitsAndBloomsForm, DcsoFilter, ForeignFilter, Format, GuavaFilter,
    GuavaFunnel, KeyType, MagnusFilter, SparkFilter,
};

/// The forms that a filter can be written in, with the formats whose filters each can hold, and
/// how it is written.
const TARGETS: &[(&str, &[Format], Write)] = &[
    ("bits-and-blooms", BITS_AND_BLOOMS, |file| bits_and_blooms(file, BitsAndBloomsForm::Binary)),
    ("bits-and-blooms-json", BITS_AND_BLOOMS, |file| {
        bits_and_blooms(file, BitsAndBloomsForm::Json)
    }),
    ("bits-and-blooms-gob", BITS_AND_BLOOMS, |file| bits_and_blooms(file, BitsAndBloomsForm::Gob)),
    ("dcso", &[Format::Dcso], |file| dcso(file, false)),
    ("dcso-gzip", &[Format::Dcso], |file| dcso(file, true)),
    ("guava", &[Format::Guava], |file| Ok(guava(file)?.to_stream())),
    ("guava-java", &[Format::Guava], guava_java),
    ("magnuss", MAGNUS, |file| Ok(short(magnus(file)?))),
    ("magnuss-redis", MAGNUS, |file| {
        Ok(short(magnus(file)?).into_iter().map(u8::reverse_bits).collect())
    }),
    ("spark", &[Format::Spark], |file| Ok(of::<SparkFilter>(file)?.to_stream())),
];

const BITS_AND_BLOOMS: &[Format] = &[Format::BitsAndBlooms];
const MAGNUS: &[Format] = &[Format::MagnusS, Format::MagnusRedis];

type Write = fn(&ForeignFile) -> Result<Vec<u8>, Error>;

/// The file's filter in the form of this name.
///
/// # Errors
///
/// [`Error::NoForm`] for another scheme, or for a name that is none; [`Error::OnlyRead`],
/// [`Error::NoFunnel`], [`Error::Format`].
pub fn convert(file: &ForeignFile, to: &str) -> Result<Vec<u8>, Error> {
    match TARGETS.iter().find(|(name, ..)| *name == to) {
        Some((_, of, write)) if of.contains(&file.filter().format()) => write(file),
        _ => Err(no_form(file.name(), Some(file.filter().format()), to)),
    }
}

/// The forms that a filter of this format can be written in.
pub fn forms_of(format: Format) -> Vec<&'static str> {
    TARGETS.iter().filter(|(_, of, _)| of.contains(&format)).map(|(name, ..)| *name).collect()
}

/// The [`Error::NoForm`] of a filter, mayhap's own where it has no format.
pub fn no_form(name: &str, from: Option<Format>, to: &str) -> Error {
    let is_known = to == "mayhap"
        || TARGETS.iter().any(|(name, ..)| *name == to)
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
