//! The command that makes what was planned.

use mayhap::native::Kind;
use mayhap::plan::{Candidate, Needs};
use mayhap::sizing;
use mayhap_units::number::{parse_bytes, parse_count, parse_fpp};
use mayhap_units::span::write_millis;
use mayhap_units::window::WindowSize;

/// The shell command that makes this filter; `None` for kinds that the command line does not make.
///
/// `window` is what `--window` named.
pub fn recipe(needs: &Needs, best: &Candidate, window: Option<WindowSize>) -> Option<String> {
    let (items, fpp) = (exact_count(best.items), exact_fpp(best.target_fpp));
    let arguments = match best.kind.kind {
        Kind::Bloom => {
            let default = sizing::default_layout(best.items, best.target_fpp).ok();
            let named = needs.items.is_none() || needs.target_fpp.is_none();
            if !named && default == best.kind.layout {
                format!("-n {items} -p {fpp}")
            } else {
                format!("{} --layout {}", sized(needs, best), best.name())
            }
        }
        Kind::Counting => format!("{} --layout counting", sized(needs, best)),
        Kind::Scalable => format!("-n {items} -p {fpp} --layout scalable"),
        Kind::Window => match window {
            Some(WindowSize::Millis(millis)) => {
                format!("-n {items} -p {fpp} --layout window:{}", write_millis(millis))
            }
            _ => format!("-p {fpp} --layout window:{items}"),
        },
        Kind::Fuse => {
            return Some(format!("mayhap build -o seen.mayhap --layout fuse -p {fpp} keys.txt"));
        }
        _ => return None,
    };
    Some(format!("mayhap create seen.mayhap {arguments}"))
}

/// What two of n, p and memory were given, so that the third comes out alike.
fn sized(needs: &Needs, best: &Candidate) -> String {
    // As the planner rounds what one set gets.
    let memory = |bytes: u64| exact_bytes(bytes / needs.sets.max(1) / 64 * 64);
    match (needs.items, needs.target_fpp, needs.max_bytes) {
        (Some(items), None, Some(bytes)) => {
            format!("-n {} --mem {}", exact_count(items), memory(bytes))
        }
        (None, Some(fpp), Some(bytes)) => {
            format!("--mem {} -p {}", memory(bytes), exact_fpp(fpp))
        }
        _ => format!("-n {} -p {}", exact_count(best.items), exact_fpp(best.target_fpp)),
    }
}

/// A count in few characters that is read back exactly.
fn exact_count(count: u64) -> String {
    let units = [(1_000_000_000_000, "T"), (1_000_000_000, "B"), (1_000_000, "M"), (1_000, "k")];
    let unit = units.into_iter().find(|(unit, _)| count > 0 && count.is_multiple_of(*unit));
    let text = unit.map(|(unit, name)| format!("{}{name}", count / unit));
    text.filter(|text| parse_count(text) == Ok(count)).unwrap_or_else(|| count.to_string())
}

/// A size in few characters that is read back exactly.
fn exact_bytes(bytes: u64) -> String {
    let units = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    let text = unit.map(|(unit, name)| format!("{}{name}", bytes / unit));
    text.filter(|text| parse_bytes(text) == Ok(bytes)).unwrap_or_else(|| bytes.to_string())
}

/// A probability in few characters that is read back exactly.
fn exact_fpp(fpp: f64) -> String {
    let percent = format!("{}%", (fpp * 1e8).round() / 1e6);
    if fpp >= 1e-3 && parse_fpp(&percent) == Ok(fpp) { percent } else { format!("{fpp:e}") }
}

#[cfg(test)]
mod tests {
    use super::{exact_bytes, exact_count, exact_fpp};
    use mayhap_units::number::{parse_bytes, parse_count, parse_fpp};
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    #[test]
    fn round_numbers_are_short() {
        assert_eq!([exact_count(1_000_000_000), exact_count(1_234_567)], ["1B", "1234567"]);
        assert_eq!([exact_bytes(2 << 30), exact_bytes(1000)], ["2GiB", "1000"]);
        assert_eq!([exact_fpp(0.001), exact_fpp(1e-6), exact_fpp(0.03)], ["0.1%", "1e-6", "3%"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: RngSeed::Fixed(15),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn what_is_written_is_read_back_exactly(
            count: u64, zeros in 0u32..15, shift in 0u32..50, fpp in 1e-300..1f64,
        ) {
            let round = count / 10u64.pow(zeros) * 10u64.pow(zeros);
            prop_assert_eq!(parse_count(&exact_count(round)), Ok(round));
            let round = count >> shift << shift;
            prop_assert_eq!(parse_bytes(&exact_bytes(round)), Ok(round));
            prop_assert_eq!(parse_fpp(&exact_fpp(fpp)), Ok(fpp));
        }
    }
}
