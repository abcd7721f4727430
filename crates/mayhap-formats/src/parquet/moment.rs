//! Dates and times: their text, and their number.

use super::schema::Unit;

const DAY_SECONDS: i64 = 86_400;

/// The units of a second.
pub(super) fn per_second(unit: Unit) -> i64 {
    match unit {
        Unit::Millis => 1_000,
        Unit::Micros => 1_000_000,
        Unit::Nanos => 1_000_000_000,
    }
}

/// The reason why a text is no date or time of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoMoment {
    /// It has not the form of one.
    Form,
    /// It is finer than the column's unit.
    TooFine,
    /// It is outside of the column's range.
    Range,
}

/// A number of days since 1970: `2024-05-17`, `-0044-03-15`, `0045-03-15 (BC)`.
pub(super) fn date(text: &str) -> Result<i32, NoMoment> {
    let mut rest = text;
    let days = take_date(&mut rest)?;
    if !rest.is_empty() {
        return Err(NoMoment::Form);
    }
    i32::try_from(days).map_err(|_| NoMoment::Range)
}

/// The units since midnight and the offset from UTC in seconds, if there is one.
pub(super) fn time(text: &str, unit: Unit) -> Result<(i64, Option<i64>), NoMoment> {
    let mut rest = text;
    let time = take_time(&mut rest, unit)?;
    let offset = take_offset(&mut rest)?;
    if rest.is_empty() { Ok((time, offset)) } else { Err(NoMoment::Form) }
}

/// The units since 1970 and the offset from UTC in seconds, if there is one, which is subtracted:
/// `2024-05-17 10:20:30.5+02`, `2024-05-17T10:20Z`, `2024-05-17`.
pub(super) fn timestamp(text: &str, unit: Unit) -> Result<(i64, Option<i64>), NoMoment> {
    let mut rest = text;
    let days = take_date(&mut rest)?;
    let mut time = 0;
    if let Some(after) = rest.strip_prefix(['T', 't', ' ']) {
        rest = after;
        time = take_time(&mut rest, unit)?;
    }
    let offset = take_offset(&mut rest)?;
    if !rest.is_empty() {
        return Err(NoMoment::Form);
    }
    let seconds = i128::from(days) * i128::from(DAY_SECONDS) - i128::from(offset.unwrap_or(0));
    let units = seconds * i128::from(per_second(unit)) + i128::from(time);
    Ok((i64::try_from(units).map_err(|_| NoMoment::Range)?, offset))
}

/// A number of exactly `len` digits.
fn take_digits(rest: &mut &str, len: usize) -> Result<i64, NoMoment> {
    let digits = rest.get(..len).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let digits = digits.ok_or(NoMoment::Form)?;
    *rest = &rest[len..];
    digits.parse().map_err(|_| NoMoment::Range)
}

fn take(rest: &mut &str, mark: char) -> bool {
    let after = rest.strip_prefix(mark);
    *rest = after.unwrap_or(rest);
    after.is_some()
}

/// `DuckDB` writes ` (BC)` behind the date of a year before the first.
fn take_date(rest: &mut &str) -> Result<i64, NoMoment> {
    let is_negative = take(rest, '-');
    if !is_negative {
        take(rest, '+');
    }
    let len = rest.bytes().take_while(u8::is_ascii_digit).count();
    // No date of i64 milliseconds has more.
    if !(4..=9).contains(&len) {
        return Err(NoMoment::Form);
    }
    let year = take_digits(rest, len)?;
    let mut next = || if take(rest, '-') { take_digits(rest, 2) } else { Err(NoMoment::Form) };
    let (month, day) = (next()?, next()?);
    let after_era = rest.strip_prefix(" (BC)");
    *rest = after_era.unwrap_or(rest);
    // The year before the year 1 is 0, or 1 BC.
    let year = match (is_negative, after_era.is_some()) {
        (false, false) => year,
        (true, false) => -year,
        (false, true) if year > 0 => 1 - year,
        _ => return Err(NoMoment::Form),
    };
    if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return Err(NoMoment::Form);
    }
    Ok(days_since_1970(year, month, day))
}

fn take_time(rest: &mut &str, unit: Unit) -> Result<i64, NoMoment> {
    let hours = take_digits(rest, 2)?;
    if !take(rest, ':') {
        return Err(NoMoment::Form);
    }
    let minutes = take_digits(rest, 2)?;
    let seconds = if take(rest, ':') { take_digits(rest, 2)? } else { 0 };
    let fraction = if take(rest, '.') { take_fraction(rest, unit)? } else { 0 };
    let units = (hours * 3_600 + minutes * 60 + seconds) * per_second(unit) + fraction;
    // In DuckDB, 24:00 is a time of the day too.
    if minutes > 59 || seconds > 59 || units > DAY_SECONDS * per_second(unit) {
        return Err(NoMoment::Form);
    }
    Ok(units)
}

fn take_fraction(rest: &mut &str, unit: Unit) -> Result<i64, NoMoment> {
    let len = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, after) = rest.split_at(len);
    *rest = after;
    let (mut fraction, mut step) = (0, per_second(unit));
    for digit in digits.bytes().map(|byte| i64::from(byte - b'0')) {
        step /= 10;
        if step == 0 && digit > 0 {
            return Err(NoMoment::TooFine);
        }
        fraction += digit * step;
    }
    if digits.is_empty() { Err(NoMoment::Form) } else { Ok(fraction) }
}

/// `Z`, `+02`, `-0330`, `+05:30`, `+00:53:28`; seconds.
fn take_offset(rest: &mut &str) -> Result<Option<i64>, NoMoment> {
    if take(rest, 'Z') || take(rest, 'z') {
        return Ok(Some(0));
    }
    let sign = match (take(rest, '+'), rest.is_empty()) {
        (true, _) => 1,
        (false, true) => return Ok(None),
        (false, false) if take(rest, '-') => -1,
        _ => return Err(NoMoment::Form),
    };
    let mut offset = take_digits(rest, 2)? * 3_600;
    for seconds in [60, 1] {
        if !take(rest, ':') && rest.is_empty() {
            break;
        }
        let number = take_digits(rest, 2)?;
        if number > 59 {
            return Err(NoMoment::Form);
        }
        offset += number * seconds;
    }
    Ok(Some(sign * offset))
}

fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days of the years before this one, from the year 1 on; negative before it.
fn days_before(year: i64) -> i64 {
    let years = year - 1;
    years * 365 + years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400)
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let months: i64 = (1..month).map(|month| days_in(year, month)).sum();
    days_before(year) - days_before(1970) + months + day - 1
}

/// The text of a date, for dates of the years 1 to 9999.
pub(super) fn date_text(days: i64) -> String {
    // A year that is not too late.
    let mut year = 1970 + days.div_euclid(if days < 0 { 365 } else { 366 });
    while days >= days_before(year + 1) - days_before(1970) {
        year += 1;
    }
    let (mut month, mut left) = (1, days - days_since_1970(year, 1, 1));
    while left >= days_in(year, month) {
        left -= days_in(year, month);
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", left + 1)
}

/// The text of a time of day.
pub(super) fn time_text(units: i64, unit: Unit) -> String {
    let (seconds, fraction) = (units / per_second(unit), units % per_second(unit));
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let digits = per_second(unit).ilog10() as usize;
    format!("{hours:02}:{minutes:02}:{seconds:02}.{fraction:0digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-02-29", 11_016),
            ("2024-05-17", 19_860),
            ("0001-01-01", -719_162),
            ("0000-12-31", -719_163),
            ("0001-12-31 (BC)", -719_163),
            ("-0001-12-31", -719_529),
            ("9999-12-31", 2_932_896),
            ("+10000-01-01", 2_932_897),
            ("5881580-07-11", i32::MAX),
        ] {
            assert_eq!(date(text), Ok(days), "{text}");
        }
        assert_eq!(date("5881580-07-12"), Err(NoMoment::Range));
        for text in [
            "",
            "1970",
            "1970-1-1",
            "1970-13-01",
            "1970-00-01",
            "1970-01-00",
            "2023-02-29",
            "1900-02-29",
            "70-01-01",
            "1970-01-01 ",
            "1970-01-01x",
            "0000-01-01 (BC)",
            "1970/01/01",
            "x",
            "٢024-01-01",
        ] {
            assert_eq!(date(text), Err(NoMoment::Form), "{text}");
        }
    }

    #[test]
    fn texts_of_dates_are_read_back() {
        for days in (-719_162..2_932_896).step_by(97) {
            assert_eq!(date(&date_text(days)).map(i64::from), Ok(days));
        }
    }

    #[test]
    fn times_are_units() {
        let micros = |text: &str| time(text, Unit::Micros);
        for (text, units, offset) in [
            ("00:00", 0, None),
            ("10:20:30", 37_230_000_000, None),
            ("10:20:30.5", 37_230_500_000, None),
            ("10:20:30.500000000", 37_230_500_000, None),
            ("24:00:00", 86_400_000_000, None),
            ("10:20:30+02", 37_230_000_000, Some(7_200)),
            ("10:20:30-0330", 37_230_000_000, Some(-12_600)),
            ("10:20:30+00:53:28", 37_230_000_000, Some(3_208)),
            ("10:20:30Z", 37_230_000_000, Some(0)),
        ] {
            assert_eq!(micros(text), Ok((units, offset)), "{text}");
        }
        assert_eq!(micros("10:20:30.0000001"), Err(NoMoment::TooFine));
        for text in [
            "",
            "10",
            "10:60",
            "10:20:60",
            "24:00:01",
            "25:00",
            "1:02:03",
            "10:20:30.",
            "10:20:30+",
            "10:20:30+2",
            "10:20:30 ",
            "10:20:30+02:60",
            "10:20:30ZZ",
            "-1:00:00",
        ] {
            assert_eq!(micros(text), Err(NoMoment::Form), "{text}");
        }
        assert_eq!(time_text(37_230_500_000, Unit::Micros), "10:20:30.500000");
    }

    #[test]
    fn timestamps_are_units_since_1970() {
        let millis = |text: &str| timestamp(text, Unit::Millis);
        for (text, units, offset) in [
            ("1970-01-01", 0, None),
            ("1970-01-01 00:00:00.001", 1, None),
            ("1969-12-31T23:59:59.999Z", -1, Some(0)),
            ("1970-01-01T02:00:00+02:00", 0, Some(7_200)),
            ("2024-05-17 10:20", 1_715_941_200_000, None),
            ("0001-01-01 (BC) 00:00:00", -62_167_219_200_000, None),
        ] {
            assert_eq!(millis(text), Ok((units, offset)), "{text}");
        }
        assert_eq!(millis("1970-01-01 00:00:00.0001"), Err(NoMoment::TooFine));
        assert_eq!(timestamp("2263-01-01", Unit::Nanos), Err(NoMoment::Range));
        assert_eq!(millis("1970-01-01 "), Err(NoMoment::Form));
        assert_eq!(millis("1970-01-0112:00"), Err(NoMoment::Form));
    }
}
