//! What LLVM cannot go on from ends one compilation, and neither the process nor those that follow.

use warploom_jit::assembly;

const GOOD: &str = "define i32 @f(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n";

/// LLVM's C interface has no other way to say these: its handler for fatal errors must not come back.
#[test]
fn an_operation_without_code_is_said_and_the_next_kernel_is_compiled() {
    let declared = "declare void @llvm.amdgcn.s.barrier()\n";
    let bad = format!("{declared}define void @f() {{\n  call void @llvm.amdgcn.s.barrier()\n  ret void\n}}\n");
    for _ in 0..3 {
        let why = assembly(&bad).expect_err("no such operation on this processor");
        assert!(why.starts_with("LLVM cannot go on: Cannot select"), "{why}");
        assert!(assembly(GOOD).expect("taken").contains("retq"));
    }
}

/// Many ask while the one is lost that runs.
#[test]
fn who_waits_behind_a_lost_compilation_is_served() {
    let bad = "declare void @llvm.amdgcn.s.barrier()\ndefine void @f() {\n  call void @llvm.amdgcn.s.barrier()\n  ret void\n}\n";
    let ask = |number: usize| assembly(if number.is_multiple_of(4) { bad } else { GOOD });
    let all: Vec<_> = (0..16).map(|number| std::thread::spawn(move || (number, ask(number)))).collect();
    for asked in all {
        let (number, answer) = asked.join().expect("ends");
        assert_eq!(answer.is_err(), number.is_multiple_of(4), "{number}: {answer:?}");
    }
}

/// These LLVM would print by itself, and end the process.
#[test]
fn what_is_wrong_with_a_text_is_said() {
    let bad = "define void @f() {\n  call void asm \"no such instruction\", \"=r\"()\n  ret void\n}\n";
    assert!(assembly(bad).is_err());
    let bad = "define i32 @f() {\n  %x = call i32 asm \"no %0\", \"={nowhere}\"()\n  ret i32 %x\n}\n";
    let why = assembly(bad).expect_err("no such register");
    assert!(why.contains("couldn't allocate"), "{why}");
    assert!(assembly(GOOD).is_ok());
}
