//! The limit of kernels: everything that the CPU has, or less if `MAYHAP_KERNEL` is set.

/// Instruction sets that kernels are written for, each of which includes the previous ones on its
/// architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum InstructionSet {
    /// The baseline that every CPU of the target has: the definition of all kernels.
    Scalar,
    /// NEON, on ARM.
    Neon,
    /// AVX2 with BMI 1 and 2.
    Avx2,
    /// AVX-512 with F, BW, DQ and VL.
    Avx512,
}

impl InstructionSet {
    /// The instruction set of the kernel with this name.
    pub(in crate::simd) fn of_kernel(name: &str) -> Self {
        match name {
            "avx512" => Self::Avx512,
            "avx2" => Self::Avx2,
            "neon" => Self::Neon,
            _ => Self::Scalar,
        }
    }
}

/// Whether kernels of this set may be used. The environment is read once, by the first filter.
#[cfg(feature = "std")]
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(loom, shuttle))))]
pub(in crate::simd) fn allows(set: InstructionSet) -> bool {
    use std::sync::OnceLock;
    static MOST: OnceLock<InstructionSet> = OnceLock::new();
    set <= *MOST.get_or_init(|| of_name(std::env::var("MAYHAP_KERNEL").ok().as_deref()))
}

/// Whether kernels of this set may be used: without an environment, all.
#[cfg(not(feature = "std"))]
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(loom, shuttle))))]
pub(in crate::simd) fn allows(set: InstructionSet) -> bool {
    set <= InstructionSet::Avx512
}

/// The limit set by the variable; any other value sets none.
#[cfg_attr(not(feature = "std"), allow(dead_code, reason = "there is no environment"))]
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(loom, shuttle))))]
fn of_name(name: Option<&str>) -> InstructionSet {
    match name {
        Some(name @ ("scalar" | "neon" | "avx2")) => InstructionSet::of_kernel(name),
        _ => InstructionSet::Avx512,
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_name_allows_itself_and_what_is_below() {
        assert!(of_name(Some("scalar")) < InstructionSet::Neon);
        assert!(
            of_name(Some("avx2")) >= InstructionSet::Avx2
                && of_name(Some("avx2")) < InstructionSet::Avx512
        );
        for name in [None, Some(""), Some("avx512"), Some("AVX2"), Some("sse")] {
            assert_eq!(of_name(name), InstructionSet::Avx512, "{name:?}");
        }
    }
}
