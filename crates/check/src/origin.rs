//! The calls of the host that led somewhere.

use std::backtrace::Backtrace;

/// Most calls that are named.
const SHOWN: usize = 16;

/// Where the calling thread is, without names: these are looked up when somebody asks.
pub(crate) struct Origin(Backtrace);

impl Origin {
    pub(crate) fn here() -> Origin {
        Origin(Backtrace::force_capture())
    }

    /// The program's calls, innermost first, as far as the frames can be walked.
    pub(crate) fn frames(&self) -> Vec<String> {
        frames(&self.0.to_string())
    }
}

/// The frames of a backtrace's text that are not the driver's own: those behind the function of the API that the program has called.
fn frames(text: &str) -> Vec<String> {
    let mut all: Vec<(String, Option<String>)> = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if let Some(place) = line.strip_prefix("at ") {
            if let Some((_, at)) = all.last_mut() {
                *at = Some(place.to_owned());
            }
        } else if let Some((_, name)) = line.split_once(": ") {
            all.push((name.to_owned(), None));
        }
    }
    let is_api = |name: &str| {
        let rest = name.strip_prefix("cuda").or_else(|| name.strip_prefix("cu"));
        rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
    };
    let Some(api) = all.iter().rposition(|(name, _)| is_api(name)) else { return Vec::new() };
    let shown = all[api..].iter().take(SHOWN);
    let with_place = |(name, place): &(String, Option<String>)| match place {
        Some(place) => format!("{name} at {place}"),
        None => name.clone(),
    };
    shown.map(with_place).collect()
}

#[cfg(test)]
mod tests {
    use super::frames;

    #[test]
    fn frames_begin_with_the_function_of_the_api() {
        let text = "   0: warploom_check::origin::Origin::here\n             at ./src/origin.rs:3:1\n   1: cuMemAlloc_v2\n   2: cudaMalloc\n   \
                    3: main\n             at /p/main.cu:7:3\n   4: <unknown>\n";
        assert_eq!(frames(text), ["cudaMalloc", "main at /p/main.cu:7:3", "<unknown>"]);
        assert!(frames("   0: warploom_check::x\n   1: main\n").is_empty());
    }
}
