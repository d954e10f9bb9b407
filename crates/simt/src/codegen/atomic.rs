//! `atom` and `red` (PTX ISA 9.7.13.5, 9.7.13.6).
//!
//! A CTA runs on one thread of the host, so that updates of its shared memory are loads and stores; on other memory they are atomics of the
//! host. Lanes update one after the other. Where all go to one place, and nobody asks what was there, they come together to one update,
//! if the order cannot be told from the result.

use warploom_ptx::ir::{AtomicOp, Inst, Op, Operand, ScalarType, Semantics, Space};

use super::atomic_half::{computed, halves};
use super::context;
use super::function::{Val, Writer};
use super::memory::Target;
use super::names::{Element, Ty};
use super::span::Across;

/// How one lane updates.
pub(super) struct Update {
    pub(super) op: AtomicOp,
    pub(super) ty: ScalarType,
    /// Nobody else can see it.
    pub(super) alone: bool,
    /// Without `.noftz`: subnormal numbers of `.f32` in global memory are zeros.
    pub(super) flushes: bool,
}

impl Update {
    pub(super) fn name(&self) -> String {
        let (ty, how) = (self.ty.to_string(), if self.flushes { "" } else { "_noftz" });
        format!("{:?}{how}_{}", self.op, ty.trim_start_matches('.')).to_lowercase()
    }

    /// Whether subnormal sums are zeros, and subnormal terms.
    pub(super) fn flushes_sums(&self) -> bool {
        self.op == AtomicOp::Add && self.ty == ScalarType::F32 && !self.alone && self.flushes
    }

    /// The host's instruction for it.
    fn host(&self) -> Option<&'static str> {
        use AtomicOp::*;
        let signed = self.ty.is_signed();
        Some(match self.op {
            Add if !self.is_float() => "add",
            And => "and",
            Or => "or",
            Xor => "xor",
            Exch => "xchg",
            Min if signed => "min",
            Min if !self.is_float() => "umin",
            Max if signed => "max",
            Max if !self.is_float() => "umax",
            Inc => "uinc_wrap",
            Dec => "udec_wrap",
            _ => return None,
        })
    }

    fn is_float(&self) -> bool {
        matches!(self.ty, ScalarType::F32 | ScalarType::F64) || halves(self.ty).is_some()
    }

    /// Text that makes `%new` of `%old`, `%b` and `%c`.
    pub(super) fn compute(&self) -> Option<String> {
        use AtomicOp::*;
        let bits = self.ty.bits();
        let signed = self.ty.is_signed();
        let int = |op: &str| Some(format!("  %new = {op} i{bits} %old, %b\n"));
        let pick = |compare: &str| {
            Some(format!("  %is = icmp {compare} i{bits} %old, %b\n  %new = select i1 %is, i{bits} %old, i{bits} %b\n"))
        };
        if let Some((count, bf)) = halves(self.ty) {
            return computed(self.op, count, bf);
        }
        match self.op {
            Add if self.flushes_sums() => Some(format!(
                "{}{}  %fs = fadd float %fx, %fy\n{}  %new = bitcast float %fr to i32\n",
                flushed("%old", "%fx", "x"),
                flushed("%b", "%fy", "y"),
                "  %si = bitcast float %fs to i32\n".to_owned() + &flushed("%si", "%fr", "r"),
            )),
            Add if self.is_float() => {
                let float = if bits == 32 { "float" } else { "double" };
                Some(format!(
                    "  %fx = bitcast i{bits} %old to {float}\n  %fy = bitcast i{bits} %b to {float}\n  \
                     %fs = fadd {float} %fx, %fy\n  %new = bitcast {float} %fs to i{bits}\n"
                ))
            }
            Add => int("add"),
            And => int("and"),
            Or => int("or"),
            Xor => int("xor"),
            Exch => Some(format!("  %new = add i{bits} %b, 0\n")),
            Cas => {
                Some(format!("  %is = icmp eq i{bits} %old, %b\n  %new = select i1 %is, i{bits} %c, i{bits} %old\n"))
            }
            Min if !self.is_float() => pick(if signed { "slt" } else { "ult" }),
            Max if !self.is_float() => pick(if signed { "sgt" } else { "ugt" }),
            Inc => Some(format!(
                "  %over = icmp uge i{bits} %old, %b\n  %more = add i{bits} %old, 1\n  \
                 %new = select i1 %over, i{bits} 0, i{bits} %more\n"
            )),
            Dec => Some(format!(
                "  %zero = icmp eq i{bits} %old, 0\n  %over = icmp ugt i{bits} %old, %b\n  %top = or i1 %zero, %over\n  \
                 %less = sub i{bits} %old, 1\n  %new = select i1 %top, i{bits} %b, i{bits} %less\n"
            )),
            Min | Max => None,
        }
    }
}

/// What one lane does, with names of its own.
pub(super) fn named(lane: &str, number: u32) -> String {
    let mut out = String::new();
    for line in lane.lines() {
        let words = line.split(' ').map(|word| match word.strip_prefix('%') {
            Some("lane,") => format!("{number},"),
            Some("values," | "value," | "start,") | None => word.to_owned(),
            Some(name) => match name.strip_suffix(',') {
                Some(name) => format!("%{name}.{number},"),
                None => format!("%{name}.{number}"),
            },
        });
        out += &words.collect::<Vec<_>>().join(" ");
        out.push('\n');
    }
    out
}

/// What all lanes do, one behind the other, if all run; else it goes on at `some`.
fn all_lanes(lane: &str, lanes: u32) -> String {
    let all = if lanes == 32 { -1 } else { (1i64 << lanes) - 1 };
    let mut out = format!("  %full = icmp eq i32 %lanes, {all}\n  br i1 %full, label %each, label %some\neach:\n");
    for number in 0..lanes {
        out += &format!(
            "  %at.{number} = getelementptr i64, ptr %addresses, i32 {number}\n  %place.{number} = load ptr, ptr %at.{number}\n"
        );
        out += &named(lane, number);
    }
    out
}

/// All lanes one behind the other, if all run, and an entry into the loop over those that do: `lane` is what one does.
fn straight(lane: &str, lanes: u32) -> String {
    all_lanes(lane, lanes) + "  ret void\nsome:\n  br label %head\n"
}

/// Has the lines brought here that lanes update, and an entry into the loop over them: an atomic of the host waits for its line alone, and what follows it for the atomic. Lines that are far
/// away, or others' just now, come side by side so.
fn claimed(lanes: u32) -> String {
    let claim = |place: &str| format!("  call void @llvm.prefetch.p0(ptr {place}, i32 1, i32 3, i32 1)\n");
    all_lanes(&claim("%place"), lanes)
        + "  br label %claimed\nsome:\n  %open = phi i32 [ %lanes, %0 ], [ %next, %some ]\n  \
           %one = call i32 @llvm.cttz.i32(i32 %open, i1 true)\n  %less = sub i32 %open, 1\n  %next = and i32 %open, %less\n  \
           %ahead = getelementptr i64, ptr %addresses, i32 %one\n  %line = load ptr, ptr %ahead\n"
        + &claim("%line")
        + "  %more = icmp ne i32 %next, 0\n  br i1 %more, label %some, label %claimed\nclaimed:\n  br label %head\n"
}

/// A subnormal number as zero of its sign.
fn flushed(from: &str, to: &str, tag: &str) -> String {
    format!(
        "  %m{tag} = and i32 {from}, 2139095040\n  %z{tag} = icmp eq i32 %m{tag}, 0\n  %s{tag} = and i32 {from}, -2147483648\n  \
         %k{tag} = select i1 %z{tag}, i32 %s{tag}, i32 {from}\n  {to} = bitcast i32 %k{tag} to float\n"
    )
}

impl Writer<'_> {
    pub(super) fn atom(&mut self, inst: &Inst) -> Result<(), String> {
        let Op::Atom { op, space, ty, semantics, dst, addr, b, c, noftz, .. } = &inst.op else {
            return Err(self.lacks(inst));
        };
        let half = halves(*ty).is_some();
        let whole = ty.bits() >= 32 || *op == AtomicOp::Cas || half;
        let number = matches!(ty, ScalarType::F32 | ScalarType::F64 | ScalarType::B128) || half;
        if !whole || !(number || crate::range::is_integer(*ty)) {
            return Err(self.lacks(inst));
        }
        let update = Update { op: *op, ty: *ty, alone: *space == Space::Shared, flushes: !noftz };
        if update.compute().is_none() {
            return Err(self.lacks(inst));
        }
        let asked = dst.is_some() && self.written(inst, 0).is_some_and(|value| self.plan.is_read(value));
        let target = self.target(inst, *space, *addr)?;
        if matches!(semantics, Semantics::Release | Semantics::AcqRel | Semantics::Sc) {
            self.line("fence release");
        }
        let acquires = matches!(semantics, Semantics::Acquire | Semantics::AcqRel | Semantics::Sc);
        if b.len() > 1 {
            self.atom_elements(inst, &update, &target)?;
            if acquires {
                self.line("fence acquire");
            }
            return Ok(());
        }
        let b = self.operand(b[0], *ty);
        let c = c.map(|c: Operand| self.operand(c, *ty));
        if target.is_one() && !asked && self.come_together(inst, &update, &target, &b)? {
            return Ok(());
        }
        if self.full && inst.guard.is_none() && !target.is_one() && self.plan.keeps_back(self.inst) {
            return self.add_later(inst, &update, &target, &b);
        }
        self.pointers_of_all(inst, &target)?;
        let lanes = self.lanes();
        let bytes = ty.bytes();
        let element = Element::bits_of(*ty);
        for (at, value) in [Some(b), c].into_iter().enumerate() {
            if let Some(value) = value {
                let value = self.splat(&value);
                let place = self.offset("%scratch", (1 + at as u32) * lanes * bytes);
                self.store_for_lanes(&value, &place);
            }
        }
        let bits = self.running();
        if *space == Space::Generic && *ty == ScalarType::F32 && *op == AtomicOp::Add {
            self.sum_by_space(inst, &update, &target, asked)?;
        } else {
            let name = self.update_function(&update, &target, asked);
            self.line(format!("call void {name}(ptr %addresses, i32 {}, ptr %scratch)", bits.text));
        }
        if asked {
            let old = self.load(Ty { element, lanes }, "%scratch");
            self.write(inst, 0, &old, ty.is_signed())?;
        }
        if acquires {
            self.line("fence acquire");
        }
        Ok(())
    }

    /// Updates of shared memory by all gangs of a team, with an operand that they have in common and no result; false if they are not of that kind.
    ///
    /// All addresses are written down first, and two of them are loaded at a time: loads are what updates wait for.
    pub(super) fn update_as_team(&mut self, inst: &Inst) -> Result<bool, String> {
        let Op::Atom { op, space: Space::Shared, ty, semantics, dst, addr, b, c: None, noftz, .. } = &inst.op else {
            return Ok(false);
        };
        let asked = dst.is_some() && self.written(inst, 0).is_some_and(|value| self.plan.is_read(value));
        let plain = inst.guard.is_none() && matches!(semantics, Semantics::Weak | Semantics::Relaxed);
        let integer = ty.bits() >= 32 && crate::range::is_integer(*ty);
        let [b] = b[..] else { return Ok(false) };
        let common = self.value_of(b).is_none_or(|value| self.plan.across(value) == &Across::Same);
        let update = Update { op: *op, ty: *ty, alone: true, flushes: !noftz };
        let apart = !self.target(inst, Space::Shared, *addr)?.is_one();
        if asked || !plain || !integer || !common || !apart || update.host().is_none() || !self.plan.machine().x86 {
            return Ok(false);
        }
        let lanes = self.lanes();
        for member in 0..self.team {
            self.member = member;
            let target = self.target(inst, Space::Shared, *addr)?;
            let all = self.short_addresses(inst, &target)?;
            let place = self.offset("%addresses", 4 * lanes * member);
            self.store_for_lanes(&all, &place);
        }
        self.member = 0;
        let b = self.operand(b, *ty);
        let (shared, name) = (self.pointer(context::SHARED), self.near_function(&update, false));
        for member in 0..self.team {
            let place = self.offset("%addresses", 4 * lanes * member);
            self.line(format!("call void {name}(ptr {shared}, ptr {place}, {} {})", b.ty.text(), b.text));
        }
        Ok(true)
    }

    /// The function that updates memory of this worker alone at distances of 32 bits from its start, with one operand for all lanes, or one for each at `%values`.
    pub(super) fn near_function(&mut self, update: &Update, each: bool) -> String {
        let (width, bytes) = (update.ty.bits(), update.ty.bytes());
        let name = format!("@{}_near{}", update.name(), if each { "_each" } else { "" });
        let mut lane = "  %place = getelementptr i8, ptr %start, i64 %far\n".to_owned();
        lane += &if each {
            format!(
                "  %which = add i32 %lane, 0\n  %from = getelementptr i{width}, ptr %values, i32 %which\n  %b = load i{width}, ptr %from, align {bytes}\n"
            )
        } else {
            format!("  %b = add i{width} %value, 0\n")
        };
        lane += &format!("  %old = load i{width}, ptr %place, align {bytes}\n");
        lane += &update.compute().unwrap_or_default();
        lane += &format!("  store i{width} %new, ptr %place, align {bytes}\n");
        let mut all = String::new();
        for number in 0..self.lanes() {
            let at = format!("%at.{number} = getelementptr i32, ptr %near, i32 {number}");
            all += &match (number % 2, self.lanes()) {
                (0, 1) => format!("  {at}\n  %near.0 = load i32, ptr %at.0\n  %far.0 = zext i32 %near.0 to i64\n"),
                (0, _) => format!(
                    "  {at}\n  %two.{number} = load i64, ptr %at.{number}\n  %far.{number} = and i64 %two.{number}, 4294967295\n"
                ),
                _ => format!("  %far.{number} = lshr i64 %two.{}, 32\n", number - 1),
            };
            all += &named(&lane, number);
        }
        let operand = if each { "ptr %values".to_owned() } else { format!("i{width} %value") };
        self.plan.declare(format!(
            "define internal void {name}(ptr %start, ptr %near, {operand}) #2 {{\n{all}  ret void\n}}"
        ));
        name
    }

    /// One update for all lanes, of whole numbers at one place; false if it is not of that kind.
    fn come_together(&mut self, inst: &Inst, update: &Update, target: &Target, b: &Val) -> Result<bool, String> {
        use AtomicOp::*;
        let (name, neutral) = match update.op {
            _ if update.is_float() => return Ok(false),
            Add => ("add", 0),
            And => ("and", -1),
            Or => ("or", 0),
            Xor => ("xor", 0),
            Min if update.ty.is_signed() => ("smin", i64::MAX >> (64 - update.ty.bits())),
            Min => ("umin", -1),
            Max if update.ty.is_signed() => ("smax", i64::MIN >> (64 - update.ty.bits())),
            Max => ("umax", 0),
            _ => return Ok(false),
        };
        self.pointers_of_all(inst, target)?;
        let all = self.splat(b);
        let none = self.constant(all.ty, neutral);
        let mask = self.mask_value();
        let all = self.select(&mask, &all, &none);
        let scalar = Ty { lanes: 0, ..all.ty };
        let suffix = all.ty.suffix();
        self.plan.declare(format!("declare {} @llvm.vector.reduce.{name}.{suffix}({})", scalar.text(), all.ty.text()));
        let one = self.set(
            scalar,
            format!("call {} @llvm.vector.reduce.{name}.{suffix}({} {})", scalar.text(), all.ty.text(), all.text),
        );
        let bits = self.running();
        let pointer = self.first_pointer(&bits);
        if update.alone {
            let old = self.load_memory(scalar, &pointer, update.ty.bytes());
            let new = match name {
                "add" | "and" | "or" | "xor" => self.binary(name, &old, &one),
                _ => self.intrinsic(name, &[&old, &one]),
            };
            self.store_memory(&new, &pointer, update.ty.bytes());
        } else {
            let host = update.host().ok_or_else(|| self.lacks(inst))?;
            self.line(format!("atomicrmw {host} ptr {pointer}, {} {} monotonic", scalar.text(), one.text));
        }
        Ok(true)
    }

    /// The function that updates memory for a mask of lanes.
    pub(super) fn update_function(&mut self, update: &Update, target: &Target, asked: bool) -> String {
        if target.is_one() && update.goes_on_in_a_register() {
            return self.one_place_function(update, asked);
        }
        self.lanes_function(update, asked)
    }

    /// The function that updates lane after lane: operands behind what was there, in `%values`.
    pub(super) fn lanes_function(&mut self, update: &Update, asked: bool) -> String {
        let lanes = self.lanes();
        let (width, bytes) = (update.ty.bits(), update.ty.bytes());
        let alone = if update.alone { "_alone" } else { "" };
        let name = format!("@{}{alone}{}", update.name(), if asked { "_old" } else { "" });
        let operand = |name: &str, at: u32| {
            format!(
                "  %i{name} = add i32 %lane, {}\n  %p{name} = getelementptr i{width}, ptr %values, i32 %i{name}\n  \
                 %{name} = load i{width}, ptr %p{name}\n",
                at * lanes
            )
        };
        let mut lane = operand("b", 1);
        if update.op == AtomicOp::Cas {
            lane += &operand("c", 2);
        }
        let compute = update.compute().unwrap_or_default();
        let (mut head, mut result) = ("head".to_owned(), "%old");
        if update.alone {
            lane += &format!(
                "  %old = load i{width}, ptr %place, align {bytes}\n{compute}  store i{width} %new, ptr %place, align {bytes}\n"
            );
        } else if update.op == AtomicOp::Cas {
            lane += &format!(
                "  %pair = cmpxchg ptr %place, i{width} %b, i{width} %c monotonic monotonic\n  \
                 %old = extractvalue {{ i{width}, i1 }} %pair, 0\n"
            );
        } else if let Some(host) = update.host() {
            lane += &format!("  %old = atomicrmw {host} ptr %place, i{width} %b monotonic\n");
        } else {
            lane += &format!(
                "  %seen = load atomic i{width}, ptr %place monotonic, align {bytes}\n  br label %again\nagain:\n  \
                 %old = phi i{width} [ %seen, %head ], [ %found, %again ]\n{compute}  \
                 %pair = cmpxchg ptr %place, i{width} %old, i{width} %new monotonic monotonic\n  \
                 %found = extractvalue {{ i{width}, i1 }} %pair, 0\n  %done = extractvalue {{ i{width}, i1 }} %pair, 1\n  \
                 br i1 %done, label %behind, label %again\nbehind:\n"
            );
            head = "behind".to_owned();
            result = "%old";
        }
        if asked {
            lane += &format!(
                "  %to = getelementptr i{width}, ptr %values, i32 %lane\n  store i{width} {result}, ptr %to\n"
            );
        }
        let (straight, start) = if update.alone && !asked && update.op != AtomicOp::Cas {
            (straight(&lane, lanes), "some")
        } else if update.alone {
            ("  br label %head\n".to_owned(), "0")
        } else {
            self.plan.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)".to_owned());
            (claimed(lanes), "claimed")
        };
        self.plan.declare(format!(
            "define internal void {name}(ptr %addresses, i32 %lanes, ptr %values) #2 {{\n{straight}head:\n  \
             %left = phi i32 [ %lanes, %{start} ], [ %rest, %{head} ]\n  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 true)\n  \
             %below = sub i32 %left, 1\n  %rest = and i32 %left, %below\n  %at = getelementptr i64, ptr %addresses, i32 %lane\n  \
             %place = load ptr, ptr %at\n{lane}  %go = icmp ne i32 %rest, 0\n  br i1 %go, label %head, label %end\nend:\n  ret void\n}}"
        ));
        self.plan.declare("declare i32 @llvm.cttz.i32(i32, i1)".to_owned());
        name
    }
}
