//! What processors do otherwise than others that have the same instructions: which way is the faster one there.

use std::sync::OnceLock;

/// What the processor that there is does otherwise than others that have the same instructions, as measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Microarchitecture {
    /// AMD's: foresee no rows that are far apart, and take gathers apart into loads.
    Amd,
    /// Skylake-SP, Cascade Lake and Cooper Lake: gathers are slow, and stores of the rows of tiles past the caches take three times as long as through them.
    SkylakeServer,
    Other,
}

/// That of the processor that there is.
pub(crate) fn microarchitecture() -> Microarchitecture {
    static FOUND: OnceLock<Microarchitecture> = OnceLock::new();
    // Asking takes microseconds in a virtual machine.
    *FOUND.get_or_init(find)
}

#[cfg(target_arch = "x86_64")]
fn find() -> Microarchitecture {
    use std::arch::x86_64::__cpuid;
    /// Family 6, model 0x55 (Intel SDM volume 4, table 2-1).
    const SKYLAKE_SERVER: u32 = 0x5_06_50;
    let maker = __cpuid(0);
    match [maker.ebx, maker.edx, maker.ecx].map(u32::to_le_bytes).as_flattened() {
        b"AuthenticAMD" => Microarchitecture::Amd,
        // Without the stepping.
        b"GenuineIntel" if __cpuid(1).eax & 0x0fff_0ff0 == SKYLAKE_SERVER => Microarchitecture::SkylakeServer,
        _ => Microarchitecture::Other,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn find() -> Microarchitecture {
    Microarchitecture::Other
}
