//! Prototypes, and what plain names stand for.

use std::collections::HashMap;
use std::fmt::Write;

use anyhow::Result;

use super::types::{older, plain};
use super::{BEGIN_C, END_C, when};
use crate::c::declare;
use crate::registry::{Function, FunctionGroup, HEADER_MAJORS, Registry};

/// The names of C++'s default arguments, which C leaves out.
const DEFAULTS: &str = "#ifdef __cplusplus
#define WARPLOOM_DEFAULT(value) = value
#else
#define WARPLOOM_DEFAULT(value)
#endif

";

/// Functions whose default stream may be the calling thread's.
const PER_THREAD: &str = "#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define __CUDART_API_PER_THREAD_DEFAULT_STREAM
#define __CUDART_API_PTDS(api) api##_ptds
#define __CUDART_API_PTSZ(api) api##_ptsz
#else
#define __CUDART_API_PTDS(api) api
#define __CUDART_API_PTSZ(api) api
#endif

";

pub(super) fn write(registry: &Registry, header: &str) -> Result<String> {
    let groups: Vec<&FunctionGroup> = registry.runtime.groups.iter().filter(|group| group.header == header).collect();
    let functions = || groups.iter().flat_map(|group| &group.functions).filter(|function| !function.undeclared);
    let per_thread = functions().any(|function| function.per_thread.is_some());
    let mut text = if per_thread { PER_THREAD.to_owned() } else { String::new() };
    writeln!(text, "{DEFAULTS}{BEGIN_C}")?;
    let older = older(&registry.runtime.topics);
    for group in &groups {
        let declared: Vec<&Function> = group.functions.iter().filter(|function| !function.undeclared).collect();
        if declared.is_empty() {
            continue;
        }
        writeln!(text, "/* {} */", group.title)?;
        for function in declared {
            let params = parameters(function, &older);
            let mut lines = String::new();
            for (_, symbol) in function.symbols() {
                writeln!(lines, "{};", declare(&function.returns, &format!("CUDARTAPI {symbol}({params})")))?;
            }
            text += &when(function.only, &lines);
        }
        text += "\n";
    }
    text += &mapping(functions())?;
    text += END_C.trim_start_matches('\n');
    text += "\n#undef WARPLOOM_DEFAULT\n";
    Ok(text)
}

fn parameters(function: &Function, older: &HashMap<&str, &str>) -> String {
    if function.params.is_empty() {
        return "void".to_owned();
    }
    let one = |(param, default): (&crate::c::Variable, &Option<String>)| {
        let declaration = declare(&plain(&param.ty, older), &param.name);
        match default {
            Some(value) => format!("{declaration} WARPLOOM_DEFAULT({value})"),
            None => declaration,
        }
    };
    let list: Vec<String> = function.params.iter().zip(&function.defaults).map(one).collect();
    list.join(", ")
}

/// The macros for names that stand for others: of newer variants, and under the per-thread macro of per-thread ones.
fn mapping<'r>(functions: impl Iterator<Item = &'r Function> + Clone) -> Result<String> {
    let mut text = String::new();
    for major in HEADER_MAJORS {
        let mut lines = String::new();
        let plain: Vec<&str> = functions
            .clone()
            .filter(|function| function.is_in(major))
            .filter_map(|function| function.plain.as_deref())
            .collect();
        let (mut always, mut per_thread) = (String::new(), String::new());
        for function in functions.clone().filter(|function| function.is_in(major)) {
            let name = function.plain.as_ref().unwrap_or(&function.name);
            let replaced = function.plain.is_none() && plain.contains(&function.name.as_str());
            match (&function.per_thread, &function.plain) {
                _ if replaced => {}
                (None, None) => {}
                (None, Some(_)) => writeln!(always, "#define {name} {}", function.name)?,
                (Some(suffix), plain) => {
                    let macro_name = format!("__CUDART_API{}", suffix.to_uppercase());
                    let line = format!("#define {name} {macro_name}({})\n", function.name);
                    if plain.is_some() { always += &line } else { per_thread += &line }
                }
            }
        }
        lines += &always;
        if !per_thread.is_empty() {
            writeln!(lines, "#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM\n{per_thread}#endif")?;
        }
        if !lines.is_empty() {
            text += &when(Some(major), &lines);
            text += "\n";
        }
    }
    if text.is_empty() { Ok(text) } else { Ok(format!("/* What plain names stand for. */\n{text}")) }
}
