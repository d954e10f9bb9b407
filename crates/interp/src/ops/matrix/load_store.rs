//! Fragments of `wmma` to and from memory (PTX ISA 9.7.14.4.11, 9.7.14.4.12).
//!
//! A matrix lies in memory by rows or by columns: *runs*, one after another at a distance of `stride` elements.

use bytemuck::Pod;
use warploom_exec::fault::{AccessKind, FaultKind};
use warploom_exec::memory::Run;
use warploom_ptx::ir::{Element, FragmentLayout, Layout};

use super::shape::Shape;
use super::tile::transposed;
use crate::frame::Row32;
use crate::isa::LaneOp;
use crate::machine::{Flow, Machine};
use crate::memory::{Base, StateSpace, is_global};
use crate::ops::load_store::misaligned;
use crate::ops::shared::range_mut;
use crate::program::Inst;

/// The operands of `wmma.load` and `wmma.store`.
#[derive(Clone, Debug)]
pub(crate) struct FragmentSite {
    pub(crate) space: StateSpace,
    pub(crate) base: Base,
    pub(crate) offset: i64,
    /// 32-bit row of the distance of runs in elements.
    pub(crate) stride: u32,
    /// Runs of the matrix.
    pub(crate) runs: usize,
    /// Bytes of a run.
    pub(crate) run_bytes: usize,
    /// Bits of an element.
    pub(crate) bits: u32,
    /// Rows of the registers: of 32 bits, or of 64 for `.f64`.
    pub(crate) rows: Vec<u32>,
    pub(crate) pieces: Pieces,
    /// What addresses must be multiples of: bytes of an element, or of a register where an element has less than a byte.
    pub(crate) align: u64,
}

/// Where in a matrix, whose runs are taken to follow each other, the registers of a fragment lie.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    /// For each register, and each piece of it from its low bits on, by lane: the piece's number in the matrix.
    pub(super) places: Vec<[u32; 32]>,
    /// Bytes of a piece: 1, 2, 4 or 8.
    pub(super) bytes: usize,
    shape: Shape,
}

impl Pieces {
    /// Those of the first registers of a fragment: as large as all of them can be.
    pub(crate) fn of(fragment: &FragmentLayout, layout: Layout, registers: usize) -> Pieces {
        let bits = fragment.bits;
        let (bytes, units) = if bits < 8 { (4, 1) } else { ((bits / 8) as usize, fragment.per_register()) };
        let run = match layout {
            Layout::Row => u32::from(fragment.columns),
            Layout::Col => u32::from(fragment.rows),
        };
        let byte = |Element { row, column, .. }: Element| {
            let (across, along) = match layout {
                Layout::Row => (row, column),
                Layout::Col => (column, row),
            };
            (u32::from(across) * run + u32::from(along)) * bits / 8
        };
        let all = (0..registers as u32).flat_map(|register| (0..units).map(move |unit| (register, unit)));
        let place = |lane: usize, register, unit| byte(fragment.place(lane as u32, register, unit)) / bytes as u32;
        let places = all.map(|(register, unit)| std::array::from_fn(|lane| place(lane, register, unit))).collect();
        let mut pieces = Pieces { places, bytes, shape: Shape::Other };
        let mut left = units;
        while left > 1 && pieces.join() {
            left /= 2;
        }
        pieces.shape = Shape::of(&pieces, left as usize);
        pieces
    }

    /// Makes one piece of two, if that goes for all of them.
    fn join(&mut self) -> bool {
        let pair = |[low, high]: &[[u32; 32]; 2]| {
            let joined = low.iter().zip(high).all(|(low, high)| low % 2 == 0 && *high == low + 1);
            joined.then(|| low.map(|place| place / 2))
        };
        let (pairs, []) = self.places.as_chunks() else { return false };
        let Some(places) = pairs.iter().map(pair).collect() else { return false };
        (self.places, self.bytes) = (places, 2 * self.bytes);
        true
    }
}

/// Most bytes of a matrix: 32 by 16 halves, 16 by 16 words.
const MOST: usize = 1024;

/// A matrix as it lies in memory, a run behind the other, and what is left over.
#[derive(Clone, Copy)]
pub(crate) struct Image(pub(super) [u64; MOST / 8]);

impl Image {
    /// Rows of sixteen bytes.
    pub(super) const ROWS: usize = MOST / 16;
    const EMPTY: Image = Image([0; MOST / 8]);

    pub(crate) fn bytes(&self) -> &[u8] {
        bytemuck::bytes_of(&self.0)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::bytes_of_mut(&mut self.0)
    }

    /// A piece for each lane. Their numbers are within the matrix: the mask says so to the compiler.
    #[inline(always)]
    fn gather<T: Pod>(&self, places: &[u32; 32]) -> [T; 32] {
        let pieces: &[T] = bytemuck::cast_slice(&self.0);
        places.map(|place| pieces[place as usize & (MOST / size_of::<T>() - 1)])
    }

    #[inline(always)]
    fn scatter<T: Pod>(&mut self, places: &[u32; 32], values: [T; 32]) {
        let pieces: &mut [T] = bytemuck::cast_slice_mut(&mut self.0);
        for (place, value) in places.iter().zip(values) {
            pieces[*place as usize & (MOST / size_of::<T>() - 1)] = value;
        }
    }
}

/// `wmma.load`: site `imm`.
pub(crate) struct LoadFragment;

impl LaneOp for LoadFragment {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        if let Err(flow) = machine.aligned(mask) {
            return flow;
        }
        let function = machine.function;
        let site = &function.fragments[inst.imm as usize];
        let (address, stride) = match machine.fragment_runs(site, AccessKind::Load) {
            Ok(runs) => runs,
            Err(kind) => return machine.fail(mask, kind),
        };
        if machine.load_shape(site, address, stride) {
            return Flow::Next;
        }
        let mut matrix = Image::EMPTY;
        for (run, bytes) in matrix.bytes_mut().chunks_exact_mut(site.run_bytes).take(site.runs).enumerate() {
            if let Err(kind) = machine.read_run(site, address.wrapping_add(run as u64 * stride), bytes) {
                return machine.fail(mask, kind);
            }
        }
        let Pieces { places, bytes, .. } = &site.pieces;
        let of_each = places.len() / site.rows.len();
        for (row, places) in site.rows.iter().zip(places.chunks_exact(of_each)) {
            match bytes {
                8 => machine.frame.r64[*row as usize] = matrix.gather(&places[0]),
                4 => machine.frame.r32[*row as usize] = matrix.gather(&places[0]),
                2 => machine.frame.r32[*row as usize] = join(places.iter().map(|places| matrix.gather::<u16>(places))),
                _ => machine.frame.r32[*row as usize] = join(places.iter().map(|places| matrix.gather::<u8>(places))),
            }
        }
        Flow::Next
    }
}

/// Registers of pieces, the low one first.
#[inline(always)]
fn join<T: Pod + Into<u32>>(pieces: impl Iterator<Item = [T; 32]>) -> Row32 {
    let mut words = [0; 32];
    for (index, pieces) in pieces.enumerate() {
        for (word, piece) in words.iter_mut().zip(pieces) {
            *word |= piece.into() << (8 * size_of::<T>() * index);
        }
    }
    words
}

/// `wmma.store`: site `imm`.
pub(crate) struct StoreFragment;

impl LaneOp for StoreFragment {
    #[inline(always)]
    fn run(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
        if let Err(flow) = machine.aligned(mask) {
            return flow;
        }
        let function = machine.function;
        let site = &function.fragments[inst.imm as usize];
        let matrix = machine.fragment_matrix(site);
        let (address, stride) = match machine.fragment_runs(site, AccessKind::Store) {
            Ok(runs) => runs,
            Err(kind) => return machine.fail(mask, kind),
        };
        let written = match site.run_bytes {
            16 => machine.write_runs::<16>(site, (address, stride), &matrix),
            32 => machine.write_runs::<32>(site, (address, stride), &matrix),
            64 => machine.write_runs::<64>(site, (address, stride), &matrix),
            _ => false,
        };
        let runs = matrix.bytes().chunks_exact(site.run_bytes).take(if written { 0 } else { site.runs });
        for (run, bytes) in runs.enumerate() {
            if let Err(kind) = machine.write_run(site, address.wrapping_add(run as u64 * stride), bytes) {
                return machine.fail(mask, kind);
            }
        }
        machine.stores += 1;
        Flow::Next
    }
}

impl Machine<'_> {
    /// What `wmma.store` stores.
    #[inline(always)]
    pub(crate) fn fragment_matrix(&self, site: &FragmentSite) -> Image {
        let mut matrix = Image::EMPTY;
        let Pieces { places, bytes, shape } = &site.pieces;
        let (rows, registers) = (&site.rows, &self.frame.r32);
        match shape {
            Shape::Rows(tiles) => {
                for (row, tile) in rows.iter().zip(tiles) {
                    matrix.put_tile(tile, &registers[*row as usize]);
                }
                return matrix;
            }
            Shape::Pairs(tiles) => {
                for (pair, tile) in rows.as_chunks::<2>().0.iter().zip(tiles) {
                    matrix.put_in_turns(tile, pair.each_ref().map(|row| &registers[*row as usize]));
                }
                return matrix;
            }
            Shape::Columns(tiles) => {
                for (row, tile) in rows.iter().zip(tiles) {
                    matrix.put_tile(tile, &transposed(&registers[*row as usize]));
                }
                return matrix;
            }
            Shape::Other => {}
        }
        let of_each = places.len() / site.rows.len();
        for (row, places) in site.rows.iter().zip(places.chunks_exact(of_each)) {
            if *bytes == 8 {
                matrix.scatter(&places[0], self.frame.r64[*row as usize]);
                continue;
            }
            let words = &self.frame.r32[*row as usize];
            for (index, places) in places.iter().enumerate() {
                let pieces = words.map(|word| word >> (8 * bytes * index));
                match bytes {
                    4 => matrix.scatter(places, pieces),
                    2 => matrix.scatter(places, pieces.map(|piece| piece as u16)),
                    _ => matrix.scatter(places, pieces.map(|piece| piece as u8)),
                }
            }
        }
        matrix
    }

    /// Where the first run lies, and how far it is to the next one, in bytes. Both are the same for all threads, as the manual demands.
    #[inline(always)]
    fn fragment_runs(&self, site: &FragmentSite, kind: AccessKind) -> Result<(u64, u64), FaultKind> {
        let addresses = self.addresses(site.base, site.offset);
        let strides = &self.frame.r32[site.stride as usize];
        let (address, stride) = (addresses[0], u64::from(strides[0]) * u64::from(site.bits) / 8);
        // Compared without a branch, all at once.
        let apart = addresses.iter().fold(0, |apart, other| apart | (address ^ other));
        let others = strides.iter().fold(0, |apart, other| apart | (strides[0] ^ other));
        if apart != 0 || others != 0 {
            let why = "wmma with an address or a stride that is not the same in all threads of the warp";
            return Err(FaultKind::IllegalInstruction(why.to_owned()));
        }
        let unit = site.align;
        if address.is_multiple_of(unit) && stride.is_multiple_of(unit) {
            return Ok((address, stride));
        }
        let address = if address.is_multiple_of(unit) { address + stride } else { address };
        Err(misaligned(site.space, address, unit, kind))
    }

    /// Loads a fragment of tiles; `false`, and nothing is loaded, if it has another shape, or one of its runs takes a closer look.
    #[inline(always)]
    fn load_shape(&mut self, site: &FragmentSite, address: u64, stride: u64) -> bool {
        let len = (site.runs as u64 - 1) * stride + site.run_bytes as u64;
        let matrix = if is_global(site.space, address) {
            self.view.runs(0, [address; 2], len).map(|[run, _]| run)
        } else {
            // Its alignment has been looked at.
            let place = self.own_shared(site.space).map(|start| address.wrapping_sub(start));
            place.and_then(|place| Run::of(&self.cta.shared).part(place, len))
        };
        match matrix {
            Some(matrix) => site.pieces.shape.load(
                self.isa,
                matrix,
                [stride as u32, site.run_bytes as u32],
                &site.rows,
                &mut self.frame.r32,
            ),
            None => false,
        }
    }

    /// Writes all runs, of `N` bytes; `false` if one of them takes a closer look: those in front of it may have been written.
    #[inline(always)]
    fn write_runs<const N: usize>(
        &mut self,
        site: &FragmentSite,
        (address, stride): (u64, u64),
        matrix: &Image,
    ) -> bool {
        let runs = matrix.bytes().as_chunks::<N>().0.iter().take(site.runs);
        let mut runs = runs.zip((0..).map(|run: u64| address.wrapping_add(run * stride)));
        if is_global(site.space, address) {
            return runs.all(|(run, address)| self.view.write_bytes(address, run).is_ok());
        }
        let Some(start) = self.own_shared(site.space) else { return false };
        let align = site.align as usize;
        runs.all(|(run, address)| match range_mut(&mut self.cta.shared, address.wrapping_sub(start), N, align) {
            Some(bytes) => {
                bytes.copy_from_slice(run);
                true
            }
            None => false,
        })
    }

    /// Reads a run: at once where all of it may be read, else in the largest pieces that its place allows, until one may not.
    fn read_run(&mut self, site: &FragmentSite, address: u64, bytes: &mut [u8]) -> Result<(), FaultKind> {
        if is_global(site.space, address) {
            if self.view.read_bytes(address, bytes).is_ok() {
                return Ok(());
            }
        } else if let Ok(run) = self.shared_bytes(site.space, address, bytes.len(), site.align, AccessKind::Load) {
            bytes.copy_from_slice(run);
            return Ok(());
        }
        let size = piece(address, bytes.len());
        for (piece, address) in bytes.chunks_exact_mut(size).zip((address..).step_by(size)) {
            let value = self.load(site.space, address, size as u32, 0)?;
            piece.copy_from_slice(&value.to_le_bytes()[..size]);
        }
        Ok(())
    }

    /// Writes a run likewise.
    fn write_run(&mut self, site: &FragmentSite, address: u64, bytes: &[u8]) -> Result<(), FaultKind> {
        if is_global(site.space, address) {
            if self.view.write_bytes(address, bytes).is_ok() {
                return Ok(());
            }
        } else if let Ok(run) = self.shared_bytes(site.space, address, bytes.len(), site.align, AccessKind::Store) {
            run.copy_from_slice(bytes);
            return Ok(());
        }
        let size = piece(address, bytes.len());
        for (piece, address) in bytes.chunks_exact(size).zip((address..).step_by(size)) {
            let mut value = [0; 16];
            value[..size].copy_from_slice(piece);
            self.store(site.space, address, size as u32, 0, u128::from_le_bytes(value))?;
        }
        Ok(())
    }
}

/// The largest size, up to 16 bytes, of aligned accesses to `len` bytes at an address.
fn piece(address: u64, len: usize) -> usize {
    1 << (address | len as u64 | 16).trailing_zeros()
}
