//! The arguments of new filters: `BF.RESERVE` and `BF.INSERT`.

use super::dialect::Dialect;

/// The range of `EXPANSION` in `RedisBloom`, and of a capacity.
const MOST_EXPANSION: i64 = 32_768;
const MOST_CAPACITY: u64 = 1 << 30;

/// A filter to create.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reservation {
    pub(super) error_rate: f64,
    pub(super) capacity: u64,
    /// `None` for a filter that does not grow.
    pub(super) expansion: Option<u32>,
}

/// The error in arguments.
#[derive(Debug)]
pub(super) enum Bad {
    /// There are too few, or too many.
    Arity,
    /// Another error, in the words of the server.
    Words(String),
}

impl From<&str> for Bad {
    fn from(words: &str) -> Self {
        Self::Words(words.into())
    }
}

impl Default for Reservation {
    /// The default of both servers.
    fn default() -> Self {
        Self { error_rate: 0.01, capacity: 100, expansion: Some(2) }
    }
}

/// `BF.INSERT` after the name of the filter.
#[derive(Debug)]
pub(super) struct Insertion<'a> {
    pub(super) reservation: Reservation,
    /// `NOCREATE`: only into an existing filter.
    pub(super) only_there: bool,
    pub(super) items: &'a [Vec<u8>],
}

impl Reservation {
    /// The words of `BF.RESERVE` after the name of the filter.
    pub(super) fn parse(dialect: Dialect, words: &[Vec<u8>]) -> Result<Self, Bad> {
        let [error_rate, capacity, options @ ..] = words else { return Err(Bad::Arity) };
        let error_rate: f64 = number(error_rate).ok_or("ERR bad error rate")?;
        let mut reservation = Self { error_rate, ..Self::default() };
        match dialect {
            Dialect::RedisBloom => {
                let capacity: i64 = number(capacity).ok_or("ERR bad capacity")?;
                // Numbers out of range are refused when the filter is created.
                reservation.capacity = u64::try_from(capacity).unwrap_or(0);
                reservation.with_options(options)
            }
            Dialect::Valkey => {
                if !is_rate(error_rate) {
                    return Err("ERR (0 < error rate range < 1)".into());
                }
                reservation.capacity = valkey_capacity(capacity)?;
                reservation.with_option(options)
            }
        }
    }

    /// `RedisBloom` looks for known words, and ignores others.
    fn with_options(mut self, options: &[Vec<u8>]) -> Result<Self, Bad> {
        if options.len() > 3 {
            return Err(Bad::Arity);
        }
        let at = |word: &str| options.iter().position(|option| is(option, word));
        let mut expansion = None;
        if let Some(i) = at("EXPANSION") {
            let times: i64 =
                number(options.get(i + 1).ok_or("ERR no expansion")?).ok_or("ERR bad expansion")?;
            if !(0..=MOST_EXPANSION).contains(&times) {
                return Err("ERR expansion must be in the range [0, 32768]".into());
            }
            self.expansion = Some(times as u32).filter(|&times| times > 0);
            expansion = self.expansion;
        }
        if at("NONSCALING").is_some() {
            if expansion.is_some() {
                return Err("Nonscaling filters cannot expand".into());
            }
            self.expansion = None;
        }
        Ok(self)
    }

    /// Parses one option of valkey-bloom.
    fn with_option(mut self, options: &[Vec<u8>]) -> Result<Self, Bad> {
        match options {
            [] => {}
            [word] if is(word, "NONSCALING") => self.expansion = None,
            [word, times] if is(word, "EXPANSION") => {
                let times = number(times).filter(|&times| times > 0);
                self.expansion = Some(times.ok_or("ERR bad expansion")?);
            }
            [_, _, _, ..] => return Err(Bad::Arity),
            [word, _] if is(word, "NONSCALING") => return Err(Bad::Arity),
            _ => return Err("ERROR".into()),
        }
        Ok(self)
    }
}

impl<'a> Insertion<'a> {
    /// The words of `BF.INSERT` after the name of the filter.
    pub(super) fn parse(dialect: Dialect, words: &'a [Vec<u8>]) -> Result<Self, Bad> {
        let valkey = dialect == Dialect::Valkey;
        // RedisBloom omits the error code here.
        let bad =
            |what: &str| Bad::Words(format!("{} {what}", if valkey { "ERR bad" } else { "Bad" }));
        let mut made = Reservation::default();
        let (mut only_there, mut rest) = (false, words);
        while let [word, after @ ..] = rest {
            if is(word, "ITEMS") && !after.is_empty() {
                return Ok(Self { reservation: made, only_there, items: after });
            }
            rest = after;
            if is(word, "NOCREATE") {
                only_there = true;
                continue;
            }
            if is(word, "NONSCALING") {
                made.expansion = None;
                continue;
            }
            let [value, after @ ..] = rest else { return Err(Bad::Arity) };
            rest = after;
            if is(word, "CAPACITY") && valkey {
                made.capacity = valkey_capacity(value)?;
            } else if is(word, "CAPACITY") {
                let capacity = number(value).filter(|n| (1..=MOST_CAPACITY).contains(n));
                made.capacity = capacity.ok_or_else(|| bad("capacity"))?;
            } else if is(word, "ERROR") {
                let rate = number(value).filter(|&rate| is_rate(rate));
                made.error_rate = rate.ok_or_else(|| bad("error rate"))?;
            } else if is(word, "EXPANSION") {
                let times: u32 = number(value).ok_or_else(|| bad("expansion"))?;
                if valkey && times == 0 {
                    return Err(bad("expansion"));
                }
                made.expansion = Some(times).filter(|&times| times > 0);
            } else if valkey {
                return Err("ERR unknown argument received".into());
            } else {
                return Err("Unknown argument received".into());
            }
        }
        // Without items valkey-bloom creates an empty filter.
        if valkey {
            Ok(Self { reservation: made, only_there, items: &[] })
        } else {
            Err(Bad::Arity)
        }
    }
}

/// Whether a word equals this one, ignoring case.
pub(super) fn is(word: &[u8], name: &str) -> bool {
    word.eq_ignore_ascii_case(name.as_bytes())
}

/// A number, if it is one.
pub(super) fn number<N: std::str::FromStr>(word: &[u8]) -> Option<N> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

fn is_rate(rate: f64) -> bool {
    rate > 0.0 && rate < 1.0
}

fn valkey_capacity(word: &[u8]) -> Result<u64, Bad> {
    match number(word) {
        None => Err("ERR bad capacity".into()),
        Some(0) => Err("ERR (capacity should be larger than 0)".into()),
        Some(capacity) => Ok(capacity),
    }
}
