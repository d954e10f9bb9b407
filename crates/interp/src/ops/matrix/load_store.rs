//! Fragments of `wmma` to and from memory (PTX ISA 9.7.14.4.11, 9.7.14.4.12).
//!
//! A matrix lies in memory by rows or by columns: *runs*, one after another at a distance of `stride` elements.

use warploom_exec::fault::{AccessKind, FaultKind};
use warploom_ptx::ir::{Element, FragmentLayout, Layout};

use crate::machine::{Flow, Machine};
use crate::memory::{Base, StateSpace};
use crate::ops::load_store::misaligned;
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
    /// For each register and each unit of it that lies in one piece in memory, for each lane: the byte of the matrix, whose runs are taken to follow each other.
    pub(crate) places: Vec<[u32; 32]>,
    /// Bytes of a unit: an element, or the elements of a register where one has less than a byte.
    pub(crate) unit: usize,
}

/// The units of the registers of a fragment, as [`FragmentSite::places`] has them.
pub(crate) fn places(fragment: &FragmentLayout, layout: Layout, registers: usize) -> (usize, Vec<[u32; 32]>) {
    let bits = fragment.bits;
    let (unit, units) = if bits < 8 { (4, 1) } else { ((bits / 8) as usize, fragment.per_register()) };
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
    let places =
        all.map(|(register, unit)| std::array::from_fn(|lane| byte(fragment.place(lane as u32, register, unit))));
    (unit, places.collect())
}

/// Most bytes of a matrix: 32 by 16 halves, 16 by 16 words.
const MOST: usize = 1024;

/// `wmma.load`: site `imm`.
pub(crate) fn load(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
    if let Err(flow) = machine.aligned(mask) {
        return flow;
    }
    let function = machine.function;
    let site = &function.fragments[inst.imm as usize];
    let mut matrix = [0; MOST];
    let (address, stride) = match machine.fragment_runs(site, AccessKind::Load) {
        Ok(runs) => runs,
        Err(kind) => return machine.fail(mask, kind),
    };
    for (run, bytes) in matrix.chunks_exact_mut(site.run_bytes).take(site.runs).enumerate() {
        if let Err(kind) = machine.read_run(site, address.wrapping_add(run as u64 * stride), bytes) {
            return machine.fail(mask, kind);
        }
    }
    let units = site.places.len() / site.rows.len();
    for (row, places) in site.rows.iter().zip(site.places.chunks_exact(units)) {
        if site.unit == 8 {
            machine.frame.r64[*row as usize] = places[0].map(|place| unit(&matrix, place, 8));
            continue;
        }
        let mut words = [0; 32];
        for (index, places) in places.iter().enumerate() {
            for (word, place) in words.iter_mut().zip(places) {
                *word |= (unit(&matrix, *place, site.unit) as u32) << (8 * site.unit * index);
            }
        }
        machine.frame.r32[*row as usize] = words;
    }
    Flow::Next
}

/// `wmma.store`: site `imm`.
pub(crate) fn store(machine: &mut Machine<'_>, inst: &Inst, mask: u32) -> Flow {
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
    for (run, bytes) in matrix.chunks_exact(site.run_bytes).take(site.runs).enumerate() {
        if let Err(kind) = machine.write_run(site, address.wrapping_add(run as u64 * stride), bytes) {
            return machine.fail(mask, kind);
        }
    }
    machine.stores += 1;
    Flow::Next
}

/// `size` bytes of a matrix.
fn unit(matrix: &[u8; MOST], place: u32, size: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes[..size].copy_from_slice(&matrix[place as usize..][..size]);
    u64::from_le_bytes(bytes)
}

impl Machine<'_> {
    /// What `wmma.store` stores, a run behind the other.
    pub(crate) fn fragment_matrix(&self, site: &FragmentSite) -> [u8; MOST] {
        let mut matrix = [0; MOST];
        let units = site.places.len() / site.rows.len();
        for (row, places) in site.rows.iter().zip(site.places.chunks_exact(units)) {
            for (index, places) in places.iter().enumerate() {
                for (lane, place) in places.iter().enumerate() {
                    let value = match site.unit {
                        8 => self.frame.r64[*row as usize][lane],
                        _ => u64::from(self.frame.r32[*row as usize][lane]) >> (8 * site.unit * index),
                    };
                    let place = *place as usize;
                    matrix[place..place + site.unit].copy_from_slice(&value.to_le_bytes()[..site.unit]);
                }
            }
        }
        matrix
    }

    /// Where the first run lies, and how far it is to the next one, in bytes. Both are the same for all threads, as the manual demands.
    fn fragment_runs(&self, site: &FragmentSite, kind: AccessKind) -> Result<(u64, u64), FaultKind> {
        let addresses = self.addresses(site.base, site.offset);
        let strides = &self.frame.r32[site.stride as usize];
        let (address, stride) = (addresses[0], u64::from(strides[0]) * u64::from(site.bits) / 8);
        if addresses != [address; 32] || *strides != [strides[0]; 32] {
            let why = "wmma with an address or a stride that is not the same in all threads of the warp";
            return Err(FaultKind::IllegalInstruction(why.to_owned()));
        }
        let unit = site.unit as u64;
        if address.is_multiple_of(unit) && stride.is_multiple_of(unit) {
            return Ok((address, stride));
        }
        let address = if address.is_multiple_of(unit) { address + stride } else { address };
        Err(misaligned(site.space, address, unit, kind))
    }

    /// Reads a run in the largest pieces that its place allows.
    fn read_run(&mut self, site: &FragmentSite, address: u64, bytes: &mut [u8]) -> Result<(), FaultKind> {
        let size = piece(address, bytes.len());
        for (piece, address) in bytes.chunks_exact_mut(size).zip((address..).step_by(size)) {
            let value = self.load(site.space, address, size as u32, 0)?;
            piece.copy_from_slice(&value.to_le_bytes()[..size]);
        }
        Ok(())
    }

    /// Writes a run likewise.
    fn write_run(&mut self, site: &FragmentSite, address: u64, bytes: &[u8]) -> Result<(), FaultKind> {
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
