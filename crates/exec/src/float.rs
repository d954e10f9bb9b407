//! The host's floating-point mode while kernels run.
//!
//! Executors count on round to nearest, denormals kept and no traps. A host thread that helps with a grid may have set
//! something else, and new threads inherit their creator's mode.

/// Holds the default mode until dropped, then restores the one found.
pub(crate) struct DefaultMode {
    found: u64,
}

impl DefaultMode {
    pub(crate) fn set() -> DefaultMode {
        let found = read();
        if found != DEFAULT {
            write(DEFAULT);
        }
        DefaultMode { found }
    }
}

impl Drop for DefaultMode {
    fn drop(&mut self) {
        if read() != self.found {
            write(self.found);
        }
    }
}

/// MXCSR with all exceptions masked; its flag bits are clear.
#[cfg(target_arch = "x86_64")]
const DEFAULT: u64 = 0x1f80;
/// FPCR: no traps, round to nearest.
#[cfg(not(target_arch = "x86_64"))]
const DEFAULT: u64 = 0;

#[cfg(target_arch = "x86_64")]
fn read() -> u64 {
    let mut mode = 0u32;
    // SAFETY: stores MXCSR to a local variable.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut mode, options(nostack, preserves_flags)) };
    u64::from(mode)
}

#[cfg(target_arch = "x86_64")]
fn write(mode: u64) {
    let mode = mode as u32;
    // SAFETY: a value that is the default one or was read from the register: no reserved bit is set. Rust code that
    // computes with floats runs only after the default mode is back, or as the host program has it.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &mode, options(nostack, preserves_flags, readonly)) };
}

#[cfg(target_arch = "aarch64")]
fn read() -> u64 {
    let mode: u64;
    // SAFETY: reads FPCR.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) mode, options(nomem, nostack, preserves_flags)) };
    mode
}

#[cfg(target_arch = "aarch64")]
fn write(mode: u64) {
    // SAFETY: a value that is the default one or was read from the register.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) mode, options(nomem, nostack, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn read() -> u64 {
    DEFAULT
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn write(_: u64) {}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_mode_is_put_aside_and_restored() {
        let flush_to_zero = DEFAULT | 0x8040;
        let before = read();
        write(flush_to_zero);
        {
            let _mode = DefaultMode::set();
            assert_eq!(read(), DEFAULT);
        }
        let after = read();
        write(before);
        assert_eq!(after, flush_to_zero);
    }
}
