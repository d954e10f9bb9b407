//! What the C library is told about programs that an auditing library is loaded before.
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

/// The variable that the C library reads its tunables from.
pub(super) const VARIABLE: &str = "GLIBC_TUNABLES";

/// Room for thread-local variables at fixed places, in bytes, beside what the program itself has. See glibc's manual, "Dynamic Linking Tunables".
const STATIC_TLS: &str = "glibc.rtld.optional_static_tls";

/// The dynamic linker lays thread-local storage out when it loads an auditing library, which is before it knows what the program is linked with and preloads. What those want at fixed
/// places, as jemalloc does (2.6 kB) and rustc's library (24 kB), has to fit into the room for libraries that are opened later, of which 512 bytes are the default. Each thread has this
/// room in its stack: more would be felt by threads with small ones.
const BYTES: &str = "32768";

/// The list of tunables with ours at its end, unless it says otherwise itself.
pub(super) fn with_static_tls(there: Option<OsString>) -> OsString {
    let mut list = there.unwrap_or_default().into_vec();
    let named = |entry: &[u8]| entry.split(|byte| *byte == b'=').next() == Some(STATIC_TLS.as_bytes());
    if list.split(|byte| *byte == b':').any(named) {
        return OsString::from_vec(list);
    }
    if !list.is_empty() {
        list.push(b':');
    }
    list.extend(STATIC_TLS.as_bytes());
    list.push(b'=');
    list.extend(BYTES.as_bytes());
    OsString::from_vec(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_tunables_stay() {
        let list = |there: Option<&str>| with_static_tls(there.map(OsString::from)).into_string().expect("text");
        let ours = "glibc.rtld.optional_static_tls=32768";
        assert_eq!(list(None), ours);
        assert_eq!(list(Some("")), ours);
        assert_eq!(list(Some("glibc.malloc.check=3")), format!("glibc.malloc.check=3:{ours}"));
        assert_eq!(list(Some(ours)), ours);
        assert_eq!(list(Some("a=1:glibc.rtld.optional_static_tls=9")), "a=1:glibc.rtld.optional_static_tls=9");
        assert_eq!(
            list(Some("glibc.rtld.optional_static_tls2=9")),
            format!("glibc.rtld.optional_static_tls2=9:{ours}")
        );
    }
}
