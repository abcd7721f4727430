//! The drawing.

use super::{Explanation, Insertion, Lookup, SetBit};
use crate::columns::{columns, wrapped};
use crate::text::rough;
use mayhap_units::number::grouped;
use std::fmt::Write;

/// The longest array that is drawn on one line, once for each key.
const MAX_LINE_BITS: u64 = 64;

/// The bits on a line of a longer array: a lane of `blocked` or two.
const BITS_A_LINE: usize = 64;

/// The widest column of names.
const MAX_NAME: usize = 24;

impl Explanation {
    /// The array after each key, and each query with its reason. Up to 64 bits are drawn next to
    /// the keys and up to 4,096 below them; positions are listed for any m.
    ///
    /// # Examples
    ///
    /// ```
    /// use mayhap::{DigestFunction, Layout};
    /// use mayhap_plan::explain::{Explanation, Subject};
    ///
    /// let mut array = Explanation::new(Layout::Standard, 9, 3, DigestFunction::default())?;
    /// array.insert(&Subject::given("baidu", [1, 4, 7]))?;
    /// array.insert(&Subject::given("tencent", [3, 4, 8]))?;
    /// array.query(&Subject::given("dianping", [1, 5, 8]))?;
    /// let text = array.text();
    /// assert!(text.contains("tencent    010110011  sets 3, 8; set before: 4 (baidu)"), "{text}");
    /// assert!(text.contains("dianping?  .1...0..1  surely not there: bit 5 is 0"), "{text}");
    /// # Ok::<(), mayhap_plan::explain::ExplainError>(())
    /// ```
    pub fn text(&self) -> String {
        self.text_in(usize::MAX)
    }

    /// Like [`Explanation::text`], for a terminal of `max_columns` columns: parts that do not fit
    /// next to the names are drawn below them, and words wrap.
    pub fn text_in(&self, max_columns: usize) -> String {
        let names = self.keys.iter().map(|key| columns(&key.key));
        let names = names.chain(self.queries.iter().map(|query| columns(&query.key) + 1));
        let indent = names.chain(["filled".len()]).max().unwrap_or(0).min(MAX_NAME) + 2;
        let page = Page { indent, max_columns };
        let mut text = String::new();
        self.write_head(&mut text, page);
        for key in &self.keys {
            let bits = self.beside(page, || key.bits.clone().unwrap_or_default());
            page.line(&mut text, &key.key, &format!("{bits}{}", what_it_set(key)));
        }
        self.write_grid(&mut text, page);
        let (num_ones, num_bits) = (grouped(self.num_ones), grouped(self.num_bits));
        let mut filled = format!("{num_ones} of {num_bits} bits: {}", rough(self.fill_ratio));
        if let Some(fpp) = self.estimated_fpp {
            let _ = write!(filled, ", so {} of absent keys seem present", rough(fpp));
        }
        page.line(&mut text, "filled", &filled);
        for query in &self.queries {
            let bits = self.beside(page, || looked_at(query, self.num_bits));
            let name = format!("{}?", query.key);
            page.line(&mut text, &name, &format!("{bits}{}", why(query)));
        }
        text
    }

    /// The bits on the line of a key, if all of them fit on it.
    fn beside(&self, page: Page, bits: impl FnOnce() -> String) -> String {
        if page.has_room_for(self.num_bits) { bits() + "  " } else { String::new() }
    }

    fn write_head(&self, text: &mut String, page: Page) {
        let &Self { num_bits, num_hashes, layout, digest, digest_seed: seed, .. } = self;
        let mut head = format!("{} bits, k = {num_hashes}; positions ", grouped(num_bits));
        let is_given = self.keys.iter().map(|key| key.given);
        let is_given: Vec<bool> =
            is_given.chain(self.queries.iter().map(|query| query.given)).collect();
        let seed = seed.map(|seed| format!(" with seed {seed}")).unwrap_or_default();
        let computed = format!("of the layout {layout}, digest {digest}{seed}");
        if is_given.is_empty() || is_given.iter().all(|given| !given) {
            head += &computed;
        } else if is_given.iter().all(|given| *given) {
            head += "as given";
        } else {
            let _ = write!(head, "as given, others {computed}");
        }
        page.line(text, "array", &head);
        if page.has_room_for(num_bits) {
            page.line(text, "", &ruler(num_bits));
        }
    }

    /// A longer array below the keys.
    fn write_grid(&self, text: &mut String, page: Page) {
        let Some(bits) = self.bits().filter(|bits| !page.has_room_for(bits.len() as u64)) else {
            return;
        };
        let bits_a_line = page.bits_a_line();
        for (i, row) in bits.as_bytes().chunks(bits_a_line).enumerate() {
            page.line(text, &(i * bits_a_line).to_string(), &String::from_utf8_lossy(row));
        }
    }
}

/// The columns of a drawing.
#[derive(Debug, Clone, Copy)]
struct Page {
    /// Columns of the names on the left.
    indent: usize,
    /// All columns that there are.
    max_columns: usize,
}

impl Page {
    /// Whether an array of `num_bits` bits is drawn on one line.
    fn has_room_for(self, num_bits: u64) -> bool {
        num_bits <= MAX_LINE_BITS && num_bits as usize <= self.room()
    }

    /// The bits on a line of a longer array: bytes, as many as fit.
    fn bits_a_line(self) -> usize {
        (self.room() / 8 * 8).clamp(8, BITS_A_LINE)
    }

    fn room(self) -> usize {
        self.max_columns.saturating_sub(self.indent)
    }

    /// A line of the drawing; a name that is wider than its column has a line of its own.
    fn line(self, text: &mut String, name: &str, value: &str) {
        let Self { indent, max_columns } = self;
        let value = wrapped(value, indent, max_columns);
        let width = columns(name);
        if width + 2 > indent {
            let _ = write!(text, "{name}\n{:indent$}{value}", "");
        } else {
            let _ = write!(text, "{name}{:1$}{value}", "", indent - width);
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
}

/// Every fifth position above its bit.
fn ruler(num_bits: u64) -> String {
    let mut ruler = String::new();
    for position in (0..num_bits).step_by(5) {
        let _ = write!(ruler, "{position:<5}");
    }
    ruler
}

fn what_it_set(key: &Insertion) -> String {
    let mut parts = Vec::new();
    if key.new.is_empty() {
        parts.push("sets nothing".into());
    } else {
        parts.push(format!("sets {}", listed(&key.new)));
    }
    if !key.already_set.is_empty() {
        parts.push(format!("set before: {}", with_setters(&key.already_set)));
    }
    let again = key.positions.len() - key.new.len() - key.already_set.len();
    match again {
        0 => {}
        1 => parts.push("one of its positions comes twice".into()),
        _ => parts.push(format!("{again} of its positions come again")),
    }
    parts.join("; ")
}

/// The bits that a query reads, with dots for the others.
fn looked_at(query: &Lookup, num_bits: u64) -> String {
    let is_set = |position| query.set.iter().any(|bit| bit.position == position);
    let bit = |position| match (query.clear.contains(&position), is_set(position)) {
        (true, _) => '0',
        (_, true) => '1',
        _ => '.',
    };
    (0..num_bits).map(bit).collect()
}

fn why(query: &Lookup) -> String {
    match (&query.clear[..], query.inserted) {
        ([], inserted) => {
            let truth = if inserted { "" } else { ", a false positive" };
            format!("mayhap there{truth}: {} are 1", with_setters(&query.set))
        }
        ([one], _) => format!("surely not there: bit {one} is 0"),
        (clear, _) => format!("surely not there: bits {} are 0", listed(clear)),
    }
}

fn listed(positions: &[u64]) -> String {
    positions.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// `0 (A), 7 (A, C)`.
fn with_setters(bits: &[SetBit]) -> String {
    let one = |bit: &SetBit| format!("{} ({})", bit.position, bit.by.join(", "));
    bits.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use crate::explain::{Explanation, Subject};
    use mayhap::{DigestFunction, Layout};

    fn drawn(num_bits: u64, max_columns: usize) -> String {
        let function = DigestFunction::default();
        let mut array = Explanation::new(Layout::Standard, num_bits, 3, function).unwrap();
        array.insert(&Subject::given("A", [0, 5, 7])).unwrap();
        array.insert(&Subject::given("B", [5, 7, 5])).unwrap();
        array.query(&Subject::given("C", [0, 1, 2])).unwrap();
        array.query(&Subject::given("D", [0, 5, 7])).unwrap();
        array.text_in(max_columns)
    }

    /// Drawn by hand.
    #[test]
    fn a_short_array_is_drawn_beside_its_keys() {
        let expected = "\
array   10 bits, k = 3; positions as given
        0    5
A       1000010100  sets 0, 5, 7
B       1000010100  sets nothing; set before: 5 (A), 7 (A); one of its positions comes twice
filled  3 of 10 bits: 30 %, so 2.7 % of absent keys seem present
C?      100.......  surely not there: bits 1, 2 are 0
D?      1....1.1..  mayhap there, a false positive: 0 (A), 5 (A, B), 7 (A, B) are 1
";
        assert_eq!(drawn(10, usize::MAX), expected);
    }

    #[test]
    fn a_longer_one_is_drawn_below_in_lines_of_bytes() {
        let lines = |num_bits, columns| {
            let text = drawn(num_bits, columns);
            let is_row = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit());
            let rows = text.lines().filter(is_row).map(|line| {
                let (from, bits) = line.split_once(' ').unwrap();
                (from.parse::<usize>().unwrap(), bits.trim().len())
            });
            rows.collect::<Vec<_>>()
        };
        assert_eq!(lines(100, usize::MAX), [(0, 64), (64, 36)]);
        // 8 of 30 columns are names; 22 have room for two bytes.
        assert_eq!(lines(40, 30), [(0, 16), (16, 16), (32, 8)]);
        assert_eq!(lines(20, 10), [(0, 8), (8, 8), (16, 4)]);
        assert!(lines(64, 72).is_empty() && lines(65, 80).len() == 2 && lines(64, 71).len() == 2);
        assert!(lines(4_097, usize::MAX).is_empty(), "that is no picture any more");
    }
}
