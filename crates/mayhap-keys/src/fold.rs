//! Case folding: texts that differ only in case become one.

use icu_casemap::CaseMapper;

/// Replaces the bytes from `start` on by their full default case folding (the Unicode Standard,
/// section 3.13, the lines C and F of `CaseFolding.txt`), which depends on no language. Bytes that
/// are not UTF-8 stay.
pub(super) fn fold_from(keys: &mut Vec<u8>, start: usize) {
    if keys[start..].is_ascii() {
        return keys[start..].make_ascii_lowercase();
    }
    let text = keys.split_off(start);
    for chunk in text.utf8_chunks() {
        let folded = CaseMapper::new().fold_string(chunk.valid());
        keys.extend_from_slice(folded.as_bytes());
        keys.extend_from_slice(chunk.invalid());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(text: &[u8]) -> Vec<u8> {
        let mut keys = b"Before".to_vec();
        fold_from(&mut keys, 6);
        keys.extend_from_slice(text);
        fold_from(&mut keys, 6);
        keys.strip_prefix(b"Before").unwrap().to_vec()
    }

    #[test]
    fn folding_is_full_and_of_no_language() {
        for (text, expected) in [
            ("STRASSE Straße STRAẞE", "strasse strasse strasse"),
            ("Σίσυφος ΣΊΣΥΦΟΣ", "σίσυφοσ σίσυφοσ"),
            ("ÄÖÜ Ünïcode", "äöü ünïcode"),
            // Dotted and dotless: as everywhere but in Turkish.
            ("Iİı", "ii\u{307}ı"),
            // Kelvin sign, ligature, Cherokee (which folds to capitals).
            ("\u{212A} ﬁ ꭰ", "k fi Ꭰ"),
            ("ASCII [@]", "ascii [@]"),
        ] {
            let once = fold(text.as_bytes());
            assert_eq!(String::from_utf8(once.clone()).as_deref(), Ok(expected), "{text}");
            assert_eq!(fold(&once), once, "{text}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_stay() {
        assert_eq!(fold(b"\xFFA\xC3\xC3\x84\xC3"), b"\xFFa\xC3\xC3\xA4\xC3");
    }

    /// Which version of Unicode the page names: characters that it added, and none later.
    #[test]
    fn every_character_that_folds_is_folded_once() {
        for char in '\0'..=char::MAX {
            let once = fold(char.encode_utf8(&mut [0; 4]).as_bytes());
            assert_eq!(fold(&once), once, "{char:?}");
        }
    }
}
