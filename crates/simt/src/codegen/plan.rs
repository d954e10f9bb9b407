//! What is decided of a kernel before anything is written: groups of blocks that lanes come to apart, frames, sites.

mod frame;
mod groups;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use warploom_ptx::ir::{BarrierOp, Body, GlobalId, Op, SharedLayout, Step};

use super::arms::{Arm, Arms};
use super::carried::carried;
use super::deferred::deferrable;
use super::flushing::flushes;
use super::forward::Forwards;
use super::fragment::fragments;
use super::guess::guessed_rows;
use super::hull::{Hull, hulls};
use super::indexed::{Indexed, indexed};
use super::later::kept_back;
use super::lazy::{is_flagged, lazy};
use super::local::{self, LocalLayout};
use super::nontemporal::nontemporal;
use super::places::Places;
use super::regions::Processor;
use super::span::{Across, Span, across, spans};
use super::stop::Stop;
use super::team::{Point, Teams, is_seldom_apart, preferred_team};
use crate::access::Access;
use crate::barrier::{BarrierControl, Region};
use crate::info::{KernelInfo, analyze};
use crate::threads::Threads;
use crate::uniformity::block_of;
use crate::values::{ValueId, paired};

pub(super) use frame::{Keep, size_of};
use groups::Group;

/// What the processor has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    /// It is an x86-64 with AVX2.
    pub(super) x86: bool,
    /// AVX-512.
    pub(super) wide_vectors: bool,
    /// Arithmetic on `.f16`.
    pub(super) halves: bool,
    /// Bits of the registers whose 64-bit elements an instruction multiplies without carries.
    pub(super) carryless: Option<u32>,
    /// Bits of the registers whose pairs of 16-bit elements an instruction multiplies and adds up.
    pub(super) pairs: Option<u32>,
    /// See [`Processor::fetches_rows`].
    pub(super) fetches_rows: bool,
    /// See [`Processor::loads_gathers`], which was measured without AVX-512.
    pub(super) loads_gathers: bool,
}

impl Machine {
    /// By LLVM's names.
    pub(super) fn new(processor: &Processor<'_>) -> Machine {
        let has = |name: &str| processor.features.split(',').any(|feature| feature == name);
        let wide_vectors = has("+avx512f");
        Machine {
            x86: wide_vectors || has("+avx2"),
            wide_vectors,
            halves: wide_vectors && has("+avx512fp16"),
            carryless: match () {
                () if wide_vectors && has("+vpclmulqdq") => Some(512),
                () if has("+avx2") && has("+vpclmulqdq") => Some(256),
                () if has("+avx2") && has("+pclmul") => Some(128),
                () => None,
            },
            pairs: match () {
                () if wide_vectors && has("+avx512bw") => Some(512),
                () if has("+avx2") => Some(256),
                () => None,
            },
            fetches_rows: processor.fetches_rows,
            loads_gathers: processor.loads_gathers && !wide_vectors,
        }
    }
}

/// What is found out while functions of a kernel are written, and stands beside all of them.
#[derive(Debug, Default)]
pub(super) struct Common {
    declared: RefCell<BTreeSet<String>>,
    tids: RefCell<BTreeSet<usize>>,
    steps: RefCell<Vec<Step>>,
    stops: RefCell<Vec<Stop>>,
    flushes: bool,
}

impl Common {
    /// Of functions with these bodies.
    pub(super) fn new<'b>(machine: Machine, bodies: impl Iterator<Item = &'b Body>) -> Common {
        Common { flushes: machine.x86 && flushes(bodies), ..Common::default() }
    }
}

pub(super) struct Plan<'k> {
    pub(super) info: &'k KernelInfo<'k>,
    pub(super) body: &'k Body,
    common: &'k Common,
    /// Sites of functions before this one.
    first_site: u32,
    pub(super) block_of: Vec<u32>,
    pub(super) groups: Vec<Group>,
    group_of: Vec<Option<u32>>,
    shared: SharedLayout,
    /// By barrier that reduces: where the gangs' parts of it are added up, before their frames.
    reductions: BTreeMap<u32, u32>,
    /// By region: what is alive where it begins, with where it is kept.
    kept: Vec<Vec<(ValueId, Keep)>>,
    /// Bytes of what is kept once for the CTA, in front of the gangs' frames.
    cta_frame: u32,
    frame: u32,
    /// By value: only its first lane is kept.
    lazy: Vec<bool>,
    /// Patterns that loops carry, with the instructions that begin them.
    carried: BTreeMap<ValueId, u32>,
    guessed_rows: BTreeMap<ValueId, u32>,
    hulls: Vec<Hull>,
    /// Instructions that full code writes where their results are read.
    deferrable: BTreeSet<u32>,
    /// By value: whether anything reads it.
    read: Vec<bool>,
    /// Updates whose sums may be kept back.
    kept_back: BTreeSet<u32>,
    /// Stores that may go past the caches.
    nontemporal: BTreeSet<u32>,
    machine: Machine,
    /// Gangs that run together as a team; 0 if each runs by itself.
    team: u32,
    /// Gangs of a team that compute at a time.
    at_a_time: u32,
    /// What the lanes of all gangs of a team have in common.
    wide: Option<KernelInfo<'k>>,
    /// By value: what is known for all gangs of a team.
    across: Vec<Across>,
    spans: Vec<Span>,
    /// Instructions that move fragments which may lie in global memory.
    fragments: Vec<u32>,
    /// Where each value is kept that is alive at a barrier, or where a team may be left.
    homes: BTreeMap<ValueId, Keep>,
    /// Branches of which it is known what each thread does.
    arms: Arms,
    /// Loads of which it is known who has stored what they find.
    forwards: Forwards,
    /// Teams come apart at the end of a grid at most: what follows then is written once, with masks.
    seldom: bool,
    /// Where teams are left.
    points: RefCell<BTreeSet<Point>>,
    turns: Option<Places>,
    /// Bytes of the words that local memory lies in by lane; none where each thread's lies behind that of another.
    words: Option<u32>,
}

impl<'k> Plan<'k> {
    /// Of a function, behind others that have so many sites.
    pub(super) fn new(
        info: &'k KernelInfo<'k>,
        machine: Machine,
        teams: Teams,
        (common, first_site): (&'k Common, u32),
    ) -> Result<Plan<'k>, String> {
        let body = info.body().ok_or("it has no code")?;
        if let Some(wait) = info.waits.first() {
            return Err(format!("line {}: threads may wait for each other", body.insts[wait.inst as usize].line));
        }
        if let Some(irreducible) = body.loops.iter().find(|inner| inner.irreducible) {
            return Err(format!("a loop that is entered in the middle, at block {}", irreducible.blocks.start));
        }
        if !info.barriers.are_whole() {
            return Err("barriers that not all threads come to together".to_owned());
        }
        for (inst, _) in &info.barriers.all {
            let inst = &body.insts[*inst as usize];
            if inst.guard.is_some() || matches!(inst.op, Op::Barrier(BarrierOp::Arrive { .. })) {
                return Err(format!("line {}: {}", inst.line, info.module.mnemonic(inst.mnemonic)));
            }
        }
        let together = |inst: &&u32| {
            !matches!(body.insts[**inst as usize].op, Op::Shfl { sync: false, .. } | Op::Vote { sync: false, .. })
        };
        if let Some(inst) = info.split_exchanges.iter().find(together) {
            let inst = &body.insts[*inst as usize];
            let name = info.module.mnemonic(inst.mnemonic);
            return Err(format!("line {}: {name} where some lanes may come without the others", inst.line));
        }
        debug_assert!(info.barriers.all.iter().all(|(_, control)| *control == BarrierControl::Whole));
        let block_of = block_of(body);
        let lazy = lazy(info, body, &block_of);
        let carried = carried(info, body, &lazy);
        // What the kernel does elsewhere decides about these.
        let alone = !info.is_called();
        let mut plan = Plan {
            guessed_rows: guessed_rows(info, body, &carried),
            carried,
            lazy,
            hulls: hulls(info, body, &block_of),
            deferrable: deferrable(info, body),
            kept_back: if alone { kept_back(info, body, &reads(info, body)) } else { BTreeSet::new() },
            nontemporal: if alone && machine.x86 { nontemporal(info, body) } else { BTreeSet::new() },
            ..Plan::plain(info, body, machine, (common, first_site))
        };
        plan.find_groups()?;
        if teams != Teams::Never {
            let threads = info.gangs.are_full().then(|| Threads::new(info, body, &plan.shared));
            if let Some(threads) = &threads {
                plan.arms = Arms::new(&plan, threads, &plan.shared);
            }
            (plan.team, plan.at_a_time) = preferred_team(&plan, teams == Teams::Always);
            let together = info.gangs.together(plan.team);
            if plan.team > 0
                && let Some(wide) = analyze(info.module, info.kernel, together)
            {
                plan.across = across(&plan, &wide);
                plan.spans = spans(&plan, &wide);
                plan.wide = Some(wide);
            }
            if let Some(threads) = threads.filter(|_| plan.is_one_team()) {
                plan.forwards = Forwards::new(&plan, &threads, &plan.shared);
            }
            plan.seldom = plan.team > 0 && is_seldom_apart(&plan);
        }
        plan.lay_out_frame();
        Ok(plan)
    }

    /// Of a kernel whose lanes go their own ways, as they have been looked at.
    pub(super) fn apart(info: &'k KernelInfo<'k>, machine: Machine, common: &'k Common) -> Result<Plan<'k>, String> {
        let body = info.body().ok_or("it has no code")?;
        let mut plan = Plan::plain(info, body, machine, (common, 0));
        (plan.homes, plan.frame) = Places::homes(&plan);
        plan.turns = Some(Places::new(&plan));
        Ok(plan)
    }

    /// Nothing of it is known to be together, and nothing done for others.
    fn plain(
        info: &'k KernelInfo<'k>,
        body: &'k Body,
        machine: Machine,
        (common, first_site): (&'k Common, u32),
    ) -> Plan<'k> {
        let block_of = block_of(body);
        Plan {
            info,
            body,
            common,
            first_site,
            lazy: vec![false; info.values.len()],
            carried: BTreeMap::new(),
            guessed_rows: BTreeMap::new(),
            hulls: Vec::new(),
            deferrable: BTreeSet::new(),
            kept_back: BTreeSet::new(),
            nontemporal: BTreeSet::new(),
            read: reads(info, body),
            turns: None,
            block_of,
            groups: Vec::new(),
            group_of: vec![None; body.blocks.len()],
            shared: info.module.shared_layout(info.kernel),
            reductions: BTreeMap::new(),
            kept: Vec::new(),
            cta_frame: 0,
            frame: 0,
            machine,
            team: 0,
            at_a_time: 0,
            wide: None,
            across: Vec::new(),
            spans: Vec::new(),
            fragments: fragments(body),
            homes: BTreeMap::new(),
            arms: Arms::default(),
            forwards: Forwards::default(),
            seldom: false,
            points: RefCell::default(),
            words: if info.is_called() { None } else { local::words(body) },
        }
    }

    /// Where lanes that go their own ways may stop; none where they run together.
    pub(super) fn turns(&self) -> Option<&Places> {
        self.turns.as_ref()
    }

    /// Gangs of a team; 0 if there are none.
    pub(super) fn team(&self) -> u32 {
        self.team
    }

    /// Gangs of a team that compute at a time.
    pub(super) fn at_a_time(&self) -> u32 {
        self.at_a_time
    }

    /// What the lanes of all gangs of a team have in common.
    pub(super) fn wide(&self) -> Option<&KernelInfo<'k>> {
        self.wide.as_ref()
    }

    /// What is known of a value for all gangs of a team.
    pub(super) fn across(&self, value: ValueId) -> &Across {
        self.across.get(value.0 as usize).unwrap_or(&Across::Apart)
    }

    /// Whether what the first gangs of a team have of a value, which is not the same for all, tells what others have.
    pub(super) fn is_followed(&self, value: ValueId) -> bool {
        matches!(self.across(value), Across::Steps(_) | Across::Even)
    }

    /// The look that tells for all gangs of a team, with its site.
    pub(super) fn span(&self, inst: u32) -> Option<(u32, &Span)> {
        let at = self.spans.iter().position(|span| span.inst == inst)?;
        Some((self.site(self.info.accesses.len() + self.hulls.len() + at), &self.spans[at]))
    }

    pub(super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The register with the address that an instruction accesses.
    pub(super) fn address_of(&self, inst: u32) -> Option<ValueId> {
        self.info.address_of(self.body, inst)
    }

    /// Whether all gangs of a CTA are one team: barriers need no code then.
    pub(super) fn is_one_team(&self) -> bool {
        self.team == self.info.gangs.count()
    }

    /// What decides at the end of a block which lanes branch, if it does not end alike for all.
    pub(super) fn guard_of(&self, block: u32) -> Option<ValueId> {
        let guard = &self.body.blocks[block as usize].terminator.guard;
        guard.as_ref().and(self.info.values.of_end(block).first().copied().flatten())
    }

    /// Whether a branch does what is known for each thread.
    pub(super) fn has_arm(&self, branch: u32) -> bool {
        self.arms.all.get(&branch).is_some_and(Arm::is_known)
    }

    /// Whether threads of each CTA part at the end of a block, other than to an arm.
    pub(super) fn always_parts(&self, branch: u32) -> bool {
        self.arms.parting.contains(&branch)
    }

    /// Whether teams come apart at the end of a grid at most.
    pub(super) fn seldom_apart(&self) -> bool {
        self.seldom
    }

    /// What some threads do behind a branch, if a team of all gangs does it for them.
    pub(super) fn arm(&self, branch: u32) -> Option<&Arm> {
        self.arms.all.get(&branch).filter(|_| self.is_one_team())
    }

    /// The same, by the block that they come to.
    pub(super) fn arm_of(&self, block: u32) -> Option<&Arm> {
        self.arms.all.values().find(|arm| arm.block == block).filter(|_| self.is_one_team())
    }

    /// Loads of which it is known who has stored what they find.
    pub(super) fn forwards(&self) -> &Forwards {
        &self.forwards
    }

    /// Teams are left there.
    pub(super) fn needs_point(&self, point: Point) {
        self.points.borrow_mut().insert(point);
    }

    /// All such places.
    pub(super) fn points(&self) -> BTreeSet<Point> {
        self.points.borrow().clone()
    }

    /// The sites of accesses with one base.
    pub(super) fn hull_sites(&self) -> impl Iterator<Item = u32> {
        let first = self.info.accesses.len();
        self.site(first)..self.site(first + self.hulls.len())
    }

    /// The number of a site, of what is one of so many of the function before.
    fn site(&self, number: usize) -> u32 {
        self.first_site + number as u32
    }

    /// The site of a fragment that may lie in global memory.
    pub(super) fn site_of_fragment(&self, inst: u32) -> u32 {
        let at = self.fragments.partition_point(|other| *other < inst);
        debug_assert_eq!(self.fragments.get(at), Some(&inst));
        self.site(self.before_fragments() + at)
    }

    /// The instructions that move such.
    pub(super) fn fragments(&self) -> &[u32] {
        &self.fragments
    }

    fn before_fragments(&self) -> usize {
        self.info.accesses.len() + self.hulls.len() + self.spans.len()
    }

    /// Of the first site of another function behind this one.
    pub(super) fn next_site(&self) -> u32 {
        self.site(self.before_fragments() + self.fragments.len())
    }

    /// Whether the pattern of a value may fail to hold.
    pub(super) fn is_flagged(&self, value: ValueId) -> bool {
        is_flagged(self.info, value)
    }

    pub(super) fn regions(&self) -> &'k [Region] {
        &self.info.barriers.regions
    }

    /// The region that begins behind a barrier.
    pub(super) fn barrier(&self, inst: u32) -> Option<usize> {
        self.info.barriers.all.iter().position(|(barrier, _)| *barrier == inst).map(|at| at + 1)
    }

    pub(super) fn kept(&self, region: usize) -> &[(ValueId, Keep)] {
        &self.kept[region]
    }

    pub(super) fn frame_size(&self) -> u32 {
        self.frame
    }

    /// Bytes in front of the gangs' frames.
    pub(super) fn cta_frame(&self) -> u32 {
        self.cta_frame
    }

    /// Bytes from the local memory of one thread to that of the next. No power of two: lanes' places would lie on each other in the host's caches.
    pub(super) fn local_stride(&self) -> u32 {
        self.body.local_size.next_multiple_of(16) + 16
    }

    /// Bytes of the words that local memory lies in by lane.
    pub(super) fn words(&self) -> Option<u32> {
        self.words
    }

    /// Where the threads have their local memory.
    pub(super) fn local_layout(&self) -> LocalLayout {
        let word = self.words.filter(|_| self.info.gangs.width > 1).unwrap_or(0);
        LocalLayout { size: self.body.local_size, stride: self.local_stride(), word }
    }

    /// Whether only the first lane of a value's pattern is kept.
    pub(super) fn is_lazy(&self, value: ValueId) -> bool {
        self.lazy[value.0 as usize]
    }

    /// The instruction that begins a pattern that loops carry: what lanes have of it more than the first stays as it writes it.
    pub(super) fn begins(&self, value: ValueId) -> Option<u32> {
        self.carried.get(&value).copied()
    }

    /// Bytes of the lanes of a row that a loop carries the address of, if it is a guess that it is one.
    pub(super) fn guessed_rows(&self, value: ValueId) -> Option<u32> {
        self.guessed_rows.get(&value).copied()
    }

    /// Whether full code writes an instruction only where its result is read.
    pub(super) fn is_deferrable(&self, inst: u32) -> bool {
        self.deferrable.contains(&inst)
    }

    /// Whether anything reads a value.
    pub(super) fn is_read(&self, value: ValueId) -> bool {
        self.read[value.0 as usize]
    }

    /// Whether what an instruction adds may be kept back until the worker turns from the grid.
    pub(super) fn keeps_back(&self, inst: u32) -> bool {
        self.kept_back.contains(&inst)
    }

    /// Whether a store may go past the caches.
    pub(super) fn is_nontemporal(&self, inst: u32) -> bool {
        self.nontemporal.contains(&inst)
    }

    pub(super) fn hulls(&self) -> &[Hull] {
        &self.hulls
    }

    /// The accesses with one base of which this one is a part, with their site.
    pub(super) fn hull(&self, inst: u32) -> Option<(u32, &Hull)> {
        let at = self.hulls.iter().position(|hull| hull.members.contains(&inst))?;
        Some((self.site(self.info.accesses.len() + at), &self.hulls[at]))
    }

    /// What a load or store adds to its base.
    pub(super) fn offset_of(&self, inst: u32) -> i64 {
        match &self.body.insts[inst as usize].op {
            Op::Ld { addr, .. } | Op::St { addr, .. } => addr.offset,
            _ => 0,
        }
    }

    /// No thread ends before the others: all lanes are there wherever they are together.
    pub(super) fn all_go_on(&self) -> bool {
        self.info.gangs.are_full() && !self.info.divergence.some_end
    }

    /// Blocks are written once more for gangs all of whose lanes run. Not in kernels so long that compiling them counts more, as those are that call functions.
    pub(super) fn has_full(&self) -> bool {
        const LONG: usize = 4000;
        self.body.insts.len() < LONG && !self.seldom && !self.info.is_called()
    }

    /// The processor gathers words by itself.
    pub(super) fn gathers(&self) -> bool {
        self.machine.x86
    }

    /// The parts of an address in a register that an access reads.
    pub(super) fn indexed(&self, inst: u32, address: ValueId) -> Option<Indexed> {
        indexed(self.info, self.body, &self.block_of, inst, address)
    }

    /// It also scatters, and moves lanes of two registers at once.
    pub(super) fn has_wide_vectors(&self) -> bool {
        self.machine.wide_vectors
    }

    /// The processor takes subnormal numbers for zeros ([`flushing`](super::flushing)).
    pub(super) fn flushes(&self) -> bool {
        self.common.flushes
    }

    pub(super) fn machine(&self) -> Machine {
        self.machine
    }

    /// The access of an instruction with its site.
    pub(super) fn access(&self, inst: u32) -> Option<(u32, &'k Access)> {
        let at = self.info.accesses.binary_search_by_key(&inst, |access| access.inst).ok()?;
        Some((self.site(at), &self.info.accesses[at]))
    }

    pub(super) fn shared_offset(&self, id: GlobalId) -> i64 {
        self.shared.offsets.get(&id).map_or(0, |offset| i64::from(*offset))
    }

    pub(super) fn declare(&self, text: String) {
        self.common.declared.borrow_mut().insert(text);
    }

    /// All that was declared, and of what was defined beside functions what these need.
    pub(super) fn declarations(&self, functions: &str) -> String {
        let declared = self.common.declared.borrow();
        let defined = || declared.iter().filter(|text| text.starts_with("define"));
        let needed = |text: &&String| {
            let name = text.find('@').and_then(|at| Some(&text[at..=at + text[at..].find('(')?]));
            let by_others = |name: &str| defined().any(|other| other != *text && other.contains(name));
            !text.starts_with("define") || name.is_none_or(|name| functions.contains(name) || by_others(name))
        };
        declared.iter().filter(needed).map(|text| format!("{text}\n")).collect()
    }

    /// The number of an instruction that the executor runs.
    pub(super) fn needs_step(&self, step: Step) -> usize {
        let mut steps = self.common.steps.borrow_mut();
        steps.iter().position(|known| *known == step).unwrap_or_else(|| {
            steps.push(step);
            steps.len() - 1
        })
    }

    /// All of them.
    pub(super) fn steps(&self) -> Vec<Step> {
        self.common.steps.borrow().clone()
    }

    /// The number of a place that stops the grid.
    pub(super) fn needs_stop(&self, stop: Stop) -> usize {
        let mut stops = self.common.stops.borrow_mut();
        stops.push(stop);
        stops.len() - 1
    }

    /// All of them.
    pub(super) fn stops(&self) -> Vec<Stop> {
        self.common.stops.borrow().clone()
    }

    /// Where gangs add up what a barrier reduces.
    pub(super) fn reduction(&self, barrier: u32) -> Option<u32> {
        self.reductions.get(&barrier).copied()
    }

    /// All such places.
    pub(super) fn reductions(&self) -> impl Iterator<Item = u32> + '_ {
        self.reductions.values().copied()
    }

    pub(super) fn needs_tid(&self, axis: usize) {
        self.common.tids.borrow_mut().insert(axis);
    }

    /// `%tid` of all threads, those included that the last gang has too many.
    pub(super) fn tables(&self) -> String {
        let gangs = &self.info.gangs;
        let mut out = String::new();
        for axis in self.common.tids.borrow().iter() {
            let numbers: Vec<String> =
                (0..gangs.count() * gangs.width).map(|thread| format!("i32 {}", gangs.tid(*axis, thread))).collect();
            let count = numbers.len();
            out += &format!("@tid{axis} = internal constant [{count} x i32] [{}], align 64\n", numbers.join(", "));
        }
        out + "\n"
    }
}

/// By value: whether anything reads it.
fn reads(info: &KernelInfo<'_>, body: &Body) -> Vec<bool> {
    let mut read = vec![false; info.values.len()];
    for (inst, number) in body.insts.iter().zip(0u32..) {
        let operands = inst.operands();
        let values = paired(&operands, info.values.of_inst(number));
        let values = values.filter_map(|(operand, value)| value.filter(|_| operand.read().is_some()));
        values.for_each(|value| read[value.0 as usize] = true);
    }
    for block in 0..body.blocks.len() as u32 {
        info.values.of_end(block).iter().flatten().for_each(|value| read[value.0 as usize] = true);
    }
    read
}
