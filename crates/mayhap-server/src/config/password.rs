//! Passwords that are not in the settings themselves.

/// A longer file holds no password.
const MAX_PASSWORD_BYTES: u64 = 4096;

/// A password from a file (without its line end) or an environment variable.
pub(super) fn read_password(key: &str, source: &str) -> Result<Vec<u8>, String> {
    if key == "password_env" {
        return std::env::var(source)
            .map(String::into_bytes)
            .map_err(|_| format!("names {source}, which the environment does not have"));
    }
    let mut password = mayhap_store::read_bytes(source.as_ref(), MAX_PASSWORD_BYTES)
        .map_err(|error| format!("cannot be read: {error}"))?;
    while matches!(password.last(), Some(b'\n' | b'\r')) {
        password.pop();
    }
    if password.is_empty() {
        return Err(format!("names {source}, which is empty"));
    }
    Ok(password)
}
