//! What is compiled: regions, groups of blocks that lanes come to apart, frames, sites.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use warploom_ptx::ir::{BarrierOp, Body, GlobalId, Op, SharedLayout, Space};

use super::function::Writer;
use super::names::{Element, Ty};
use super::outcome;
use crate::access::{Access, AccessKind};
use crate::barrier::{BarrierControl, Region};
use crate::info::KernelInfo;
use crate::pressure::scan;
use crate::shape::Shape;
use crate::uniformity::block_of;
use crate::values::ValueId;

/// Why a kernel is left to the interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declined(pub String);

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a site accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteKind {
    /// Load or store.
    pub kind: AccessKind,
    /// In shared memory, else in the memory window.
    pub shared: bool,
    /// Bytes of each lane.
    pub bytes: u32,
    /// PTX line.
    pub line: u32,
    /// Instruction of the body.
    pub inst: u32,
}

/// A kernel in LLVM's text.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The module. It defines `i32 @cta(ptr context)`: see [`super::outcome`], of which the first means that all threads have ended.
    pub text: String,
    /// Places that may be refused, by their number.
    pub sites: Vec<SiteKind>,
    /// Bytes of the frames of all gangs, to be aligned to [`FRAME_ALIGN`].
    pub frames: u32,
}

/// To so many bytes frames are aligned.
pub const FRAME_ALIGN: u32 = 256;

/// Blocks that run for the lanes of their masks, one behind the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub(super) members: BTreeSet<u32>,
    /// Where all lanes that are left are together again.
    pub(super) converges: Option<u32>,
}

pub(super) struct Plan<'k> {
    pub(super) info: &'k KernelInfo<'k>,
    pub(super) body: &'k Body,
    pub(super) block_of: Vec<u32>,
    pub(super) groups: Vec<Group>,
    group_of: Vec<Option<u32>>,
    shared: SharedLayout,
    declared: RefCell<BTreeSet<String>>,
    tids: RefCell<BTreeSet<usize>>,
    /// By region: what is alive where it begins, with its offset in the frame.
    kept: Vec<Vec<(ValueId, u32)>>,
    frame: u32,
}

/// Writes a kernel for LLVM. `cpu` and `features` are what LLVM calls the processor and what it has.
///
/// # Errors
/// The first thing in it that is not covered.
pub fn compile(info: &KernelInfo<'_>, cpu: &str, features: &str) -> Result<Compiled, Declined> {
    let plan = Plan::new(info).map_err(Declined)?;
    let mut functions = String::new();
    for number in 0..plan.regions().len() {
        functions += &Writer::new(&plan).region(number).map_err(Declined)?;
    }
    let mut text = plan.tables();
    text += &functions;
    text += &plan.cta();
    for declaration in plan.declared.borrow().iter() {
        text += &format!("{declaration}\n");
    }
    text += &format!(
        "attributes #0 = {{ nounwind \"target-cpu\"=\"{cpu}\" \"target-features\"=\"{features}\" \"prefer-vector-width\"=\"512\" }}\n\
         !0 = !{{}}\n!1 = !{{!\"branch_weights\", i32 1, i32 2000}}\n!2 = !{{!\"branch_weights\", i32 2000, i32 1}}\n"
    );
    let sites = info.accesses.iter().map(|access| SiteKind {
        kind: access.kind,
        shared: access.space == Space::Shared,
        bytes: access.bytes,
        line: plan.body.insts[access.inst as usize].line,
        inst: access.inst,
    });
    Ok(Compiled { text, sites: sites.collect(), frames: plan.frame * info.gangs.count() })
}

impl<'k> Plan<'k> {
    fn new(info: &'k KernelInfo<'k>) -> Result<Plan<'k>, String> {
        let function = &info.module.functions[info.kernel.0 as usize];
        let body = function.body.as_ref().ok_or("it has no code")?;
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
            if inst.guard.is_some() || !matches!(inst.op, Op::Barrier(BarrierOp::Sync { .. })) {
                return Err(format!("line {}: {}", inst.line, info.module.mnemonic(inst.mnemonic)));
            }
        }
        debug_assert!(info.barriers.all.iter().all(|(_, control)| *control == BarrierControl::Whole));
        let mut plan = Plan {
            info,
            body,
            block_of: block_of(body),
            groups: Vec::new(),
            group_of: vec![None; body.blocks.len()],
            shared: info.module.shared_layout(info.kernel),
            declared: RefCell::default(),
            tids: RefCell::default(),
            kept: Vec::new(),
            frame: 0,
        };
        plan.find_groups()?;
        plan.lay_out_frame();
        Ok(plan)
    }

    /// Blocks of branches that overlap belong together.
    fn find_groups(&mut self) -> Result<(), String> {
        let mut sets: Vec<BTreeSet<u32>> = Vec::new();
        for split in self.info.divergence.splits.values().filter(|split| !split.partial.is_empty()) {
            let mut all = split.partial.clone();
            sets.retain(|other| {
                let apart = other.is_disjoint(&all);
                if !apart {
                    all.extend(other);
                }
                apart
            });
            sets.push(all);
        }
        for (number, members) in sets.into_iter().enumerate() {
            let splits = self.info.divergence.splits.iter();
            let own = splits.filter(|(branch, split)| members.contains(branch) || !split.partial.is_disjoint(&members));
            let ways: BTreeSet<Option<u32>> =
                own.map(|(_, split)| split.converges).filter(|to| to.is_none_or(|to| !members.contains(&to))).collect();
            let converges = match ways.into_iter().collect::<Vec<_>>()[..] {
                [] => None,
                [one] => one,
                // Where some never meet the others have ended.
                [None, one] => one,
                _ => return Err("lanes that part meet in several places".to_owned()),
            };
            for member in &members {
                self.group_of[*member as usize] = Some(number as u32);
            }
            self.groups.push(Group { members, converges });
        }
        for (group, number) in self.groups.iter().zip(0u32..) {
            // Loops lie in a group as a whole, or around it.
            for inner in &self.body.loops {
                let inside = inner.blocks.clone().filter(|block| group.members.contains(block)).count();
                let header = group.members.contains(&inner.blocks.start);
                if header && inside != inner.blocks.len() {
                    return Err(format!("lanes part in a part of the loop at block {}", inner.blocks.start));
                }
            }
            for member in &group.members {
                for to in crate::divergence::successors(self.body, *member) {
                    let known = self.group_of[to as usize] == Some(number)
                        || group.converges == Some(to)
                        || crate::divergence::only_ends(self.body, to);
                    if !known {
                        return Err(format!("lanes that have parted come to block {to} alone"));
                    }
                }
            }
        }
        Ok(())
    }

    fn lay_out_frame(&mut self) {
        /// The mask of the lanes that have not ended stands first.
        const FIRST: u32 = 64;
        let mut all: BTreeSet<ValueId> = BTreeSet::new();
        let mut by_region: Vec<BTreeSet<ValueId>> = vec![BTreeSet::new()];
        for (barrier, _) in &self.info.barriers.all {
            let mut live = BTreeSet::new();
            scan(self.body, &self.info.values, self.block_of[*barrier as usize], |inst, now| {
                if inst == Some(*barrier) {
                    live = now.clone();
                }
            });
            all.extend(&live);
            by_region.push(live);
        }
        let mut offsets = BTreeMap::new();
        let mut end = FIRST;
        for value in all {
            end = end.next_multiple_of(if self.info.shape(value).is_uniform() { 8 } else { 128 });
            offsets.insert(value, end);
            let places = self.places(value, end);
            end = places.iter().map(|(_, ty, offset)| offset + size_of(*ty)).max().unwrap_or(end);
        }
        self.frame = end.next_multiple_of(FRAME_ALIGN);
        self.kept = by_region
            .into_iter()
            .map(|live| live.into_iter().map(|value| (value, offsets[&value])).collect())
            .collect();
    }

    pub(super) fn regions(&self) -> &'k [Region] {
        &self.info.barriers.regions
    }

    /// The blocks that a region may come to, with the groups that they are of.
    pub(super) fn blocks_of(&self, region: &Region) -> BTreeSet<u32> {
        let mut all = BTreeSet::new();
        let mut pending: Vec<u32> = region.blocks.iter().copied().collect();
        while let Some(block) = pending.pop() {
            if !all.insert(block) {
                continue;
            }
            if let Some(group) = self.group_of(block) {
                pending.extend(&self.groups[group as usize].members);
                pending.extend(self.groups[group as usize].converges);
            }
            let insts = self.body.blocks[block as usize].insts.clone();
            if !insts.into_iter().any(|inst| self.barrier(inst).is_some()) {
                pending.extend(crate::divergence::successors(self.body, block));
                let meet = self.info.divergence.splits.get(&block).and_then(|split| split.converges);
                pending.extend(meet);
            }
        }
        all.retain(|block| !crate::divergence::only_ends(self.body, *block) || *block == 0);
        all
    }

    pub(super) fn group_of(&self, block: u32) -> Option<u32> {
        self.group_of[block as usize]
    }

    /// All blocks of groups.
    pub(super) fn members(&self) -> impl Iterator<Item = u32> + '_ {
        self.groups.iter().flat_map(|group| group.members.iter().copied())
    }

    pub(super) fn next_in_group(&self, block: u32) -> Option<u32> {
        let group = &self.groups[self.group_of(block)? as usize];
        group.members.range(block + 1..).next().copied()
    }

    /// Where lanes that part at the end of a block meet.
    pub(super) fn converges(&self, branch: u32) -> Result<Option<u32>, String> {
        let split = self.info.divergence.splits.get(&branch).ok_or("lanes part where they should not")?;
        Ok(split.converges)
    }

    /// The region that begins behind a barrier.
    pub(super) fn barrier(&self, inst: u32) -> Option<usize> {
        self.info.barriers.all.iter().position(|(barrier, _)| *barrier == inst).map(|at| at + 1)
    }

    pub(super) fn kept(&self, region: usize) -> &[(ValueId, u32)] {
        &self.kept[region]
    }

    pub(super) fn frame_size(&self) -> u32 {
        self.frame
    }

    /// The places of a value in a function, and in a frame from an offset on.
    pub(super) fn places(&self, value: ValueId, offset: u32) -> Vec<(String, Ty, u32)> {
        let element = Element::bits_of(self.info.values.get(value).ty);
        let shape = self.info.shape(value);
        let lanes = if shape.is_uniform() { 0 } else { self.info.gangs.width };
        let held = Ty { element, lanes };
        let mut out = vec![(format!("%v{}", value.0), held, offset)];
        if let Shape::Affine(affine) = shape
            && affine.is_constant()
        {
            let base = (offset + size_of(held)).next_multiple_of(8);
            out.push((format!("%b{}", value.0), Ty::scalar(element), base));
            out.push((format!("%w{}", value.0), Ty::int(1, 0), base + 8));
        }
        out
    }

    /// The access of an instruction with its site.
    pub(super) fn access(&self, inst: u32) -> Option<(u32, &'k Access)> {
        let at = self.info.accesses.binary_search_by_key(&inst, |access| access.inst).ok()?;
        Some((at as u32, &self.info.accesses[at]))
    }

    pub(super) fn shared_offset(&self, id: GlobalId) -> i64 {
        self.shared.offsets.get(&id).map_or(0, |offset| i64::from(*offset))
    }

    pub(super) fn declare(&self, text: String) {
        self.declared.borrow_mut().insert(text);
    }

    pub(super) fn needs_tid(&self, axis: usize) {
        self.tids.borrow_mut().insert(axis);
    }

    /// `%tid` of all threads, those included that the last gang has too many.
    fn tables(&self) -> String {
        let gangs = &self.info.gangs;
        let mut out = String::new();
        for axis in self.tids.borrow().iter() {
            let numbers: Vec<String> =
                (0..gangs.count() * gangs.width).map(|thread| format!("i32 {}", gangs.tid(*axis, thread))).collect();
            let count = numbers.len();
            out += &format!("@tid{axis} = internal constant [{count} x i32] [{}], align 64\n", numbers.join(", "));
        }
        out + "\n"
    }

    /// All gangs of a CTA, region after region.
    fn cta(&self) -> String {
        let gangs = self.info.gangs.count();
        let ended = outcome::ENDED;
        if self.regions().len() == 1 {
            return format!(
                "define i32 @cta(ptr noalias %context) #0 {{\n  br label %gangs\ngangs:\n  %gang = phi i32 [ 0, %0 ], [ %next, %on ]\n  \
                 %result = call i32 @region0(ptr %context, i32 %gang)\n  %fine = icmp eq i32 %result, {ended}\n  \
                 br i1 %fine, label %on, label %out\non:\n  %next = add i32 %gang, 1\n  %more = icmp ult i32 %next, {gangs}\n  \
                 br i1 %more, label %gangs, label %out\nout:\n  ret i32 %result\n}}\n\n"
            );
        }
        // A gang that has ended in a region of its own says so in each of the next ones.
        let mut out = format!(
            "define i32 @cta(ptr noalias %context) #0 {{\n  br label %regions\nregions:\n  \
             %region = phi i32 [ 0, %0 ], [ %then, %through ]\n  br label %gangs\ngangs:\n  \
             %gang = phi i32 [ 0, %regions ], [ %next, %on ]\n  %so_far = phi i32 [ {ended}, %regions ], [ %then, %on ]\n  \
             switch i32 %region, label %unknown [\n"
        );
        for number in 0..self.regions().len() {
            out += &format!("    i32 {number}, label %region{number}\n");
        }
        out += "  ]\nunknown:\n  unreachable\n";
        let mut ways = Vec::new();
        for number in 0..self.regions().len() {
            out += &format!(
                "region{number}:\n  %r{number} = call i32 @region{number}(ptr %context, i32 %gang)\n  br label %back\n"
            );
            ways.push(format!("[ %r{number}, %region{number} ]"));
        }
        out += &format!(
            "back:\n  %result = phi i32 {}\n  %bad = icmp slt i32 %result, {ended}\n  br i1 %bad, label %out, label %on\non:\n  \
             %then = call i32 @llvm.smax.i32(i32 %so_far, i32 %result)\n  %next = add i32 %gang, 1\n  \
             %more = icmp ult i32 %next, {gangs}\n  br i1 %more, label %gangs, label %through\nthrough:\n  \
             %all = icmp eq i32 %then, {ended}\n  br i1 %all, label %out, label %regions\nout:\n  \
             %answer = phi i32 [ %result, %back ], [ {ended}, %through ]\n  ret i32 %answer\n}}\n\n",
            ways.join(", ")
        );
        self.declare("declare i32 @llvm.smax.i32(i32, i32)".to_owned());
        out
    }
}

/// Bytes that a value takes in memory.
fn size_of(ty: Ty) -> u32 {
    (ty.element.bits() * ty.lanes.max(1)).div_ceil(8)
}
