//! nvJitLink: a link for `sm_NN` of PTX and images is ours. Code for link-time optimisation is linked by NVIDIA's library, to PTX, which is
//! linked with the rest.
mod options;

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::{Arc, Mutex, PoisonError};

use crate::border::{self, guarded};
use crate::front::{Functions, Ours, PLACES, Places};
use crate::image::{Assembly, Image, Settings, lines};
use crate::inputs::{Input, Kind, take_apart};
use options::Order;

/// `nvJitLinkHandle`
type Handle = *mut c_void;
/// `nvJitLinkResult`
type Status = c_int;

const SUCCESS: Status = 0;
/// `NVJITLINK_ERROR_INVALID_INPUT`: also what a link that makes an image has no PTX by.
const INVALID_INPUT: Status = 3;
/// `NVJITLINK_ERROR_PTX_COMPILE`
const PTX_COMPILE: Status = 4;
/// `NVJITLINK_ERROR_INTERNAL`: also what a link that fails answers, as recorded.
const INTERNAL: Status = 6;
/// `NVJITLINK_ERROR_UNRECOGNIZED_INPUT`
const UNRECOGNIZED_INPUT: Status = 8;

type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> Status;
type Destroy = unsafe extern "C" fn(*mut Handle) -> Status;
type AddData = unsafe extern "C" fn(Handle, u32, *const c_void, usize, *const c_char) -> Status;
type AddFile = unsafe extern "C" fn(Handle, u32, *const c_char) -> Status;
type Complete = unsafe extern "C" fn(Handle) -> Status;
type Size = unsafe extern "C" fn(Handle, *mut usize) -> Status;
type Get = unsafe extern "C" fn(Handle, *mut c_char) -> Status;

/// A result that is asked for in two calls.
#[derive(Clone, Copy)]
struct Output {
    size: Size,
    get: Get,
}

/// NVIDIA's library in one place: its functions, and the links for devices.
struct Library {
    create: Create,
    destroy: Destroy,
    add_data: AddData,
    add_file: AddFile,
    complete: Complete,
    cubin: Output,
    ptx: Output,
    error_log: Output,
    info_log: Output,
    links: Mutex<HashMap<usize, Arc<Mutex<Link>>>>,
}

/// A link for a device.
#[derive(Debug)]
struct Link {
    settings: Settings,
    /// Whether code for link-time optimisation may come.
    optimizes: bool,
    /// Whether it has.
    has_theirs: bool,
    assembly: Assembly,
    image: Option<Vec<u8>>,
    errors: String,
    remarks: String,
}

static LIBRARIES: Places<Library> = Places::new();

/// Stands in front of a library if it is nvJitLink's: our functions.
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
        let address = |name: &str| functions.address(name).map(std::ptr::with_exposed_provenance::<c_void>);
        let result = |name: &str| {
            let (size, get) = (address(&format!("nvJitLinkGet{name}Size"))?, address(&format!("nvJitLinkGet{name}"))?);
            // SAFETY: as the caller promises.
            Some(unsafe {
                Output { size: transmute::<*const c_void, Size>(size), get: transmute::<*const c_void, Get>(get) }
            })
        };
        let [create, destroy, add_data, add_file, complete] = [
            address("nvJitLinkCreate")?,
            address("nvJitLinkDestroy")?,
            address("nvJitLinkAddData")?,
            address("nvJitLinkAddFile")?,
            address("nvJitLinkComplete")?,
        ];
        // SAFETY: as the caller promises.
        Some(unsafe {
            Library {
                create: transmute::<*const c_void, Create>(create),
                destroy: transmute::<*const c_void, Destroy>(destroy),
                add_data: transmute::<*const c_void, AddData>(add_data),
                add_file: transmute::<*const c_void, AddFile>(add_file),
                complete: transmute::<*const c_void, Complete>(complete),
                cubin: result("LinkedCubin")?,
                ptx: result("LinkedPtx")?,
                error_log: result("ErrorLog")?,
                info_log: result("InfoLog")?,
                links: Mutex::default(),
            }
        })
    }

    fn links(&self) -> impl std::ops::DerefMut<Target = HashMap<usize, Arc<Mutex<Link>>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with a link for a device; `None` if this is none.
    fn with<T>(&self, handle: Handle, work: impl FnOnce(&mut Link) -> T) -> Option<T> {
        let link = Arc::clone(self.links().get(&handle.addr())?);
        let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
        Some(work(&mut link))
    }

    /// A text that NVIDIA's library has for a link.
    ///
    /// # Safety
    /// The handle is one of the library's.
    unsafe fn text(&self, handle: Handle, result: Output) -> String {
        // SAFETY: as the caller promises, and the buffer is as large as the library wants it.
        border::text(|size| unsafe { (result.size)(handle, size) }, |to| unsafe { (result.get)(handle, to) })
    }

    /// # Safety
    /// As the header wants it of callers; `words` are what is at `given`.
    unsafe fn create(&self, to: *mut Handle, count: u32, given: *const *const c_char, words: Vec<CString>) -> Status {
        let Some(Order { options, settings }) = Order::new(words) else {
            // SAFETY: as the caller promises.
            return unsafe { (self.create)(to, count, given) };
        };
        let optimizes = options.len() > count as usize;
        let pointers: Vec<*const c_char> = options.iter().map(|word| word.as_ptr()).collect();
        // SAFETY: as the caller promises.
        let status = unsafe { (self.create)(to, pointers.len() as u32, pointers.as_ptr()) };
        if status == SUCCESS {
            let assembly = Assembly::new(settings);
            let (errors, remarks) = (String::new(), String::new());
            let link = Link { settings, optimizes, has_theirs: false, assembly, image: None, errors, remarks };
            // SAFETY: the library wrote a handle there.
            self.links().insert(unsafe { *to }.addr(), Arc::new(Mutex::new(link)));
        }
        status
    }

    /// # Safety
    /// As the header wants it of callers.
    unsafe fn complete(&self, handle: Handle, link: &mut Link) -> Status {
        if link.has_theirs {
            // SAFETY: as the caller promises.
            let status = unsafe { (self.complete)(handle) };
            if status != SUCCESS {
                return status;
            }
            // SAFETY: as the caller promises.
            let text = unsafe { self.text(handle, self.ptx) };
            if let Err(errors) = link.assembly.add("lto", text) {
                link.fail(&errors, PTX_COMPILE);
                return PTX_COMPILE;
            }
        }
        link.complete()
    }
}

impl Link {
    fn fail(&mut self, errors: &str, status: Status) {
        let last = if status == PTX_COMPILE { "ERROR NVJITLINK_ERROR_PTX_COMPILE" } else { "ERROR 9: complete" };
        self.errors.push_str(&format!("{errors}\n{last}\n"));
    }

    /// Adds an input, unless it is for NVIDIA's library.
    fn add(&mut self, kind: u32, name: &str, bytes: &[u8]) -> Option<Status> {
        match take_apart(Kind::from_number(kind)?, name, bytes, self.settings.sm, self.optimizes) {
            Input::Theirs => None,
            Input::MachineCode => {
                let reason = "machine code for GPUs is not linked, only PTX, images made of PTX, and code for link-time optimisation";
                self.errors.push_str(&format!("ERROR 8: {name}: {reason}\n"));
                Some(UNRECOGNIZED_INPUT)
            }
            Input::Texts(texts) => {
                for (inner, text) in texts {
                    let name = if inner.is_empty() { name } else { &inner };
                    if let Err(errors) = self.assembly.add(name, text) {
                        self.errors
                            .push_str(&format!("{errors}\nERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX ({name})\n"));
                        return Some(PTX_COMPILE);
                    }
                }
                Some(SUCCESS)
            }
        }
    }

    /// Links what is there.
    fn complete(&mut self) -> Status {
        let mut assembly = std::mem::take(&mut self.assembly);
        let mismatches = assembly.mismatches();
        if !mismatches.is_empty() {
            self.errors.push_str(&format!("{mismatches}\n"));
        }
        let done = assembly.add_device_runtime().map_err(|errors| vec![errors]).and_then(|()| assembly.complete());
        match done {
            Ok(Image { file, remarks }) => {
                self.image = Some(file);
                self.remarks = if remarks.is_empty() { remarks } else { remarks + "\n" };
                SUCCESS
            }
            Err(messages) => {
                self.fail(&lines("error   : ", &messages), INTERNAL);
                INTERNAL
            }
        }
    }
}

/// Does the work of one of the functions below, of the library in a place.
fn enter(place: usize, symbol: &str, function: impl FnOnce(&Library) -> Status) -> Status {
    guarded(symbol, INTERNAL, || LIBRARIES.get(place).map_or(INTERNAL, function))
}

/// Whether a caller gave somewhere to write to.
fn given(done: bool) -> Status {
    if done { SUCCESS } else { INVALID_INPUT }
}

unsafe extern "C" fn create<const PLACE: usize>(to: *mut Handle, count: u32, words: *const *const c_char) -> Status {
    enter(PLACE, "nvJitLinkCreate", |library| {
        // SAFETY: as the header wants it of callers.
        let options = c_int::try_from(count).ok().and_then(|count| unsafe { border::options(count, words) });
        match options.filter(|_| !to.is_null()) {
            // SAFETY: as above.
            Some(options) => unsafe { library.create(to, count, words, options) },
            // SAFETY: as above.
            None => unsafe { (library.create)(to, count, words) },
        }
    })
}

unsafe extern "C" fn destroy<const PLACE: usize>(handle: *mut Handle) -> Status {
    enter(PLACE, "nvJitLinkDestroy", |library| {
        if !handle.is_null() {
            // SAFETY: as the header wants it of callers.
            library.links().remove(&unsafe { *handle }.addr());
        }
        // SAFETY: as above.
        unsafe { (library.destroy)(handle) }
    })
}

unsafe extern "C" fn add_data<const PLACE: usize>(
    handle: Handle,
    kind: u32,
    data: *const c_void,
    size: usize,
    name: *const c_char,
) -> Status {
    enter(PLACE, "nvJitLinkAddData", |library| {
        let ours = library.with(handle, |link| {
            if data.is_null() {
                return None;
            }
            // SAFETY: as the header wants it of callers.
            let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
            // SAFETY: as above.
            let name = if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } };
            link.add(kind, &name.to_string_lossy(), bytes)
        });
        ours.flatten().unwrap_or_else(|| {
            // SAFETY: as above.
            let status = unsafe { (library.add_data)(handle, kind, data, size, name) };
            library.with(handle, |link| link.has_theirs |= status == SUCCESS);
            status
        })
    })
}

unsafe extern "C" fn add_file<const PLACE: usize>(handle: Handle, kind: u32, name: *const c_char) -> Status {
    enter(PLACE, "nvJitLinkAddFile", |library| {
        let ours = library.with(handle, |link| {
            if name.is_null() {
                return None;
            }
            // SAFETY: as the header wants it of callers.
            let name = unsafe { CStr::from_ptr(name) };
            // NVIDIA's library says what is wrong with a file that cannot be read.
            let bytes = std::fs::read(OsStr::from_bytes(name.to_bytes())).ok()?;
            link.add(kind, &name.to_string_lossy(), &bytes)
        });
        ours.flatten().unwrap_or_else(|| {
            // SAFETY: as above.
            let status = unsafe { (library.add_file)(handle, kind, name) };
            library.with(handle, |link| link.has_theirs |= status == SUCCESS);
            status
        })
    })
}

unsafe extern "C" fn complete<const PLACE: usize>(handle: Handle) -> Status {
    enter(PLACE, "nvJitLinkComplete", |library| {
        // SAFETY: as the header wants it of callers, here and below.
        let ours = library.with(handle, |link| unsafe { library.complete(handle, link) });
        // SAFETY: as above.
        ours.unwrap_or_else(|| unsafe { (library.complete)(handle) })
    })
}

unsafe extern "C" fn cubin_size<const PLACE: usize>(handle: Handle, size: *mut usize) -> Status {
    enter(PLACE, "nvJitLinkGetLinkedCubinSize", |library| {
        let ours = library.with(handle, |link| match &link.image {
            // SAFETY: as the header wants it of callers, here and below.
            Some(image) => given(unsafe { border::give(image.len(), size) }),
            None => INTERNAL,
        });
        // SAFETY: as above.
        ours.unwrap_or_else(|| unsafe { (library.cubin.size)(handle, size) })
    })
}

unsafe extern "C" fn cubin<const PLACE: usize>(handle: Handle, to: *mut c_char) -> Status {
    enter(PLACE, "nvJitLinkGetLinkedCubin", |library| {
        let ours = library.with(handle, |link| match &link.image {
            // SAFETY: as the header wants it of callers, here and below.
            Some(image) => given(unsafe { border::give_all(image, to) }),
            None => INTERNAL,
        });
        // SAFETY: as above.
        ours.unwrap_or_else(|| unsafe { (library.cubin.get)(handle, to) })
    })
}

/// A link for a device has no PTX, whatever became of code for link-time optimisation.
unsafe extern "C" fn ptx_size<const PLACE: usize>(handle: Handle, size: *mut usize) -> Status {
    enter(PLACE, "nvJitLinkGetLinkedPtxSize", |library| {
        // SAFETY: as the header wants it of callers.
        library.with(handle, |_| INVALID_INPUT).unwrap_or_else(|| unsafe { (library.ptx.size)(handle, size) })
    })
}

unsafe extern "C" fn ptx<const PLACE: usize>(handle: Handle, to: *mut c_char) -> Status {
    enter(PLACE, "nvJitLinkGetLinkedPtx", |library| {
        // SAFETY: as the header wants it of callers.
        library.with(handle, |_| INVALID_INPUT).unwrap_or_else(|| unsafe { (library.ptx.get)(handle, to) })
    })
}

/// A log of NVIDIA's library, and what we have to add to it; empty logs have no end.
///
/// # Safety
/// As the header wants it of callers.
unsafe fn log(library: &Library, handle: Handle, theirs: Output, ours: fn(&Link) -> &String) -> Option<Vec<u8>> {
    let added = library.with(handle, |link| ours(link).clone()).filter(|added| !added.is_empty())?;
    // SAFETY: as the caller promises.
    let log = unsafe { library.text(handle, theirs) };
    Some([log.as_bytes(), added.as_bytes(), b"\0"].concat())
}

unsafe extern "C" fn error_log_size<const PLACE: usize>(handle: Handle, size: *mut usize) -> Status {
    enter(PLACE, "nvJitLinkGetErrorLogSize", |library| {
        // SAFETY: as the header wants it of callers, here and below.
        match unsafe { log(library, handle, library.error_log, |link| &link.errors) } {
            // SAFETY: as above.
            Some(log) => given(unsafe { border::give(log.len(), size) }),
            // SAFETY: as above.
            None => unsafe { (library.error_log.size)(handle, size) },
        }
    })
}

unsafe extern "C" fn error_log<const PLACE: usize>(handle: Handle, to: *mut c_char) -> Status {
    enter(PLACE, "nvJitLinkGetErrorLog", |library| {
        // SAFETY: as the header wants it of callers, here and below.
        match unsafe { log(library, handle, library.error_log, |link| &link.errors) } {
            // SAFETY: as above.
            Some(log) => given(unsafe { border::give_all(&log, to) }),
            // SAFETY: as above.
            None => unsafe { (library.error_log.get)(handle, to) },
        }
    })
}

unsafe extern "C" fn info_log_size<const PLACE: usize>(handle: Handle, size: *mut usize) -> Status {
    enter(PLACE, "nvJitLinkGetInfoLogSize", |library| {
        // SAFETY: as the header wants it of callers, here and below.
        match unsafe { log(library, handle, library.info_log, |link| &link.remarks) } {
            // SAFETY: as above.
            Some(log) => given(unsafe { border::give(log.len(), size) }),
            // SAFETY: as above.
            None => unsafe { (library.info_log.size)(handle, size) },
        }
    })
}

unsafe extern "C" fn info_log<const PLACE: usize>(handle: Handle, to: *mut c_char) -> Status {
    enter(PLACE, "nvJitLinkGetInfoLog", |library| {
        // SAFETY: as the header wants it of callers, here and below.
        match unsafe { log(library, handle, library.info_log, |link| &link.remarks) } {
            // SAFETY: as above.
            Some(log) => given(unsafe { border::give_all(&log, to) }),
            // SAFETY: as above.
            None => unsafe { (library.info_log.get)(handle, to) },
        }
    })
}

fn of_place<const PLACE: usize>() -> Vec<Ours> {
    vec![
        ("nvJitLinkCreate", create::<PLACE> as *const () as usize),
        ("nvJitLinkDestroy", destroy::<PLACE> as *const () as usize),
        ("nvJitLinkAddData", add_data::<PLACE> as *const () as usize),
        ("nvJitLinkAddFile", add_file::<PLACE> as *const () as usize),
        ("nvJitLinkComplete", complete::<PLACE> as *const () as usize),
        ("nvJitLinkGetLinkedCubinSize", cubin_size::<PLACE> as *const () as usize),
        ("nvJitLinkGetLinkedCubin", cubin::<PLACE> as *const () as usize),
        ("nvJitLinkGetLinkedPtxSize", ptx_size::<PLACE> as *const () as usize),
        ("nvJitLinkGetLinkedPtx", ptx::<PLACE> as *const () as usize),
        ("nvJitLinkGetErrorLogSize", error_log_size::<PLACE> as *const () as usize),
        ("nvJitLinkGetErrorLog", error_log::<PLACE> as *const () as usize),
        ("nvJitLinkGetInfoLogSize", info_log_size::<PLACE> as *const () as usize),
        ("nvJitLinkGetInfoLog", info_log::<PLACE> as *const () as usize),
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
