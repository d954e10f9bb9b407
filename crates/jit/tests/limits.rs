//! Kernels that never end, in every style of compiled code: each is reported, and ended by the time limit; and the device's thread lives.

mod device;

use std::sync::Arc;
use std::time::Duration;

use device::{Device, Nobody};
use warploom_exec::fault::FaultKind;
use warploom_jit::{Made, Mode, Options as Jit, Origin, Style, Target, tiered};
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, load};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry endless(.param .u64 out)\n{\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n\
     .reg .pred %p<9>;\n.shared .align 4 .b32 word;\nld.param.u64 %d1, [out];\nsetp.eq.u64 %p1, %d1, 0;\n@%p1 ret;\n\
     mov.u32 %r1, %tid.x;\nmov.u32 %r2, %r1;\n";
const TAIL: &str = "\nst.global.u32 [%d1], %r2;\nret;\n}\n";

/// What they do.
const ENDLESS: [(&str, Style, &str); 5] = [
    // Two gangs and more, each by itself.
    (
        "gangs",
        Style::Gangs,
        "L: add.u32 %r2, %r2, 2; setp.ne.u32 %p1, %r2, %r1; or.b32 %r3, %r2, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra L;",
    ),
    // All gangs of the CTA in one loop.
    ("team", Style::Teams, "L: add.u32 %r2, %r2, 2; or.b32 %r3, %r2, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra L;"),
    // Each lane a loop of its own.
    ("turns", Style::Apart, "L: add.u32 %r2, %r2, 2; or.b32 %r3, %r2, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra L;"),
    // Threads that look at what nobody writes.
    (
        "looks",
        Style::Chosen,
        "mov.u32 %r3, 0; st.shared.u32 [word], %r3; bar.sync 0;\nL: ld.volatile.shared.u32 %r3, [word]; setp.eq.u32 %p1, %r3, 0; @%p1 bra L;",
    ),
    // One warp waits at a barrier for another one that never comes.
    (
        "barrier",
        Style::Chosen,
        "setp.lt.u32 %p1, %r1, 32; @%p1 bra W;\nL: add.u32 %r2, %r2, 2; or.b32 %r3, %r2, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra L;\nW: bar.sync 0;",
    ),
];

#[test]
fn kernels_without_an_end_are_reported_and_ended_in_every_style() {
    for (name, style, body) in ENDLESS {
        let (device, reports) = Device::watched(Duration::from_millis(250), Some(Duration::from_millis(500)));
        let out = device.buffer(&[0; 64]);
        let text = format!("{HEAD}{body}{TAIL}");
        let module = Arc::new(load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads"));
        let report = Arc::new(|made: &Made<'_>| assert_eq!(made.code, Ok(Origin::Compiler), "{}", made.kernel));
        let jit = Jit { mode: Mode::Always, target: Target::Host, cache: None, dump: None, style, report };
        let kernel = tiered(jit, &module, FunctionId(0), Arc::new(Nobody));
        // Asked for nothing, it ends at once: from then on the code is there, and no time goes into making it.
        let unwatched = Device::new();
        unwatched.run(&module, kernel.clone(), [4, 1, 1], [64, 1, 1], &[&0_u64.to_le_bytes()]);
        assert!(unwatched.engine.fault().is_none(), "{name}");
        device.run(&module, kernel, [4, 1, 1], [64, 1, 1], &[&out.to_le_bytes()]);
        let fault = device.engine.fault().expect("a fault");
        assert!(matches!(fault.kind, FaultKind::LaunchTimeout { .. }), "{name}: {fault}");
        let reports = reports.lock().expect("no panic");
        assert_eq!(reports.len(), 1, "{name}: {reports:?}");
        assert!(reports[0].contains("0 of 4 CTAs have ended"), "{name}: {reports:?}");
    }
}
