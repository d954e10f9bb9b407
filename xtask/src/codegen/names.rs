//! Names of C turned into names of Rust.

/// `INVALID_VALUE` to `InvalidValue`.
pub(crate) fn pascal_case(name: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_uppercase() + &rest.to_lowercase()
    };
    name.split('_').map(word).collect()
}
