//! Kernels of all lengths give what the interpreter gives: the longer the text, the less LLVM is asked to do with it, down to nothing.

mod device;
mod length;

use std::sync::Arc;

use device::{Device, Nobody};
use warploom_exec::kernel::LoadedKernel;
use warploom_interp::Processor;
use warploom_jit::{Made, Mode, Options as Jit, Origin, Style, Target, tiered};
use warploom_ptx::ir::FunctionId;
use warploom_ptx::{Options, VerifiedModule, load};

/// What a kernel leaves in memory.
fn left(what: &str, module: &Arc<VerifiedModule>, kernel: Arc<dyn LoadedKernel>) -> Vec<u32> {
    let device = Device::new();
    let data = device.buffer(&(0..1024).collect::<Vec<u32>>());
    device.run(module, kernel, [1, 1, 1], [128, 1, 1], &[&data.to_le_bytes()]);
    assert_eq!(device.engine.fault().map(|fault| fault.to_string()), None, "{what}");
    device.words(data, 1024)
}

#[test]
fn kernels_of_all_lengths_give_what_the_interpreter_gives() {
    // In the best way, in the middle one, and as they are written.
    for instructions in [400, 3200, 9000] {
        let text = length::text(instructions);
        let module = Arc::new(load(text.as_bytes(), &Options { driver_version: 13000, sm: 90 }).expect("loads"));
        let interpreted = warploom_interp::load(&module, FunctionId(0), &|_| true, Processor::V4).expect("covered");
        let expected = left("interpreted", &module, interpreted);
        for target in [Target::Host, Target::V3] {
            let report = Arc::new(|made: &Made<'_>| assert_eq!(made.code, Ok(Origin::Compiler), "{}", made.kernel));
            let jit = Jit { mode: Mode::Always, target, cache: None, dump: None, style: Style::Chosen, report };
            let compiled = tiered(jit, &module, FunctionId(0), Arc::new(Nobody));
            let what = format!("{instructions} instructions, {target:?}");
            assert_eq!(left(&what, &module, compiled), expected, "{what}");
        }
    }
}
