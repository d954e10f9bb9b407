//! What calls answer before `cuInit`, in forked children, and at exit; and what the log says of failures.
#[path = "support/driver.rs"]
mod driver;
#[path = "support/library.rs"]
mod library;
#[path = "support/process.rs"]
mod process;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::Mutex;

use warploom_abi::{CUcontext, CUlogLevel, CUlogsCallback, CUlogsCallbackHandle, CUresult};
use warploom_entrypoint::{Driver, entry};

/// Typed functions of the driver under test.
struct Functions {
    init: <entry::cuInit_v2000 as warploom_entrypoint::EntryPoint>::Fn,
    version: <entry::cuDriverGetVersion_v2020 as warploom_entrypoint::EntryPoint>::Fn,
    count: <entry::cuDeviceGetCount_v2000 as warploom_entrypoint::EntryPoint>::Fn,
    create: <entry::cuCtxCreate_v3020 as warploom_entrypoint::EntryPoint>::Fn,
    current: <entry::cuCtxGetCurrent_v4000 as warploom_entrypoint::EntryPoint>::Fn,
    destroy: <entry::cuCtxDestroy_v4000 as warploom_entrypoint::EntryPoint>::Fn,
    error_name: <entry::cuGetErrorName_v6000 as warploom_entrypoint::EntryPoint>::Fn,
}

impl Functions {
    fn of(driver: &Driver) -> Functions {
        const THERE: &str = "every driver has it";
        Functions {
            init: driver.get::<entry::cuInit_v2000>().expect(THERE),
            version: driver.get::<entry::cuDriverGetVersion_v2020>().expect(THERE),
            count: driver.get::<entry::cuDeviceGetCount_v2000>().expect(THERE),
            create: driver.get::<entry::cuCtxCreate_v3020>().expect(THERE),
            current: driver.get::<entry::cuCtxGetCurrent_v4000>().expect(THERE),
            destroy: driver.get::<entry::cuCtxDestroy_v4000>().expect(THERE),
            error_name: driver.get::<entry::cuGetErrorName_v6000>().expect(THERE),
        }
    }

    fn init(&self) -> CUresult {
        // SAFETY: cuInit takes a number.
        unsafe { (self.init)(0) }
    }

    fn count(&self) -> CUresult {
        // SAFETY: the output is ours.
        unsafe { (self.count)(&mut 0) }
    }

    fn version(&self) -> CUresult {
        // SAFETY: the output is ours.
        unsafe { (self.version)(&mut 0) }
    }

    fn create(&self) -> (CUresult, CUcontext) {
        let mut context = CUcontext::NULL;
        // SAFETY: the output is ours.
        let result = unsafe { (self.create)(&mut context, 0, 0) };
        (result, context)
    }

    fn current(&self) -> CUresult {
        let mut context = CUcontext::NULL;
        // SAFETY: the output is ours.
        unsafe { (self.current)(&mut context) }
    }

    fn destroy(&self, context: CUcontext) -> CUresult {
        // SAFETY: a handle is a number.
        unsafe { (self.destroy)(context) }
    }

    fn error_name(&self, code: u32) -> (CUresult, Option<&CStr>) {
        let mut name = ptr::dangling::<c_char>();
        // SAFETY: the output is ours; names end in NUL and live for ever.
        unsafe {
            let result = (self.error_name)(CUresult(code), &mut name);
            (result, (!name.is_null()).then(|| CStr::from_ptr(name)))
        }
    }
}

fn alone(test: &str, body: impl FnOnce(Functions)) {
    process::with_settings(test, &[], || body(Functions::of(&driver::driver())));
}

/// Runs `body` in a forked child, which exits with what it answers.
fn forked(body: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the child calls the driver, which promises to work or to answer there, and leaves without unwinding.
    unsafe {
        match libc::fork() {
            0 => libc::_exit(body()),
            child => {
                assert!(child > 0, "fork fails");
                let mut status = 0;
                assert_eq!(libc::waitpid(child, &mut status, 0), child);
                assert!(libc::WIFEXITED(status), "the child ends with status {status:#x}");
                libc::WEXITSTATUS(status)
            }
        }
    }
}

/// 0 if all the calls answered as expected, else the number of the first that did not.
fn first_difference(answers: &[(CUresult, CUresult)]) -> c_int {
    answers.iter().position(|(answer, expected)| answer != expected).map_or(0, |index| index as c_int + 1)
}

const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;
const NOT_INITIALIZED: CUresult = CUresult::CUDA_ERROR_NOT_INITIALIZED;

#[test]
fn before_init_little_works() {
    alone("before_init_little_works", |driver| {
        assert_eq!(driver.count(), NOT_INITIALIZED);
        assert_eq!(driver.create(), (NOT_INITIALIZED, CUcontext::NULL));
        assert_eq!(driver.current(), NOT_INITIALIZED);
        assert_eq!(driver.version(), SUCCESS);
        assert_eq!(driver.error_name(2), (SUCCESS, Some(c"CUDA_ERROR_OUT_OF_MEMORY")));
        assert_eq!(driver.error_name(12_345), (CUresult::CUDA_ERROR_INVALID_VALUE, None));
        // SAFETY: cuInit takes a number.
        assert_eq!(unsafe { (driver.init)(1) }, CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(driver.count(), NOT_INITIALIZED);
        assert_eq!((driver.init(), driver.init()), (SUCCESS, SUCCESS));
        assert_eq!(driver.count(), SUCCESS);
    });
}

#[test]
fn a_child_forked_after_init_is_told() {
    alone("a_child_forked_after_init_is_told", |driver| {
        assert_eq!(driver.init(), SUCCESS);
        let (created, context) = driver.create();
        assert_eq!(created, SUCCESS);
        let difference = forked(|| {
            first_difference(&[
                (driver.version(), SUCCESS),
                (driver.init(), NOT_INITIALIZED),
                (driver.count(), NOT_INITIALIZED),
                (driver.current(), NOT_INITIALIZED),
                (driver.destroy(context), NOT_INITIALIZED),
                (driver.error_name(0).0, SUCCESS),
            ])
        });
        assert_eq!(difference, 0);
        // The parent goes on as before.
        assert_eq!(driver.destroy(context), SUCCESS);
    });
}

#[test]
fn a_child_forked_before_init_works() {
    alone("a_child_forked_before_init_works", |driver| {
        let difference = forked(|| {
            let init = driver.init();
            let (created, context) = driver.create();
            first_difference(&[(init, SUCCESS), (created, SUCCESS), (driver.destroy(context), SUCCESS)])
        });
        assert_eq!(difference, 0);
        assert_eq!(driver.count(), NOT_INITIALIZED);
        assert_eq!(driver.init(), SUCCESS);
    });
}

#[test]
fn exit_handlers_are_told_that_the_driver_is_gone() {
    static LATE: Mutex<Option<Functions>> = Mutex::new(None);
    extern "C" fn at_exit() {
        let late = LATE.lock().map(|mut late| late.take());
        let expected = CUresult::CUDA_ERROR_DEINITIALIZED;
        let difference = late.ok().flatten().map_or(99, |driver| {
            first_difference(&[
                (driver.count(), expected),
                (driver.init(), expected),
                (driver.current(), expected),
                (driver.version(), SUCCESS),
            ])
        });
        // SAFETY: ends the process with the answer.
        unsafe { libc::_exit(difference) }
    }
    alone("exit_handlers_are_told_that_the_driver_is_gone", |driver| {
        let difference = forked(|| {
            // Handlers run in reverse: this one, set before cuInit, runs after the driver's.
            // SAFETY: the handler only calls the driver and leaves.
            unsafe { libc::atexit(at_exit) };
            if driver.init() != SUCCESS {
                return 98;
            }
            let late = Functions::of(&driver::driver());
            if let Ok(mut place) = LATE.lock() {
                *place = Some(late);
            }
            // SAFETY: a forked child of one thread.
            unsafe { libc::exit(97) }
        });
        assert_eq!(difference, 0);
    });
}

#[test]
fn failures_are_logged_with_their_reason() {
    static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    unsafe extern "C" fn hear(data: *mut c_void, level: CUlogLevel, message: *mut c_char, length: usize) {
        assert_eq!((data.addr(), level), (0x50, CUlogLevel::CU_LOG_LEVEL_ERROR));
        // SAFETY: the driver passes a string that ends in NUL.
        let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
        assert_eq!(text.len(), length);
        HEARD.lock().expect("no panic holds it").push(text);
    }
    alone("failures_are_logged_with_their_reason", |functions| {
        assert_eq!(functions.init(), SUCCESS);
        let driver = driver::driver();
        let register = driver.get::<entry::cuLogsRegisterCallback_v12090>().expect("12.9 has it");
        let unregister = driver.get::<entry::cuLogsUnregisterCallback_v12090>().expect("12.9 has it");
        let dump = driver.get::<entry::cuLogsDumpToMemory_v12090>().expect("12.9 has it");
        let current = driver.get::<entry::cuLogsCurrent_v12090>().expect("12.9 has it");
        let device = driver.get::<entry::cuDeviceGet_v2000>().expect("every driver has it");
        let mut handle = CUlogsCallbackHandle::NULL;
        let hear = CUlogsCallback((hear as unsafe extern "C" fn(_, _, _, _)) as usize);
        // SAFETY: all outputs are ours, the callback has the documented type, and the buffer is as long as said.
        unsafe {
            assert_eq!(register(hear, ptr::without_provenance_mut(0x50), &mut handle), SUCCESS);
            assert_eq!(device(&mut 0, 7), CUresult::CUDA_ERROR_INVALID_DEVICE);
            assert_eq!(unregister(handle), SUCCESS);
            let mut iterator = 0;
            assert_eq!(current(&mut iterator, 0), SUCCESS);
            assert_eq!(unregister(handle), CUresult::CUDA_ERROR_INVALID_VALUE);
            let heard = HEARD.lock().expect("no panic holds it").clone();
            assert_eq!(heard.len(), 1, "{heard:?}");
            assert!(heard[0].ends_with("[CUDA][E][cuDeviceGet] there is no device 7, only 1 from 0 on"), "{heard:?}");

            let mut buffer = [0x7f_u8; 4096];
            let mut size = buffer.len();
            assert_eq!(dump(&mut iterator, buffer.as_mut_ptr().cast(), &mut size, 0), SUCCESS);
            let text = CStr::from_bytes_until_nul(&buffer).expect("it ends in NUL").to_string_lossy();
            assert_eq!(text.len(), size);
            assert_eq!(text.lines().count(), 1, "only what came after cuLogsCurrent: {text}");
            assert!(text.contains("[cuLogsUnregisterCallback] ") && text.ends_with('\n'), "{text}");
            // The iterator has moved on, and a buffer too small for a line stays empty.
            size = buffer.len();
            assert_eq!(dump(&mut iterator, buffer.as_mut_ptr().cast(), &mut size, 0), SUCCESS);
            assert_eq!(size, 0);
            size = 8;
            assert_eq!(dump(ptr::null_mut(), buffer.as_mut_ptr().cast(), &mut size, 0), SUCCESS);
            assert_eq!((size, buffer[0]), (0, 0));
        }
    });
}

#[test]
fn the_trace_tells_arguments_outputs_and_reasons() {
    const NAME: &str = "the_trace_tells_arguments_outputs_and_reasons";
    // The trace goes to standard error, so the traced process is one further down.
    if std::env::var_os("WARPLOOM_TRACED").is_some() {
        let driver = Functions::of(&driver::driver());
        assert_eq!(driver.count(), NOT_INITIALIZED);
        assert_eq!(driver.init(), SUCCESS);
        assert_eq!(driver.count(), SUCCESS);
        return;
    }
    let traced = |what: &str| {
        let program = std::env::current_exe().expect("a test knows its executable");
        let mut command = std::process::Command::new(program);
        let command =
            command.args([NAME, "--exact", "--nocapture"]).env("WARPLOOM_TRACED", "1").env("WARPLOOM_LOG", what);
        let output = command.output().expect("the test starts again");
        assert!(output.status.success());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.lines().filter(|line| line.contains("cuDeviceGetCount(")).map(str::to_owned).collect::<Vec<_>>()
    };
    let calls = traced("calls");
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls[0].contains(") = CUDA_ERROR_NOT_INITIALIZED: cuInit was not called"), "{calls:?}");
    assert!(calls[1].contains(" -> 1) = CUDA_SUCCESS"), "{calls:?}");
    let errors = traced("errors");
    assert_eq!(errors.len(), 1, "{errors:?}");
}
