//! The whole text of a kernel: functions of regions, what runs them for all gangs, tables, declarations.

use std::fmt;

use warploom_ptx::ir::{FunctionId, Space, Step};

use super::asked;
use super::behind::parameter_behind;
use super::fragment::Transfer;
use super::function::Writer;
use super::local::LocalLayout;
use super::places::Turns;
use super::plan::{Common, Machine, Plan};
use super::stop::Stop;
use super::team::{Point, Teams};
use super::{context, flushing, outcome};
use crate::access::AccessKind;
use crate::gang::Gangs;
use crate::info::{KernelInfo, analyze_apart, analyze_called};

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
    /// Where the parameter lies that its addresses are made of, if it is known to be one: what that points to is what it accesses, nearly always.
    pub parameter: Option<u32>,
    /// In the body of which function.
    pub function: FunctionId,
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
    /// A module for what follows where a team is left, which many launches never come to: its `i32 @cta(ptr context, i32 first, i32 place)` has all gangs of the
    /// team that begins with `first` go on by themselves. None without teams.
    pub apart: Option<String>,
    /// Places that may be refused, by their number.
    pub sites: Vec<SiteKind>,
    /// Bytes of the frames of all gangs, to be aligned to [`FRAME_ALIGN`].
    pub frames: u32,
    /// Where threads have their local memory.
    pub local: LocalLayout,
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
    /// A gather of a register takes longer than loads of its lanes: on a Zen 3 3.5 ns for 8 words that are in the cache of the first level, which are loaded one by one in 2.
    pub loads_gathers: bool,
}

/// Writes a kernel for LLVM. `cpu` and `features` are what LLVM calls the processor and what it has.
///
/// # Errors
/// The first thing in it that is not covered.
pub fn compile(info: &KernelInfo<'_>, cpu: &str, features: &str) -> Result<Compiled, Declined> {
    let amd = cpu.starts_with("znver");
    compile_as(Style::Chosen, info, &Processor { name: cpu, features, fetches_rows: amd, loads_gathers: amd })
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
    /// Gangs, of which all functions that can be are called and not copied.
    Called,
    /// Each thread by itself, where lanes tell each other nothing.
    Threads,
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
    let called = analyze_called(info);
    let bodies = || called.iter().chain([info]).filter_map(KernelInfo::body);
    let written = |teams: Teams| {
        let common = Common::new(machine, bodies());
        let plan = Plan::new(info, machine, teams, (&common, 0))?;
        let mut functions = functions(&plan)?;
        if plan.team() > 0 && functions.text.len() + functions.apart.as_ref().map_or(0, String::len) > LONGEST {
            return Err("too long for a team".to_owned());
        }
        functions.text += &cta(&plan);
        let mut plans = vec![plan];
        for function in &called {
            let first_site = plans.last().map_or(0, Plan::next_site);
            let plan = Plan::new(function, machine, Teams::Never, (&common, first_site))?;
            functions.text += &Writer::new(&plan).region(0)?;
            plans.push(plan);
        }
        Ok(whole(&plans, &functions, cpu, &features))
    };
    // Not everything is written for teams.
    let together = match style {
        Style::Chosen => written(Teams::WherePaid).or_else(|_: String| written(Teams::Never)),
        Style::Teams => written(Teams::Always).or_else(|_: String| written(Teams::Never)),
        Style::Gangs | Style::Called | Style::Threads => written(Teams::Never),
        Style::Apart => Err("its lanes go their own ways".to_owned()),
    };
    let why = match together {
        Ok(compiled) => return Ok(compiled),
        Err(why) if called.is_empty() => why,
        Err(why) => return Err(Declined(why)),
    };
    // What is not known to be together may go its own ways, a warp as a gang.
    let warps = Gangs::new(info.gangs.cta, 32).map_err(Declined)?;
    let apart = analyze_apart(info.module, info.kernel, warps).ok_or(Declined(why))?;
    let common = Common::new(machine, bodies());
    let plan = Plan::apart(&apart, machine, &common).map_err(Declined)?;
    let text = Writer::new(&plan).groups().map_err(Declined)?;
    Ok(whole(&[plan], &Functions { text, apart: None }, cpu, &features))
}

/// The functions of a kernel.
struct Functions {
    text: String,
    /// What teams that are left go on with.
    apart: Option<String>,
}

/// Bytes of stack that each function of a kernel may need without LLVM saying so.
pub const SMALL_STACK: u32 = 4096;

/// A module of some functions, whose entry has so many parameters behind the context.
fn module(plan: &Plan<'_>, functions: &str, parameters: u32, cpu: &str, features: &str) -> String {
    let mut text = plan.tables();
    text += functions;
    if plan.flushes() {
        text += &flushing::entered(plan, parameters);
    }
    text += &plan.declarations(functions);
    // Whoever has code made of it hears of functions that need more stack than that.
    let flushes = if plan.flushes() { " \"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"" } else { "" };
    let any = format!(
        "nounwind{flushes} \"target-cpu\"=\"{cpu}\" \"prefer-vector-width\"=\"512\" \"warn-stack-size\"=\"{SMALL_STACK}\""
    );
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
    text
}

/// What is written of a kernel's plan, and of those of functions that it calls, and all that must be known of them.
fn whole(plans: &[Plan<'_>], functions: &Functions, cpu: &str, features: &str) -> Compiled {
    let plan = &plans[0];
    let frames = plan.cta_frame() + plan.frame_size() * plan.info.gangs.count();
    let write = |functions: &String, parameters| module(plan, functions, parameters, cpu, features);
    Compiled {
        text: write(&functions.text, if plan.turns().is_some() { 4 } else { 0 }),
        apart: functions.apart.as_ref().map(|functions| write(functions, 2)),
        sites: plans.iter().flat_map(sites).collect(),
        frames,
        local: plan.local_layout(),
        steps: plan.steps(),
        stops: plan.stops(),
        turns: plan.turns().map(|places| places.turns.clone()),
    }
}

/// The sites of one function.
fn sites(plan: &Plan<'_>) -> Vec<SiteKind> {
    let info = plan.info;
    let (function, lanes) = (info.function, i64::from(info.gangs.width));
    let line = |inst: u32| plan.body.insts[inst as usize].line;
    let behind = |inst: u32, space: Space| {
        let offset =
            parameter_behind(info, plan.body, inst).filter(|_| matches!(space, Space::Global | Space::Generic));
        offset.and_then(|offset| u32::try_from(offset).ok())
    };
    let sites = info.accesses.iter().map(|access| {
        let (low, high) = access.reach(lanes);
        let need = (high - low) as u64 + u64::from(access.bytes);
        let (kind, space, bytes, inst) = (access.kind, access.space, access.bytes, access.inst);
        let (kept_back, nontemporal) = (plan.keeps_back(inst), plan.is_nontemporal(inst));
        let parameter = behind(inst, space);
        SiteKind { kind, space, bytes, need, kept_back, nontemporal, parameter, function, line: line(inst), inst }
    });
    // What is looked at for several accesses is neither kept back nor stored by itself.
    let of_several = |kind, space, bytes, need, inst| {
        let (kept_back, nontemporal, parameter) = (false, false, behind(inst, space));
        SiteKind { kind, space, bytes, need, kept_back, nontemporal, parameter, function, line: line(inst), inst }
    };
    let hulls = plan.hulls().iter().map(|hull| of_several(hull.kind, hull.space, hull.bytes, hull.need, hull.first));
    let spans = plan.spans().iter().map(|span| of_several(span.kind, span.space, span.bytes, span.need, span.inst));
    let fragments = plan.fragments().iter().filter_map(|inst| {
        let transfer = Transfer::of(&plan.body.insts[*inst as usize])?;
        let bytes = transfer.unit();
        Some(of_several(transfer.kind(), Space::Global, bytes, u64::from(bytes), *inst))
    });
    sites.chain(hulls).chain(spans).chain(fragments).collect()
}

/// The functions of all regions, and those that run them for all gangs.
fn functions(plan: &Plan<'_>) -> Result<Functions, String> {
    let (regions, mut text) = (plan.regions().len(), String::new());
    if plan.team() == 0 {
        for number in 0..regions {
            text += &Writer::new(plan).region(number)?;
            text += &through(plan, number, "region", plan.info.gangs.count());
        }
        return Ok(Functions { text, apart: None });
    }
    let parts = if plan.is_one_team() { 1 } else { regions };
    for number in 0..parts {
        text += &Writer::new(plan).team(number)?;
        text += &through(plan, number, "team", plan.info.gangs.count() / plan.team());
    }
    text += &leave(plan);
    let mut apart = Writer::new(plan).resumed()?;
    // Gangs that have left a team that is all of the CTA come to all regions but the first.
    let mut entries = Vec::new();
    for (number, region) in plan.regions().iter().enumerate().skip(parts) {
        let Some(barrier) = region.start.barrier() else { continue };
        let place = Point::Behind(barrier).number(plan);
        text += &through_apart(number, place);
        if !plan.seldom_apart() {
            apart += &Writer::new(plan).region(number)?;
            apart += &through(plan, number, "region", plan.info.gangs.count());
            entries.push((place, number));
        }
    }
    apart += &enter_apart(plan, &entries);
    Ok(Functions { text, apart: Some(apart) })
}

/// Where a team is left: how its gangs go on is another module's business.
fn leave(plan: &Plan<'_>) -> String {
    let (before, behind) = flushing::around(plan);
    format!(
        "define internal i32 @apart(ptr noalias %context, i32 %first, i32 %where) #2 {{\n{before}  \
         %at = getelementptr i8, ptr %context, i64 {}\n  %code = load ptr, ptr %at\n  \
         %result = call i32 %code(ptr %context, i32 %first, i32 %where)\n{behind}  ret i32 %result\n}}\n\n",
        context::APART
    )
}

/// What the function is that the executor calls, or what that calls in the processor's other mode.
pub(super) fn entry(plan: &Plan<'_>) -> &'static str {
    if plan.flushes() { "internal i32 @flushing" } else { "i32 @cta" }
}

/// The entry of that module. Regions that have functions of their own are known by the place behind their barriers.
fn enter_apart(plan: &Plan<'_>, regions: &[(u32, usize)]) -> String {
    let ways: String = regions.iter().map(|(place, number)| format!(" i32 {place}, label %region{number}")).collect();
    let mut out = format!("define {}(ptr noalias %context, i32 %first, i32 %where) #0 {{\n", entry(plan));
    out += &format!("  switch i32 %where, label %gangs [{ways} ]\n");
    for (_, number) in regions {
        out +=
            &format!("region{number}:\n  %r{number} = call i32 @through{number}(ptr %context)\n  ret i32 %r{number}\n");
    }
    out + "gangs:\n  %result = call i32 @apart(ptr %context, i32 %first, i32 %where)\n  ret i32 %result\n}\n\n"
}

/// The region behind a barrier, of all gangs that have left their team before.
fn through_apart(number: usize, place: u32) -> String {
    format!(
        "define internal i32 @through{number}(ptr noalias %context) #0 {{\n  \
         %result = call i32 @apart(ptr %context, i32 0, i32 {place})\n  ret i32 %result\n}}\n\n"
    )
}

/// One region, of all gangs or teams. What all threads of the CTA have in common is read once.
fn through(plan: &Plan<'_>, number: usize, function: &str, count: u32) -> String {
    let ended = outcome::ENDED;
    // The only one is all of the CTA.
    let name = if plan.regions().len() == 1 { entry(plan) } else { &format!("internal i32 @through{number}") };
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
    let mut out = format!(
        "define {}(ptr noalias %context) #0 {{\n  br label %regions\nregions:\n  \
         %region = phi i32 [ 0, %0 ], [ %result, %back ]\n  switch i32 %region, label %out [\n",
        entry(plan)
    );
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
