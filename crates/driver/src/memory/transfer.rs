//! Copies of any shape: a box of bytes, row by row, between two places.
use std::sync::Arc;

use warploom_exec::copy;
use warploom_exec::fault::AccessKind;
use warploom_exec::memory::{AllocSpec, CallersMemory, HostRange, Memory, MemoryKind};
use warploom_exec::observe::StreamPlace;
use warploom_exec::stream::{Stream, Weight};
use warploom_exec::texture::{MappedTexels, Place};

use super::told::Teller;
use crate::array::{Array, Storage};
use crate::driver::Driver;
use crate::fault::Sticky;
use crate::graph::{CopyWork, Work};
use crate::stream::{StreamName, StreamRef};
use crate::{DriverError, DriverResult, ErrorCode};

/// Where one side of a copy lies.
#[derive(Clone)]
pub enum CopyPlace {
    /// Host memory.
    Host(u64),
    /// Memory that kernels can access.
    Device(u64),
    /// Either: where the address is known to the driver, that, and host memory otherwise.
    Unified(u64),
    /// An array.
    Array(Arc<Array>),
}

impl PartialEq for CopyPlace {
    fn eq(&self, other: &CopyPlace) -> bool {
        match (self, other) {
            (CopyPlace::Host(a), CopyPlace::Host(b))
            | (CopyPlace::Device(a), CopyPlace::Device(b))
            | (CopyPlace::Unified(a), CopyPlace::Unified(b)) => a == b,
            (CopyPlace::Array(a), CopyPlace::Array(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl Eq for CopyPlace {}

/// One side of a copy: a place, and where in it the box lies.
#[derive(Clone, PartialEq, Eq)]
pub struct CopySide {
    /// The place.
    pub place: CopyPlace,
    /// Offset in bytes, rows and slices.
    pub origin: [u64; 3],
    /// Distance of rows in bytes; 0 for rows without a gap. Arrays have their own.
    pub pitch: u64,
    /// Distance of slices in rows; 0 for slices without a gap. Arrays have their own.
    pub height: u64,
}

impl CopySide {
    /// Bytes without a shape, at a place's start.
    pub fn line(place: CopyPlace) -> CopySide {
        CopySide { place, origin: [0; 3], pitch: 0, height: 0 }
    }
}

/// The size of a box: bytes of a row, rows of a slice, slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Box3 {
    /// Bytes of a row.
    pub width: u64,
    /// Rows of a slice.
    pub height: u64,
    /// Slices.
    pub depth: u64,
}

impl Box3 {
    /// `len` bytes in one row.
    pub fn line(len: u64) -> Box3 {
        Box3 { width: len, height: 1, depth: 1 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }
}

/// A copy.
#[derive(Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Where to.
    pub dst: CopySide,
    /// Where from.
    pub src: CopySide,
    /// How much.
    pub size: Box3,
}

/// A side that has been looked up and checked: rows start at `base + y * pitch + z * slice`, or lie where an array is mapped.
#[derive(Clone)]
struct Rows {
    base: copy::Side,
    pitch: u64,
    slice: u64,
    mapped: Option<Arc<MappedRows>>,
    /// Host memory that the program may change as soon as the call is back.
    pageable: bool,
}

/// Rows of an array whose memory the program maps. Which memory that is, is seen when the copy runs.
struct MappedRows {
    texels: Arc<MappedTexels>,
    /// Bytes of an element.
    element: u64,
    /// Bytes, rows and slices before the first.
    origin: [u64; 3],
}

/// Why a copy cannot go on.
#[derive(Clone, Copy, Debug)]
enum Lost {
    /// A row lies outside of the host memory that was vouched for.
    Host,
    /// The array has no memory yet.
    Unmapped,
}

/// Where a piece of a row lies; None for a tile without memory, which is zeros and stays it.
type Piece = Option<copy::Side>;

impl Rows {
    /// How many bytes of a row lie one after another from byte `x` on, up to `len`.
    fn run(&self, [x, y, z]: [u64; 3], len: u64) -> u64 {
        match &self.mapped {
            None => len,
            Some(mapped) => mapped.place([x, y, z]).1.min(len),
        }
    }

    /// Where `len` bytes lie from byte `x` of a row on.
    fn at(&self, [x, y, z]: [u64; 3], len: u64) -> Result<Piece, Lost> {
        if let Some(mapped) = &self.mapped {
            return match mapped.place([x, y, z]).0 {
                Place::At(address) => Ok(Some(copy::Side::Device(address))),
                Place::Nowhere => Ok(None),
                Place::Missing => Err(Lost::Unmapped),
            };
        }
        let offset = x + y * self.pitch + z * self.slice;
        Ok(Some(match self.base {
            copy::Side::Device(address) => copy::Side::Device(address + offset),
            copy::Side::Host(range) => copy::Side::Host(range.part(offset, len).ok_or(Lost::Host)?),
        }))
    }
}

impl MappedRows {
    fn place(&self, [x, y, z]: [u64; 3]) -> (Place, u64) {
        let [left, above, before] = self.origin;
        self.texels.place([x + left, y + above, z + before], self.element)
    }
}

/// When a copy in a stream reads what it copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceOrder {
    /// When the stream gets there; from host memory that is not pinned before the call comes back.
    Stream,
    /// Before the call comes back.
    DuringCall,
}

/// A copy that only needs to be done.
#[derive(Clone)]
pub(crate) struct Checked {
    dst: Rows,
    src: Rows,
    size: Box3,
}

/// A copy whose source has been read, into memory that goes with this.
struct Staged {
    memory: Arc<Memory>,
    address: u64,
    rest: Checked,
}

impl Staged {
    fn finish(self, sticky: &Sticky, told: &Teller, place: StreamPlace) {
        told.copies(&self.memory, place, self.rest.told());
        self.rest.run(&self.memory, sticky);
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Nobody else knows the address.
        let _ = self.memory.free(self.address);
    }
}

impl Checked {
    /// Puts it into a stream; a fault of it stays with the stream's device.
    pub(crate) fn put(self, memory: &Arc<Memory>, sticky: &Arc<Sticky>, stream: &Stream) {
        let weight = weight(self.bytes());
        self.put_as(weight, memory, sticky, stream);
    }

    fn put_as(self, weight: Weight, memory: &Arc<Memory>, sticky: &Arc<Sticky>, stream: &Stream) {
        let (memory, sticky, told) = (Arc::clone(memory), Arc::clone(sticky), Teller::of(stream));
        // What runs at once cannot change before.
        let later = weight == Weight::Heavy || !stream.is_idle();
        let watch = later.then(|| told.watch(&memory, self.told())).flatten();
        stream.run_at(weight, move |place| {
            told.reads(&memory, watch.as_ref());
            told.copies(&memory, place, self.told());
            self.run(&memory, &sticky);
        });
    }

    fn bytes(&self) -> u64 {
        self.size.width * self.size.height * self.size.depth
    }

    /// Whether one side is host memory that is not pinned.
    pub(crate) fn is_pageable(&self) -> bool {
        self.src.pageable || self.dst.pageable
    }

    fn run(&self, memory: &Memory, sticky: &Sticky) {
        for row in self.rows() {
            let (dst, src, len) = match row {
                Ok(piece) => piece,
                Err(Lost::Host) => return sticky.set_late("a copy", &"a row lies outside of its host memory"),
                Err(Lost::Unmapped) => {
                    let reason = "an array into which no memory is mapped (cuMemMapArrayAsync)";
                    return sticky.set_late_as(ErrorCode::LaunchFailed, "a copy", &reason);
                }
            };
            if let Err(fault) = memory.copy(dst, src, len) {
                sticky.set_late("a copy", &fault);
                return;
            }
        }
    }

    /// As [`Checked::rows`], for an observer.
    fn told(&self) -> impl Iterator<Item = Option<(copy::Side, copy::Side, u64)>> {
        self.rows().map(Result::ok)
    }

    /// Where each piece of a row goes, where it comes from, and its bytes. What goes to tiles without memory is left out.
    fn rows(&self) -> impl Iterator<Item = Result<(copy::Side, copy::Side, u64), Lost>> {
        let Checked { dst, src, size } = self;
        let Box3 { mut width, mut height, mut depth } = *size;
        // What has no gaps on either side is one row.
        if dst.mapped.is_none() && src.mapped.is_none() && dst.pitch == width && src.pitch == width {
            width *= height;
            height = 1;
            if dst.slice == width && src.slice == width {
                width *= depth;
                depth = 1;
            }
        }
        let places = (0..depth).flat_map(move |z| (0..height).map(move |y| (y, z)));
        places.flat_map(move |(y, z)| {
            let mut x = 0;
            std::iter::from_fn(move || {
                while x < width {
                    let at = [x, y, z];
                    let len = src.run(at, dst.run(at, width - x));
                    x += len;
                    let piece = || Ok((dst.at(at, len)?, src.at(at, len)?));
                    match piece() {
                        Ok((None, _)) => {}
                        Ok((Some(to), from)) => {
                            return Some(Ok((to, from.unwrap_or(copy::Side::Host(HostRange::zeros())), len)));
                        }
                        Err(lost) => return Some(Err(lost)),
                    }
                }
                None
            })
        })
    }
}

/// Up to this many bytes are copied on the calling thread where nothing comes before them.
const INLINE: u64 = 64 << 10;

pub(super) fn weight(bytes: u64) -> Weight {
    if bytes <= INLINE { Weight::Light } else { Weight::Heavy }
}

impl Driver {
    /// Copies, and comes back when it is done: after all work of the legacy stream, or of the given one.
    ///
    /// # Errors
    /// `InvalidValue` for a box that does not lie in its places; those of [`Driver::current`].
    pub fn copy(&self, transfer: &Transfer, stream: StreamName, callers: CallersMemory) -> DriverResult {
        let stream = self.stream(stream)?;
        self.refuse_capture(&stream)?;
        let Some(checked) = self.check_transfer(transfer, callers)? else { return Ok(()) };
        if stream.is_legacy() {
            for context in self.contexts_between(transfer) {
                self.finish_all_of(&context)?;
            }
        }
        if !stream.stream.is_idle() {
            self.finish(&stream)?;
        }
        self.flush_output();
        self.run_now(checked, &stream);
        if self.is_observed() {
            // The caller waits for it, as the observer is to know.
            return self.finish(&stream);
        }
        stream.context.check()
    }

    /// Copies now, behind all that the stream holds, which has ended. For an observer the copy has a place in the stream.
    fn run_now(&self, checked: Checked, stream: &StreamRef) {
        let (memory, sticky) = (self.memory(), stream.context.device().sticky());
        if !self.is_observed() {
            return checked.run(memory, sticky);
        }
        checked.put_as(Weight::Light, memory, sticky, &stream.stream);
        if !stream.stream.is_idle() {
            // Another thread has put something into the stream first.
            stream.stream.synchronize();
        }
    }

    /// Puts a copy into a stream. Host memory that is not pinned has been read or written when the call comes back: what is
    /// read from it waits elsewhere for its turn, what is written to it the call waits for.
    ///
    /// # Errors
    /// As [`Driver::copy`]; `OutOfMemory` without room for what has to wait.
    pub fn copy_async(
        &self,
        transfer: &Transfer,
        stream: StreamName,
        order: SourceOrder,
        callers: CallersMemory,
    ) -> DriverResult {
        let stream = self.stream(stream)?;
        let put = || self.put_copy(transfer, &stream, order, callers);
        match stream.is_legacy().then(|| self.contexts_between(transfer)) {
            Some(contexts) if !contexts.is_empty() => self.in_order_with(&contexts, &stream, put),
            _ => put(),
        }
    }

    /// As [`Driver::copy_async`], ordered with its stream alone.
    pub(super) fn put_copy(
        &self,
        transfer: &Transfer,
        stream: &StreamRef,
        order: SourceOrder,
        callers: CallersMemory,
    ) -> DriverResult {
        let capture = self.capture_of(stream)?;
        let Some(checked) = self.check_transfer(transfer, callers)? else { return Ok(()) };
        if let Some(capture) = capture {
            let work = CopyWork::new(transfer.clone(), checked);
            return self.capture(&capture, stream, Work::Copy(Arc::new(work))).map(|_| ());
        }
        let (memory, sticky) = (self.memory(), stream.context.device().sticky());
        if checked.dst.pageable {
            if !stream.stream.is_idle() {
                self.finish(stream)?;
            }
            self.run_now(checked, stream);
            if self.is_observed() {
                stream.stream.synchronize();
            }
            return sticky.check();
        }
        let source_is_now = order == SourceOrder::DuringCall || checked.src.pageable;
        if source_is_now && stream.stream.is_idle() {
            self.run_now(checked, stream);
            return sticky.check();
        }
        if source_is_now {
            let staged = self.stage(&checked, stream)?;
            let (sticky, told) = (Arc::clone(sticky), Teller::of(&stream.stream));
            let weight = weight(staged.rest.bytes());
            stream.stream.run_at(weight, move |place| staged.finish(&sticky, &told, place));
            return Ok(());
        }
        checked.put(memory, sticky, &stream.stream);
        Ok(())
    }

    /// Reads the source of a copy in a stream now; what is left to copy.
    fn stage(&self, checked: &Checked, stream: &StreamRef) -> DriverResult<Staged> {
        let (bytes, kind, device) = (checked.bytes(), MemoryKind::Internal, stream.context.ordinal());
        let spec = AllocSpec { size: bytes, kind, device, owner: 0, tag: 0, origin: "an asynchronous copy" };
        let room = self.memory().alloc(spec).map_err(|_| {
            let reason =
                format!("{bytes} bytes are not free for an asynchronous copy from host memory that is not pinned");
            DriverError::new(ErrorCode::OutOfMemory, reason)
        })?;
        let Box3 { width, height, .. } = checked.size;
        let base = copy::Side::Device(room.base);
        let rows = Rows { base, pitch: width, slice: width * height, mapped: None, pageable: false };
        let rest = Checked { dst: checked.dst.clone(), src: rows.clone(), size: checked.size };
        let staged = Staged { memory: Arc::clone(self.memory()), address: room.base, rest };
        Checked { dst: rows, src: checked.src.clone(), size: checked.size }
            .run(self.memory(), stream.context.device().sticky());
        Ok(staged)
    }

    /// Waits for a stream, and what that must come after.
    pub(crate) fn finish(&self, stream: &StreamRef) -> DriverResult {
        stream.stream.synchronize();
        stream.context.check()
    }

    pub(crate) fn check_transfer(&self, transfer: &Transfer, callers: CallersMemory) -> DriverResult<Option<Checked>> {
        let Transfer { dst, src, size } = transfer;
        if size.is_empty() {
            return Ok(None);
        }
        if let (CopyPlace::Array(src), CopyPlace::Array(dst)) = (&src.place, &dst.place) {
            let bytes = [src, dst].map(|array| array.element_bytes());
            if (src.has_blocks() || dst.has_blocks()) && bytes[0] != bytes[1] {
                let reason = format!("a copy of blocks from elements of {} bytes to such of {}", bytes[0], bytes[1]);
                return Err(DriverError::invalid_value(reason));
            }
        }
        let src = self.check_side(src, size, AccessKind::Load, callers)?;
        let dst = self.check_side(dst, size, AccessKind::Store, callers)?;
        Ok(Some(Checked { dst, src, size: *size }))
    }

    fn check_side(&self, side: &CopySide, size: &Box3, kind: AccessKind, callers: CallersMemory) -> DriverResult<Rows> {
        let (address, is_host) = match side.place {
            CopyPlace::Array(ref array) => return self.array_rows(array, side, size),
            CopyPlace::Host(address) => (address, true),
            CopyPlace::Device(address) => (address, false),
            CopyPlace::Unified(address) => (address, !self.is_known(address)),
        };
        if address == 0 {
            return Err(DriverError::invalid_value("an address to copy from or to is NULL"));
        }
        let [x, y, z] = side.origin;
        let row_end = x.checked_add(size.width).ok_or_else(too_large)?;
        let pitch = if side.pitch == 0 { row_end } else { side.pitch };
        if row_end > pitch && (size.height > 1 || size.depth > 1 || side.pitch != 0) {
            return Err(DriverError::invalid_value(format!("rows end at byte {row_end}, with a pitch of {pitch}")));
        }
        let column_end = y.checked_add(size.height).ok_or_else(too_large)?;
        let height = if side.height == 0 { column_end } else { side.height };
        if column_end > height && (size.depth > 1 || side.height != 0) {
            return Err(DriverError::invalid_value(format!(
                "slices end at row {column_end}, with a height of {height}"
            )));
        }
        let slice = pitch.checked_mul(height).ok_or_else(too_large)?;
        let start = z
            .checked_mul(slice)
            .and_then(|offset| offset.checked_add(y.checked_mul(pitch)?)?.checked_add(x)?.checked_add(address))
            .ok_or_else(too_large)?;
        let extent = extent(size, pitch, slice)?;
        if is_host {
            start.checked_add(extent).ok_or_else(too_large)?;
            let range = callers.range(start, extent);
            if self.memory().in_window(start) {
                // Pinned memory, or what was: its end is known.
                self.check_device(start, extent, kind)?;
            } else if matches!(side.place, CopyPlace::Unified(_)) && !range.is_mapped() {
                // An address that the program calls neither the host's nor the device's may be neither.
                return Err(self.nowhere(start, extent, kind));
            }
            let pageable = !self.is_known(start);
            return Ok(Rows { base: copy::Side::Host(range), pitch, slice, mapped: None, pageable });
        }
        self.check_device(start, extent, kind)?;
        Ok(Rows { base: copy::Side::Device(start), pitch, slice, mapped: None, pageable: false })
    }

    /// Whether an address lies in memory that kernels can access.
    fn is_known(&self, address: u64) -> bool {
        self.memory().in_window(address) || self.memory().registered_at(address).is_some()
    }

    pub(crate) fn check_device(&self, address: u64, len: u64, kind: AccessKind) -> DriverResult {
        self.memory().check_exact(address, len, kind).map_err(|_| self.nowhere(address, len, kind))?;
        self.frees.check_inside(self.memory(), address, len)
    }

    fn array_rows(&self, array: &Array, side: &CopySide, size: &Box3) -> DriverResult<Rows> {
        if !array.has_elements() {
            return Err(DriverError::invalid_value("an image is copied plane by plane"));
        }
        let [x, y, z] = side.origin;
        let element = array.element_bytes();
        if array.has_blocks() && !(x.is_multiple_of(element) && size.width.is_multiple_of(element)) {
            let reason = format!("{} bytes at byte {x} of a row of blocks of {element} bytes", size.width);
            return Err(DriverError::invalid_value(reason));
        }
        let within = |offset: u64, len: u64, limit: u64| offset.checked_add(len).is_some_and(|end| end <= limit);
        let shape = array.storage_box();
        if !within(x, size.width, shape.width)
            || !within(y, size.height, shape.height)
            || !within(z, size.depth, shape.depth)
        {
            let reason = format!("{size:?} at {:?} does not lie in an array of {shape:?}", side.origin);
            return Err(DriverError::invalid_value(reason));
        }
        let pitch = array.descriptor().pitch();
        let slice = pitch * shape.height;
        let (start, mapped) = match array.storage() {
            Storage::At(address) => (address + z * slice + y * pitch + x, None),
            Storage::Mapped(texels) => {
                (0, Some(Arc::new(MappedRows { texels: Arc::clone(texels), element, origin: side.origin })))
            }
        };
        Ok(Rows { base: copy::Side::Device(start), pitch, slice, mapped, pageable: false })
    }
}

/// Bytes from the first to the last of a box.
pub(super) fn extent(size: &Box3, pitch: u64, slice: u64) -> DriverResult<u64> {
    let slices = (size.depth - 1).checked_mul(slice).ok_or_else(too_large)?;
    let rows = (size.height - 1).checked_mul(pitch).ok_or_else(too_large)?;
    slices.checked_add(rows).and_then(|extent| extent.checked_add(size.width)).ok_or_else(too_large)
}

#[cold]
fn too_large() -> DriverError {
    DriverError::invalid_value("sizes that run over the end of the address space")
}
