//! NVRTC: `nvrtcCompileProgram` for `sm_NN` compiles for `compute_NN`, and `nvrtcGetCUBIN` gives an image of ours made from its PTX.
mod options;

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;
use std::sync::{Arc, Mutex, PoisonError};

use warploom_ptx::diagnostic::APPLICATION_INPUT;

use crate::border::{self, guarded};
use crate::front::{Functions, Ours, PLACES, Places};
use crate::image::{Assembly, Image, Settings, lines};
use options::Compilation;

/// `nvrtcProgram`: a handle.
type Program = *mut c_void;
/// `nvrtcResult`.
type Status = c_int;

const SUCCESS: Status = 0;
/// `NVRTC_ERROR_INVALID_INPUT`
const INVALID_INPUT: Status = 3;
/// `NVRTC_ERROR_COMPILATION`
const COMPILATION: Status = 6;
/// `NVRTC_ERROR_INTERNAL_ERROR`
const INTERNAL_ERROR: Status = 11;

type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status;
type Size = unsafe extern "C" fn(Program, *mut usize) -> Status;
type Get = unsafe extern "C" fn(Program, *mut c_char) -> Status;
type Destroy = unsafe extern "C" fn(*mut Program) -> Status;

/// NVIDIA's library in one place: its functions, and what its programs became here.
struct Library {
    compile: Compile,
    destroy: Destroy,
    cubin_size: Size,
    cubin: Get,
    ptx_size: Size,
    ptx: Get,
    log_size: Size,
    log: Get,
    programs: Mutex<HashMap<usize, Arc<Compiled>>>,
}

/// What was compiled for a device.
#[derive(Debug, Default)]
struct Compiled {
    /// None if it did not become one.
    image: Option<Vec<u8>>,
    /// What follows in the program's log.
    remarks: String,
}

static LIBRARIES: Places<Library> = Places::new();

/// Stands in front of a library if it is NVRTC's: our functions.
///
/// # Safety
/// The functions are what NVIDIA's header of their names declares.
pub(crate) unsafe fn stand(functions: &Functions) -> Vec<Ours> {
    // SAFETY: as the caller promises.
    let library = unsafe { Library::of(functions) };
    LIBRARIES.stand(functions, library, &OF_PLACES)
}

impl Library {
    /// None if one of the functions is missing.
    ///
    /// # Safety
    /// As for [`stand`].
    unsafe fn of(functions: &Functions) -> Option<Library> {
        let address = |name| functions.address(name).map(std::ptr::with_exposed_provenance::<c_void>);
        let size = |name| {
            // SAFETY: as the caller promises.
            Some(unsafe { transmute::<*const c_void, Size>(address(name)?) })
        };
        let get = |name| {
            // SAFETY: as the caller promises.
            Some(unsafe { transmute::<*const c_void, Get>(address(name)?) })
        };
        Some(Library {
            // SAFETY: as the caller promises.
            compile: unsafe { transmute::<*const c_void, Compile>(address("nvrtcCompileProgram")?) },
            // SAFETY: as the caller promises.
            destroy: unsafe { transmute::<*const c_void, Destroy>(address("nvrtcDestroyProgram")?) },
            cubin_size: size("nvrtcGetCUBINSize")?,
            cubin: get("nvrtcGetCUBIN")?,
            ptx_size: size("nvrtcGetPTXSize")?,
            ptx: get("nvrtcGetPTX")?,
            log_size: size("nvrtcGetProgramLogSize")?,
            log: get("nvrtcGetProgramLog")?,
            programs: Mutex::default(),
        })
    }

    fn compiled(&self, program: Program) -> Option<Arc<Compiled>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner).get(&program.addr()).cloned()
    }

    fn remember(&self, program: Program, compiled: Option<Compiled>) {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        match compiled {
            Some(compiled) => programs.insert(program.addr(), Arc::new(compiled)),
            None => programs.remove(&program.addr()),
        };
    }

    /// # Safety
    /// The program is one of the library's, or none.
    unsafe fn compile(&self, program: Program, compilation: &Compilation) -> Status {
        self.remember(program, None);
        let words: Vec<*const c_char> = compilation.options.iter().map(|word| word.as_ptr()).collect();
        let count = c_int::try_from(words.len()).expect("as many as were given");
        // SAFETY: as the caller promises.
        let status = unsafe { (self.compile)(program, count, words.as_ptr()) };
        let Some(settings) = compilation.device.filter(|_| status == SUCCESS) else { return status };
        // SAFETY: as the caller promises, and the buffer is as large as the library wants it.
        let text =
            border::text(|size| unsafe { (self.ptx_size)(program, size) }, |to| unsafe { (self.ptx)(program, to) });
        // What is made for link-time optimisation has none.
        if text.is_empty() {
            return status;
        }
        let (status, compiled) = match assemble(text, settings) {
            Ok(Image { file, remarks }) => (SUCCESS, Compiled { image: Some(file), remarks }),
            Err(remarks) => (COMPILATION, Compiled { image: None, remarks }),
        };
        self.remember(program, Some(compiled));
        status
    }

    /// The program's log, if something was added to it.
    ///
    /// # Safety
    /// As for `compile`.
    unsafe fn log(&self, program: Program) -> Option<Vec<u8>> {
        let compiled = self.compiled(program).filter(|compiled| !compiled.remarks.is_empty())?;
        // SAFETY: as for `compile`.
        let own =
            border::text(|size| unsafe { (self.log_size)(program, size) }, |to| unsafe { (self.log)(program, to) });
        Some([own.as_bytes(), compiled.remarks.as_bytes(), b"\n\0"].concat())
    }
}

/// An image of a text; else the lines that say what is wrong with it.
fn assemble(text: String, settings: Settings) -> Result<Image, String> {
    let mut assembly = Assembly::new(settings);
    assembly.add(APPLICATION_INPUT, text)?;
    assembly.complete().map_err(|messages| lines("ptxas fatal   : ", &messages))
}

/// Does the work of one of the functions below, of the library in a place.
fn enter(place: usize, symbol: &str, function: impl FnOnce(&Library) -> Status) -> Status {
    guarded(symbol, INTERNAL_ERROR, || LIBRARIES.get(place).map_or(INTERNAL_ERROR, function))
}

/// Whether a caller gave somewhere to write to.
fn given(done: bool) -> Status {
    if done { SUCCESS } else { INVALID_INPUT }
}

unsafe extern "C" fn compile_program<const PLACE: usize>(
    program: Program,
    count: c_int,
    words: *const *const c_char,
) -> Status {
    enter(PLACE, "nvrtcCompileProgram", |library| {
        // SAFETY: as the header wants it of callers.
        match unsafe { border::options(count, words) } {
            // SAFETY: as above.
            Some(words) => unsafe { library.compile(program, &Compilation::new(words)) },
            // SAFETY: as above.
            None => unsafe { (library.compile)(program, count, words) },
        }
    })
}

unsafe extern "C" fn destroy_program<const PLACE: usize>(program: *mut Program) -> Status {
    enter(PLACE, "nvrtcDestroyProgram", |library| {
        if !program.is_null() {
            // SAFETY: as the header wants it of callers.
            library.remember(unsafe { *program }, None);
        }
        // SAFETY: as above.
        unsafe { (library.destroy)(program) }
    })
}

unsafe extern "C" fn cubin_size<const PLACE: usize>(program: Program, size: *mut usize) -> Status {
    enter(PLACE, "nvrtcGetCUBINSize", |library| match library.compiled(program).as_deref() {
        // SAFETY: as the header wants it of callers.
        Some(Compiled { image: Some(image), .. }) => given(unsafe { border::give(image.len(), size) }),
        // SAFETY: as above.
        _ => unsafe { (library.cubin_size)(program, size) },
    })
}

unsafe extern "C" fn cubin<const PLACE: usize>(program: Program, to: *mut c_char) -> Status {
    enter(PLACE, "nvrtcGetCUBIN", |library| match library.compiled(program).as_deref() {
        // SAFETY: as the header wants it of callers.
        Some(Compiled { image: Some(image), .. }) => given(unsafe { border::give_all(image, to) }),
        // SAFETY: as above.
        _ => unsafe { (library.cubin)(program, to) },
    })
}

unsafe extern "C" fn log_size<const PLACE: usize>(program: Program, size: *mut usize) -> Status {
    // SAFETY: as the header wants it of callers, here and below.
    enter(PLACE, "nvrtcGetProgramLogSize", |library| match unsafe { library.log(program) } {
        // SAFETY: as above.
        Some(log) => given(unsafe { border::give(log.len(), size) }),
        // SAFETY: as above.
        None => unsafe { (library.log_size)(program, size) },
    })
}

unsafe extern "C" fn log<const PLACE: usize>(program: Program, to: *mut c_char) -> Status {
    // SAFETY: as the header wants it of callers, here and below.
    enter(PLACE, "nvrtcGetProgramLog", |library| match unsafe { library.log(program) } {
        // SAFETY: as above.
        Some(log) => given(unsafe { border::give_all(&log, to) }),
        // SAFETY: as above.
        None => unsafe { (library.log)(program, to) },
    })
}

fn of_place<const PLACE: usize>() -> Vec<Ours> {
    vec![
        ("nvrtcCompileProgram", compile_program::<PLACE> as *const () as usize),
        ("nvrtcDestroyProgram", destroy_program::<PLACE> as *const () as usize),
        ("nvrtcGetCUBINSize", cubin_size::<PLACE> as *const () as usize),
        ("nvrtcGetCUBIN", cubin::<PLACE> as *const () as usize),
        ("nvrtcGetProgramLogSize", log_size::<PLACE> as *const () as usize),
        ("nvrtcGetProgramLog", log::<PLACE> as *const () as usize),
    ]
}

const OF_PLACES: [fn() -> Vec<Ours>; PLACES] = [
    of_place::<0>,
    of_place::<1>,
    of_place::<2>,
    of_place::<3>,
    of_place::<4>,
    of_place::<5>,
    of_place::<6>,
    of_place::<7>,
];
