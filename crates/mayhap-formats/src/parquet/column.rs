//! The filters of one column.

use super::column_type::{ColumnType, Range};
use super::filter::SplitBlockFilter;
use crate::{Error, Fact, ForeignFilter, Format, KeyType};
use mayhap::Bitmap;

/// The filters of one column, one for each row group; queried together.
///
/// It cannot be changed: a filter in a Parquet file belongs to the rows in that file.
#[derive(Debug, Clone, PartialEq)]
pub struct ParquetColumn {
    path: String,
    column_type: ColumnType,
    filters: Vec<SplitBlockFilter>,
    /// The number of row groups that have rows but no filter, and the index of the first.
    without_filter: (usize, usize),
    /// The smallest and the largest number of the column, if all row groups record it.
    range: Range,
}

impl ParquetColumn {
    pub(super) fn new(path: &str, column_type: ColumnType) -> Self {
        let (filters, without_filter) = (Vec::new(), (0, 0));
        let range = Range::Of(i64::MAX, i64::MIN);
        Self { path: path.to_owned(), column_type, filters, without_filter, range }
    }

    pub(super) fn push(&mut self, filter: SplitBlockFilter) {
        self.filters.push(filter);
    }

    pub(super) fn lacks_filter_of(&mut self, row_group: usize) {
        let (count, first) = self.without_filter;
        self.without_filter = (count + 1, if count == 0 { row_group } else { first });
    }

    /// The range of one more row group.
    pub(super) fn widen_range(&mut self, range: Option<(i64, i64)>) {
        self.range = match (self.range, range) {
            (Range::Of(min, max), Some((low, high))) => Range::Of(min.min(low), max.max(high)),
            _ => Range::Any,
        };
    }

    /// The filters in the order of the row groups, except for row groups without rows.
    pub fn filters(&self) -> &[SplitBlockFilter] {
        &self.filters
    }

    /// The number of row groups that have rows but no filter: any key may be in them.
    pub fn num_without_filter(&self) -> usize {
        self.without_filter.0
    }

    fn any_contains(&self, key: &[u8]) -> bool {
        self.filters.iter().any(|filter| filter.contains(key))
    }

    fn any_contains_equal(&self, key: &[u8]) -> bool {
        self.column_type.any_equal(key, self.range, |key| self.any_contains(key))
    }

    fn unsupported(operation: &'static str) -> Error {
        let reason = "its filters belong to the rows beside them; write the file again";
        Error::Unsupported { format: Format::Parquet.name(), operation, reason }
    }
}

impl ForeignFilter for ParquetColumn {
    fn format(&self) -> Format {
        Format::Parquet
    }

    /// The bits of all row groups together.
    fn num_bits(&self) -> u64 {
        self.filters.iter().map(ForeignFilter::num_bits).sum()
    }

    fn num_hashes(&self) -> u32 {
        8
    }

    fn key_types(&self) -> &'static [KeyType] {
        self.column_type.key_types()
    }

    fn encode_key<'a>(
        &self,
        key_type: KeyType,
        text: &'a [u8],
        scratch: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Error> {
        if key_type != KeyType::Column {
            return key_type.encode(text, scratch);
        }
        // If any key may be present, the bytes of the key do not matter.
        if self.num_without_filter() > 0 && self.column_type.has_no_text() {
            return Ok(text);
        }
        scratch.clear();
        self.column_type.encode(text, scratch)?;
        Ok(scratch)
    }

    fn random_value(&self, number: u64) -> Option<String> {
        self.column_type.random(number)
    }

    fn holds_any(&self) -> Option<String> {
        let (without, first) = self.without_filter;
        Some(match (self.filters.len(), without) {
            (_, 0) => return None,
            (0, _) => format!("column {} has no filter, so any key may be in it", self.path),
            (_, 1) => format!(
                "row group {first} has no filter for column {}, so any key may be in it",
                self.path
            ),
            _ => format!(
                "{without} row groups (the first is {first}) have no filter for column {}, so any \
                 key may be in it",
                self.path
            ),
        })
    }

    /// By value: zeros of both signs are equal, and a NaN may be present.
    fn contains(&self, key: &[u8]) -> bool {
        self.num_without_filter() > 0 || self.any_contains(key) || self.any_contains_equal(key)
    }

    fn insert(&mut self, _key: &[u8]) -> Result<bool, Error> {
        Err(Self::unsupported("inserting"))
    }

    fn contains_batch(&self, keys: &[&[u8]], found: &mut Bitmap) {
        found.clear_to(keys.len());
        if self.num_without_filter() > 0 {
            return (0..keys.len()).for_each(|i| found.set(i));
        }
        let mut in_row_group = Bitmap::default();
        for filter in &self.filters {
            filter.contains_batch(keys, &mut in_row_group);
            in_row_group.iter_ones().for_each(|i| found.set(i));
        }
        if self.column_type.has_equals() {
            for (i, key) in keys.iter().enumerate() {
                if !found.get(i) && self.any_contains_equal(key) {
                    found.set(i);
                }
            }
        }
    }

    fn union_with(&mut self, _other: &dyn ForeignFilter) -> Result<(), Error> {
        Err(Self::unsupported("a union"))
    }

    fn count_ones(&self) -> u64 {
        self.filters.iter().map(ForeignFilter::count_ones).sum()
    }

    /// The probability that any of the row groups answers "maybe".
    fn estimated_fpp(&self) -> f64 {
        if self.num_without_filter() > 0 {
            return 1.0;
        }
        let none = self.filters.iter().map(|filter| 1.0 - filter.estimated_fpp());
        1.0 - none.product::<f64>()
    }

    /// The sum over the row groups: a key that is in two of them counts twice.
    fn estimated_items(&self) -> Option<u64> {
        if self.num_without_filter() > 0 {
            return None;
        }
        self.filters.iter().map(ForeignFilter::estimated_items).sum()
    }

    fn facts(&self) -> Vec<Fact> {
        let num_row_groups = self.filters.len() + self.num_without_filter();
        let mut facts = vec![
            Fact::new("column", &self.path),
            Fact::new("column_type", self.column_type.name()),
            Fact::new("num_row_groups", num_row_groups),
        ];
        if self.num_without_filter() > 0 {
            facts.push(Fact::new("row_groups_without_filter", self.num_without_filter()));
        }
        facts
    }

    /// The headers and bit sets, one row group after the other: the bytes that are in the file.
    fn encode(&self) -> Vec<u8> {
        self.filters.iter().flat_map(ForeignFilter::encode).collect()
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
