//! Errors in a configuration, and where they are.

use super::problem::Problem;
use std::fmt;
use std::path::PathBuf;

/// Where a setting was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// In a file; lines count from 1.
    File {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
    /// By an environment variable.
    Environment,
    /// On the command line.
    Flag,
    /// By `CONFIG SET`.
    Command,
    /// By several of these together, or by none.
    Whole,
}

/// An error in a configuration, and where it is.
#[derive(Debug, thiserror::Error)]
pub struct ConfigError {
    /// Where the setting was given.
    pub origin: Origin,
    /// The setting by its name there; empty if the error is not about one setting.
    pub key: String,
    /// The value, unless it is a secret.
    pub value: Option<String>,
    /// The mistake, and the allowed values.
    #[source]
    pub problem: Box<Problem>,
}

/// Characters of a value that a message repeats.
const SHOWN_CHARS: usize = 60;

impl ConfigError {
    /// About the configuration as a whole.
    pub(crate) fn whole(problem: impl Into<Problem>) -> Self {
        let (key, problem) = (String::new(), Box::new(problem.into()));
        Self { origin: Origin::Whole, key, value: None, problem }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::File { path, line: 0 } => write!(f, "{}: ", path.display())?,
            Origin::File { path, line } => write!(f, "{}:{line}: ", path.display())?,
            Origin::Environment => write!(f, "environment: ")?,
            Origin::Flag | Origin::Command | Origin::Whole => {}
        }
        if !self.key.is_empty() {
            f.write_str(&self.key)?;
            if let Some(value) = &self.value {
                let shown: String = value.chars().take(SHOWN_CHARS).collect();
                write!(f, " = {shown:?}")?;
            }
            f.write_str(": ")?;
        }
        self.problem.fmt(f)
    }
}
