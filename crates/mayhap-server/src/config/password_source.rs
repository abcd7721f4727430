//! Passwords that are not in the settings themselves.

use super::value_error::PasswordError;

/// A longer file holds no password.
const MAX_PASSWORD_BYTES: u64 = 4096;

/// A password from a file (without its line end) or an environment variable.
pub(super) fn read_password(key: &str, source: &str) -> Result<Vec<u8>, PasswordError> {
    if key == "password_env" {
        return std::env::var(source)
            .map(String::into_bytes)
            .map_err(|_| PasswordError::NotInEnvironment(source.into()));
    }
    let mut password = mayhap_store::read_bytes(source.as_ref(), MAX_PASSWORD_BYTES)
        .map_err(|error| PasswordError::Unreadable(Box::new(error)))?;
    while matches!(password.last(), Some(b'\n' | b'\r')) {
        password.pop();
    }
    if password.is_empty() {
        return Err(PasswordError::Empty(source.into()));
    }
    Ok(password)
}
