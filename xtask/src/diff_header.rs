//! `cargo xtask registry diff-header DIR`: compares what the headers of DIR say with what ours do.
//!
//! Ours are generated from the registry, so a difference is one between the registry and those headers. Where DIR is of an older
//! CUDA version, what it lacks is no difference, and neither is what has changed since in the layout of a type.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::c::{Aggregate, Declaration, Type, Variable, declare};
use crate::header::{self, Header};

/// Shows every symbol instead of mapping plain names.
const ALL_SYMBOLS: [&str; 2] = ["__CUDA_API_VERSION_INTERNAL", "__CUDA_API_VERSION_INTERNAL_ODR"];
const PER_THREAD: &str = "CUDA_API_PER_THREAD_DEFAULT_STREAM";

/// Prints each difference and fails if there is one.
pub(crate) fn run(root: &Path, folder: &Path) -> Result<()> {
    let ours = root.join("include");
    let their_facts = Facts::of(header::read(folder, &ALL_SYMBOLS)?);
    let newest = Facts::of(header::read(&ours, &ALL_SYMBOLS)?).version == their_facts.version;
    let version: u32 = their_facts.version.parse().context("CUDA_VERSION is a number")?;
    let as_theirs = format!("WARPLOOM_CUDA_H={version}");
    let our_facts = Facts::of(header::read(&ours, &[&ALL_SYMBOLS[..], &[&as_theirs]].concat())?);
    let mut differences = our_facts.compare(&their_facts, newest);
    let names: Vec<&str> = their_facts.plain_names();
    for define in [None, Some(PER_THREAD)] {
        let defines: Vec<&str> = define.into_iter().collect();
        let theirs = header::expand(folder, &defines, &names)?;
        let our_defines: Vec<&str> = defines.iter().copied().chain([as_theirs.as_str()]).collect();
        let ours = header::expand(&ours, &our_defines, &names)?;
        for (name, (theirs, ours)) in names.iter().zip(theirs.iter().zip(&ours)) {
            if theirs != ours {
                let when = define.map(|define| format!(" under {define}")).unwrap_or_default();
                differences.push(format!("{name} stands for {theirs}{when}, here for {ours}"));
            }
        }
    }
    println!("{} facts of CUDA {version} compared, {} names expanded", their_facts.count(), names.len());
    if differences.is_empty() {
        return Ok(());
    }
    bail!("{} differences:\n{}", differences.len(), differences.join("\n"))
}

/// What a set of headers says, by name; types in the form that aliases have been resolved to.
#[derive(Default)]
struct Facts {
    version: String,
    functions: BTreeMap<String, String>,
    /// Typedefs of pointers to the API's functions.
    pointers: BTreeMap<String, String>,
    /// Structs, unions and enums, with their fields or values.
    types: BTreeMap<String, String>,
    enumerators: BTreeMap<String, String>,
    constants: BTreeMap<String, String>,
}

impl Facts {
    fn of(headers: BTreeMap<&'static str, Header>) -> Facts {
        let mut facts = Facts::default();
        let mut aliases = HashMap::new();
        let declarations = || headers.values().flat_map(|header| &header.declarations);
        // Structs that are defined without a typedef, by `struct TAG`.
        let mut bare = HashMap::new();
        for declaration in declarations() {
            if let Declaration::Bare(Type::Aggregate(aggregate)) = declaration
                && let Some(tag) = &aggregate.tag
            {
                bare.insert(format!("struct {tag}"), aggregate);
            }
        }
        let mut named_later = Vec::new();
        for declaration in declarations() {
            match declaration {
                Declaration::Typedef(Variable { name, ty: Type::Tag(tag) }) if bare.contains_key(tag) => {
                    named_later.push((name, bare[tag]));
                }
                Declaration::Typedef(Variable { name, ty }) if matches!(ty, Type::Name(_) | Type::Tag(_)) => {
                    aliases.insert(name.clone(), ty.clone());
                }
                _ => {}
            }
        }
        for declaration in declarations() {
            facts.add(declaration, &aliases);
        }
        for (name, aggregate) in named_later {
            facts.add_aggregate(name, aggregate, &aliases);
        }
        for name in aliases.keys() {
            if let Type::Name(of) = resolve(&Type::Name(name.clone()), &aliases)
                && let Some(text) = facts.types.get(&of).cloned()
            {
                facts.types.insert(name.clone(), text);
            }
        }
        for (name, body) in headers.values().flat_map(|header| &header.macros) {
            match name.as_str() {
                "WARPLOOM_CUDA_H" => facts.version = body.clone(),
                // Ours names the macro above.
                "CUDA_VERSION" if facts.version.is_empty() => facts.version = body.clone(),
                "CUDA_VERSION" => {}
                name if is_constant(name) => {
                    facts.constants.insert(name.to_owned(), body.clone());
                }
                _ => {}
            }
        }
        facts
    }

    fn add(&mut self, declaration: &Declaration, aliases: &HashMap<String, Type>) {
        match declaration {
            Declaration::Function { name, params } if name.starts_with("cu") => {
                self.functions.insert(name.clone(), signature(params, aliases));
            }
            Declaration::Typedef(Variable { name, ty: Type::Pointer(to) }) => {
                if let Type::Function(result, params) = &**to {
                    let text = format!("{} {}", declare(&resolve(result, aliases), ""), signature(params, aliases));
                    self.pointers.insert(name.clone(), text);
                }
            }
            Declaration::Typedef(Variable { name, ty: Type::Enum(enumeration) }) => {
                let values: Vec<String> =
                    enumeration.values.iter().map(|(constant, value)| format!("{constant} = {value}")).collect();
                self.types.insert(name.clone(), values.join(", "));
                let each = enumeration.values.iter().map(|(constant, value)| (constant.clone(), value.to_string()));
                self.enumerators.extend(each);
            }
            Declaration::Typedef(Variable { name, ty: Type::Aggregate(aggregate) }) => {
                self.add_aggregate(name, aggregate, aliases);
            }
            _ => {}
        }
    }

    fn add_aggregate(&mut self, name: &str, aggregate: &Aggregate, aliases: &HashMap<String, Type>) {
        let text = declare(&resolve(&Type::Aggregate(aggregate.clone()), aliases), "");
        let align = aggregate.align.map(|align| format!("aligned {align} ")).unwrap_or_default();
        self.types.insert(name.to_owned(), align + &text.replace('\n', " "));
    }

    fn compare(&self, theirs: &Facts, same_version: bool) -> Vec<String> {
        let mut differences = Vec::new();
        // Types got a version in their name when their second version came.
        let plain = |text: &str| if same_version { text.to_owned() } else { text.replace("_v1", "") };
        let mut compare =
            |what: &str, ours: &BTreeMap<String, String>, theirs: &BTreeMap<String, String>, exact: bool| {
                for (name, their) in theirs {
                    match ours.get(name) {
                        None => differences.push(format!("{what} {name} is missing: {their}")),
                        Some(our) if exact && plain(our) != plain(their) => {
                            differences.push(format!("{what} {name}:\n    there {their}\n    here  {our}"));
                        }
                        Some(_) => {}
                    }
                }
                if same_version {
                    let more = ours.keys().filter(|name| !theirs.contains_key(*name));
                    differences.extend(more.map(|name| format!("{what} {name} is only here")));
                }
            };
        compare("function", &self.functions, &theirs.functions, true);
        compare("pointer to function", &self.pointers, &theirs.pointers, true);
        compare("type", &self.types, &theirs.types, same_version);
        compare("enumerator", &self.enumerators, &theirs.without_counts(same_version), true);
        compare("constant", &self.constants, &theirs.constants, same_version);
        differences
    }

    /// The enumerators; for another version without those that count or cover the others, which change with every version.
    fn without_counts(&self, same_version: bool) -> BTreeMap<String, String> {
        let counts = ["_MAX", "_NUM_OPTIONS", "_FLAGS_MASK"];
        let kept = |name: &str| same_version || !counts.iter().any(|suffix| name.ends_with(suffix));
        let enumerators = self.enumerators.iter().filter(|(name, _)| kept(name));
        enumerators.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Names of functions that a program writes: without the suffix of per-thread variants.
    fn plain_names(&self) -> Vec<&str> {
        let suffixed = |name: &&str| name.ends_with("_ptds") || name.ends_with("_ptsz");
        let names: BTreeSet<&str> = self.functions.keys().map(String::as_str).filter(|name| !suffixed(name)).collect();
        names.into_iter().collect()
    }

    fn count(&self) -> usize {
        self.functions.len() + self.pointers.len() + self.types.len() + self.enumerators.len() + self.constants.len()
    }
}

/// Whether a macro is one of the API's constants, not part of how a header is built.
fn is_constant(name: &str) -> bool {
    let machinery = ["CUDA_CB", "CUDAAPI", "CU_UUID_HAS_BEEN_DEFINED", "CUDA_API_PER_THREAD_DEFAULT_STREAM"];
    let guard = name.ends_with("_H");
    (name.starts_with("CU") || name == "MAX_PLANES") && !machinery.contains(&name) && !guard
}

fn signature(params: &[Variable], aliases: &HashMap<String, Type>) -> String {
    // A `const` of the parameter itself is no part of the function's type.
    let list: Vec<String> = params.iter().map(|param| declare(&resolve(param.ty.unqualified(), aliases), "")).collect();
    format!("({})", list.join(", "))
}

/// The type with every alias replaced by what it stands for.
fn resolve(ty: &Type, aliases: &HashMap<String, Type>) -> Type {
    let again = |ty: &Type| Box::new(resolve(ty, aliases));
    match ty {
        Type::Name(name) => aliases.get(name).map_or_else(|| ty.clone(), |of| resolve(of, aliases)),
        Type::Const(inner) => Type::Const(again(inner)),
        Type::Pointer(to) => Type::Pointer(again(to)),
        Type::Array(of, length) => Type::Array(again(of), *length),
        Type::Function(result, params) => Type::Function(again(result), fields(params, aliases)),
        Type::Aggregate(aggregate) => {
            let mut aggregate = aggregate.clone();
            aggregate.fields = fields(&aggregate.fields, aliases);
            Type::Aggregate(aggregate)
        }
        Type::Tag(_) | Type::Enum(_) => ty.clone(),
    }
}

fn fields(variables: &[Variable], aliases: &HashMap<String, Type>) -> Vec<Variable> {
    variables
        .iter()
        .map(|variable| Variable { name: variable.name.clone(), ty: resolve(&variable.ty, aliases) })
        .collect()
}
