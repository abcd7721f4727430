//! Text → the three number parsers of the command line.
//!
//! Oracles: a value that was read is read again from its plain and from its human form, within the
//! rounding that the human form promises; an error has a message of bounded length.
use mayhap_units::number::{
    NumberError, format_bytes, format_count, parse_bytes, parse_count, parse_fpp,
};

pub(super) fn run(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    match parse_count(text) {
        Ok(count) => {
            assert_eq!(parse_count(&count.to_string()), Ok(count));
            let human = parse_count(&format_count(count)).expect("a formatted count");
            assert!(close(human, count), "{count} became {human}");
        }
        Err(error) => check_message(&error),
    }
    match parse_bytes(text) {
        Ok(bytes) => {
            assert_eq!(parse_bytes(&bytes.to_string()), Ok(bytes));
            // 16.0 EiB is one byte more than there can be.
            if bytes <= 15 << 60 {
                let human = parse_bytes(&format_bytes(bytes)).expect("a formatted size");
                assert!(close(human, bytes), "{bytes} became {human}");
            }
        }
        Err(error) => check_message(&error),
    }
    match parse_fpp(text) {
        Ok(fpp) => {
            assert!(fpp > 0.0 && fpp < 1.0);
            assert_eq!(parse_fpp(&fpp.to_string()), Ok(fpp));
            assert_eq!(parse_fpp(&format!("{fpp:e}")), Ok(fpp));
        }
        Err(error) => check_message(&error),
    }
}

fn close(read: u64, value: u64) -> bool {
    // A size is also rounded down to a whole byte.
    read.abs_diff(value) as f64 <= 0.005 * value as f64 + 1.0
}

fn check_message(error: &NumberError) {
    let message = error.to_string();
    assert!(!message.is_empty() && message.len() < 2000, "{} bytes", message.len());
    assert!(!message.chars().any(char::is_control), "{message:?} would reach a terminal");
}
