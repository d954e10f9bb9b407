//! The programs of `tests/c/driver_api`, which do what the listings of the guide's chapter on the driver API do, compiled
//! against our headers and run against our library.
#[path = "support/library.rs"]
mod library;
#[path = "support/program.rs"]
mod program;

use program::Program;

/// The headers of the toolkit for which the listings were written: contexts are created without a structure.
const HEADERS: [&str; 1] = ["-DWARPLOOM_CUDA_H=12090"];

/// Compiles a program of the folder, and puts the files that it loads beside it, under the names that it uses.
fn build(source: &str, files: &[(&str, &str)]) -> Program {
    let program = program::build(&format!("driver_api/{source}"), "", &HEADERS);
    for (file, name) in files {
        std::fs::copy(program::root().join(file), program.folder().join(name)).expect("the file is in the repository");
    }
    program
}

const MODULE: (&str, &str) = ("tests/c/driver_api/myModule.ptx", "myModule.ptx");

#[test]
fn the_first_program() {
    let program = build("vector_addition.c", &[("demo/vector_add/vector_add.ptx", "VecAdd.ptx")]);
    assert_eq!(program.run(|_| {}), "1000 sums, 0 wrong\n");
    // No multiple of the threads of a CTA, and more than the device has in flight.
    assert_eq!(program.run(|command| _ = command.arg("1000001")), "1000001 sums, 0 wrong\n");
    let none = program.run(|command| _ = command.env("WARPLOOM_DEVICE_COUNT", "0"));
    assert_eq!(none, "There is no device supporting CUDA.\n");
}

#[test]
fn contexts_float_and_are_counted() {
    let expected = "without a context: 1\nafter the library's start: none\nthe library's own: 1\nthe application's again: 1\n\
                    popped: none\nattached: 1\nstill there: 1\ndestroyed: none\n";
    assert_eq!(build("contexts.c", &[]).run(|_| {}), expected);
}

#[test]
fn a_module_from_a_file() {
    let program = build("module_load.c", &[MODULE]);
    assert_eq!(program.run(|_| {}), "MyKernel\nno such file: 1\nno such kernel: 1\n");
}

#[test]
fn errors_of_the_compilation_are_in_the_log() {
    let expected = "loaded\nCUDA_ERROR_INVALID_PTX:\n\
                    ptxas application ptx input, line 5; error   : Not a name of any known instruction: 'bogus'\n\
                    ptxas fatal   : Ptx assembly aborted due to errors\nlength: 1\n";
    assert_eq!(build("jit_errors.c", &[MODULE]).run(|_| {}), expected);
}

#[test]
fn several_texts_become_one_module() {
    let files = ["caller.ptx", "callee.ptx"].map(|name| (format!("tests/c/driver_api/{name}"), name));
    let files = files.each_ref().map(|(path, name)| (path.as_str(), *name));
    let expected = "ELF image: 1\ntime: 1, errors: ''\n42, called 1 time\n\
                    alone: 1, error   : Undefined reference to 'callee' in 'caller.ptx'\n\
                    error   : Undefined reference to 'calls' in 'caller.ptx'";
    assert_eq!(build("linking.c", &files).run(|_| {}), expected);
}

#[test]
fn images_load_with_any_number_of_threads() {
    let expected = "0 threads: loaded\n1 threads: loaded\n2 threads: loaded\n";
    assert_eq!(build("loader_threads.c", &[MODULE]).run(|_| {}), expected);
}

#[test]
fn parameters_in_a_buffer_lie_as_on_the_device() {
    let program = build("parameter_buffer.c", &[("tests/c/driver_api/parameters.ptx", "parameters.ptx")]);
    let found = "-7 1.5 2.5 3.5 4.5 42 0.25 8 16 \n";
    let offsets = "0+4 16+16 32+1 36+4 40+8 48+8 ";
    let expected = format!("56 bytes\n{offsets}{found}{found}host 20 bytes, device 32\n9 1 2 3 4 \n");
    assert_eq!(program.run(|_| {}), expected);
}

#[test]
fn addresses_are_pointers() {
    assert_eq!(build("interoperability.cpp", &[]).run(|_| {}), "primary context: 1\n1, distance 4092\n");
}
