//! The programs of `tests/c/samples`, which behave as the samples vectorAddDrv, matrixMulDrv and ptxjit do: PTX or a fat binary
//! on disk, found by a search path, the driver API, JIT options and logs.
#[path = "support/library.rs"]
mod library;
#[path = "support/program.rs"]
mod program;

use program::Program;

/// Samples are written for the toolkit of their time and compiled again for each new one.
fn build(source: &str, variant: &str) -> Program {
    program::build(&format!("samples/{source}"), variant, &["-DWARPLOOM_CUDA_H=12090"])
}

fn ptx(name: &str) -> Vec<u8> {
    let path = program::root().join("tests/c/samples").join(name);
    std::fs::read(path).expect("the PTX of the samples is in the repository")
}

/// Puts a file where the program's search path finds it.
fn place(program: &Program, path: &str, contents: &[u8]) {
    let path = program.folder().join(path);
    std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("the scratch folder takes folders");
    std::fs::write(path, contents).expect("the scratch folder takes files");
}

/// A fat binary as `fatbinary` writes them: machine code of a GPU, which is passed over, and PTX.
fn fatbin(ptx: &[u8]) -> Vec<u8> {
    const MACHINE_CODE: u16 = 2;
    const PTX: u16 = 1;
    let entry = |kind: u16, data: &[u8]| {
        let mut padded = data.to_vec();
        padded.resize(data.len().next_multiple_of(8), 0);
        let mut head = vec![0; 64];
        let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &kind.to_le_bytes());
        put(2, &0x101u16.to_le_bytes());
        put(4, &64u32.to_le_bytes());
        put(8, &(padded.len() as u64).to_le_bytes());
        put(24, &2u16.to_le_bytes());
        put(26, &4u16.to_le_bytes());
        put(28, &52u32.to_le_bytes());
        put(40, &1u64.to_le_bytes());
        head.extend(padded);
        head
    };
    let entries = [entry(MACHINE_CODE, b"\x7fELF of a GPU"), entry(PTX, &[ptx, b"\0"].concat())].concat();
    let mut image = 0xba55_ed50u32.to_le_bytes().to_vec();
    image.extend(1u16.to_le_bytes());
    image.extend(16u16.to_le_bytes());
    image.extend((entries.len() as u64).to_le_bytes());
    image.extend(entries);
    image
}

#[test]
fn vectors_are_added_by_a_fat_binary() {
    let program = build("vector_add_drv.c", "");
    place(&program, "data/vector_add.fatbin", &fatbin(&ptx("vector_add.ptx")));
    assert_eq!(program.run(|_| {}), "Result = PASS\n");
    let second = program.run(|command| _ = command.arg("-device=1").env("WARPLOOM_DEVICE_COUNT", "2"));
    assert_eq!(second, "Result = PASS\n");
}

#[test]
fn files_are_found_beside_the_program_from_another_folder() {
    let program = build("vector_add_drv.c", "elsewhere");
    place(&program, "data/vector_add.fatbin", &fatbin(&ptx("vector_add.ptx")));
    assert_eq!(program.run(|command| _ = command.current_dir("/")), "Result = PASS\n");
}

#[test]
fn matrices_are_multiplied_by_ptx_with_options() {
    let program = build("matrix_mul_drv.c", "");
    place(&program, "matrix_mul.ptx", &ptx("matrix_mul.ptx"));
    assert_eq!(program.run(|_| {}), "160 x 96, 0 wrong: Result = PASS\n");
    let small = program.run(|command| _ = command.args(["-tile=8", "-packed=1"]));
    assert_eq!(small, "40 x 24, 0 wrong: Result = PASS\n");
}

#[test]
fn ptx_is_linked_at_run_time() {
    let program = build("ptx_jit.c", "");
    assert_eq!(program.run(|_| {}), "Test PASSED\n");
    place(&program, "data/ptx_jit.ptx", &ptx("ptx_jit.ptx"));
    assert_eq!(program.run(|command| _ = command.arg("--file=1")), "Test PASSED\n");
}
