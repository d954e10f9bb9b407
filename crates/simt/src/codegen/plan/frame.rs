//! Frames: what is kept of gangs at barriers, and where teams are left, and at which offset.

use std::collections::{BTreeMap, BTreeSet};

use warploom_ptx::ir::{BarrierOp, Op};

use super::Plan;
use crate::codegen::context;
use crate::codegen::names::{Element, Ty};
use crate::codegen::regions::FRAME_ALIGN;
use crate::codegen::team::{Point, with_sources};
use crate::pressure::scan;
use crate::shape::Shape;
use crate::values::ValueId;

/// Where a value is kept at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::codegen) enum Keep {
    /// Once for all threads of the CTA, at this offset.
    Cta(u32),
    /// For each gang, at this offset of its frame.
    Gang(u32),
}

impl Plan<'_> {
    /// Where a gang's frame has the mask of those lanes that run the block at which its team is left, if they are not all.
    pub(in crate::codegen) const ARM: u32 = 32;

    pub(super) fn lay_out_frame(&mut self) {
        /// The mask of the lanes that have not ended stands first, then the one at [`Self::ARM`].
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
        if self.team > 0 {
            let ends = (0..self.body.blocks.len() as u32).map(Point::End);
            let points = self.info.accesses.iter().map(|access| Point::Inst(access.inst)).chain(ends);
            points.for_each(|point| all.extend(self.live_at(point)));
        }
        let mut homes = BTreeMap::new();
        let (mut cta, mut gang) = (0, FIRST);
        for (inst, _) in &self.info.barriers.all {
            if matches!(self.body.insts[*inst as usize].op, Op::Barrier(BarrierOp::Reduce { .. })) {
                self.reductions.insert(*inst, cta);
                cta += 4;
            }
        }
        for value in all {
            let shape = self.info.shape(value);
            let end = if shape.is_cta_uniform() { &mut cta } else { &mut gang };
            let wide = !shape.is_uniform() && !self.is_lazy(value);
            let at = end.next_multiple_of(if wide { 64 } else { 8 });
            homes.insert(value, if shape.is_cta_uniform() { Keep::Cta(at) } else { Keep::Gang(at) });
            let places = self.places(value, at);
            *end = places.iter().map(|(_, ty, offset)| offset + size_of(*ty)).max().unwrap_or(at);
        }
        self.cta_frame = cta.next_multiple_of(FRAME_ALIGN);
        self.frame = gang.next_multiple_of(64);
        let homed = |live: BTreeSet<ValueId>| live.into_iter().map(|value| (value, homes[&value])).collect();
        self.kept = by_region.into_iter().map(homed).collect();
        self.homes = homes;
    }

    /// What must be kept for gangs to go on one by one from where a team is left.
    pub(in crate::codegen) fn live_at(&self, point: Point) -> BTreeSet<ValueId> {
        let (block, at) = match point {
            Point::Inst(inst) | Point::Behind(inst) => (self.block_of[inst as usize], inst),
            Point::End(block) => (block, self.body.blocks[block as usize].insts.end),
        };
        let before = (at > self.body.blocks[block as usize].insts.start).then(|| at - 1);
        let mut live = BTreeSet::new();
        scan(self.body, &self.info.values, block, |inst, now| {
            if inst == before {
                live.clone_from(now);
            }
        });
        // Masked code reads an address in the parts that it was computed from; those that it computes itself on the way there need not be kept.
        let later = self
            .info
            .accesses
            .iter()
            .filter(|access| (at..self.body.blocks[block as usize].insts.end).contains(&access.inst));
        for access in later {
            let address = self.address_of(access.inst);
            if let Some(parts) = address.and_then(|address| self.indexed(access.inst, address)) {
                let computed = |value: &ValueId| {
                    self.info.values.get(*value).defs.iter().any(|def| (at..access.inst).contains(def))
                };
                live.extend([parts.base, parts.index].into_iter().filter(|value| !computed(value)));
            }
        }
        with_sources(self, live)
    }

    /// Where a value is kept.
    pub(in crate::codegen) fn home(&self, value: ValueId) -> Option<Keep> {
        self.homes.get(&value).copied()
    }

    /// Whether a frame has a value since a region began, and nothing that the region runs writes it.
    pub(in crate::codegen) fn is_kept_since(&self, region: usize, value: ValueId) -> bool {
        let defs = &self.info.values.get(value).defs;
        let written = self.regions()[region].insts.iter().any(|insts| defs.iter().any(|def| insts.contains(def)));
        !written && self.kept(region).iter().any(|(kept, _)| *kept == value)
    }

    /// All values that are kept somewhere.
    pub(in crate::codegen) fn homes(&self) -> Vec<(ValueId, Keep)> {
        self.homes.iter().map(|(value, keep)| (*value, *keep)).collect()
    }

    /// Parameters of functions for what is kept once for the CTA.
    pub(in crate::codegen) fn shared_parameters(&self, kept: &[(ValueId, Keep)]) -> String {
        let shared = kept.iter().filter(|(_, keep)| matches!(keep, Keep::Cta(_))).enumerate();
        let ty = |value: ValueId| Element::bits_of(self.info.values.get(value).ty).text();
        shared.map(|(at, (value, _))| format!(", {} %c{at}", ty(*value))).collect()
    }

    /// What such functions are called with, and the instructions that read it.
    pub(in crate::codegen) fn shared_arguments(&self, kept: &[(ValueId, Keep)]) -> (String, String) {
        let mut loads = format!(
            "  %at = getelementptr i8, ptr %context, i64 {}\n  %frames = load ptr, ptr %at, !invariant.load !0\n",
            context::FRAMES
        );
        let shared = kept.iter().filter_map(|(value, keep)| match keep {
            Keep::Cta(offset) => Some((*value, *offset)),
            Keep::Gang(_) => None,
        });
        let mut arguments = String::new();
        for (at, (value, offset)) in shared.enumerate() {
            let ty = Element::bits_of(self.info.values.get(value).ty).text();
            loads += &format!(
                "  %k{at} = getelementptr i8, ptr %frames, i64 {offset}\n  %c{at} = load {ty}, ptr %k{at}, !tbaa !9\n"
            );
            arguments += &format!(", {ty} %c{at}");
        }
        (loads, arguments)
    }

    /// The places of a value in a function, and in a frame from an offset on.
    pub(in crate::codegen) fn places(&self, value: ValueId, offset: u32) -> Vec<(String, Ty, u32)> {
        let element = Element::bits_of(self.info.values.get(value).ty);
        let shape = self.info.shape(value);
        let lanes = if shape.is_uniform() { 0 } else { self.info.gangs.width };
        let held = Ty { element, lanes };
        let mut out = Vec::new();
        let mut end = offset;
        if !self.is_lazy(value) {
            out.push((format!("%v{}", value.0), held, offset));
            end += size_of(held);
        }
        if let Shape::Affine(affine) = shape
            && affine.is_constant()
        {
            let base = end.next_multiple_of(8);
            out.push((format!("%b{}", value.0), Ty::scalar(element), base));
            if !affine.told_by.is_empty() {
                out.push((format!("%w{}", value.0), Ty::int(1, 0), base + 8));
            }
        }
        out
    }
}

/// Bytes that a value takes in memory.
pub(in crate::codegen) fn size_of(ty: Ty) -> u32 {
    (ty.element.bits() * ty.lanes.max(1)).div_ceil(8)
}
