//! `warploom toolkit`: NVIDIA's toolkit with our assembler and linker in it, for nvcc and what starts nvcc. nvcc looks for its tools in its own folder first,
//! whatever PATH says.
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;

use crate::{nvlink, ptxas};

/// What of a toolkit's `bin` must lie there itself: nvcc takes the folder where it is, past links, for its own.
const COPIED: [&str; 2] = ["nvcc", "nvcc.profile"];
/// The tools of a toolkit that are this command.
const OURS: [&str; 2] = [ptxas::NAME, nvlink::NAME];
/// Where nvcc tells the linker to look. NVIDIA's packages for Python, whose nvcc does so as well, hold their libraries in `lib` alone.
const LINKED: &str = "lib64";
const NVVM: &str = "nvvm";
/// Variables that name a toolkit, as CMake and Python packages look at them.
const VARIABLES: [&str; 3] = ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"];
/// Where NVIDIA's packages put the toolkit.
const INSTALLED: &str = "/usr/local/cuda";

/// Make a folder with a CUDA toolkit whose ptxas and nvlink are warploom's.
///
/// It holds nvcc, and links to everything else of the toolkit. What its nvcc compiles for a device (`-arch=sm_80`, `--cubin`), warploom loads.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  warploom toolkit ~/cuda-on-cpu && ~/cuda-on-cpu/bin/nvcc -arch=sm_80 saxpy.cu -o saxpy"
)]
pub(crate) struct Toolkit {
    /// The toolkit to take [default: CUDA_HOME, CUDA_PATH, CUDA_ROOT, the folder of nvcc on PATH, or /usr/local/cuda].
    #[arg(long, value_name = "FOLDER")]
    from: Option<PathBuf>,

    /// The folder to make; one that is there must be empty, or made by this command.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Toolkit {
    pub(crate) fn execute(self) -> anyhow::Result<ExitCode> {
        let from = match self.from {
            Some(from) => from,
            None => find().context("no CUDA toolkit is found; name one with --from")?,
        };
        let from = from.canonicalize().with_context(|| format!("cannot find {}", from.display()))?;
        if !from.join("bin/nvcc").exists() {
            bail!("{} is no CUDA toolkit: it has no bin/nvcc", from.display());
        }
        let command = std::env::current_exe().context("cannot tell where this command is")?;
        make(&from, &self.folder, &command).with_context(|| format!("cannot make {}", self.folder.display()))?;
        println!("{}: the toolkit of {} with warploom's ptxas and nvlink", self.folder.display(), from.display());
        Ok(ExitCode::SUCCESS)
    }
}

/// The toolkit that a build would take.
fn find() -> Option<PathBuf> {
    let named = VARIABLES.iter().filter_map(std::env::var_os).map(PathBuf::from);
    let on_path =
        std::env::var_os("PATH").into_iter().flat_map(|list| std::env::split_paths(&list).collect::<Vec<_>>());
    // A link to nvcc alone has no toolkit around it.
    let on_path =
        on_path.filter_map(|folder| folder.join("nvcc").canonicalize().ok()?.ancestors().nth(2).map(PathBuf::from));
    named.chain(on_path).chain([PathBuf::from(INSTALLED)]).find(|folder| folder.join("bin/nvcc").exists())
}

fn make(from: &Path, folder: &Path, command: &Path) -> anyhow::Result<()> {
    let bin = folder.join("bin");
    let ours = bin.join(ptxas::NAME);
    let made_before = ours.read_link().is_ok_and(|target| target.file_name() == command.file_name());
    if !made_before && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("it is not empty, and no toolkit that this command made");
    }
    fs::create_dir_all(&bin)?;
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        if name != "bin" && name != NVVM {
            link(&from.join(&name), &folder.join(&name))?;
        }
    }
    for entry in fs::read_dir(from.join("bin"))? {
        let name = entry?.file_name();
        let (there, here) = (from.join("bin").join(&name), bin.join(&name));
        if COPIED.iter().any(|copied| name == *copied) {
            // A link from before would be written through.
            remove(&here)?;
            fs::copy(&there, &here)?;
        } else if !OURS.iter().any(|ours| name == *ours) {
            link(&there, &here)?;
        }
    }
    for name in OURS {
        link(command, &bin.join(name))?;
    }
    let libraries = from.join("lib");
    if !from.join(LINKED).exists() && libraries.is_dir() {
        link_libraries(&libraries, &folder.join(LINKED))?;
    }
    if from.join(NVVM).is_dir() {
        link_nvvm(&from.join(NVVM), &folder.join(NVVM))?;
    }
    Ok(())
}

/// Links to what is in the folder of NVVM, with its library where NVIDIA's linker looks for it, which may lie among those of the toolkit that NVVM is of.
fn link_nvvm(from: &Path, folder: &Path) -> io::Result<()> {
    let libraries = from.canonicalize()?.with_file_name("lib");
    remake(folder)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        link(&entry.path(), &folder.join(entry.file_name()))?;
    }
    if from.join(LINKED).exists() || !libraries.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(libraries)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with("libnvvm.so")) {
            let linked = folder.join(LINKED);
            remake(&linked)?;
            return link(&entry.path(), &linked.join("libnvvm.so"));
        }
    }
    Ok(())
}

/// Links to all libraries of a folder, and to those that have names with a version only (`libcudart.so.13`) under the names that linkers look for.
fn link_libraries(from: &Path, folder: &Path) -> io::Result<()> {
    remake(folder)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        link(&entry.path(), &folder.join(&name))?;
        let plain = name.to_str().and_then(|name| name.split_once(".so.")).map(|(name, _version)| format!("{name}.so"));
        if let Some(plain) = plain
            && !from.join(&plain).exists()
        {
            link(&entry.path(), &folder.join(plain))?;
        }
    }
    Ok(())
}

/// A link in the place of what is there.
fn link(target: &Path, name: &Path) -> io::Result<()> {
    remove(name)?;
    symlink(target, name)
}

fn remove(name: &Path) -> io::Result<()> {
    match fs::remove_file(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// An empty folder of links in the place of a link, or of a folder that was made so before.
fn remake(folder: &Path) -> io::Result<()> {
    if folder.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        fs::remove_dir_all(folder)?;
    } else {
        remove(folder)?;
    }
    fs::create_dir(folder)
}
