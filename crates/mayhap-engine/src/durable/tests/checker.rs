//! The model checkers: how they run a scenario, and with how many threads.

#[cfg(loom)]
mod checked {
    pub(in crate::durable::tests) use loom::thread::spawn;

    /// The tested numbers of threads.
    pub(in crate::durable::tests) const THREADS: std::ops::RangeInclusive<usize> = 2..=2;

    pub(in crate::durable::tests) fn model(
        preemptions: usize,
        check: impl Fn() + Send + Sync + Clone + 'static,
    ) {
        let mut builder = loom::model::Builder::new();
        let bound = std::env::var("PREEMPTIONS").map(|text| text.parse().expect("a number"));
        builder.preemption_bound = Some(bound.unwrap_or(preemptions));
        // Per execution, including the opening of the folder.
        builder.max_branches = 100_000;
        builder.check(check);
    }
}

#[cfg(shuttle)]
mod checked {
    use shuttle::scheduler::{PctScheduler, RandomScheduler};
    pub(in crate::durable::tests) use shuttle::thread::spawn;
    use shuttle::{Config, Runner};

    /// The tested numbers of threads.
    pub(in crate::durable::tests) const THREADS: std::ops::RangeInclusive<usize> = 3..=7;
    /// Thread switches made by PCT.
    const DEPTH: usize = 3;

    fn number(name: &str, default: u64) -> u64 {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    }

    pub(in crate::durable::tests) fn model(
        _: usize,
        check: impl Fn() + Send + Sync + Clone + 'static,
    ) {
        let (schedules, seed) = (number("SCHEDULES", 100) as usize, number("SEED", 1));
        let mut config = Config::new();
        config.stack_size = 1 << 18;
        config.max_steps = shuttle::MaxSteps::FailAfter(1 << 20);
        let random = RandomScheduler::new_from_seed(seed, schedules.div_ceil(2));
        Runner::new(random, config.clone()).run(check.clone());
        let pct = PctScheduler::new_from_seed(seed, DEPTH, schedules / 2);
        Runner::new(pct, config).run(check);
    }
}

pub(super) use checked::{THREADS, model, spawn};
