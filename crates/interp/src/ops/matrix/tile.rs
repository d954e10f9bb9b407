//! Tiles of eight rows of 16 bytes between shared memory and registers, and transposed: `ldmatrix`, `stmatrix`, `movmatrix` (PTX ISA 9.7.14.5.15 to 9.7.14.5.17).
//!
//! Lanes `8 * t` to `8 * t + 7` give the addresses of the rows of tile `t`. Register `t` of lane `l` holds two elements of row `l / 4`; transposed, of column `l / 4`.

use crate::frame::Row32;
use crate::machine::{Flow, Machine};
use crate::memory::{Base, StateSpace};
use crate::program::Inst;
use warploom_exec::address::{Space, classify};
use warploom_exec::fault::FaultKind;

/// Bytes of a row of a tile, which is also its alignment.
const ROW: u32 = 16;

/// The operands of `ldmatrix` and `stmatrix`.
#[derive(Clone, Debug)]
pub(crate) struct TileSite {
    pub(crate) space: StateSpace,
    pub(crate) base: Base,
    pub(crate) offset: i64,
    pub(crate) transposed: bool,
    /// The 32-bit row of each tile.
    pub(crate) rows: Vec<u32>,
}

/// `ldmatrix`: site `imm`.
pub(crate) fn load(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    if let Err(flow) = machine.aligned(mask) {
        return flow;
    }
    let function = machine.function;
    let site = &function.tiles[inst.imm as usize];
    let addresses = machine.addresses(site.base, site.offset);
    let mut tiles = [[0; 32]; 4];
    for (tile, words) in tiles.iter_mut().enumerate().take(site.rows.len()) {
        for row in 0..8 {
            let lane = 8 * tile + row;
            let loaded = machine.shared_only(site.space, addresses[lane], "ldmatrix");
            match loaded.and_then(|()| machine.load(site.space, addresses[lane], ROW, lane)) {
                Ok(value) => {
                    for word in 0..4 {
                        words[4 * row + word] = (value >> (32 * word)) as u32;
                    }
                }
                Err(kind) => return machine.fail(1 << lane, kind),
            }
        }
    }
    for (row, tile) in site.rows.iter().zip(&tiles) {
        machine.frame.r32[*row as usize] = if site.transposed { transposed(tile) } else { *tile };
    }
    Flow::Next
}

/// `stmatrix`: site `imm`.
pub(crate) fn store(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    if let Err(flow) = machine.aligned(mask) {
        return flow;
    }
    let function = machine.function;
    let site = &function.tiles[inst.imm as usize];
    let addresses = machine.addresses(site.base, site.offset);
    for (tile, slot) in site.rows.iter().enumerate() {
        let words = machine.frame.r32[*slot as usize];
        let words = if site.transposed { transposed(&words) } else { words };
        for row in 0..8 {
            let lane = 8 * tile + row;
            let value = (0..4).fold(0, |value, word| value | u128::from(words[4 * row + word]) << (32 * word));
            let stored = machine.shared_only(site.space, addresses[lane], "stmatrix");
            if let Err(kind) = stored.and_then(|()| machine.store(site.space, addresses[lane], ROW, lane, value)) {
                return machine.fail(1 << lane, kind);
            }
        }
    }
    machine.stores += 1;
    Flow::Next
}

/// `movmatrix`: row `a` to row `d`.
pub(crate) fn transpose(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    if let Err(flow) = machine.aligned(mask) {
        return flow;
    }
    machine.frame.r32[inst.d as usize] = transposed(&machine.frame.r32[inst.a as usize]);
    Flow::Next
}

/// A tile of 8 by 8 elements of 16 bits, four words to a row, with rows and columns exchanged.
fn transposed(tile: &Row32) -> Row32 {
    let element = |row: usize, column: usize| tile[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff;
    std::array::from_fn(|place| {
        let (row, column) = (place / 4, 2 * (place % 4));
        element(column, row) | element(column + 1, row) << 16
    })
}

impl Machine<'_> {
    /// Refuses a generic address that is not one of shared memory.
    pub(crate) fn shared_only(&self, space: StateSpace, address: u64, instruction: &str) -> Result<(), FaultKind> {
        if space == StateSpace::Shared || matches!(classify(address), Space::Shared(_)) {
            return Ok(());
        }
        Err(FaultKind::InvalidAddressSpace(format!("{instruction} at {address:#x}, which is not in shared memory")))
    }
}
