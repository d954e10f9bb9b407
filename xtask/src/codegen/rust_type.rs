//! C types written as Rust types.

use std::collections::HashMap;

use crate::c::{Type, Variable};
use crate::registry::{Kind, Topic};

/// Knows which type each struct tag belongs to.
pub(crate) struct RustTypes {
    /// `struct TAG` to the name of its typedef.
    tags: HashMap<String, String>,
}

impl RustTypes {
    pub(crate) fn new<'a>(topics: impl IntoIterator<Item = &'a Topic>) -> RustTypes {
        let mut tags = HashMap::new();
        for item in topics.into_iter().flat_map(|topic| &topic.items) {
            if let Kind::Aggregate { aggregate, .. } = &item.kind
                && let Some(tag) = &aggregate.tag
            {
                let keyword = if aggregate.is_union { "union" } else { "struct" };
                tags.insert(format!("{keyword} {tag}"), item.name.clone());
            }
        }
        RustTypes { tags }
    }

    /// The Rust type for a C type that has a name.
    pub(crate) fn name(&self, ty: &Type) -> String {
        match ty.unqualified() {
            Type::Name(name) => basic(name).to_owned(),
            Type::Tag(tag) => self.tags.get(tag).map_or("core::ffi::c_void", String::as_str).to_owned(),
            Type::Pointer(to) => match (&**to, to.unqualified()) {
                (_, Type::Function(result, params)) => format!("Option<{}>", self.function(result, params.iter())),
                (Type::Const(_), to) => format!("*const {}", self.pointee(to)),
                (_, to) => format!("*mut {}", self.pointee(to)),
            },
            Type::Array(of, length) => format!("[{}; {length}]", self.name(of)),
            other => unreachable!("{other:?} has no name in Rust"),
        }
    }

    fn pointee(&self, ty: &Type) -> String {
        match ty {
            Type::Name(name) if name == "void" => "core::ffi::c_void".to_owned(),
            other => self.name(other),
        }
    }

    /// The type of a pointer to a function: `unsafe extern "C" fn(...) -> ...`.
    pub(crate) fn function<'a>(&self, result: &Type, params: impl Iterator<Item = &'a Variable>) -> String {
        let list: Vec<String> = params.map(|param| self.param(param)).collect();
        let result = match result {
            Type::Name(name) if name == "void" => String::new(),
            other => format!(" -> {}", self.name(other)),
        };
        format!("unsafe extern \"C\" fn({}){result}", list.join(", "))
    }

    /// `name: type` of a parameter; an array is a pointer there, as in C.
    pub(crate) fn param(&self, param: &Variable) -> String {
        let ty = match &param.ty {
            Type::Array(of, _) => format!("*mut {}", self.name(of)),
            other => self.name(other),
        };
        format!("{}: {ty}", rust_name(&param.name))
    }
}

/// Name of a parameter or field, escaped where Rust has the word for itself.
pub(crate) fn rust_name(name: &str) -> String {
    match name {
        "" => "_".to_owned(),
        "type" | "fn" | "ref" | "in" | "match" | "move" | "mod" => format!("r#{name}"),
        name => name.to_owned(),
    }
}

fn basic(name: &str) -> &str {
    match name {
        "void" => "()",
        "char" => "core::ffi::c_char",
        "signed char" => "i8",
        "unsigned char" => "u8",
        "short" => "i16",
        "unsigned short" => "u16",
        "int" => "i32",
        "unsigned int" | "uint32_t" => "u32",
        "long" | "long long" => "i64",
        "unsigned long" | "unsigned long long" | "uint64_t" => "u64",
        "size_t" => "usize",
        "float" => "f32",
        "double" => "f64",
        name => name,
    }
}
