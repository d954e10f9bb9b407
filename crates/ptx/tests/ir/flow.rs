//! The order of blocks, the loops and the liveness of registers, against definitions spelled out the slow way: on every text that
//! is to load, and on random flow graphs, reducible and not.

use crate::texts;
use std::collections::HashSet;
use std::fmt::Write;
use warploom_ptx::ir::{
    Body, Cfg, Function, FunctionKind, Liveness, Module, OperandRef, Pressure, Reg, ScalarType, Storage,
    TerminatorKind, arrange,
};
use warploom_ptx::{Options, load};

/// Numbers that look random (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

fn reaches(successors: &[Vec<u32>], within: &HashSet<u32>, from: u32) -> HashSet<u32> {
    let mut seen = HashSet::new();
    let mut pending = vec![from];
    while let Some(block) = pending.pop() {
        for &next in successors[block as usize].iter().filter(|next| within.contains(next)) {
            if seen.insert(next) {
                pending.push(next);
            }
        }
    }
    seen
}

/// What the module head of `ir::loops` promises of an order and its loops.
fn check_order(successors: &[Vec<u32>]) {
    let arrangement = arrange(successors);
    let mut place = vec![u32::MAX; successors.len()];
    for (new, &old) in arrangement.order.iter().enumerate() {
        assert_eq!(place[old as usize], u32::MAX, "block {old} stands twice");
        place[old as usize] = new as u32;
    }
    assert_eq!(place[0], 0);
    let count = arrangement.order.len() as u32;
    let placed: Vec<Vec<u32>> = arrangement
        .order
        .iter()
        .map(|&old| successors[old as usize].iter().map(|&next| place[next as usize]).collect())
        .collect();
    let all: HashSet<u32> = (0..count).collect();
    let mut met = reaches(&placed, &all, 0);
    met.insert(0);
    assert_eq!(met, all);
    let loops = &arrangement.loops;
    for (from, next) in placed.iter().enumerate() {
        for &to in next.iter().filter(|to| **to <= from as u32) {
            let back = loops.iter().any(|l| l.header().0 == to && l.blocks.contains(&(from as u32)));
            assert!(back, "edge {from} -> {to} goes back to no header in {loops:?}\n{placed:?}");
        }
    }
    for (index, inner) in loops.iter().enumerate() {
        let within: HashSet<u32> = inner.blocks.clone().collect();
        for block in inner.blocks.clone() {
            assert_eq!(reaches(&placed, &within, block), within, "loop {inner:?} from {block}\n{placed:?}");
        }
        assert_eq!(inner.parent.map_or(1, |parent| loops[parent as usize].depth + 1), inner.depth);
        for outer in &loops[..index] {
            let apart = outer.blocks.end <= inner.blocks.start;
            let around = outer.blocks.contains(&inner.blocks.start) && inner.blocks.end <= outer.blocks.end;
            assert!(apart || around, "{outer:?} {inner:?}");
        }
        let entered = placed.iter().enumerate().filter(|(from, _)| !within.contains(&(*from as u32)));
        let aside = entered.flat_map(|(_, next)| next).any(|to| within.contains(to) && *to != inner.header().0);
        assert_eq!(aside, inner.irreducible, "{inner:?}\n{placed:?}");
    }
    // A component of the graph without its headers is no loop.
    let headers: HashSet<u32> = loops.iter().map(|l| l.header().0).collect();
    let rest: HashSet<u32> = all.difference(&headers).copied().collect();
    assert!(rest.iter().all(|&block| !reaches(&placed, &rest, block).contains(&block)), "{placed:?}");
}

/// Liveness by iteration over whole sets until nothing changes, and the pressure counted at every step.
fn slow_liveness(function: &Function, body: &Body) -> (Vec<HashSet<Reg>>, Vec<HashSet<Reg>>, Pressure) {
    let cfg = Cfg::new(body);
    let results: Vec<Reg> = function
        .returns
        .iter()
        .filter_map(|param| match param.storage {
            Storage::Register(reg) => Some(reg),
            Storage::Memory { .. } => None,
        })
        .collect();
    let mut begins = vec![HashSet::new(); body.blocks.len()];
    let mut ends = begins.clone();
    let mut most = Pressure::default();
    let mut changed = true;
    while changed {
        changed = false;
        most = Pressure::default();
        for (number, block) in body.blocks.iter().enumerate().rev() {
            let mut alive: HashSet<Reg> =
                cfg.successors[number].iter().flat_map(|next| begins[next.0 as usize].iter().copied()).collect();
            changed |= std::mem::replace(&mut ends[number], alive.clone()) != alive;
            let mut count = |alive: &HashSet<Reg>, defs: &[Reg]| {
                let all: HashSet<Reg> = alive.iter().chain(defs).copied().collect();
                let types = all.iter().map(|reg| body.regs[reg.0 as usize].ty);
                let predicates = types.clone().filter(|ty| *ty == ScalarType::Pred).count() as u32;
                let registers =
                    types.filter(|ty| *ty != ScalarType::Pred).map(|ty| ty.bits().div_ceil(32)).sum::<u32>();
                most.predicates = most.predicates.max(predicates);
                most.registers = most.registers.max(registers);
            };
            count(&alive, &[]);
            alive.extend(block.terminator.operands().iter().filter_map(OperandRef::read));
            if matches!(block.terminator.kind, TerminatorKind::Ret { .. }) && function.kind == FunctionKind::Device {
                alive.extend(&results);
            }
            count(&alive, &[]);
            for inst in body.insts[block.insts.start as usize..block.insts.end as usize].iter().rev() {
                let operands = inst.operands();
                let defs: Vec<Reg> = operands.iter().filter_map(OperandRef::def).collect();
                count(&alive, &defs);
                if inst.guard.is_none() {
                    defs.iter().for_each(|reg| _ = alive.remove(reg));
                }
                alive.extend(operands.iter().filter_map(OperandRef::read));
                count(&alive, &[]);
            }
            changed |= std::mem::replace(&mut begins[number], alive.clone()) != alive;
        }
    }
    (begins, ends, most)
}

fn check_body(module: &Module, function: &Function, body: &Body) {
    let cfg = Cfg::new(body);
    let successors: Vec<Vec<u32>> =
        cfg.successors.iter().map(|next| next.iter().map(|block| block.0).collect()).collect();
    check_order(&successors);
    let (begins, ends, most) = slow_liveness(function, body);
    let liveness = Liveness::new(function, body);
    for reg in (0..body.regs.len() as u32).map(Reg) {
        for block in 0..body.blocks.len() {
            let within = |ranges: &[std::ops::Range<u32>]| ranges.iter().any(|range| range.contains(&(block as u32)));
            assert_eq!(within(liveness.live_in(reg)), begins[block].contains(&reg), "{reg:?} into b{block}\n{module}");
            assert_eq!(within(liveness.live_out(reg)), ends[block].contains(&reg), "{reg:?} out of b{block}\n{module}");
        }
    }
    assert_eq!(liveness.pressure(function, body), most, "{module}");
}

fn check_text(text: &str) {
    let module = match load(text.as_bytes(), &Options { driver_version: 13020, sm: 90 }) {
        Ok(module) => module,
        Err(failure) => panic!("{:?}\n{text}", failure.diagnostics),
    };
    for function in &module.functions {
        function.body.iter().for_each(|body| check_body(&module, function, body));
    }
}

#[test]
fn texts_that_load() {
    let modules = texts::modules(&texts::root().join("tests/filetests"));
    assert!(modules.len() > 100, "only {} files", modules.len());
    for module in modules {
        for function in &module.functions {
            function.body.iter().for_each(|body| check_body(&module, function, body));
        }
    }
}

#[test]
fn random_graphs() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..3000 {
        let count = 1 + random.below(12);
        let successors: Vec<Vec<u32>> =
            (0..count).map(|_| (0..random.below(3)).map(|_| random.below(count) as u32).collect()).collect();
        check_order(&successors);
    }
}

#[test]
fn random_programs() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..300 {
        let count = 1 + random.below(10);
        let mut text = String::from(
            ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{ .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %d<3>;\n",
        );
        for block in 0..count {
            writeln!(text, "L{block}:").expect("text");
            for _ in 0..random.below(4) {
                let guard = if random.below(3) == 0 { format!("@%p{} ", random.below(3)) } else { String::new() };
                let [a, b, c] = [5, 5, 5].map(|limit| random.below(limit));
                let line = match random.below(4) {
                    0 => format!("add.u32 %r{a}, %r{b}, %r{c};"),
                    1 => format!("mul.wide.u32 %d{}, %r{b}, %r{c};", a % 3),
                    2 => format!("setp.eq.u64 %p{}, %d{}, %d{};", a % 3, b % 3, c % 3),
                    _ => format!("mov.u32 %r{a}, 7;"),
                };
                writeln!(text, "  {guard}{line}").expect("text");
            }
            match random.below(4) {
                0 => writeln!(text, "  bra L{};", random.below(count)),
                1 => writeln!(text, "  @%p{} bra L{};", random.below(3), random.below(count)),
                2 => writeln!(text, "  @!%p{} exit;", random.below(3)),
                _ => writeln!(text),
            }
            .expect("text");
        }
        text.push_str("  ret;\n}\n");
        check_text(&text);
    }
}

/// Deep nests neither overflow the stack nor take more than a moment.
#[test]
fn ten_thousand_nested_loops() {
    let depth = 10_000;
    let mut text = String::from(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{ .reg .pred %p; .reg .b32 %r<10000>;\n",
    );
    for at in 0..depth {
        writeln!(text, "mov.u32 %r{at}, 0;\nL{at}:").expect("text");
    }
    for at in (0..depth).rev() {
        writeln!(text, "add.u32 %r{at}, %r{at}, 1;\nsetp.lt.u32 %p, %r{at}, 2;\n@%p bra L{at};").expect("text");
    }
    text.push_str("ret;\n}\n");
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("a module");
    let function = &module.functions[0];
    let body = function.body.as_ref().expect("a body");
    assert_eq!(body.loops.len(), depth);
    assert_eq!(body.loops.last().expect("a loop").depth, depth as u32);
    let pressure = Liveness::new(function, body).pressure(function, body);
    // All counters, with that of the innermost loop and its predicate.
    assert_eq!(pressure, Pressure { registers: depth as u32, predicates: 1 });
}

/// The blocks of a body, each with where it goes.
fn ways(text: &str) -> Vec<Vec<u32>> {
    let head =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{ .reg .b32 %r<9>; .reg .pred %p<9>;\n";
    let text = format!("{head}{text}}}\n");
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
    let body = module.functions[0].body.as_ref().expect("a body");
    let cfg = Cfg::new(body);
    cfg.successors.iter().map(|ways| ways.iter().map(|block| block.0).collect()).collect()
}

#[test]
fn who_comes_to_a_block_that_only_leads_on_goes_there_at_once() {
    // As compilers write the branch around a block.
    let around = "@!%p1 bra A;\nbra.uni B;\nB: add.u32 %r1, %r1, 1;\nA: add.u32 %r1, %r1, 2;\nret;\n";
    assert_eq!(ways(around), [vec![1, 2], vec![2], vec![]]);
    // Through several, and back to a loop's beginning.
    let back = "L: add.u32 %r1, %r1, 1;\n@%p1 bra C;\nret;\nC: bra D;\nD: bra.uni E;\nE: bra L;\n";
    assert_eq!(ways(back), [vec![0, 1], vec![]]);
    // An empty loop stays one.
    let empty = "@%p1 bra L;\nret;\nL: bra M;\nM: bra L;\n";
    assert_eq!(ways(empty).iter().filter(|ways| !ways.is_empty()).count(), 2);
    // Those that end meet where all end.
    let end = "@%p1 bra A;\nbra.uni B;\nA: add.u32 %r1, %r1, 1;\nB: ret;\n";
    assert_eq!(ways(end).len(), 4);
}

#[test]
fn what_has_no_loops_and_waits_for_nobody_else_runs_through() {
    let runs_through = |body: &str| {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.func f() {{ ret; }}\n.visible .entry k(.param .u32 n)\n{{\n\
             .reg .b32 %r<4>; .reg .pred %p; .shared .align 8 .b64 bar;\nld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; setp.lt.u32 %p, %r2, %r1;\n\
             {body}\nret;\n}}\n"
        );
        let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect(body);
        let kernel = module.functions.iter().find(|function| function.name == "k").expect("a kernel");
        kernel.body.as_ref().expect("code").runs_through()
    };
    for body in ["", "@%p bra A; add.u32 %r2, %r2, 1; A:", "bar.sync 0;", "bar.warp.sync -1;", "@%p trap;", "@%p exit;"]
    {
        assert!(runs_through(body), "{body}");
    }
    let waits = [
        "A: add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r1; @%p bra A;",
        "call f, ();",
        "nanosleep.u32 20;",
        "mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;",
        "barrier.cluster.arrive; barrier.cluster.wait;",
        "griddepcontrol.wait;",
    ];
    for body in waits {
        assert!(!runs_through(body), "{body}");
    }
}

#[test]
fn who_looks_again_at_what_others_change_waits_for_other_ctas() {
    let independent = |body: &str| {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n\
             .reg .b64 %rd<3>; .reg .b32 %r<5>; .reg .pred %p; .shared .b32 s;\nld.param.u64 %rd1, [a];\n{body}\nret;\n}}\n"
        );
        let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads");
        let kernel = &module.functions[0];
        kernel.body.as_ref().expect("code").has_independent_ctas()
    };
    let around = |inside: &str| format!("L: {inside}\nsetp.ne.u32 %p, %r1, 0; @%p bra L;");
    for inside in [
        "ld.global.u32 %r1, [%rd1];",
        "red.global.add.u32 [%rd1], 1; add.u32 %r1, %r1, -1;",
        "atom.shared.add.u32 %r1, [s], -1;",
        "ld.volatile.shared.u32 %r1, [s];",
        "bar.sync 0; add.u32 %r1, %r1, -1;",
    ] {
        assert!(independent(&around(inside)), "{inside}");
    }
    for inside in [
        "ld.volatile.global.u32 %r1, [%rd1];",
        "ld.relaxed.gpu.u32 %r1, [%rd1];",
        "ld.acquire.gpu.global.u32 %r1, [%rd1];",
        "atom.global.cas.b32 %r1, [%rd1], 0, 1;",
        "membar.gl; ld.global.u32 %r1, [%rd1];",
        "nanosleep.u32 20; ld.global.u32 %r1, [%rd1];",
    ] {
        assert!(!independent(&around(inside)), "{inside}");
        // Once it may: it does not wait for what it finds.
        assert_eq!(independent(inside), !inside.contains("nanosleep"), "{inside}");
    }
}
