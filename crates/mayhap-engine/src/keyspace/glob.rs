//! The patterns of `KEYS` and `SCAN`: `*`, `?`, `[a-z]`, `[^a]`, `\x`.

/// The longest pattern: a matcher may take as many steps as bytes of the pattern times bytes of the
/// name.
pub const MAX_PATTERN_BYTES: usize = 1_024;

/// Whether `text` matches this pattern, as in Redis.
///
/// In at most `pattern.len() · text.len()` steps: of several stars only the last one is ever tried
/// again, since it can take anything that an earlier one could.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut place) = (0, 0);
    // Where to resume when the pattern after the last star does not match.
    let mut again: Option<(usize, usize)> = None;
    loop {
        if pattern.get(at) == Some(&b'*') {
            at += 1;
            again = Some((at, place));
            continue;
        }
        let fits = match (pattern.get(at), text.get(place)) {
            (None, None) => return true,
            (Some(_), Some(&byte)) => one(&pattern[at..], byte),
            _ => None,
        };
        match (fits, &mut again) {
            (Some(used), _) => (at, place) = (at + used, place + 1),
            (None, Some((after, start))) if *start < text.len() => {
                *start += 1;
                (at, place) = (*after, *start);
            }
            _ => return false,
        }
    }
}

/// The bytes of the pattern's first element, which is not a star, if it matches `byte`.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match *pattern {
        [b'?', ..] => Some(1),
        [b'\\', escaped, ..] => (escaped == byte).then_some(2),
        [b'[', ref class @ ..] => {
            let (used, inside) = in_class(class, byte);
            inside.then_some(used + 1)
        }
        [literal, ..] => (literal == byte).then_some(1),
        [] => None,
    }
}

/// How many bytes the class has, including its `]`, and whether it matches `byte`. A class that is
/// not closed ends with the pattern.
fn in_class(class: &[u8], byte: u8) -> (usize, bool) {
    let negated = class.first() == Some(&b'^');
    let (mut at, mut inside) = (usize::from(negated), false);
    loop {
        match class[at.min(class.len())..] {
            [] => break,
            [b']', ..] => {
                at += 1;
                break;
            }
            [b'\\', escaped, ..] => {
                inside |= escaped == byte;
                at += 2;
            }
            [first, b'-', last, ..] => {
                inside |= (first.min(last)..=first.max(last)).contains(&byte);
                at += 3;
            }
            [literal, ..] => {
                inside |= literal == byte;
                at += 1;
            }
        }
    }
    (at, inside != negated)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_like_those_of_redis() {
        for (pattern, yes, no) in [
            ("", &[""][..], &["a"][..]),
            ("*", &["", "a", "a*b"], &[]),
            ("a", &["a"], &["", "b", "aa"]),
            ("?", &["a", "?"], &["", "ab"]),
            ("h?llo", &["hello", "hallo"], &["hllo", "heello"]),
            ("h*llo", &["hllo", "heeeello", "hllllo"], &["hell", "xhllo"]),
            ("h[ae]llo", &["hello", "hallo"], &["hillo"]),
            ("h[^e]llo", &["hallo", "hbllo"], &["hello"]),
            ("h[a-b]llo", &["hallo", "hbllo"], &["hcllo"]),
            ("h[b-a]llo", &["hallo", "hbllo"], &["hcllo"]),
            ("h\\*llo", &["h*llo"], &["hello"]),
            ("[\\]]", &["]"], &["\\", "a"]),
            ("[a", &["a"], &["b", "[a"]),
            ("a\\", &["a\\"], &["a"]),
            ("user:*:*", &["user:1:2", "user::"], &["user:1", "ser:1:2"]),
            ("*a*b*", &["ab", "xaxbx", "aab"], &["ba", ""]),
            ("**", &["", "ab"], &[]),
            ("*[a-c]?", &["xxb1", "ca"], &["a", "xx"]),
        ] {
            for text in yes {
                assert!(matches(pattern.as_bytes(), text.as_bytes()), "{pattern} takes {text}");
            }
            for text in no {
                assert!(!matches(pattern.as_bytes(), text.as_bytes()), "{pattern} not {text}");
            }
        }
        assert!(matches(b"\xFF*\0", b"\xFF\xFE\0"));
    }

    /// The matcher that is obviously right, and takes for ever on `*a*a*a…`.
    fn plainly(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern, text) {
            ([], []) => true,
            ([b'*', rest @ ..], text) => (0..=text.len()).any(|skip| plainly(rest, &text[skip..])),
            ([_, ..], [byte, text @ ..]) => {
                super::one(pattern, *byte).is_some_and(|used| plainly(&pattern[used..], text))
            }
            _ => false,
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig {
            rng_seed: proptest::test_runner::RngSeed::Fixed(7),
            failure_persistence: None,
            ..proptest::prelude::ProptestConfig::with_cases(4_000)
        })]
        #[test]
        fn retrying_only_the_last_star_misses_nothing(
            pattern in "[ab*?\\[\\]^\\\\-]{0,8}", text in "[ab\\-]{0,7}",
        ) {
            let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
            proptest::prop_assert_eq!(matches(pattern, text), plainly(pattern, text));
        }
    }

    /// 2^60 steps for a matcher that retries every star.
    #[test]
    fn hostile_patterns_cost_no_exponential_time() {
        let text = vec![b'a'; 20_000];
        let pattern = [b"*a".repeat(2_000), b"b".to_vec()].concat();
        assert!(!matches(&pattern, &text));
        assert!(!matches(&[b"*a?[a-z]".repeat(500), b"b".to_vec()].concat(), &text));
    }
}
