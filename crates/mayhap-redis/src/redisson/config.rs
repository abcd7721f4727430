//! The hash of parameters on a server.

use crate::replies::text;
use crate::server::{Command, Server, words};
use crate::{Damage, Error, Loss};
use mayhap_formats::{Limits, RedissonConfig};
use redis::{Value, cmd};

/// Fields are short numbers; anything longer is not a number and would flood the error.
const MAX_FIELD_BYTES: usize = 64;

/// Reads the fields that determine the positions.
pub(super) fn query(config_key: &str) -> Command {
    let mut command = cmd("HMGET");
    command.arg(config_key).arg(&RedissonConfig::NAMES[..2]);
    Command::read(config_key, command)
}

/// Whether the fields equal the config, letter for letter.
pub(super) fn is_still(config: &RedissonConfig, answer: &Value) -> bool {
    let Value::Array(values) = answer else { return false };
    let values = values.iter().take(2);
    let wanted = [config.size().to_string(), config.num_hashes().to_string()];
    values.map(text).eq(wanted.iter().map(|value| Some(&**value)))
}

/// Reads the config and checks that the bits fit it.
///
/// # Errors
///
/// [`Error::NotFound`] if there is neither; [`Error::Gone`] for bits without a config;
/// [`Error::WrongType`]; [`Error::Damaged`] for a config that no filter can have, or for more bits
/// than its size.
pub(super) async fn read(
    server: &Server,
    name: &str,
    config_key: &str,
) -> Result<RedissonConfig, Error> {
    let mut fields = cmd("HMGET");
    fields.arg(config_key).arg(&RedissonConfig::NAMES);
    let len = Command::read(name, words(&["STRLEN", name]));
    let commands = vec![Command::read(config_key, fields), len];
    let mut replies = server.run(commands).await?.into_iter();
    let (Some(fields), Some(len)) = (replies.next(), replies.next()) else {
        return Err(Error::strange("HMGET", &Value::Nil));
    };
    let fields = fields.of(config_key, "HMGET")?;
    let found = len.count(name, "STRLEN")?;
    let config = parse(&fields, config_key)?;
    let Some(config) = config else {
        if found == 0 {
            return Err(Error::NotFound { name: name.into() });
        }
        let loss = Loss::NoConfig { config: config_key.into() };
        return Err(Error::Gone { name: name.into(), loss: loss.into() });
    };
    let most = config.size().unsigned_abs().div_ceil(8);
    if found > most {
        let size = config.size();
        let damage = Damage::TooManyBits { found, size, most };
        return Err(Error::Damaged { key: name.into(), damage: damage.into() });
    }
    Ok(config)
}

/// The fields; `None` if none of them exists.
fn parse(fields: &Value, config_key: &str) -> Result<Option<RedissonConfig>, Error> {
    let Value::Array(values) = fields else { return Err(Error::strange("HMGET", fields)) };
    let damaged = |damage| Error::Damaged { key: config_key.into(), damage: Box::new(damage) };
    let mut found = Vec::new();
    for (name, value) in RedissonConfig::NAMES.into_iter().zip(values) {
        match (value, text(value)) {
            (Value::Nil, _) => {}
            (_, Some(text)) if text.len() <= MAX_FIELD_BYTES => found.push((name, text)),
            _ => return Err(damaged(Damage::NotNumber(name))),
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    let config = RedissonConfig::parse(found).map_err(|error| damaged(Damage::Format(error)))?;
    Limits::default()
        .check_hashes("hashIterations", u64::from(config.num_hashes()))
        .map_err(|error| damaged(Damage::Format(error)))?;
    if !is_still(&config, fields) {
        // `+7`: compared with 7 as text, it would count as changed.
        return Err(damaged(Damage::NotPlain));
    }
    Ok(Some(config))
}
