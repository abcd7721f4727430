//! Counts and probabilities in readable form.

/// A number of things, with its thousands apart: of one, in the singular.
///
/// # Examples
///
/// ```
/// use mayhap_units::number::counted;
///
/// assert_eq!(counted(1, "line"), "1 line");
/// assert_eq!(counted(2_000, "line"), "2,000 lines");
/// assert_eq!(counted(0, "key"), "0 keys");
/// ```
pub fn counted(number: u64, what: &str) -> String {
    format!("{} {}", grouped(number), noun(number, what))
}

/// Like [`counted`], with the number in short form.
///
/// # Examples
///
/// ```
/// use mayhap_units::number::counted_short;
///
/// assert_eq!(counted_short(1, "key"), "1 key");
/// assert_eq!(counted_short(2_000_000, "key"), "2.00M keys");
/// ```
pub fn counted_short(number: u64, what: &str) -> String {
    format!("{} {}", super::format_count(number), noun(number, what))
}

/// The noun in the singular or plural, for a number that is written separately.
///
/// # Examples
///
/// ```
/// use mayhap_units::number::noun;
///
/// assert_eq!((noun(1, "key").as_str(), noun(0, "key").as_str()), ("key", "keys"));
/// ```
pub fn noun(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{what}{plural}")
}

/// Writes a count with all its digits.
///
/// ```
/// assert_eq!(mayhap_units::number::grouped(1_234_567), "1,234,567");
/// ```
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes a probability: in percent down to 0.1 %, else with two digits.
///
/// ```
/// use mayhap_units::number::format_fpp;
/// assert_eq!(format_fpp(0.012), "1.2 %");
/// assert_eq!(format_fpp(9.8e-5), "9.8e-5");
/// // Only certainty is 100 %.
/// assert_eq!(format_fpp(0.999_999), "99.999 %");
/// ```
pub fn format_fpp(fpp: f64) -> String {
    // From the value that three digits round to 0.1 %.
    if fpp == 0.0 || fpp >= 0.000_999_5 {
        let percent = if fpp < 1.0 { (fpp * 100.0).min(99.999) } else { fpp * 100.0 };
        let text = format!("{percent:.3}");
        format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
    } else {
        format!("{fpp:.1e}").replace(".0e", "e")
    }
}
