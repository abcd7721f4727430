//! Queries and additions, as `mayhap check` and `mayhap add` do them: with the filter's key options
//! and its system's encoding.

use super::State;
use super::failure::Failure;
use axum::http::StatusCode;
use mayhap::Bitmap;
use mayhap_keys::{Cutter, KeyOptions, for_each_expression};
use mayhap_remote::{Origin, ServerSet, open};
use mayhap_sets::Error;

/// What is done with the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Check,
    Add,
}

/// Keys of texts: a text may have several, as the expressions of a URL, or none.
#[derive(Debug, Default)]
struct Keys {
    keys: Vec<Vec<u8>>,
    /// The text of each key.
    texts: Vec<usize>,
}

impl State {
    /// Queries or adds the keys of each text: whether one of them may be in the filter, or was not.
    ///
    /// # Errors
    ///
    /// Those of the server; a text without a key.
    pub(super) async fn act(
        &self,
        name: String,
        texts: Vec<String>,
        act: Act,
    ) -> Result<Vec<bool>, Failure> {
        let state = self.clone();
        // Calls on a set wait.
        let acted = tokio::task::spawn_blocking(move || state.act_now(name, &texts, act));
        let failed = |_| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "the request failed");
        acted.await.map_err(failed)?
    }

    fn act_now(&self, name: String, texts: &[String], act: Act) -> Result<Vec<bool>, Failure> {
        let fail = |error: Error| Failure::new(StatusCode::BAD_GATEWAY, error.to_string());
        let url = format!("{}/{}", self.0.options.url, name);
        let origin = Origin { server: self.0.server.clone(), url, name };
        let (mut set, options) = open(&origin, &self.0.options.known).map_err(fail)?;
        let keys = Keys::of(texts, &options.unwrap_or_default())?;
        let found = keys.act(&mut *set, act).map_err(fail)?;
        if let Some(not_key) = set.not_keys().first() {
            let text = &texts[keys.texts[*not_key]];
            return Err(Failure::bad(format!("{text:?} is no key of this filter's type")));
        }
        let mut any = vec![false; texts.len()];
        for (i, &text) in keys.texts.iter().enumerate() {
            any[text] |= found.get(i);
        }
        Ok(any)
    }
}

impl Keys {
    fn of(texts: &[String], options: &KeyOptions) -> Result<Self, Failure> {
        let mut keys = Self::default();
        let mut cutter = Cutter::new(options);
        for (i, text) in texts.iter().enumerate() {
            let mut key = Vec::new();
            match &mut cutter {
                Some(cutter) => cutter
                    .cut(text.as_bytes(), &mut key)
                    .map_err(|why| Failure::bad(format!("{text:?} has no key: {why}")))?,
                None => key.extend_from_slice(text.as_bytes()),
            }
            if options.url_prefixes {
                for_each_expression(&key, |expression| keys.push(expression, i));
            } else {
                keys.push(&key, i);
            }
        }
        Ok(keys)
    }

    fn push(&mut self, key: &[u8], text: usize) {
        self.keys.push(key.to_vec());
        self.texts.push(text);
    }

    fn act(&self, set: &mut dyn ServerSet, act: Act) -> Result<Bitmap, Error> {
        let keys: Vec<&[u8]> = self.keys.iter().map(Vec::as_slice).collect();
        let mut found = Bitmap::new();
        match act {
            Act::Check => set.contains_keys_into(keys[..].into(), &mut found)?,
            Act::Add => set.insert_keys_into(keys[..].into(), &mut found)?,
        }
        Ok(found)
    }
}
