//! The calls of the host that led somewhere.

use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::sync::Arc;

/// Most calls that are named.
const SHOWN: usize = 16;

/// Where the calling thread is, without names: these are looked up when somebody asks.
#[derive(Clone)]
pub(crate) struct Origin(Arc<Backtrace>);

thread_local! {
    /// While several checks are told of one event of the host: where it comes from, once one of them has asked.
    static EVENT: RefCell<Option<Option<Origin>>> = const { RefCell::new(None) };
}

/// Tells of one event of the host: whoever asks in `tell` where it comes from is given the same origin.
pub(crate) fn of_one_event(tell: impl FnOnce()) {
    // A thread that ends has no such place any more.
    let before = EVENT.try_with(|event| event.replace(Some(None)));
    tell();
    if let Ok(before) = before {
        let _ = EVENT.try_with(|event| event.replace(before));
    }
}

impl Origin {
    pub(crate) fn here() -> Origin {
        let taken = || Origin(Arc::new(Backtrace::force_capture()));
        let shared = EVENT.try_with(|event| Some(event.borrow_mut().as_mut()?.get_or_insert_with(taken).clone()));
        shared.ok().flatten().unwrap_or_else(taken)
    }

    /// Where the function of the API returns to that the program has called, where that function does, and so on.
    pub(crate) fn returns(&self) -> Vec<u64> {
        returns(&format!("{:#}", self.0))
    }

    /// The program's calls, innermost first, as far as the frames can be walked.
    pub(crate) fn frames(&self) -> Vec<String> {
        frames(&self.0.to_string())
    }
}

fn is_api(name: &str) -> bool {
    // What the compiler's code calls for a program: `__cudaLaunchKernel`.
    let name = name.strip_prefix("__").unwrap_or(name);
    let rest = name.strip_prefix("cuda").or_else(|| name.strip_prefix("cu"));
    rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
}

/// The addresses behind the innermost function of the API in a backtrace's text, in its long form.
fn returns(text: &str) -> Vec<u64> {
    let frame = |line: &str| {
        let (_, frame) = line.trim().split_once(": ")?;
        let (address, name) = frame.trim().split_once(" - ")?;
        Some((u64::from_str_radix(address.strip_prefix("0x")?, 16).ok()?, name.to_owned()))
    };
    let all: Vec<(u64, String)> = text.lines().filter_map(frame).collect();
    let Some(api) = all.iter().position(|(_, name)| is_api(name)) else { return Vec::new() };
    // Functions that are inlined have the address of the one that they are in.
    let mut returns: Vec<u64> = all[api..].iter().map(|(address, _)| *address).collect();
    returns.dedup();
    returns.remove(0);
    returns
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
    use super::{frames, returns};

    #[test]
    fn functions_of_the_api_return_somewhere() {
        let text = "   0:     0x10 - warploom_check::x\n      at ./src/origin.rs:3:1\n   1:     0x20 - inlined\n   2:     0x20 - cuMemAlloc_v2\n   \
                    3:     0x30 - small\n   4:     0x30 - wrapper\n             at /p/main.cu:7:3\n   5:     0x40 - cudaMalloc\n   6:     0x50 - <unknown>\n";
        assert_eq!(returns(text), [0x30, 0x40, 0x50]);
        assert!(returns("   0:     0x10 - main\n").is_empty());
    }

    #[test]
    fn frames_begin_with_the_function_of_the_api() {
        let text = "   0: warploom_check::origin::Origin::here\n             at ./src/origin.rs:3:1\n   1: cuMemAlloc_v2\n   2: cudaMalloc\n   \
                    3: main\n             at /p/main.cu:7:3\n   4: <unknown>\n";
        assert_eq!(frames(text), ["cudaMalloc", "main at /p/main.cu:7:3", "<unknown>"]);
        assert!(frames("   0: warploom_check::x\n   1: main\n").is_empty());
    }
}
