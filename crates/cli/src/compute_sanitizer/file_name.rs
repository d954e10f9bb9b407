//! File names as NVIDIA's compute-sanitizer takes them for `--log-file` and `--save`.
use std::path::PathBuf;

/// The name with what stands for it in the place of `%p` (the number of the process, which the program keeps), `%q{NAME}` (a variable of the environment, or
/// nothing) and `%%`.
pub(super) fn file_name(text: &str) -> Result<PathBuf, String> {
    let mut name = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('%') {
        name.push_str(before);
        rest = if let Some(behind) = behind.strip_prefix('%') {
            name.push('%');
            behind
        } else if let Some(behind) = behind.strip_prefix('p') {
            name.push_str(&std::process::id().to_string());
            behind
        } else if let Some((variable, behind)) = behind.strip_prefix("q{").and_then(|behind| behind.split_once('}')) {
            name.push_str(&std::env::var(variable).unwrap_or_default());
            behind
        } else {
            let wrong: String = behind.chars().take(1).collect();
            return Err(format!("%{wrong} means nothing in a file name: %p, %q{{NAME}} and %% do"));
        };
    }
    Ok(PathBuf::from(name + rest))
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn per_cent_signs_are_replaced() {
        let own = std::process::id();
        let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        for (text, name) in [
            ("log", "log".to_owned()),
            ("a%pb%%", format!("a{own}b%")),
            ("%q{CARGO_MANIFEST_DIR}/x%q{WARPLOOM_NO_SUCH_VARIABLE}y", format!("{folder}/xy")),
        ] {
            assert_eq!(file_name(text).as_deref(), Ok(name.as_ref()));
        }
        for wrong in ["a%z", "%", "%q{open"] {
            assert!(file_name(wrong).is_err(), "{wrong}");
        }
    }
}
