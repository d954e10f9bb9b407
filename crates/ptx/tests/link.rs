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

const TAKES_WORD: &str = ".visible .func (.param .b32 r) f(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; st.param.b32 [r], %x; ret; }";
const CALLS_WORD: &str = ".extern .func (.param .b32 r) f(.param .b32 a);
.visible .entry k() { .param .b32 a, r; st.param.b32 [a], 7; call (r), f, (a); ret; }";
const CALLS_PLAIN: &str = ".extern .func f(.param .b32 a);
.visible .entry p() { .param .b32 a; st.param.b32 [a], 7; call f, (a); ret; }";

fn linked(linker: &mut Linker, texts: &[&str]) -> Result<(), Vec<String>> {
    (1..).zip(texts).try_for_each(|(number, text)| linker.add(&format!("i{number}"), input(text)))
}

/// What an H200's driver (580.159.04) answers `cuLinkAddData`, and its first line of log.
#[test]
fn functions_are_declared_as_they_are_defined() {
    let mismatch = |input: &str, first: &str| {
        Some(format!("Prototype doesn't match for 'f' in '{input}', first defined in '{first}'"))
    };
    let bytes = |returned: u32| {
        format!(".visible .func (.param .align 4 .b8 r[{returned}]) f(.param .align 8 .b8 a[8]) {{ ret; }}")
    };
    let calls_bytes = ".extern .func (.param .align 4 .b8 r[8]) f(.param .align 4 .b8 a[8]);
        .visible .entry k() { .param .align 4 .b8 a[8], r[8]; call (r), f, (a); ret; }";
    let of = |returned: &str, given: &str| format!(".visible .func {returned} f({given}) {{ ret; }}");
    let (plain, float) = (of("", ".param .b32 a"), of("(.param .f32 r)", ".param .f32 a"));
    let (wide, array) = (of("(.param .b64 r)", ".param .b32 a"), of("(.param .b32 r)", ".param .align 4 .b8 a[4]"));
    let (two, signed) = (of("(.param .b32 r)", ".param .b32 a, .param .b32 b"), of("(.param .s32 q)", ".param .u32 z"));
    let (weak, weak_plain) = (TAKES_WORD.replace("visible", "weak"), plain.replace("visible", "weak"));
    let unused = ".extern .func (.param .b32 r) f(.param .b32 a);\n.visible .entry k() { ret; }";
    let cases: [(&[&str], Option<String>); 17] = [
        (&[CALLS_WORD, TAKES_WORD], None),
        (&[CALLS_WORD, &signed], None),
        (&[CALLS_WORD, ".visible .func (.reg .b32 r) f(.reg .b32 a) { mov.b32 r, a; ret; }"], None),
        (&[CALLS_WORD, &plain], mismatch("i2", "i2")),
        (&[&plain, CALLS_WORD], mismatch("i2", "i1")),
        (&[CALLS_WORD, &wide], mismatch("i2", "i2")),
        (&[CALLS_WORD, &two], mismatch("i2", "i2")),
        (&[CALLS_WORD, &float], mismatch("i2", "i2")),
        (&[CALLS_WORD, &array], mismatch("i2", "i2")),
        (&[CALLS_WORD, CALLS_PLAIN], mismatch("i2", "i1")),
        (&[&weak_plain, TAKES_WORD], mismatch("i2", "i1")),
        (&[&weak, &weak_plain], mismatch("i2", "i1")),
        (&[calls_bytes, &bytes(8)], None),
        (&[calls_bytes, &bytes(12)], mismatch("i2", "i2")),
        // What nobody uses says nothing, before and behind.
        (&[unused, &plain], None),
        (&[unused, CALLS_PLAIN, &plain], None),
        (&[&plain, CALLS_PLAIN, unused], None),
    ];
    for (texts, expected) in cases {
        let messages = linked(&mut Linker::new(), texts).err().unwrap_or_default();
        assert_eq!(messages.first().cloned(), expected, "{texts:?}");
    }
    let both = linked(&mut Linker::new(), &[CALLS_WORD, &plain]).expect_err("declared otherwise");
    assert_eq!(both[1], "'i1' has it as (.b32) f(.b32), 'i2' as f(.b32)");
    let kernel = ".visible .entry f(.param .b32 a) { ret; }";
    assert_eq!(
        linked(&mut Linker::new(), &[CALLS_WORD, kernel]).expect_err("a kernel"),
        ["Function 'f' not declared __global__ in all source files"]
    );
}

/// Images that nvJitLink has made run: results that there are not are dropped, and so are arguments that are too many.
#[test]
fn calls_are_made_to_fit() {
    let arguments = |texts: &[&str]| {
        let mut linker = Linker::with_any_prototypes();
        linked(&mut linker, texts).expect("taken");
        assert_eq!(linker.mismatches().len(), 2, "{:?}", linker.mismatches());
        let module = linker.complete()?;
        let bodies = module.functions.iter().filter_map(|function| function.body.as_ref());
        let calls = bodies.flat_map(|body| &body.insts).filter_map(|inst| match &inst.op {
            ir::Op::Call { returns, args, .. } => Some((returns.len(), args.len())),
            _ => None,
        });
        Ok::<_, Vec<String>>(calls.collect::<Vec<_>>())
    };
    let plain = ".visible .func f(.param .b32 a) { ret; }";
    assert_eq!(arguments(&[CALLS_WORD, plain]), Ok(vec![(0, 1)]));
    assert_eq!(arguments(&[plain, CALLS_WORD]), Ok(vec![(0, 1)]));
    assert_eq!(arguments(&[CALLS_PLAIN, TAKES_WORD]), Ok(vec![(1, 1)]));
    assert_eq!(arguments(&[CALLS_PLAIN, ".visible .func f() { ret; }"]), Ok(vec![(0, 0)]));
    let two = ".visible .func f(.param .b32 a, .param .b32 b) { ret; }";
    assert_eq!(
        arguments(&[CALLS_PLAIN, two]),
        Err(vec!["'p' calls 'f' without the arguments that it is defined with".to_owned()])
    );
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
