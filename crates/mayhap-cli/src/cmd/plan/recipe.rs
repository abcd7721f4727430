//! The command that creates what was planned.

use crate::args::MAX_DEFAULT_FPP;
use mayhap::native::Kind;
use mayhap::plan::{Candidate, Needs};
use mayhap::sizing;
use mayhap_units::number::{parse_bytes, parse_count, parse_fpp};
use mayhap_units::span::write_millis;
use mayhap_units::window::WindowSize;

/// The rows of the report on the command: of a plan whose best kind has a command or none, for so
/// many sets.
pub(super) fn rows(command: Option<&str>, sets: u64) -> Vec<(&'static str, String)> {
    let Some(command) = command else {
        return vec![
            ("create", "one file per set (mayhap create), queried with".into()),
            ("", "mayhap which -f A -f B; or one file: mayhap build --layout matrix".into()),
        ];
    };
    let mut rows = vec![("create", command.to_owned())];
    if sets > 1 {
        rows.push(("", "for each set; query all with mayhap which -f A -f B …".into()));
    }
    rows
}

/// The shell command that creates this filter; `None` for kinds that the command line does not
/// create.
///
/// `window` is what `--window` named.
pub(super) fn recipe(
    needs: &Needs,
    best: &Candidate,
    window: Option<WindowSize>,
) -> Option<String> {
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
        Kind::Compact | Kind::Counting => {
            format!("{} --layout {}", sized(needs, best), best.name())
        }
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
        Kind::Ribbon => {
            return Some(format!("mayhap build -o seen.mayhap --frozen -p {fpp} keys.txt"));
        }
        _ => return None,
    };
    Some(format!("mayhap create seen.mayhap {arguments}"))
}

/// The two of n, p and memory that were given, so that the third is computed alike.
fn sized(needs: &Needs, best: &Candidate) -> String {
    // Rounded as in the planner, which divides memory among sets.
    let memory = |bytes: u64| exact_bytes(bytes / needs.sets.max(1) / 64 * 64);
    match (needs.items, needs.target_fpp, needs.max_bytes) {
        (Some(items), None, Some(bytes)) => {
            let size = format!("-n {} --mem {}", exact_count(items), memory(bytes));
            // A rate that only somebody who names it can want; rounded up, to be read.
            if best.target_fpp <= MAX_DEFAULT_FPP {
                size
            } else {
                format!("{size} -p {}%", (best.target_fpp * 100.0).ceil().min(99.0))
            }
        }
        (None, Some(fpp), Some(bytes)) => {
            format!("--mem {} -p {}", memory(bytes), exact_fpp(fpp))
        }
        _ => format!("-n {} -p {}", exact_count(best.items), exact_fpp(best.target_fpp)),
    }
}

/// A count in few characters that is read back exactly.
fn exact_count(count: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1_000_000_000_000, "T"), (1_000_000_000, "B"), (1_000_000, "M"), (1_000, "k")];
    exact(count, UNITS, |text| parse_count(text).ok())
}

/// A size in few characters that is read back exactly.
fn exact_bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    exact(bytes, UNITS, |text| parse_bytes(text).ok())
}

fn exact(number: u64, units: [(u64, &str); 4], read: fn(&str) -> Option<u64>) -> String {
    let unit = units.into_iter().find(|(unit, _)| number > 0 && number.is_multiple_of(*unit));
    let text = unit.map(|(unit, name)| format!("{}{name}", number / unit));
    text.filter(|text| read(text) == Some(number)).unwrap_or_else(|| number.to_string())
}

/// A probability in few characters that is read back exactly.
fn exact_fpp(fpp: f64) -> String {
    let percent = format!("{}%", (fpp * 1e8).round() / 1e6);
    if fpp >= 1e-3 && parse_fpp(&percent) == Ok(fpp) { percent } else { format!("{fpp:e}") }
}

#[cfg(test)]
mod tests {
    use super::{exact_bytes, exact_count, exact_fpp, recipe};
    use mayhap::plan::{Needs, plan};
    use mayhap_units::number::{parse_bytes, parse_count, parse_fpp};
    use mayhap_units::window::WindowSize;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    #[test]
    fn round_numbers_are_short() {
        assert_eq!([exact_count(1_000_000_000), exact_count(1_234_567)], ["1B", "1234567"]);
        assert_eq!([exact_bytes(2 << 30), exact_bytes(1000)], ["2GiB", "1000"]);
        assert_eq!([exact_fpp(0.001), exact_fpp(1e-6), exact_fpp(0.03)], ["0.1%", "1e-6", "3%"]);
    }

    #[test]
    fn the_command_creates_the_kind_that_was_planned() {
        let needs = Needs { items: Some(1_000_000), target_fpp: Some(0.01), ..Needs::default() };
        let of = |needs: &Needs, window| {
            recipe(needs, plan(needs).unwrap().best.as_ref().unwrap(), window).unwrap()
        };
        assert_eq!(of(&needs, None), "mayhap create seen.mayhap -n 1M -p 1%");
        let grows = Needs { unknown_items: true, ..needs.clone() };
        assert_eq!(of(&grows, None), "mayhap create seen.mayhap -n 1M -p 1% --layout scalable");
        let forgets = Needs { forget: true, ..needs };
        assert_eq!(of(&forgets, None), "mayhap create seen.mayhap -p 1% --layout window:1M");
        let day = Some(WindowSize::Millis(86_400_000));
        assert_eq!(of(&forgets, day), "mayhap create seen.mayhap -n 1M -p 1% --layout window:1d");
    }

    fn command(needs: &Needs) -> String {
        recipe(needs, &plan(needs).unwrap().best.unwrap(), None).unwrap()
    }

    /// Whoever runs the command gets the planned filter: by the two given numbers,
    /// for each of several sets by its part of the memory in whole blocks of 64 bytes.
    #[test]
    fn a_command_repeats_what_was_given_and_names_what_is_not_the_default() {
        let given = |items: u64, fpp: f64, bytes: u64| Needs {
            items: (items > 0).then_some(items),
            target_fpp: (fpp > 0.0).then_some(fpp),
            max_bytes: (bytes > 0).then_some(bytes),
            ..Needs::default()
        };
        let mib = 1 << 20;
        let create = |arguments: &str| format!("mayhap create seen.mayhap {arguments}");
        assert_eq!(command(&given(1_000_000, 0.01, 0)), create("-n 1M -p 1%"));
        let of_items = given(1_000_000, 0.0, 2 * mib);
        assert_eq!(command(&of_items), create("-n 1M --mem 2MiB --layout blocked"));
        let of_high_rate = given(1_000_000, 0.0, 200_000);
        assert_eq!(command(&of_high_rate), create("-n 1M --mem 200000 -p 47% --layout standard"));
        let of_rate = given(0, 0.01, 2 * mib);
        assert_eq!(command(&of_rate), create("--mem 2MiB -p 1% --layout blocked"));
        let deletes = Needs { delete: true, ..given(1_000_000, 0.01, 0) };
        assert_eq!(command(&deletes), create("-n 1M -p 1% --layout compact"));
        let frozen = Needs { frozen: true, ..given(1_000_000, 0.005, 0) };
        assert_eq!(command(&frozen), "mayhap build -o seen.mayhap --frozen -p 0.5% keys.txt");
        // 10 MiB for three: 3,495,253 bytes each, of which 3,495,232 are whole blocks.
        let three = Needs { sets: 3, delete: true, ..given(1_000_000, 0.0, 10 * mib) };
        assert_eq!(command(&three), create("-n 1M --mem 3495232 --layout compact"));
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
