//! The facts of a set of C headers: what the preprocessor and the parser find in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::c::{Declaration, Parser, tokens};

/// The headers in which facts are looked for, in the order in which they are included.
pub(crate) const HEADERS: [&str; 10] = [
    "cuda.h",
    "cudaGL.h",
    "cudaEGL.h",
    "cudaVDPAU.h",
    "cudaProfiler.h",
    "cudaTypedefs.h",
    "cudaGLTypedefs.h",
    "cudaEGLTypedefs.h",
    "cudaVDPAUTypedefs.h",
    "cudaProfilerTypedefs.h",
];

/// Stand-ins for the headers of other projects, so that none of them need be installed: path and text.
const FOREIGN: [(&str, &str); 4] = [
    ("GL/gl.h", "typedef unsigned int GLuint; typedef unsigned int GLenum;"),
    (
        "EGL/egl.h",
        "typedef int EGLint; typedef void *EGLImageKHR; typedef void *EGLStreamKHR; typedef void *EGLSyncKHR;",
    ),
    ("EGL/eglext.h", ""),
    (
        "vdpau/vdpau.h",
        "typedef unsigned int VdpDevice; typedef int VdpGetProcAddress(unsigned int, unsigned int, void **);
         typedef unsigned int VdpVideoSurface; typedef unsigned int VdpOutputSurface;",
    ),
];

/// What one header declares, in its order.
#[derive(Default)]
pub(crate) struct Header {
    pub(crate) declarations: Vec<Declaration>,
    /// Macros without parameters: name and body.
    pub(crate) macros: Vec<(String, String)>,
}

/// Reads the headers of `folder` as the C preprocessor gives them under `defines`; those that are missing are left out.
pub(crate) fn read(folder: &Path, defines: &[&str]) -> Result<BTreeMap<&'static str, Header>> {
    let text = preprocess(folder, defines, &[])?;
    let mut headers = BTreeMap::new();
    for (name, text) in split(&text) {
        let mut header = Header { macros: macros(&text), ..Header::default() };
        let mut parser = Parser::new(tokens(&text).context(name)?);
        while let Some(declaration) = parser.declaration().context(name)? {
            header.declarations.push(declaration);
        }
        headers.insert(name, header);
    }
    Ok(headers)
}

/// What each of `names` expands to after the headers of `folder` under `defines`.
pub(crate) fn expand(folder: &Path, defines: &[&str], names: &[&str]) -> Result<Vec<String>> {
    const MARK: &str = "warploom_expands_to";
    let text = preprocess(folder, defines, &names.iter().map(|name| format!("{MARK} {name}\n")).collect::<Vec<_>>())?;
    let expanded: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix(MARK)).map(|rest| rest.trim().to_owned()).collect();
    if expanded.len() != names.len() {
        bail!("{} of {} names were expanded", expanded.len(), names.len());
    }
    Ok(expanded)
}

/// The preprocessor's output for all headers of `folder`, followed by `lines`.
fn preprocess(folder: &Path, defines: &[&str], lines: &[String]) -> Result<String> {
    let scratch = std::env::temp_dir().join(format!("warploom-headers-{}", std::process::id()));
    let result = preprocess_in(&scratch, folder, defines, lines);
    fs::remove_dir_all(&scratch).with_context(|| scratch.display().to_string())?;
    result
}

fn preprocess_in(scratch: &Path, folder: &Path, defines: &[&str], lines: &[String]) -> Result<String> {
    for (path, text) in FOREIGN {
        let path = scratch.join(path);
        fs::create_dir_all(path.parent().context("a stand-in lies in a folder")?)?;
        fs::write(path, text)?;
    }
    // A header of typedefs includes the one that it goes with.
    let complete = |name: &&str| folder.join(name).exists() && folder.join(name.replace("Typedefs", "")).exists();
    let typedefs_of_cuda = |name: &&str| *name == "cudaTypedefs.h" && folder.join(name).exists();
    let present: Vec<&str> = HEADERS.into_iter().filter(|name| typedefs_of_cuda(name) || complete(name)).collect();
    if !present.contains(&"cuda.h") {
        bail!("no cuda.h in {}", folder.display());
    }
    let mut source = String::from("#include <GL/gl.h>\n#include <EGL/egl.h>\n#include <vdpau/vdpau.h>\n");
    source.extend(present.iter().map(|name| format!("#include \"{name}\"\n")));
    source.extend(lines.iter().map(String::as_str));
    let main = scratch.join("all.c");
    fs::write(&main, source)?;
    let output = Command::new("cc")
        .args(["-std=c11", "-E", "-dD"])
        .args(defines.iter().map(|define| format!("-D{define}")))
        .arg("-I")
        .arg(folder)
        .arg("-I")
        .arg(scratch)
        .arg(&main)
        .output()
        .context("cc does not start")?;
    if !output.status.success() {
        bail!("cc -E fails:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The preprocessor's output by the header that each line came from.
fn split(text: &str) -> BTreeMap<&'static str, String> {
    let mut parts: BTreeMap<&'static str, String> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(marker) = line.strip_prefix("# ") {
            let path = marker.split('"').nth(1).map(PathBuf::from);
            let name = path.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
            current = HEADERS.into_iter().find(|header| Some(*header) == name);
        } else if let Some(name) = current {
            let part = parts.entry(name).or_default();
            part.push_str(line);
            part.push('\n');
        }
    }
    parts
}

fn macros(text: &str) -> Vec<(String, String)> {
    let mut macros: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(define) = line.strip_prefix("#define ") {
            let (name, body) = define.split_once(char::is_whitespace).unwrap_or((define, ""));
            if !name.contains('(') {
                macros.push((name.to_owned(), body.trim().to_owned()));
            }
        } else if let Some(name) = line.strip_prefix("#undef ") {
            macros.retain(|(other, _)| other != name.trim());
        }
    }
    macros
}
