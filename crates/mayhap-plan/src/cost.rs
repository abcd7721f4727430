//! Costs as users type them: `10ms`, `0.5us`, or a plain number of any unit.

/// Units of time and their seconds, the longest first.
const UNITS: [(&str, f64); 6] =
    [("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("ns", 1e-9)];

/// The cost of something.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// Seconds.
    Seconds(f64),
    /// A number in a unit that only the user knows: requests, cents.
    Plain(f64),
}

/// A text that is no [`Amount`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write a time, 10ms, 0.5us, 80ns (min, s, ms, us, ns), or a plain number from 0")]
pub struct NotAnAmount;

impl Amount {
    /// Reads a number, with a unit of time or without.
    ///
    /// # Errors
    ///
    /// [`NotAnAmount`], with the right forms.
    ///
    /// ```
    /// use mayhap_plan::Amount;
    /// assert_eq!(Amount::parse("10ms"), Ok(Amount::Seconds(0.01)));
    /// assert_eq!(Amount::parse("2.5"), Ok(Amount::Plain(2.5)));
    /// assert!(Amount::parse("10 parsecs").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, NotAnAmount> {
        let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(at);
        let unit = unit.trim_start();
        let seconds = UNITS.into_iter().find(|(name, _)| *name == unit);
        let amount = match (number.parse::<f64>(), seconds) {
            (Ok(number), Some((_, seconds))) => Some(Self::Seconds(number * seconds)),
            (Ok(number), None) if unit.is_empty() => Some(Self::Plain(number)),
            _ => None,
        };
        amount.ok_or(NotAnAmount)
    }

    /// The number, in seconds or in the user's unit.
    pub fn number(self) -> f64 {
        match self {
            Self::Seconds(number) | Self::Plain(number) => number,
        }
    }

    /// Another number of the same unit.
    #[must_use]
    pub fn with(self, number: f64) -> Self {
        match self {
            Self::Seconds(_) => Self::Seconds(number),
            Self::Plain(_) => Self::Plain(number),
        }
    }

    /// Whether both are times, or both plain numbers, so that they can be compared.
    pub fn has_unit_of(self, other: Self) -> bool {
        matches!(self, Self::Seconds(_)) == matches!(other, Self::Seconds(_))
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (number, unit) = match *self {
            Self::Plain(number) => (number, String::new()),
            Self::Seconds(seconds) => {
                let fits = |(_, unit): &(&str, f64)| seconds >= *unit;
                let unit = UNITS.into_iter().skip(1).find(fits).unwrap_or(("ns", 1e-9));
                (seconds / unit.1, format!(" {}", unit.0))
            }
        };
        // Three digits are enough for an average.
        let decimals = if number == 0.0 { 0 } else { 2 - number.abs().log10().floor() as i32 };
        let text = format!("{number:.*}", usize::try_from(decimals.min(12)).unwrap_or(0));
        write!(f, "{}{unit}", without_zeros(&text))
    }
}

/// A decimal number without zeros at its end, behind the point.
pub(crate) fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::Amount;

    #[test]
    fn amounts_are_read_and_written_alike() {
        for text in ["10 ms", "1 us", "80 ns", "2.5 s", "0 ns", "2.5", "1000"] {
            assert_eq!(Amount::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Amount::parse("90min").unwrap().to_string(), "5400 s");
        for text in ["", "ms", "-1ms", "nan", "inf", "1e3", "1.2.3", "5 m", "1msx"] {
            assert!(Amount::parse(text).is_err(), "{text}");
        }
    }
}
