//! The one function that the auditing library calls, and the libraries that were found.
use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use crate::border::guarded;
use crate::{jitlink, nvrtc};

/// How many files with a compiler one process may load: what stands in front of one has a place of its own, known at compile time, as C
/// functions have no other way to tell whose they are.
pub(crate) const PLACES: usize = 8;

/// The functions of a library, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Functions(Vec<(String, usize)>);

impl Functions {
    /// Where a function is; without one of this very name, the newest version of it.
    pub(crate) fn address(&self, name: &str) -> Option<usize> {
        let named = self.0.iter().filter(|(other, _)| base_name(other) == name);
        let version = |name: &str| -> Vec<u32> { name.rsplit('_').map_while(|part| part.parse().ok()).collect() };
        let newest = |(other, _): &&(String, usize)| {
            let mut version = version(other);
            version.reverse();
            (other == name, version)
        };
        named.max_by_key(newest).map(|(_, address)| *address)
    }
}

/// A name without what tells versions of a function apart: `__nvJitLinkCreate_12_9` is `nvJitLinkCreate`.
fn base_name(name: &str) -> &str {
    let Some(rest) = name.strip_prefix("__") else { return name };
    rest.trim_end_matches(|end: char| end.is_ascii_digit() || end == '_')
}

/// A function of ours, by the name of the one that it stands in front of.
pub(crate) type Ours = (&'static str, usize);

/// The places of one kind of library.
#[derive(Debug)]
pub(crate) struct Places<T>([OnceLock<(Functions, T)>; PLACES]);

impl<T> Places<T> {
    pub(crate) const fn new() -> Places<T> {
        Places([const { OnceLock::new() }; PLACES])
    }

    /// What stands in front of these functions: `ours`, of the place of the library that was made of them; nothing if it is no library of
    /// this kind, or no place is free.
    pub(crate) fn stand(
        &self,
        functions: &Functions,
        library: Option<T>,
        ours: &[fn() -> Vec<Ours>; PLACES],
    ) -> Vec<Ours> {
        let place = library.and_then(|library| self.take(functions, library));
        place.map_or(Vec::new(), |place| ours[place]())
    }

    /// The place of a library with these functions: the one that has it already, or the next that is free.
    fn take(&self, functions: &Functions, library: T) -> Option<usize> {
        let mut taken = (functions.clone(), library);
        for (number, place) in self.0.iter().enumerate() {
            match place.set(taken) {
                Ok(()) => return Some(number),
                Err(_) if place.get().is_some_and(|(there, _)| there == functions) => return Some(number),
                Err(back) => taken = back,
            }
        }
        None
    }

    /// What is in a place that was taken.
    pub(crate) fn get(&self, place: usize) -> Option<&T> {
        self.0.get(place)?.get().map(|(_, library)| library)
    }
}

/// Gets all functions of a library that was loaded, and writes the addresses of ours over those of the functions that they stand in front of.
///
/// # Safety
/// `names` are `count` strings, and `functions` as many addresses of functions of these names, as NVIDIA's headers declare them.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn warploom_front(count: usize, names: *const *const c_char, functions: *mut usize) {
    guarded("warploom_front", (), || {
        // SAFETY: as the caller promises.
        let (names, addresses) =
            unsafe { (std::slice::from_raw_parts(names, count), std::slice::from_raw_parts_mut(functions, count)) };
        // SAFETY: as the caller promises.
        let names = names.iter().map(|name| unsafe { CStr::from_ptr(*name) }.to_string_lossy().into_owned());
        let names: Vec<String> = names.collect();
        let functions = Functions(names.iter().cloned().zip(addresses.iter().copied()).collect());
        // SAFETY: as the caller promises.
        let ours = unsafe { [nvrtc::stand(&functions), jitlink::stand(&functions)] }.concat();
        for (name, address) in names.iter().zip(addresses) {
            if let Some((_, own)) = ours.iter().find(|(own, _)| *own == base_name(name)) {
                *address = *own;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_a_function_are_one() {
        assert_eq!(base_name("__nvJitLinkCreate_12_9"), "nvJitLinkCreate");
        assert_eq!(base_name("nvrtcGetCUBIN"), "nvrtcGetCUBIN");
        let functions = |names: &[&str]| Functions(names.iter().map(|name| (*name).to_owned()).zip(1..).collect());
        let versions = ["__nvJitLinkCreate_12_9", "__nvJitLinkCreate_12_10", "__nvJitLinkCreate_12_2"];
        assert_eq!(functions(&versions).address("nvJitLinkCreate"), Some(2));
        assert_eq!(functions(&[&["nvJitLinkCreate"], &versions[..]].concat()).address("nvJitLinkCreate"), Some(1));
        assert_eq!(functions(&versions).address("nvJitLinkDestroy"), None);
    }

    #[test]
    fn a_library_keeps_its_place() {
        fn of_place<const PLACE: usize>() -> Vec<Ours> {
            vec![("place", PLACE)]
        }
        const OURS: [fn() -> Vec<Ours>; PLACES] = [
            of_place::<0>,
            of_place::<1>,
            of_place::<2>,
            of_place::<3>,
            of_place::<4>,
            of_place::<5>,
            of_place::<6>,
            of_place::<7>,
        ];
        let functions = |address| Functions(vec![("nvrtcVersion".to_owned(), address)]);
        let places = Places::new();
        for (address, made) in [(8, "first"), (16, "second"), (8, "again")] {
            let expected = vec![("place", usize::from(made == "second"))];
            assert_eq!(places.stand(&functions(address), Some(made), &OURS), expected, "{made}");
        }
        assert_eq!((places.get(0), places.get(1), places.get(2)), (Some(&"first"), Some(&"second"), None));
        assert_eq!(places.stand(&functions(24), None, &OURS), []);
        for address in 3..=PLACES {
            assert_eq!(places.stand(&functions(8 * address), Some("more"), &OURS), [("place", address - 1)]);
        }
        assert_eq!(places.stand(&functions(800), Some("one too many"), &OURS), []);
    }
}
