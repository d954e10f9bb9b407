//! The part of LLVM's C interface that is used, found in the shared library at run time.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;

use libloading::Library;

use crate::background;
use crate::effort::{Effort, OPTIONS};

type Opaque = *mut c_void;

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        #[allow(non_snake_case)]
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            fn find(library: &Library) -> Result<Functions, String> {
                // SAFETY: the names and types are those of LLVM 19's headers (llvm-c), which the library's name says that it is.
                unsafe {
                    Ok(Functions {
                        $($name: *library.get(concat!(stringify!($name), "\0").as_bytes()).map_err(|error| error.to_string())?,)*
                    })
                }
            }
        }
    };
}

functions! {
    LLVMGetVersion: fn(*mut c_uint, *mut c_uint, *mut c_uint);
    LLVMParseCommandLineOptions: fn(c_int, *const *const c_char, *const c_char);
    LLVMContextCreate: fn() -> Opaque;
    LLVMContextDispose: fn(Opaque);
    LLVMContextSetDiagnosticHandler: fn(Opaque, unsafe extern "C" fn(Opaque, *mut c_void), *mut c_void);
    LLVMGetDiagInfoSeverity: fn(Opaque) -> c_int;
    LLVMGetDiagInfoDescription: fn(Opaque) -> *mut c_char;
    LLVMInstallFatalErrorHandler: fn(unsafe extern "C" fn(*const c_char));
    LLVMCreateMemoryBufferWithMemoryRangeCopy: fn(*const c_char, usize, *const c_char) -> Opaque;
    LLVMParseIRInContext: fn(Opaque, Opaque, *mut Opaque, *mut *mut c_char) -> c_int;
    LLVMDisposeModule: fn(Opaque);
    LLVMGetFirstFunction: fn(Opaque) -> Opaque;
    LLVMGetNextFunction: fn(Opaque) -> Opaque;
    LLVMGetFirstBasicBlock: fn(Opaque) -> Opaque;
    LLVMGetNextBasicBlock: fn(Opaque) -> Opaque;
    LLVMGetFirstInstruction: fn(Opaque) -> Opaque;
    LLVMGetNextInstruction: fn(Opaque) -> Opaque;
    LLVMGetInstructionOpcode: fn(Opaque) -> c_int;
    LLVMDisposeMessage: fn(*mut c_char);
    LLVMGetDefaultTargetTriple: fn() -> *mut c_char;
    LLVMSetTarget: fn(Opaque, *const c_char);
    LLVMGetTargetFromTriple: fn(*const c_char, *mut Opaque, *mut *mut c_char) -> c_int;
    LLVMGetHostCPUName: fn() -> *mut c_char;
    LLVMGetHostCPUFeatures: fn() -> *mut c_char;
    LLVMCreateTargetMachine: fn(Opaque, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> Opaque;
    LLVMDisposeTargetMachine: fn(Opaque);
    LLVMCreatePassBuilderOptions: fn() -> Opaque;
    LLVMDisposePassBuilderOptions: fn(Opaque);
    LLVMRunPasses: fn(Opaque, *const c_char, Opaque, Opaque) -> Opaque;
    LLVMTargetMachineEmitToMemoryBuffer: fn(Opaque, Opaque, c_int, *mut *mut c_char, *mut Opaque) -> c_int;
    LLVMGetBufferStart: fn(Opaque) -> *const c_char;
    LLVMGetBufferSize: fn(Opaque) -> usize;
    LLVMDisposeMemoryBuffer: fn(Opaque);
    LLVMGetErrorMessage: fn(Opaque) -> *mut c_char;
    LLVMDisposeErrorMessage: fn(*mut c_char);
}

const INITIALIZERS: [&str; 4] = [
    "LLVMInitializeX86TargetInfo\0",
    "LLVMInitializeX86Target\0",
    "LLVMInitializeX86TargetMC\0",
    "LLVMInitializeX86AsmPrinter\0",
];

/// `LLVMRelocPIC`, `LLVMCodeModelSmall`, `LLVMObjectFile`.
const PIC: c_int = 2;
const SMALL: c_int = 3;
const OBJECT: c_int = 1;
/// `LLVMAssemblyFile`
const ASSEMBLY: c_int = 0;
/// `LLVMPHI`
const PHI: c_int = 44;

/// LLVM, opened.
pub(crate) struct Llvm {
    functions: Functions,
    name: PathBuf,
    triple: CString,
    cpu: CString,
    features: CString,
    /// Code and functions of it are used until the end of the process.
    _library: Library,
}

// SAFETY: an `Llvm` is only functions and texts, and LLVM's objects are made and used on one thread.
unsafe impl Sync for Llvm {}
// SAFETY: as above.
unsafe impl Send for Llvm {}

/// The library that holds LLVM and shows nothing of it but the functions above.
const OWN: &str = "libwarploom-simt.so";
const DRIVER: &str = "libcuda.so.1";
/// What Debian and others call LLVM 19.
const SHARED: [&str; 3] = ["libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so"];
/// What cargo leaves in folders that it builds into.
const BUILD_FOLDER: &str = ".cargo-lock";

/// Where our library may lie, for code in a folder.
fn places(folder: &Path) -> [PathBuf; 3] {
    [folder.to_owned(), folder.join(".."), folder.join("../lib/warploom")]
}

fn own(places: &[PathBuf]) -> Option<PathBuf> {
    places.iter().map(|place| place.join(OWN)).find(|place| place.exists())
}

/// Whether this code is where cargo has built it.
fn is_being_developed(folder: &Path) -> bool {
    [folder.join(BUILD_FOLDER), folder.join("..").join(BUILD_FOLDER)].iter().any(|file| file.exists())
}

/// Whether there is an LLVM to open, for all that can be said without doing so.
pub(crate) fn is_there() -> bool {
    own_folder().is_some_and(|folder| own(&places(&folder)).is_some() || is_being_developed(&folder))
}

/// LLVM's library: ours, which lies beside whatever holds this code, or where that is installed. While building and testing the system's will do.
fn find() -> Result<(PathBuf, Library), String> {
    let folder = own_folder().ok_or("it is not known where warploom lies")?;
    let places = places(&folder);
    if let Some(place) = own(&places) {
        // SAFETY: its initialisers register options and tables of its own.
        let opened = unsafe { Library::new(&place) };
        return opened.map(|library| (place, library)).map_err(|error| error.to_string());
    }
    if !is_being_developed(&folder) {
        // Beside the driver, wherever this code is.
        let home = places.iter().find(|place| place.join(DRIVER).exists()).unwrap_or(&folder);
        let home = home.canonicalize().unwrap_or_else(|_| home.clone());
        return Err(format!("warploom was installed without a compiler: there is no {}", home.join(OWN).display()));
    }
    // SAFETY: as above.
    let mut opened = SHARED.iter().map(|name| (PathBuf::from(name), unsafe { Library::new(name) }));
    let found = opened.find_map(|(name, library)| Some((name, library.ok()?)));
    found.ok_or_else(|| "LLVM 19 is not there: install what Debian and Ubuntu call libllvm19".to_owned())
}

/// The folder of the library or program that this code is in.
fn own_folder() -> Option<PathBuf> {
    // SAFETY: all fields may be 0.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: it only writes to `info`; the name that it leaves there stays as long as we are loaded.
    let name = unsafe {
        let found = libc::dladdr(own_folder as *const c_void, &mut info) != 0 && !info.dli_fname.is_null();
        found.then(|| CStr::from_ptr(info.dli_fname))?
    };
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    let path = path.canonicalize().ok().or_else(|| std::env::current_exe().ok())?;
    path.parent().map(Path::to_owned)
}

/// LLVM, opened at the first call.
///
/// # Errors
/// What to install.
pub(crate) fn llvm() -> Result<&'static Llvm, &'static str> {
    static LLVM: OnceLock<Result<Llvm, String>> = OnceLock::new();
    LLVM.get_or_init(Llvm::open).as_ref().map_err(String::as_str)
}

impl Llvm {
    fn open() -> Result<Llvm, String> {
        if cfg!(not(target_arch = "x86_64")) {
            return Err("code is made for x86-64 only".to_owned());
        }
        let (name, library) = find()?;
        let functions = Functions::find(&library)?;
        for name in INITIALIZERS {
            // SAFETY: `void (void)`, once, before anything else.
            unsafe {
                let initialize: unsafe extern "C" fn() =
                    *library.get(name.as_bytes()).map_err(|error| error.to_string())?;
                initialize();
            }
        }
        if !name.ends_with(OWN) {
            // What a shared LLVM does at the end of the process must find nothing running; what is registered last comes first.
            // SAFETY: the function stays where it is: the library that holds it is never unloaded.
            unsafe { libc::atexit(background::finish) };
        }
        if name.ends_with(OWN) {
            // The system's may be somebody else's as well, who has options of his own.
            let options = OPTIONS.map(CStr::as_ptr);
            // SAFETY: so many texts, which stay; once.
            unsafe { (functions.LLVMParseCommandLineOptions)(options.len() as c_int, options.as_ptr(), ptr::null()) };
        }
        // SAFETY: the function stays where it is, and does not unwind.
        unsafe { (functions.LLVMInstallFatalErrorHandler)(cannot_go_on) };
        // SAFETY: all three give texts that are the caller's.
        let [triple, cpu, features] = unsafe {
            [
                (functions.LLVMGetDefaultTargetTriple)(),
                (functions.LLVMGetHostCPUName)(),
                (functions.LLVMGetHostCPUFeatures)(),
            ]
            .map(|text| take(&functions, text))
        };
        Ok(Llvm { functions, name, triple, cpu, features, _library: library })
    }

    /// Its version, and the library's name.
    pub(crate) fn describe(&self) -> String {
        let mut version = [0; 3];
        let [major, minor, patch] = &mut version;
        // SAFETY: it writes three numbers.
        unsafe { (self.functions.LLVMGetVersion)(major, minor, patch) };
        let [major, minor, patch] = version;
        format!("LLVM {major}.{minor}.{patch}, {}", self.name.display())
    }

    /// The processor's name.
    pub(crate) fn cpu(&self) -> String {
        self.cpu.to_string_lossy().into_owned()
    }

    /// What it has.
    pub(crate) fn features(&self) -> String {
        self.features.to_string_lossy().into_owned()
    }

    /// Code of a module's text. On the thread that compiles only: what LLVM cannot go on from keeps it ([`background::lose`]).
    ///
    /// # Errors
    /// What LLVM says against it.
    pub(crate) fn compile(&self, text: &str) -> Result<Made, String> {
        self.emit(text, OBJECT)
    }

    /// The assembly of a module's text. Waits for the thread that compiles.
    ///
    /// # Errors
    /// What LLVM says against it.
    pub(crate) fn assembly(&'static self, text: &str) -> Result<String, String> {
        let text = text.to_owned();
        let made = background::call(move || self.emit(&text, ASSEMBLY))?;
        Ok(String::from_utf8_lossy(&made.bytes).into_owned())
    }

    fn emit(&self, text: &str, kind: c_int) -> Result<Made, String> {
        let f = &self.functions;
        let mut said = Said { functions: f, errors: String::new(), stacks: Vec::new() };
        // SAFETY: each object is made, used and given back as the headers of LLVM 19 have it: buffers belong to whom they are handed, modules to
        // their context, texts of errors to the caller.
        unsafe {
            let context = (f.LLVMContextCreate)();
            (f.LLVMContextSetDiagnosticHandler)(context, note, (&raw mut said).cast());
            let buffer = self.buffer(context, text, kind);
            (f.LLVMContextDispose)(context);
            let buffer = buffer?;
            let (start, size) = ((f.LLVMGetBufferStart)(buffer), (f.LLVMGetBufferSize)(buffer));
            let bytes = std::slice::from_raw_parts(start.cast::<u8>(), size).to_vec();
            (f.LLVMDisposeMemoryBuffer)(buffer);
            if said.errors.is_empty() { Ok(Made { bytes, stacks: said.stacks }) } else { Err(said.errors) }
        }
    }

    /// # Safety
    /// `context` lives.
    unsafe fn buffer(&self, context: Opaque, text: &str, kind: c_int) -> Result<Opaque, String> {
        let f = &self.functions;
        // SAFETY: see `emit`.
        unsafe {
            let mut message = ptr::null_mut();
            let mut module = self.parse(context, text)?;
            let mut target = ptr::null_mut();
            if (f.LLVMGetTargetFromTriple)(self.triple.as_ptr(), &mut target, &mut message) != 0 {
                (f.LLVMDisposeModule)(module);
                return Err(take(f, message).to_string_lossy().into_owned());
            }
            let [triple, cpu, features] = [&self.triple, &self.cpu, &self.features].map(|text| text.as_ptr());
            let mut effort = Effort::for_text(text);
            let machine = (f.LLVMCreateTargetMachine)(target, triple, cpu, features, effort.level, PIC, SMALL);
            let options = (f.LLVMCreatePassBuilderOptions)();
            let run = |passes: &CStr, module| match passes.is_empty() {
                true => ptr::null_mut(),
                false => (f.LLVMRunPasses)(module, passes.as_ptr(), machine, options),
            };
            let mut error = run(effort.beginning, module);
            if error.is_null()
                && let Some(less) = effort.instead(|| self.joined(module))
            {
                (f.LLVMDisposeModule)(module);
                effort = less;
                module = match self.parse(context, text) {
                    Ok(module) => module,
                    Err(why) => {
                        (f.LLVMDisposePassBuilderOptions)(options);
                        (f.LLVMDisposeTargetMachine)(machine);
                        return Err(why);
                    }
                };
            }
            if error.is_null() {
                error = run(effort.passes, module);
            }
            let mut object = ptr::null_mut();
            let result = self.check(error).and_then(|()| {
                match (f.LLVMTargetMachineEmitToMemoryBuffer)(machine, module, kind, &mut message, &mut object) {
                    0 => Ok(object),
                    _ => Err(take(f, message).to_string_lossy().into_owned()),
                }
            });
            (f.LLVMDisposePassBuilderOptions)(options);
            (f.LLVMDisposeTargetMachine)(machine);
            (f.LLVMDisposeModule)(module);
            result
        }
    }

    /// A module of a text.
    ///
    /// # Safety
    /// `context` lives.
    unsafe fn parse(&self, context: Opaque, text: &str) -> Result<Opaque, String> {
        let f = &self.functions;
        let (mut message, mut module) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the context takes the buffer over; the text of an error is the caller's.
        unsafe {
            let buffer =
                (f.LLVMCreateMemoryBufferWithMemoryRangeCopy)(text.as_ptr().cast(), text.len(), c"kernel".as_ptr());
            if (f.LLVMParseIRInContext)(context, buffer, &mut module, &mut message) != 0 {
                return Err(take(f, message).to_string_lossy().into_owned());
            }
            (f.LLVMSetTarget)(module, self.triple.as_ptr());
        }
        Ok(module)
    }

    /// How many registers of a module are joined of several, where ways meet.
    ///
    /// # Safety
    /// `module` lives.
    unsafe fn joined(&self, module: Opaque) -> usize {
        let f = &self.functions;
        let each = |first: Opaque, next: unsafe extern "C" fn(Opaque) -> Opaque| {
            let there = |part: Opaque| (!part.is_null()).then_some(part);
            // SAFETY: `part` is of the module, which nobody changes meanwhile.
            std::iter::successors(there(first), move |part| there(unsafe { next(*part) }))
        };
        // SAFETY: as above.
        unsafe {
            let functions = each((f.LLVMGetFirstFunction)(module), f.LLVMGetNextFunction);
            let blocks =
                functions.flat_map(|function| each((f.LLVMGetFirstBasicBlock)(function), f.LLVMGetNextBasicBlock));
            let joins = |block| {
                let insts = each((f.LLVMGetFirstInstruction)(block), f.LLVMGetNextInstruction);
                insts.take_while(|inst| (f.LLVMGetInstructionOpcode)(*inst) == PHI).count()
            };
            blocks.map(joins).sum()
        }
    }

    /// # Safety
    /// `error` is an `LLVMErrorRef`, which this takes over.
    unsafe fn check(&self, error: Opaque) -> Result<(), String> {
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: the text is given back once.
        unsafe {
            let message = (self.functions.LLVMGetErrorMessage)(error);
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.functions.LLVMDisposeErrorMessage)(message);
            Err(text)
        }
    }
}

/// What was made of a text.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    /// An object file, or assembly.
    pub(crate) bytes: Vec<u8>,
    /// The functions that need more than [`SMALL_STACK`](warploom_simt::codegen::SMALL_STACK) bytes of stack, with how many.
    pub(crate) stacks: Vec<(String, u64)>,
}

/// What is said of a module while code is made of it.
struct Said<'l> {
    functions: &'l Functions,
    errors: String,
    /// As of [`Made`].
    stacks: Vec<(String, u64)>,
}

/// `LLVMDSError`, `LLVMDSWarning`
const IS_ERROR: c_int = 0;
const IS_WARNING: c_int = 1;

/// The function that a warning is about, and its bytes of stack (`DiagnosticInfoStackSize`, for functions with `warn-stack-size`).
fn stack_of(warning: &str) -> Option<(String, u64)> {
    let (size, rest) = warning.split_once("stack frame size (")?.1.split_once(')')?;
    let (name, _) = rest.split_once("in function '")?.1.split_once('\'')?;
    Some((name.to_owned(), size.parse().ok()?))
}

/// Takes what LLVM says; without this it would print errors, and end the process.
///
/// # Safety
/// Called by LLVM with what is to be said, and the [`Said`] of the module that it is about.
unsafe extern "C" fn note(info: Opaque, said: *mut c_void) {
    // SAFETY: it lives in `emit`, which does not use it meanwhile.
    let said = unsafe { &mut *said.cast::<Said<'_>>() };
    // SAFETY: the text is the caller's.
    unsafe {
        let severity = (said.functions.LLVMGetDiagInfoSeverity)(info);
        if severity != IS_ERROR && severity != IS_WARNING {
            return;
        }
        let text = take(said.functions, (said.functions.LLVMGetDiagInfoDescription)(info));
        let text = text.to_string_lossy();
        if severity == IS_ERROR {
            said.errors.push_str(&text);
            said.errors.push('\n');
        } else {
            said.stacks.extend(stack_of(&text));
        }
    }
}

/// LLVM has met what it cannot go on from, an instruction that it has no code for or the end of its memory, and would end the process if this came back.
///
/// # Safety
/// Called by LLVM with a text.
unsafe extern "C" fn cannot_go_on(reason: *const c_char) {
    // SAFETY: it ends with 0.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy();
    background::lose(&format!("LLVM cannot go on: {reason}"));
}

/// A text of LLVM's, given back.
///
/// # Safety
/// It is the caller's, or null.
unsafe fn take(functions: &Functions, text: *mut c_char) -> CString {
    if text.is_null() {
        return CString::default();
    }
    // SAFETY: it ends with 0, and is given back once.
    unsafe {
        let copy = CStr::from_ptr(text).to_owned();
        (functions.LLVMDisposeMessage)(text);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_need_much_stack_are_told_of() {
        let text = |bytes: u32| {
            format!(
                "define void @cta(ptr %out) \"warn-stack-size\"=\"4096\" {{\n\
                   %room = alloca [{bytes} x i8], align 16\n  store volatile ptr %room, ptr %out\n  ret void\n}}\n"
            )
        };
        let stack = |bytes| {
            let text = text(bytes);
            background::call(move || llvm()?.compile(&text)).expect("compiles").stacks
        };
        assert_eq!(stack(4000), []);
        // A function that calls none has the bytes behind its stack as well.
        let rounded: Vec<_> = stack(100_000).into_iter().map(|(name, bytes)| (name, bytes.div_ceil(1000))).collect();
        assert_eq!(rounded, [("cta".to_owned(), 100)]);
    }
}
