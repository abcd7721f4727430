//! A web without a network: pages and their links follow from the number of pages.

/// A web of some pages. Page 0 leads to all of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Web {
    pub(crate) pages: u64,
}

const PREFIX: &str = "https://example.org/page/";

impl Web {
    pub(crate) fn url(page: u64) -> String {
        format!("{PREFIX}{page}")
    }

    /// The links of a page: two lead down a tree, so that each page can be reached, and two
    /// anywhere: one page in seven has a single link to it, and is lost if that is.
    pub(crate) fn fetch(self, url: &str) -> Vec<String> {
        let Some(page) = url.strip_prefix(PREFIX).and_then(|page| page.parse::<u64>().ok()) else {
            return Vec::new();
        };
        let down = [2 * page + 1, 2 * page + 2].into_iter().filter(|&page| page < self.pages);
        let anywhere = (0..2).map(|i| mix(2 * page + i) % self.pages);
        down.chain(anywhere).map(Self::url).collect()
    }
}

/// The finisher of `SplitMix64`.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
