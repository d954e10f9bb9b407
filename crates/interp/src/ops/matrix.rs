//! Matrix instructions (PTX ISA 9.7.14, 9.7.15): operations of whole warps on rows of registers.
//!
//! What a product is stands in `warploom_numerics::matrix`, where fragments keep their elements in `warploom_ptx::ir::FragmentLayout`. Here elements are brought from
//! registers to panels and back ([`panel`]), products are computed ([`product`]; most of them from registers at once, [`fragments`], those of other executors in their place, [`direct`], those of warpgroups from tiles, [`warpgroup_blocks`]; of floats of 8 bits, [`short`]; some with scales, [`scales`]), and fragments move to and from memory ([`tile`], [`load_store`], where they can by whole tiles, [`shape`]).

mod descriptor;
pub(crate) mod direct;
mod fragments;
pub(crate) mod load_store;
pub(crate) mod panel;
pub(crate) mod product;
pub(crate) mod scales;
mod shape;
mod short;
pub(crate) mod tile;
pub(crate) mod warpgroup;
pub(crate) mod warpgroup_blocks;

use warploom_exec::fault::FaultKind;

use crate::frame::FULL;
use crate::machine::{Flow, Machine};
use crate::warp::Wait;

/// The key of the rendezvous at an instruction that all threads of a warp execute together: at the same place.
pub(crate) const ALIGNED: u32 = 1 << 31;

impl Machine<'_> {
    /// Whether a `.sync.aligned` instruction can be carried out: all threads of the warp have come to it (PTX ISA 9.7.14.4.3). If not, what
    /// the lanes in `mask` do instead: wait for the others, or fail if those cannot come.
    #[inline(always)]
    pub(crate) fn aligned(&mut self, mask: u32) -> Result<(), Flow> {
        if mask == FULL { Ok(()) } else { Err(self.not_aligned(mask)) }
    }

    #[cold]
    #[inline(never)]
    fn not_aligned(&mut self, mask: u32) -> Flow {
        let alive = self.warp.alive();
        let why = if alive != FULL {
            let missing = !alive;
            format!(
                "a matrix instruction needs all threads of the warp, of which lanes {missing:#x} do not exist or have exited"
            )
        } else if mask != self.active {
            let missing = self.active & !mask;
            format!(
                "a matrix instruction needs all threads of the warp, but its predicate does not hold in lanes {missing:#x}"
            )
        } else {
            self.warp.park(self.activation, self.pc, mask, Wait::Rendezvous { members: FULL, key: ALIGNED });
            return Flow::Switch;
        };
        self.fail(mask, FaultKind::IllegalInstruction(why))
    }
}
