//! The whole text of a kernel: functions of regions, what runs them for all gangs, tables, declarations.

use std::fmt;

use warploom_ptx::ir::{Space, Step};

use super::asked;
use super::function::Writer;
use super::outcome;
use super::places::Turns;
use super::plan::{Machine, Plan};
use super::stop::Stop;
use super::team::{Point, Teams};
use crate::access::AccessKind;
use crate::barrier::Region;
use crate::gang::Gangs;
use crate::info::{KernelInfo, analyze_apart};

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
    /// Where it says that it goes.
    pub space: Space,
    /// Bytes of each lane.
    pub bytes: u32,
    /// Bytes that are there from the first address on which is held against the table.
    pub need: u64,
    /// What it adds may be kept back.
    pub kept_back: bool,
    /// What it stores may go past the caches.
    pub nontemporal: bool,
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
    /// Bytes of local memory of a thread, and from one thread to the next.
    pub local: [u32; 2],
    /// Instructions that the executor runs, by their number.
    pub steps: Vec<Step>,
    /// Places that end the grid, by their number.
    pub stops: Vec<Stop>,
    /// Its lanes go their own ways: then its code is called in another way, for one group of lanes after the other.
    pub turns: Option<Turns>,
}

/// To so many bytes frames are aligned.
pub const FRAME_ALIGN: u32 = 256;

/// Bytes of text beyond which gangs are no team: well below where LLVM is asked to be quick.
const LONGEST: usize = 3 << 19;

/// The processor that code is for.
#[derive(Clone, Copy, Debug)]
pub struct Processor<'p> {
    /// What LLVM calls it.
    pub name: &'p str,
    /// What it has, as LLVM says that.
    pub features: &'p str,
    /// Rows that a loop comes to by a grid's step are worth fetching some trips ahead: AMD's processors gain by it, Intel's lose
    /// (docs/performance.md).
    pub fetches_rows: bool,
}

/// Writes a kernel for LLVM. `cpu` and `features` are what LLVM calls the processor and what it has.
///
/// # Errors
/// The first thing in it that is not covered.
pub fn compile(info: &KernelInfo<'_>, cpu: &str, features: &str) -> Result<Compiled, Declined> {
    compile_as(Style::Chosen, info, &Processor { name: cpu, features, fetches_rows: cpu.starts_with("znver") })
}

/// How gangs run: each style gives the same results, and most kernels have several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Style {
    /// As it pays.
    #[default]
    Chosen,
    /// Each by itself, lanes in step.
    Gangs,
    /// Together wherever they can.
    Teams,
    /// Lanes go their own ways.
    Apart,
}

/// [`compile`] in one style, to test them all.
///
/// # Errors
/// The same; teams that there cannot be are gangs.
pub fn compile_as(style: Style, info: &KernelInfo<'_>, processor: &Processor<'_>) -> Result<Compiled, Declined> {
    let (machine, cpu, features) = (Machine::new(processor), processor.name, processor.features);
    // What LLVM calls slow are processors of one maker: loads one by one are no faster there.
    let slow = machine.x86 && !machine.wide_vectors;
    let features = if slow { format!("{features},+fast-gather") } else { features.to_owned() };
    let written = |teams: Teams| {
        let plan = Plan::new(info, machine, teams)?;
        let text = functions(&plan)?;
        if plan.team() > 0 && text.len() > LONGEST {
            return Err("too long for a team".to_owned());
        }
        let text = text + &cta(&plan);
        Ok((plan, text))
    };
    // Not everything is written for teams.
    let together = match style {
        Style::Chosen => written(Teams::WherePaid).or_else(|_: String| written(Teams::Never)),
        Style::Teams => written(Teams::Always).or_else(|_: String| written(Teams::Never)),
        Style::Gangs => written(Teams::Never),
        Style::Apart => Err("its lanes go their own ways".to_owned()),
    };
    let Err(why) = together else {
        let (plan, functions) = together.map_err(Declined)?;
        return Ok(whole(&plan, &functions, cpu, &features));
    };
    // What is not known to be together may go its own ways, a warp as a gang.
    let warps = Gangs::new(info.gangs.cta, 32).map_err(Declined)?;
    let apart = analyze_apart(info.module, info.kernel, warps).ok_or(Declined(why))?;
    let plan = Plan::apart(&apart, machine).map_err(Declined)?;
    let text = Writer::new(&plan).groups().map_err(Declined)?;
    Ok(whole(&plan, &text, cpu, &features))
}

/// The module of what is written of a plan.
fn whole(plan: &Plan<'_>, functions: &str, cpu: &str, features: &str) -> Compiled {
    let info = plan.info;
    let mut text = plan.tables();
    text += functions;
    text += &plan.declarations();
    let any = format!("nounwind \"target-cpu\"=\"{cpu}\" \"prefer-vector-width\"=\"512\"");
    let tuned = format!("{any} \"target-features\"=\"{features}\"");
    let keeping = asked::attributes(plan.machine(), &any, features);
    text += &format!(
        "attributes #0 = {{ {tuned} }}\nattributes #1 = {{ alwaysinline {tuned} }}\nattributes #2 = {{ noinline {tuned} }}\n\
         attributes #3 = {{ noinline strictfp {tuned} }}\nattributes #4 = {{ strictfp }}\n\
         attributes #5 = {{ {keeping} }}\n\
         !0 = !{{}}\n!1 = !{{!\"branch_weights\", i32 1, i32 2000}}\n!2 = !{{!\"branch_weights\", i32 2000, i32 1}}\n\
         !3 = !{{!\"memory\"}}\n!4 = !{{!\"program\", !3, i64 0}}\n!5 = !{{!\"sites\", !3, i64 0}}\n!6 = !{{!\"frames\", !3, i64 0}}\n\
         !7 = !{{!4, !4, i64 0}}\n!8 = !{{!5, !5, i64 0}}\n!9 = !{{!6, !6, i64 0}}\n!10 = !{{i32 1}}\n"
    );
    let lanes = i64::from(info.gangs.width);
    let line = |inst: u32| plan.body.insts[inst as usize].line;
    let sites = info.accesses.iter().map(|access| {
        let (low, high) = access.reach(lanes);
        let need = (high - low) as u64 + u64::from(access.bytes);
        let (kind, space, bytes, inst) = (access.kind, access.space, access.bytes, access.inst);
        let (kept_back, nontemporal) = (plan.keeps_back(inst), plan.is_nontemporal(inst));
        SiteKind { kind, space, bytes, need, kept_back, nontemporal, line: line(inst), inst }
    });
    let hulls = plan.hulls().iter().map(|hull| {
        let (kind, space, bytes, inst) = (hull.kind, hull.space, hull.bytes, hull.first);
        SiteKind { kind, space, bytes, need: hull.need, kept_back: false, nontemporal: false, line: line(inst), inst }
    });
    let spans = plan.spans().iter().map(|span| {
        let (kind, space, bytes, inst) = (span.kind, span.space, span.bytes, span.inst);
        SiteKind { kind, space, bytes, need: span.need, kept_back: false, nontemporal: false, line: line(inst), inst }
    });
    let frames = plan.cta_frame() + plan.frame_size() * info.gangs.count();
    let local = [plan.body.local_size, plan.local_stride()];
    Compiled {
        text,
        sites: sites.chain(hulls).chain(spans).collect(),
        frames,
        local,
        steps: plan.steps(),
        stops: plan.stops(),
        turns: plan.turns().map(|places| places.turns.clone()),
    }
}

/// The functions of all regions, and those that run them for all gangs.
fn functions(plan: &Plan<'_>) -> Result<String, String> {
    let mut out = String::new();
    if plan.team() > 0 {
        let parts = if plan.is_one_team() { 1 } else { plan.regions().len() };
        for number in 0..parts {
            out += &Writer::new(plan).team(number)?;
            out += &through(plan, number, "team", plan.info.gangs.count() / plan.team());
        }
        out += &Writer::new(plan).resumed()?;
    }
    let by_gang = match plan.team() {
        0 => 0,
        _ if plan.is_one_team() && plan.seldom_apart() => {
            for region in plan.regions() {
                out += &through_resumed(plan, region);
            }
            plan.regions().len()
        }
        // Gangs that have left their team come to all regions but the first.
        _ if plan.is_one_team() => 1,
        _ => plan.regions().len(),
    };
    for number in by_gang..plan.regions().len() {
        out += &Writer::new(plan).region(number)?;
        out += &through(plan, number, "region", plan.info.gangs.count());
    }
    Ok(out)
}

/// The region behind a barrier, of all gangs that have left their team before: by the function that they have gone on with.
fn through_resumed(plan: &Plan<'_>, region: &Region) -> String {
    let Some((barrier, number)) = region.start.barrier().and_then(|inst| Some((inst, plan.barrier(inst)?))) else {
        return String::new();
    };
    let place = Point::Behind(barrier).number(plan);
    format!(
        "define internal i32 @through{number}(ptr noalias %context) #0 {{\n  \
         %result = call i32 @apart(ptr %context, i32 0, i32 {place})\n  ret i32 %result\n}}\n\n"
    )
}

/// One region, of all gangs or teams. What all threads of the CTA have in common is read once.
fn through(plan: &Plan<'_>, number: usize, function: &str, count: u32) -> String {
    let ended = outcome::ENDED;
    // The only one is all of the CTA.
    let name = if plan.regions().len() == 1 { "i32 @cta" } else { &format!("internal i32 @through{number}") };
    let mut out = format!("define {name}(ptr noalias %context) #0 {{\n");
    let kept = if number == 0 { &[][..] } else { plan.kept(number) };
    let (loads, mut arguments) = plan.shared_arguments(kept);
    let reduction = plan.regions()[number].start.barrier().and_then(|barrier| plan.reduction(barrier));
    let fresh: Vec<u32> = if number == 0 { plan.reductions().collect() } else { reduction.into_iter().collect() };
    out += &loads;
    for offset in &fresh {
        // Taken and left empty: gangs may come to the barrier again before the last has gone on.
        out += &format!(
            "  %r{offset} = getelementptr i8, ptr %frames, i64 {offset}\n  %s{offset} = load i32, ptr %r{offset}, !tbaa !9\n  \
             store i32 0, ptr %r{offset}, !tbaa !9\n"
        );
    }
    if let Some(offset) = reduction {
        arguments.insert_str(0, &format!(", i32 %s{offset}"));
    }
    out += &format!(
        "  br label %gangs\ngangs:\n  %gang = phi i32 [ 0, %0 ], [ %next, %on ]\n  %so_far = phi i32 [ {ended}, %0 ], [ %then, %on ]\n  \
         %result = call i32 @{function}{number}(ptr %context, i32 %gang{arguments})\n  \
         %bad = icmp slt i32 %result, {ended}\n  br i1 %bad, label %out, label %on, !prof !1\non:\n  \
         %then = call i32 @llvm.smax.i32(i32 %so_far, i32 %result)\n  %next = add i32 %gang, 1\n  \
         %more = icmp ult i32 %next, {count}\n  br i1 %more, label %gangs, label %out\nout:\n  \
         %answer = phi i32 [ %result, %gangs ], [ %then, %on ]\n  ret i32 %answer\n}}\n\n"
    );
    plan.declare("declare i32 @llvm.smax.i32(i32, i32)".to_owned());
    out
}

/// All gangs of a CTA, region after region, if there are several. A gang that has ended says so in each of the next ones.
fn cta(plan: &Plan<'_>) -> String {
    let count = plan.regions().len();
    if count == 1 {
        return String::new();
    }
    let mut out = "define i32 @cta(ptr noalias %context) #0 {\n  br label %regions\nregions:\n  \
         %region = phi i32 [ 0, %0 ], [ %result, %back ]\n  switch i32 %region, label %out [\n"
        .to_owned();
    for number in 0..count {
        out += &format!("    i32 {number}, label %region{number}\n");
    }
    out += "  ]\n";
    let mut ways = Vec::new();
    for number in 0..count {
        out += &format!("region{number}:\n  %r{number} = call i32 @through{number}(ptr %context)\n  br label %back\n");
        ways.push(format!("[ %r{number}, %region{number} ]"));
    }
    let ways = ways.join(", ");
    out += &format!("back:\n  %result = phi i32 {ways}\n  br label %regions\nout:\n  ret i32 %region\n}}\n\n");
    out
}
