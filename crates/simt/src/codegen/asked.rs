//! Calls of the executor on ways that are seldom taken, through functions that keep all registers.
//!
//! A call as C has it spills what is alive in vectors, and LLVM's allocation of registers then looks for the best places to do so: it took most of the time of
//! compiling, with the square of a kernel's length, and what it found still loaded values again on ways that never call. A function of ours in between keeps all
//! registers of its caller instead (`no_caller_saved_registers`, which LLVM has for what handlers of interrupts call), so that such a call costs its caller
//! nothing where it is not made, and some forty stores and loads where it is.
//!
//! Such functions take words of 64 bits and pointers alone: of an argument that is a part of a register LLVM 19 has the callee use all of it, and the caller count
//! on the rest. And they give nothing back, but leave it in the context: where LLVM selects instructions in its fast way, the register of the answer is kept, too.

use super::context;
use super::flushing;
use super::function::{Val, Writer};
use super::names::Ty;
use super::plan::{Machine, Plan};

/// What is handed to a function that keeps registers.
pub(super) enum Argument<'a> {
    Pointer(&'a str),
    Number(u32),
    /// A word of 32 or 64 bits.
    Value(&'a Val),
}

/// A function of the executor that gives back a word.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    /// [`context::CHECK`]
    Check,
    /// The same for lanes whose addresses are so many bytes apart, of which the first one is given.
    CheckRow(i64),
    /// [`context::FIND`]
    Find,
    /// [`context::POLL`]
    Poll,
    /// [`context::STOP`]
    Stop,
}

impl Asked {
    fn name(self) -> String {
        match self {
            Asked::Check => "check".to_owned(),
            Asked::CheckRow(apart) => format!("check_row{apart}"),
            Asked::Find => "find".to_owned(),
            Asked::Poll => "poll".to_owned(),
            Asked::Stop => "stop".to_owned(),
        }
    }

    /// Where the context has its address.
    fn field(self) -> u32 {
        match self {
            Asked::Check | Asked::CheckRow(_) => context::CHECK,
            Asked::Find => context::FIND,
            Asked::Poll => context::POLL,
            Asked::Stop => context::STOP,
        }
    }

    /// Types behind the context, as the executor has them.
    fn parameters(self) -> &'static [&'static str] {
        match self {
            Asked::Check | Asked::CheckRow(_) | Asked::Stop => &["ptr", "i32", "i32", "i32"],
            Asked::Find => &["i64", "i32"],
            Asked::Poll => &[],
        }
    }

    /// The function that keeps registers.
    fn declare(self, plan: &Plan<'_>) {
        let (name, field) = (self.name(), self.field());
        let (mut parameters, mut arguments, mut before) = (String::new(), String::new(), String::new());
        for (at, ty) in self.parameters().iter().enumerate() {
            if *ty == "i32" {
                parameters += &format!(", i64 %i{at}");
                before += &format!("  %a{at} = trunc i64 %i{at} to i32\n");
            } else {
                parameters += &format!(", {ty} %a{at}");
            }
            arguments += &format!(", {ty} %a{at}");
        }
        if let Asked::CheckRow(apart) = self {
            let vector = Ty::int(64, plan.info.gangs.width);
            let (ty, steps) = (vector.text(), vector.lanes((0..i64::from(vector.lanes)).map(|lane| lane * apart)));
            parameters += ", i64 %first";
            before += &format!(
                "  %one = insertelement {ty} poison, i64 %first, i64 0\n  \
                 %same = shufflevector {ty} %one, {ty} poison, <{} x i32> zeroinitializer\n  \
                 %all = add {ty} %same, {steps}\n  store {ty} %all, ptr %a0, align 64\n",
                vector.lanes
            );
        }
        if plan.machine().x86 {
            // What is called may use SSE's instructions, which are slow where the upper parts of registers are in use.
            before += "  call void @llvm.x86.avx.vzeroupper()\n";
            plan.declare("declare void @llvm.x86.avx.vzeroupper()".to_owned());
        }
        let (mode, behind) = flushing::around(plan);
        before += &mode;
        plan.declare(format!(
            "define internal void @{name}(ptr %context{parameters}) #5 {{\n  %at = getelementptr i8, ptr %context, i64 {field}\n  \
             %function = load ptr, ptr %at, !invariant.load !0\n{before}  \
             %answer = call i32 %function(ptr %context{arguments})\n{behind}  \
             %to = getelementptr i8, ptr %context, i64 {}\n  store i32 %answer, ptr %to\n  ret void\n}}",
            context::ANSWER
        ));
    }
}

/// The attributes of functions that keep all registers, behind those of every function: `tuned` without features, and these.
pub(super) fn attributes(machine: Machine, tuned: &str, features: &str) -> String {
    if machine.x86 {
        // At its end LLVM would clear the upper parts of registers that the function has just filled again.
        format!("noinline {tuned} \"target-features\"=\"{features},-vzeroupper\" \"no_caller_saved_registers\"")
    } else {
        format!("noinline {tuned} \"target-features\"=\"{features}\"")
    }
}

impl Writer<'_> {
    /// Whether the executor answers other than 0, which is yes.
    pub(super) fn ask_executor(&mut self, asked: Asked, arguments: &[Argument<'_>]) -> Val {
        asked.declare(self.plan);
        let arguments: Vec<String> = arguments.iter().map(|argument| self.whole_register(argument)).collect();
        let word = Ty::int(32, 0);
        self.line(format!("call void @{}(ptr %context{})", asked.name(), arguments.concat()));
        let place = format!("%answer{}", self.fresh());
        self.line(format!("{place} = getelementptr i8, ptr %context, i64 {}", context::ANSWER));
        let answer = self.set(word, format!("load i32, ptr {place}"));
        let zero = self.constant(word, 0);
        self.compare("ne", &answer, &zero)
    }

    /// An argument of a function that keeps registers, in a register of its own.
    pub(super) fn whole_register(&mut self, argument: &Argument<'_>) -> String {
        match argument {
            Argument::Pointer(pointer) => format!(", ptr {pointer}"),
            Argument::Number(number) => format!(", i64 {number}"),
            Argument::Value(value) => {
                let wide = self.resize(value, 64, false);
                format!(", i64 {}", wide.text)
            }
        }
    }
}
