//! Which PTX a driver of some CUDA version accepts for a device: `.version`, `.target`, `.address_size`.

use super::FailureClass;
use crate::diagnostic::{Code, Diagnostic};
use crate::syntax::Span;
use crate::syntax::ast;

/// For whom a text is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The driver's CUDA version as `cuDriverGetVersion` gives it: 1000 * major + 10 * minor.
    pub driver_version: u32,
    /// Compute capability of the device, 90 for sm_90.
    pub sm: u32,
}

/// The newest PTX version that a driver of a CUDA version loads (release notes in the PTX ISA manual, table "PTX Release History").
///
/// From CUDA 11.0 on the two count together, 7.0 with 11.0 and 8.0 with 12.0, except that 12.6 brought no new version; from
/// 13.0 they count together again, at 9.0.
pub const fn newest_version(driver_version: u32) -> (u32, u32) {
    let (major, minor) = (driver_version / 1000, driver_version % 1000 / 10);
    match major {
        0..=10 => (6, 5),
        11 => (7, if minor > 8 { 8 } else { minor }),
        12 => (8, if minor >= 6 { if minor > 9 { 8 } else { minor - 1 } } else { minor }),
        major => (major - 4, minor),
    }
}

/// The last minor version of each major one (PTX ISA, "PTX Release History").
const LAST_MINORS: [u32; 9] = [5, 3, 2, 3, 1, 5, 8, 8, u32::MAX];

/// Whether there has been such a version.
pub fn exists((major, minor): (u32, u32)) -> bool {
    let last = (major as usize).checked_sub(1).and_then(|index| LAST_MINORS.get(index));
    last.is_some_and(|last| minor <= *last)
}

/// Architectures and the PTX version that introduced each; those with specific features apart.
const ARCHITECTURES: &[(&str, (u32, u32))] = &[
    ("10", (1, 0)),
    ("11", (1, 0)),
    ("12", (1, 2)),
    ("13", (1, 2)),
    ("20", (2, 0)),
    ("30", (3, 0)),
    ("32", (4, 0)),
    ("35", (3, 1)),
    ("37", (4, 1)),
    ("50", (4, 0)),
    ("52", (4, 1)),
    ("53", (4, 2)),
    ("60", (5, 0)),
    ("61", (5, 0)),
    ("62", (5, 0)),
    ("70", (6, 0)),
    ("72", (6, 1)),
    ("75", (6, 3)),
    ("80", (7, 0)),
    ("86", (7, 1)),
    ("87", (7, 4)),
    ("88", (9, 0)),
    ("89", (7, 8)),
    ("90", (7, 8)),
    ("90a", (8, 0)),
    ("100", (8, 6)),
    ("100a", (8, 6)),
    ("100f", (8, 8)),
    ("101", (8, 6)),
    ("101a", (8, 6)),
    ("101f", (8, 8)),
    ("103", (8, 8)),
    ("103a", (8, 8)),
    ("103f", (8, 8)),
    ("107", (9, 4)),
    ("107a", (9, 4)),
    ("107f", (9, 4)),
    ("110", (9, 0)),
    ("110a", (9, 0)),
    ("110f", (9, 0)),
    ("120", (8, 7)),
    ("120a", (8, 7)),
    ("120f", (8, 8)),
    ("121", (8, 8)),
    ("121a", (8, 8)),
    ("121f", (8, 8)),
];

/// Checks the head of a module; what is wrong with it keeps everything else from being looked at.
pub(super) fn check(module: &ast::Module, options: &Options) -> Option<(FailureClass, Diagnostic)> {
    let invalid =
        |code, span, message: String| Some((FailureClass::InvalidPtx, Diagnostic::error(code, span, message)));
    // What leaves open how to go on reading.
    let fatal = |code, span, message: String| Some((FailureClass::InvalidPtx, Diagnostic::fatal(code, span, message)));
    let start = Span::new(0, 0);
    let Some(version) = module.version else {
        return fatal(Code::Version, start, "Missing .version directive at start of file".to_owned());
    };
    let newest = newest_version(options.driver_version);
    let asked = (version.value.major, version.value.minor);
    if asked > newest || !exists(asked) {
        let message =
            format!("Unsupported .version {}.{}; current version is '{}.{}'", asked.0, asked.1, newest.0, newest.1);
        return Some((FailureClass::UnsupportedPtxVersion, Diagnostic::fatal(Code::Version, version.span, message)));
    }
    if module.targets.is_empty() {
        return fatal(Code::Target, version.span, "Missing .target directive at start of file".to_owned());
    }
    let lists = |option: &str| module[module.targets].iter().find(|ident| module.name(ident.name) == option);
    if let (Some(_), Some(second)) = (lists("texmode_unified"), lists("texmode_independent")) {
        let message = "Conflicting .target option 'texmode_independent'".to_owned();
        return invalid(Code::Target, second.span, message);
    }
    let mut has_architecture = false;
    for ident in &module[module.targets] {
        let text = module.name(ident.name);
        let Some(architecture) = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_")) else {
            if text == "debug" && !has_debug_sections(module) {
                let message = "Debug information not found in presence of .target debug".to_owned();
                return invalid(Code::Target, ident.span, message);
            }
            if !matches!(text, "debug" | "texmode_unified" | "texmode_independent" | "map_f64_to_f32") {
                return fatal(Code::Target, ident.span, format!("Unsupported .target '{text}'"));
            }
            continue;
        };
        has_architecture = true;
        let Some((_, since)) = ARCHITECTURES.iter().find(|(name, _)| *name == architecture) else {
            return fatal(Code::Target, ident.span, format!("Unsupported .target '{text}'"));
        };
        if asked < *since {
            let message = format!("PTX .version {}.{} does not support .target {text}", asked.0, asked.1);
            let diagnostic = Diagnostic::error(Code::Target, ident.span, message);
            let note = format!("'{text}' needs .version {}.{} or later", since.0, since.1);
            return Some((FailureClass::InvalidPtx, diagnostic.note(note)));
        }
        if !runs_on(architecture, options.sm) {
            let message = format!("PTX with .target '{text}' cannot be compiled for architecture 'sm_{}'", options.sm);
            let device = architecture.trim_end_matches(['a', 'f']);
            let note = format!("a device sm_{device} loads it: --device sm_{device}, or WARPLOOM_DEVICE=sm_{device}");
            let diagnostic = Diagnostic::error(Code::Target, ident.span, message).note(note);
            return Some((FailureClass::InvalidPtx, diagnostic));
        }
    }
    if !has_architecture {
        let message = "Target architecture not defined at start of file".to_owned();
        return fatal(Code::Target, version.span, message);
    }
    if let Some(size) = module.address_size.filter(|size| !matches!(size.value, 32 | 64)) {
        let message = "Illegal value for .address_size directive (must be 32 or 64)".to_owned();
        return invalid(Code::AddressSize, size.span, message);
    }
    if let Some(size) = module.address_size.filter(|size| size.value != 64) {
        let message = format!("{}-bit addressing is not supported, .address_size 64 expected", size.value);
        return invalid(Code::AddressSize, size.span, message);
    }
    None
}

fn has_debug_sections(module: &ast::Module) -> bool {
    module.items.iter().any(|item| matches!(item, ast::Item::Section { .. } | ast::Item::Dwarf(_)))
}

/// Whether code for an architecture runs on a device of capability `sm`: any older one; with `a` that very one; with
/// `f` a later one of the same family (PTX ISA 11.1.2).
fn runs_on(architecture: &str, sm: u32) -> bool {
    let digits = architecture.trim_end_matches(['a', 'f']);
    let number: u32 = digits.parse().unwrap_or(u32::MAX);
    match &architecture[digits.len()..] {
        "a" => number == sm,
        "f" => number <= sm && number / 10 == sm / 10,
        _ => number <= sm,
    }
}
