//! Building a window.

use super::even::{self, EvenWindow};
use super::spans::{self, SpanWindow};
use super::table::Table;
use super::{Form, Window, WindowBloomFilter};
use crate::{DigestFunction, Error};

/// Sizes and builds a [`WindowBloomFilter`] from a window, its rate and other options.
///
/// # Examples
///
/// ```
/// use mayhap::WindowBloomFilter;
///
/// // Whatever was seen in the last hour, in milliseconds; about a million keys.
/// let seen = WindowBloomFilter::builder()
///     .window_time(3_600_000, 1_000_000)
///     .target_fpp(0.01)
///     .build()?;
/// assert_eq!(seen.num_bytes(), 2_749_504);
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct WindowBuilder {
    window: Option<Window>,
    target_fpp: Option<f64>,
    digest_function: DigestFunction,
    max_bytes: u64,
}

impl WindowBuilder {
    pub(super) fn new() -> Self {
        let digest_function = DigestFunction::default();
        Self { window: None, target_fpp: None, digest_function, max_bytes: u64::MAX }
    }

    /// Remembers at least the last `items` insertions.
    pub fn window_items(mut self, items: u64) -> Self {
        self.window = Some(Window::Items(items));
        self
    }

    /// Remembers at least the keys of the last `span`, in any unit, such as milliseconds.
    ///
    /// `expected_items` is the largest number of keys in a span, in bursts of any kind. If more
    /// arrive, the rate holds and the oldest are forgotten early
    /// ([`WindowBloomFilter::forgotten_early`]); then keys repeated within an eighth of the span do
    /// not count.
    pub fn window_time(mut self, span: u64, expected_items: u64) -> Self {
        self.window = Some(Window::Time { span, expected_items });
        self
    }

    setters! {
        /// p: the false-positive probability to keep at the highest load, above 0 and below 1.
        target_fpp: f64,
    }

    digest_setters!();

    /// Bytes that the window will take.
    ///
    /// # Errors
    ///
    /// Same as [`WindowBuilder::build`], except for memory limits.
    pub fn num_bytes(&self) -> Result<u64, Error> {
        Ok(self.solve()?.num_bytes())
    }

    fn solve(&self) -> Result<Solved, Error> {
        let missing = |parameter| Error::Missing { parameter };
        let window = self.window.ok_or(missing("window_items or window_time"))?;
        let target_fpp = self.target_fpp.ok_or(missing("target_fpp"))?;
        let (plan, (num_rows, num_hashes)) = match window {
            Window::Time { span, expected_items } => {
                let plan = spans::Plan::new(span, expected_items)?;
                (Cut::Spans(plan), plan.solve(target_fpp)?)
            }
            Window::Items(_) => {
                let plan = even::Plan::new(window)?;
                (Cut::Even(plan), plan.solve(target_fpp)?)
            }
        };
        Ok(Solved { plan, num_rows, num_hashes, target_fpp })
    }

    /// Sizes the window and allocates it, zeroed.
    ///
    /// # Errors
    ///
    /// [`Error::Missing`] without a window or a rate; [`Error::ZeroItems`] for zero keys;
    /// [`Error::OutOfRange`] for a span of 0; [`Error::FppOutOfRange`]; [`Error::FppUnreachable`];
    /// [`Error::TooLarge`] above [`WindowBuilder::max_bytes`]; [`Error::OutOfMemory`].
    pub fn build(self) -> Result<WindowBloomFilter, Error> {
        let solved = self.solve()?;
        Error::check_limit("filter bytes", self.max_bytes, solved.num_bytes())?;
        let Solved { plan, num_rows, num_hashes, target_fpp } = solved;
        let form = match plan {
            Cut::Even(plan) => Form::Even(EvenWindow::empty(plan, num_rows, num_hashes)?),
            Cut::Spans(plan) => Form::Spans(SpanWindow::empty(plan, num_rows, num_hashes)?),
        };
        Ok(WindowBloomFilter { form, target_fpp, digest_function: self.digest_function })
    }
}

/// The division of a window into generations.
#[derive(Debug, Clone, Copy)]
enum Cut {
    Even(even::Plan),
    Spans(spans::Plan),
}

/// A window that has been sized but not built.
#[derive(Debug, Clone, Copy)]
struct Solved {
    plan: Cut,
    num_rows: u64,
    num_hashes: u32,
    target_fpp: f64,
}

impl Solved {
    const fn num_bytes(&self) -> u64 {
        let blocks = match self.plan {
            Cut::Even(_) => Table::<u16>::blocks_of(self.num_rows),
            Cut::Spans(_) => Table::<u64>::blocks_of(self.num_rows),
        };
        blocks * 64
    }
}
