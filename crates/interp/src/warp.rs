//! One warp: groups of lanes with their program counters, activations of functions, and the choice of who runs next.
//!
//! There is one pc per lane. It is kept as *groups*: lanes of one activation at the same pc. The lowest pc of the deepest activation
//! runs first (code is laid out in reverse post order), so that lanes meet again at the earliest point for any control flow. A group
//! that polls in a loop gives way to the others in turn, so that a lane that waits for another lane of its warp does not starve it.

use std::cmp::Reverse;
use std::time::Instant;

use warploom_exec::fault::FaultKind;

use crate::cluster::Cluster;
use crate::cta::CtaShared;
use crate::frame::{FULL, Frame, Frames, Row32, Rows, no_rows};
use crate::machine::{Flow, Machine};
use crate::program::Program;
use crate::waiting::Watch;

/// Backward branches with accesses that may wait for another lane after which another group of the warp gets its turn, if no poll is
/// recognised before.
const LOOKING_TURN: u32 = 32;
/// The same without such accesses: only code that waits for another lane by plain accesses needs it.
const SILENT_TURN: u32 = 1 << 16;

/// No activation.
pub(crate) const NO_PARENT: u32 = u32::MAX;

/// Why a group does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It can run.
    Ready,
    /// At a warp-wide operation until all of `members` have come; `key` tells operations apart.
    Rendezvous { members: u32, key: u32 },
    /// At barrier `id` of the CTA, `ticket` is the phase it waits for; whether it will take the phase's reduction.
    Barrier { id: u32, ticket: u64, reduces: bool },
    /// Until all warps of its warpgroup have computed so many products.
    Warpgroup { products: u64 },
    /// At the barrier of the cluster, until more phases than these are over.
    Cluster { phase: u64 },
    /// In a `nanosleep`, until then.
    Sleep { until: Instant },
}

/// Who goes on after a backward branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The same group.
    Stay,
    /// Another group of the warp.
    GiveWay,
    /// Another warp: the time slice is over.
    End,
}

/// Lanes of one activation at the same pc.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) activation: u32,
    pub(crate) pc: u32,
    pub(crate) mask: u32,
    pub(crate) wait: Wait,
    /// When it last ran, for turns.
    pub(crate) age: u64,
}

/// One call of a function, by some lanes of the warp together.
#[derive(Debug, Default)]
pub(crate) struct Activation {
    /// None before the activation first runs, and while it does: the machine has it then.
    pub(crate) frame: Option<Box<Frame>>,
    pub(crate) function: u32,
    pub(crate) parent: u32,
    pub(crate) depth: u32,
    /// Lanes that are in this activation or in one that it called.
    pub(crate) live: u32,
    /// Where the lanes go on in the parent.
    pub(crate) return_pc: u32,
    /// Index of the call site in the parent's function.
    pub(crate) site: u32,
    /// Start of this activation's part of local memory, in bytes.
    pub(crate) base: u32,
    /// Bytes of the stack in use, as they count against the stack limit.
    pub(crate) stack: u32,
    /// End of each lane's part when it started.
    pub(crate) end: u32,
    /// End of each lane's part since `alloca` has moved it.
    pub(crate) moved_top: Option<Box<Row32>>,
}

impl Activation {
    /// End of each lane's part of local memory.
    pub(crate) fn top(&self) -> Row32 {
        self.moved_top.as_deref().copied().unwrap_or([self.end; 32])
    }

    /// [`Activation::top`], to move.
    pub(crate) fn top_mut(&mut self) -> &mut Row32 {
        self.moved_top.get_or_insert_with(|| Box::new([self.end; 32]))
    }
}

/// A warp between two time slices.
#[derive(Debug)]
pub(crate) struct Warp {
    /// Number in the CTA.
    pub(crate) index: u32,
    /// Threads that exist: all but in the last warp of a CTA.
    pub(crate) lanes: u32,
    pub(crate) exited: u32,
    /// `%tid` of each lane.
    pub(crate) tid: Rows<u32>,
    pub(crate) activations: Vec<Activation>,
    free: Vec<u32>,
    pub(crate) groups: Vec<Group>,
    /// Local memory: word `w` of all lanes is one row.
    pub(crate) local: Rows<u32>,
    /// Whether it waits, and for what it has seen.
    pub(crate) watch: Watch,
    stamp: u64,
    turn: u32,
    /// The next choice goes to the group that has waited longest.
    rotate: bool,
}

impl Default for Warp {
    /// A warp without threads.
    fn default() -> Self {
        Self {
            index: 0,
            lanes: 0,
            exited: 0,
            tid: no_rows(),
            activations: Vec::new(),
            free: Vec::new(),
            groups: Vec::new(),
            local: no_rows(),
            watch: Watch::default(),
            stamp: 0,
            turn: 0,
            rotate: false,
        }
    }
}

impl Warp {
    /// Sets the warp to the kernel's entry; one without threads has ended.
    ///
    /// # Errors
    /// There is no memory for the kernel's local variables.
    #[inline]
    pub(crate) fn start(
        &mut self,
        program: &Program,
        frames: &mut Frames,
        index: u32,
        lanes: u32,
    ) -> Result<(), FaultKind> {
        self.index = index;
        self.lanes = lanes;
        self.exited = 0;
        self.groups.clear();
        self.watch.start();
        self.stamp = 0;
        self.turn = 0;
        self.rotate = false;
        if self.free.len() != self.activations.len() {
            // A cancelled grid has left some.
            for activation in &mut self.activations {
                if let Some(frame) = activation.frame.take() {
                    frames.give(frame);
                }
            }
            self.free.clear();
            self.free.extend((0..self.activations.len() as u32).rev());
        }
        if lanes == 0 {
            return Ok(());
        }
        let kernel = &program.functions[program.kernel as usize];
        let activation = self.take_activation();
        let entry = &mut self.activations[activation as usize];
        entry.function = program.kernel;
        entry.parent = NO_PARENT;
        entry.depth = 0;
        entry.live = lanes;
        entry.base = 0;
        entry.stack = 0;
        entry.end = kernel.local_bytes;
        entry.moved_top = None;
        self.local.truncate(kernel.local_bytes.div_ceil(4) as usize);
        self.reserve_local(kernel.local_bytes)?;
        self.park(activation, 0, lanes, Wait::Ready);
        Ok(())
    }

    /// Makes local memory reach to `end`, in bytes of each thread.
    ///
    /// # Errors
    /// The host has no memory for that.
    pub(crate) fn reserve_local(&mut self, end: u32) -> Result<(), FaultKind> {
        let rows = end.div_ceil(4) as usize;
        let more = rows.saturating_sub(self.local.len());
        if more == 0 {
            return Ok(());
        }
        self.local.try_reserve(more).map_err(|_| FaultKind::NoLocalMemory { bytes: u64::from(end) })?;
        self.local.resize(rows, [0; 32]);
        Ok(())
    }

    /// An activation to fill.
    pub(crate) fn take_activation(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.activations.push(Activation::default());
            self.activations.len() as u32 - 1
        })
    }

    /// Adds a group that is not running.
    pub(crate) fn park(&mut self, activation: u32, pc: u32, mask: u32, wait: Wait) {
        self.stamp += 1;
        self.groups.push(Group { activation, pc, mask, wait, age: self.stamp });
    }

    /// Lanes that exist and have not exited.
    pub(crate) fn alive(&self) -> u32 {
        self.lanes & !self.exited
    }

    /// All lanes have exited.
    pub(crate) fn finished(&self) -> bool {
        self.alive() == 0
    }

    /// Some group can run now, and has not slept.
    pub(crate) fn is_ready(&self, cta: &CtaShared, cluster: Option<&Cluster>) -> bool {
        self.groups.iter().any(|group| match group.wait {
            Wait::Ready => true,
            Wait::Barrier { id, ticket, .. } => cta.barriers.passed(id, ticket),
            Wait::Warpgroup { products } => cta.warpgroups.reached(self.index, products),
            Wait::Cluster { phase } => cluster.is_none_or(|cluster| cluster.phases() > phase),
            Wait::Rendezvous { .. } | Wait::Sleep { .. } => false,
        })
    }

    /// Some group can run now.
    pub(crate) fn runnable(&self, cta: &CtaShared) -> bool {
        self.is_ready(cta, cta.cluster.as_deref()) || self.wakes().is_some_and(|until| until <= Instant::now())
    }

    /// When the first group that sleeps wakes.
    pub(crate) fn wakes(&self) -> Option<Instant> {
        let times = self.groups.iter().filter_map(|group| match group.wait {
            Wait::Sleep { until } => Some(until),
            _ => None,
        });
        times.min()
    }

    /// Lets the groups go on that have slept long enough.
    fn wake(&mut self) {
        if self.wakes().is_none() {
            return;
        }
        let now = Instant::now();
        for group in &mut self.groups {
            if matches!(group.wait, Wait::Sleep { until } if until <= now) {
                group.wait = Wait::Ready;
            }
        }
    }

    /// Takes `lanes` out of `activation` and the ones that called it; frees those that are empty.
    pub(crate) fn leave(&mut self, frames: &mut Frames, mut activation: u32, lanes: u32, whole_stack: bool) {
        while activation != NO_PARENT {
            let entry = &mut self.activations[activation as usize];
            entry.live &= !lanes;
            let parent = entry.parent;
            if entry.live == 0 && !self.free.contains(&activation) {
                if let Some(frame) = entry.frame.take() {
                    frames.give(frame);
                }
                self.free.push(activation);
            }
            if !whole_stack {
                break;
            }
            activation = parent;
        }
    }

    /// The places around `pc` where other groups of its activation wait: behind the last one that is not beyond it, and the next one.
    fn clearance(&self, activation: u32, pc: u32) -> (u32, u32) {
        let (mut floor, mut limit) = (0, u32::MAX);
        for group in &self.groups {
            if group.activation == activation && group.wait == Wait::Ready {
                if group.pc > pc {
                    limit = limit.min(group.pc);
                } else {
                    floor = floor.max(group.pc + 1);
                }
            }
        }
        (floor, limit)
    }
}

impl Machine<'_> {
    /// Chooses the group that runs next and makes its activation the running one. False if all groups wait.
    #[inline]
    pub(crate) fn resume(&mut self) -> bool {
        if self.warp.groups.is_empty() {
            return false;
        }
        if let [group] = self.warp.groups[..] {
            // A warp that has not diverged, between two barriers: nothing to choose.
            let pc = match group.wait {
                Wait::Ready => Some(group.pc),
                Wait::Barrier { id, ticket, reduces: false } => {
                    if !self.cta.barriers.passed(id, ticket) {
                        return false;
                    }
                    Some(group.pc + 1)
                }
                _ => None,
            };
            if let Some(pc) = pc {
                self.warp.groups.clear();
                self.warp.rotate = false;
                (self.pc, self.active) = (pc, group.mask);
                (self.floor, self.limit) = (0, u32::MAX);
                self.switch_to(group.activation);
                return true;
            }
        }
        self.warp.wake();
        self.complete_warpgroups();
        self.complete_barriers();
        self.complete_rendezvous();
        let warp = &mut self.warp;
        let ready = warp.groups.iter().enumerate().filter(|(_, group)| group.wait == Wait::Ready);
        let chosen = if std::mem::take(&mut warp.rotate) {
            ready.min_by_key(|(_, group)| group.age)
        } else {
            ready.min_by_key(|(_, group)| (Reverse(warp.activations[group.activation as usize].depth), group.pc))
        };
        let Some((index, _)) = chosen else { return false };
        let group = warp.groups.swap_remove(index);
        self.pc = group.pc;
        self.active = group.mask;
        self.switch_to(group.activation);
        self.absorb();
        true
    }

    /// Makes `activation` the running one.
    pub(crate) fn switch_to(&mut self, activation: u32) {
        if activation == self.activation {
            return;
        }
        self.store_frame();
        let entry = &mut self.warp.activations[activation as usize];
        let function = entry.function;
        let kept = entry.frame.take();
        let fresh = kept.is_none();
        let (warp, variables) = (self.warp.index, &self.grid.launch.variables);
        let frame = kept.unwrap_or_else(|| self.cta.frames.take(self.program, function, warp, variables));
        let nobodys = std::mem::replace(&mut self.frame, frame);
        self.cta.frames.give_nobodys(nobodys);
        self.activation = activation;
        self.function = &self.program.functions[function as usize];
        if fresh {
            self.fill_ahead();
        }
    }

    /// Gives the running activation its registers back.
    pub(crate) fn store_frame(&mut self) {
        if self.activation != NO_PARENT {
            let frame = std::mem::replace(&mut self.frame, self.cta.frames.take_nobodys());
            let entry = &mut self.warp.activations[self.activation as usize];
            if entry.live == 0 {
                self.cta.frames.give(frame);
            } else {
                entry.frame = Some(frame);
            }
            self.activation = NO_PARENT;
        }
    }

    /// Joins the groups that wait at the running one's pc, and finds the places around it where others do.
    fn absorb(&mut self) {
        let (activation, pc) = (self.activation, self.pc);
        let groups = &mut self.warp.groups;
        let mut index = 0;
        while let Some(group) = groups.get(index) {
            if group.pc == pc && group.activation == activation && group.wait == Wait::Ready {
                self.active |= group.mask;
                groups.swap_remove(index);
            } else {
                index += 1;
            }
        }
        (self.floor, self.limit) = self.warp.clearance(activation, pc);
    }

    /// The running group has reached or passed the pc of another one. True if it goes on.
    pub(crate) fn meet(&mut self) -> bool {
        if self.pc > self.limit {
            self.warp.park(self.activation, self.pc, self.active, Wait::Ready);
            return false;
        }
        self.absorb();
        true
    }

    /// Goes to `target` with the lanes of `taken`; the others of the group go on after the branch.
    #[inline(always)]
    pub(crate) fn branch(&mut self, taken: u32, target: u32) -> Flow {
        let backward = target <= self.pc;
        let length = self.pc.wrapping_sub(target).wrapping_add(1);
        if taken == self.active {
            self.pc = target;
            // Forward, the limit tells.
            if target < self.floor {
                self.absorb();
            }
        } else {
            self.split(taken, target);
        }
        if !backward {
            return Flow::Jump;
        }
        match self.account_for_loop(length) {
            Turn::Stay => Flow::Jump,
            Turn::GiveWay => {
                self.warp.park(self.activation, self.pc, self.active, Wait::Ready);
                Flow::Switch
            }
            Turn::End => Flow::Slice,
        }
    }

    /// [`Machine::branch`] of some lanes.
    #[inline(never)]
    fn split(&mut self, taken: u32, target: u32) {
        let rest = self.active & !taken;
        let (low, low_mask, high, high_mask) =
            if target <= self.pc { (target, taken, self.pc + 1, rest) } else { (self.pc + 1, rest, target, taken) };
        self.warp.park(self.activation, high, high_mask, Wait::Ready);
        self.pc = low;
        self.active = low_mask;
        // Groups may already wait where this one goes.
        self.absorb();
    }

    /// A branch back over `length` instructions was taken: time slices and turns are counted here.
    #[inline(always)]
    pub(crate) fn account_for_loop(&mut self, length: u32) -> Turn {
        self.fuel = self.fuel.wrapping_sub(length as i32);
        let mut turn = Turn::Stay;
        if self.active != FULL && !self.warp.groups.is_empty() {
            self.warp.turn += 1;
            // A poll that finds what it found before will find it again if the lanes behind the loop never come to change it.
            let passes = self.polls > 0 || (self.looks > 0 && self.warp.turn >= LOOKING_TURN);
            if passes || self.warp.turn >= SILENT_TURN {
                self.warp.turn = 0;
                self.looks = 0;
                self.warp.rotate = true;
                turn = Turn::GiveWay;
            }
        }
        if self.fuel <= 0 || self.only_polls() { Turn::End } else { turn }
    }

    /// Runs until the warp ends, waits, has used its time slice, or fails.
    pub(crate) fn run(&mut self) -> Flow {
        while self.resume() {
            match self.steps() {
                Flow::Switch => {}
                Flow::Leave => break,
                Flow::Slice => {
                    if self.active != 0 {
                        self.warp.park(self.activation, self.pc, self.active, Wait::Ready);
                    }
                    self.store_frame();
                    return Flow::Slice;
                }
                flow => {
                    self.store_frame();
                    return flow;
                }
            }
        }
        self.store_frame();
        Flow::Switch
    }
}
