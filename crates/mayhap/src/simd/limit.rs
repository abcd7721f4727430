//! The most that kernels may use: everything that the CPU has, or less if `MAYHAP_KERNEL` says so.

/// Instruction sets, each of which includes those before it on its architecture.
#[allow(dead_code, reason = "each architecture has its own")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::simd) enum Level {
    Scalar,
    Neon,
    Avx2,
    Avx512,
}

/// Whether kernels of this level may be used. The environment is read once, by the first filter.
#[cfg(feature = "std")]
pub(in crate::simd) fn allows(level: Level) -> bool {
    use std::sync::OnceLock;
    static MOST: OnceLock<Level> = OnceLock::new();
    level <= *MOST.get_or_init(|| of_name(std::env::var("MAYHAP_KERNEL").ok().as_deref()))
}

/// Whether kernels of this level may be used: without an environment, all.
#[cfg(not(feature = "std"))]
pub(in crate::simd) fn allows(level: Level) -> bool {
    level <= Level::Avx512
}

/// The limit that the variable sets; any other value is none.
#[cfg_attr(not(feature = "std"), allow(dead_code, reason = "there is no environment"))]
fn of_name(name: Option<&str>) -> Level {
    match name {
        Some("scalar") => Level::Scalar,
        Some("neon") => Level::Neon,
        Some("avx2") => Level::Avx2,
        _ => Level::Avx512,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_allows_itself_and_what_is_below() {
        assert!(of_name(Some("scalar")) < Level::Neon);
        assert!(of_name(Some("avx2")) >= Level::Avx2 && of_name(Some("avx2")) < Level::Avx512);
        for name in [None, Some(""), Some("avx512"), Some("AVX2"), Some("sse")] {
            assert_eq!(of_name(name), Level::Avx512, "{name:?}");
        }
    }
}
