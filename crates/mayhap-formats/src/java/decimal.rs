//! `Double.toString` and `BigDecimal.toPlainString`.

/// `Double.toString`: at least one digit behind the point, an exponent below 10^−3 and from 10^7
/// on.
pub(crate) fn double_to_string(x: f64) -> String {
    if x.is_nan() {
        return "NaN".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if x == 0.0 || (1e-3..1e7).contains(&x.abs()) {
        return format!("{x:?}");
    }
    let shortest = format!("{x:e}");
    let (digits, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    if digits.contains('.') {
        return format!("{digits}E{exponent}");
    }
    // Java writes at least two digits and, where it matters (for the smallest numbers), the nearest
    // two.
    format!("{x:.1e}").replace('e', "E")
}

/// `BigDecimal.valueOf(x).toPlainString()`: the digits of [`double_to_string`] without an exponent.
pub(crate) fn double_to_plain_string(x: f64) -> String {
    let text = double_to_string(x);
    let Some((digits, exponent)) = text.split_once('E') else { return text };
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    // One digit is before the point, so the point follows this many digits.
    let before = 1 + exponent.parse::<i32>().unwrap_or_default();
    let digits = format!("{whole}{fraction}");
    match usize::try_from(before) {
        Ok(before) if before >= digits.len() => format!("{sign}{digits:0<before$}"),
        Ok(before @ 1..) => {
            let (whole, fraction) = digits.split_at(before);
            format!("{sign}{whole}.{fraction}")
        }
        _ => format!("{sign}0.{}{digits}", "0".repeat(before.unsigned_abs() as usize)),
    }
}

#[cfg(test)]
mod tests {
    use super::{double_to_plain_string, double_to_string};

    #[test]
    fn doubles_are_written_as_by_java() {
        // Printed by a JVM of version 17.
        for (x, text, plain) in [
            (0.0, "0.0", "0.0"),
            (1.0, "1.0", "1.0"),
            (0.03, "0.03", "0.03"),
            (0.001, "0.001", "0.001"),
            (1e-4, "1.0E-4", "0.00010"),
            (0.00012, "1.2E-4", "0.00012"),
            (1.5e-7, "1.5E-7", "0.00000015"),
            (9_999_999.5, "9999999.5", "9999999.5"),
            (1e7, "1.0E7", "10000000"),
            (1.25e8, "1.25E8", "125000000"),
            (1.234_567_89e7, "1.23456789E7", "12345678.9"),
            (-0.1, "-0.1", "-0.1"),
            (-2e-5, "-2.0E-5", "-0.000020"),
            (f64::NAN, "NaN", "NaN"),
        ] {
            assert_eq!(double_to_string(x), text);
            assert_eq!(double_to_plain_string(x), plain);
        }
        assert_eq!(double_to_string(5e-324), "4.9E-324");
    }
}
