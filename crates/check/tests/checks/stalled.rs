//! What is stuck is reported, and ended after the time that it may take, whatever is checked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use warploom_check::{Check, Checker, Settings};
use warploom_exec::fault::FaultKind;
use warploom_exec::pool::PoolOptions;
use warploom_interp_testing::{Device, Shape};

/// The first warp waits at a barrier, the other one for a word that nobody writes.
const STUCK: &str = ".visible .entry stuck(.param .u64 word) {
    .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>;
    ld.param.u64 %d1, [word]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32;
    @%p1 bra meet;
    spin: ld.volatile.global.u32 %r2, [%d1]; setp.eq.u32 %p2, %r2, 0; @%p2 bra spin;
    meet: bar.sync 0;
    ret; }";

#[test]
fn a_stuck_kernel_is_reported_and_ended_under_each_check() {
    let sets = Check::ALL.map(|check| vec![check]).into_iter().chain([Check::ALL.to_vec()]);
    for checks in sets {
        let settings = Settings { checks: checks.clone(), ..Settings::default() };
        let checker = Checker::new(settings, Arc::new(|_: &str| {})).expect("no suppressions");
        let reported = Arc::new(Mutex::new(String::new()));
        let out = reported.clone();
        let device = Device::with_pool(PoolOptions {
            threads: 1,
            report_stalled: Duration::from_millis(50),
            launch_timeout: Some(Duration::from_millis(300)),
            report: Arc::new(move |text| out.lock().unwrap().push_str(text)),
            observer: Some(checker),
            ..PoolOptions::default()
        });
        let kernel = device.kernel(STUCK).expect("a kernel");
        let word = device.alloc(4);
        let fault = device.launch(&kernel, Shape::new(1, 64), &[word]).expect_err("it never ends");
        assert!(matches!(fault.kind, FaultKind::LaunchTimeout { .. }), "{checks:?}: {fault}");
        let text = reported.lock().unwrap().clone();
        assert!(text.contains("stuck") && text.contains("PTX line"), "{checks:?}: {text}");
    }
}
