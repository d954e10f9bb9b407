//! The command line of NVIDIA's ptxas (its `--help`, CUDA 13.5), where a name of several letters may stand behind one dash or two: `-arch`,
//! `--gpu-name`.
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use warploom_abi::settings::COMPUTE_CAPABILITIES;
use warploom_ptx::image::Architecture;

/// Check PTX, and write an image that warploom's driver loads: it holds the PTX, which is compiled for the processor when it is launched.
///
/// Options of NVIDIA's assembler that decide how machine code for GPUs is made are taken, without effect.
#[derive(Debug, Parser)]
#[command(name = "ptxas", disable_version_flag = true, max_term_width = 100)]
#[command(override_usage = "ptxas [options] <ptx file>,...")]
pub(super) struct Assemble {
    /// The device to check for; a virtual one (compute_NN) is checked for, and nothing is written.
    #[arg(long, alias = "arch", value_name = "NAME", default_value = "sm_75", overrides_with = "gpu_name")]
    pub(super) gpu_name: Target,

    /// The image.
    #[arg(short, long, value_name = "FILE", default_value = "elf.o")]
    pub(super) output_file: PathBuf,

    /// Say what each kernel needs.
    #[arg(short, long, alias = "v2", alias = "verbose2")]
    pub(super) verbose: bool,

    /// Leave functions that are called and not there to a later link.
    #[arg(short, long)]
    pub(super) compile_only: bool,

    /// Only these kernels are of interest to --verbose; the image has all.
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    pub(super) entry: Vec<String>,

    /// A kernel is to have no more registers than this, which is what the driver then tells of it.
    #[arg(long, value_name = "N|archmax|archmin", value_parser = registers)]
    maxrregcount: Option<u32>,

    /// PTX on the command line.
    #[arg(long, alias = "ias", value_name = "PTX")]
    pub(super) input_as_string: Vec<String>,

    /// Say nothing that is no error.
    #[arg(short = 'w', long)]
    pub(super) disable_warnings: bool,

    /// Fail where there is something to warn of.
    #[arg(long, alias = "Werror")]
    pub(super) warning_as_error: bool,

    /// Print the devices that there are.
    #[arg(long, alias = "arch-ls")]
    pub(super) list_arch: bool,

    /// Print the versions of PTX that are understood.
    #[arg(long, alias = "version-ls")]
    pub(super) list_version: bool,

    /// 64, the only one.
    #[arg(short, long, value_name = "BITS", value_parser = ["64"])]
    machine: Option<String>,

    /// Print the version.
    #[arg(short = 'V', long)]
    pub(super) version: bool,

    #[command(flatten)]
    ignored: Ignored,

    /// The texts, which make one program.
    #[arg(value_name = "FILE", value_delimiter = ',')]
    pub(super) files: Vec<PathBuf>,
}

/// What decides about machine code for GPUs, or about data in it that is in PTX anyway.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Taken, without effect")]
#[expect(clippy::struct_excessive_bools, reason = "options without a value")]
struct Ignored {
    #[arg(short = 'O', long, value_name = "N", overrides_with = "opt_level")]
    opt_level: Option<String>,
    #[arg(short = 'g', long)]
    device_debug: bool,
    #[arg(long, alias = "lineinfo")]
    generate_line_info: bool,
    #[arg(long, value_name = "BOOL", overrides_with = "fmad")]
    fmad: Option<String>,
    #[arg(long, alias = "Ofc", value_name = "LEVEL")]
    ofast_compile: Option<String>,
    #[arg(long, value_name = "BOOL")]
    allow_expensive_optimizations: Option<String>,
    #[arg(long, value_name = "FILE")]
    apply_controls: Option<String>,
    #[arg(long, alias = "astoolspatch")]
    compile_as_tools_patch: bool,
    #[arg(long, alias = "annotate")]
    compiler_annotations: bool,
    #[arg(long, alias = "dlcm", value_name = "CACHE")]
    def_load_cache: Option<String>,
    #[arg(long, alias = "dscm", value_name = "CACHE")]
    def_store_cache: Option<String>,
    #[arg(long, alias = "flcm", value_name = "CACHE")]
    force_load_cache: Option<String>,
    #[arg(long, alias = "fscm", value_name = "CACHE")]
    force_store_cache: Option<String>,
    #[arg(long, alias = "func-maxrregcount", value_name = "N")]
    device_function_maxrregcount: Option<String>,
    #[arg(long, value_name = "BOOL")]
    device_stack_protector: Option<String>,
    #[arg(long, alias = "disable-optimizer-consts")]
    disable_optimizer_constants: bool,
    #[arg(long, alias = "no-bb-merge")]
    dont_merge_basicblocks: bool,
    #[arg(long, value_name = "BOOL")]
    enable_func_clone_sc: Option<String>,
    #[arg(long, alias = "ewp")]
    extensible_whole_program: bool,
    #[arg(long, alias = "g-tmem-access-check")]
    g_tensor_memory_access_check: bool,
    #[arg(long)]
    gno_fabric_access_check: bool,
    #[arg(long, alias = "gno-tmem-access-check")]
    gno_tensor_memory_access_check: bool,
    #[arg(long)]
    jobserver: bool,
    #[arg(long)]
    legacy_bar_warp_wide_behavior: bool,
    #[arg(long)]
    make_errors_visible_at_exit: bool,
    #[arg(long, value_name = "N")]
    maxntid: Option<String>,
    #[arg(long, value_name = "N")]
    minnctapersm: Option<String>,
    #[arg(long, alias = "opt-fp-atomics")]
    optimize_float_atomics: bool,
    #[arg(long)]
    override_directive_values: bool,
    #[arg(long, alias = "pic", value_name = "BOOL")]
    position_independent_code: Option<String>,
    #[arg(long)]
    preserve_relocs: bool,
    // Not in `--help` of NVIDIA's; Triton gives it.
    #[arg(long = "regAllocOptLevel", value_name = "N")]
    register_allocation_level: Option<String>,
    #[arg(long, alias = "regUsageLevel", value_name = "N")]
    register_usage_level: Option<String>,
    #[arg(long, alias = "ret-end")]
    return_at_end: bool,
    #[arg(long, value_name = "TOOL")]
    sanitize: Option<String>,
    #[arg(long)]
    sp_bounds_check: bool,
    #[arg(long, value_name = "N")]
    split_compile: Option<String>,
    #[arg(long)]
    suppress_async_bulk_multicast_advisory_warning: bool,
    #[arg(long)]
    suppress_debug_info: bool,
    #[arg(long)]
    suppress_double_demote_warning: bool,
    #[arg(long)]
    suppress_position_independent_code_warning: bool,
    #[arg(long)]
    suppress_sparse_mma_advisory_info: bool,
    #[arg(long)]
    suppress_stack_size_warning: bool,
    #[arg(long, alias = "warn-double-usage")]
    warn_on_double_precision_use: bool,
    #[arg(long, alias = "warn-lmem-usage")]
    warn_on_local_memory_usage: bool,
    #[arg(long, alias = "warn-spills")]
    warn_on_spills: bool,
}

impl Assemble {
    /// The most registers that kernels are to have; no fewer than NVIDIA's ABI needs.
    pub(super) fn most_registers(&self) -> Option<u32> {
        self.maxrregcount.map(|most| most.max(super::FEWEST_REGISTERS))
    }
}

/// A number of registers: `archmax` is no limit.
fn registers(text: &str) -> Result<u32, String> {
    match text {
        "archmax" => Ok(u32::MAX),
        "archmin" => Ok(0),
        number => number.parse().map_err(|_| "a number of registers is expected".to_owned()),
    }
}

/// What is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    architecture: Architecture,
    is_virtual: bool,
}

impl Target {
    /// Compute capability times ten.
    pub(crate) fn sm(self) -> u32 {
        self.architecture.sm
    }

    /// Whether it is no device, but what several have in common.
    pub(crate) fn is_virtual(self) -> bool {
        self.is_virtual
    }

    /// The devices.
    pub(super) fn known() -> impl Iterator<Item = Architecture> {
        COMPUTE_CAPABILITIES.into_iter().map(Architecture::portable)
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let architecture: Architecture = text.parse().map_err(|_| "no target".to_owned())?;
        if !COMPUTE_CAPABILITIES.contains(&architecture.sm) {
            return Err("no device that there is".to_owned());
        }
        Ok(Target { architecture, is_virtual: text.starts_with("compute_") })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = if self.is_virtual { "compute_" } else { "sm_" };
        write!(formatter, "{prefix}{}", self.architecture.to_string().trim_start_matches("sm_"))
    }
}

/// Reads a command line.
pub(super) fn parse(words: Vec<OsString>) -> Result<Assemble, clap::Error> {
    let command = Assemble::command();
    let words = crate::words::read(&command, words)?;
    let matches = command.try_get_matches_from(std::iter::once(OsString::from(super::NAME)).chain(words))?;
    Assemble::from_arg_matches(&matches)
}
