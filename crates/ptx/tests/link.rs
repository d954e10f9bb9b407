//! Linking several texts, with the messages that a driver's log shows.

use warploom_ptx::{Linker, Options, compile, ir, load};

const OPTIONS: Options = Options { driver_version: 13000, sm: 90 };

fn input(body: &str) -> warploom_ptx::Input {
    let text = format!(".version 7.0\n.target sm_52\n.address_size 64\n{body}");
    compile(text.as_bytes(), &OPTIONS).unwrap_or_else(|failure| panic!("{:#?}", failure.diagnostics))
}

const CALLER: &str = ".extern .func (.param .b32 r) f(.param .b32 a);\n.extern .global .u32 g;
.visible .entry k() { .param .b32 a, r; .reg .b32 %x; ld.global.u32 %x, [g]; st.param.b32 [a], %x; call (r), f, (a); ret; }";
const CALLEE: &str = ".visible .global .u32 unused;\n.visible .global .u32 g = 7;\n.global .u64 p = g;
.visible .func (.param .b32 r) f(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; st.param.b32 [r], %x; ret; }";

/// The callee and the variable of another input are found whichever comes first.
#[test]
fn symbols_resolve_across_inputs() {
    for order in [[CALLER, CALLEE], [CALLEE, CALLER]] {
        let mut linker = Linker::new();
        for (index, text) in order.into_iter().enumerate() {
            linker.add(&format!("input{index}"), input(text)).expect("no clash");
        }
        let module = linker.complete().expect("all defined");
        let kernel = &module.functions[module.function("k").expect("k").0 as usize];
        let body = kernel.body.as_ref().expect("body");
        let callee = &module.functions[body.callees[0].0 as usize];
        assert_eq!(callee.name, "f");
        assert!(callee.body.is_some());
        let global = module.global("g").expect("g");
        assert_eq!(body.globals, [global]);
        assert_eq!(module.globals[global.0 as usize].init, [7, 0, 0, 0]);
        let pointer = &module.globals[module.global("p").expect("p").0 as usize];
        assert_eq!(pointer.relocations[0].target, ir::RelocationTarget::Global(global));
        let ir::Op::Ld { addr, .. } = &body.insts[0].op else { panic!("{:?}", body.insts[0]) };
        assert_eq!(addr.base, ir::Base::Global(global));
    }
}

/// The texts are those that an H200's driver (580.159.04) writes to the error log.
#[test]
fn clashes_are_reported() {
    let twice = ".visible .func f() { ret; }\n.visible .global .u32 g = 1;";
    let mut linker = Linker::new();
    linker.add("c1", input(twice)).expect("first");
    assert_eq!(
        linker.add("c2", input(twice)).expect_err("second"),
        [
            "Multiple definition of 'f' in 'c2', first defined in 'c1'",
            "Multiple definition of 'g' in 'c2', first defined in 'c1'"
        ]
    );
    assert_eq!(
        linker.add("g", input(".extern .global .u64 g;")).expect_err("size"),
        ["Size doesn't match for 'g' in 'g', first specified in 'c1'"]
    );
    let mut linker = Linker::new();
    linker.add("a.ptx", input(".extern .func nope();\n.visible .entry k() { call nope; ret; }")).expect("alone");
    assert_eq!(linker.complete().expect_err("undefined"), ["Undefined reference to 'nope' in 'a.ptx'"]);
}

/// A weak definition gives way to a strong one and to an earlier weak one.
#[test]
fn weak_definitions_give_way() {
    let weak = ".weak .func f() { exit; }\n.weak .global .u32 g = 1;";
    let strong = ".visible .func f() { ret; }\n.visible .global .u32 g = 2;";
    for order in [[weak, strong], [strong, weak]] {
        let mut linker = Linker::new();
        for text in order {
            linker.add("x", input(text)).expect("no clash");
        }
        let module = linker.complete().expect("all defined");
        assert_eq!(module.functions.len(), 1);
        assert_eq!(module.globals.len(), 1);
        assert_eq!(module.globals[0].init, [2, 0, 0, 0]);
        let body = module.functions[0].body.as_ref().expect("body");
        assert!(matches!(body.blocks[0].terminator.kind, ir::TerminatorKind::Ret { .. }));
    }
}

#[test]
fn functions_that_call_each_other_are_a_group() {
    let call = |name: &str| format!("{{ call {name}; }}");
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.func even();\n.func leaf() {{ ret; }}\n.func odd() {{ {} ret; }}\n.func even() {{ {} {} ret; }}\n.func own() {{ call own; ret; }}\n.entry k() {{ {} {} ret; }}\n",
        call("even"),
        call("odd"),
        call("leaf"),
        call("own"),
        call("odd"),
    );
    let module = load(text.as_bytes(), &Options { driver_version: 13000, sm: 80 }).expect("a module");
    let groups = module.call_groups();
    let mut named: Vec<(Vec<&str>, bool)> = groups
        .iter()
        .map(|group| {
            let mut names: Vec<&str> = group.iter().map(|id| &*module.functions[id.0 as usize].name).collect();
            names.sort_unstable();
            (names, module.is_recursive(group))
        })
        .collect();
    let place = |name: &str| named.iter().position(|(names, _)| names.contains(&name)).expect("a group");
    assert!(place("leaf") < place("even") && place("even") < place("k") && place("own") < place("k"));
    named.sort_unstable();
    let expected = [(vec!["even", "odd"], true), (vec!["k"], false), (vec!["leaf"], false), (vec!["own"], true)];
    assert_eq!(named, expected);
}
