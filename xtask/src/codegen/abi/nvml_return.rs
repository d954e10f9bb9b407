//! `nvmlReturn_t`, what the management library says about each code, and the branches of drivers.

use std::fmt::Write;

use anyhow::Result;

use crate::registry::Nvml;

pub(super) fn result(nvml: &Nvml) -> Result<String> {
    let (mut constants, mut texts, mut branches) = (String::new(), String::new(), String::new());
    for code in &nvml.errors {
        writeln!(constants, "{} = {},", code.name, code.value)?;
        writeln!(texts, "{} => c{:?},", code.value, code.text)?;
    }
    for branch in &nvml.branches {
        writeln!(branches, "({}, {}),", branch.cuda, branch.branch)?;
    }
    Ok(format!(
        "//! `nvmlReturn_t`, and the branches of drivers.

use core::ffi::CStr;

use crate::define::*;

c_enum! {{
/// `enum nvmlReturn_enum` in C: how a call went.
nvmlReturn_t: u32 {{ {constants} }}
}}

impl nvmlReturn_t {{
    /// The text that `nvmlErrorString` returns; none for a value that is no result code.
    pub const fn text(self) -> Option<&'static CStr> {{
        Some(match self.0 {{ {texts} _ => return None }})
    }}
}}

/// CUDA versions, and the number with which the versions of the drivers begin that came with them, in ascending order.
pub const DRIVER_BRANCHES: &[(i32, u32)] = &[{branches}];
"
    ))
}
