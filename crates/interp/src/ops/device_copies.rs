//! Copies and sets that kernels put into streams. They run beside the kernel, as those of the host do.

use std::sync::Arc;

use warploom_exec::copy::{FillWidth, Side};
use warploom_exec::device_runtime::RuntimeError;
use warploom_exec::family::ChildWork;
use warploom_exec::fault::{AccessFault, Fault, FaultKind};
use warploom_exec::grid::Environment;
use warploom_exec::stream::{Stream, Weight};

/// More bytes than these are moved by a worker of their own.
const LIGHT: u64 = 64 << 10;

/// Rows of bytes: at `base + y * pitch + z * slice`.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub(super) base: u64,
    pub(super) pitch: u64,
    pub(super) slice: u64,
}

impl From<u64> for Rows {
    fn from(base: u64) -> Rows {
        Rows { base, pitch: 0, slice: 0 }
    }
}

impl Rows {
    fn row(&self, y: u64, z: u64) -> u64 {
        self.base.wrapping_add(y.wrapping_mul(self.pitch)).wrapping_add(z.wrapping_mul(self.slice))
    }
}

/// How many bytes, rows and slices.
#[derive(Clone, Copy)]
pub(super) struct Box3 {
    pub(super) width: u64,
    pub(super) height: u64,
    pub(super) depth: u64,
}

impl Box3 {
    /// None for more than there can be.
    pub(super) fn bytes(self) -> Option<u64> {
        self.width.checked_mul(self.height)?.checked_mul(self.depth)
    }
}

/// Kernels copy between places of the device only (`cudaMemcpyDeviceToDevice`, or `cudaMemcpyDefault`).
pub(super) fn check_kind(kind: u32) -> Result<(), RuntimeError> {
    if matches!(kind, 3 | 4) { Ok(()) } else { Err(RuntimeError::INVALID_MEMCPY_DIRECTION) }
}

/// Destination, source and extent that the 8-byte words of a `cudaMemcpy3DParms` say.
pub(super) fn of_parameters(words: &[u64; 20]) -> Result<(Rows, Rows, Box3), RuntimeError> {
    // An array, a position, and a pointer with pitch, width and height of its rows; twice; an extent; the kind.
    let [
        from_array,
        fx,
        fy,
        fz,
        from,
        from_pitch,
        _,
        from_height,
        to_array,
        tx,
        ty,
        tz,
        to,
        to_pitch,
        _,
        to_height,
        width,
        height,
        depth,
        kind,
    ] = *words;
    check_kind(kind as u32)?;
    if from_array != 0 || to_array != 0 {
        return Err(RuntimeError::NOT_SUPPORTED);
    }
    let side = |base: u64, pitch: u64, rows: u64, [x, y, z]: [u64; 3]| {
        let slice = pitch.checked_mul(rows)?;
        let start = y.checked_mul(pitch)?.checked_add(z.checked_mul(slice)?)?.checked_add(x)?;
        Some(Rows { base: base.checked_add(start)?, pitch, slice })
    };
    let sides = side(to, to_pitch, to_height, [tx, ty, tz]).zip(side(from, from_pitch, from_height, [fx, fy, fz]));
    let (to, from) = sides.ok_or(RuntimeError::INVALID_VALUE)?;
    Ok((to, from, Box3 { width, height, depth }))
}

fn weight(size: Box3) -> Weight {
    if size.bytes().is_some_and(|bytes| bytes <= LIGHT) { Weight::Light } else { Weight::Heavy }
}

/// Does something with each row, in a stream; a fault is the device's, as one of a kernel is.
fn by_rows(
    size: Box3,
    what: &'static str,
    row: impl Fn(u64, u64) -> Result<(), Box<AccessFault>> + Send + 'static,
) -> ChildWork {
    Box::new(move |stream: &Stream, _| {
        let failing = stream.clone();
        stream.run(weight(size), move || {
            let mut places = (0..size.depth).flat_map(|z| (0..size.height).map(move |y| (y, z)));
            if let Err(fault) = places.try_for_each(|(y, z)| row(y, z)) {
                failing.fail(Arc::new(Fault::new(FaultKind::Access(*fault), what)));
            }
        });
    })
}

pub(super) fn copy(environment: &Arc<Environment>, to: Rows, from: Rows, size: Box3) -> ChildWork {
    let environment = Arc::clone(environment);
    by_rows(size, "a copy that a kernel asked for", move |y, z| {
        environment.memory.copy(Side::Device(to.row(y, z)), Side::Device(from.row(y, z)), size.width)
    })
}

pub(super) fn fill(environment: &Arc<Environment>, rows: Rows, value: u8, size: Box3) -> ChildWork {
    let environment = Arc::clone(environment);
    by_rows(size, "a set that a kernel asked for", move |y, z| {
        environment.memory.fill(rows.row(y, z), FillWidth::One, value.into(), size.width)
    })
}
