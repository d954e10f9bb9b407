//! Loads and stores (PTX ISA 9.7.9.8 to 9.7.9.12): which bytes, and how vectors come from them.
//!
//! Each access has a short way for what nearly always holds, and a long way. The short way is one place for all lanes, a row of places, or a
//! gather, where the table of sites tells that all of it may be accessed. The long way asks the executor, which tells for each lane
//! where its bytes are in the host's memory, whatever the state space; then lane after lane is accessed.

use warploom_ptx::ir::{Address, Base, GlobalId, Inst, Op, Operand, ScalarType, Semantics, Space};

use super::context;
use super::function::{Val, Writer};
use super::guess::Guesses;
use super::indexed::Indexed;
use super::names::{Element, Ty};
use crate::access::{Access, Pattern};

/// Where lanes go.
#[derive(Clone)]
pub(super) struct Target {
    /// The address of all lanes, or of the first one.
    pub(super) first: Option<Val>,
    /// What lanes add to that; none if that is not known.
    pub(super) apart: Option<Vec<i64>>,
    /// Whether that holds: an `i1`.
    pub(super) flag: Val,
    /// The register with the address, and what is added; none of a variable.
    register: Option<(Operand, i64)>,
    /// That register has fewer bits than an address: lanes may go around their end.
    short: bool,
    pub(super) space: Space,
    pub(super) site: u32,
    /// Bytes of a lane.
    pub(super) bytes: u32,
    pub(super) proven: bool,
    /// From the first lane's address to the first byte that is accessed.
    pub(super) low: i64,
}

impl Target {
    /// All lanes go to one address.
    pub(super) fn is_one(&self) -> bool {
        self.apart.as_ref().is_some_and(|apart| apart.iter().all(|apart| *apart == 0))
    }

    /// Nothing need be looked at.
    pub(super) fn is_proven(&self) -> bool {
        self.proven && self.flag.text == "true" && self.space != Space::Generic
    }

    /// What is added to the register with the address.
    pub(super) fn offset(&self) -> i64 {
        self.register.map_or(0, |(_, offset)| offset)
    }

    /// The first lane's address, and how far the others' are from one another's, if that is the same for all and sure.
    pub(super) fn even(&self) -> Option<(&Val, i64)> {
        let apart = self.apart.as_ref().filter(|_| self.flag.text == "true" && !self.short)?;
        let step = apart.get(1).map_or(0, |second| second - apart[0]);
        let even = apart.iter().zip(0..).all(|(apart, lane)| *apart == lane * step);
        Some((self.first.as_ref().filter(|_| even)?, step))
    }

    fn is_row(&self) -> bool {
        let follows = |(lane, apart): (usize, &i64)| *apart == lane as i64 * i64::from(self.bytes);
        self.apart.as_ref().is_some_and(|apart| apart.iter().enumerate().all(follows))
    }
}

impl Writer<'_> {
    /// The address of a variable: what a register holds for it.
    pub(super) fn variable(&mut self, id: GlobalId, offset: i64) -> Val {
        let i64 = Ty::int(64, 0);
        if self.plan.info.module.globals[id.0 as usize].space == Space::Shared {
            return self.constant(i64, self.plan.shared_offset(id) + offset);
        }
        let table = self.pointer(context::VARIABLES);
        let at = self.set(i64, format!("getelementptr i8, ptr {table}, i64 {}", 8 * id.0));
        let address = self.set(i64, format!("load i64, ptr {}, !invariant.load !0", at.text));
        let offset = self.constant(i64, offset);
        self.binary("add", &address, &offset)
    }

    fn parameter(&mut self, offset: i64, bits: u32) -> Val {
        let params = self.pointer(context::PARAMS);
        let at = self.set(Ty::int(64, 0), format!("getelementptr i8, ptr {params}, i64 {offset}"));
        self.set(Ty::int(bits, 0), format!("load i{bits}, ptr {}, align 1, !invariant.load !0", at.text))
    }

    pub(super) fn ld(&mut self, inst: &Inst) -> Result<(), String> {
        let Op::Ld { space, ty, semantics, dst, addr, .. } = &inst.op else { return Err(self.lacks(inst)) };
        if ty.bits() < 8 {
            return Err(self.lacks(inst));
        }
        let signed = ty.is_signed();
        if addr.base == Base::ParamFrame {
            for at in 0..dst.len() {
                let value = self.parameter(addr.offset + i64::from(ty.bytes()) * at as i64, ty.bits());
                self.write(inst, at, &value, signed)?;
            }
            return Ok(());
        }
        // What one of several registers has the same in all lanes the others have too, even where they go on as what each lane has of its own.
        let mut written = (0..dst.len()).filter_map(|at| self.written(inst, at)).peekable();
        let common = written.peek().is_none() || written.any(|value| self.is_scalar(value));
        let ty_of = Ty { element: Element::bits_of(*ty), lanes: if common { 0 } else { self.lanes() } };
        if let Some(place) = self.quads.remove(&(self.inst, self.member)).filter(|_| self.full) {
            let value = self.load(ty_of, &place);
            return self.write(inst, 0, &value, signed);
        }
        if let Some(value) = self.forwarded(ty_of) {
            return self.write(inst, 0, &value, signed);
        }
        let target = self.target(inst, *space, *addr)?;
        let places: Vec<String> = (0..dst.len()).map(|_| self.new_place(ty_of)).collect();
        if let Some(word) = self.word_of(&target) {
            self.load_by_lane(inst, (&target, word), *ty, &places, common)?;
        } else if *semantics == Semantics::Weak {
            let before = self.where_guessed(inst, &target, *ty, Guesses::Load(&places))?;
            self.load_weak(inst, before.as_ref().map_or(&target, |(there, _)| there), *ty, &places, common)?;
            self.join(before.map(|(_, done)| done));
        } else {
            // What others do meanwhile is seen: lane after lane, each with an access of its own for all that fits into one.
            if common || self.lane_by_lane_only(&target) {
                return Err(self.lacks(inst));
            }
            self.pointers_of_all(inst, &target)?;
            self.load_lanes(*ty, &places, true);
            if matches!(semantics, Semantics::Acquire) {
                self.line("fence acquire");
            }
        }
        for (at, place) in places.iter().enumerate() {
            let value = self.load(ty_of, place);
            self.write(inst, at, &value, signed)?;
        }
        Ok(())
    }

    fn lane_by_lane_only(&self, target: &Target) -> bool {
        !target.bytes.is_power_of_two() || target.bytes > 32
    }

    pub(super) fn load_weak(
        &mut self,
        inst: &Inst,
        target: &Target,
        ty: ScalarType,
        places: &[String],
        common: bool,
    ) -> Result<(), String> {
        let scalar = Ty::scalar(Element::bits_of(ty));
        if target.space == Space::Local || (ty.bits() > 64 && !target.is_one()) {
            // Each thread has its own at one address; no vector has such elements.
            self.pointers_of_all(inst, target)?;
            self.load_lanes(ty, places, false);
        } else if target.is_one() {
            self.short_or_long(inst, target, |this, long| {
                if long {
                    this.load_long(ty, places, common);
                    return Ok(());
                }
                let pointer = this.place_of(target);
                for (at, place) in places.iter().enumerate() {
                    let pointer = this.offset(&pointer, at as u32 * ty.bytes());
                    let value = this.load_memory(scalar, &pointer, ty.bytes());
                    let value = if common { value } else { this.splat(&value) };
                    this.store(&value, place);
                }
                Ok(())
            })?;
        } else if let Some(near) = self.near_quad(target, ty, places.len()) {
            self.short_or_long(inst, target, |this, _| {
                this.load_near_quad(target, &near, ty, places);
                Ok(())
            })?;
        } else if target.is_row() {
            if !self.full {
                self.fetch_later_plane(target);
            }
            let done = self.row_of_those_that_run(inst, target, |this, row| {
                let pointer = this.place_of(row);
                this.load_row(&pointer, ty, places);
            })?;
            self.short_or_long(inst, target, |this, long| {
                if long {
                    this.load_long(ty, places, common);
                    return Ok(());
                }
                let pointer = this.place_of(target);
                this.load_row(&pointer, ty, places);
                Ok(())
            })?;
            self.join(done);
        } else if let Some(near) = self.near(target, ty, places.len()) {
            self.short_or_long(inst, target, |this, long| {
                if long {
                    this.load_long(ty, places, common);
                } else {
                    this.load_near(target, &near, ty, places);
                }
                Ok(())
            })?;
        } else if let Some(quad) = self.quad(target, ty, places.len()) {
            self.short_or_long(inst, target, |this, _| this.load_quad(inst, target, &quad, ty, places))?;
        } else if !self.plan.gathers() {
            self.pointers_of_all(inst, target)?;
            self.load_lanes(ty, places, false);
        } else {
            self.short_or_long(inst, target, |this, long| {
                if long {
                    this.load_long(ty, places, common);
                    return Ok(());
                }
                if ty.bits() < 32 {
                    return this.gather_within_words(inst, target, ty, places);
                }
                for (at, place) in places.iter().enumerate() {
                    let bytes = at as u32 * ty.bytes();
                    let value = match &target.apart {
                        Some(apart) if this.gathers_words(ty.bits()) => {
                            let base = this.place_of(target);
                            let base = this.offset(&base, bytes);
                            this.gather_words(&base, apart)
                        }
                        _ => {
                            let places = this.places_of_all(inst, target, bytes)?;
                            this.gather(&places, scalar.element, ty.bytes())
                        }
                    };
                    this.store(&value, place);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Lane after lane, from where the executor has said; the first lane's for all of them if they have the result in common.
    fn load_long(&mut self, ty: ScalarType, places: &[String], common: bool) {
        if !common {
            return self.load_lanes(ty, places, false);
        }
        let bits = self.running();
        let pointer = self.first_pointer(&bits);
        for (at, place) in places.iter().enumerate() {
            let pointer = self.offset(&pointer, at as u32 * ty.bytes());
            let value = self.load_memory(Ty::scalar(Element::bits_of(ty)), &pointer, ty.bytes());
            self.store(&value, place);
        }
    }

    pub(super) fn st(&mut self, inst: &Inst) -> Result<(), String> {
        let Op::St { space, ty, semantics, src, addr, .. } = &inst.op else { return Err(self.lacks(inst)) };
        if ty.bits() < 8 {
            return Err(self.lacks(inst));
        }
        let target = self.target(inst, *space, *addr)?;
        let values: Vec<Val> = src.iter().map(|operand| self.operand(*operand, *ty)).collect();
        self.keep_stored(&values[0]);
        if self.stored_with.remove(&(self.inst, self.member)) && self.full {
            return Ok(());
        }
        if let Some(word) = self.word_of(&target) {
            return self.store_by_lane(inst, (&target, word), *ty, &values);
        }
        if *semantics != Semantics::Weak {
            if self.lane_by_lane_only(&target) {
                return Err(self.lacks(inst));
            }
            if matches!(semantics, Semantics::Release) {
                self.line("fence release");
            }
            self.pointers_of_all(inst, &target)?;
            self.store_lanes(*ty, &values, true);
            return Ok(());
        }
        let before = self.where_guessed(inst, &target, *ty, Guesses::Store(&values))?;
        self.store_weak(inst, before.as_ref().map_or(&target, |(there, _)| there), *ty, &values)?;
        self.join(before.map(|(_, done)| done));
        Ok(())
    }

    pub(super) fn store_weak(
        &mut self,
        inst: &Inst,
        target: &Target,
        ty: ScalarType,
        values: &[Val],
    ) -> Result<(), String> {
        if target.space == Space::Local || ty.bits() > 64 {
            self.pointers_of_all(inst, target)?;
            self.store_lanes(ty, values, false);
            Ok(())
        } else if target.is_one() {
            self.short_or_long(inst, target, |this, long| {
                if long {
                    this.store_lanes(ty, values, false);
                    return Ok(());
                }
                let pointer = this.place_of(target);
                for (at, value) in values.iter().enumerate() {
                    // The last of the lanes that store to one place wins.
                    let value = this.last_lane(value);
                    let pointer = this.offset(&pointer, at as u32 * ty.bytes());
                    this.store_memory(&value, &pointer, ty.bytes());
                }
                Ok(())
            })
        } else if target.is_row() {
            self.short_or_long(inst, target, |this, long| {
                if long {
                    this.store_lanes(ty, values, false);
                    return Ok(());
                }
                let values: Vec<Val> = values.iter().map(|value| this.splat(value)).collect();
                if this.store_row_nontemporal(target, ty, &values) || this.store_row_blended(target, ty, &values) {
                    return Ok(());
                }
                if let Some(stored) = this.near_quad_stored(inst, target, ty, &values) {
                    this.store_near_quad(target, &stored, ty);
                    return Ok(());
                }
                let pointer = this.place_of(target);
                this.store_row(&pointer, ty, &values);
                Ok(())
            })
        } else if let Some(stored) = self.near_quad_stored(inst, target, ty, values) {
            self.short_or_long(inst, target, |this, _| {
                this.store_near_quad(target, &stored, ty);
                Ok(())
            })
        } else if let Some(stored) = self.structures_stored(inst, target, ty, values) {
            self.short_or_long(inst, target, |this, _| {
                this.store_structures(target, &stored, ty);
                Ok(())
            })
        } else if values.len() > 1 || !self.plan.has_wide_vectors() {
            // All parts of a lane before the next one's: where lanes overlap that matters.
            self.pointers_of_all(inst, target)?;
            self.store_lanes(ty, values, false);
            Ok(())
        } else {
            self.short_or_long(inst, target, |this, long| {
                if long {
                    this.store_lanes(ty, values, false);
                    return Ok(());
                }
                let value = this.splat(&values[0]);
                let pointers = this.gather_pointers(inst, target, 0)?;
                this.scatter(&pointers, &value, ty.bytes());
                Ok(())
            })
        }
    }

    /// What the last of the lanes that run has of a value.
    fn last_lane(&mut self, value: &Val) -> Val {
        if value.ty.lanes == 0 {
            return value.clone();
        }
        let bits = self.running();
        let zero = self.intrinsic_flag("ctlz", &bits);
        let top = self.constant(bits.ty, 31);
        let last = self.binary("sub", &top, &zero);
        self.element(value, &last)
    }

    /// Where an access goes, as far as it is known.
    pub(super) fn target(&mut self, inst: &Inst, space: Space, address: Address) -> Result<Target, String> {
        let plan = self.plan;
        let Some((site, access)) = plan.access(self.inst) else { return Err(self.lacks(inst)) };
        let Access { bytes, pattern, proven, .. } = access;
        if !matches!(space, Space::Global | Space::Const | Space::Param | Space::Shared | Space::Local | Space::Generic)
        {
            return Err(format!("line {}: {space} memory", inst.line));
        }
        if !bytes.is_power_of_two() || *bytes > 32 {
            return Err(self.lacks(inst));
        }
        let lanes = self.lanes() as usize;
        let (low, _) = access.reach(lanes as i64);
        let flag = self.constant(Ty::int(1, 0), 1);
        let mut target = Target {
            first: None,
            apart: Some(vec![0; lanes]),
            flag,
            register: None,
            short: false,
            space,
            site,
            bytes: *bytes,
            proven: *proven,
            low,
        };
        match address.base {
            Base::Absolute | Base::LocalFrame => {
                target.first = Some(self.constant(Ty::int(64, 0), address.offset));
            }
            Base::Global(id) => target.first = Some(self.variable(id, address.offset)),
            Base::Reg(reg) => {
                let value = self.value_of(Operand::Reg(reg)).ok_or_else(|| self.lacks(inst))?;
                target.register = Some((Operand::Reg(reg), address.offset));
                target.apart = match pattern {
                    Pattern::Same(_) => Some(vec![0; lanes]),
                    Pattern::Contiguous => Some((0..lanes).map(|lane| lane as i64 * i64::from(*bytes)).collect()),
                    Pattern::Strided(step) => Some((0..lanes).map(|lane| lane as i64 * step).collect()),
                    Pattern::Known(known) => Some(known.get().to_vec()),
                    Pattern::Scaled { .. } | Pattern::Anywhere(_) => None,
                };
                if target.apart.is_some() {
                    let base = self.read_base(value).ok_or_else(|| self.lacks(inst))?;
                    target.flag = self.read_flag(value);
                    target.short = base.ty.element.bits() < 64;
                    target.first = Some(self.moved(&base, address.offset));
                }
            }
            Base::ParamFrame => return Err(format!("line {}: {space} memory", inst.line)),
        }
        if let Some(first) = self.first_in_arm() {
            (target.first, target.flag, target.proven) = (Some(first), self.constant(Ty::int(1, 0), 1), true);
        }
        Ok(target)
    }

    /// The addresses of all lanes.
    pub(super) fn all_addresses(&mut self, inst: &Inst, target: &Target) -> Result<Val, String> {
        if let Some((operand, offset)) = target.register {
            let value = self.value_of(operand).ok_or_else(|| self.lacks(inst))?;
            let held = self.read(value);
            let moved = self.moved(&held, offset);
            return Ok(self.splat(&moved));
        }
        let first = target.first.clone().ok_or_else(|| self.lacks(inst))?;
        Ok(self.splat(&first))
    }

    /// The addresses of all lanes in shared memory, as 32 bits.
    pub(super) fn short_addresses(&mut self, inst: &Inst, target: &Target) -> Result<Val, String> {
        let Some((operand, offset)) = target.register else {
            let all = self.all_addresses(inst, target)?;
            return Ok(self.resize(&all, 32, false));
        };
        let value = self.value_of(operand).ok_or_else(|| self.lacks(inst))?;
        let held = self.read(value);
        let held = self.resize(&held, 32, false);
        let by = self.constant(held.ty, offset);
        let sum = self.binary("add", &held, &by);
        Ok(self.splat(&sum))
    }

    /// Base and index of an address, if it has such parts, and the index counts what a lane accesses.
    pub(super) fn parts(&self, target: &Target) -> Option<Indexed> {
        let parts = self.parts_of(target)?;
        // Where one look is for several accesses, it does not tell that an index without a sign has less than 31 bits.
        let narrow = parts.signed || self.plan.hull(self.inst).is_none();
        (narrow && target.first.is_none()).then_some(parts)
    }

    /// The same of what may also be one address for all lanes.
    pub(super) fn parts_of(&self, target: &Target) -> Option<Indexed> {
        let (operand, _) = target.register?;
        let global = matches!(target.space, Space::Global | Space::Const);
        let parts = self.plan.indexed(self.inst, self.value_of(operand)?)?;
        (global && parts.scale == target.bytes).then_some(parts)
    }

    /// An address with its offset, in the width that it has, as 64 bits.
    fn moved(&mut self, address: &Val, offset: i64) -> Val {
        let by = self.constant(address.ty, offset);
        let sum = self.binary("add", address, &by);
        self.resize(&sum, 64, false)
    }

    pub(super) fn offset(&mut self, pointer: &str, bytes: u32) -> String {
        if bytes == 0 {
            return pointer.to_owned();
        }
        self.set(Ty::int(64, 0), format!("getelementptr i8, ptr {pointer}, i64 {bytes}")).text
    }

    /// The host's address of the first lane's place.
    pub(super) fn place_of(&mut self, target: &Target) -> String {
        let i64 = Ty::int(64, 0);
        let Some(first) = target.first.clone() else { return "null".to_owned() };
        match self.start_of(target) {
            Some(start) => self.set(i64, format!("getelementptr i8, ptr {start}, i64 {}", first.text)).text,
            None => self.at_address(&first).text,
        }
    }

    /// Where the host has a space whose places are counted from its start.
    pub(super) fn start_of(&mut self, target: &Target) -> Option<String> {
        let offset = match target.space {
            Space::Shared => context::SHARED,
            Space::Param => context::PARAMS,
            _ => return None,
        };
        Some(self.pointer(offset))
    }
}
