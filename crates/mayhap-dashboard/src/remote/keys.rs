//! Queries and additions, as the command does them: with the filter's key options and its system's
//! encoding.

use super::failure::Failure;
use super::state::State;
use axum::http::StatusCode;
use mayhap::Bitmap;
use mayhap::set::Repeats;
use mayhap_keys::{Cutter, KeyOptions, for_each_expression};
use mayhap_sets::server::{Origin, ServerSet, open};
use mayhap_sets::{Error, TakesTexts};

/// The operation on the keys.
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

/// Queries or adds the keys of each text: whether one of them may be in the filter, or was not.
///
/// # Errors
///
/// The errors of the server; an error for a text without a key.
pub(super) async fn act(
    state: State,
    name: String,
    texts: Vec<String>,
    act: Act,
) -> Result<Vec<bool>, Failure> {
    // Calls on a set wait.
    let acted = tokio::task::spawn_blocking(move || act_now(&state, name, &texts, act));
    let failed = |_| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "the request failed");
    acted.await.map_err(failed)?
}

fn act_now(state: &State, name: String, texts: &[String], act: Act) -> Result<Vec<bool>, Failure> {
    let fail = |error: Error| Failure::new(StatusCode::BAD_GATEWAY, error.to_string());
    let options = &state.options;
    let url = format!("{}/{}", options.url, name);
    let origin = Origin { server: state.server.clone(), url, name };
    let (mut set, of_keys) = open(&origin, &options.known).map_err(fail)?;
    let keys = Keys::of(texts, &of_keys.unwrap_or_default())?;
    let found = keys.act(&mut *set, act).map_err(fail)?;
    let not_keys = set.texts().map_or(&[][..], TakesTexts::not_keys);
    if let Some(not_key) = not_keys.first() {
        let text = &texts[keys.texts[*not_key]];
        return Err(Failure::bad(format!("{text:?} is no key of this filter's type")));
    }
    let mut any = vec![false; texts.len()];
    for (i, &text) in keys.texts.iter().enumerate() {
        any[text] |= found.get(i);
    }
    Ok(any)
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
            Act::Check => set.contains_into(keys[..].into(), &mut found)?,
            Act::Add => set.insert_into(keys[..].into(), Repeats::Renew, &mut found)?,
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(texts: &[&str], options: &KeyOptions) -> Result<Keys, StatusCode> {
        use axum::response::IntoResponse;
        let texts: Vec<String> = texts.iter().map(|&text| text.into()).collect();
        Keys::of(&texts, options).map_err(|failure| failure.into_response().status())
    }

    #[test]
    fn texts_become_keys_as_the_filter_was_filled_and_each_key_knows_its_text() {
        let plain = keys(&["B ", "a"], &KeyOptions::default()).unwrap();
        assert_eq!((plain.keys, plain.texts), (vec![b"B ".to_vec(), b"a".to_vec()], vec![0, 1]));
        let options = KeyOptions { trim: true, lower: true, ..KeyOptions::default() };
        let cut = keys(&[" B ", "a"], &options).unwrap();
        assert_eq!((cut.keys, cut.texts), (vec![b"b".to_vec(), b"a".to_vec()], vec![0, 1]));
        // The expressions of Safe Browsing: host and its suffixes with path and its prefixes.
        let options = KeyOptions { url_prefixes: true, ..KeyOptions::default() };
        let urls = keys(&["x.org/", "a.x.org/p"], &options).unwrap();
        let of = |text| {
            let all = urls.texts.iter().zip(&urls.keys).filter(|(of, _)| **of == text);
            all.map(|(_, key)| String::from_utf8(key.clone()).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(of(0), ["x.org/"]);
        let mut second = of(1);
        second.sort_unstable();
        assert_eq!(second, ["a.x.org/", "a.x.org/p", "x.org/", "x.org/p"]);
    }

    #[test]
    fn a_text_without_a_key_is_refused() {
        let options = KeyOptions { hex: true, ..KeyOptions::default() };
        assert_eq!(keys(&["6f"], &options).unwrap().keys, [b"o".to_vec()]);
        assert!(matches!(keys(&["6f", "6"], &options), Err(StatusCode::BAD_REQUEST)));
    }
}
