//! The configuration file: TOML whose keys are settings, and a table `[[user]]` for each user.
//!
//! ```toml
//! data = "/var/lib/mayhap"
//! max_memory = "4GiB"
//!
//! [[user]]
//! name = "shop"
//! password_hash = "$argon2id$…"       # or password, password_file, password_env
//! rights = ["read", "write"]
//! prefix = "shop:"
//! ```

use super::error::{ConfigError, Origin};
use super::key_file::open_to_all;
use super::password_source::read_password;
use super::problem::Problem;
use super::value_error::{DraftError, PasswordError};
use super::{DEFAULT_USER, Rights, Users, settings};
use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A longer file is not a configuration.
const MAX_BYTES: u64 = 1 << 20;

/// The name of a setting, its value and where it was given.
pub(super) type Given = (&'static str, String, Origin);

/// The text of a file, to report positions in it.
struct FileText<'a> {
    path: &'a Path,
    text: &'a str,
    /// Warnings about the file.
    warnings: RefCell<Vec<String>>,
}

impl FileText<'_> {
    fn origin(&self, span: &Range<usize>) -> Origin {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        Origin::File { path: self.path.to_owned(), line }
    }

    /// A password that is in another file or in the environment.
    fn password(&self, name: &str, source: &str) -> Result<Vec<u8>, PasswordError> {
        let password = read_password(name, source)?;
        if name == "password_file" {
            self.warnings.borrow_mut().extend(open_to_all(source.as_ref(), "a password"));
        }
        Ok(password)
    }

    fn error(&self, span: &Range<usize>, key: &str, problem: impl Into<Problem>) -> ConfigError {
        let (origin, key) = (self.origin(span), key.to_owned());
        ConfigError { origin, key, value: None, problem: Box::new(problem.into()) }
    }
}

/// Reads a file; its users go straight to `users`, and warnings to `warnings`.
pub(super) fn read(
    path: &Path,
    users: &mut Users,
    warnings: &mut Vec<String>,
) -> Result<Vec<Given>, ConfigError> {
    let whole = |problem: Problem| ConfigError {
        origin: Origin::File { path: path.to_owned(), line: 0 },
        key: String::new(),
        value: None,
        problem: Box::new(problem),
    };
    let bytes = mayhap_store::read_bytes(path, MAX_BYTES)
        .map_err(|error| whole(Problem::Unreadable(Box::new(error))))?;
    let text = String::from_utf8(bytes).map_err(|error| whole(error.into()))?;
    let place = FileText { path, text: &text, warnings: RefCell::default() };
    let table = DeTable::parse(&text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        place.error(&span, "", Problem::NotToml(error.message().replace('\n', "; ")))
    })?;
    let mut given = Vec::new();
    for (key, value) in table.get_ref() {
        let (name, span) = (key.get_ref().as_ref(), key.span());
        match name {
            "user" => read_users(value, &place, users)?,
            "password" => {
                let password = text_of(value).filter(|_| value.get_ref().is_str());
                let password =
                    password.ok_or_else(|| place.error(&span, name, Problem::NotQuoted))?;
                let added = users.add(DEFAULT_USER, password.as_bytes(), Rights::ALL);
                added.map_err(|error| place.error(&span, name, error))?;
            }
            "password_file" | "password_env" => {
                let source = text_of(value).unwrap_or_default();
                let password = place.password(name, &source);
                let password = password.map_err(|error| place.error(&span, name, error))?;
                let added = users.add(DEFAULT_USER, &password, Rights::ALL);
                added.map_err(|error| place.error(&span, name, error))?;
            }
            _ => given.push(setting(name, &span, value, &place)?),
        }
    }
    if has_password(table.get_ref()) {
        warnings.extend(open_to_all(path, "a password"));
    }
    warnings.append(&mut place.warnings.borrow_mut());
    Ok(given)
}

/// Whether the file itself contains a password.
fn has_password(table: &DeTable<'_>) -> bool {
    table.iter().any(|(key, value)| match (key.get_ref().as_ref(), value.get_ref()) {
        ("password", _) => true,
        ("user", DeValue::Array(users)) => users.iter().any(|user| match user.get_ref() {
            DeValue::Table(fields) => fields.iter().any(|(key, _)| key.get_ref() == "password"),
            _ => false,
        }),
        _ => false,
    })
}

fn setting(
    name: &str,
    span: &Range<usize>,
    value: &Spanned<DeValue<'_>>,
    place: &FileText<'_>,
) -> Result<Given, ConfigError> {
    let Some(setting) = settings::find(name) else {
        return Err(place.error(span, name, Problem::NoSetting { near: near(name) }));
    };
    let text = text_of(value).ok_or_else(|| {
        let found = value.get_ref().type_str();
        place.error(span, name, Problem::WrongType { found })
    })?;
    Ok((setting.name, text, place.origin(span)))
}

/// The setting whose name resembles this one most.
fn near(name: &str) -> Option<&'static str> {
    let meant = name.replace('-', "_").to_ascii_lowercase();
    let meant = meant.trim_end_matches("_ms");
    let near = settings::find(meant).or_else(|| {
        let shared = |other: &str| {
            other.bytes().zip(meant.bytes()).take_while(|(left, right)| left == right).count()
        };
        let nearest = super::SETTINGS.iter().max_by_key(|setting| shared(setting.name))?;
        (shared(nearest.name) >= 3).then_some(nearest)
    });
    near.map(|setting| setting.name)
}

/// A plain value as the text that the command line would have; lists are joined with commas.
fn text_of(value: &Spanned<DeValue<'_>>) -> Option<String> {
    Some(match value.get_ref() {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(switch) => switch.to_string(),
        DeValue::Array(list) => {
            let texts: Option<Vec<String>> = list.iter().map(text_of).collect();
            texts?.join(",")
        }
        _ => return None,
    })
}

/// A `[[user]]` while it is read.
#[derive(Default)]
struct Draft {
    name: Option<String>,
    rights: Option<Rights>,
    prefix: Option<String>,
    /// The key and its value.
    password: Option<(&'static str, String)>,
}

static USER_KEYS: [&str; 7] =
    ["name", "password", "password_file", "password_env", "password_hash", "rights", "prefix"];

fn read_users(
    value: &Spanned<DeValue<'_>>,
    place: &FileText<'_>,
    users: &mut Users,
) -> Result<(), ConfigError> {
    let wrong = || place.error(&value.span(), "user", Problem::NotTable);
    for user in value.get_ref().as_array().ok_or_else(wrong)? {
        let table = user.get_ref().as_table().ok_or_else(wrong)?;
        let mut draft = Draft::default();
        for (key, value) in table {
            read_user_key(&mut draft, key.get_ref(), &key.span(), value, place)?;
        }
        let error = |it: DraftError| place.error(&user.span(), "user", it);
        add_user(draft, place, users).map_err(error)?;
    }
    Ok(())
}

fn read_user_key(
    draft: &mut Draft,
    name: &str,
    span: &Range<usize>,
    value: &Spanned<DeValue<'_>>,
    place: &FileText<'_>,
) -> Result<(), ConfigError> {
    let Some(key) = USER_KEYS.into_iter().find(|key| *key == name) else {
        return Err(place.error(span, name, Problem::NoField { allowed: &USER_KEYS }));
    };
    let is_list = key == "rights" && value.get_ref().is_array();
    let text = text_of(value).filter(|_| is_list || value.get_ref().is_str());
    let text = text.ok_or_else(|| place.error(span, name, Problem::NotQuoted))?;
    match key {
        "name" if text.is_empty() => return Err(place.error(span, name, Problem::Empty)),
        "name" => draft.name = Some(text),
        "prefix" => draft.prefix = Some(text),
        "rights" => {
            let rights = Rights::parse(&text);
            draft.rights = Some(rights.map_err(|error| place.error(span, name, error))?);
        }
        _ if draft.password.is_some() => {
            return Err(place.error(span, name, Problem::SecondPassword));
        }
        _ => draft.password = Some((key, text)),
    }
    Ok(())
}

fn add_user(draft: Draft, place: &FileText<'_>, users: &mut Users) -> Result<(), DraftError> {
    let name = draft.name.ok_or(DraftError::NoName)?;
    let mut rights = draft.rights.ok_or_else(|| DraftError::NoRights(name.clone()))?;
    rights.prefix = draft.prefix.map(|prefix| prefix.into_bytes().into());
    let password = draft.password.ok_or_else(|| DraftError::NoPassword(name.clone()))?;
    match password {
        ("password_hash", hash) => {
            let added = users.add_hashed(&name, &hash, rights);
            added.map_err(|error| DraftError::Hash { name, error })
        }
        ("password", password) => Ok(users.add(&name, password.as_bytes(), rights)?),
        (key, source) => match place.password(key, &source) {
            Ok(password) => Ok(users.add(&name, &password, rights)?),
            Err(error) => Err(DraftError::Source { name, key, error }),
        },
    }
}
