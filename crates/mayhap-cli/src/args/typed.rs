//! The library's parameters by the options that people typed for them.

use clap::{ArgMatches, Command};
use mayhap_units::number::format_bytes;

/// The arguments by which a parameter can be given, the most direct first.
const GIVEN_BY: [(&str, &[&str]); 5] = [
    ("expected_items", &["items"]),
    ("target_fpp", &["fpp"]),
    ("num_bits", &["bits", "mem"]),
    ("num_bytes", &["mem"]),
    ("num_hashes", &["hashes"]),
];

/// The error of a number that the library refused, by the option that was typed for it.
pub fn message(source: &mayhap::Error, command: &Command, matches: &ArgMatches) -> String {
    let typed = |parameter: &str| typed(parameter, command, matches);
    match source {
        mayhap::Error::ZeroItems => match typed("expected_items") {
            Some(option) => format!("{option} is 0, must be at least 1"),
            None => source.to_string(),
        },
        &mayhap::Error::OutOfRange { parameter, min, max, found } => match typed(parameter) {
            Some(option) if option == "--mem" => {
                let unit = if parameter == "num_bytes" { 1 } else { 8 };
                let [found, min, max] = [found, min, max].map(|size| format_bytes(size / unit));
                format!("{option} is {found}, must be from {min} to {max}")
            }
            Some(option) => source.to_string().replacen(parameter, &option, 1),
            None => source.to_string(),
        },
        mayhap::Error::FppOutOfRange { .. } | mayhap::Error::FppUnreachable { .. } => {
            let text = source.to_string();
            typed("target_fpp")
                .map_or(text.clone(), |option| text.replacen("target_fpp", &option, 1))
        }
        _ => source.to_string(),
    }
}

/// The option that was typed for a parameter, if one was.
fn typed(parameter: &str, command: &Command, matches: &ArgMatches) -> Option<String> {
    let (verb, matches) = matches.subcommand()?;
    let verb = command.find_subcommand(verb)?;
    let (_, arguments) = GIVEN_BY.iter().find(|(name, _)| *name == parameter)?;
    let is_typed = |id: &&&str| matches.try_contains_id(id).is_ok_and(|is_there| is_there);
    let id = arguments.iter().find(is_typed)?;
    let arg = verb.get_arguments().find(|arg| arg.get_id().as_str() == *id)?;
    let short = arg.get_short().map(|short| format!("-{short}"));
    short.or_else(|| Some(format!("--{}", arg.get_long()?)))
}
