//! Numbers in and out.

/// The median: the middle value, or the mean of the two middle ones. NaN if there are none.
pub fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

/// Reads `10k`, `1M`, `5_000`, `2G`.
///
/// # Errors
///
/// A message for the user.
pub fn parse_count(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(['k', 'K', 'M', 'G']);
    let factor = match &text[digits.len()..] {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        _ => return Err(format!("{text} is no count; write 10k, 1M or 2G")),
    };
    let number: Option<u64> = digits.replace('_', "").parse().ok();
    number
        .and_then(|number| number.checked_mul(factor))
        .filter(|&count| count > 0)
        .ok_or_else(|| format!("{text} is no count; write 10k, 1M or 2G"))
}

/// `10k`, `1M`, `2G` where that is exact.
pub fn format_count(count: u64) -> String {
    for (factor, unit) in [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")] {
        if count.is_multiple_of(factor) {
            let number = count / factor;
            return format!("{number}{unit}");
        }
    }
    count.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 100.0]), 3.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 100.0]), 3.0);
        assert!(median(vec![]).is_nan());
    }

    #[test]
    fn counts_are_read_and_written() {
        for (text, count) in [("10k", 10_000), ("1M", 1_000_000), ("2G", 2_000_000_000), ("7", 7)] {
            assert_eq!(parse_count(text), Ok(count));
            assert_eq!(format_count(count), text);
        }
        for text in ["", "k", "0", "-1", "1kM", "1.5M", "99999999999G"] {
            assert!(parse_count(text).is_err(), "{text}");
        }
    }
}
