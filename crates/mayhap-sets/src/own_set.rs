//! A filter of any kind in memory, with what lines and files need beyond it.

use crate::capabilities::Capabilities;
use crate::error::{Error, Refusal};
use crate::fullness::Forgotten;
use crate::key_set::{Contents, KeySet};
use crate::keys::Keys;
use crate::layout_name::LayoutName;
use crate::measurements::{Detail, Measurements};
use crate::numbers::Numbers;
use crate::own::clock::Clock;
use crate::own::details;
use crate::state::{State, whole};
use mayhap::native::{Header, Native};
use mayhap::set::{ByBits, Repeats, Set};
use mayhap::sizing::Shrink;
use mayhap::{
    Age, AnyFilter, Bitmap, Block, CompactFilter, CountingBloomFilter, Digest, DigestFunction,
    Estimate, FilterParams, OwnedBlocks, ScalableBloomFilter, Window, WindowBloomFilter,
};
use mayhap_keys::KeyOptions;
use mayhap_store::{Image, Memory, Record};
use mayhap_units::number::counted;
use mayhap_units::span::format_millis;
use mayhap_units::window::WindowSize;
use std::cell::OnceCell;

/// A filter of any kind in memory: one [`KeySet`] for all kinds of mayhap's own.
///
/// As a [`Memory`] it is kept in step with its file by [`mayhap_store::Session`].
///
/// # Examples
///
/// ```
/// use mayhap::CountingBloomFilter;
/// use mayhap_sets::{KeySet, OwnSet};
///
/// let filter = CountingBloomFilter::builder().expected_items(1000).target_fpp(0.01).build()?;
/// let set = OwnSet::from(filter);
/// assert!(set.capabilities().removes && set.name() == "counting");
/// # Ok::<(), mayhap::Error>(())
/// ```
#[derive(Debug)]
pub struct OwnSet {
    set: Box<dyn Set>,
    function: DigestFunction,
    can: mayhap::set::Capabilities,
    clock: Clock,
    /// How many jumps of the clock were spoken of.
    jumps_said: u64,
    /// The limit to the growth of a chain that is kept in its file, if it has one.
    max_bytes: Option<u64>,
    /// The count at which it is full, computed at the first request.
    full_at: OnceCell<Option<u64>>,
}

impl<S: Set + 'static> From<S> for OwnSet {
    /// A filter whose times, if it has some, are in a unit of which nothing is known.
    fn from(set: S) -> Self {
        Self::new(Box::new(set), false)
    }
}

/// The limit to the growth of a chain.
fn growth_limit(set: &dyn Set) -> Option<u64> {
    set.as_any().downcast_ref().map(ScalableBloomFilter::max_bytes)
}

impl OwnSet {
    /// A filter whose times are in milliseconds since 1970 if `unix_ms` is set, in a unit of which
    /// nothing is known otherwise. The limit to the growth of a chain is the one that its file
    /// keeps.
    pub fn new(set: Box<dyn Set>, unix_ms: bool) -> Self {
        let (can, function) = (set.capabilities(), *set.digest_function());
        let max_bytes = growth_limit(&*set);
        let (clock, full_at) = (Clock { unix_ms }, OnceCell::new());
        Self { set, function, can, clock, jumps_said: 0, max_bytes, full_at }
    }

    /// A chain that is never saved: its rate is that of its count, since what each bit says costs
    /// as much as filling it.
    pub fn unsaved(chain: ScalableBloomFilter) -> Self {
        Self { max_bytes: None, ..chain.into() }
    }

    fn kind<F: 'static>(&self) -> Option<&F> {
        self.set.as_any().downcast_ref()
    }

    /// As a plain filter, which can be queried one key at a time.
    pub fn plain_mut(&mut self) -> Option<&mut AnyFilter> {
        self.set.as_any_mut().downcast_mut()
    }

    /// The kind with its size; `None` for plain filters, which have a layout.
    pub fn layout_name(&self) -> Option<LayoutName> {
        let Some(filter) = self.kind::<WindowBloomFilter>() else {
            return LayoutName::parse(self.set.kind().name()).ok();
        };
        Some(LayoutName::Window(match filter.window() {
            Window::Time { span, .. } => WindowSize::Millis(span),
            _ => WindowSize::Items(filter.expected_items()),
        }))
    }

    /// How keys are cut, with what the kind itself says in its file.
    pub fn key_options(&self, options: KeyOptions) -> KeyOptions {
        let unix_ms = if self.can.forgets { self.clock.unix_ms } else { options.unix_ms };
        KeyOptions { unix_ms, ..options }
    }

    /// Refuses to grow beyond this many bytes, or more than its file allows, if it grows.
    pub fn set_max_bytes(&mut self, max_bytes: u64) {
        self.limit_growth(Some(max_bytes.min(self.max_bytes.unwrap_or(u64::MAX))));
    }

    fn limit_growth(&mut self, limit: Option<u64>) {
        let Some(limit) = limit else { return };
        if let Some(chain) = self.set.as_any_mut().downcast_mut::<ScalableBloomFilter>() {
            chain.set_max_bytes(limit);
        } else if let Some(compact) = self.set.as_any_mut().downcast_mut::<CompactFilter>() {
            compact.set_max_bytes(limit);
        }
    }

    /// Does something with the filter while it has the limit of its file.
    fn with_limit_of_file<T>(&mut self, call: impl FnOnce(&mut dyn Set) -> T) -> T {
        let limit = growth_limit(&*self.set);
        self.limit_growth(self.max_bytes);
        let result = call(&mut *self.set);
        self.limit_growth(limit);
        result
    }

    /// The time in the filter's unit; reads the clock for windows alone.
    fn time(&self) -> u64 {
        if self.can.forgets { self.clock.time(|| self.set.now()) } else { 0 }
    }

    /// How keys become digests.
    pub fn function(&self) -> &DigestFunction {
        &self.function
    }

    /// Its measurements. Reads all bits.
    pub fn state(&self) -> State {
        let numbers = self.set.numbers();
        let bits = match self.kind::<ScalableBloomFilter>() {
            Some(chain) if self.max_bytes.is_none() => ByBits {
                fill_ratio: chain.fill_ratio(),
                estimated_fpp: numbers.expected_fpp,
                estimated_items: None,
                distinct_items: numbers.distinct_items,
                health: chain.health(),
            },
            _ => self.set.by_bits(),
        };
        State {
            layout: self.set.name(),
            num_bytes: numbers.num_bytes,
            items: numbers.inserted_items,
            // Where repeats count too, how they were inserted is not known.
            distinct_items: whole(bits.distinct_items).filter(|_| !self.can.renews),
            expected_items: Some(numbers.expected_items).filter(|_| !self.can.grows),
            target_fpp: numbers.target_fpp,
            estimated_fpp: bits.estimated_fpp,
            fill_ratio: bits.fill_ratio,
            health: bits.health,
            estimated_items: bits.estimated_items.zip(self.params().copied()),
        }
    }

    /// A compact filter with room for twice as many keys and the same copies, from itself alone. It
    /// promises the rate that it keeps: twice as high, unless it was made with bits to spare.
    ///
    /// # Errors
    ///
    /// [`mayhap::Error::NotOfKind`] for other kinds; those of [`CompactFilter::doubled`].
    pub fn doubled(&self) -> Result<Self, mayhap::Error> {
        let (operation, kind) = ("double", self.set.kind().name());
        let filter: &CompactFilter =
            self.kind().ok_or(mayhap::Error::NotOfKind { operation, kind })?;
        let larger = filter.doubled()?;
        let (params, mut fields) = (larger.params(), Native::fields(&larger));
        let kept_fpp = params.expected_fpp(params.expected_items());
        fields.target_fpp = fields.target_fpp.max(kept_fpp);
        let segments = Native::segments(&larger).into_iter().map(OwnedBlocks::copy_of);
        let segments = segments.collect::<Result<_, _>>()?;
        let promising = CompactFilter::from_segments(&fields, self.function, segments)?;
        Ok(Self::new(Box::new(promising), self.clock.unix_ms))
    }

    /// [`Set::shrunk`] as a set of this crate.
    ///
    /// # Errors
    ///
    /// As [`Set::shrunk`].
    pub fn shrunk(&self, how: Shrink) -> Result<Option<Self>, mayhap::Error> {
        Ok(self.set.shrunk(how)?.map(|set| Self::new(set, self.clock.unix_ms)))
    }

    /// The different fingerprints of a compact filter: its keys, less those that share one.
    pub fn distinct_fingerprints(&self) -> Option<u64> {
        self.kind().map(CompactFilter::distinct_fingerprints)
    }

    /// The parameters of a kind whose bits, or counters, are those of one filter.
    fn params(&self) -> Option<&FilterParams> {
        match self.kind::<AnyFilter>() {
            Some(filter) => Some(filter.params()),
            None => self.kind().map(CountingBloomFilter::params),
        }
    }

    /// An estimate of the distinct keys inserted by the bits too, where these say more than the
    /// count. Reads all of them.
    pub fn distinct_by_bits(&self) -> Option<Estimate> {
        self.kind::<AnyFilter>().map(AnyFilter::distinct_items)
    }

    /// A warning about the jumps of the clock since the last call.
    fn clock_warning(&mut self) -> Option<String> {
        let window = self.set.as_any().downcast_ref::<WindowBloomFilter>()?;
        let (jumps, clock) = (window.clock_jumps(), self.clock);
        if jumps.count == std::mem::replace(&mut self.jumps_said, jumps.count) {
            return None;
        }
        let mut text = format!(
            "the clock is {} behind the latest time of the window; if it stays there for {}, that \
             time was wrong, and is set back",
            clock.span(jumps.ahead),
            clock.span(window.generation_size())
        );
        if jumps.restored > 0 {
            text += "; remembered again of what it made forgotten: ";
            text += &counted(jumps.restored, "key");
        }
        Some(text)
    }

    /// The time that a log needs with this many of the digests inserted last: the last one given to
    /// a window of time; how many keys had come to a window of keys; 0 for all others.
    pub fn log_time(&self, digests: usize) -> u64 {
        self.set.moment_of_last(digests)
    }

    /// Whether keys that are not inserted move it on, so that a log needs the time even where it
    /// has no digest for it: a window of keys in which repeats renew nothing.
    pub fn moves_with_repeats(&self, repeats: Repeats) -> bool {
        let window = self.kind().map(WindowBloomFilter::window);
        repeats == Repeats::Ignore && matches!(window, Some(Window::Items(_)))
    }

    /// Appends the age of each digest's key; `None` for keys that are surely not in it, or if it
    /// does not forget.
    pub fn ages_into(&self, digests: &[Digest], ages: &mut Vec<Option<Age>>) {
        let (now, window) = (self.time(), self.kind::<WindowBloomFilter>());
        let age = |digest: &Digest| window?.age_of_digest_at(*digest, now);
        ages.extend(digests.iter().map(age));
    }

    /// An age as people read it, between its bounds: `150..249` keys, `2.1 h..2.5 h`.
    pub fn age_text(&self, age: &Age) -> String {
        let text = |bound: u64| match self.kind().map(WindowBloomFilter::window) {
            Some(Window::Time { .. }) if self.clock.unix_ms => format_millis(bound),
            _ => bound.to_string(),
        };
        format!("{}..{}", text(age.at_least), text(age.at_most))
    }
}

impl KeySet for OwnSet {
    fn name(&self) -> &'static str {
        self.set.name()
    }

    fn digest_function(&self) -> Option<DigestFunction> {
        Some(self.function)
    }

    fn capabilities(&self) -> Capabilities {
        let (can, window) = (self.can.into(), self.kind().map(WindowBloomFilter::window));
        if !self.clock.unix_ms && matches!(window, Some(Window::Time { .. })) {
            return Capabilities { inserts: Err(Refusal::ForeignTime), ..can };
        }
        can
    }

    fn contains_into(&mut self, keys: Keys<'_>, found: &mut Bitmap) -> Result<(), Error> {
        self.set.contains_into(&keys.digests(&self.function), self.time(), found);
        Ok(())
    }

    fn insert_into(
        &mut self,
        keys: Keys<'_>,
        repeats: Repeats,
        new: &mut Bitmap,
    ) -> Result<(), Error> {
        if self.can.forgets {
            self.set.advance(self.time());
        }
        Ok(self.set.insert_into(&keys.digests(&self.function), repeats, new)?)
    }

    fn remove_into(&mut self, keys: Keys<'_>, removed: &mut Bitmap) -> Result<(), Error> {
        Ok(self.set.remove_into(&keys.digests(&self.function), removed)?)
    }

    fn clear(&mut self) -> Result<(), Error> {
        Ok(self.set.clear()?)
    }

    fn items(&self) -> u64 {
        self.set.inserted_items()
    }

    fn numbers(&self, repeats: Repeats) -> Numbers {
        let mut numbers = Numbers::from(self.set.numbers());
        numbers.full_at = *self.full_at.get_or_init(|| self.set.inserted_when_full());
        if self.can.renews && repeats == Repeats::Renew {
            // Every insertion counts.
            let items = numbers.items as f64;
            numbers.full_at = numbers.capacity;
            numbers.distinct_items = Some(Estimate { items, low: items, high: items });
        }
        numbers.is_hard = numbers.capacity.is_some() && self.kind::<CompactFilter>().is_some();
        if let Some(filter) = self.kind::<AnyFilter>() {
            let warn_at = |items| filter.params().expected_inserted(items).ceil() as u64;
            numbers.warn_at = numbers.warn_at.map(warn_at);
        } else if let Some(window) = self.kind::<WindowBloomFilter>() {
            let expected_items = numbers.expected_items;
            let forgotten = |keys| Forgotten { keys, expected_items };
            numbers.forgotten = window.forgotten_early().map(forgotten);
            numbers.distinct_items = None;
        }
        numbers
    }

    fn measurements(&self) -> Measurements {
        Measurements::Own(self.state())
    }

    fn details(&self) -> Vec<Detail> {
        details::of(&*self.set, self.clock)
    }

    fn warnings(&mut self) -> Vec<String> {
        if self.can.forgets { self.clock_warning().into_iter().collect() } else { Vec::new() }
    }

    fn own(&self) -> Option<&OwnSet> {
        Some(self)
    }

    fn contents(&mut self) -> Option<Contents<'_>> {
        Some(Contents::Own(self))
    }
}

impl Memory for OwnSet {
    fn load(&mut self, image: &Image) -> Result<(), mayhap_store::Error> {
        let wrong_kind = image.header().check_kind(self.set.kind());
        wrong_kind.map_err(|source| {
            let path = image.path().to_owned();
            mayhap_store::Error::Format { path, source }
        })?;
        let key = match self.function {
            DigestFunction::Sip13 { key } => Some(key),
            _ => None,
        };
        let (loaded, limit) = (image.load_set(key)?, growth_limit(&*self.set));
        self.max_bytes = self.max_bytes.and(growth_limit(&*loaded));
        self.set = loaded;
        // That of this run stays.
        if let Some(limit) = limit {
            self.set_max_bytes(limit);
        }
        Ok(())
    }

    fn apply(&mut self, record: &Record<'_>) -> Result<u64, mayhap::Error> {
        if !self.can.inserts {
            return Ok(0);
        }
        if record.time.is_none() && self.can.forgets {
            // A log of 0.1, which has no times: what is replayed is as young as this.
            self.set.advance(self.time());
        }
        // Keys that others inserted stay, whatever the limit of this run.
        self.with_limit_of_file(|set| mayhap_store::apply(set, record))
    }

    fn header(&mut self, key_options: &str) -> Header {
        self.with_limit_of_file(|set| set.header(key_options))
    }

    fn segments(&self) -> Vec<&[Block]> {
        self.set.segments()
    }
}
