//! Updates of `.f16`, `.bf16` and their pairs, and of several elements behind each other (PTX ISA 9.7.13.5, 9.7.13.6).
//!
//! A sum of halves is exact enough in `.f32` that rounding it once more gives what rounding once would.

use std::fmt::Write;

use warploom_ptx::ir::{AtomicOp, Inst, Op, Operand, ScalarType, Space};

use super::atomic::Update;
use super::function::Writer;
use super::memory::Target;
use super::names::{Element, Ty};
use super::window;

/// Whether a number is a half, or a pair of them; then how many there are, and whether they are `.bf16`.
pub(super) fn halves(ty: ScalarType) -> Option<(u32, bool)> {
    Some(match ty {
        ScalarType::F16 => (1, false),
        ScalarType::F16x2 => (2, false),
        ScalarType::Bf16 => (1, true),
        ScalarType::Bf16x2 => (2, true),
        _ => return None,
    })
}

/// Text that makes `%new` of `%old` and `%b`, half by half.
pub(super) fn computed(op: AtomicOp, count: u32, bf: bool) -> Option<String> {
    let bits = 16 * count;
    let mut out = String::new();
    for part in 0..count {
        for (name, from) in [("o", "%old"), ("b", "%b")] {
            if count == 1 {
                let _ = writeln!(out, "  %h{name}{part} = add i16 {from}, 0");
            } else {
                let _ = writeln!(out, "  %g{name}{part} = lshr i{bits} {from}, {}", 16 * part);
                let _ = writeln!(out, "  %h{name}{part} = trunc i{bits} %g{name}{part} to i16");
            }
            if bf {
                let _ = writeln!(out, "  %w{name}{part} = zext i16 %h{name}{part} to i32");
                let _ = writeln!(out, "  %s{name}{part} = shl i32 %w{name}{part}, 16");
                let _ = writeln!(out, "  %f{name}{part} = bitcast i32 %s{name}{part} to float");
            } else {
                let _ = writeln!(out, "  %w{name}{part} = bitcast i16 %h{name}{part} to half");
                let _ = writeln!(out, "  %f{name}{part} = fpext half %w{name}{part} to float");
            }
        }
        match op {
            AtomicOp::Add => out += &sum(part, bf),
            AtomicOp::Min => out += &extremum(part, "olt", "or"),
            AtomicOp::Max => out += &extremum(part, "ogt", "and"),
            _ => return None,
        }
    }
    if count == 1 {
        out += "  %new = add i16 %r0, 0\n";
    } else {
        let _ = writeln!(out, "  %z0 = zext i16 %r0 to i32\n  %z1 = zext i16 %r1 to i32");
        let _ = writeln!(out, "  %up = shl i32 %z1, 16\n  %new = or i32 %z0, %up");
    }
    Some(out)
}

/// `%r` of a part, from its numbers `%fo` and `%fb`.
fn sum(n: u32, bf: bool) -> String {
    let mut out = format!("  %t{n} = fadd float %fo{n}, %fb{n}\n  %nan{n} = fcmp uno float %t{n}, %t{n}\n");
    if bf {
        // To the nearest, of two the even one.
        out += &format!(
            "  %i{n} = bitcast float %t{n} to i32\n  %l{n} = lshr i32 %i{n}, 16\n  %e{n} = and i32 %l{n}, 1\n  \
             %a{n} = add i32 %e{n}, 32767\n  %k{n} = add i32 %i{n}, %a{n}\n  %u{n} = lshr i32 %k{n}, 16\n  \
             %q{n} = trunc i32 %u{n} to i16\n"
        );
    } else {
        out += &format!("  %y{n} = fptrunc float %t{n} to half\n  %q{n} = bitcast half %y{n} to i16\n");
    }
    out + &format!("  %r{n} = select i1 %nan{n}, i16 32767, i16 %q{n}\n")
}

/// The operand that is a number, and of two zeros the one with the sign.
fn extremum(n: u32, first: &str, zero: &str) -> String {
    format!(
        "  %c{n} = fcmp {first} float %fo{n}, %fb{n}\n  %x{n} = select i1 %c{n}, i16 %ho{n}, i16 %hb{n}\n  \
         %eq{n} = fcmp oeq float %fo{n}, %fb{n}\n  %both{n} = {zero} i16 %ho{n}, %hb{n}\n  \
         %y{n} = select i1 %eq{n}, i16 %both{n}, i16 %x{n}\n  %nb{n} = fcmp uno float %fb{n}, %fb{n}\n  \
         %v{n} = select i1 %nb{n}, i16 %ho{n}, i16 %y{n}\n  %na{n} = fcmp uno float %fo{n}, %fo{n}\n  \
         %none{n} = and i1 %na{n}, %nb{n}\n  %r{n} = select i1 %none{n}, i16 32767, i16 %v{n}\n"
    )
}

impl Writer<'_> {
    /// A sum in `.f32` at generic addresses: only on global memory do subnormal numbers become zero.
    pub(super) fn sum_by_space(
        &mut self,
        inst: &Inst,
        update: &Update,
        target: &Target,
        asked: bool,
    ) -> Result<(), String> {
        let all = self.all_addresses(inst, target)?;
        let by = self.constant(all.ty, 32);
        let window = self.binary("lshr", &all, &by);
        let shared = self.constant(all.ty, window::SHARED >> 32);
        let is = self.compare("eq", &window, &shared);
        let (shared, global) = self.divide(&is);
        for (mask, alone) in [(shared, true), (global, false)] {
            let (some, on) = (self.fresh(), self.fresh());
            let any = self.any(&mask);
            self.line(format!("br i1 {}, label %L{some}, label %L{on}", any.text));
            self.label(&format!("L{some}"));
            let bits = self.bits_of(&mask);
            let bits = self.resize(&bits, 32, false);
            let name = self.update_function(&Update { alone, ..*update }, target, asked);
            self.line(format!("call void {name}(ptr %addresses, i32 {}, ptr %scratch)", bits.text));
            self.line(format!("br label %L{on}"));
            self.label(&format!("L{on}"));
        }
        Ok(())
    }

    /// Updates of several elements: one after the other, each an update of its own.
    pub(super) fn atom_elements(&mut self, inst: &Inst, update: &Update, target: &Target) -> Result<(), String> {
        let Op::Atom { ty, dst, b, space, .. } = &inst.op else { return Err(self.lacks(inst)) };
        self.pointers_of_all(inst, target)?;
        let (lanes, bytes) = (self.lanes(), ty.bytes());
        let asked = dst.is_some();
        let name = self.lanes_function(update, asked);
        let places = Ty::int(64, lanes);
        for (at, operand) in b.iter().enumerate() {
            if at > 0 {
                let before = self.load(places, "%addresses");
                let by = self.constant(places, i64::from(bytes));
                let behind = self.binary("add", &before, &by);
                self.store_for_lanes(&behind, "%addresses");
            }
            let operand: Operand = *operand;
            let value = self.operand(operand, *ty);
            let value = self.splat(&value);
            let place = self.offset("%scratch", lanes * bytes);
            self.line(format!("store {} {}, ptr {place}", value.ty.text(), value.text));
            if *space == Space::Generic && *ty == ScalarType::F32 {
                self.sum_by_space(inst, update, target, asked)?;
            } else {
                let bits = self.running();
                self.line(format!("call void {name}(ptr %addresses, i32 {}, ptr %scratch)", bits.text));
            }
            if asked {
                let old = self.load(Ty { element: Element::bits_of(*ty), lanes }, "%scratch");
                self.write(inst, at, &old, false)?;
            }
        }
        Ok(())
    }
}
