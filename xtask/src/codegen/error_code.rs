//! The driver objects' error type: one variant for each result code but CUDA_SUCCESS.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};

use super::names::pascal_case;
use crate::output::Output;
use crate::registry::Registry;

pub(super) fn generate(root: &Path, registry: &Registry, outputs: &mut Vec<Output>) -> Result<()> {
    let (mut variants, mut names, mut texts, mut values) = (String::new(), String::new(), String::new(), String::new());
    for code in &registry.errors {
        if code.value == 0 {
            continue;
        }
        let plain = code.name.strip_prefix("CUDA_ERROR_").context("a result code's name")?;
        let variant = pascal_case(plain);
        let source = if code.recorded { "" } else { " (our text)" };
        writeln!(variants, "/// `{}`: {}{source}.\n{variant} = {},", code.name, code.text, code.value)?;
        writeln!(names, "ErrorCode::{variant} => {:?},", code.name)?;
        writeln!(texts, "ErrorCode::{variant} => {:?},", code.text)?;
        writeln!(values, "{} => ErrorCode::{variant},", code.value)?;
    }
    let body = format!(
        "//! The result codes of the driver API that are errors.

/// Why a call failed: every `CUresult` but `CUDA_SUCCESS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum ErrorCode {{
{variants}}}

impl ErrorCode {{
    /// The name of the constant in C, as `cuGetErrorName` returns it.
    pub const fn name(self) -> &'static str {{
        match self {{ {names} }}
    }}

    /// The text that `cuGetErrorString` returns.
    pub const fn text(self) -> &'static str {{
        match self {{ {texts} }}
    }}

    /// The value of the `CUresult`.
    pub const fn value(self) -> u32 {{
        self as u32
    }}

    /// The error with this value; none for 0 (success) and for values that no result code has.
    pub const fn from_value(value: u32) -> Option<ErrorCode> {{
        Some(match value {{ {values} _ => return None }})
    }}
}}

impl core::fmt::Display for ErrorCode {{
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {{
        write!(f, \"{{}} ({{}})\", self.name(), self.text())
    }}
}}

impl core::error::Error for ErrorCode {{}}
"
    );
    outputs.push(Output::rust(root, "crates/driver/src/generated/error_code.rs", &body)?);
    let module = "//! Generated from the registry.\n\nmod error_code;\n\npub use error_code::ErrorCode;\n";
    outputs.push(Output::rust(root, "crates/driver/src/generated.rs", module)?);
    Ok(())
}
