//! What checkers see: an [`Observer`] is told of grids and of the order of streams, and gives each grid a [`GridObserver`], which gives its CTAs
//! [`CtaObserver`]s: these are told of every access to memory and of all that orders threads.
//!
//! Events are plain data, and come from the executor before or after what they are about, as each one says. An observer never changes what a program
//! computes: it notes and reports, and what the executor refuses it refuses in any case. Without an observer nothing of this is looked at.

mod values;

use std::ops::Range;

pub use values::{Exchange, Party, Stored, Vote, VotePart};

use crate::fault::{AccessKind, Fault, Site};
use crate::grid::Launch;
use crate::memory::{AllocationInfo, Spread};
use crate::stream::StreamKind;

/// What an observer needs of the executor; what nobody wants is not looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// [`CtaObserver::access`], with [`CtaObserver::malloc`] and [`CtaObserver::free`].
    pub accesses: bool,
    /// [`CtaObserver::sync`] and [`CtaObserver::accessed`]: what orders accesses.
    pub order: bool,
    /// [`CtaObserver::stored`]: behind each store to global memory.
    pub stores: bool,
    /// [`CtaObserver::step`] and [`CtaObserver::exchange`]: every instruction with its registers.
    pub steps: bool,
    /// One worker runs all grids, one after another: events come in one order, which is that of the accesses.
    pub serial: bool,
    /// [`HostEvent::CopyWaits`] and [`HostEvent::CopyReads`]: what copies read from the host is looked at twice.
    pub sources: bool,
}

impl Wants {
    /// Whether anything of what kernels do is wanted.
    pub fn kernels(self) -> bool {
        self.accesses || self.order || self.steps
    }

    /// What two observers want together.
    #[must_use]
    pub fn and(self, other: Wants) -> Wants {
        Wants {
            accesses: self.accesses || other.accesses,
            order: self.order || other.order,
            stores: self.stores || other.stores,
            steps: self.steps || other.steps,
            serial: self.serial || other.serial,
            sources: self.sources || other.sources,
        }
    }
}

/// What checks a process.
pub trait Observer: Send + Sync {
    /// What it needs; asked once, before anything runs.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// A grid starts: who is told of it.
    fn begin_grid(&self, grid: &GridFacts<'_>) -> Box<dyn GridObserver>;

    /// The host put work into a stream, waited for some, or made or freed something.
    fn host(&self, event: &HostEvent) {
        let _ = event;
    }
}

/// A grid that starts.
#[derive(Clone, Copy)]
pub struct GridFacts<'a> {
    /// `%gridid`: unique in the process.
    pub id: u64,
    /// Kernel, dimensions, parameters, and through the environment the memory. [`LoadedKernel::site`](crate::kernel::LoadedKernel::site)
    /// tells the place of an instruction.
    pub launch: &'a Launch,
    /// Bytes of shared memory that the kernel declares.
    pub static_shared: u32,
    /// Where it stands in its stream, if it is in one.
    pub place: Option<StreamPlace>,
}

/// A place in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamPlace {
    /// [`Stream::id`](crate::stream::Stream::id).
    pub stream: u64,
    /// Counts what was put into the stream, from 1.
    pub number: u64,
}

/// Which threads an event is about: lanes of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// `%ctaid`.
    pub cta: [u32; 3],
    /// `%cluster_ctarank`.
    pub rank: u32,
    /// Number of the warp in the CTA. Lane `l` is thread `32 * warp + l` of the CTA, x fastest.
    pub warp: u32,
    /// The lanes.
    pub mask: u32,
    /// The instruction, for [`LoadedKernel::site`](crate::kernel::LoadedKernel::site).
    pub site: Site,
    /// The call of a function that the lanes are in: its number in the warp, which later calls have again.
    pub activation: u32,
}

impl At {
    /// `%tid` of a lane in CTAs of this shape.
    pub fn thread(&self, lane: u32, shape: [u32; 3]) -> [u32; 3] {
        let [x, y, _] = shape;
        let number = 32 * self.warp + lane;
        [number % x, number / x % y, number / (x * y)]
    }

    /// The lanes, lowest first.
    pub fn lanes(&self) -> impl Iterator<Item = u32> + use<> {
        let mask = self.mask;
        (0..32).filter(move |lane| mask >> lane & 1 != 0)
    }
}

/// The memory that an access goes to; generic addresses have been resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Global and constant memory, and what a generic address means that is in no window.
    Global,
    /// Shared memory: [`split_shared`](crate::address::split_shared) tells CTA and offset.
    Shared,
    /// The thread's own local memory, by the offset in it.
    Local,
    /// Parameters of the kernel, by the offset.
    Param,
}

/// How an access or a fence is ordered (PTX ISA 8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Semantics {
    Weak,
    Volatile,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    Sc,
    Mmio,
}

/// Among which threads it is ordered (PTX ISA 8.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Scope {
    Cta,
    Cluster,
    Gpu,
    Sys,
}

/// The path that an access takes (PTX ISA 8.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Proxy {
    /// Loads, stores and atomics.
    Generic,
    /// `cp.async`, in groups ([`Copies::Commit`]) or towards an mbarrier.
    Copy,
    /// Bulk and tensor copies, `st.async` and `red.async`.
    Async,
    /// Textures and surfaces.
    Texture,
}

/// One instruction of some lanes that reads or writes memory, all of one space.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// Reads, writes or both.
    pub kind: AccessKind,
    /// Where.
    pub space: Space,
    /// Bytes of each lane.
    pub bytes: u32,
    /// What addresses must be multiples of.
    pub align: u32,
    /// First byte of each lane, in its space.
    pub addresses: &'a [u64; 32],
    /// How these lie, for lanes that access `bytes` or, of several elements of consecutive lanes together, [`Access::apart`]; `Other` unless all lanes access.
    pub spread: Spread,
    /// By how many bytes the addresses of lanes are apart that lie [one behind the other](Spread::Consecutive).
    pub apart: u32,
    /// The lowest and the highest of the addresses.
    pub reach: [u64; 2],
    /// All addresses are multiples of `align`.
    pub aligned: bool,
    /// Bytes that there are of the space, to the byte: of shared memory in each CTA, of local memory up to the end of the running
    /// function's; 0 for global memory.
    pub limit: u64,
    /// Its order.
    pub semantics: Semantics,
    /// For whom it has that order.
    pub scope: Scope,
    /// Its path.
    pub proxy: Proxy,
    /// Registers that are loaded or stored, by their number in the function; [`NO_REGISTER`] for constants. Each holds an equal part of
    /// `bytes`, in this order. Empty for what moves through no registers.
    pub registers: &'a [u32],
    /// What a store puts there. None for what does not store, and where it is not known.
    pub stored: Option<&'a dyn Stored>,
}

/// In the place of a register where a constant stands.
pub const NO_REGISTER: u32 = u32::MAX;

/// What orders threads, or ends them.
#[derive(Clone, Copy, Debug)]
pub enum SyncEvent<'a> {
    /// Before the lanes arrive at barrier `id` of the CTA (`bar`, `barrier`).
    BarrierArrive {
        /// The barrier.
        id: u32,
        /// Threads that it waits for: all of the CTA for none.
        expected: Option<u32>,
        /// Whether the lanes wait, and [`SyncEvent::BarrierPass`] follows.
        waits: bool,
        /// All lanes of the warp were to come together.
        aligned: bool,
        /// Lanes of the warp that have neither exited nor come along.
        missing: u32,
        /// The phase of the barrier that they arrive in.
        phase: u64,
    },
    /// The lanes go on behind the barrier at which they arrived last.
    BarrierPass {
        /// The barrier.
        id: u32,
    },
    /// Before the lanes take part in an operation of `members`: `bar.warp.sync`, `shfl.sync`, `vote.sync` and their like.
    WarpArrive {
        /// The member mask that all of them give.
        members: u32,
        /// Lanes of the warp that have exited.
        exited: u32,
        /// Whether memory is ordered (`bar.warp.sync` only: PTX ISA 9.7.13.2).
        orders: bool,
    },
    /// The lanes go on behind that.
    WarpPass {
        /// The member mask.
        members: u32,
        /// As in [`SyncEvent::WarpArrive`].
        orders: bool,
    },
    /// `fence`, `membar`.
    Fence {
        /// Its order.
        semantics: Semantics,
        /// For whom.
        scope: Scope,
    },
    /// `fence.proxy`, `membar.proxy`.
    ProxyFence,
    /// Before an operation on the mbarriers at these `.shared` addresses.
    Mbarrier {
        /// Of each lane.
        addresses: &'a [u64; 32],
        /// Which operation.
        op: MbarrierOp<'a>,
        /// Its order.
        semantics: Semantics,
        /// For whom.
        scope: Scope,
    },
    /// After a test of mbarriers that found the phase over in the lanes of [`At::mask`].
    MbarrierPass {
        /// Of each lane.
        addresses: &'a [u64; 32],
        /// Its order.
        semantics: Semantics,
        /// For whom.
        scope: Scope,
    },
    /// Before the lanes arrive at the barrier of the cluster.
    ClusterArrive {
        /// `Release` or `Relaxed`.
        semantics: Semantics,
    },
    /// The lanes go on behind the barrier of the cluster.
    ClusterPass,
    /// Groups of asynchronous copies.
    Copies(Copies),
    /// Before the lanes exit.
    Exit,
}

/// What is done to an mbarrier; numbers are of each lane.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum MbarrierOp<'a> {
    /// `v1`: of `.layout::v1`.
    Init {
        count: &'a [u32; 32],
        v1: bool,
    },
    Inval,
    ExpectTx {
        bytes: &'a [u32; 32],
    },
    /// Also what bulk and tensor copies, `st.async` and `red.async` do when their bytes have come, one lane at a time.
    CompleteTx {
        bytes: &'a [u32; 32],
    },
    /// `expects`: the bytes of `arrive.expect_tx`, which come before the arrival. `count`: how many arrivals, one if it is not said.
    Arrive {
        drops: bool,
        expects: Option<&'a [u32; 32]>,
        count: Option<&'a [u32; 32]>,
    },
    /// `cp.async.mbarrier.arrive`: comes after the lane's copies. `counted` (`.noinc`): it is one of the arrivals that the object was made for.
    ArriveOfCopies {
        counted: bool,
    },
    /// `check_layout`
    CheckLayout,
    /// `test_wait`, `try_wait`: whether it is over is told by [`SyncEvent::MbarrierPass`].
    Test,
}

/// `cp.async` groups (PTX ISA 9.7.9.25.3) and bulk groups (9.7.9.25.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// What was issued since the last one is a group.
    Commit {
        /// Of bulk copies.
        bulk: bool,
    },
    /// The lanes go on when at most so many of their latest groups are not over; none: and what is in no group.
    Wait {
        /// Of bulk copies.
        bulk: bool,
        /// How many.
        pending: Option<u32>,
    },
}

/// What is done with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Its value goes into the result.
    Value,
    /// It decides which lanes take part, or where they go on.
    Decides,
    /// It is an address, a handle or what is called.
    Address,
}

/// A byte of a result that hangs on a byte of what is read. Bytes are counted from the least significant one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece {
    /// The register that is written.
    pub to: u32,
    /// Its byte.
    pub at: u8,
    /// The register that is read.
    pub from: u32,
    /// Its byte.
    pub byte: u8,
}

/// Lanes in which a register that is read counts for nothing: another one that is read decides that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The register.
    pub register: u32,
    /// The one that decides: if it holds nothing itself, nothing is decided.
    pub by: u32,
    /// The lanes.
    pub lanes: u32,
}

/// An instruction with its registers, by their numbers in the function.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// What it reads.
    pub reads: &'a [(u32, Use)],
    /// What it writes, in the lanes of [`At::mask`].
    pub writes: &'a [u32],
    /// What bytes of its results hang on; those that are missing hang on nothing. None where all bytes hang on all that is read.
    pub pieces: Option<&'a [Piece]>,
    /// What of its operands counts for nothing.
    pub idle: &'a [Idle],
    /// It loads, stores or updates memory: a [`CtaObserver::access`] follows, which names what is loaded.
    pub memory: bool,
    /// It calls: its registers are those of a [`Crossing`], unless the system provides what is called.
    pub call: bool,
}

/// Values that cross the border of a function that was called.
#[derive(Clone, Copy, Debug)]
pub struct Crossing<'a> {
    /// The activation that called; [`At::activation`] is the one of the function.
    pub caller: u32,
    /// Arguments come in, at its start; else results go out, at its end.
    pub enters: bool,
    /// From which register to which, in their functions. None for constants, and for what crosses in bytes of local memory.
    pub registers: &'a [(Option<u32>, Option<u32>)],
}

/// Who is told of what a grid does. Several workers run CTAs of a grid at once.
pub trait GridObserver: Send + Sync {
    /// CTAs start, and nothing of them has run: one, or all of a cluster in the order of their ranks. Who is told of what they do.
    fn begin(&self, ctas: &[[u32; 3]]) -> Box<dyn CtaObserver>;

    /// The grid has ended.
    fn end(&self, fault: Option<&Fault>) {
        let _ = fault;
    }
}

/// Who is told of what a CTA does, or the CTAs of a cluster: their warps run one at a time. It goes when they have been stopped.
pub trait CtaObserver: Send {
    /// Before the access happens.
    fn access(&mut self, at: &At, access: &Access<'_>);

    /// Before weak loads of consecutive elements, `bytes` together for each lane, that an executor does in one: true if nothing needs to be said about
    /// them, and they are done; else they follow one by one, each with [`CtaObserver::access`].
    fn reads(&mut self, at: &At, access: &Access<'_>) -> bool {
        let _ = (at, access);
        false
    }

    /// After a strong load or an atomic: `wrote` are the lanes in which memory was written. (A `cas` that fails has only read.)
    fn accessed(&mut self, at: &At, access: &Access<'_>, wrote: u32) {
        let _ = (at, access, wrote);
    }

    /// After a store by `st` that was told of, and has reached global memory.
    fn stored(&mut self) {}

    /// What orders threads.
    fn sync(&mut self, at: &At, event: &SyncEvent<'_>) {
        let _ = (at, event);
    }

    /// Before each instruction, if the observer [wants](Wants::steps) it.
    fn step(&mut self, at: &At, step: &Step<'_>) {
        let _ = (at, step);
    }

    /// Lanes give each other values, if the observer wants [steps](Wants::steps): told in place of the step, when all have come. [`At::mask`] are all lanes.
    fn exchange(&mut self, at: &At, exchange: &Exchange<'_>) {
        let _ = (at, exchange);
    }

    /// Lanes give a predicate to a barrier, or get what the threads' predicates came to, if the observer wants [steps](Wants::steps): told in place of
    /// those registers in the step.
    fn vote(&mut self, at: &At, vote: &Vote) {
        let _ = (at, vote);
    }

    /// Before instructions that an executor does in one, if the observer wants [steps](Wants::steps): what they read of registers before they write them, and
    /// what they write that is read behind them. True if nothing needs to be said about them, and they are done if [`CtaObserver::reads`] has nothing to
    /// say either; else they follow one by one.
    fn steps(&mut self, at: &At, step: &Step<'_>) -> bool {
        let _ = (at, step);
        false
    }

    /// Values cross the border of a function, if the observer wants [steps](Wants::steps).
    fn cross(&mut self, at: &At, crossing: &Crossing<'_>) {
        let _ = (at, crossing);
    }

    /// `malloc` in a kernel, after it has been done: `address` is 0 where there was no memory.
    fn malloc(&mut self, at: &At, address: u64, bytes: u64) {
        let _ = (at, address, bytes);
    }

    /// `free` in a kernel, before it is done; not of NULL.
    fn free(&mut self, at: &At, address: u64) {
        let _ = (at, address);
    }

    /// All threads have exited.
    fn finished(&mut self) {}
}

/// What the host does, in the order of its calls on each thread.
#[derive(Clone, Debug)]
pub enum HostEvent {
    /// Memory was allocated, and may be used at once, or by what comes behind `place`.
    Alloc {
        /// The allocation.
        info: AllocationInfo,
        /// Where in a stream, for stream-ordered memory.
        place: Option<StreamPlace>,
    },
    /// Memory is freed at once, or when its stream gets to `place`.
    Free {
        /// The allocation.
        info: AllocationInfo,
        /// Where in a stream, for stream-ordered memory.
        place: Option<StreamPlace>,
    },
    /// Physical memory was mapped.
    Mapped {
        /// The mapping.
        info: AllocationInfo,
        /// It holds nothing: it was never mapped before, and nobody else can have it.
        fresh: bool,
        /// It lies on the host, which writes there without telling.
        silent: bool,
    },
    /// A mapping is no more.
    Unmapped(AllocationInfo),
    /// The program made an object that it is to end.
    Made {
        /// What it is: `stream`.
        what: &'static str,
        /// What calls know it by.
        handle: u64,
        /// The context that it ends with, if it does; see [`AllocationInfo::owner`].
        owner: Option<u64>,
    },
    /// Such an object is no more.
    Ended {
        /// What it was.
        what: &'static str,
        /// What calls knew it by.
        handle: u64,
    },
    /// A context ends, and with it all that it owns.
    ContextEnds(u64),
    /// The process ends: nothing runs any more.
    ProcessEnds,
    /// A stream was made.
    Stream {
        /// [`Stream::id`](crate::stream::Stream::id).
        stream: u64,
        /// The streams of a context have the same one. What is put into its legacy stream comes behind all that its blocking streams
        /// hold, and what is put into a blocking stream behind all that the legacy stream holds.
        group: u64,
        /// How it orders itself.
        kind: StreamKind,
    },
    /// Work was put into a stream, behind all that it holds.
    Submit {
        /// Its place.
        place: StreamPlace,
    },
    /// What is put into `stream` from now on comes behind `other`.
    After {
        /// The stream.
        stream: u64,
        /// The last that it comes behind.
        other: StreamPlace,
    },
    /// The same behind all that the streams of a group hold.
    AfterGroup {
        /// The stream.
        stream: u64,
        /// The group.
        group: u64,
    },
    /// What is put into the streams of a group from now on, into those to come too, comes behind `other`.
    GroupAfter {
        /// The group.
        group: u64,
        /// The last that it comes behind.
        other: StreamPlace,
    },
    /// The calling thread has seen that the stream has got beyond that place: what it does from now on comes behind it.
    Waited(StreamPlace),
    /// A stream is about to write a value that others may wait for: where such a wait is over, what comes before this is done.
    Releases {
        /// Where in a stream.
        place: StreamPlace,
        /// The value's address.
        address: u64,
    },
    /// A stream has waited for somebody outside of it: all that it holds behind that comes behind what has been released, also what was put there before.
    Met {
        /// Where in the stream.
        place: StreamPlace,
        /// The address of the value that was waited for; none for a signal.
        address: Option<u64>,
    },
    /// What [`HostEvent::Waited`] says of all that the streams of a group hold.
    WaitedForGroup {
        /// The group.
        group: u64,
        /// What its non-blocking streams hold may not have ended.
        blocking_only: bool,
    },
    /// The host copies or fills memory, told before it is done and in the order in which all is done: a part of it without gaps.
    Touches {
        /// Where in a stream.
        place: StreamPlace,
        /// What is read, byte for byte what is written; none for a fill, and for what has been read before, in the call.
        read: Option<Bytes>,
        /// What is written.
        written: Option<Bytes>,
        /// What it is, for reports: `a copy`.
        what: &'static str,
    },
    /// A copy that reads memory of the host when its turn comes has been put into a stream; told on the calling thread, of observers that want
    /// [sources](Wants::sources).
    CopyWaits {
        /// Its number in the process.
        copy: u64,
        /// What it reads.
        source: Range<u64>,
    },
    /// The turn of such a copy has come, and this is what has become of its source.
    CopyReads {
        /// Its number.
        copy: u64,
        /// What has become of it.
        source: Source,
    },
    /// The program, or somebody else outside of the streams, has had a turn: a function in a stream has ended, or a wait for a value or a signal.
    Turn,
    /// A stream has got to where this stream-ordered memory may be used from: nobody uses what was there before.
    Ready(AllocationInfo),
    /// A stream has got to where this memory is freed; [`HostEvent::Free`] has told of it when it was asked for.
    Gone(AllocationInfo),
    /// Memory that others, outside of the process, may write from now on.
    Outside(AllocationInfo),
}

/// What has become of memory of the host between a call and the copy that it asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// It holds what it held.
    Same,
    /// It holds something else, somewhere in this part.
    Changed(Range<u64>),
    /// It is not mapped any more.
    Gone,
}

/// Bytes that a copy or fill reads or writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bytes {
    /// From the first to behind the last.
    pub range: Range<u64>,
    /// The caller's memory, or pinned memory: not the device's.
    pub host: bool,
}
