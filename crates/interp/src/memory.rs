//! Where memory accesses of kernels end up: every load, store and atomic goes through here, so that observers have one place to be.
//!
//! Global and constant memory belong to `exec`; shared memory is the CTA's, local memory the warp's (word-interleaved: word `w` of
//! the 32 lanes is one row), kernel parameters are the grid's.

use warploom_exec::address::{Space, classify};
use warploom_exec::fault::{AccessKind, FaultKind};
use warploom_exec::memory::{Order, Spread, spread};

use crate::frame::{FULL, Row64, Word};
use crate::machine::Machine;
use crate::program::Inst;

/// The state space of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateSpace {
    Generic,
    /// Global and constant.
    Global,
    /// Of the CTA.
    Shared,
    /// Shared memory of any CTA of the cluster.
    Cluster,
    Local,
    /// Parameters of the kernel.
    Param,
}

/// What an address is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Base {
    /// The offset is the address.
    None,
    /// The CTA's shared memory.
    Shared,
    /// A variable of the module, by its number.
    Variable(u32),
    /// The running activation's part of local memory.
    Frame,
    /// A 32-bit row.
    Word(u32),
    /// A 64-bit row.
    Double(u32),
}

/// A register that a memory instruction reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A 32-bit row.
    Word(u32),
    /// A 64-bit row.
    Double(u32),
    /// Two 64-bit rows, low half first.
    Quad(u32),
}

impl Slot {
    /// Its row, or its first one.
    #[inline(always)]
    pub(crate) fn row(self) -> u32 {
        let (Self::Word(row) | Self::Double(row) | Self::Quad(row)) = self;
        row
    }
}

/// How a loaded value fills a wider register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extend {
    Zero,
    Sign,
    /// As `Sign`, up to 16 bits; the rest of the row stays clear.
    Sign16,
}

/// The operands of a memory instruction.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) space: StateSpace,
    pub(crate) base: Base,
    pub(crate) offset: i64,
    /// Bytes of one element.
    pub(crate) size: u32,
    pub(crate) slots: Vec<Slot>,
    pub(crate) extend: Extend,
    /// Volatile, or ordered (PTX ISA 8.4): each element is read or written at once.
    pub(crate) strong: bool,
}

impl Access {
    /// Whether an element takes more than the host's plain access to be read or written at once: up to 8 bytes always are.
    pub(crate) fn at_once(&self) -> bool {
        self.strong && self.size == 16
    }

    /// Whether the elements are read or written together. PTX's memory model takes a vector for several accesses in no order (8.2.2), but
    /// hardware makes one of up to 16 bytes, and scans that look back (CUB's) keep a value and its state in one.
    pub(crate) fn together(&self) -> bool {
        self.strong && self.slots.len() > 1 && self.bytes() <= 16
    }

    /// Bytes of the whole access of one thread, which is also its alignment.
    pub(crate) fn bytes(&self) -> u32 {
        self.size * self.slots.len() as u32
    }
}

/// Set in the number of a remembered spread by the instruction that finds it out for those behind it.
pub(crate) const FRESH: u32 = 1 << 31;
/// No spread is remembered.
pub(crate) const FORGOTTEN: u32 = u32::MAX;

impl<'a> Machine<'a> {
    /// How the addresses in row `a` of width `B` lie for accesses of `size` bytes. Slot `c` remembers it for the instructions of the
    /// basic block that use the same addresses: whoever comes there with all lanes has come through the block with all lanes.
    #[inline(always)]
    pub(crate) fn spread<B: Word + Into<u64>>(&mut self, inst: &Inst, mask: u32, size: u64) -> Spread {
        if mask == FULL && inst.c & FRESH == 0 {
            return self.frame.spreads[inst.c as usize];
        }
        let found = if mask == FULL { spread(B::row(&self.frame, inst.a), size) } else { Spread::Other };
        if inst.c != FORGOTTEN
            && inst.c & FRESH != 0
            && let Some(remembered) = self.frame.spreads.get_mut((inst.c & !FRESH) as usize)
        {
            *remembered = found;
        }
        found
    }

    /// Where a variable of the module lies.
    #[inline(always)]
    pub(crate) fn variable(&self, number: u32) -> u64 {
        self.grid.launch.variables[number as usize]
    }

    /// The address of an access that is the same in all lanes.
    #[inline(always)]
    pub(crate) fn uniform_address(&self, access: &Access) -> u64 {
        match access.base {
            Base::Variable(number) => self.variable(number).wrapping_add(access.offset as u64),
            _ => access.offset as u64,
        }
    }

    /// The addresses of an access, in its state space.
    #[inline(always)]
    pub(crate) fn addresses(&self, base: Base, offset: i64) -> Row64 {
        let offset = offset as u64;
        let mut out = [0; 32];
        match base {
            Base::None => out = [offset; 32],
            Base::Shared => out = [offset.wrapping_add(u64::from(self.cta.base)); 32],
            Base::Variable(number) => out = [self.variable(number).wrapping_add(offset); 32],
            Base::Frame => {
                out = [offset.wrapping_add(u64::from(self.warp.activations[self.activation as usize].base)); 32]
            }
            Base::Word(slot) => {
                let row = &self.frame.r32[slot as usize];
                for lane in 0..32 {
                    out[lane] = u64::from(row[lane].wrapping_add(offset as u32));
                }
            }
            Base::Double(slot) => {
                let row = &self.frame.r64[slot as usize];
                for lane in 0..32 {
                    out[lane] = row[lane].wrapping_add(offset);
                }
            }
        }
        out
    }

    /// Reads `size` bytes (1, 2, 4, 8 or 16) for one lane.
    pub(crate) fn load(&mut self, space: StateSpace, address: u64, size: u32, lane: usize) -> Result<u128, FaultKind> {
        match space {
            StateSpace::Global => self.load_global(address, size),
            StateSpace::Shared | StateSpace::Cluster => self.load_shared(space, address, size),
            StateSpace::Local => self.load_local(address, size, lane),
            StateSpace::Param => self.load_param(address, size),
            StateSpace::Generic => match classify(address) {
                Space::Global => self.load_global(address, size),
                Space::Shared(address) => self.load_shared(StateSpace::Cluster, u64::from(address), size),
                Space::Local(offset) => self.load_local(u64::from(offset), size, lane),
                Space::Param(offset) => self.load_param(u64::from(offset), size),
            },
        }
    }

    /// Writes the low `size` bytes of `value` for one lane.
    pub(crate) fn store(
        &mut self,
        space: StateSpace,
        address: u64,
        size: u32,
        lane: usize,
        value: u128,
    ) -> Result<(), FaultKind> {
        match space {
            StateSpace::Global => self.store_global(address, size, value),
            StateSpace::Shared | StateSpace::Cluster => self.store_shared(space, address, size, value),
            StateSpace::Local => self.store_local(address, size, lane, value),
            StateSpace::Param => Err(FaultKind::InvalidAddressSpace("store to kernel parameters".into())),
            StateSpace::Generic => match classify(address) {
                Space::Global => self.store_global(address, size, value),
                Space::Shared(address) => self.store_shared(StateSpace::Cluster, u64::from(address), size, value),
                Space::Local(offset) => self.store_local(u64::from(offset), size, lane, value),
                Space::Param(_) => Err(FaultKind::InvalidAddressSpace("store to kernel parameters".into())),
            },
        }
    }

    fn load_global(&mut self, address: u64, size: u32) -> Result<u128, FaultKind> {
        let value = match size {
            1 => self.view.load::<u8>(address).map(u128::from),
            2 => self.view.load::<u16>(address).map(u128::from),
            4 => self.view.load::<u32>(address).map(u128::from),
            8 => self.view.load::<u64>(address).map(u128::from),
            _ => self.view.load::<u128>(address),
        };
        value.map_err(|fault| FaultKind::Access(*fault))
    }

    fn store_global(&mut self, address: u64, size: u32, value: u128) -> Result<(), FaultKind> {
        let done = match size {
            1 => self.view.store(address, value as u8),
            2 => self.view.store(address, value as u16),
            4 => self.view.store(address, value as u32),
            8 => self.view.store(address, value as u64),
            _ => self.view.store(address, value),
        };
        done.map_err(|fault| FaultKind::Access(*fault))
    }

    /// [`Self::load`] of 16 bytes, none of which another thread has changed between. Only global memory is reached by other host threads.
    pub(crate) fn load_at_once(&mut self, space: StateSpace, address: u64, lane: usize) -> Result<u128, FaultKind> {
        if !is_global(space, address) {
            return self.load(space, address, 16, lane);
        }
        self.view.load_atomic::<u128>(address, Order::Relaxed).map_err(|fault| FaultKind::Access(*fault))
    }

    /// [`Self::store`] of 16 bytes, of which other threads see all or none.
    pub(crate) fn store_at_once(
        &mut self,
        space: StateSpace,
        address: u64,
        lane: usize,
        value: u128,
    ) -> Result<(), FaultKind> {
        if !is_global(space, address) {
            return self.store(space, address, 16, lane, value);
        }
        self.view.store_atomic(address, value, Order::Relaxed).map_err(|fault| FaultKind::Access(*fault))
    }

    /// `len` bytes of shared memory at an address, which must be a multiple of `align`.
    pub(crate) fn shared_bytes(
        &mut self,
        space: StateSpace,
        address: u64,
        len: usize,
        align: u64,
        kind: AccessKind,
    ) -> Result<&mut [u8], FaultKind> {
        match space {
            StateSpace::Generic => match classify(address) {
                Space::Shared(address) => self.cta.bytes(true, address.into(), len, align, kind),
                _ => Err(FaultKind::IllegalInstruction(format!("{address:#x} is not in shared memory"))),
            },
            _ => self.cta.bytes(space == StateSpace::Cluster, address, len, align, kind),
        }
    }

    fn load_shared(&mut self, space: StateSpace, address: u64, size: u32) -> Result<u128, FaultKind> {
        let bytes = self.shared_bytes(space, address, size as usize, u64::from(size), AccessKind::Load)?;
        Ok(little_endian(bytes))
    }

    fn store_shared(&mut self, space: StateSpace, address: u64, size: u32, value: u128) -> Result<(), FaultKind> {
        match self.shared_bytes(space, address, size as usize, u64::from(size), AccessKind::Store) {
            Ok(bytes) => bytes.copy_from_slice(&value.to_le_bytes()[..size as usize]),
            // As recorded: nobody could see it.
            Err(FaultKind::CtaHasExited { .. }) => {}
            Err(kind) => return Err(kind),
        }
        Ok(())
    }

    fn load_param(&self, address: u64, size: u32) -> Result<u128, FaultKind> {
        let params = &self.grid.launch.params;
        if !address.is_multiple_of(u64::from(size)) {
            return Err(FaultKind::MisalignedInSpace { space: ".param", address, size: u64::from(size) });
        }
        match usize::try_from(address).ok().and_then(|start| params.get(start..start.checked_add(size as usize)?)) {
            Some(bytes) => Ok(little_endian(bytes)),
            None => Err(FaultKind::OutsideSpace {
                space: ".param",
                address,
                size: u64::from(size),
                limit: params.len() as u64,
                kind: AccessKind::Load,
            }),
        }
    }

    /// Checks an access to local memory and returns the row of its first word.
    fn local_row(&self, address: u64, size: u32, kind: AccessKind) -> Result<usize, FaultKind> {
        let limit = self.warp.local.len() as u64 * 4;
        if !address.is_multiple_of(u64::from(size)) {
            return Err(FaultKind::MisalignedInSpace { space: ".local", address, size: u64::from(size) });
        }
        if address >= limit || limit - address < u64::from(size) {
            return Err(FaultKind::OutsideSpace { space: ".local", address, size: u64::from(size), limit, kind });
        }
        Ok((address / 4) as usize)
    }

    pub(crate) fn load_local(&self, address: u64, size: u32, lane: usize) -> Result<u128, FaultKind> {
        let row = self.local_row(address, size, AccessKind::Load)?;
        let word = |index: usize| u128::from(self.warp.local[row + index][lane]);
        let shift = (address % 4) * 8;
        Ok(match size {
            1 => word(0) >> shift & 0xff,
            2 => word(0) >> shift & 0xffff,
            4 => word(0),
            8 => word(0) | word(1) << 32,
            _ => word(0) | word(1) << 32 | word(2) << 64 | word(3) << 96,
        })
    }

    pub(crate) fn store_local(&mut self, address: u64, size: u32, lane: usize, value: u128) -> Result<(), FaultKind> {
        let row = self.local_row(address, size, AccessKind::Store)?;
        if size < 4 {
            let word = &mut self.warp.local[row][lane];
            let shift = (address % 4) * 8;
            let field = ((1u32 << (size * 8)) - 1) << shift;
            *word = (*word & !field) | ((value as u32) << shift & field);
        } else {
            for index in 0..size as usize / 4 {
                self.warp.local[row + index][lane] = (value >> (32 * index)) as u32;
            }
        }
        Ok(())
    }
}

/// Whether an address lies in global memory.
pub(crate) fn is_global(space: StateSpace, address: u64) -> bool {
    match space {
        StateSpace::Global => true,
        StateSpace::Generic => classify(address) == Space::Global,
        StateSpace::Shared | StateSpace::Cluster | StateSpace::Local | StateSpace::Param => false,
    }
}

/// The value of up to 16 bytes.
fn little_endian(bytes: &[u8]) -> u128 {
    let mut value = [0; 16];
    value[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(value)
}
