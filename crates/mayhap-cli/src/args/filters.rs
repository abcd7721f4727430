//! The filters that lines are looked up in.

use clap::Args;
use std::path::PathBuf;

/// Filters by name, beside those among the files of the command.
#[derive(Debug, Clone, Default, Args)]
pub struct FilterArgs {
    /// A filter (a file, or redis://...), or a folder of filters; may be repeated
    #[arg(short = 'f', long = "filter", value_name = "FILTER")]
    pub filters: Vec<PathBuf>,
    /// A file with the name of a filter or folder on each line
    #[arg(short = 'F', long, value_name = "LIST")]
    pub filter_list: Option<PathBuf>,
}
