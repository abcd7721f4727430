//! Scripts for operations that must be atomic on the server.
//!
//! The keys are the config, then the bits: both are in one slot of a cluster.

use crate::server::Command;
use redis::cmd;

/// Writes the config unless there is one: returns 1 if it did. The arguments are names and values.
pub(super) const INIT: &str = "\
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV))
return 1";

/// Sets bits if the config is that of the arguments; otherwise returns nil.
pub(super) const SET: &str = "\
local config = redis.call('HMGET', KEYS[1], 'size', 'hashIterations')
if config[1] ~= ARGV[1] or config[2] ~= ARGV[2] then return false end
return redis.call('BITFIELD', KEYS[2], unpack(ARGV, 3))";

/// Sets the same expiry for both keys, or none: returns 1 if there is a config. Missing bits are
/// created, so that they expire too.
pub(super) const EXPIRE: &str = "\
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('SETBIT', KEYS[2], 0, 0) end
for _, key in ipairs(KEYS) do
  if ARGV[1] then redis.call('PEXPIRE', key, ARGV[1]) else redis.call('PERSIST', key) end
end
return 1";

/// Empties the bits, which keep the expiry of the config: returns 1 if there is one.
pub(super) const CLEAR: &str = "\
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('DEL', KEYS[2])
local left = redis.call('PTTL', KEYS[1])
if left > 0 then redis.call('SET', KEYS[2], '\\0', 'PX', left) end
return 1";

/// Renames both keys, replacing two others unless the argument is `free`: returns 1 if there is a
/// config, -1 if there are others that stay.
pub(super) const RENAME: &str = "\
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if ARGV[1] == 'free' and redis.call('EXISTS', KEYS[3], KEYS[4]) > 0 then return -1 end
redis.call('RENAME', KEYS[1], KEYS[3])
if redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('RENAME', KEYS[2], KEYS[4])
else
  redis.call('DEL', KEYS[4])
end
return 1";

/// A script with its keys and no arguments yet.
pub(super) fn write(script: &str, keys: &[&str]) -> Command {
    let mut eval = cmd("EVAL");
    eval.arg(script).arg(keys.len()).arg(keys);
    Command::write(keys[0], eval)
}
