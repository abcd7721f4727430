//! The options of `BF.RESERVE` and `BF.INSERT`: from words to a reservation.
//!
//! Option words are strict: each stands for itself and not for what begins like it, and what is no
//! option is an error. The two commands have their own texts for one mistake, as `RedisBloom` has.

use crate::command::call::Fault;
use crate::command::number;
use crate::command::word::one_of;
use crate::config::Config;
use crate::keyspace::{Hash, Shape, Spec};
use mayhap::{DigestFunction, Layout};
use mayhap_units::span::parse_millis;

/// What `RedisBloom` takes as `EXPANSION`.
const MAX_EXPANSION: u64 = 32_768;
/// The bytes of a valkey-bloom seed.
const SEED_BYTES: usize = 32;

/// What a filter is to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reservation {
    pub(super) capacity: u64,
    pub(super) error: f64,
    /// `None` unless said.
    pub(super) expansion: Option<u32>,
    pub(super) fixed: bool,
    /// `VALIDATESCALETO`: keys that it must be able to grow to.
    pub(super) scale_to: Option<u64>,
    /// `SEED`: the digest seed of a filter that is not keyed.
    pub(super) seed: Option<[u8; SEED_BYTES]>,
    pub(super) keyed: Option<bool>,
    pub(super) counting: bool,
    pub(super) window: Option<Window>,
    /// `None` where the server chooses.
    pub(super) layout: Option<Layout>,
}

/// What a window holds: the last keys, or those of the last time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Window {
    Items(u64),
    Millis(u64),
}

/// The command whose texts are used.
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

/// The options of both commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Expansion,
    NonScaling,
    Tightening,
    Seed,
    ScaleTo,
    Keyed,
    Counting,
    Window,
    Layout,
}

const OPTIONS: [(&str, Name); 9] = [
    ("expansion", Name::Expansion),
    ("nonscaling", Name::NonScaling),
    ("tightening", Name::Tightening),
    ("seed", Name::Seed),
    ("validatescaleto", Name::ScaleTo),
    ("keyed", Name::Keyed),
    ("counting", Name::Counting),
    ("window", Name::Window),
    ("layout", Name::Layout),
];

impl Reservation {
    /// What a filter is that is made by an add.
    pub(super) fn by_default(config: &Config) -> Self {
        Self {
            capacity: config.default_capacity,
            error: config.default_error,
            expansion: None,
            fixed: false,
            scale_to: None,
            seed: None,
            keyed: None,
            counting: false,
            window: None,
            layout: None,
        }
    }

    /// Takes one option that both commands have, with its value from `rest`.
    ///
    /// `Ok(false)` if the word is none of them.
    pub(super) fn take<'a>(
        &mut self,
        word: &'a [u8],
        rest: &mut impl Iterator<Item = &'a [u8]>,
        of: For,
    ) -> Result<bool, Fault> {
        let Some(option) = one_of(word, &OPTIONS) else {
            return Ok(false);
        };
        match option {
            Name::NonScaling => self.fixed = true,
            Name::Counting => self.counting = true,
            Name::Expansion => self.expansion = Some(expansion(rest.next(), of)?),
            Name::Tightening => tightening(rest.next())?,
            Name::Seed => {
                let seed = rest.next().and_then(|seed| seed.try_into().ok());
                self.seed = Some(seed.ok_or("ERR invalid seed")?);
            }
            Name::ScaleTo => {
                let keys = rest.next().and_then(number::count).filter(|&keys| keys > 0);
                self.scale_to = Some(keys.ok_or("ERR bad validatescaleto")?);
            }
            Name::Keyed => self.keyed = Some(yes_or_no(rest.next())?),
            Name::Window => self.window = Some(window(rest.next())?),
            Name::Layout => self.layout = layout(rest.next())?,
        }
        Ok(true)
    }

    /// Looks at the options together.
    pub(super) fn finish(mut self, config: &Config, of: For) -> Result<Self, Fault> {
        if self.fixed && self.scale_to.is_some() {
            return Err("ERR cannot use NONSCALING and VALIDATESCALETO options together".into());
        }
        if of == For::Reserve && self.fixed && self.expansion.is_some_and(|by| by > 0) {
            return Err("Nonscaling filters cannot expand".into());
        }
        if self.seed.is_some() && self.keyed == Some(true) {
            let text = "ERR SEED is for unkeyed filters; omit it, or add KEYED no";
            return Err(text.into());
        }
        let shapes = [self.counting, self.window.is_some(), self.fixed];
        if shapes.iter().filter(|&&is| is).count() > 1 {
            return Err("ERR use one of COUNTING, WINDOW and NONSCALING".into());
        }
        self.fixed |= self.expansion.unwrap_or(config.default_expansion) == 0;
        if self.layout.is_some() && !self.fixed {
            return Err("ERR LAYOUT is for NONSCALING filters".into());
        }
        Ok(self)
    }

    /// What the keyspace is to create.
    pub(super) fn spec(&self, config: &Config) -> Spec {
        let &Self { capacity, error, layout, .. } = self;
        let shape = match self.window {
            Some(Window::Items(items)) => Shape::Window { items, time_ms: 0, error },
            Some(Window::Millis(time_ms)) => Shape::Window { items: capacity, time_ms, error },
            None if self.counting => Shape::Counting { capacity, error },
            None if self.fixed => Shape::Fixed { capacity, error, layout },
            None => {
                let expansion = self.expansion.unwrap_or(config.default_expansion);
                Shape::Growing { capacity, error, expansion }
            }
        };
        let hash = match (&self.seed, self.keyed) {
            // valkey-bloom's 32 bytes become the 64 bits that seed a digest which is not keyed.
            (Some(seed), _) => Hash::Plain { seed: DigestFunction::xxh3(0).digest(seed).get() },
            (None, Some(false)) => Hash::Plain { seed: 0 },
            (None, _) => Hash::Keyed,
        };
        Spec { shape, hash }
    }
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
/// `RedisBloom` ends at 2^30. Here the limits of memory decide, which say what they are.
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
    match u64::try_from(by) {
        Ok(by @ 0..=MAX_EXPANSION) => Ok(by as u32),
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

/// A number of items, or a time in the grammar of all settings. `30m` is neither: elsewhere it
/// would be 30 million.
fn window(word: Option<&[u8]>) -> Result<Window, Fault> {
    const BAD: &str = "ERR WINDOW must be a number of items or a time such as 90s, 30min, 12h, 7d";
    let word = word.ok_or(BAD)?;
    let window = if let Some(items) = number::count(word) {
        (items > 0).then_some(Window::Items(items))
    } else {
        let millis = std::str::from_utf8(word).ok().and_then(parse_millis);
        millis.filter(|&millis| millis > 0).map(Window::Millis)
    };
    window.ok_or_else(|| BAD.into())
}

/// What a filter that does not grow is made of; the server chooses where it may.
fn layout(word: Option<&[u8]>) -> Result<Option<Layout>, Fault> {
    let layouts =
        [("auto", None), ("blocked", Some(Layout::Blocked)), ("standard", Some(Layout::Standard))];
    let found = word.and_then(|word| one_of(word, &layouts));
    found.ok_or_else(|| "ERR LAYOUT must be auto, blocked or standard".into())
}
