//! Whether a program looks at what a call returned: by the code behind the call.
//!
//! The result is in `rax` (System V ABI 3.2.3). Code that reads it before it is overwritten, on some way, has looked at it; where it returns with it, the
//! caller's code counts. What cannot be followed, such as a jump through a table, counts as a look.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, Register};

/// Instructions that are followed.
const FOLLOWED: usize = 64;
/// The longest instruction.
const LONGEST: usize = 15;

/// Whether nobody looks at the result of a call that returns to the first of these addresses, which returns to the second, and so on.
pub(super) fn is_dropped(returns: &[u64]) -> bool {
    let Ok(memory) = File::open("/proc/self/mem") else { return false };
    is_dropped_in(returns, |address, code| memory.read_at(code, address).unwrap_or(0))
}

fn is_dropped_in(returns: &[u64], read: impl Fn(u64, &mut [u8]) -> usize) -> bool {
    let Some(&first) = returns.first() else { return false };
    let mut factory = InstructionInfoFactory::new();
    // Where to go on, and in which of the callers.
    let mut ways = vec![(first, 0)];
    let mut seen = Vec::new();
    while let Some((address, depth)) = ways.pop() {
        if seen.contains(&(address, depth)) {
            continue;
        }
        if seen.len() >= FOLLOWED {
            return false;
        }
        seen.push((address, depth));
        let mut code = [0; LONGEST];
        let len = read(address, &mut code);
        let instruction = Decoder::with_ip(64, &code[..len], address, DecoderOptions::NONE).decode();
        if instruction.is_invalid() {
            return false;
        }
        let overwritten = match effect(&mut factory, &instruction) {
            Effect::Looks => return false,
            Effect::Overwrites => true,
            Effect::Nothing => false,
        };
        let next = instruction.next_ip();
        match instruction.flow_control() {
            // A function that is called leaves its own result there.
            FlowControl::Call | FlowControl::IndirectCall => {}
            _ if overwritten => {}
            FlowControl::Next => ways.push((next, depth)),
            FlowControl::UnconditionalBranch => ways.push((instruction.near_branch_target(), depth)),
            FlowControl::ConditionalBranch => ways.extend([(next, depth), (instruction.near_branch_target(), depth)]),
            FlowControl::Return => match returns.get(depth + 1) {
                Some(&caller) => ways.push((caller, depth + 1)),
                None => return false,
            },
            _ => return false,
        }
    }
    true
}

enum Effect {
    Looks,
    Overwrites,
    Nothing,
}

/// What an instruction does with the result.
fn effect(factory: &mut InstructionInfoFactory, instruction: &Instruction) -> Effect {
    let mut effect = Effect::Nothing;
    for used in factory.info(instruction).used_registers() {
        if used.register().full_register() != Register::RAX {
            continue;
        }
        match used.access() {
            OpAccess::None | OpAccess::NoMemAccess => {}
            // The upper half goes with the lower one, but no other part does.
            OpAccess::Write if matches!(used.register(), Register::RAX | Register::EAX) => effect = Effect::Overwrites,
            OpAccess::Write | OpAccess::CondWrite => {}
            _ => return Effect::Looks,
        }
    }
    effect
}

#[cfg(test)]
mod tests {
    use super::is_dropped_in;

    /// Code at 0x1000, with its callers' return addresses in it.
    fn dropped(code: &[u8], returns: &[u64]) -> bool {
        is_dropped_in(returns, |address, into| {
            let rest = address.checked_sub(0x1000).and_then(|at| code.get(at as usize..)).unwrap_or_default();
            let len = rest.len().min(into.len());
            into[..len].copy_from_slice(&rest[..len]);
            len
        })
    }

    #[test]
    fn results_are_looked_at_or_not() {
        let looked = |code: &[u8]| !dropped(code, &[0x1000]);
        // test eax, eax; mov [rbp-4], eax; mov ebx, eax; and code that cannot be read, or ends with a jump to anywhere.
        for code in [&[0x85, 0xc0][..], &[0x89, 0x45, 0xfc], &[0x89, 0xc3], &[], &[0xff, 0xe1]] {
            assert!(looked(code), "{code:x?}");
        }
        // xor eax, eax; mov eax, 1; mov rdi, rbx and call; lea rax, [rbx].
        for code in [&[0x31, 0xc0][..], &[0xb8, 1, 0, 0, 0], &[0x48, 0x89, 0xdf, 0xe8, 0, 0, 0, 0], &[0x48, 0x8d, 0x03]]
        {
            assert!(!looked(code), "{code:x?}");
        }
        // mov al, 0 leaves the rest; cmove eax, ebx may leave it.
        assert!(looked(&[0xb0, 0, 0x85, 0xc0]) && looked(&[0x0f, 0x44, 0xc3, 0x31, 0xc0]));
    }

    #[test]
    fn all_ways_and_all_callers_count() {
        // test ebx, ebx; je +2; xor eax, eax; then test eax, eax, or xor eax, eax.
        let jump = [0x85, 0xdb, 0x74, 2, 0x31, 0xc0];
        assert!(!dropped(&[&jump[..], &[0x85, 0xc0]].concat(), &[0x1000]));
        assert!(dropped(&[&jump[..], &[0x31, 0xc0]].concat(), &[0x1000]));
        // ret, and the caller: test eax, eax, or a call.
        assert!(!dropped(&[0xc3, 0x85, 0xc0], &[0x1000, 0x1001]));
        assert!(dropped(&[0xc3, 0xe8, 0, 0, 0, 0], &[0x1000, 0x1001]));
        assert!(!dropped(&[0xc3], &[0x1000]));
        // A loop without an end.
        assert!(dropped(&[0xeb, 0xfe], &[0x1000]));
    }
}
