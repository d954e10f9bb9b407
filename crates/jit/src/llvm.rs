//! The part of LLVM's C interface that is used, found in the shared library at run time.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, OnceLock};

use libloading::Library;

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
    LLVMContextCreate: fn() -> Opaque;
    LLVMContextDispose: fn(Opaque);
    LLVMCreateMemoryBufferWithMemoryRangeCopy: fn(*const c_char, usize, *const c_char) -> Opaque;
    LLVMParseIRInContext: fn(Opaque, Opaque, *mut Opaque, *mut *mut c_char) -> c_int;
    LLVMDisposeModule: fn(Opaque);
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
    LLVMPassBuilderOptionsSetLoopVectorization: fn(Opaque, c_int);
    LLVMPassBuilderOptionsSetSLPVectorization: fn(Opaque, c_int);
    LLVMRunPasses: fn(Opaque, *const c_char, Opaque, Opaque) -> Opaque;
    LLVMTargetMachineEmitToMemoryBuffer: fn(Opaque, Opaque, c_int, *mut *mut c_char, *mut Opaque) -> c_int;
    LLVMGetBufferStart: fn(Opaque) -> *const c_char;
    LLVMGetBufferSize: fn(Opaque) -> usize;
    LLVMDisposeMemoryBuffer: fn(Opaque);
    LLVMGetErrorMessage: fn(Opaque) -> *mut c_char;
    LLVMDisposeErrorMessage: fn(*mut c_char);
    LLVMOrcCreateLLJIT: fn(*mut Opaque, Opaque) -> Opaque;
    LLVMOrcDisposeLLJIT: fn(Opaque) -> Opaque;
    LLVMOrcLLJITGetMainJITDylib: fn(Opaque) -> Opaque;
    LLVMOrcLLJITAddObjectFile: fn(Opaque, Opaque, Opaque) -> Opaque;
    LLVMOrcLLJITLookup: fn(Opaque, *mut u64, *const c_char) -> Opaque;
}

#[cfg(target_arch = "x86_64")]
const INITIALIZERS: [&str; 4] = [
    "LLVMInitializeX86TargetInfo\0",
    "LLVMInitializeX86Target\0",
    "LLVMInitializeX86TargetMC\0",
    "LLVMInitializeX86AsmPrinter\0",
];
#[cfg(target_arch = "aarch64")]
const INITIALIZERS: [&str; 4] = [
    "LLVMInitializeAArch64TargetInfo\0",
    "LLVMInitializeAArch64Target\0",
    "LLVMInitializeAArch64TargetMC\0",
    "LLVMInitializeAArch64AsmPrinter\0",
];

/// `LLVMCodeGenLevelDefault`, `LLVMRelocPIC`, `LLVMCodeModelSmall`, `LLVMObjectFile`.
const LEVEL: c_int = 2;
const PIC: c_int = 2;
const SMALL: c_int = 3;
const OBJECT: c_int = 1;
/// `LLVMAssemblyFile`
const ASSEMBLY: c_int = 0;

/// LLVM, opened.
pub(crate) struct Llvm {
    functions: Functions,
    triple: CString,
    cpu: CString,
    features: CString,
    /// One compilation at a time: LLVM's own locks are not what is to be found out about here.
    busy: Mutex<()>,
    /// Code and functions of it are used until the end of the process.
    _library: Library,
}

/// Code that stays as long as this.
pub(crate) struct Code {
    jit: usize,
    /// The address of `cta`.
    pub(crate) entry: u64,
}

// SAFETY: an `Llvm` is only functions, texts and a lock.
unsafe impl Sync for Llvm {}
// SAFETY: as above.
unsafe impl Send for Llvm {}

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
        let names = ["libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so"];
        // SAFETY: LLVM's library has initialisers that do nothing but register options of its own.
        let mut opened = names.iter().map(|name| unsafe { Library::new(name) });
        let library = opened.find_map(Result::ok);
        let library = library.ok_or("LLVM 19 is not there: install what Debian and Ubuntu call libllvm19")?;
        let functions = Functions::find(&library)?;
        for name in INITIALIZERS {
            // SAFETY: `void (void)`, once, before anything else.
            unsafe {
                let initialize: unsafe extern "C" fn() =
                    *library.get(name.as_bytes()).map_err(|error| error.to_string())?;
                initialize();
            }
        }
        // SAFETY: all three give texts that are the caller's.
        let [triple, cpu, features] = unsafe {
            [
                (functions.LLVMGetDefaultTargetTriple)(),
                (functions.LLVMGetHostCPUName)(),
                (functions.LLVMGetHostCPUFeatures)(),
            ]
            .map(|text| take(&functions, text))
        };
        Ok(Llvm { functions, triple, cpu, features, busy: Mutex::new(()), _library: library })
    }

    /// The processor's name.
    pub(crate) fn cpu(&self) -> String {
        self.cpu.to_string_lossy().into_owned()
    }

    /// What it has.
    pub(crate) fn features(&self) -> String {
        self.features.to_string_lossy().into_owned()
    }

    /// Makes code of a module's text.
    ///
    /// # Errors
    /// What LLVM says against it.
    pub(crate) fn compile(&self, text: &str) -> Result<Code, String> {
        let _busy = self.busy.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let f = &self.functions;
        // SAFETY: each object is made, used and given back as the headers of LLVM 19 have it: buffers belong to whom they are handed, modules to
        // their context, texts of errors to the caller.
        unsafe {
            let context = (f.LLVMContextCreate)();
            let object = self.object(context, text, OBJECT);
            (f.LLVMContextDispose)(context);
            self.link(object?)
        }
    }

    /// The assembly of a module's text.
    ///
    /// # Errors
    /// What LLVM says against it.
    pub(crate) fn assembly(&self, text: &str) -> Result<String, String> {
        let _busy = self.busy.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let f = &self.functions;
        // SAFETY: as in `compile`; the buffer is ours, and given back once.
        unsafe {
            let context = (f.LLVMContextCreate)();
            let buffer = self.object(context, text, ASSEMBLY);
            (f.LLVMContextDispose)(context);
            let buffer = buffer?;
            let bytes =
                std::slice::from_raw_parts((f.LLVMGetBufferStart)(buffer).cast::<u8>(), (f.LLVMGetBufferSize)(buffer));
            let assembly = String::from_utf8_lossy(bytes).into_owned();
            (f.LLVMDisposeMemoryBuffer)(buffer);
            Ok(assembly)
        }
    }

    /// # Safety
    /// `context` lives.
    unsafe fn object(&self, context: Opaque, text: &str, kind: c_int) -> Result<Opaque, String> {
        let f = &self.functions;
        // SAFETY: see `compile`.
        unsafe {
            let mut message = ptr::null_mut();
            let mut module = ptr::null_mut();
            let buffer =
                (f.LLVMCreateMemoryBufferWithMemoryRangeCopy)(text.as_ptr().cast(), text.len(), c"kernel".as_ptr());
            if (f.LLVMParseIRInContext)(context, buffer, &mut module, &mut message) != 0 {
                return Err(take(f, message).to_string_lossy().into_owned());
            }
            (f.LLVMSetTarget)(module, self.triple.as_ptr());
            let mut target = ptr::null_mut();
            if (f.LLVMGetTargetFromTriple)(self.triple.as_ptr(), &mut target, &mut message) != 0 {
                (f.LLVMDisposeModule)(module);
                return Err(take(f, message).to_string_lossy().into_owned());
            }
            let [triple, cpu, features] = [&self.triple, &self.cpu, &self.features].map(|text| text.as_ptr());
            let machine = (f.LLVMCreateTargetMachine)(target, triple, cpu, features, LEVEL, PIC, SMALL);
            let options = (f.LLVMCreatePassBuilderOptions)();
            // Vectors are written out already; what is left is scalar because lanes have it in common.
            (f.LLVMPassBuilderOptionsSetLoopVectorization)(options, 0);
            (f.LLVMPassBuilderOptionsSetSLPVectorization)(options, 0);
            let error = (f.LLVMRunPasses)(module, c"default<O2>".as_ptr(), machine, options);
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

    /// # Safety
    /// `object` is a buffer with an object file, which this takes over.
    unsafe fn link(&self, object: Opaque) -> Result<Code, String> {
        let f = &self.functions;
        // SAFETY: see `compile`.
        unsafe {
            let mut jit = ptr::null_mut();
            self.check((f.LLVMOrcCreateLLJIT)(&mut jit, ptr::null_mut()))?;
            let library = (f.LLVMOrcLLJITGetMainJITDylib)(jit);
            let mut code = Code { jit: jit.expose_provenance(), entry: 0 };
            self.check((f.LLVMOrcLLJITAddObjectFile)(jit, library, object))?;
            self.check((f.LLVMOrcLLJITLookup)(jit, &mut code.entry, c"cta".as_ptr()))?;
            Ok(code)
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

impl Drop for Code {
    fn drop(&mut self) {
        if let Ok(llvm) = llvm() {
            // SAFETY: nobody runs the code any more: kernels hold it while they do.
            let left = unsafe { (llvm.functions.LLVMOrcDisposeLLJIT)(ptr::with_exposed_provenance_mut(self.jit)) };
            // SAFETY: the error is looked at once. There is nobody to tell.
            let _ = unsafe { llvm.check(left) };
        }
    }
}
