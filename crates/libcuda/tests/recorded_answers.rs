//! Programs of API scenarios, compiled against our headers and run on our driver, against what they printed on an H200.
//!
//! Each section runs in a process of its own. Where we differ on purpose, [`DELIBERATE`] says why.
#[path = "recorded_answers/anisotropy.rs"]
mod anisotropy;
#[path = "support/library.rs"]
mod library;
#[path = "../../../tests/settings.rs"]
mod settings;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A recorded line, ours instead, and why.
struct Difference {
    section: &'static str,
    /// Counts from 1 in the section.
    line: usize,
    recorded: &'static str,
    ours: &'static str,
    reason: &'static str,
}

const DELIBERATE: &[Difference] = &[
    Difference {
        section: "module_basics",
        line: 63,
        recorded: r#"cuModuleLoad(&m2, "/") = CUDA_ERROR_OUT_OF_MEMORY"#,
        ours: r#"cuModuleLoad(&m2, "/") = CUDA_ERROR_FILE_NOT_FOUND"#,
        reason: "the recorded driver takes the size of a directory for that of a file",
    },
    Difference {
        section: "jit_options",
        line: 6,
        recorded: "    (uintptr_t)v[4] != 0x4048f5c300000000: 0",
        ours: "    (uintptr_t)v[4] != 0x4048f5c300000000: 1",
        reason: "the recorded driver says that the translation took no time; ours took some",
    },
    Difference {
        section: "jit_options",
        line: 20,
        recorded: "    size 0, first 0",
        ours: "    size 0, first 120",
        reason: "the recorded driver writes one byte into a log buffer of 0 bytes",
    },
    Difference {
        section: "functions",
        line: 19,
        recorded: "    v >= 256: 0",
        ours: "    v >= 256: 1",
        reason: "the recorded driver's compiler keeps the local array of 256 bytes in registers",
    },
    Difference {
        section: "stale_memory",
        line: 22,
        recorded: "cuIpcOpenEventHandle(&event, message.event[0]) = CUDA_SUCCESS",
        ours: "cuIpcOpenEventHandle(&event, message.event[0]) = CUDA_ERROR_MAP_FAILED",
        reason: "of a process that has ended nothing is left behind, not even an event",
    },
    Difference {
        section: "descriptions",
        line: 11,
        recorded: "cuDevResourceGenerateDesc(&desc, both, 2) = CUDA_SUCCESS",
        ours: "cuDevResourceGenerateDesc(&desc, both, 2) = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION",
        reason: "the same multiprocessors twice",
    },
    Difference {
        section: "descriptions",
        line: 12,
        recorded: "cuDevResourceGenerateDesc(&desc, both, 2) = CUDA_SUCCESS",
        ours: "cuDevResourceGenerateDesc(&desc, both, 2) = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION",
        reason: "parts of two splits, which the manual of CUDA 13.5 forbids",
    },
    Difference {
        section: "descriptions",
        line: 13,
        recorded: "cuDevResourceGenerateDesc(&desc, both, 2) = CUDA_SUCCESS",
        ours: "cuDevResourceGenerateDesc(&desc, both, 2) = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION",
        reason: "a device and a part of it, which the manual of CUDA 13.5 forbids",
    },
    Difference {
        section: "creation",
        line: 10,
        recorded: "cuGreenCtxCreate(&h, desc, dev, 0) = CUDA_ERROR_INVALID_VALUE",
        ours: "cuGreenCtxCreate(&h, desc, dev, 0) = CUDA_SUCCESS",
        reason: "flags of 0 are documented since CUDA 13.1",
    },
    Difference {
        section: "stale_context",
        line: 2,
        recorded: "cuCtxSetCurrent(ctx[0]) = CUDA_SUCCESS",
        ours: "cuCtxSetCurrent(ctx[0]) = CUDA_ERROR_CONTEXT_IS_DESTROYED",
        reason: "what is destroyed does not become current; calls in it would fail",
    },
    detached(
        9,
        "cuLaunchKernel(fn(\"store\"), 1, 1, 1, 1, 1, 1, 0, s, args, 0) = CUDA_ERROR_CONTEXT_IS_DESTROYED",
        "cuLaunchKernel(fn(\"store\"), 1, 1, 1, 1, 1, 1, 0, s, args, 0) = CUDA_ERROR_STREAM_DETACHED",
    ),
    detached(
        11,
        "cuStreamSynchronize(s) = CUDA_ERROR_CONTEXT_IS_DESTROYED",
        "cuStreamSynchronize(s) = CUDA_ERROR_STREAM_DETACHED",
    ),
    detached(12, "cuStreamQuery(s) = CUDA_ERROR_CONTEXT_IS_DESTROYED", "cuStreamQuery(s) = CUDA_ERROR_STREAM_DETACHED"),
    detached(
        13,
        "cuEventRecord(e, s) = CUDA_ERROR_CONTEXT_IS_DESTROYED",
        "cuEventRecord(e, s) = CUDA_ERROR_STREAM_DETACHED",
    ),
    detached(
        14,
        "cuStreamGetFlags(s, &value) = CUDA_ERROR_CONTEXT_IS_DESTROYED",
        "cuStreamGetFlags(s, &value) = CUDA_ERROR_STREAM_DETACHED",
    ),
    detached(
        16,
        "cuStreamSynchronize(s) = CUDA_ERROR_CONTEXT_IS_DESTROYED",
        "cuStreamSynchronize(s) = CUDA_ERROR_STREAM_DETACHED",
    ),
    detached(
        17,
        "cuMemsetD8Async(a, 0, 4, s) = CUDA_ERROR_CONTEXT_IS_DESTROYED",
        "cuMemsetD8Async(a, 0, 4, s) = CUDA_ERROR_STREAM_DETACHED",
    ),
    detached(18, "cuStreamDestroy(s) = CUDA_ERROR_CONTEXT_IS_DESTROYED", "cuStreamDestroy(s) = CUDA_SUCCESS"),
    Difference {
        section: "checkpoints_wild",
        line: 4,
        recorded: "cuCheckpointProcessGetRestoreThreadId(getpid(), &thread) = CUDA_SUCCESS",
        ours: "cuCheckpointProcessGetRestoreThreadId(getpid(), &thread) = CUDA_ERROR_NOT_SUPPORTED",
        reason: "no checkpoint is made, so no thread is for restoring one",
    },
    Difference {
        section: "several_devices",
        line: 1,
        recorded: "    launches over several devices: 1",
        ours: "    launches over several devices: 0",
        reason: "grids of several devices cannot wait for each other; that of one device works as recorded",
    },
    with_sampler(
        6,
        "    texture 0, sampler of 0: CUDA_SUCCESS 0 15 0",
        "    texture 0, sampler of 0: CUDA_SUCCESS 0 10 0",
    ),
    with_sampler(
        7,
        "    texture 0, sampler of 1: CUDA_SUCCESS 0 15 0",
        "    texture 0, sampler of 1: CUDA_SUCCESS 0 10 0",
    ),
    with_sampler(
        8,
        "    texture 0, sampler of 2: CUDA_SUCCESS 0 15 0",
        "    texture 0, sampler of 2: CUDA_SUCCESS 0 10 0",
    ),
    with_sampler(
        9,
        "    texture 1, sampler of 0: CUDA_SUCCESS 25.1875 0.25 25.1875",
        "    texture 1, sampler of 0: CUDA_SUCCESS 107.5 0.25 0.25",
    ),
    with_sampler(
        10,
        "    texture 1, sampler of 1: CUDA_SUCCESS 25.1875 0.25 25.1875",
        "    texture 1, sampler of 1: CUDA_SUCCESS 107.5 0.25 0.25",
    ),
    with_sampler(
        11,
        "    texture 1, sampler of 2: CUDA_SUCCESS 25.1875 0.25 25.1875",
        "    texture 1, sampler of 2: CUDA_SUCCESS 107.5 0.25 0.25",
    ),
    with_sampler(
        12,
        "    texture 2, sampler of 0: CUDA_SUCCESS 0 0.588235319 0",
        "    texture 2, sampler of 0: CUDA_SUCCESS 0 0.392156869 0",
    ),
    with_sampler(
        13,
        "    texture 2, sampler of 1: CUDA_SUCCESS 0 0.588235319 0",
        "    texture 2, sampler of 1: CUDA_SUCCESS 0 0.392156869 0",
    ),
    with_sampler(
        14,
        "    texture 2, sampler of 2: CUDA_SUCCESS 0 0.588235319 0",
        "    texture 2, sampler of 2: CUDA_SUCCESS 0 0.392156869 0",
    ),
    of_two_slices(
        6,
        "    3 dimensions, address mode 1: ok: cf7e9dc5 3d3f0000 00000000 3ea82000 00000000",
        "    3 dimensions, address mode 1: ok: 2588bdc5 3d3f0000 00000000 3ea82000 00000000",
    ),
    of_two_slices(
        7,
        "    3 dimensions, address mode 3: ok: fd94fdc5 3e89a000 00000000 3ea82000 00000000",
        "    3 dimensions, address mode 3: ok: 47bc5dc5 3e89a000 00000000 3ea82000 00000000",
    ),
    of_two_slices(
        24,
        "    3 dimensions, address mode 1: ok: 861167a5 3d3f0000 3f2a8000 3ef96000 3f35b5b6",
        "    3 dimensions, address mode 1: ok: 3aaec7a5 3d3f0000 3f2a8000 3ef96000 3f35b5b6",
    ),
    of_two_slices(
        25,
        "    3 dimensions, address mode 3: ok: 41e6cc15 3e89a000 3f2a8000 3ef96000 3efefeff",
        "    3 dimensions, address mode 3: ok: 87cb6c15 3e89a000 3f2a8000 3ef96000 3efefeff",
    ),
    Difference {
        section: "wholes",
        line: 44,
        recorded: "    box: 51829670 3e300000 3c3e0000 3f2c0000 3f800000 3de92000 3d1b8000 3e1a8000 3f1fffa0",
        ours: "    box: 419dd670 3e300000 3c3e0000 3f2c0000 3f800000 3de92000 3d1b8000 3e1a8000 3f1fffa0",
        reason: OF_TWO_SLICES,
    },
    of_half_a_row(
        140,
        "    view 9: fc0c599d 3ce000e0 3da870a8 3e0c708c 3e44a8c5 00000000 00000000 00000000 00000000",
        "    view 9: 96dd3194 3ce000e0 3da870a8 3e0c708c 3e44a8c5 3e771cf7 3e97aa98 3eb3c6b4 3e8b9e8c",
    ),
    of_half_a_row(
        141,
        "    view 12: 700c05a4 3d6001c0 3e287151 3e8c7119 3ec4a989 00000000 00000000 00000000 00000000",
        "    view 12: 5e90be63 3d6001c0 3e287151 3e8c7119 3ec4a989 3cf1c1e4 3e0ea91d 3e5f19be 3ea73d4e",
    ),
    of_half_a_row(
        142,
        "    view 14: 521f6a4c 150e0700 312a231c 00000000 00000000 00000000 00000000 00000000 00000000",
        "    view 14: f9b4a124 150e0700 312a231c 00000000 00000000 4bd4cdc6 45cee9e2 00000000 00000000",
    ),
    of_half_a_row(
        143,
        "    view 17: 431f6a4c 150e0700 312a231c 00000000 00000000 00000000 00000000 00000000 00000000",
        "    view 17: 51b4a124 150e0700 312a231c 00000000 00000000 11d4cdc6 29cee9e2 00000000 00000000",
    ),
    half_without_number(
        56,
        "    view 20: 47da3dc5 bf678000 00000000 392fa000 00000000",
        "    view 20: 5d1a1ce5 bf678000 00000000 392fa000 00000000",
    ),
    half_without_number(
        97,
        "    view 20: 47da3dc5 bf678000 00000000 392fa000 00000000",
        "    view 20: 5d1a1ce5 bf678000 00000000 392fa000 00000000",
    ),
    half_without_number(
        117,
        "    view 21: d101bdc5 bf678000 7faf6000 bfb20000 c2822000",
        "    view 21: 5992d4d2 bf678000 7fffffff bfb20000 c2822000",
    ),
    half_without_number(
        174,
        "    view 20: 47da3dc5 bf678000 00000000 392fa000 00000000",
        "    view 20: 5d1a1ce5 bf678000 00000000 392fa000 00000000",
    ),
    half_without_number(
        215,
        "    view 20: 47da3dc5 bf678000 00000000 392fa000 00000000",
        "    view 20: 5d1a1ce5 bf678000 00000000 392fa000 00000000",
    ),
    half_without_number(
        235,
        "    view 21: d101bdc5 bf678000 7faf6000 bfb20000 c2822000",
        "    view 21: 5992d4d2 bf678000 7fffffff bfb20000 c2822000",
    ),
    half_without_number(
        259,
        "    view 20: 47da3dc5 bf678000 00000000 392fa000 00000000",
        "    view 20: 5d1a1ce5 bf678000 00000000 392fa000 00000000",
    ),
    half_without_number(
        283,
        "    view 20: 47da3dc5 bf678000 00000000 392fa000 00000000",
        "    view 20: 5d1a1ce5 bf678000 00000000 392fa000 00000000",
    ),
    half_without_number(
        307,
        "    view 20: 47da3dc5 bf678000 00000000 392fa000 00000000",
        "    view 20: 5d1a1ce5 bf678000 00000000 392fa000 00000000",
    ),
    Difference {
        section: "unbacked_copy_in",
        line: 1,
        recorded: "    filled from 0 0 0, 64 x 64: ok",
        ours: "    filled from 0 0 0, 64 x 64: LAUNCH_FAILED",
        reason: "a copy from memory of the host has been done when the call comes back, which then knows of its fault",
    },
    written_twice(
        33,
        "    from 0 0 0, 300 x 300: ok a0467335 0 10800ab 112b0ab",
        "    from 0 0 0, 300 x 300: ok 6c6fbf35 0 10800ab 112b12b",
    ),
    written_twice(
        36,
        "    fetch 290 290 of level 0: ok 11220a2 0 0 0",
        "    fetch 290 290 of level 0: ok 1122122 0 0 0",
    ),
];

/// A line about a texture and a sampler that stands beside it.
const fn with_sampler(line: usize, recorded: &'static str, ours: &'static str) -> Difference {
    let reason = "the recorded driver samples the texture as it was made, but reads coordinates as whole numbers, where a sampler stands beside it";
    Difference { section: "sampler_of_another", line, recorded, ours, reason }
}

const OF_TWO_SLICES: &str = "of sums over two slices that lie in the middle between two results hardware rounds one in some thousands the other way";

/// A line about what lies between texels of sRGB in two slices.
const fn of_two_slices(line: usize, recorded: &'static str, ours: &'static str) -> Difference {
    Difference { section: "between_colours", line, recorded, ours, reason: OF_TWO_SLICES }
}

/// A line about a view of an image of eight bytes a texel.
const fn of_half_a_row(line: usize, recorded: &'static str, ours: &'static str) -> Difference {
    let reason = "the recorded driver's view shows the first eight of sixteen texels, and 0 behind them, where a copy finds what was put there";
    Difference { section: "interleaved", line, recorded, ours, reason }
}

/// A line about texels of halves some of which are no numbers.
const fn half_without_number(line: usize, recorded: &'static str, ours: &'static str) -> Difference {
    let reason = "a half that is no number becomes the one float that stands for all of them";
    Difference { section: "plain_memory", line, recorded, ours, reason }
}

/// A line about texels that lie in the same memory, both written by one copy.
const fn written_twice(line: usize, recorded: &'static str, ours: &'static str) -> Difference {
    let reason = "which of both is written last is nowhere said";
    Difference { section: "some_tiles", line, recorded, ours, reason }
}

/// A line about a stream whose green context is gone.
const fn detached(line: usize, recorded: &'static str, ours: &'static str) -> Difference {
    let reason = "the code that the manual has had for it since CUDA 13.1; such a stream can still be destroyed";
    Difference { section: "destruction", line, recorded, ours, reason }
}

/// Lines that a callback prints on a thread of its own: where they stand among those of the main thread is chance.
const ASYNCHRONOUS: [(&str, &str); 2] = [
    ("streams_events", "    callback status CUDA_SUCCESS"),
    ("streams_events", "    cuda call in callback CUDA_ERROR_NOT_PERMITTED"),
];

/// Launches that fault, with half a pointer for a parameter: calls behind them answer with the fault once it has come, which the recorded driver took longer for than
/// the calls did.
const FAULTING: [(&str, usize); 1] = [("legacy_launch", 29)];
const FAULT: &str = "CUDA_ERROR_ILLEGAL_ADDRESS";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder in which the library has its soname, with the compiled programs in it.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("recorded_answers");
        std::fs::create_dir_all(&folder).expect("cargo's folder for tests is writable");
        for name in ["libcuda.so", "libcuda.so.1"] {
            let link = folder.join(name);
            // A link of an earlier run may lead elsewhere.
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(library::library(), &link).expect("the folder is writable");
        }
        let answers = [
            "anisotropy",
            "answers",
            "arrays",
            "backing",
            "blocks",
            "formats",
            "green",
            "interop",
            "links",
            "nowhere",
            "sharing",
        ];
        let answers = answers.map(|name| format!("c/answers/{name}.c"));
        let programs = answers.into_iter().chain(["goldens/scenarios.c".to_owned()]);
        for source in programs {
            let source = root().join("tests").join(source);
            let program = folder.join(source.file_stem().expect("a file has a name"));
            let mut compiler = Command::new("cc");
            compiler.args(["-w", "-I"]).arg(root().join("include")).arg(&source).arg("-o").arg(&program);
            compiler.arg("-L").arg(&folder).args(["-lcuda", "-ldl", "-lpthread"]);
            let output = compiler.output().expect("a C compiler is installed");
            assert!(output.status.success(), "{source:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        folder
    })
}

/// The lines of a section, without the run of blanks before the answer.
fn section(text: &str, name: &str) -> Vec<String> {
    let head = format!("== {name}");
    let lines = text.lines().skip_while(|line| *line != head).skip(1).take_while(|line| !line.starts_with("== "));
    let squeeze = |line: &str| {
        let (call, answer) = line.rsplit_once(" = ").unwrap_or((line, ""));
        if answer.is_empty() { line.trim_end().to_owned() } else { format!("{} = {answer}", call.trim_end()) }
    };
    let is_asynchronous = |line: &String| ASYNCHRONOUS.contains(&(name, line.as_str()));
    let (asynchronous, mut lines): (Vec<String>, Vec<String>) = lines.map(squeeze).partition(is_asynchronous);
    lines.extend(asynchronous);
    lines
}

/// What ours prints where `recorded` was printed as the line number `line` of a section.
fn expected<'a>(section: &str, line: usize, recorded: &'a str) -> &'a str {
    let difference = DELIBERATE.iter().find(|difference| difference.section == section && difference.line == line);
    difference.map_or(recorded, |difference| difference.ours)
}

/// What `program` prints in its section `name`.
fn run(program: &str, name: &str, prepare: impl FnOnce(&mut Command)) -> String {
    let mut command = Command::new(folder().join(program));
    settings::take_out(&mut command).arg(name);
    command.env("LD_LIBRARY_PATH", folder()).env("WARPLOOM_CUDA_VERSION", "13.0");
    // Two parts of a device, and something is left.
    if program == "green" {
        command.env("WARPLOOM_THREADS", "4");
    }
    prepare(&mut command);
    let output = command.output().expect("the program starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn compare(program: &str, golden: &str, name: &str) {
    let recorded = std::fs::read_to_string(root().join(golden)).expect("the recording is part of the repository");
    let recorded = section(&recorded, name);
    let ours = section(&run(program, name, |_| {}), name);
    let mut differences = Vec::new();
    let mut faulted = false;
    for index in 0..ours.len().max(recorded.len()) {
        let nothing = String::new();
        let (ours, recorded) = (ours.get(index).unwrap_or(&nothing), recorded.get(index).unwrap_or(&nothing));
        if FAULTING.iter().any(|(section, launch)| *section == name && index >= *launch) {
            let call = recorded.rsplit_once(" = ").map_or("", |(call, _)| call);
            let fault = format!("{call} = {FAULT}");
            if *ours == fault {
                faulted = true;
                continue;
            }
        }
        // What has faulted stays so.
        if faulted || *ours != expected(name, index + 1, recorded) {
            differences.push(format!("line {}\n  ours     {ours}\n  recorded {recorded}", index + 1));
        }
    }
    let (count, shown) = (differences.len(), differences.iter().take(12).cloned().collect::<Vec<_>>().join("\n"));
    assert!(count == 0, "{count} of {} lines differ:\n{shown}", recorded.len());
}

macro_rules! sections {
    ($module:ident, $program:literal, $golden:literal: $($name:ident)*) => {
        mod $module {
            $(#[test] fn $name() { super::compare($program, $golden, stringify!($name)); })*

            #[test]
            fn no_section_is_left_out() {
                let golden = std::fs::read_to_string(super::root().join($golden)).expect("the recording is there");
                let recorded: Vec<&str> = golden.lines().filter_map(|line| line.strip_prefix("== ")).collect();
                assert_eq!(recorded, [$(stringify!($name)),*]);
            }
        }
    };
}

sections! { scenarios, "scenarios", "tests/goldens/scenarios.golden":
    before_init context_stack context_threads primary module_basics linker launch_params sticky memory streams_events arrays
    library entry_points
}

sections! { answers, "answers", "tests/c/answers/answers.golden":
    old_abi_under_second old_abi_without_context old_abi_contexts attach_detach limits_flags devices jit_options ptx_texts
    images functions globals_init launch_limits legacy_launch fault_trap fault_breakpoint fault_null fault_wild
    fault_host_pointer fault_shared fault_local fault_recursion fault_assert fault_misaligned fault_freed
    small_recursion printing fault_other_context copies pointers pools virtual_memory asynchrony stream_handles stale_stream
    stale_event foreign_stream foreign_event stale_function stale_array libraries library_without_context linking
    graphs_capture fork_after_init fork_before_context misc
}

sections! { arrays, "arrays", "tests/c/answers/arrays.golden":
    sparse_arrays deferred_arrays sparse_and_deferred_arrays sampler_unified sampler_unused sampler_of_a_module sampler_parameter
    sampler_parameter_unified sampler_of_another affinity launches_do_not_block launches_block_1 launches_block_0 launches_block_2
    launches_block_empty launches_block_word core_none core_exception core_exception_0 core_exception_word core_exception_2
    core_all core_user core_light core_light_and_exception core_light_and_flags core_not_of_the_host
    core_not_of_the_host_and_flags core_flags core_flags_all core_flags_wrong
}

sections! { formats, "formats", "tests/c/answers/formats.golden":
    numbers shapes described blocks textures ten_bits surfaces plain_memory copies planes between_whole_numbers
    between_colours half_borders
}

sections! { backing, "backing", "tests/c/answers/backing.golden":
    attributes requirements requirements_refused unbacked_copy_in unbacked_copy_out unbacked_texture unbacked_put unbacked_get
    whole unmapped_fetch lists streams sparse_surface not_sparse mipmapped properties some_tiles between boxes mip_tail
    mip_tail_of_layers copies_beyond other_texels
}

sections! { blocks, "blocks", "tests/c/answers/blocks.golden":
    channels block_shapes blocks_described block_memory block_copies between_arrays batches block_textures modes ends wholes views views_of_blocks interleaved references mapped
}

sections! { green, "green", "tests/c/answers/green.golden":
    resources splits descriptions creation current streams multiprocessors events graphs occupancy destruction stale
    stale_context resplit
}

sections! { links, "links", "tests/c/answers/links.golden":
    refused_first refused_between refused_alone text_as_cubin junk_as_cubin text_as_fat_binary junk_as_fat_binary
    bad_text_as_fat_binary defined_twice undefined completed_twice nothing no_such_file
}

sections! { nowhere, "nowhere", "tests/c/answers/nowhere.golden": one_texture two_textures }

sections! { sharing, "sharing", "tests/c/answers/sharing.golden":
    memory_handles mapped_memory_handles opened_memory stale_memory event_handles opened_events external_memory
    external_exports external_semaphores address_range_handles
}

sections! { interop, "interop", "tests/c/answers/interop.golden":
    gl_resources gl_devices gl_buffers resources resources_wild vdpau vdpau_wild egl egl_wild systems_on_a_chip
    systems_on_a_chip_wild profiler checkpoints checkpoints_wild several_devices
}

#[test]
fn where_the_recorded_driver_crashes_ours_answers() {
    let source = std::fs::read_to_string(root().join("tests/c/answers/answers.c")).expect("the program is there");
    let golden =
        std::fs::read_to_string(root().join("tests/c/answers/answers.golden")).expect("the recording is there");
    // The program marks the calls in which the recorded driver crashes.
    let marked = source.matches("N(cu").count();
    let mut answered = 0;
    for name in golden.lines().filter_map(|line| line.strip_prefix("== ")) {
        let text = run("answers", name, |command| {
            command.env("ANSWERS_CRASHING", "1");
        });
        assert!(!text.contains("CRASH signal"), "{text}");
        let recorded = section(&golden, name);
        let mut recorded = recorded.iter().filter_map(|line| line.rsplit_once(" = ")).map(|(call, _)| call).peekable();
        for line in section(&text, name) {
            let Some((call, answer)) = line.rsplit_once(" = ") else { continue };
            if recorded.next_if_eq(&call).is_some() {
                continue;
            }
            answered += 1;
            let clear = ["INVALID_VALUE", "INVALID_HANDLE", "INVALID_CONTEXT", "INVALID_IMAGE"];
            let faulted = FAULTING.iter().any(|(section, _)| *section == name) && answer == FAULT;
            let is_clear = clear.iter().any(|code| answer == format!("CUDA_ERROR_{code}"));
            assert!(is_clear || faulted, "{name}: {call} answers {answer}");
        }
    }
    assert!(marked > 20 && answered == marked, "{answered} of {marked} calls were made");
}

#[test]
fn deliberate_differences_have_reasons_and_are_recorded() {
    let answers = ["answers", "arrays", "backing", "blocks", "formats", "green", "interop", "links", "sharing"]
        .map(|name| format!("c/answers/{name}"));
    let goldens = answers.into_iter().chain(["goldens/scenarios".to_owned()]).map(|golden| {
        let golden = root().join("tests").join(golden).with_extension("golden");
        std::fs::read_to_string(golden).expect("the recording is there")
    });
    let goldens: Vec<String> = goldens.collect();
    for difference in DELIBERATE {
        let recorded = goldens.iter().map(|golden| section(golden, difference.section));
        let lines: Vec<Vec<String>> = recorded.filter(|lines| !lines.is_empty()).collect();
        assert_eq!(lines.len(), 1, "{}", difference.section);
        assert_eq!(lines[0][difference.line - 1], difference.recorded);
        assert!(!difference.reason.is_empty() && difference.ours != difference.recorded);
    }
}
