//! Objects with NVIDIA's runtime library linked in, or what looks like it, are led to ours.

use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::{Scene, succeeds};

/// What a program of `uses.c` prints when all its functions are ours, but for the one that ours lacks and the one that is too short.
fn led(major: u32, version: u32) -> String {
    format!(
        "ours {major} __cudaRegisterFatBinary\nversion {major}000\n\
         ours {major} 1 2 3 4 5 6 7 1.5 2.5 3.5 4.5 5.5 6.5 7.5 8.5 9.5\nanswer 9.5\n\
         ours {major} cudaFree\nours {major} cudaFree\nfree 0 0\nshort 0\nembedded {version} cudaOnlyHere\n{}\
         ours {major} __cudaUnregisterFatBinary\n",
        format!("ours {major} cudaGetDeviceCount\n").repeat(8)
    )
}

/// What it prints when it is left alone.
fn left_alone(version: u32) -> String {
    format!(
        "embedded {version} __cudaRegisterFatBinary\nversion {version}\nembedded {version} 77.5\nanswer 0\n\
         embedded {version} cudaFree\nembedded {version} cudaFree\nfree 35 35\nshort 0\nembedded {version} cudaOnlyHere\n{}\
         embedded {version} __cudaUnregisterFatBinary\n",
        format!("embedded {version} cudaGetDeviceCount\n").repeat(8)
    )
}

#[test]
fn programs_are_led_wherever_they_are_loaded() {
    let scene = Scene::new("programs_are_led_wherever_they_are_loaded");
    for (name, arguments) in [
        ("pie", &["-pie", "-fPIE"][..]),
        ("fixed", &["-no-pie", "-fno-pie"]),
        ("eager", &["-Wl,-z,now"]),
        ("sorted", &["-ffunction-sections", "-Wl,--gc-sections", "-Wl,-z,noseparate-code"]),
    ] {
        for (version, major) in [(11080, 11), (12090, 12), (13000, 13)] {
            scene.embedding_program(name, version, arguments);
            assert_eq!(succeeds(&mut scene.plain(name)).0, left_alone(version), "{name}, without the auditing library");
            let (printed, explained) = succeeds(&mut scene.audited(name));
            assert_eq!(printed, led(major, version), "{name}\n{explained}");
            let short = format!(" functions of the CUDA {major}.{} runtime", version % 1000 / 10);
            assert!(
                explained.contains(&short) && explained.contains("__cudaGetProcAddress (too short)"),
                "{explained}"
            );
            assert!(explained.contains("cudaOnlyHere (not in warploom's)"), "{explained}");
        }
    }
}

#[test]
fn functions_that_indirect_branches_may_lead_to_keep_their_mark() {
    let scene = Scene::new("functions_that_indirect_branches_may_lead_to_keep_their_mark");
    scene.embedding_program("marked", 13000, &["-fcf-protection=full", "-Wl,-z,ibt"]);
    let printed = succeeds(&mut scene.audited("marked")).0;
    assert_eq!(printed, led(13, 13000).replace("short 0\n", "short 0\nmarked\n"));
}

#[test]
fn libraries_are_led_each_time_they_are_opened() {
    let scene = Scene::new("libraries_are_led_each_time_they_are_opened");
    scene.embedding_library("a.so", 12090, &[]);
    scene.embedding_library("b.so", 13000, &[]);
    scene.compile(&["opener.c"], "opener", &[]);
    // Two majors in one process, one after the other and again.
    let order = [("./a.so", 12, 12090), ("./b.so", 13, 13000), ("./a.so", 12, 12090), ("./a.so", 12, 12090)];
    let printed = succeeds(scene.audited("opener").args(order.map(|(library, ..)| library))).0;
    assert_eq!(printed, order.map(|(_, major, version)| led(major, version)).concat());
    // Hundreds of times: nothing runs out.
    let printed = succeeds(scene.audited("opener").args(["./b.so"; 300])).0;
    assert_eq!(printed, led(13, 13000).repeat(300));
}

#[test]
fn a_library_that_a_program_needs_is_led_before_its_constructors_run() {
    let scene = Scene::new("a_library_that_a_program_needs_is_led_before_its_constructors_run");
    scene.embedding_library("libneeded.so", 13000, &["-Wl,-soname,libneeded.so"]);
    scene.compile(&["opener.c"], "program", &["-Wl,--no-as-needed", "-L.", "-lneeded", "-Wl,-rpath,$ORIGIN"]);
    let printed = succeeds(&mut scene.audited("program")).0;
    assert_eq!(printed, "ours 13 __cudaRegisterFatBinary\nours 13 __cudaUnregisterFatBinary\n");
}

#[test]
fn both_majors_are_led_in_one_process() {
    let scene = Scene::new("both_majors_are_led_in_one_process");
    scene.embedding_library("liba.so", 12090, &["-Wl,-soname,liba.so"]);
    scene.embedding_program("program", 13000, &["-Wl,--no-as-needed", "-L.", "-la", "-Wl,-rpath,$ORIGIN"]);
    let printed = succeeds(&mut scene.audited("program")).0;
    let expected = format!("ours 12 __cudaRegisterFatBinary\n{}ours 12 __cudaUnregisterFatBinary\n", led(13, 13000));
    assert_eq!(printed, expected);
}

#[test]
fn what_cannot_be_led_is_left_alone_and_explained() {
    let scene = Scene::new("what_cannot_be_led_is_left_alone_and_explained");
    let expect = |name: &str, version: u32, why: &str| {
        let (printed, explained) = succeeds(&mut scene.audited(name));
        assert_eq!(printed, left_alone(version), "{name}\n{explained}");
        assert!(explained.contains("left alone: ") && explained.contains(why), "{name}: {explained}");
    };
    scene.embedding_program("stripped", 13000, &["-s"]);
    expect("stripped", 13000, "none of those whose layout is known (11.8, 12.2, ");
    scene.embedding_program("older", 10020, &[]);
    expect("older", 10020, "the CUDA 10.2 runtime is linked into it, and warploom has none");
    scene.embedding_program("with_ours", 13000, &["-Wl,--defsym=warploom_runtime=0"]);
    expect("with_ours", 13000, "warploom's CUDA runtime is linked into it");
    // Names of version 12 with a version of 13.
    scene.embedding_program("unclear", 13000, &["-DNAMED_LIKE_12"]);
    expect("unclear", 13000, "cannot be told");
    std::fs::remove_file(scene.path("ours/libcudart.so.13")).expect("it is there");
    scene.embedding_program("without", 13000, &[]);
    expect("without", 13000, "warploom has none of that major version");
    // What it is all for is only told if somebody asks.
    let (_, silent) = succeeds(scene.audited("without").env_remove("WARPLOOM_EXPLAIN"));
    assert_eq!(silent, "");
}

/// What is different from the build whose layout is known.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Build {
    Known,
    /// From the hundredth function on all lie further back, as behind one that has grown.
    Between,
    /// One lies 16 bytes further back.
    Foreign(&'static str),
}

/// Functions where NVIDIA's runtime of this version has them, all of which answer 35.
pub(crate) fn layout(version: u32, build: Build) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../registry/runtime/layouts.txt");
    let text = std::fs::read_to_string(path).expect("the layouts are there");
    let version = format!("version {version}\n");
    let functions = text.split_once(&version).expect("the version is known").1.split("\n\n").next();
    let mut assembly = ".text\n.p2align 4\nfirst:\n".to_owned();
    for (number, line) in functions.unwrap_or_default().lines().enumerate() {
        let [at, size, name] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (further, shorter) = match build {
            Build::Between if number >= 100 => (0x110, 0),
            Build::Foreign(displaced) if displaced == name => (16, 16),
            _ => (0, 0),
        };
        // One has three bytes.
        let body = if size.len() > 1 || size > "3" { "push $35\npop %rax" } else { "xor %eax, %eax" };
        let _ = write!(
            assembly,
            ".org first + 0x{at} + {further}, 0x90\n.globl {name}\n.hidden {name}\n.type {name}, @function\n{name}:\n.cfi_startproc\n\
             {body}\nret\n.org {name} + 0x{size} - {shorter}, 0x90\n.cfi_endproc\n.size {name}, . - {name}\n"
        );
    }
    assembly + ".section .note.GNU-stack, \"\", @progbits\n"
}

#[test]
fn stripped_programs_are_led_by_where_their_functions_begin() {
    let scene = Scene::new("stripped_programs_are_led_by_where_their_functions_begin");
    let builds = [
        (12090, "12.9", 12, Build::Known),
        (13000, "13.0", 13, Build::Known),
        (13040, "13.4", 13, Build::Between),
        (13040, "13.4", 13, Build::Known),
    ];
    for (version, named, major, build) in builds {
        for (name, arguments) in [("pie", &["-pie", "-fPIE", "-s"][..]), ("fixed", &["-no-pie", "-fno-pie", "-s"])] {
            std::fs::write(scene.path("layout.s"), layout(version, build)).expect("the folder takes files");
            scene.compile(&["laid_out.c"], name, &[&["layout.s"], arguments].concat());
            assert_eq!(succeeds(&mut scene.plain(name)).0, "35 35 no driver\n", "{name}, without the auditing library");
            let (printed, explained) = succeeds(&mut scene.audited(name));
            let ours = format!("ours {major} cudaGetDeviceCount\nours {major} cudaFree\n0 0 no driver\n");
            assert_eq!(printed, ours, "{name} {version}\n{explained}");
            assert!(explained.contains(&format!(" functions of the CUDA {named} runtime")), "{explained}");
        }
    }
    // One of them elsewhere, and it is none of NVIDIA's.
    std::fs::write(scene.path("layout.s"), layout(13000, Build::Foreign("cudaMemcpy3D")))
        .expect("the folder takes files");
    scene.compile(&["laid_out.c"], "other", &["layout.s", "-s"]);
    let (printed, explained) = succeeds(&mut scene.audited("other"));
    assert_eq!(printed, "35 35 no driver\n", "{explained}");
    assert!(explained.contains("none of those whose layout is known"), "{explained}");
    // The table for unwinders is no table.
    let whole = std::fs::read(scene.path("pie")).expect("the program can be read");
    type Damage = fn(&mut Image, usize);
    let damages: [(&str, Damage); 5] = [
        ("of functions of noise", |image, header| {
            // Where they are is told from there (`eh_frame_ptr`, a 32-bit distance).
            let start = image.number(header + 8, 8) + 4;
            let frames = start + image.number(start, 4);
            image.0[frames + 4..frames + 0x400].fill(0xe7);
        }),
        ("behind the end", |image, header| image.put(header + 0x20, 8, 1 << 40)),
        ("of another place", |image, header| image.put(header + 0x10, 8, u64::MAX - 7)),
        ("cut off", |image, header| image.put(header + 0x20, 8, 1)),
        ("of noise", |image, header| {
            let (start, size) = (image.number(header + 8, 8), image.number(header + 0x20, 8));
            image.0[start + 1..start + size].fill(0xe7);
        }),
    ];
    for (what, damage) in damages {
        let mut image = Image(whole.clone());
        let header = image.segment(0x6474_e550);
        damage(&mut image, header);
        std::fs::write(scene.path("damaged"), &image.0).expect("the folder takes files");
        std::fs::set_permissions(scene.path("damaged"), Permissions::from_mode(0o755)).expect("it is ours");
        let (printed, explained) = succeeds(&mut scene.audited("damaged"));
        assert_eq!(printed, "35 35 no driver\n", "{what}\n{explained}");
        assert!(explained.contains("left alone: ") && !explained.contains("panicked"), "{what}\n{explained}");
    }
}

/// Bytes of an ELF file, as numbers at places.
struct Image(Vec<u8>);

impl Image {
    fn number(&self, at: usize, size: usize) -> usize {
        self.0[at..at + size].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
    }

    fn put(&mut self, at: usize, size: usize, number: u64) {
        self.0[at..at + size].copy_from_slice(&number.to_le_bytes()[..size]);
    }

    /// Where the header of the segment of this type is (`e_phoff`, `e_phnum`, `p_type`).
    fn segment(&self, kind: usize) -> usize {
        let (start, count) = (self.number(0x20, 8), self.number(0x38, 2));
        let mut headers = (0..count).map(|index| start + index * 56);
        headers.find(|header| self.number(*header, 4) == kind).expect("there is such a segment")
    }

    /// Where the header of the first section of this type is (`e_shoff`, `e_shnum`, `sh_type`).
    fn section(&self, kind: usize) -> usize {
        let (start, count) = (self.number(0x28, 8), self.number(0x3c, 2));
        let mut headers = (0..count).map(|index| start + index * 64);
        headers.find(|header| self.number(header + 4, 4) == kind).expect("there is such a section")
    }
}

#[test]
fn damaged_files_run_as_they_would_alone() {
    const SYMTAB: usize = 2;
    let scene = Scene::new("damaged_files_run_as_they_would_alone");
    scene.embedding_program("whole", 13000, &[]);
    let whole = std::fs::read(scene.path("whole")).expect("the program can be read");
    type Damage = fn(&mut Image);
    let damages: [(&str, Damage); 10] = [
        ("section headers behind the end", |image| image.put(0x28, 8, 1 << 40)),
        ("section headers at an odd place", |image| image.put(0x28, 8, 0x41)),
        ("no section headers", |image| image.put(0x3c, 2, 0)),
        ("a symbol table behind the end", |image| image.put(image.section(SYMTAB) + 0x18, 8, u64::MAX - 8)),
        ("a symbol table of nearly all addresses", |image| image.put(image.section(SYMTAB) + 0x20, 8, u64::MAX - 23)),
        ("a symbol table without names", |image| image.put(image.section(SYMTAB) + 0x28, 4, 0xffff)),
        ("symbols of no size", |image| image.put(image.section(SYMTAB) + 0x38, 8, 0)),
        ("functions outside the code", |image| {
            let (start, size) =
                (image.number(image.section(SYMTAB) + 0x18, 8), image.number(image.section(SYMTAB) + 0x20, 8));
            for symbol in (start..start + size).step_by(24) {
                let value = image.number(symbol + 8, 8) as u64;
                image.put(symbol + 8, 8, value ^ (1 << 40));
            }
        }),
        ("functions of nearly all addresses", |image| {
            let (start, size) =
                (image.number(image.section(SYMTAB) + 0x18, 8), image.number(image.section(SYMTAB) + 0x20, 8));
            for symbol in (start..start + size).step_by(24) {
                image.put(symbol + 16, 8, u64::MAX);
            }
        }),
        ("names that do not end", |image| {
            let link = image.number(image.section(SYMTAB) + 0x28, 4);
            let names = image.number(0x28, 8) + link * 64;
            let (start, size) = (image.number(names + 0x18, 8), image.number(names + 0x20, 8));
            image.0[start..start + size].fill(b'c');
        }),
    ];
    for (what, damage) in damages {
        let mut image = Image(whole.clone());
        damage(&mut image);
        let name = what.replace(' ', "_");
        std::fs::write(scene.path(&name), &image.0).expect("the folder takes files");
        std::fs::set_permissions(scene.path(&name), Permissions::from_mode(0o755)).expect("it is ours");
        let (printed, explained) = succeeds(&mut scene.audited(&name));
        assert_eq!(printed, left_alone(13000), "{what}\n{explained}");
        assert!(!explained.contains("panicked"), "{what}\n{explained}");
    }
}

#[test]
fn read_only_files_and_started_by_the_dynamic_linker() {
    let scene = Scene::new("read_only_files_and_started_by_the_dynamic_linker");
    for (name, arguments) in [("pie", &["-pie", "-fPIE"][..]), ("fixed", &["-no-pie", "-fno-pie"])] {
        scene.embedding_program(name, 13000, arguments);
        std::fs::set_permissions(scene.path(name), Permissions::from_mode(0o555)).expect("it is ours");
        let before = std::fs::read(scene.path(name)).expect("the program can be read");
        assert_eq!(succeeds(&mut scene.audited(name)).0, led(13, 13000), "{name}");
        assert_eq!(before, std::fs::read(scene.path(name)).expect("the program can be read"), "{name} has changed");
        // Then /proc/self/exe is not the program.
        let printed = succeeds(scene.audited("/lib64/ld-linux-x86-64.so.2").arg(scene.path(name))).0;
        assert_eq!(printed, led(13, 13000), "{name}");
    }
}

#[test]
fn a_runtime_of_ours_that_does_not_load_ends_the_program_with_the_reason() {
    let scene = Scene::new("a_runtime_of_ours_that_does_not_load_ends_the_program_with_the_reason");
    scene.embedding_program("program", 13000, &[]);
    let needs_what_is_not_there = ["-DMAJOR=13", "-Wl,--no-as-needed", "-L.", "-lgone", "-Wl,-soname,libcudart.so.13"];
    scene.library("named.c", "libgone.so", &["-DFOREIGN=\"gone\"", "-Wl,-soname,libgone.so"]);
    scene.library("runtime.c", "ours/libcudart.so.13", &needs_what_is_not_there);
    std::fs::remove_file(scene.path("libgone.so")).expect("it is there");
    let output = scene.audited("program").output().expect("the program starts");
    assert_eq!(output.status.code(), Some(127));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("libcudart.so.13: libgone.so"), "{errors}");
}

#[test]
fn where_new_code_may_not_be_executed_programs_are_left_alone() {
    let scene = Scene::new("where_new_code_may_not_be_executed_programs_are_left_alone");
    scene.embedding_program("program", 13000, &[]);
    scene.compile(&["hardened.c"], "hardened", &[]);
    let mut command = scene.audited("hardened");
    let output = command.arg(scene.path("program")).output().expect("the program starts");
    if output.status.code() == Some(77) {
        // Not what the test harness captures.
        let _ = writeln!(std::io::stderr(), "SKIPPED: this kernel cannot refuse new code to be executed (Linux 6.3)");
        return;
    }
    let explained = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), left_alone(13000), "{explained}");
    assert!(explained.contains("left alone: the system does not let new code be executed"), "{explained}");
}
