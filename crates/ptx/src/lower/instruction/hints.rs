//! Modifiers that lowering may leave unread, because what an instruction leaves in registers and memory does not hang on them. Reviewed one by
//! one: a word that is not here and that nobody reads makes its instruction one that executors lack.

use crate::isa::Opcode;

/// Whether nothing hangs on `word`.
pub(in crate::lower) fn is_hint(opcode: Opcode, word: &str) -> bool {
    use Opcode::*;
    match (opcode, word) {
        // Where caches keep a line and for how long (PTX ISA 9.7.9.1, 9.7.9.2); the policy operand is read with the operands.
        _ if word.starts_with("L1::") || word.starts_with("L2::") => true,
        (_, "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" | "L1" | "L2") => true,
        // What a policy says of lines (9.7.9.18): nothing reads it.
        (Createpolicy, _) => true,
        // A type that all operands of the form have, so that it chooses nothing.
        (_, "b8" | "b16" | "b32" | "b64" | "b128" | "u32" | "pred") => true,
        // Promises that the threads of a warp come to the instruction together (9.7.12, 9.7.13): it works without.
        (_, "uni" | "aligned") => true,
        // The other of two words, when lowering has asked for the first.
        (Bar | Barrier, "sync" | "or" | "wait")
        | (Match, "any")
        | (Dp2a | Clmad, "lo")
        | (Shf, "r")
        | (Membar, "sys") => true,
        (Suld | Sust | Sured, "b") | (Mbarrier, "complete_tx" | "arrive" | "layout::v0") => true,
        // No operation reports anything that would keep one phase of an mbarrier from ending with the other (9.7.13.15.5 of PTX ISA 9.3).
        (Mbarrier, "phase_type::primary" | "phase_type::conditional") => true,
        // The only barriers that `bar` has without `.warp` are those of the CTA.
        (Bar | Barrier, "cta") => true,
        // The only version of the function (9.7.3.15 to 9.7.3.22).
        (Rsqrt | Sin | Cos | Lg2 | Ex2 | Tanh, "approx") => true,
        // All memory is in one proxy here, and each fence orders everything (9.7.13.4).
        (Fence | Membar, "alias" | "async" | "async::generic" | "tensormap::generic" | "sync_restrict::read") => true,
        (Fence | Membar, "async.global" | "async.shared::cta" | "async.shared::cluster") => true,
        (
            Fence,
            "global" | "shared::cta" | "shared::cluster" | "acquire" | "release" | "cta" | "cluster" | "gpu" | "sys",
        ) => true,
        (Fence, "sync_restrict::shared::cluster" | "sync_restrict::shared::cta") => true,
        // How many registers threads have, and when a dependent grid may start, changes no value (9.7.19.4, 9.7.19.5).
        (Setmaxnreg, "inc" | "dec" | "sync") | (Griddepcontrol, "launch_dependents") => true,
        // Of `prefetch`, that it is one of a tensor map, and that an address may be none (9.7.9.15): none is looked at.
        (Prefetch, "tensormap" | "valid_addr") => true,
        // That nobody writes what is loaded while the kernel runs (9.7.9.8).
        (Ld, "proxy::readonly") => true,
        // The operands say it: which level, if not the base; and of copies, how completion is told.
        (Txq, "level") | (Tex, "base") | (Cp, "bulk_group" | "mbarrier::complete_tx::bytes") => true,
        // What is not `.relaxed` of a scope, and what a wait for all that a group has done waits for too.
        (Cp, "weak" | "sync_restrict::proxy::async") => true,
        // Tile is what is not `.im2col`, and the space of an asynchronous copy, store or reduction is the only one that its form has.
        (Cp, "bulk" | "tile" | "shared::cluster") | (St | Red, "mbarrier::complete_tx::bytes" | "shared::cluster") => {
            true
        }
        // Which mbarriers of a pair of CTAs may count the bytes: all may (9.7.9.25.5). How a row is found is said by the number of coordinates.
        (Cp, "cta_group::1" | "cta_group::2") => true,
        // Device memory needs no accesses of another kind, and asynchronous ones are done when they are issued (9.7.9.12, 9.7.13.7).
        (St | Red, "async" | "mmio") => true,
        // The responses that launches' cancellations give are made at once (9.7.13.16, 9.7.13.17).
        (Clusterlaunchcontrol, "try_cancel" | "async" | "shared::cta" | "mbarrier::complete_tx::bytes") => true,
        (Clusterlaunchcontrol, "query_cancel" | "get_first_ctaid" | "v4") => true,
        // Others are to see what is stored when the mbarrier says so, whatever the order and the scope (9.7.9.12, 9.7.9.13, 9.7.13.7).
        (St | Red, "weak" | "relaxed" | "cluster" | "shared::cta") => true,
        // `tensormap` has one shape of map and one order of proxies (9.7.9.26, 9.7.9.27), and everything orders everything here.
        (Tensormap, "replace" | "tile" | "b1024" | "global" | "shared::cta" | "tensormap::generic" | "release") => true,
        (Tensormap, "cta" | "cluster" | "gpu" | "sys" | "sync") => true,
        // All that `cp` is (9.7.9.25), the only spaces of a copy that is not bulk, and the only addition of halves.
        (Cp, "async" | "arrive" | "shared" | "shared::cta" | "global" | "noftz") => true,
        // Matrix instructions have no form without `.sync`; `movmatrix` has one shape.
        (Wmma | Mma | Ldmatrix | Stmatrix | Movmatrix | Wgmma, "sync") | (Movmatrix, "m8n8" | "trans") => true,
        // Of matrix instructions, the other of several words: the product, the fragment that is stored, the first of counts and operations.
        (Wmma, "mma" | "d")
        | (Wmma | Mma, "xor")
        | (Wgmma, "mma_async" | "and" | "popc")
        | (Ldmatrix | Stmatrix, "x1" | "b8x16") => true,
        _ => false,
    }
}
