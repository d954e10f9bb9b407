//! The part of C that declarations in headers use: types, declarators, aggregates, enums, constant expressions.
//!
//! It reads both the declarations that the registry's files hold and the preprocessed headers that they are compared with.

mod expression;
mod parser;
mod token;

pub(crate) use parser::{Declaration, Parser};
pub(crate) use token::tokens;

/// A C type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// A basic type in its usual spelling (`unsigned int`, `void`) or the name of a typedef.
    Name(String),
    /// `struct TAG`, `union TAG` or `enum TAG` without a body.
    Tag(String),
    /// The type with `const`.
    Const(Box<Type>),
    Pointer(Box<Type>),
    Array(Box<Type>, u64),
    Function(Box<Type>, Vec<Variable>),
    /// A struct or union with its body.
    Aggregate(Aggregate),
    /// An enum with its body.
    Enum(Enumeration),
}

/// A parameter or a field: a name and a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    /// Empty for anonymous struct and union members, and parameters without a name.
    pub(crate) name: String,
    pub(crate) ty: Type,
}

/// A struct or union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Aggregate {
    pub(crate) is_union: bool,
    pub(crate) tag: Option<String>,
    /// In bytes, where the declaration raises it.
    pub(crate) align: Option<u64>,
    pub(crate) fields: Vec<Variable>,
}

/// An enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Enumeration {
    pub(crate) tag: Option<String>,
    pub(crate) values: Vec<(String, i64)>,
}

impl Type {
    /// The type without `const`.
    pub(crate) fn unqualified(&self) -> &Type {
        match self {
            Type::Const(inner) => inner.unqualified(),
            other => other,
        }
    }
}

/// The declaration of `name` as this type: `const char *name`, `int name[3]`, `void (*name)(int)`.
pub(crate) fn declare(ty: &Type, name: &str) -> String {
    match ty {
        Type::Name(base) | Type::Tag(base) => joined(base, name),
        Type::Const(inner) => match &**inner {
            Type::Pointer(to) => declare(to, &format!("*const {name}")),
            other => format!("const {}", declare(other, name)),
        },
        Type::Pointer(to) => match &**to {
            Type::Function(..) | Type::Array(..) => declare(to, &format!("(*{name})")),
            to => declare(to, &format!("*{name}")),
        },
        Type::Array(of, length) => declare(of, &format!("{name}[{length}]")),
        Type::Function(result, params) => {
            let list: Vec<String> = params.iter().map(|param| declare(&param.ty, &param.name)).collect();
            let list = if list.is_empty() { "void".to_owned() } else { list.join(", ") };
            declare(result, &format!("{name}({list})"))
        }
        Type::Aggregate(aggregate) => joined(&aggregate_text(aggregate), name),
        Type::Enum(_) => unreachable!("an enum is declared on its own"),
    }
}

fn joined(base: &str, name: &str) -> String {
    match name {
        "" => base.to_owned(),
        name => format!("{base} {name}"),
    }
}

/// The body of a struct or union with its keyword and tag.
pub(crate) fn aggregate_text(aggregate: &Aggregate) -> String {
    let keyword = if aggregate.is_union { "union" } else { "struct" };
    let head = match &aggregate.tag {
        Some(tag) => format!("{keyword} {tag} {{\n"),
        None => format!("{keyword} {{\n"),
    };
    let mut text = head;
    for field in &aggregate.fields {
        for line in format!("{};", declare(&field.ty, &field.name)).lines() {
            text += &format!("    {line}\n");
        }
    }
    text + "}"
}
