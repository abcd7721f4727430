//! Answers: values to bytes, in RESP2 or RESP3.

/// Writes answers to the end of what is to be sent.
#[derive(Debug)]
pub struct Reply<'a> {
    out: &'a mut Vec<u8>,
    resp3: bool,
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

    /// `-text`; the first word is the code that clients look at.
    pub fn error(&mut self, text: &str) {
        self.line(b'-', text);
    }

    fn line(&mut self, kind: u8, text: &str) {
        self.out.push(kind);
        // A line feed inside would be a second answer.
        self.out.extend(text.bytes().map(|byte| if byte < b' ' { b' ' } else { byte }));
        self.out.extend_from_slice(b"\r\n");
    }
}
