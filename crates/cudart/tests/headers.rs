//! Our headers of the runtime API say what NVIDIA's do: names, values, layouts, types of functions, what plain names stand for.
//!
//! clang lists what NVIDIA's headers declare; probes in C and C++ that ask for all of it are compiled with either set of headers, and
//! must print the same.
#[path = "support/library.rs"]
mod library;
#[path = "support/pypi.rs"]
mod pypi;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::Value;

/// A version of NVIDIA's headers: its number, the packages that have them and the name they are installed under, and the folders in those.
struct Version {
    number: u32,
    name: &'static str,
    packages: fn() -> Vec<String>,
    folders: &'static [&'static str],
}

const VERSIONS: [Version; 2] = [
    Version {
        number: 12090,
        name: "cuda-12.9",
        packages: || ["nvidia-cuda-runtime-cu12==12.9.79", "nvidia-cuda-nvcc-cu12==12.9.86"].map(str::to_owned).into(),
        folders: &["nvidia/cuda_runtime/include", "nvidia/cuda_nvcc/include"],
    },
    Version { number: 13050, name: "cuda-13.5", packages: || pypi::of_13("13.5"), folders: &["nvidia/cu13/include"] },
];

/// The version that our headers are of if nothing else is asked for.
const NEWEST: u32 = 13050;

const INCLUDED: &str = "#include <cuda_runtime_api.h>\n#include <library_types.h>\n#include <cuda_gl_interop.h>\n\
    #include <cuda_vdpau_interop.h>\n#include <cuda_egl_interop.h>\n";

/// What the headers of other interfaces declare that those of interoperation mention: theirs need not be installed.
const OTHERS: [(&str, &str); 4] = [
    ("GL/gl.h", "typedef unsigned int GLuint;\ntypedef unsigned int GLenum;\n"),
    ("EGL/egl.h", "typedef int EGLint;\n"),
    ("EGL/eglext.h", "typedef void *EGLImageKHR;\ntypedef void *EGLStreamKHR;\ntypedef void *EGLSyncKHR;\n"),
    (
        "vdpau/vdpau.h",
        "typedef int VdpStatus;\ntypedef unsigned int VdpDevice, VdpFuncId, VdpVideoSurface, VdpOutputSurface;\n\
         typedef VdpStatus VdpGetProcAddress(VdpDevice device, VdpFuncId function, void **address);\n",
    ),
];

/// A folder with the headers of other interfaces.
fn others() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("other_interfaces");
        for (name, text) in OTHERS {
            let header = folder.join(name);
            std::fs::create_dir_all(header.parent().expect("a header is in a folder")).expect("a folder is made");
            std::fs::write(header, format!("#pragma once\n{text}")).expect("a header is written");
        }
        folder
    });
    &FOLDER
}

/// Macros that are no constants, and enumerators that other headers of NVIDIA's define as macros.
const NOT_CONSTANTS: [&str; 2] = ["cudaDevicePropDontCare", "cudaStreamAttrValue"];

fn ours() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include")
}

/// The folders of a version's headers; none, and said so, if PyPI is out of reach.
fn theirs(version: &Version) -> Option<Vec<PathBuf>> {
    match pypi::install(version.name, &(version.packages)()) {
        Ok(target) => Some(version.folders.iter().map(|folder| target.join(folder)).collect()),
        Err(why) => {
            eprintln!("SKIPPED: NVIDIA's headers cannot be installed from PyPI, nothing was tested:\n{why}");
            None
        }
    }
}

/// What a compiler prints for a text on its standard input.
fn piped(command: &mut Command, text: &str) -> Vec<u8> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut input = child.stdin.take().expect("piped");
    let text = text.to_owned();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut input, text.as_bytes()));
    let output = child.wait_with_output().expect("the compiler ends");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}", complaints.chars().take(2000).collect::<String>());
    writer.join().expect("the writer lives").expect("the compiler reads");
    output.stdout
}

fn compiler(program: &str, folders: &[PathBuf], version: u32) -> Command {
    let mut command = Command::new(program);
    command.arg(format!("-DWARPLOOM_CUDA_H={version}")).arg("-I").arg(others());
    for folder in folders {
        command.arg("-I").arg(folder);
    }
    command
}

/// What headers declare.
#[derive(Default)]
struct Declared {
    enumerators: BTreeSet<String>,
    /// Structs by the name that C++ knows them by, and the paths of their fields.
    records: BTreeMap<String, Vec<String>>,
    functions: BTreeSet<String>,
    /// Macros that stand for values.
    constants: BTreeSet<String>,
}

impl Declared {
    fn of(folders: &[PathBuf], version: u32) -> Declared {
        let dump = ["-x", "c", "-std=c17", "-w", "-fsyntax-only", "-Xclang", "-ast-dump=json", "-"];
        let tree = piped(compiler("clang-19", folders, version).args(dump), INCLUDED);
        let tree: Value = serde_json::from_slice(&tree).expect("clang prints JSON");
        let mut declared = Declared::default();
        for node in inner(&tree) {
            let name = node["name"].as_str().unwrap_or_default();
            match node["kind"].as_str().unwrap_or_default() {
                "EnumDecl" => {
                    let names = inner(node).filter_map(|child| child["name"].as_str());
                    declared.enumerators.extend(names.map(str::to_owned));
                }
                "RecordDecl" if node["completeDefinition"] == true && is_of_the_api(name) => {
                    let mut paths = Vec::new();
                    fields(node, "", &mut paths);
                    declared.records.insert(name.to_owned(), paths);
                }
                "FunctionDecl" if name.starts_with("cuda") => {
                    declared.functions.insert(name.to_owned());
                }
                _ => {}
            }
        }
        let macros = piped(compiler("clang-19", folders, version).args(["-x", "c", "-E", "-dM", "-"]), INCLUDED);
        for line in String::from_utf8_lossy(&macros).lines() {
            let mut words = line.split_whitespace().skip(1);
            let (name, value) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let of_a_type = value.starts_with("cudaLaunchAttributeID") || value.starts_with("cudaLaunchAttributeValue");
            let of_a_function =
                [name, value].iter().any(|word| declared.functions.contains(*word)) || value.contains("__CUDART_API");
            let constant = name.starts_with("cuda") && !name.contains('(') && !value.is_empty();
            if constant && !of_a_type && !of_a_function && !NOT_CONSTANTS.contains(&name) {
                declared.constants.insert(name.to_owned());
            }
        }
        declared
    }

    /// What is missing in `other`.
    fn missing_in(&self, other: &Declared) -> Vec<String> {
        let records = self.records.keys().filter(|name| !other.records.contains_key(*name));
        let fields = self.records.iter().flat_map(|(name, fields)| {
            let others = other.records.get(name);
            fields.iter().filter(move |field| others.is_some_and(|others| !others.contains(field)))
        });
        let names = self.enumerators.difference(&other.enumerators).chain(self.functions.difference(&other.functions));
        let constants = self.constants.difference(&other.constants);
        names.chain(records).chain(constants).chain(fields).cloned().collect()
    }
}

fn inner(node: &Value) -> impl Iterator<Item = &Value> {
    node["inner"].as_array().into_iter().flatten()
}

/// Structs of the API and of vectors; not those of the C library.
fn is_of_the_api(name: &str) -> bool {
    let vector = name.trim_end_matches("_16a").trim_end_matches("_32a").strip_suffix(['1', '2', '3', '4']);
    let kinds = ["char", "short", "int", "long", "longlong", "float", "double"];
    let kind = vector.map(|vector| vector.strip_prefix('u').unwrap_or(vector));
    name.starts_with("cuda") || name == "dim3" || kind.is_some_and(|kind| kinds.contains(&kind))
}

/// The paths of a struct's fields, through inline structs and unions.
fn fields(record: &Value, path: &str, paths: &mut Vec<String>) {
    let mut inline: Option<&Value> = None;
    for node in inner(record) {
        match node["kind"].as_str().unwrap_or_default() {
            "RecordDecl" => inline = Some(node),
            "FieldDecl" => {
                let name = node["name"].as_str().unwrap_or_default();
                if !name.is_empty() {
                    paths.push(format!("{path}{name}"));
                }
                if let Some(record) = inline.take() {
                    let path = if name.is_empty() { path.to_owned() } else { format!("{path}{name}.") };
                    fields(record, &path, paths);
                }
            }
            _ => {}
        }
    }
}

/// A program in C that prints values and layouts.
fn probe_of_layouts(declared: &Declared) -> String {
    let mut body = String::new();
    for name in declared.enumerators.iter().chain(&declared.constants) {
        writeln!(body, "    printf(\"{name} %lld\\n\", (long long)({name}));").expect("written");
    }
    for (name, fields) in &declared.records {
        writeln!(body, "    {{ typedef {} T; printf(\"{name} %zu %zu\\n\", sizeof(T), _Alignof(T));", in_c(name))
            .expect("written");
        for field in fields {
            writeln!(
                body,
                "    printf(\"{name}.{field} %zu %zu\\n\", offsetof(T, {field}), sizeof(((T *)0)->{field}));"
            )
            .expect("written");
        }
        body += "    }\n";
    }
    format!("#include <stddef.h>\n#include <stdio.h>\n{INCLUDED}int main(void) {{\n{body}    return 0;\n}}\n")
}

/// A struct or union as C names it.
fn in_c(name: &str) -> String {
    let keyword = if name == "cudaLaunchAttributeValue" { "union" } else { "struct" };
    format!("{keyword} {name}")
}

/// A program in C++ that prints the types of functions and fields, as compilers write them into symbols.
fn probe_of_types(declared: &Declared) -> String {
    let mut body = String::new();
    for name in &declared.functions {
        writeln!(body, "    std::printf(\"{name} %s\\n\", typeid(decltype({name})).name());").expect("written");
    }
    for (name, fields) in &declared.records {
        for field in fields {
            writeln!(
                body,
                "    std::printf(\"{name}.{field} %s\\n\", typeid(decltype(std::declval<{name}>().{field})).name());"
            )
            .expect("written");
        }
    }
    // With the templates of cuda_runtime.h, which cuda_egl_interop.h includes, names stand for several functions: its guard keeps them out.
    format!(
        "#define __CUDA_RUNTIME_H__\n#include <cstdio>\n#include <typeinfo>\n#include <utility>\n{INCLUDED}int main() {{\n{body}}}\n"
    )
}

/// What a probe prints with the headers of some folders.
fn printed(name: &str, language: &str, text: &str, folders: &[PathBuf], version: u32) -> String {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("probe_{name}_{version}"));
    let (driver, standard) = if language == "c" { ("cc", "-std=c17") } else { ("c++", "-std=c++17") };
    let mut command = compiler(driver, folders, version);
    command.args([standard, "-w", "-O0", "-x", language, "-", "-o"]).arg(&program);
    piped(&mut command, text);
    let output = Command::new(&program).output().expect("the probe starts");
    assert!(output.status.success(), "the probe ends well");
    String::from_utf8(output.stdout).expect("text")
}

fn compare(what: &str, version: u32, ours: &str, theirs: &str) {
    let differences: Vec<String> = ours
        .lines()
        .zip(theirs.lines())
        .filter(|(ours, theirs)| ours != theirs)
        .map(|(ours, theirs)| format!("    {ours}\n    there: {theirs}"))
        .collect();
    assert!(differences.is_empty(), "{version}, {what}: {} differ\n{}", differences.len(), differences.join("\n"));
    assert_eq!(ours.lines().count(), theirs.lines().count());
}

#[test]
fn names_values_layouts_and_types_are_nvidias() {
    let mut older = BTreeSet::new();
    for version in &VERSIONS {
        let Some(folders) = theirs(version) else { return };
        let number = version.number;
        let their = Declared::of(&folders, number);
        let our = Declared::of(&[ours()], number);
        assert!(their.functions.len() > 250 && their.records.len() > 100, "NVIDIA's headers are read");
        assert_eq!(their.missing_in(&our), Vec::<String>::new(), "{number}: missing here");
        if number == NEWEST {
            let more = our.missing_in(&their);
            // Prototypes of per-thread variants are there for those who load them by name, and types that only 12 has stay.
            let known = |name: &str| name.ends_with("_ptsz") || name.ends_with("_ptds") || older.contains(name);
            let more: Vec<&String> = more.iter().filter(|name| !known(name)).collect();
            assert!(more.is_empty(), "only here: {more:?}");
        }
        older.extend(their.records.keys().chain(&their.constants).cloned());
        let layouts = probe_of_layouts(&their);
        let ours_printed = printed("our_layouts", "c", &layouts, &[ours()], number);
        compare("layouts", number, &ours_printed, &printed("their_layouts", "c", &layouts, &folders, number));
        let types = probe_of_types(&their);
        let ours_printed = printed("our_types", "c++", &types, &[ours()], number);
        compare("types", number, &ours_printed, &printed("their_types", "c++", &types, &folders, number));
        println!("{number}: {} lines compared", layouts.lines().count() + types.lines().count());
    }
}

#[test]
fn plain_names_stand_for_what_they_stand_for_with_nvidias() {
    for version in &VERSIONS {
        let Some(folders) = theirs(version) else { return };
        let number = version.number;
        let functions = Declared::of(&folders, number).functions;
        let names: Vec<&str> = functions.iter().map(String::as_str).collect();
        for define in ["-DNOTHING", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM"] {
            let expanded = |folders: &[PathBuf]| {
                let text: String = names.iter().map(|name| format!("probe \"{name}\" {name}\n")).collect();
                let text = format!("{INCLUDED}{text}");
                let output = piped(compiler("cc", folders, number).args([define, "-x", "c", "-E", "-P", "-"]), &text);
                let output = String::from_utf8(output).expect("text");
                let lines = output.lines().filter(|line| line.starts_with("probe ")).map(|line| format!("{line}\n"));
                lines.collect::<String>()
            };
            let (our, their) = (expanded(&[ours()]), expanded(&folders));
            assert_eq!(their.lines().count(), names.len());
            compare(define, number, &our, &their);
        }
    }
}

/// Programs of `tests/c/runtime` and what they print with a major version, in every mode of the headers.
#[test]
fn programs_of_our_headers_run() {
    let folder = library::folder();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/c/runtime");
    let programs =
        [("vector_add.c", "cc", ["-std=c99", "-std=c17"]), ("typed.cpp", "c++", ["-std=c++11", "-std=c++20"])];
    for (source, driver, standards) in programs {
        for (version, standard) in
            [12090, NEWEST].iter().flat_map(|version| standards.map(|standard| (*version, standard)))
        {
            for define in ["-DNOTHING", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM"] {
                let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("host_program_{version}_{source}"));
                let mut command = compiler(driver, &[ours()], version);
                command.args([standard, "-Wall", "-Wextra", "-Werror", define]).arg(sources.join(source));
                command.arg(folder.join(format!("libcudart.so.{}", version / 1000))).arg("-o").arg(&program);
                pypi::run(&mut command).unwrap_or_else(|why| panic!("{why}"));
                let output =
                    Command::new(&program).env("LD_LIBRARY_PATH", folder).output().expect("the program starts");
                let complaints = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{source} {version} {standard} {define}: {complaints}");
                let major = version / 1000;
                let expected = match source {
                    "typed.cpp" => "4 3 3; 16 16 0 0; 8 0; block 1024, resident\n".to_owned(),
                    _ => format!(
                        "runtime {major} of headers {major}: 1000 elements, type 0, warps of 32, memory of kind 2\n"
                    ),
                };
                assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{source} {version} {standard} {define}");
            }
        }
    }
}
