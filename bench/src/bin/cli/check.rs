//! Checks an output of de-duplication: first occurrences, in order.

use mayhap::{Digest, DigestFunction};
use std::collections::HashSet;
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// The counts of an output.
#[derive(Clone, Copy, Default)]
pub(crate) struct Verdict {
    pub(crate) lines_out: u64,
    /// Distinct lines of the input.
    pub(crate) distinct: u64,
    /// The output is the first occurrences of the input in their order, some perhaps left out.
    pub(crate) is_in_order: bool,
}

impl Verdict {
    /// Lines that should have been printed and were not.
    pub(crate) fn lost(&self) -> u64 {
        self.distinct.saturating_sub(self.lines_out)
    }
}

const BUFFER: usize = 1 << 20;

/// Reads input and output side by side.
///
/// Lines are compared by 64-bit digests; among 5 M lines two collide with probability 1 in a
/// million.
pub(crate) fn check(input: &Path, output: &mut dyn Read) -> io::Result<Verdict> {
    let function = DigestFunction::xxh3(0x006D_6179_6861_7000);
    let mut input = BufReader::with_capacity(BUFFER, File::open(input)?);
    let mut output = BufReader::with_capacity(BUFFER, output);
    let mut seen: HashSet<Digest, BuildHasherDefault<Identity>> = HashSet::default();
    let mut verdict = Verdict { is_in_order: true, ..Verdict::default() };
    let (mut line, mut out) = (Vec::new(), Vec::new());
    let mut has_out = read_line(&mut output, &mut out)?;
    while read_line(&mut input, &mut line)? {
        if !seen.insert(function.digest(&line)) {
            continue;
        }
        verdict.distinct += 1;
        if has_out && line == out {
            verdict.lines_out += 1;
            has_out = read_line(&mut output, &mut out)?;
        }
    }
    verdict.is_in_order = !has_out;
    while has_out {
        verdict.lines_out += 1;
        has_out = read_line(&mut output, &mut out)?;
    }
    Ok(verdict)
}

fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    Ok(from.read_until(b'\n', line)? > 0)
}

/// Digests are hashes already.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("a digest is one u64")
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(input: &str, output: &str) -> (u64, u64, bool) {
        let name = format!("mayhap-bench-{}-{:p}", std::process::id(), &raw const input);
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, input).unwrap();
        let verdict = check(&path, &mut output.as_bytes()).unwrap();
        std::fs::remove_file(&path).unwrap();
        (verdict.lines_out, verdict.lost(), verdict.is_in_order)
    }

    #[test]
    fn order_losses_and_repeats_are_seen() {
        let input = "b\na\nb\nc\na\n";
        assert_eq!(verdict(input, "b\na\nc\n"), (3, 0, true));
        assert_eq!(verdict(input, "b\nc\n"), (2, 1, true));
        assert_eq!(verdict(input, "a\nb\nc\n"), (3, 0, false));
        assert_eq!(verdict(input, "b\na\nb\nc\n"), (4, 0, false));
        assert_eq!(verdict(input, ""), (0, 3, true));
    }
}
