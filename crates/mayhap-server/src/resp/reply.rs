//! Answers: values to bytes, in RESP2 or RESP3.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Appends answers to a buffer.
///
/// Types that RESP2 lacks are written as Redis does there: a boolean is an integer, a map an array
/// of twice the length, a double and a verbatim text are bulk strings.
#[derive(Debug)]
pub struct Reply<'a> {
    out: &'a mut Vec<u8>,
    resp3: bool,
}

/// A value of an answer, for those that are made of many.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// Another number.
    Double(f64),
    /// Yes or no.
    Boolean(bool),
    /// A bulk string.
    Text(Cow<'static, str>),
    /// Values in order.
    List(Vec<Self>),
    /// Values by name.
    Map(Vec<(&'static str, Self)>),
}

impl Value {
    /// A text.
    pub fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Self::Text(text.into())
    }

    /// A number, if it is known.
    pub fn count(number: impl Into<Option<u64>>) -> Self {
        let number = number.into().map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        number.map_or(Self::Null, Self::Integer)
    }
}

impl<'a> Reply<'a> {
    /// Answers in RESP3 or RESP2.
    pub const fn new(out: &'a mut Vec<u8>, resp3: bool) -> Self {
        Self { out, resp3 }
    }

    /// Whether the client speaks RESP3.
    pub const fn is_resp3(&self) -> bool {
        self.resp3
    }

    /// `+text`.
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text);
    }

    /// `-text`; the first word is the code that clients check.
    pub fn error(&mut self, text: &str) {
        self.line(b'-', text);
    }

    /// `:value`.
    pub fn integer(&mut self, value: i64) {
        self.number(b':', value);
    }

    /// `#t` or `#f`; `:1` or `:0` in RESP2.
    pub fn boolean(&mut self, value: bool) {
        self.out.extend_from_slice(match (self.resp3, value) {
            (true, true) => b"#t\r\n",
            (true, false) => b"#f\r\n",
            (false, true) => b":1\r\n",
            (false, false) => b":0\r\n",
        });
    }

    /// `$length`, then the bytes.
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.length(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }

    /// [`Reply::bulk`], or [`Reply::null`] for nothing.
    pub fn bulk_or_null(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bulk(bytes),
            None => self.null(),
        }
    }

    /// A value of any type.
    pub fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.null(),
            Value::Integer(number) => self.integer(*number),
            Value::Double(number) => self.double(*number),
            Value::Boolean(flag) => self.boolean(*flag),
            Value::Text(text) => self.bulk(text.as_bytes()),
            Value::List(values) => {
                self.array(values.len());
                for value in values {
                    self.value(value);
                }
            }
            Value::Map(fields) => {
                self.map(fields.len());
                for (name, value) in fields {
                    self.bulk(name.as_bytes());
                    self.value(value);
                }
            }
        }
    }

    /// An array of bulk strings.
    pub fn list<'w>(&mut self, words: impl ExactSizeIterator<Item = &'w [u8]>) {
        self.array(words.len());
        words.for_each(|word| self.bulk(word));
    }

    /// `_`; `$-1` in RESP2.
    pub fn null(&mut self) {
        self.out.extend_from_slice(if self.resp3 { b"_\r\n" } else { b"$-1\r\n" });
    }

    /// `*length`; this number of answers has to follow.
    pub fn array(&mut self, length: usize) {
        self.length(b'*', length);
    }

    /// `%pairs`; a name and a value of each have to follow. `*2·pairs` in RESP2.
    pub fn map(&mut self, pairs: usize) {
        if self.resp3 {
            self.length(b'%', pairs);
        } else {
            self.length(b'*', pairs.saturating_mul(2));
        }
    }

    /// `,value`; a bulk string in RESP2.
    ///
    /// The shortest digits that read back as the same number, `inf`, `-inf` or `nan`.
    pub fn double(&mut self, value: f64) {
        let mut text = String::new();
        let size = value.abs();
        let _ = if value.is_nan() {
            text.write_str("nan")
        } else if size.is_finite() && size != 0.0 && !(1e-5..1e17).contains(&size) {
            write!(text, "{value:e}")
        } else {
            write!(text, "{value}")
        };
        if self.resp3 { self.line(b',', &text) } else { self.bulk(text.as_bytes()) }
    }

    /// Text for people, with its line ends: `=length`, `txt:`, the text. A bulk string in RESP2.
    pub fn verbatim(&mut self, text: &str) {
        if !self.resp3 {
            return self.bulk(text.as_bytes());
        }
        self.length(b'=', text.len().saturating_add(4));
        self.out.extend_from_slice(b"txt:");
        self.out.extend_from_slice(text.as_bytes());
        self.out.extend_from_slice(b"\r\n");
    }

    fn length(&mut self, kind: u8, length: usize) {
        self.number(kind, i64::try_from(length).unwrap_or(i64::MAX));
    }

    fn number(&mut self, kind: u8, value: i64) {
        // Digits from the last to the first; 20 for `i64::MIN`.
        let mut digits = [0; 20];
        let mut at = digits.len();
        let mut left = value.unsigned_abs();
        loop {
            at -= 1;
            digits[at] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        self.out.push(kind);
        if value < 0 {
            self.out.push(b'-');
        }
        self.out.extend_from_slice(&digits[at..]);
        self.out.extend_from_slice(b"\r\n");
    }

    fn line(&mut self, kind: u8, text: &str) {
        self.out.push(kind);
        // A line feed inside would be a second answer.
        self.out.extend(text.bytes().map(|byte| if byte < b' ' { b' ' } else { byte }));
        self.out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::{Reply, Value};

    /// The output of a call in RESP2 and in RESP3.
    fn both(write: impl Fn(&mut Reply<'_>)) -> [String; 2] {
        [false, true].map(|resp3| {
            let mut out = Vec::new();
            write(&mut Reply::new(&mut out, resp3));
            String::from_utf8(out).unwrap()
        })
    }

    #[test]
    fn every_answer_has_its_bytes_in_both_versions() {
        assert_eq!(both(|reply| reply.simple("OK")), ["+OK\r\n", "+OK\r\n"]);
        assert_eq!(both(|reply| reply.integer(i64::MIN))[0], ":-9223372036854775808\r\n");
        assert_eq!(both(|reply| reply.integer(0))[0], ":0\r\n");
        assert_eq!(both(|reply| reply.boolean(true)), [":1\r\n", "#t\r\n"]);
        assert_eq!(both(|reply| reply.boolean(false)), [":0\r\n", "#f\r\n"]);
        assert_eq!(both(|reply| reply.bulk(b"a\r\n")), ["$3\r\na\r\n\r\n"; 2]);
        assert_eq!(both(|reply| reply.bulk(b""))[0], "$0\r\n\r\n");
        assert_eq!(both(|reply: &mut Reply<'_>| reply.null()), ["$-1\r\n", "_\r\n"]);
        assert_eq!(both(|reply| reply.array(1048))[1], "*1048\r\n");
        assert_eq!(both(|reply| reply.map(5)), ["*10\r\n", "%5\r\n"]);
        let fields = vec![("a", Value::List(vec![Value::count(7), Value::text("b")]))];
        let map = "$1\r\na\r\n*2\r\n:7\r\n$1\r\nb\r\n";
        let expected = [format!("*2\r\n{map}"), format!("%1\r\n{map}")];
        assert_eq!(both(|reply| reply.value(&Value::Map(fields.clone()))), expected);
        assert_eq!(both(|reply| reply.value(&Value::count(None))), ["$-1\r\n", "_\r\n"]);
        assert_eq!(both(|reply| reply.verbatim("a\nb")), ["$3\r\na\nb\r\n", "=7\r\ntxt:a\nb\r\n"]);
    }

    #[test]
    fn a_double_reads_back_as_itself() {
        for value in [0.0, -0.0, 0.01, 1e-6, 1e-300, 3.25, 1e16, 1e17, 1.5e300, f64::MIN_POSITIVE] {
            let [two, three] = both(|reply| reply.double(value));
            let text = three.strip_prefix(',').unwrap().trim_end();
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits(), "{text}");
            assert!(text.len() < 26, "{text}");
            assert_eq!(two, format!("${}\r\n{text}\r\n", text.len()));
        }
        assert_eq!(both(|reply| reply.double(f64::NEG_INFINITY))[1], ",-inf\r\n");
        assert_eq!(both(|reply| reply.double(-f64::NAN))[1], ",nan\r\n");
    }

    #[test]
    fn an_error_is_one_line_for_any_text() {
        assert_eq!(both(|reply| reply.error("ERR a\r\n+OK\0"))[0], "-ERR a  +OK \r\n");
    }
}
