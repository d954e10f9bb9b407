//! One region as one function: what is written so far, and the instructions that all others are made of.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use warploom_ptx::ir::Body;

use super::full::Sides;
use super::guess::{Guessed, Sure};
use super::known::Known;
use super::names::{Element, Ty};
use super::plan::Plan;
use super::step::Factors;
use crate::values::ValueId;

/// A value in LLVM's text, with its type.
#[derive(Clone, Debug)]
pub(super) struct Val {
    pub(super) ty: Ty,
    pub(super) text: String,
}

impl Val {
    /// Whether it is one number that is written as such.
    fn is_constant(&self) -> bool {
        let number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit() || first == '-');
        number(&self.text) || ["true", "false"].contains(&self.text.as_str())
    }
}

/// Writes one region.
pub(super) struct Writer<'p> {
    pub(super) plan: &'p Plan<'p>,
    /// The body of the function so far.
    pub(super) out: String,
    pub(super) known: Known,
    pub(super) next: u32,
    /// Values that have a place in this function.
    pub(super) used: BTreeSet<ValueId>,
    /// The mask of the block that is written.
    pub(super) mask: String,
    /// Whether all lanes that have not ended run it.
    pub(super) together: bool,
    pub(super) values: &'p [Option<ValueId>],
    pub(super) inst: u32,
    /// Operands are what the first lane has.
    pub(super) first_lane: bool,
    /// The guess that the instruction has found out about.
    pub(super) guessed: Option<Guessed>,
    pub(super) sure: Sure,
    /// More places that the function needs.
    pub(super) places: Vec<(String, Ty)>,
    /// Those for addresses that are looked at before they are written.
    pub(super) begun: Vec<String>,
    /// Registers that steps hand over at most.
    pub(super) steps: u32,
    /// All lanes of the gang run what is written.
    pub(super) full: bool,
    /// Instructions at which full code is left for masked code.
    pub(super) resumes: BTreeSet<u32>,
    /// Ends of blocks that masked code is entered at.
    pub(super) end_resumes: BTreeSet<u32>,
    /// Of predicates that full code has written since the block began, by gang of the team.
    pub(super) sides: BTreeMap<(u32, ValueId), Sides>,
    /// Instructions of the block that are written already.
    pub(super) written_before: BTreeSet<u32>,
    /// Instructions of the block that write predicates, which full code has not written yet.
    pub(super) deferred: Vec<u32>,
    /// The instruction at which a team is left, if it is another one than the one that is written.
    pub(super) leaves_at: Option<u32>,
    /// The region that what is written begins with, if it runs no other.
    pub(super) began: Option<usize>,
    /// Gangs that run together in what is written; 0 if it is one by itself.
    pub(super) team: u32,
    /// The one of them that is written for.
    pub(super) member: u32,
    /// By gang of the team, which of its lanes run the arm that is written, if not all do; none where no lane does.
    pub(super) arm_masks: Vec<Option<String>>,
    /// What gangs of the team have stored that others load, by the instruction and the gang.
    pub(super) stored: BTreeMap<(u32, u32), Val>,
    /// Where words are that were loaded with others' by an instruction before, by the instruction and the gang of the team.
    pub(super) quads: BTreeMap<(u32, u32), String>,
    /// Stores that have been made with one before, by the instruction and the gang of the team.
    pub(super) stored_with: BTreeSet<(u32, u32)>,
    /// Factors of products of matrices that the executor has.
    pub(super) factors: Factors,
    /// What is asked for is asked of all gangs of the team.
    pub(super) whole: bool,
    /// Accesses of the instruction are known to be allowed.
    pub(super) checked: bool,
    /// What is written goes on from wherever a team was left, behind barriers too.
    pub(super) resumed: bool,
    /// What could not be written, where there was no other way to say so.
    pub(super) refused: Option<String>,
}

impl<'p> Writer<'p> {
    pub(super) fn new(plan: &'p Plan<'p>) -> Writer<'p> {
        Writer {
            plan,
            out: String::new(),
            known: Known::default(),
            next: 0,
            used: BTreeSet::new(),
            mask: String::new(),
            together: true,
            values: &[],
            inst: 0,
            first_lane: false,
            guessed: None,
            sure: Sure::default(),
            places: Vec::new(),
            begun: Vec::new(),
            steps: 0,
            full: false,
            resumes: BTreeSet::new(),
            end_resumes: BTreeSet::new(),
            sides: BTreeMap::new(),
            written_before: BTreeSet::new(),
            deferred: Vec::new(),
            leaves_at: None,
            began: None,
            team: 0,
            member: 0,
            arm_masks: Vec::new(),
            stored: BTreeMap::new(),
            quads: BTreeMap::new(),
            stored_with: BTreeSet::new(),
            factors: Factors::default(),
            whole: false,
            checked: false,
            resumed: false,
            refused: None,
        }
    }

    pub(super) fn lanes(&self) -> u32 {
        self.plan.info.gangs.width
    }

    pub(super) fn body(&self) -> &'p Body {
        self.plan.body
    }

    pub(super) fn line(&mut self, text: impl AsRef<str>) {
        self.known.stored(text.as_ref());
        self.out.push_str("  ");
        self.out.push_str(text.as_ref());
        self.out.push('\n');
    }

    pub(super) fn label(&mut self, name: &str) {
        self.known.clear();
        let _ = writeln!(self.out, "{name}:");
    }

    pub(super) fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// What `write` writes, as a text of its own: a function beside the kernel's.
    pub(super) fn written_apart(&mut self, write: impl FnOnce(&mut Self)) -> String {
        let outside = (std::mem::take(&mut self.out), std::mem::take(&mut self.next), std::mem::take(&mut self.known));
        write(self);
        let text = self.take_text();
        (self.out, self.next, self.known) = outside;
        text
    }

    /// What has been written so far, which is put together with something else.
    pub(super) fn take_text(&mut self) -> String {
        self.known.clear();
        std::mem::take(&mut self.out)
    }

    /// An instruction with a result.
    pub(super) fn set(&mut self, ty: Ty, text: impl AsRef<str>) -> Val {
        let text = text.as_ref();
        if let Some(name) = self.known.result(text) {
            return Val { ty, text: name.clone() };
        }
        let name = format!("%t{}", self.fresh());
        self.line(format!("{name} = {text}"));
        self.known.computed(text, &name);
        Val { ty, text: name }
    }

    pub(super) fn binary(&mut self, op: &str, a: &Val, b: &Val) -> Val {
        debug_assert_eq!(a.ty, b.ty);
        if ["add", "sub", "or", "xor", "shl", "lshr", "ashr"].contains(&op) && b.text == b.ty.constant(0) {
            return a.clone();
        }
        self.set(a.ty, format!("{op} {} {}, {}", a.ty.text(), a.text, b.text))
    }

    pub(super) fn compare(&mut self, op: &str, a: &Val, b: &Val) -> Val {
        let kind = if matches!(a.ty.element, Element::Int(_)) { "icmp" } else { "fcmp" };
        self.set(a.ty.with(Element::Int(1)), format!("{kind} {op} {} {}, {}", a.ty.text(), a.text, b.text))
    }

    pub(super) fn select(&mut self, condition: &Val, a: &Val, b: &Val) -> Val {
        let text = format!(
            "select {} {}, {} {}, {} {}",
            condition.ty.text(),
            condition.text,
            a.ty.text(),
            a.text,
            b.ty.text(),
            b.text
        );
        self.set(a.ty, text)
    }

    /// `trunc`, `zext`, `bitcast` and the like.
    pub(super) fn cast(&mut self, op: &str, a: &Val, element: Element) -> Val {
        if a.ty.element == element {
            return a.clone();
        }
        let ty = a.ty.with(element);
        self.set(ty, format!("{op} {} {} to {}", a.ty.text(), a.text, ty.text()))
    }

    /// To so many bits, new ones being 0 or copies of the sign.
    pub(super) fn resize(&mut self, a: &Val, bits: u32, signed: bool) -> Val {
        let op = match a.ty.element.bits() {
            from if from > bits => "trunc",
            _ if signed => "sext",
            _ => "zext",
        };
        self.cast(op, a, Element::Int(bits))
    }

    /// Loads what kernels access: nothing else lies there.
    pub(super) fn load_memory(&mut self, ty: Ty, pointer: &str, align: u32) -> Val {
        self.set(ty, format!("load {}, ptr {pointer}, align {align}, !tbaa !7", ty.text()))
    }

    pub(super) fn store_memory(&mut self, value: &Val, pointer: &str, align: u32) {
        self.line(format!("store {} {}, ptr {pointer}, align {align}, !tbaa !7", value.ty.text(), value.text));
    }

    /// A call of one of LLVM's intrinsics, all of whose operands have the type of the result.
    pub(super) fn intrinsic(&mut self, name: &str, arguments: &[&Val]) -> Val {
        let ty = arguments[0].ty;
        let name = format!("@llvm.{name}.{}", ty.suffix());
        let types = vec![ty.text(); arguments.len()].join(", ");
        self.plan.declare(format!("declare {} {name}({types})", ty.text()));
        let arguments: Vec<String> =
            arguments.iter().map(|value| format!("{} {}", value.ty.text(), value.text)).collect();
        self.set(ty, format!("call {} {name}({})", ty.text(), arguments.join(", ")))
    }

    pub(super) fn constant(&self, ty: Ty, number: i64) -> Val {
        Val { ty, text: ty.constant(number) }
    }

    pub(super) fn load(&mut self, ty: Ty, address: &str) -> Val {
        if let Some(held) = self.known.held(address).filter(|held| held.ty == ty) {
            return held.clone();
        }
        let value = self.set(ty, format!("load {}, ptr {address}", ty.text()));
        self.known.holds(address, &value);
        value
    }

    pub(super) fn store(&mut self, value: &Val, address: &str) {
        self.line(format!("store {} {}, ptr {address}", value.ty.text(), value.text));
        self.known.holds(address, value);
    }

    /// The address of a field of the context.
    pub(super) fn field(&mut self, offset: u32) -> String {
        self.set(Ty::int(64, 0), format!("getelementptr i8, ptr %context, i64 {offset}")).text
    }

    pub(super) fn pointer(&mut self, offset: u32) -> String {
        let at = self.field(offset);
        // The context does not change while the code runs.
        self.set(Ty::int(64, 0), format!("load ptr, ptr {at}, !invariant.load !0")).text
    }

    /// Pointers to the host's addresses.
    pub(super) fn at_address(&mut self, address: &Val) -> Val {
        let pointer = match address.ty.lanes {
            0 => "ptr".to_owned(),
            lanes => format!("<{lanes} x ptr>"),
        };
        self.set(address.ty, format!("inttoptr {} {} to {pointer}", address.ty.text(), address.text))
    }

    pub(super) fn splat(&mut self, value: &Val) -> Val {
        if value.ty.lanes != 0 {
            return value.clone();
        }
        let ty = Ty { lanes: self.lanes(), ..value.ty };
        let (element, lanes) = (value.ty.text(), self.lanes());
        if value.is_constant() {
            return Val { ty, text: format!("splat ({element} {})", value.text) };
        }
        let first = self.set(ty, format!("insertelement {} poison, {element} {}, i64 0", ty.text(), value.text));
        self.set(
            ty,
            format!("shufflevector {0} {1}, {0} poison, <{lanes} x i32> zeroinitializer", ty.text(), first.text),
        )
    }

    /// A mask as one number, a bit for each lane.
    pub(super) fn bits_of(&mut self, mask: &str) -> Val {
        let lanes = self.lanes();
        self.set(Ty::int(lanes, 0), format!("bitcast <{lanes} x i1> {mask} to i{lanes}"))
    }

    /// The mask of the lanes that run, as 32 bits.
    pub(super) fn running(&mut self) -> Val {
        let mask = self.mask.clone();
        let bits = self.bits_of(&mask);
        self.resize(&bits, 32, false)
    }

    /// Whether any lane of a mask is on.
    pub(super) fn any(&mut self, mask: &str) -> Val {
        let bits = self.bits_of(mask);
        let zero = self.constant(bits.ty, 0);
        self.compare("ne", &bits, &zero)
    }

    /// Whether what is written is known to be for all lanes.
    pub(super) fn is_for_all_lanes(&self) -> bool {
        self.mask == self.constant(self.mask_type(), 1).text
    }

    pub(super) fn mask_type(&self) -> Ty {
        Ty::int(1, self.lanes())
    }

    pub(super) fn mask_value(&self) -> Val {
        Val { ty: self.mask_type(), text: self.mask.clone() }
    }
}
