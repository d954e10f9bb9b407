//! `cudaError_t` and what the runtime API says about each code.

use std::fmt::Write;

use anyhow::Result;

use crate::registry::RuntimeError;

pub(super) fn result(errors: &[RuntimeError]) -> Result<String> {
    let (mut constants, mut facts) = (String::new(), String::new());
    for code in errors {
        writeln!(constants, "{} = {},", code.name, code.value)?;
        let only = code.only.unwrap_or(0);
        writeln!(facts, "({}, {only}, c{:?}, c{:?}),", code.value, code.name, code.text)?;
    }
    Ok(format!(
        "//! `cudaError_t`.

use core::ffi::CStr;

use crate::define::*;

c_enum! {{
/// `enum cudaError` in C: how a call went.
cudaError: u32 {{ {constants} }}
}}

/// Value, the major version that alone has the code (0: all), name and text, in ascending order of value.
static FACTS: &[(u32, u32, &CStr, &CStr)] = &[{facts}];

impl cudaError {{
    /// The name of the constant and its text, as `cudaGetErrorName` and `cudaGetErrorString` of a runtime of this major version
    /// return them; none for a value that is no result code of it.
    pub fn name_and_text(self, major: u32) -> Option<(&'static CStr, &'static CStr)> {{
        let at = FACTS.binary_search_by_key(&self.0, |fact| fact.0).ok()?;
        let (_, only, name, text) = FACTS[at];
        (only == 0 || only == major).then_some((name, text))
    }}
}}
"
    ))
}
