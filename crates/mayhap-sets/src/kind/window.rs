//! Filters that forget.

use crate::error::{Error, Refusal};
use crate::key_set::{Ages, Contents, Detail, KeySet};
use crate::layout_name::LayoutName;
use crate::state::State;
use mayhap::native::{Header, Native};
use mayhap::sizing::window::spans;
use mayhap::{Age, Bitmap, Block, Digest, DigestFunction, SecretKey, Window, WindowBloomFilter};
use mayhap_keys::KeyOptions;
use mayhap_store::{Image, Record};
use mayhap_units::number::{counted, grouped};
use mayhap_units::span::format_millis;
use std::time::{SystemTime, UNIX_EPOCH};

/// A window, and whether its time is this program's: milliseconds since 1970.
#[derive(Debug)]
pub struct WindowFile {
    filter: WindowBloomFilter,
    unix_ms: bool,
    /// Whether a repeat makes its key young again.
    refresh: bool,
    /// How many jumps of the clock were spoken of.
    jumps_said: u64,
}

/// The time. A clock before 1970 stands still.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl WindowFile {
    /// A filter whose times are in milliseconds since 1970 if `unix_ms` is set, in a unit of which
    /// nothing is known otherwise.
    pub fn new(filter: WindowBloomFilter, unix_ms: bool) -> Self {
        Self { filter, unix_ms, refresh: true, jumps_said: 0 }
    }

    /// The time in the filter's unit: of a unit that is not known, the latest one that was given.
    fn time(&self) -> u64 {
        if self.unix_ms { now() } else { self.filter.now() }
    }

    /// A moment that was, as people say it, if the unit is known. It is ahead only if a clock was
    /// wrong.
    fn moment(&self, then: u64) -> String {
        if self.unix_ms {
            match (now().checked_sub(then), then.saturating_sub(now())) {
                (Some(since), _) => format!("{} ago", format_millis(since)),
                (None, ahead) => format!("{} ahead of this clock", format_millis(ahead)),
            }
        } else {
            format!("tick {}", grouped(then))
        }
    }

    /// What was forgotten early, so far.
    fn forgotten(&self) -> Option<Detail> {
        let keys = self.filter.forgotten_early()?;
        let text = match keys {
            0 => "none early".into(),
            keys => {
                let more = grouped(self.filter.expected_items());
                format!(
                    "{} keys early so far: more than {more} came within the window",
                    grouped(keys)
                )
            }
        };
        Some(Detail::new("forgotten_early", "forgotten", text, keys))
    }

    /// By how much the latest time is ahead of this clock, where that is more than a clock is off.
    fn clock_ahead(&self) -> Option<Detail> {
        let now = self.time();
        let ahead = self.filter.now().checked_sub(now).filter(|_| self.filter.is_ahead_of(now))?;
        let (latest, most) = (self.span(ahead), self.span(self.filter.generation_size()));
        let text =
            format!("{latest} behind; once keys have come for {most}, the window goes by it");
        Some(Detail::new("clock_behind", "clock", text, ahead))
    }

    /// Since when all keys are remembered, where it is not the whole window.
    fn complete_since(&self) -> Option<Detail> {
        let since = self.filter.complete_since()?;
        let text = format!("since {}", self.moment(since));
        Some(Detail::new("complete_since", "complete", text, since))
    }

    /// Time as people say it, if the unit is known.
    fn span(&self, time: u64) -> String {
        if self.unix_ms { format_millis(time) } else { format!("{} ticks", grouped(time)) }
    }
}

impl KeySet for WindowFile {
    fn name(&self) -> &'static str {
        "window"
    }

    fn layout_name(&self) -> Option<LayoutName> {
        Some(match self.filter.window() {
            Window::Time { span, .. } => LayoutName::WindowMillis(span),
            _ => LayoutName::WindowItems(self.filter.expected_items()),
        })
    }

    fn digest_function(&self) -> DigestFunction {
        *self.filter.digest_function()
    }

    fn contains_digests_into(&self, digests: &[Digest], found: &mut Bitmap) -> Result<(), Error> {
        self.filter.contains_digests_at_into(digests, self.time(), found);
        Ok(())
    }

    fn insert_digests_into(&mut self, digests: &[Digest], new: &mut Bitmap) -> Result<(), Error> {
        self.filter.advance(self.time());
        if self.refresh {
            self.filter.insert_digests_into(digests, new);
        } else {
            self.filter.insert_absent_digests_into(digests, new);
        }
        Ok(())
    }

    /// It makes them young again.
    fn repeats_change_it(&self, _absent_only: bool) -> bool {
        self.refresh
    }

    fn stop_refresh(&mut self) -> bool {
        self.refresh = false;
        true
    }

    fn refuses_insert(&self) -> Option<Refusal> {
        let is_known = self.unix_ms || matches!(self.filter.window(), Window::Items(_));
        (!is_known).then_some(Refusal::ForeignTime)
    }

    fn clear(&mut self) -> Result<bool, Error> {
        self.filter.clear();
        Ok(true)
    }

    fn capacity(&self) -> Option<u64> {
        None
    }

    fn expected_items(&self) -> u64 {
        self.filter.expected_items()
    }

    fn items(&self) -> u64 {
        self.filter.inserted_items()
    }

    fn forgotten_early(&self) -> Option<u64> {
        self.filter.forgotten_early()
    }

    fn num_bytes(&self) -> u64 {
        self.filter.num_bytes()
    }

    fn target_fpp(&self) -> f64 {
        self.filter.target_fpp()
    }

    fn expected_fpp(&self) -> f64 {
        self.filter.expected_fpp_now()
    }

    fn state(&self) -> State {
        State {
            layout: self.name(),
            num_bytes: self.num_bytes(),
            items: self.items(),
            distinct_items: None,
            expected_items: Some(self.filter.expected_items()),
            target_fpp: self.target_fpp(),
            estimated_fpp: self.filter.estimated_fpp(),
            fill_ratio: self.filter.fill_ratio(),
            health: self.filter.health(),
        }
    }

    fn details(&self) -> Vec<Detail> {
        let filter = &self.filter;
        let mut details = Vec::new();
        match filter.window() {
            Window::Items(items) => {
                let text = format!(
                    "the last {} keys; older than {} are surely forgotten",
                    grouped(items),
                    grouped(filter.max_age())
                );
                details.push(Detail::new("window_items", "window", text, items));
            }
            Window::Time { span, .. } => {
                let (window, most) = (self.span(span), self.span(filter.max_age()));
                let text = format!("the last {window}; older than {most} is surely forgotten");
                details.push(Detail::new("window_time", "window", text, span));
                let ago = match filter.now() {
                    0 => "nothing was added yet".into(),
                    then if self.unix_ms => format!("last added to {}", self.moment(then)),
                    then => format!("{} was the latest", self.moment(then)),
                };
                details.push(Detail::new("window_now", "time", ago, filter.now()));
                details.extend(self.clock_ahead());
            }
            _ => {}
        }
        details.extend(self.forgotten());
        details.extend(self.complete_since());
        let (generations, size) = (filter.num_generations(), filter.generation_size());
        let text = match (filter.window(), filter.forgotten_early()) {
            (Window::Time { expected_items, .. }, Some(_)) => {
                let items = grouped(spans::generation_items(expected_items));
                format!("up to {generations} of {items} keys or of {}", self.span(size))
            }
            (Window::Time { .. }, None) => format!("{generations} of {}", self.span(size)),
            _ => format!("{generations} of {} keys", grouped(size)),
        };
        details.push(Detail::new("num_generations", "generations", text, generations));
        details.push(Detail::new("generation_size", "", String::new(), size));
        let (rows, k) = (filter.num_rows(), filter.num_hashes());
        let columns = filter.num_bits() / rows;
        let text = format!("{} of {columns} bits, {k} per key", grouped(rows));
        details.push(Detail::new("num_rows", "rows", text, rows));
        details
    }

    fn log_time(&self, digests: usize) -> u64 {
        mayhap_store::Insert::time_of_last(&self.filter, digests)
    }

    fn moves_with_repeats(&self) -> bool {
        !self.refresh && matches!(self.filter.window(), Window::Items(_))
    }

    fn warnings(&mut self) -> Vec<String> {
        let jumps = self.filter.clock_jumps();
        if jumps.count == std::mem::replace(&mut self.jumps_said, jumps.count) {
            return Vec::new();
        }
        let generation = self.span(self.filter.generation_size());
        let mut text = format!(
            "the clock is {} behind the latest time of the window; if it stays there for \
             {generation}, that time was wrong, and is set back",
            self.span(jumps.ahead)
        );
        if jumps.restored > 0 {
            let keys = counted(jumps.restored, "key");
            text += "; remembered again of what it made forgotten: ";
            text += &keys;
        }
        vec![text]
    }

    fn key_options(&self, options: KeyOptions) -> KeyOptions {
        KeyOptions { unix_ms: self.unix_ms, ..options }
    }

    fn ages(&self) -> Option<&dyn Ages> {
        Some(self)
    }

    fn contents(&mut self) -> Option<&mut dyn Contents> {
        Some(self)
    }
}

impl Ages for WindowFile {
    fn ages_into(&self, digests: &[Digest], ages: &mut Vec<Option<Age>>) {
        let now = self.time();
        ages.extend(digests.iter().map(|digest| self.filter.age_of_digest_at(*digest, now)));
    }

    fn age_text(&self, age: &Age) -> String {
        let text = |bound: u64| match self.filter.window() {
            Window::Time { .. } if self.unix_ms => format_millis(bound),
            _ => bound.to_string(),
        };
        format!("{}..{}", text(age.at_least), text(age.at_most))
    }
}

impl Contents for WindowFile {
    fn header(&mut self, key_options: &str) -> Header {
        Header::of(&self.filter, key_options)
    }

    fn segments(&self) -> Vec<&[Block]> {
        self.filter.segments()
    }

    fn load(&mut self, image: &Image, key: Option<SecretKey>) -> Result<(), mayhap_store::Error> {
        self.filter = image.load(key, |_, _| {})?;
        Ok(())
    }

    fn apply(&mut self, record: &Record<'_>) -> Result<u64, mayhap::Error> {
        if record.time.is_none() {
            // A log of 0.1, which has no times: what is replayed is as young as this.
            self.filter.advance(self.time());
        }
        mayhap_store::apply(&mut self.filter, record)
    }
}
