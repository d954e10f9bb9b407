//! What LLVM does to a kernel's text, by how long it is: compiling is waited for, and never to take minutes.

use std::ffi::{CStr, c_int};

/// What LLVM is told once, behind a name for itself: not to look for what masks' registers could do in place of general ones, a fifth of code generation
/// for a stencil. Code of seven kernels of the benchmarks is as long without it, to the byte.
pub(crate) const OPTIONS: [&CStr; 2] = [c"warploom", c"-disable-x86-domain-reassignment"];

/// Passes of LLVM, and how hard code generation tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effort {
    /// In the text form of `opt -passes`, as the others; none if empty. Behind these it is known how much there is for the others.
    pub(crate) beginning: &'static CStr,
    pub(crate) passes: &'static CStr,
    /// `LLVMCodeGenOptLevel`
    pub(crate) level: c_int,
}

/// What -O2 does that kernels gain by, in its order. Vectors are written out already, and functions are either regions, which are called once, or out of the way
/// on purpose. What is left out takes half the time of -O2: passes between functions, vectorisers, and GVN, which takes a quarter of it by itself and finds
/// nothing in kernels that EarlyCSE does not (2 % fewer instructions without it). Nor does looking
/// for dead stores change the code of 12 kernels, or three of five rounds of InstCombine its length: both were an eighth of what was left.
const FULL: Effort = Effort {
    beginning: c"function(simplifycfg,sroa<modify-cfg>)",
    passes: c"function(early-cse),always-inline,\
        cgscc(inline,function(\
            sroa<modify-cfg>,early-cse<memssa>,jump-threading,simplifycfg,instcombine<no-verify-fixpoint>,simplifycfg,reassociate,\
            loop-mssa(loop-instsimplify,loop-simplifycfg,licm<no-allowspeculation>,loop-rotate,licm<allowspeculation>,\
                simple-loop-unswitch<no-nontrivial;trivial>),\
            simplifycfg,loop(indvars,loop-deletion,loop-unroll-full),\
            sroa<modify-cfg>,early-cse<memssa>,instcombine<no-verify-fixpoint>,jump-threading,adce,\
            loop-mssa(licm<allowspeculation>),simplifycfg<hoist-common-insts;sink-common-insts>)),\
        globaldce,function(\
            simplifycfg<no-keep-loops;hoist-common-insts;sink-common-insts>,vector-combine,\
            loop-unroll<O2>,loop-mssa(licm<allowspeculation>),loop-sink,instsimplify,div-rem-pairs,\
            simplifycfg<speculate-unpredictables>)",
    level: 2,
};

/// Registers stay in memory between blocks: putting them where they belong, and then into the processor's, takes time with the square of the length. Code of
/// a third more instructions in a third of the time.
const MIDDLE: Effort =
    Effort { beginning: c"", passes: c"function(early-cse,instcombine<no-verify-fixpoint>,simplifycfg)", level: 2 };

/// As it is written, in time that grows with the length only.
const QUICK: Effort = Effort { beginning: c"", passes: c"", level: 0 };

/// So many bytes of text, about 2,500 instructions of PTX, are made code of in the best way.
const SHORT: usize = 2 << 20;
/// And so many, about 4,000, or 7,000 where blocks are written once, in the middle one: in about three seconds.
const LONG: usize = 4 << 20;

/// So many registers that are joined of several, where ways meet, are too many for InstCombine and for what puts registers together: a look-up in a hash table of cuDF's, with a
/// row's types chosen among, has 64,000 in 1.5 MB, and is made in 2 s in place of 10, of two thirds of the code. Of CUB's histogram, as long, they are 9,000.
const JOINED: usize = 20_000;

impl Effort {
    /// What is done instead, where what the beginning has left is too much.
    pub(crate) fn instead(&self, joined: impl FnOnce() -> usize) -> Option<Effort> {
        (*self == FULL && joined() > JOINED).then_some(MIDDLE)
    }

    pub(crate) fn for_text(text: &str) -> Effort {
        match text.len() {
            ..SHORT => FULL,
            SHORT..LONG => MIDDLE,
            _ => QUICK,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_is_done_with_what_is_long_or_joined_often() {
        let of = |bytes: usize, joined: usize| {
            let effort = Effort::for_text(&" ".repeat(bytes));
            effort.instead(|| joined).unwrap_or(effort)
        };
        assert_eq!([of(1000, 0), of(1000, JOINED + 1), of(SHORT, 0), of(LONG, 0)], [FULL, MIDDLE, MIDDLE, QUICK]);
    }
}
