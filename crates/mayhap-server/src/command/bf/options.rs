//! The options of `BF.RESERVE` and `BF.INSERT`: from words to a reservation.
//!
//! Option words are strict: each has to be spelled out, and any other word is an error. The two
//! commands report the same mistake in their own texts, as in `RedisBloom`.

use crate::command::call::Fault;
use crate::command::number;
use crate::command::word::one_of;
use crate::config::Config;
use crate::reservation::{Contradiction, LAYOUT_NAMES, LAYOUTS, Named, Reservation, Window};
use mayhap_engine::Words;
use mayhap_engine::keyspace::MAX_EXPANSION;

/// The command whose error texts are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    Reserve,
    Insert,
}

impl For {
    /// One of two texts.
    const fn text(self, reserve: &'static str, insert: &'static str) -> &'static str {
        match self {
            Self::Reserve => reserve,
            Self::Insert => insert,
        }
    }
}

/// Takes one option that both commands have, with its value from `rest`.
///
/// `Ok(false)` if the word is no such option.
pub(super) fn take<'a>(
    reservation: &mut Reservation,
    word: &'a [u8],
    rest: &mut impl Iterator<Item = &'a [u8]>,
    of: For,
) -> Result<bool, Fault> {
    match &*word.to_ascii_lowercase() {
        b"nonscaling" => reservation.fixed = true,
        b"counting" => reservation.counting = true,
        b"norefresh" => reservation.refresh = false,
        b"clearat" => reservation.clear_at = Some(share(rest.next())?),
        b"expansion" => reservation.expansion = Some(expansion(rest.next(), of)?),
        b"tightening" => tightening(rest.next())?,
        b"seed" => {
            let seed = rest.next().and_then(|seed| seed.try_into().ok());
            reservation.seed = Some(seed.ok_or("ERR invalid seed")?);
        }
        b"validatescaleto" => {
            let keys = rest.next().and_then(number::count).filter(|&keys| keys > 0);
            reservation.scale_to = Some(keys.ok_or("ERR bad validatescaleto")?);
        }
        b"keyed" => reservation.keyed = Some(yes_or_no(rest.next())?),
        b"window" => reservation.window = Some(window(rest.next())?),
        b"layout" => reservation.layout = layout(rest.next())?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Checks the options together.
pub(super) fn finish(
    mut reservation: Reservation,
    config: &Config,
    of: For,
) -> Result<Reservation, Fault> {
    if of == For::Insert && reservation.fixed {
        // `RedisBloom` accepts any value with it, and the filter does not grow.
        reservation.expansion = None;
    }
    Ok(reservation.finish(config)?)
}

impl From<Contradiction> for Fault {
    fn from(why: Contradiction) -> Self {
        match why {
            Contradiction::FixedScaleTo => {
                "ERR cannot use NONSCALING and VALIDATESCALETO options together"
            }
            Contradiction::FixedExpansion => "Nonscaling filters cannot expand",
            Contradiction::KeyedSeed => "ERR SEED is for unkeyed filters; omit it, or add KEYED no",
            Contradiction::Kinds => {
                "ERR use one of COUNTING, WINDOW, CLEARAT, LAYOUT compact and NONSCALING"
            }
            Contradiction::NoWindow => "ERR NOREFRESH is for WINDOW filters",
            Contradiction::GrowingLayout => "ERR LAYOUT is for NONSCALING filters",
            Contradiction::ScaleTo => {
                "ERR provided VALIDATESCALETO causes bloom object to exceed memory limit"
            }
        }
        .into()
    }
}

/// The filter of `BF.RESERVE name rate capacity [options]`, before [`finish`].
pub(in crate::command) fn reserved(
    words: Words<'_>,
    config: &Config,
) -> Result<Reservation, Fault> {
    let mut reservation = Reservation::by_default(config);
    reservation.target_fpp = error_rate(words.get(2), For::Reserve)?;
    reservation.capacity = capacity(words.get(3), For::Reserve)?;
    let mut rest = words.from(4).iter();
    while let Some(word) = rest.next() {
        if !take(&mut reservation, word, &mut rest, For::Reserve)? {
            return Err("ERR unknown argument received".into());
        }
    }
    Ok(reservation)
}

/// `error` of a reserve or `ERROR` of an insert.
pub(super) fn error_rate(word: Option<&[u8]>, of: For) -> Result<f64, Fault> {
    const BAD: &str = "Bad error rate";
    let rate = word.and_then(number::real).ok_or(of.text("ERR bad error rate", BAD))?;
    if rate > 0.0 && rate < 1.0 {
        return Ok(rate);
    }
    Err(of.text("ERR error rate must be in the range (0.000000, 1.000000)", BAD).into())
}

/// `capacity` of a reserve or `CAPACITY` of an insert.
///
/// `RedisBloom` stops at 2^30. Here the memory limits decide, and their errors state the bound.
pub(super) fn capacity(word: Option<&[u8]>, of: For) -> Result<u64, Fault> {
    const BAD: &str = "Bad capacity";
    let number = word.and_then(number::integer).ok_or(of.text("ERR bad capacity", BAD))?;
    match u64::try_from(number) {
        Ok(keys @ 1..) => Ok(keys),
        _ => Err(of.text("ERR capacity must be in the range [1, 9223372036854775807]", BAD).into()),
    }
}

fn expansion(word: Option<&[u8]>, of: For) -> Result<u32, Fault> {
    const BAD: &str = "Bad expansion";
    let word = word.ok_or(of.text("ERR no expansion", BAD))?;
    let by = number::integer(word).ok_or(of.text("ERR bad expansion", BAD))?;
    match u32::try_from(by) {
        Ok(by @ 0..=MAX_EXPANSION) => Ok(by),
        _ => Err(of.text("ERR expansion must be in the range [0, 32768]", BAD).into()),
    }
}

/// Checked and not used: the layers of our filters share the promised rate in their own way.
fn tightening(word: Option<&[u8]>) -> Result<(), Fault> {
    let ratio = word.and_then(number::real).ok_or("ERR bad tightening ratio")?;
    if ratio > 0.0 && ratio < 1.0 {
        Ok(())
    } else {
        Err("ERR (0 < tightening ratio range < 1)".into())
    }
}

fn yes_or_no(word: Option<&[u8]>) -> Result<bool, Fault> {
    let found = word.and_then(|word| one_of(word, &[("yes", true), ("no", false)]));
    found.ok_or_else(|| "ERR KEYED must be yes or no".into())
}

/// A number of items, or a time.
fn window(word: Option<&[u8]>) -> Result<Window, Fault> {
    const BAD: &str = "ERR WINDOW must be a number of items or a time such as 90s, 30min, 12h, 7d";
    let word = word.ok_or(BAD)?;
    let window = match number::count(word) {
        Some(items) => Window::of_items(items),
        None => std::str::from_utf8(word).ok().and_then(Window::of_time),
    };
    window.ok_or_else(|| BAD.into())
}

/// A share of set bits.
fn share(word: Option<&[u8]>) -> Result<f64, Fault> {
    let share = word.and_then(number::real).filter(|&share| share > 0.0 && share <= 1.0);
    share
        .ok_or_else(|| "ERR CLEARAT must be a share of bits above 0, at most 1, such as 0.5".into())
}

/// A compact filter, or the layout of one that does not grow; the server chooses it for the others.
fn layout(word: Option<&[u8]>) -> Result<Named, Fault> {
    let found = word.and_then(|word| one_of(word, &LAYOUTS));
    found.ok_or_else(|| format!("ERR LAYOUT must be {LAYOUT_NAMES}").into())
}
