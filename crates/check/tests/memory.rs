//! Each fault of memory is found, with who did it and what was missed, and what is right is not reported.

use std::sync::{Arc, Mutex};

use warploom_check::{Check, Checker, Settings};
use warploom_interp_testing::{Device, Shape};

/// A device that is checked, and what it says.
struct Checked {
    device: Device,
    checker: Arc<Checker>,
    said: Arc<Mutex<String>>,
}

impl Checked {
    fn new(checks: &[Check]) -> Checked {
        let said = Arc::new(Mutex::new(String::new()));
        let out = Arc::clone(&said);
        let say = Arc::new(move |text: &str| out.lock().unwrap().push_str(text));
        let settings = Settings { checks: checks.to_vec(), ..Settings::default() };
        let checker = Checker::new(settings, say).expect("no suppressions");
        Checked { device: Device::observed(checker.clone()), checker, said }
    }

    /// What is said of a launch of one warp, with addresses as names.
    fn launch(&self, ptx: &str, params: &[(&str, u64)]) -> String {
        let kernel = self.device.kernel(ptx).expect("the kernel loads");
        let values: Vec<u64> = params.iter().map(|(_, value)| *value).collect();
        // A fault that ends the kernel is reported too: by the device.
        let _ = self.device.launch(&kernel, Shape::new(1, 32), &values);
        let mut said = std::mem::take(&mut *self.said.lock().unwrap());
        for (name, value) in params {
            for offset in (0..2048).rev() {
                let by = if offset == 0 { (*name).to_owned() } else { format!("{name}+{offset:#x}") };
                said = said.replace(&format!("{:#x}", value + offset), &by);
            }
        }
        said
    }
}

/// Each of 32 threads loads a word and stores one, `last` words further in the last thread.
fn copying(last: u32) -> String {
    format!(
        ".file 1 \"copy.cu\"
        .visible .entry copy(.param .u64 from, .param .u64 to) {{
        .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p;
        ld.param.u64 %d1, [from]; ld.param.u64 %d2, [to];
        mov.u32 %r1, %tid.x; setp.eq.u32 %p, %r1, 31;
        @%p add.u32 %r1, %r1, {last};
        mul.wide.u32 %d3, %r1, 4; add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;
        .loc 1 7 3
        ld.global.u32 %r2, [%d1];
        .loc 1 8 3
        st.global.u32 [%d2], %r2;
        ret;
        }}"
    )
}

#[test]
fn a_word_behind_an_allocation_is_found() {
    let checked = Checked::new(&[Check::Memory]);
    let (from, to) = (checked.device.alloc(132), checked.device.alloc(128));
    assert_eq!(checked.launch(&copying(0), &[("FROM", from), ("TO", to)]), "");
    insta::assert_snapshot!(checked.launch(&copying(1), &[("FROM", from), ("TO", to)]));
    assert_eq!(checked.checker.sink().errors(), 1);
}
