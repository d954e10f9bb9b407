//! What the border asks of the arguments of a call that fails: which are zero, and whether a stream is named.

use std::collections::HashMap;
use std::fmt::Write;

use crate::c::Type;
use crate::codegen::names::pascal_case;
use crate::codegen::rust_type::rust_name;
use crate::registry::{Abi, InCallbacks, Item, Kind, Refusal, Zero};

/// The closure that tells the border.
pub(super) fn closure(abi: &Abi, refusal: Option<&Refusal>, items: &HashMap<&str, &Item>) -> String {
    let mut lines = String::new();
    if let Some(refusal) = refusal {
        let mut zeros = |method: &str, zeros: &[Zero]| {
            for Zero { param, code } in zeros {
                let code = pascal_case(code);
                let is_zero = is_zero(abi, param, items);
                // Writing to a String does not fail.
                let _ = writeln!(lines, "given.{method}({param:?}, {is_zero}, ErrorCode::{code});");
            }
        };
        zeros("first", &refusal.first);
        zeros("then", &refusal.then);
        if refusal.in_callbacks == InCallbacks::WithStream || refusal.context_first {
            for param in &abi.params {
                if matches!(param.variable.ty.unqualified(), Type::Name(name) if name == "CUstream") {
                    let _ = writeln!(lines, "given.stream({});", rust_name(&param.variable.name));
                }
            }
        }
    }
    if lines.is_empty() { "|_| {}".to_owned() } else { format!("|given| {{\n{lines}}}") }
}

/// Whether an argument is zero, as an expression.
fn is_zero(abi: &Abi, name: &str, items: &HashMap<&str, &Item>) -> String {
    let param = abi.params.iter().find(|param| param.variable.name == name).expect("refusals name parameters");
    is_value_zero(&rust_name(name), &param.variable.ty, items)
}

/// Whether a value is zero; of a structure its first member is asked.
fn is_value_zero(value: &str, ty: &Type, items: &HashMap<&str, &Item>) -> String {
    match ty.unqualified() {
        Type::Pointer(to) if matches!(to.unqualified(), Type::Function(..)) => format!("{value}.is_none()"),
        Type::Pointer(_) | Type::Array(..) => format!("{value}.is_null()"),
        Type::Name(name) => {
            let mut kind = items.get(name.as_str()).map(|item| &item.kind);
            while let Some(Kind::Alias { of: Type::Name(of), .. } | Kind::Foreign { of: Type::Name(of), .. }) = kind {
                kind = items.get(of.as_str()).map(|item| &item.kind);
            }
            match kind {
                Some(Kind::Handle { .. } | Kind::Callback { .. } | Kind::Enum(_)) => format!("{value}.0 == 0"),
                Some(Kind::Alias { of: Type::Pointer(_), .. } | Kind::Foreign { of: Type::Pointer(_), .. }) => {
                    format!("{value}.is_null()")
                }
                Some(Kind::Aggregate { aggregate, .. }) => {
                    let first = &aggregate.fields[0];
                    is_value_zero(&format!("{value}.{}", rust_name(&first.name)), &first.ty, items)
                }
                _ => format!("{value} == 0"),
            }
        }
        _ => format!("{value}.is_null()"),
    }
}
