//! Tiles of eight rows of 16 bytes between shared memory and registers, and transposed: `ldmatrix`, `stmatrix`, `movmatrix` (PTX ISA 9.7.14.5.15 to 9.7.14.5.17).
//!
//! Lanes `8 * t` to `8 * t + 7` give the addresses of the rows of tile `t`; a matrix of 16 rows takes two tiles and two registers. [`Order`] says which elements a lane holds.

use bytemuck::{cast_slice, must_cast, pod_read_unaligned};
use warploom_exec::address::{SHARED_WINDOW, Space, classify};
use warploom_exec::fault::FaultKind;

use crate::frame::{Row32, Row64};
use crate::isa::LaneOp;
use crate::machine::{Flow, Machine};
use crate::memory::{Base, StateSpace};
use crate::ops::shared::{range, range_mut};
use crate::program::Inst;

/// Bytes of a row of a tile, which is also its alignment.
const ROW: u32 = 16;

/// Which elements of a tile register `t` of lane `l` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Four bytes of row `l / 4`, from byte `l % 4 * 4` on.
    Rows,
    /// Two elements of 16 bits of column `l / 4`, from row `l % 4 * 2` on.
    Transposed,
    /// Of two tiles, four bytes of column `l / 4`, eight more in every other register, from row `l % 4 * 4` of 16 on.
    Columns,
    /// Bytes as an accumulator of `mma` has elements, columns and rows exchanged: of column `l / 4` the rows `l % 4 * 2` and the next, then those of the column eight on.
    Accumulator,
}

/// The operands of `ldmatrix` and `stmatrix`.
#[derive(Clone, Debug)]
pub(crate) struct TileSite {
    pub(crate) space: StateSpace,
    pub(crate) base: Base,
    pub(crate) offset: i64,
    pub(crate) order: Order,
    /// The width of an element in memory: less than 8 if sixteen of them are packed.
    pub(crate) bits: u32,
    /// The 32-bit row of each tile.
    pub(crate) rows: Vec<u32>,
}

/// `ldmatrix`: site `imm`.
pub(crate) struct LoadTiles;

impl LaneOp for LoadTiles {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        if let Err(flow) = machine.aligned(mask) {
            return flow;
        }
        let function = machine.function;
        let site = &function.tiles[inst.imm as usize];
        let addresses = machine.addresses(site.base, site.offset);
        let mut tiles = [[0; 32]; 4];
        let count = site.rows.len();
        let loaded = site.bits >= 8 && machine.load_own(site.space, &addresses, &mut tiles[..count]);
        for (tile, words) in tiles.iter_mut().enumerate().take(if loaded { 0 } else { count }) {
            for row in 0..8 {
                let lane = 8 * tile + row;
                let loaded = machine.shared_only(site.space, addresses[lane], "ldmatrix");
                match loaded.and_then(|()| machine.load(site.space, addresses[lane], ROW, lane)) {
                    Ok(value) => {
                        let value = unpacked(value, site.bits);
                        for word in 0..4 {
                            words[4 * row + word] = (value >> (32 * word)) as u32;
                        }
                    }
                    Err(kind) => return machine.fail(1 << lane, kind),
                }
            }
        }
        for (register, slot) in site.rows.iter().enumerate() {
            machine.frame.r32[*slot as usize] = match site.order {
                Order::Rows => tiles[register],
                Order::Transposed => transposed(&tiles[register]),
                Order::Columns => {
                    let first = register & !1;
                    columns([&tiles[first], &tiles[first + 1]], 8 * (register % 2))
                }
                Order::Accumulator => from_accumulator(&tiles[register]),
            };
        }
        Flow::Next
    }
}

/// Sixteen elements of `bits` that lie packed, each in a byte of its own, below its top.
fn unpacked(value: u128, bits: u32) -> u128 {
    if bits >= 8 {
        return value;
    }
    let mask = (1 << bits) - 1;
    (0..16).fold(0, |out, element| out | (value >> (bits * element) & mask) << (8 * element))
}

fn byte(tile: &Row32, row: usize, column: usize) -> u32 {
    tile[4 * row + column / 4] >> (8 * (column % 4)) & 0xff
}

/// [`Order::Columns`] of 16 rows, from column `first` on.
#[inline(never)]
fn columns(tiles: [&Row32; 2], first: usize) -> Row32 {
    std::array::from_fn(|lane| {
        let element = |at: usize| {
            let row = 4 * (lane % 4) + at;
            byte(tiles[row / 8], row % 8, first + lane / 4) << (8 * at)
        };
        (0..4).map(element).fold(0, |word, element| word | element)
    })
}

/// [`Order::Accumulator`] of a tile.
#[inline(never)]
fn from_accumulator(tile: &Row32) -> Row32 {
    std::array::from_fn(|lane| {
        let element = |at: usize| byte(tile, 2 * (lane % 4) + at % 2, lane / 4 + 8 * (at / 2)) << (8 * at);
        (0..4).map(element).fold(0, |word, element| word | element)
    })
}

/// The tile of which a register holds [`Order::Accumulator`].
#[inline(never)]
fn to_accumulator(register: &Row32) -> Row32 {
    let mut tile = [0; 32];
    for (lane, word) in register.iter().enumerate() {
        for at in 0..4 {
            let (row, column) = (2 * (lane % 4) + at % 2, lane / 4 + 8 * (at / 2));
            tile[4 * row + column / 4] |= (word >> (8 * at) & 0xff) << (8 * (column % 4));
        }
    }
    tile
}

/// The tile that `stmatrix` makes of a register.
#[inline(always)]
fn stored(order: Order, register: &Row32) -> Row32 {
    match order {
        Order::Rows => *register,
        Order::Transposed => transposed(register),
        // It has no matrices of 16 by 16.
        Order::Columns | Order::Accumulator => to_accumulator(register),
    }
}

impl TileSite {
    /// The row of 16 bytes that `stmatrix` stores at the address of a lane. None for a lane that gives none.
    pub(crate) fn stored_row(&self, registers: &[Row32], lane: usize) -> Option<[u8; ROW as usize]> {
        let tile = stored(self.order, &registers[*self.rows.get(lane / 8)? as usize]);
        let mut row = [0; ROW as usize];
        for (bytes, word) in row.chunks_exact_mut(4).zip(&tile[4 * (lane % 8)..]) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Some(row)
    }
}

/// `stmatrix`: site `imm`.
pub(crate) struct StoreTiles;

impl LaneOp for StoreTiles {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        if let Err(flow) = machine.aligned(mask) {
            return flow;
        }
        let function = machine.function;
        let site = &function.tiles[inst.imm as usize];
        let addresses = machine.addresses(site.base, site.offset);
        for (tile, slot) in site.rows.iter().enumerate() {
            let words = stored(site.order, &machine.frame.r32[*slot as usize]);
            if machine.store_own(site.space, &addresses, tile, &words) {
                continue;
            }
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
}

/// `movmatrix`: row `a` to row `d`.
pub(crate) struct Transpose;

impl LaneOp for Transpose {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        if let Err(flow) = machine.aligned(mask) {
            return flow;
        }
        machine.frame.r32[inst.d as usize] = transposed(&machine.frame.r32[inst.a as usize]);
        Flow::Next
    }
}

/// A tile of 8 by 8 elements of 16 bits, four words to a row, with rows and columns exchanged.
#[inline(always)]
pub(super) fn transposed(tile: &Row32) -> Row32 {
    let tile: [[u16; 8]; 8] = must_cast(*tile);
    let row = |row: usize| std::array::from_fn(|column| tile[column][row]);
    must_cast(std::array::from_fn::<[u16; 8], 8, _>(row))
}

impl Machine<'_> {
    /// Where the CTA's own shared memory begins in the addresses of a space; none if accesses in it go elsewhere.
    #[inline(always)]
    pub(crate) fn own_shared(&self, space: StateSpace) -> Option<u64> {
        match space {
            StateSpace::Shared => Some(self.cta.base.into()),
            StateSpace::Generic => Some(SHARED_WINDOW + u64::from(self.cta.base)),
            _ => None,
        }
    }

    /// Loads tiles; `false` if one of their rows is not in the CTA's own shared memory.
    #[inline(always)]
    fn load_own(&self, space: StateSpace, addresses: &Row64, tiles: &mut [Row32]) -> bool {
        let Some(start) = self.own_shared(space) else { return false };
        let shared = &self.cta.shared[..];
        let mut inside = true;
        for (tile, addresses) in tiles.iter_mut().zip(addresses.as_chunks::<8>().0) {
            *tile = self.isa.joined(
                #[inline(always)]
                |row| {
                    let bytes = range(shared, addresses[row].wrapping_sub(start), ROW as usize, ROW as usize);
                    inside &= bytes.is_some();
                    bytes.map_or([0; 4], pod_read_unaligned)
                },
            );
        }
        inside
    }

    /// Stores a tile; `false` if one of its rows is not there: then none behind it has been stored.
    #[inline(always)]
    fn store_own(&mut self, space: StateSpace, addresses: &Row64, tile: usize, words: &Row32) -> bool {
        let Some(start) = self.own_shared(space) else { return false };
        let shared = &mut self.cta.shared[..];
        words.as_chunks::<4>().0.iter().zip(&addresses[8 * tile..]).all(|(words, address)| {
            match range_mut(shared, address.wrapping_sub(start), ROW as usize, ROW as usize) {
                Some(bytes) => {
                    bytes.copy_from_slice(cast_slice(words));
                    true
                }
                None => false,
            }
        })
    }

    /// Refuses a generic address that is not one of shared memory.
    pub(crate) fn shared_only(&self, space: StateSpace, address: u64, instruction: &str) -> Result<(), FaultKind> {
        if space == StateSpace::Shared || matches!(classify(address), Space::Shared(_)) {
            return Ok(());
        }
        Err(FaultKind::InvalidAddressSpace(format!("{instruction} at {address:#x}, which is not in shared memory")))
    }
}
