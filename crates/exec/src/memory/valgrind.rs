//! Whether the process runs on valgrind, which keeps a record of every page of every mapping, whether or not anybody touches it.

/// `VG_USERREQ__RUNNING_ON_VALGRIND` of valgrind's client requests.
const RUNNING_ON_VALGRIND: u64 = 0x1001;

/// Asks with a sequence of instructions that does nothing on a processor, and that valgrind takes for a question (`valgrind.h`, client requests).
#[cfg(target_arch = "x86_64")]
pub(super) fn runs_here() -> bool {
    let request = [RUNNING_ON_VALGRIND, 0, 0, 0, 0, 0];
    let mut answer = 0_u64;
    // SAFETY: the rotations add up to a whole turn of a register, and the exchange is one with itself; valgrind reads the request and writes the answer.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") request.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer != 0
}

/// As above.
#[cfg(target_arch = "aarch64")]
pub(super) fn runs_here() -> bool {
    let request = [RUNNING_ON_VALGRIND, 0, 0, 0, 0, 0];
    let mut answer = 0_u64;
    // SAFETY: as above.
    unsafe {
        std::arch::asm!(
            "ror x12, x12, #3", "ror x12, x12, #13", "ror x12, x12, #51", "ror x12, x12, #61", "orr x10, x10, x10",
            in("x4") request.as_ptr(),
            inout("x3") answer,
            options(nostack),
        );
    }
    answer != 0
}

/// Not known.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn runs_here() -> bool {
    let _ = RUNNING_ON_VALGRIND;
    false
}
