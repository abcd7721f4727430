//! Users: names, passwords, rights.
//!
//! A password is kept as an Argon2id hash, or, where the configuration holds it in plain, as
//! SHA-256 with a salt of this process. A hashed password is also kept in the second form after its
//! first successful check, so that a client that logs in on each connection costs a microsecond and
//! not 20 ms.

use super::{Rights, UserError};
use crate::lock::lock;
use argon2::password_hash::PasswordVerifier;
use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, Params, PasswordHasher};
use sha2::{Digest as _, Sha256};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;
use subtle::ConstantTimeEq;

/// The user that `AUTH password` and `password = …` refer to.
pub const DEFAULT_USER: &str = "default";

/// Memory of one Argon2 check that a configuration may request, in KiB.
const MAX_HASH_KIB: u32 = 256 * 1024;
/// Rounds of one Argon2 check that a configuration may request.
const MAX_HASH_ROUNDS: u32 = 16;
/// Argon2 checks per second; further tries are refused unchecked, so that guessing cannot take the
/// processor from the filters. Passwords that were right before are not counted.
const CHECKS_A_SECOND: f64 = 10.0;

/// A shorter password can be guessed.
const SHORT_BYTES: usize = 16;

/// SHA-256 of a password under the salt of this process.
type Tag = [u8; 32];

/// The salt of this process, so that a reload can detect which passwords have changed.
static SALT: OnceLock<[u8; 32]> = OnceLock::new();

/// A user as configured.
#[derive(Debug)]
struct User {
    name: String,
    rights: Rights,
    secret: Secret,
    /// Its password is short; unknown for a hash.
    is_short: bool,
}

/// The stored form of a password.
#[derive(Debug)]
enum Secret {
    Plain(Tag),
    /// The hash, and the last password that matched it.
    Hashed {
        hash: Box<PasswordHash>,
        seen: Mutex<Option<Tag>>,
    },
}

/// The users. Without any, everybody may do everything.
#[derive(Debug, Default)]
pub struct Users {
    list: Vec<User>,
    salt: [u8; 32],
    throttle: Mutex<Throttle>,
}

impl Users {
    /// No users: everybody may do everything.
    ///
    /// # Errors
    ///
    /// [`UserError::NoRandomBytes`].
    pub fn new() -> Result<Self, UserError> {
        let mut users = Self::default();
        let mut salt = [0; 32];
        getrandom::fill(&mut salt).map_err(UserError::NoRandomBytes)?;
        users.salt = *SALT.get_or_init(|| salt);
        Ok(users)
    }

    /// Adds a user with a plain password.
    ///
    /// # Errors
    ///
    /// [`UserError::Taken`], [`UserError::NoPassword`].
    pub fn add(&mut self, name: &str, password: &[u8], rights: Rights) -> Result<(), UserError> {
        if password.is_empty() {
            return Err(UserError::NoPassword(name.into()));
        }
        let secret = Secret::Plain(self.tag(password));
        let is_short = password.len() < SHORT_BYTES;
        self.push(User { name: name.into(), rights, secret, is_short })
    }

    /// Adds a user with a hashed password, `$argon2id$…`.
    ///
    /// # Errors
    ///
    /// [`UserError::Taken`], [`UserError::NotHash`], [`UserError::TooCostly`].
    pub fn add_hashed(&mut self, name: &str, hash: &str, rights: Rights) -> Result<(), UserError> {
        let hash = PasswordHash::new(hash).map_err(|_| UserError::NotHash)?;
        let params = Params::try_from(&hash).map_err(|_| UserError::NotHash)?;
        let (memory_kib, rounds) = (params.m_cost(), params.t_cost());
        let (max_kib, max_rounds) = (MAX_HASH_KIB, MAX_HASH_ROUNDS);
        if memory_kib > max_kib || rounds > max_rounds {
            return Err(UserError::TooCostly { memory_kib, rounds, max_kib, max_rounds });
        }
        let secret = Secret::Hashed { hash: Box::new(hash), seen: Mutex::new(None) };
        self.push(User { name: name.into(), rights, secret, is_short: false })
    }

    fn push(&mut self, user: User) -> Result<(), UserError> {
        if self.list.iter().any(|other| other.name == user.name) {
            return Err(UserError::Taken(user.name));
        }
        self.list.push(user);
        Ok(())
    }

    /// Takes over passwords that were right before from the users `before`. Returns the names of
    /// users that are new, changed or gone.
    pub(super) fn follow(&self, before: &Self) -> Vec<String> {
        let mut changed = Vec::new();
        for user in &self.list {
            let same = before.list.iter().find(|old| old.is(user));
            match (same.map(|old| &old.secret), &user.secret) {
                (None, _) => changed.push(user.name.clone()),
                (Some(Secret::Hashed { seen: old, .. }), Secret::Hashed { seen, .. }) => {
                    let known = *lock(old);
                    *lock(seen) = known;
                }
                _ => {}
            }
        }
        let is_gone = |old: &&User| self.list.iter().all(|user| user.name != old.name);
        changed.extend(before.list.iter().filter(is_gone).map(|old| old.name.clone()));
        changed
    }

    /// Whether these are the same users with the same passwords and rights, as far as that can be
    /// determined: another hash of the same password counts as different.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_there = |user: &User| other.list.iter().any(|theirs| theirs.is(user));
        self.list.len() == other.list.len() && self.list.iter().all(is_there)
    }

    /// Their names.
    pub fn names(&self) -> Vec<&str> {
        self.list.iter().map(|user| user.name.as_str()).collect()
    }

    /// All of them, with their rights.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Rights)> {
        self.list.iter().map(|user| (user.name.as_str(), &user.rights))
    }

    /// The users whose password is known to have fewer than 16 bytes.
    pub fn with_short_passwords(&self) -> Vec<&str> {
        let short = self.list.iter().filter(|user| user.is_short);
        short.map(|user| user.name.as_str()).collect()
    }

    /// Whether a login is required.
    pub const fn asks_password(&self) -> bool {
        !self.list.is_empty()
    }

    /// The rights of a client that has not logged in.
    pub const fn anonymous(&self) -> Rights {
        if self.asks_password() { Rights::NONE } else { Rights::ALL }
    }

    /// Whether [`Users::login`] would compute an Argon2 hash, or wait for another such login.
    pub fn is_slow(&self, name: &[u8], password: &[u8]) -> bool {
        let user = self.list.iter().find(|user| user.name.as_bytes() == name);
        match user.map(|user| &user.secret) {
            Some(Secret::Plain(right)) => {
                self.any_hash().is_some() && !bool::from(right.ct_eq(&self.tag(password)))
            }
            Some(Secret::Hashed { seen, .. }) => !was_right(seen, &self.tag(password)),
            None => self.any_hash().is_some(),
        }
    }

    /// The rights of this user, if the password is right.
    ///
    /// A wrong one takes equally long for any name, including unknown ones. A check of an Argon2
    /// hash takes about 20 ms, and there are at most ten per second for all clients together:
    /// further tries are refused unless their password was right before.
    pub fn login(&self, name: &[u8], password: &[u8]) -> Option<Rights> {
        self.login_at(name, password, Instant::now())
    }

    /// [`Users::login`] at this time, which the limit of ten per second is based on.
    pub fn login_at(&self, name: &[u8], password: &[u8], now: Instant) -> Option<Rights> {
        let tag = self.tag(password);
        let user = self.list.iter().find(|user| user.name.as_bytes() == name);
        let (hash, seen) = match user.map(|user| &user.secret) {
            Some(Secret::Plain(right)) => {
                if bool::from(right.ct_eq(&tag)) {
                    return user.map(|user| user.rights.clone());
                }
                // Wrong, and as slow as for a name with a hash.
                (self.any_hash()?, None)
            }
            Some(Secret::Hashed { hash, seen }) => (&**hash, Some(seen)),
            // Any user's hash, so that an unknown name is refused as slowly.
            None => (self.any_hash()?, None),
        };
        if seen.is_some_and(|seen| was_right(seen, &tag)) {
            return user.map(|user| user.rights.clone());
        }
        // Held during the check: one at a time, 19 MiB each.
        let mut throttle = lock(&self.throttle);
        if !throttle.take(now) {
            return None;
        }
        let is_right = Argon2::default().verify_password(password, hash).is_ok();
        drop(throttle);
        let (user, seen) = (user.filter(|_| is_right)?, seen?);
        *lock(seen) = Some(tag);
        Some(user.rights.clone())
    }

    fn any_hash(&self) -> Option<&PasswordHash> {
        self.list.iter().find_map(|user| match &user.secret {
            Secret::Hashed { hash, .. } => Some(&**hash),
            Secret::Plain(_) => None,
        })
    }

    fn tag(&self, password: &[u8]) -> Tag {
        Sha256::new().chain_update(self.salt).chain_update(password).finalize().into()
    }
}

impl User {
    /// Whether it is the same user with the same password and rights.
    fn is(&self, other: &Self) -> bool {
        self.name == other.name && self.rights == other.rights && self.secret.is(&other.secret)
    }
}

impl Secret {
    /// Whether it is the same password, as far as that can be determined: another hash of the same
    /// password counts as different.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Plain(ours), Self::Plain(theirs)) => bool::from(ours.ct_eq(theirs)),
            (Self::Hashed { hash: ours, .. }, Self::Hashed { hash: theirs, .. }) => {
                ours.to_string() == theirs.to_string()
            }
            _ => false,
        }
    }
}

fn was_right(seen: &Mutex<Option<Tag>>, tag: &Tag) -> bool {
    lock(seen).is_some_and(|right| bool::from(right.ct_eq(tag)))
}

/// The Argon2id hash of a password, as `password_hash = …` has it.
///
/// # Errors
///
/// [`UserError::NoRandomBytes`]; [`UserError::NotHashed`] if the password is longer than 4 GiB.
pub fn hash_password(password: &[u8]) -> Result<String, UserError> {
    let mut salt = [0; 16];
    getrandom::fill(&mut salt).map_err(UserError::NoRandomBytes)?;
    let hash = Argon2::default().hash_password_with_salt(password, &salt);
    hash.map(|hash| hash.to_string()).map_err(UserError::NotHashed)
}

/// A token bucket of checks.
#[derive(Debug, Default)]
struct Throttle {
    checks: f64,
    last: Option<Instant>,
}

impl Throttle {
    fn take(&mut self, now: Instant) -> bool {
        let gained = match self.last {
            None => CHECKS_A_SECOND,
            Some(last) => now.saturating_duration_since(last).as_secs_f64() * CHECKS_A_SECOND,
        };
        self.last = Some(now);
        self.checks = (self.checks + gained).min(CHECKS_A_SECOND);
        let there_is_one = self.checks >= 1.0;
        if there_is_one {
            self.checks -= 1.0;
        }
        there_is_one
    }
}
