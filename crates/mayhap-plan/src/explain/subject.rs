//! A key with the bits that it has.

use super::ExplainError;
use mayhap_units::line::printable;

/// A key that is inserted or looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    key: Vec<u8>,
    positions: Option<Vec<u64>>,
}

impl Subject {
    /// A key whose positions follow from its bytes.
    pub fn key(key: &[u8]) -> Self {
        Self { key: key.into(), positions: None }
    }

    /// A name whose positions are given, as in textbook examples of Bloom filters.
    pub fn given(name: &str, positions: impl Into<Vec<u64>>) -> Self {
        Self { key: name.into(), positions: Some(positions.into()) }
    }

    /// Reads `A=0,5,7` as a name with positions, and anything else as a key.
    ///
    /// # Errors
    ///
    /// [`ExplainError::NotANumber`] if digits and commas follow the last `=` and are no list of
    /// numbers.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap_plan::explain::Subject;
    /// assert_eq!(Subject::parse(b"A=0,5,7")?, Subject::given("A", [0, 5, 7]));
    /// assert_eq!(Subject::parse(b"a=b")?, Subject::key(b"a=b"));
    /// assert!(Subject::parse(b"A=0,,7").is_err());
    /// # Ok::<(), mayhap_plan::explain::ExplainError>(())
    /// ```
    pub fn parse(argument: &[u8]) -> Result<Self, ExplainError> {
        let is_listed = |byte: &u8| byte.is_ascii_digit() || *byte == b',';
        let list = argument.iter().rev().take_while(|byte| is_listed(byte)).count();
        let (before, list) = argument.split_at(argument.len() - list);
        let name = match before.split_last() {
            Some((b'=', name)) if !name.is_empty() && !list.is_empty() => name,
            _ => return Ok(Self::key(argument)),
        };
        let list = String::from_utf8_lossy(list);
        let position = |text: &str| {
            text.parse()
                .map_err(|_| ExplainError::NotANumber { key: shown(name), found: text.to_owned() })
        };
        let positions = list.split(',').map(position).collect::<Result<_, _>>()?;
        Ok(Self { key: name.into(), positions: Some(positions) })
    }

    /// The number of positions, if they are given.
    pub fn num_given(&self) -> Option<usize> {
        self.positions.as_ref().map(Vec::len)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.key
    }

    pub(super) fn positions(&self) -> Option<&[u64]> {
        self.positions.as_deref()
    }

    /// The key as text, without characters that move the cursor.
    pub(super) fn shown(&self) -> String {
        shown(&self.key)
    }
}

fn shown(key: &[u8]) -> String {
    printable(&String::from_utf8_lossy(key)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_with_a_list_of_positions_is_one() {
        for key in [&b"A"[..], b"", b"=", b"=1,2", b"A=", b"A=0x5", b"A=1 2", b"1,2", b"\xFF=-1"] {
            assert_eq!(Subject::parse(key), Ok(Subject::key(key)), "{key:?}");
        }
        let last = Subject::parse(b"https://a.example/?b=1,2").unwrap();
        assert_eq!(last, Subject::given("https://a.example/?b", [1, 2]));
        for list in ["A=,", "A=1,", "A=,1", "A=18446744073709551616"] {
            let refused = Subject::parse(list.as_bytes());
            assert!(matches!(refused, Err(ExplainError::NotANumber { .. })), "{list}");
        }
        let most = Subject::parse(b"A=18446744073709551615").unwrap();
        assert_eq!(most.positions(), Some(&[u64::MAX][..]));
        assert_eq!(Subject::key(b"a\x1B[2J\nb\xFF").shown(), "a\\u{1b}[2J\\nb\u{FFFD}");
    }
}
