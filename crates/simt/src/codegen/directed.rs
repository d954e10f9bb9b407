//! Results rounded in a direction (`.rz`, `.rm`, `.rp`; PTX ISA 9.7.3), and what rounding to nearest loses.
//!
//! Arithmetic has the processor round: instructions of AVX-512 that name a direction, or a function around which the processor's mode is another. Conversions to
//! narrower types round to nearest and go one place on where the exact number lies beyond, in the direction that is asked for.

use warploom_ptx::ir::{Inst, Rounding};

use super::function::{Val, Writer};
use super::mode;
use super::names::{Element, Ty};

/// The bits of MXCSR that choose a direction.
const CONTROL: u32 = 0x6000;

/// The directions in immediate operands of AVX-512, where 8 keeps exceptions quiet.
const DOWN: u32 = 9;
const UP: u32 = 10;
const INWARD: u32 = 11;

/// The direction for MXCSR, and in immediate operands of AVX-512.
fn direction(rnd: Rounding) -> Option<(u32, u32)> {
    Some(match rnd {
        Rounding::Rm => (0x2000, DOWN),
        Rounding::Rp => (0x4000, UP),
        Rounding::Rz => (0x6000, INWARD),
        _ => return None,
    })
}

impl Writer<'_> {
    /// An operation (`add`, `sub`, `mul`, `div`, `sqrt`, `fma`) in a direction.
    pub(super) fn directed(
        &mut self,
        inst: &Inst,
        name: &str,
        rnd: Rounding,
        operands: &[&Val],
    ) -> Result<Val, String> {
        let ty = operands[0].ty;
        let Some((mode, immediate)) = direction(rnd).filter(|_| self.plan.machine().x86) else {
            return Err(self.lacks(inst));
        };
        if let Some(register) = self.register_of_directions(ty) {
            return Ok(self.embedded(name, immediate, operands, register));
        }
        Ok(self.in_mode(name, &format!("{name}_{rnd}"), (CONTROL, mode), operands))
    }

    /// An operation in a function of its own, around which the bits of the processor's mode are others.
    pub(super) fn in_mode(&mut self, name: &str, function: &str, (clear, set): (u32, u32), operands: &[&Val]) -> Val {
        let ty = operands[0].ty;
        let function = format!("@{function}_{}", ty.suffix());
        let text = ty.text();
        let listed = |before: &str| {
            let listed: Vec<String> = (0..operands.len()).map(|at| format!("{before}{text} %o{at}")).collect();
            listed.join(", ")
        };
        let llvm = if name == "sqrt" || name == "fma" { name.to_owned() } else { format!("f{name}") };
        let llvm = format!("@llvm.experimental.constrained.{llvm}.{}", ty.suffix());
        let types = vec![text.clone(); operands.len()].join(", ");
        self.plan.declare(format!("declare {text} {llvm}({types}, metadata, metadata)"));
        let (before, behind) = mode::changed(self.plan, clear, set);
        self.plan.declare(format!(
            "define internal {text} {function}({}) #3 {{\n{before}  \
             %value = call {text} {llvm}({}, metadata !\"round.dynamic\", metadata !\"fpexcept.strict\") #4\n{behind}  ret {text} %value\n}}",
            listed(""),
            listed("")
        ));
        let given: Vec<String> = operands.iter().map(|value| format!("{text} {}", value.text)).collect();
        self.set(ty, format!("call {text} {function}({})", given.join(", ")))
    }

    /// Lanes of the registers whose instructions name a direction, if values of such a type fill one.
    fn register_of_directions(&self, ty: Ty) -> Option<u32> {
        let register = 512 / ty.element.bits();
        (self.plan.machine().wide_vectors && ty.lanes >= register).then_some(register)
    }

    /// In registers of 512 bits, by instructions that name the direction.
    fn embedded(&mut self, name: &str, immediate: u32, operands: &[&Val], register: u32) -> Val {
        let kind = if operands[0].ty.element == Element::F32 { "ps" } else { "pd" };
        let instruction = if name == "fma" { "vfmadd" } else { name };
        self.by_registers(&format!("{instruction}.{kind}"), immediate, operands, register)
    }

    /// An instruction of AVX-512's that has an immediate operand, for as many registers of so many lanes as there are.
    pub(super) fn by_registers(&mut self, instruction: &str, immediate: u32, operands: &[&Val], lanes: u32) -> Val {
        let ty = operands[0].ty;
        let one = Ty { lanes, ..ty };
        let llvm = format!("@llvm.x86.avx512.{instruction}.512");
        let types = vec![one.text(); operands.len()].join(", ");
        self.plan.declare(format!("declare {} {llvm}({types}, i32)", one.text()));
        let mut parts = Vec::new();
        for first in (0..ty.lanes).step_by(lanes as usize) {
            let given: Vec<String> = operands
                .iter()
                .map(|value| {
                    let part = self.shuffled(value, (first..first + lanes).map(i64::from));
                    format!("{} {}", one.text(), part.text)
                })
                .collect();
            parts.push(self.set(one, format!("call {} {llvm}({}, i32 {immediate})", one.text(), given.join(", "))));
        }
        self.joined_in_pairs(parts)
    }

    pub(super) fn behind_each_other(&mut self, a: &Val, b: &Val) -> Val {
        self.of_two(a, b, 0..2 * i64::from(a.ty.lanes))
    }

    /// Vectors behind each other: a power of two of them.
    pub(super) fn joined_in_pairs(&mut self, mut parts: Vec<Val>) -> Val {
        while parts.len() > 1 {
            parts = parts.chunks(2).map(|two| self.behind_each_other(&two[0], &two[1])).collect();
        }
        parts.swap_remove(0)
    }

    /// A sum rounded to nearest, and what it lacks (by Knuth's two-sum); no number where the sum is none.
    fn sum_and_loss(&mut self, a: &Val, b: &Val) -> (Val, Val) {
        let sum = self.binary("fadd", a, b);
        let b_seen = self.binary("fsub", &sum, a);
        let a_seen = self.binary("fsub", &sum, &b_seen);
        let (of_a, of_b) = (self.binary("fsub", a, &a_seen), self.binary("fsub", b, &b_seen));
        let lost = self.binary("fadd", &of_a, &of_b);
        (sum, lost)
    }

    /// The nearest `.f32` of an `.f64`, and what it lacks.
    pub(super) fn single_and_loss(&mut self, a: &Val) -> (Val, Val) {
        let single = self.cast("fptrunc", a, Element::F32);
        let back = self.cast("fpext", &single, Element::F64);
        let rest = self.binary("fsub", a, &back);
        (single, rest)
    }

    /// An `.f64` as an `.f32` that is [made odd](Self::made_odd).
    pub(super) fn odd_single(&mut self, a: &Val) -> Val {
        let (single, lost) = self.single_and_loss(a);
        self.made_odd(&single, &lost)
    }

    /// Where what a number lacks lies from it, in its last place: 1 away from zero, -1 toward zero; 0 where it lacks nothing. By arithmetic, as comparisons of
    /// numbers of several sizes make masks that have to be spread over each other's lanes.
    fn step_to_exact(&mut self, bits: &Val, lost: &Val) -> Val {
        let width = bits.ty.element.bits();
        let sign = self.bits_of_float(lost);
        let below = self.constant(sign.ty, i64::from(sign.ty.element.bits() - width));
        let sign = self.binary("lshr", &sign, &below);
        let sign = self.resize(&sign, width, false);
        let apart = self.binary("xor", &sign, bits);
        let (all, one, zero) =
            (self.constant(bits.ty, i64::from(width) - 1), self.constant(bits.ty, 1), self.constant(bits.ty, 0));
        let toward = self.binary("ashr", &apart, &all);
        let step = self.binary("or", &toward, &one);
        let nothing = self.constant(lost.ty, 0);
        let lacks = self.compare("one", lost, &nothing);
        self.select(&lacks, &step, &zero)
    }

    /// A number whose last place is odd where it lacks something: it can be rounded once more, in any direction, to two bits fewer.
    fn made_odd(&mut self, a: &Val, lost: &Val) -> Val {
        let bits = self.bits_of_float(a);
        let step = self.step_to_exact(&bits, lost);
        // Both numbers next to an even one are odd.
        let one = self.constant(bits.ty, 1);
        let last = self.binary("and", &bits, &one);
        let even = self.binary("sub", &last, &one);
        let step = self.binary("and", &step, &even);
        let odd = self.binary("add", &bits, &step);
        self.cast("bitcast", &odd, a.ty.element)
    }

    /// The sum of two numbers, [made odd](Self::made_odd).
    pub(super) fn odd_sum(&mut self, a: &Val, b: &Val) -> Val {
        let Some(register) = self.register_of_directions(a.ty) else {
            let (sum, lost) = self.sum_and_loss(a, b);
            return self.made_odd(&sum, &lost);
        };
        // Of the two numbers between which it lies, one is odd, and the one nearer to zero if the other is even.
        let [down, up, inward] = [DOWN, UP, INWARD].map(|way| self.embedded("add", way, &[a, b], register));
        let bits = self.bits_of_float(&inward);
        let lacks = self.compare("one", &down, &up);
        let (one, zero) = (self.constant(bits.ty, 1), self.constant(bits.ty, 0));
        let odd = self.select(&lacks, &one, &zero);
        let odd = self.binary("or", &bits, &odd);
        self.cast("bitcast", &odd, a.ty.element)
    }

    /// Bits of a number that was rounded to nearest, rounded in a direction instead.
    pub(super) fn turned(&mut self, bits: &Val, lost: &Val, rnd: Rounding) -> Val {
        let zero = self.constant(bits.ty, 0);
        let step = self.step_to_exact(bits, lost);
        let (inward, outward) = (self.intrinsic("smin", &[&step, &zero]), self.intrinsic("smax", &[&step, &zero]));
        let negative = self.compare("slt", bits, &zero);
        let step = match rnd {
            Rounding::Rz => inward,
            // Negative numbers go outward, others inward.
            Rounding::Rm => self.select(&negative, &outward, &inward),
            Rounding::Rp => self.select(&negative, &inward, &outward),
            _ => return bits.clone(),
        };
        self.binary("add", bits, &step)
    }
}
