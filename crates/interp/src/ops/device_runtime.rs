//! The device's runtime library: launches, streams, events, copies and queries of kernels (CUDA programming guide, dynamic parallelism). What
//! is answered, and which errors stay with a thread, is as an H100 recorded it (`tests/cuda_recorded/device_launch`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use warploom_exec::device_runtime::{DeviceRuntime, NodeChange, NodeUpdate, RuntimeError};
use warploom_exec::family::{ChildLaunch, ChildStream, Family, Prepared};
use warploom_exec::fault::FaultKind;
use warploom_exec::grid::Launch;
use warploom_exec::stream::Weight;
use warploom_ptx::ir::{RuntimeCall, RuntimeFunction};

use super::device_copies::{self, Box3, Rows};
use crate::machine::{Flow, Machine, lanes};
use crate::memory::StateSpace;
use crate::program::ValuePlace;
use crate::warp::Wait;

/// Between two looks whether what a CTA waits for has ended.
const LOOK: Duration = Duration::from_micros(50);

/// The streams that launches of graphs are put into.
const GRAPH_TAIL: u64 = 0x0100_0000_0000_0000;
const GRAPH_FIRE_AND_FORGET: u64 = 0x0200_0000_0000_0000;
const GRAPH_SIBLING: u64 = 0x0300_0000_0000_0000;

/// Bytes of a change of a node (`cudaGraphKernelNodeUpdate`), and where its parts are.
const UPDATE_BYTES: u64 = 40;
const UPDATE_FIELD: u64 = 8;
const UPDATE_DATA: u64 = 16;
/// Bytes of the parameters of a kernel, at most (PTX ISA 5.1.6.1): no change has more.
const MOST_PARAMETERS: u64 = 32_764;

/// The flag that events of kernels must have (`cudaEventDisableTiming`), and all flags of events.
const DISABLE_TIMING: u64 = 2;
const EVENT_FLAGS: u64 = 7;

/// Calls `function` from call site `site`.
pub(crate) fn run(machine: &mut Machine<'_>, function: RuntimeFunction, site: u32, mask: u32) -> Flow {
    let grid = machine.grid;
    let (Some(runtime), Some(family)) = (&grid.launch.runtime, &grid.family) else {
        return machine.fail(mask, FaultKind::Internal("a kernel calls the device's runtime that has none".into()));
    };
    let [x, y, z] = machine.cta.id.map(u64::from);
    let [width, height, _] = grid.launch.grid.map(u64::from);
    let cta = x + width * (y + height * z);
    if function.call == RuntimeCall::DeviceSynchronize && family.is_busy(cta) {
        let others = machine.active & !mask;
        if others != 0 {
            machine.warp.park(machine.activation, machine.pc + 1, others, Wait::Ready);
        }
        machine.warp.park(machine.activation, machine.pc, mask, Wait::Sleep { until: Instant::now() + LOOK });
        return Flow::Switch;
    }
    let mut result = [0; 32];
    for lane in lanes(mask) {
        let index = machine.warp.index * 32 + lane as u32;
        let mut thread =
            Thread { machine, runtime: &**runtime, family, site, per_thread: function.per_thread, lane, cta, index };
        match thread.call(function.call) {
            Ok(value) => result[lane] = value,
            Err(Refused::Code(RuntimeError(code))) => {
                // As recorded, an unknown limit is told of, and not remembered.
                if function.call != RuntimeCall::DeviceGetLimit {
                    family.set_error(cta, index, code);
                }
                let address =
                    matches!(function.call, RuntimeCall::GetParameterBuffer | RuntimeCall::GetParameterBufferV2);
                result[lane] = if address { 0 } else { u64::from(code) };
            }
            Err(Refused::Fault(kind)) => return machine.fail(1 << lane, kind),
        }
    }
    if let Some(&place) = machine.function.calls[site as usize].results.first() {
        machine.set_result(place, &result, mask);
    }
    Flow::Next
}

/// Why a call does nothing.
pub(super) enum Refused {
    Code(RuntimeError),
    Fault(FaultKind),
}

impl From<RuntimeError> for Refused {
    fn from(code: RuntimeError) -> Refused {
        Refused::Code(code)
    }
}

impl From<FaultKind> for Refused {
    fn from(kind: FaultKind) -> Refused {
        Refused::Fault(kind)
    }
}

/// What a call answers if it succeeds: an address, or 0.
type Answer = Result<u64, Refused>;

/// One thread's call.
struct Thread<'t, 'a> {
    machine: &'t mut Machine<'a>,
    runtime: &'t dyn DeviceRuntime,
    family: &'t Arc<Family>,
    site: u32,
    per_thread: bool,
    lane: usize,
    cta: u64,
    /// The thread's number in its CTA.
    index: u32,
}

fn require(holds: bool) -> Result<(), RuntimeError> {
    if holds { Ok(()) } else { Err(RuntimeError::INVALID_VALUE) }
}

impl Thread<'_, '_> {
    fn call(&mut self, call: RuntimeCall) -> Answer {
        use RuntimeCall::*;
        match call {
            GetParameterBuffer => self.buffer(self.word(1), None),
            GetParameterBufferV2 => {
                let (function, dynamic_shared) = (self.word(0), self.word(3) as u32);
                let child = ChildLaunch { function, grid: self.extents(1), cta: self.extents(2), dynamic_shared };
                self.runtime.check(&child)?;
                self.buffer(u64::from(self.runtime.parameter_bytes(function)?), Some(child))
            }
            LaunchDevice => {
                let (function, dynamic_shared) = (self.word(0), self.word(4) as u32);
                let child = ChildLaunch { function, grid: self.extents(2), cta: self.extents(3), dynamic_shared };
                self.launch(self.word(1), Some(child), self.word(5))
            }
            LaunchDeviceV2 => self.launch(self.word(0), None, self.word(1)),
            DeviceSynchronize => Ok(0),
            GetLastError | PeekAtLastError => Ok(self.family.error(self.cta, self.index, call == GetLastError).into()),
            GetErrorName | GetErrorString => Ok(self.runtime.error_text(self.word(0) as u32, call == GetErrorName)?),
            GetDeviceCount => self.tell(0, self.runtime.device_count()),
            GetDevice => self.tell(0, self.runtime.device()),
            RuntimeGetVersion => self.tell(0, self.runtime.version()),
            DeviceGetAttribute => {
                let value = self.runtime.attribute(self.word(1) as i32, self.word(2) as i32)?;
                self.tell(0, value)
            }
            DeviceGetLimit => {
                let value = self.runtime.limit(self.word(1) as u32)?;
                self.store(self.word(0), 8, value)
            }
            // No device has a choice any more: cudaFuncCachePreferNone, and banks of 4 bytes.
            DeviceGetCacheConfig => self.tell(0, 0),
            DeviceGetSharedMemConfig => self.tell(0, 1),
            StreamCreateWithFlags => {
                require(self.word(1) as u32 <= 1)?;
                let handle = self.family.create_stream();
                self.store(self.word(0), 8, handle)
            }
            StreamDestroy => Ok(require(self.family.destroy_stream(self.word(0))).map(|()| 0)?),
            StreamWaitEvent => {
                let stream = self.stream(self.word(0));
                Ok(require(self.family.wait_event(self.cta, stream, self.word(1))).map(|()| 0)?)
            }
            EventCreateWithFlags => {
                let flags = self.word(1) & u64::from(u32::MAX);
                require(flags & DISABLE_TIMING != 0 && flags <= EVENT_FLAGS)?;
                let handle = self.family.create_event();
                self.store(self.word(0), 8, handle)
            }
            EventRecord | EventRecordWithFlags => {
                let stream = self.stream(self.word(1));
                Ok(require(self.family.record_event(self.cta, self.word(0), stream)).map(|()| 0)?)
            }
            EventDestroy => Ok(require(self.family.destroy_event(self.word(0))).map(|()| 0)?),
            FuncGetAttributes => self.function(),
            OccupancyMaxActiveBlocksPerMultiprocessor | OccupancyMaxActiveBlocksPerMultiprocessorWithFlags => {
                let ctas = self.runtime.resident_ctas(self.word(1), self.word(2) as i32, self.word(3))?;
                self.tell(0, ctas)
            }
            Malloc => self.malloc(),
            Free => self.free(),
            MemcpyAsync => {
                let (to, from, width) = (self.word(0), self.word(1), self.word(2));
                device_copies::check_kind(self.word(3) as u32)?;
                let size = Box3 { width, height: 1, depth: 1 };
                self.copy(Rows::from(to), Rows::from(from), size, self.word(4))
            }
            Memcpy2DAsync => {
                device_copies::check_kind(self.word(6) as u32)?;
                let to = Rows { base: self.word(0), pitch: self.word(1), slice: 0 };
                let from = Rows { base: self.word(2), pitch: self.word(3), slice: 0 };
                let size = Box3 { width: self.word(4), height: self.word(5), depth: 1 };
                self.copy(to, from, size, self.word(7))
            }
            Memcpy3DAsync => {
                let address = self.word(0);
                let mut words = [0; 20];
                for (place, word) in (0..).zip(&mut words) {
                    *word = self.load(address + 8 * place, if place == 19 { 4 } else { 8 })?;
                }
                let (to, from, size) = device_copies::of_parameters(&words)?;
                self.copy(to, from, size, self.word(1))
            }
            MemsetAsync => {
                let size = Box3 { width: self.word(2), height: 1, depth: 1 };
                self.fill(Rows::from(self.word(0)), self.word(1) as u8, size, self.word(3))
            }
            Memset2DAsync => {
                let size = Box3 { width: self.word(3), height: self.word(4), depth: 1 };
                let rows = Rows { base: self.word(0), pitch: self.word(1), slice: 0 };
                self.fill(rows, self.word(2) as u8, size, self.word(5))
            }
            Memset3DAsync => {
                let [base, pitch, _, height] = [0, 8, 16, 24].map(|offset| self.part(0, offset, 8));
                let [width, rows, depth] = [0, 8, 16].map(|offset| self.part(2, offset, 8));
                let size = Box3 { width, height: rows, depth };
                let slice = pitch.checked_mul(height).ok_or(RuntimeError::INVALID_VALUE)?;
                self.fill(Rows { base, pitch, slice }, self.word(1) as u8, size, self.word(3))
            }
            GraphLaunch => self.launch_graph(self.word(0), self.word(1)),
            GraphKernelNodeSetParam => {
                let change = self.parameters(self.word(1), self.word(2), self.word(3))?;
                self.update_nodes(&[NodeUpdate { node: self.word(0), change }])
            }
            GraphKernelNodeSetEnabled => {
                let change = NodeChange::Enabled(self.part(1, 0, 1) & 0xff != 0);
                self.update_nodes(&[NodeUpdate { node: self.word(0), change }])
            }
            GraphKernelNodeSetGridDim => {
                let change = NodeChange::Grid(self.extents(1));
                self.update_nodes(&[NodeUpdate { node: self.word(0), change }])
            }
            GraphKernelNodeUpdatesApply => {
                let (list, count) = (self.word(0), self.word(1));
                // As recorded, no list is an error even where nothing is in it.
                require(list != 0)?;
                let mut updates = Vec::new();
                for index in 0..count {
                    updates.push(self.update_at(list.wrapping_add(UPDATE_BYTES.wrapping_mul(index)))?);
                }
                self.update_nodes(&updates)
            }
        }
    }

    /// `size` bytes of an argument, from `offset` on; 0 where the call has none.
    fn part(&self, argument: usize, offset: u32, size: u32) -> u64 {
        let place = match self.machine.function.calls[self.site as usize].arguments.get(argument) {
            Some(&ValuePlace::Bytes(start, bytes)) if offset + size <= bytes => {
                ValuePlace::Bytes(start.wrapping_add(offset), size)
            }
            Some(&ValuePlace::Bytes(start, bytes)) if offset == 0 => ValuePlace::Bytes(start, bytes),
            Some(ValuePlace::Bytes(..)) | None => return 0,
            Some(&place) => place,
        };
        self.machine.argument(place, 1 << self.lane)[self.lane]
    }

    fn word(&self, argument: usize) -> u64 {
        self.part(argument, 0, 8)
    }

    /// A `dim3`.
    fn extents(&self, argument: usize) -> [u32; 3] {
        [0, 4, 8].map(|offset| self.part(argument, offset, 4) as u32)
    }

    fn load(&mut self, address: u64, size: u32) -> Result<u64, FaultKind> {
        Ok(self.machine.load(StateSpace::Generic, address, size, self.lane)? as u64)
    }

    fn store(&mut self, address: u64, size: u32, value: u64) -> Answer {
        self.machine.tell_store(address, size, self.lane);
        self.machine.store(StateSpace::Generic, address, size, self.lane, value.into())?;
        Ok(0)
    }

    /// Writes a number to where an argument says.
    fn tell(&mut self, argument: usize, value: i32) -> Answer {
        self.store(self.word(argument), 4, u64::from(value as u32))
    }

    fn stream(&self, handle: u64) -> ChildStream {
        match (handle, self.per_thread) {
            (0, false) | (1, _) => ChildStream::OfCta(self.cta),
            (0, true) | (2, _) => ChildStream::OfThread(self.cta, self.index),
            (3, _) => ChildStream::Tail,
            (4, _) => ChildStream::FireAndForget,
            (named, _) => ChildStream::Named(named),
        }
    }

    /// A parameter buffer.
    fn buffer(&mut self, bytes: u64, launch: Option<ChildLaunch>) -> Answer {
        let address = self.machine.grid.launch.environment.heap.buffer(bytes).ok_or(RuntimeError::MEMORY_ALLOCATION)?;
        // What it held for another launch is over.
        self.machine.tell_call(1 << self.lane, |observer, at| observer.malloc(at, address, bytes));
        self.family.note_buffer(address, Prepared { launch, bytes });
        Ok(address)
    }

    /// Launches what a parameter buffer was made for, or `child`; the buffer is used up.
    fn launch(&mut self, buffer: u64, child: Option<ChildLaunch>, stream: u64) -> Answer {
        let prepared = self.family.take_buffer(buffer);
        // A kernel without parameters needs no buffer.
        let bytes = match prepared {
            Some(prepared) => prepared.bytes,
            None if child.is_some() && buffer == 0 => 0,
            None => return Err(RuntimeError::INVALID_VALUE.into()),
        };
        let mut parameters = Vec::with_capacity(bytes as usize);
        for offset in 0..bytes {
            parameters.push(self.load(buffer + offset, 1)? as u8);
        }
        let environment = &self.machine.grid.launch.environment;
        if prepared.is_some() {
            environment.heap.free_buffer(buffer);
        }
        let child = child.or(prepared.and_then(|prepared| prepared.launch)).ok_or(RuntimeError::INVALID_VALUE)?;
        parameters.truncate(self.runtime.parameter_bytes(child.function)? as usize);
        let launch = self.runtime.prepare(&child, parameters.into())?;
        let pending = environment.pending.enter().ok_or(RuntimeError::LAUNCH_PENDING_COUNT_EXCEEDED)?;
        // In a green context children have what their parent has.
        let workers = self.machine.grid.launch.workers.clone();
        let work = move |stream: &warploom_exec::stream::Stream, behind| {
            stream.launch(Launch { behind, workers, ..launch });
            stream.run(Weight::Light, move || drop(pending));
        };
        require(self.family.put(self.cta, self.stream(stream), Box::new(work)))?;
        Ok(0)
    }

    /// What there was in the first version of the structure is written: the newer members are left as they are, as recorded.
    fn function(&mut self) -> Answer {
        let facts = self.runtime.function(self.word(1))?;
        let address = self.word(0);
        let long = [facts.shared_size_bytes, facts.const_size_bytes, facts.local_size_bytes];
        let short =
            [facts.max_threads_per_block, facts.num_regs, facts.ptx_version, facts.binary_version, facts.cache_mode_ca];
        for (place, value) in (0..).zip(long) {
            self.store(address + 8 * place, 8, value)?;
        }
        for (place, value) in (0..).zip(short) {
            self.store(address + 24 + 4 * place, 4, u64::from(value as u32))?;
        }
        Ok(0)
    }

    fn malloc(&mut self) -> Answer {
        let (place, bytes) = (self.word(0), self.word(1));
        require(bytes != 0)?;
        let heap = &self.machine.grid.launch.environment.heap;
        let address = heap.malloc(bytes).ok_or(RuntimeError::MEMORY_ALLOCATION)?;
        self.machine.tell_call(1 << self.lane, |observer, at| observer.malloc(at, address, bytes));
        self.store(place, 8, address)
    }

    fn free(&mut self) -> Answer {
        let address = self.word(0);
        if address == 0 {
            return Ok(0);
        }
        self.machine.tell_call(1 << self.lane, |observer, at| observer.free(at, address));
        self.machine.grid.launch.environment.heap.free(address).map_err(FaultKind::IllegalInstruction)?;
        Ok(0)
    }

    fn copy(&mut self, to: Rows, from: Rows, size: Box3, stream: u64) -> Answer {
        self.put(device_copies::copy(&self.machine.grid.launch.environment, to, from, size), size, stream)
    }

    fn fill(&mut self, rows: Rows, value: u8, size: Box3, stream: u64) -> Answer {
        self.put(device_copies::fill(&self.machine.grid.launch.environment, rows, value, size), size, stream)
    }

    /// Puts a copy or a set into a stream, unless it is empty.
    fn put(&mut self, work: warploom_exec::family::ChildWork, size: Box3, stream: u64) -> Answer {
        if size.bytes().ok_or(RuntimeError::INVALID_VALUE)? != 0 {
            require(self.family.put(self.cta, self.stream(stream), work))?;
        }
        Ok(0)
    }

    /// The change that lies at an address.
    fn update_at(&mut self, address: u64) -> Result<NodeUpdate, Refused> {
        let node = self.load(address, 8)?;
        let data = address.wrapping_add(UPDATE_DATA);
        let change = match self.load(address.wrapping_add(UPDATE_FIELD), 4)? {
            1 => {
                let mut grid = [0; 3];
                for (extent, place) in grid.iter_mut().zip((data..).step_by(4)) {
                    *extent = self.load(place, 4)? as u32;
                }
                NodeChange::Grid(grid)
            }
            2 => {
                let [value, offset, size] = [0, 8, 16].map(|part| self.load(data.wrapping_add(part), 8));
                self.parameters(offset?, value?, size?)?
            }
            3 => NodeChange::Enabled(self.load(data, 4)? != 0),
            _ => return Err(RuntimeError::INVALID_VALUE.into()),
        };
        Ok(NodeUpdate { node, change })
    }

    /// A change of `size` bytes of parameters to those at an address.
    fn parameters(&mut self, offset: u64, address: u64, size: u64) -> Result<NodeChange, Refused> {
        require(address != 0 && size <= MOST_PARAMETERS)?;
        let mut bytes = Vec::with_capacity(size as usize);
        for place in (address..).take(size as usize) {
            bytes.push(self.load(place, 1)? as u8);
        }
        Ok(NodeChange::Parameters { offset, bytes })
    }

    fn update_nodes(&self, updates: &[NodeUpdate]) -> Answer {
        self.runtime.update_nodes(updates)?;
        Ok(0)
    }

    /// Launches a graph. What no graph's kernel launches belongs to the kernel.
    fn launch_graph(&mut self, exec: u64, stream: u64) -> Answer {
        let run = self.machine.grid.launch.graph.clone();
        let own = run.as_ref().map_or(self.family, |run| &run.family);
        let beside = run.as_ref().map_or(self.family, |run| &run.beside);
        let (family, stream) = match stream {
            GRAPH_TAIL => (own, ChildStream::Tail),
            GRAPH_FIRE_AND_FORGET => (own, ChildStream::FireAndForget),
            GRAPH_SIBLING => (beside, ChildStream::FireAndForget),
            _ => return Err(RuntimeError::INVALID_VALUE.into()),
        };
        let work = self.runtime.graph(exec, family)?;
        require(family.put(self.cta, stream, work))?;
        Ok(0)
    }
}
