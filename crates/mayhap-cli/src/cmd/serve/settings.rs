//! The server's settings as flags: the rows of the server's own table.

use clap::builder::Str;
use clap::{Arg, ArgMatches, Command};
use mayhap_server::config::{Config, FORMER_NAMES, SETTINGS, Setting};

/// The settings given by flags: names and values.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings(pub(super) Vec<(String, String)>);

impl clap::FromArgMatches for Settings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut settings = Self::default();
        settings.update_from_arg_matches(matches)?;
        Ok(settings)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let said = |setting: &&Setting| matches.get_one::<String>(setting.name);
        let said = SETTINGS.iter().filter_map(|setting| Some((setting, said(&setting)?)));
        self.0 = said.map(|(setting, value)| (setting.name.into(), value.clone())).collect();
        Ok(())
    }
}

impl clap::Args for Settings {
    fn augment_args(command: Command) -> Command {
        let default = Config::default();
        command.args(SETTINGS.iter().map(|setting| argument(setting, &default)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn argument(setting: &'static Setting, default: &Config) -> Arg {
    let value = (setting.get)(default);
    let is_told = !setting.value.is_empty() && !value.is_empty();
    // The library names other settings, `<bind>`; here they are options.
    let mut help = setting.help.replace('<', "--").replace('>', "");
    if is_told && !help.ends_with(']') {
        help = format!("{help} [default: {value}]");
    }
    let former = FORMER_NAMES.iter().filter(|(_, present)| *present == setting.name);
    let argument = Arg::new(setting.name)
        .long(Str::from(setting.name.replace('_', "-")))
        .aliases(former.map(|(former, _)| Str::from(former.replace('_', "-"))))
        .help(help)
        .help_heading(setting.heading);
    if setting.value.is_empty() {
        // `--switch` alone, or `--switch=false` against a file.
        argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name("BOOL")
    } else {
        argument.value_name(setting.value)
    }
}
