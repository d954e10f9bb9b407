//! Compiled host code: what each translation unit registers when it is loaded, before `main`. Nothing is read of a fat binary until
//! one of its kernels or variables is used; then it becomes a library of the driver, which holds for every context.
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use parking_lot::{Mutex, RwLock};
use warploom_abi::runtime::{cudaError, cudaTextureReadMode};
use warploom_abi::{
    CUfunction, CUfunction_attribute, CUjitInputType, CUkernel, CUlibrary, CUlinkState, CUmodule, CUsurfref, CUtexref,
};

use crate::context;
use crate::driver::driver;
use crate::failure::{ApiResult, Failure};

/// The structure that the compiler makes for each fat binary.
#[derive(Clone, Copy)]
#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    /// The fat binary.
    data: *const Header,
    /// In version 2, of relocatable device code that was linked: the fat binaries that went into it, up to NULL.
    parts: *const *const Header,
}

const WRAPPER_MAGIC: u32 = 0x4662_43b1;

/// How a fat binary begins.
#[derive(Clone, Copy)]
#[repr(C)]
struct Header {
    magic: u32,
    version: u16,
    size: u16,
    /// Bytes behind the header.
    rest: u64,
}

const FAT_BINARY_MAGIC: u32 = 0xba55_ed50;

/// A name of the host program's: it stays as long as the binary is registered.
#[derive(Clone, Copy)]
struct Name(usize);

impl Name {
    fn text(self) -> &'static CStr {
        // SAFETY: only names that `Binary` was given, by a caller who keeps them until the binary is unregistered.
        unsafe { CStr::from_ptr(std::ptr::with_exposed_provenance(self.0)) }
    }
}

/// One fat binary.
pub(crate) struct Binary {
    /// Where the wrapper is.
    wrapper: usize,
    library: Mutex<Option<CUlibrary>>,
    names: Mutex<Names>,
}

/// What belongs to a binary.
#[derive(Default)]
struct Names {
    kernels: Vec<usize>,
    variables: Vec<usize>,
    textures: Vec<usize>,
    surfaces: Vec<usize>,
    /// Managed variables: where the host program keeps the address, and the name.
    managed: Vec<(usize, Name)>,
    /// Variables of the host program that its device code uses by name.
    host: Vec<Name>,
}

struct Kernel {
    binary: Arc<Binary>,
    name: Name,
    /// The driver's handle, 0 before it is first used.
    handle: AtomicUsize,
}

struct Variable {
    binary: Arc<Binary>,
    name: Name,
    managed: bool,
}

/// A texture reference, which each context has one of.
pub(crate) struct Texture {
    binary: Arc<Binary>,
    name: Name,
    /// Whether whole numbers are read as fractions of their range, which code is compiled for.
    pub(crate) read_mode: cudaTextureReadMode,
    /// Where it is bound: by the number of the context (`cuCtxGetId`), how many bytes before the memory that was meant.
    bound: Mutex<HashMap<u64, usize>>,
}

struct Surface {
    binary: Arc<Binary>,
    name: Name,
}

#[derive(Default)]
struct Tables {
    binaries: HashMap<usize, Arc<Binary>>,
    /// By the address of the function or variable that stands for it in the host program.
    kernels: HashMap<usize, Kernel>,
    variables: HashMap<usize, Variable>,
    textures: HashMap<usize, Arc<Texture>>,
    surfaces: HashMap<usize, Surface>,
}

static TABLES: LazyLock<RwLock<Tables>> = LazyLock::new(RwLock::default);

/// Registers a fat binary; the handle that its functions and variables are registered with.
pub(crate) fn register(wrapper: usize) -> usize {
    let binary = Arc::new(Binary { wrapper, library: Mutex::new(None), names: Mutex::default() });
    let handle = Arc::as_ptr(&binary).expose_provenance();
    TABLES.write().binaries.insert(handle, binary);
    handle
}

/// Forgets a fat binary and what is registered with it.
pub(crate) fn unregister(handle: usize) {
    let mut tables = TABLES.write();
    let Some(binary) = tables.binaries.remove(&handle) else { return };
    let names = std::mem::take(&mut *binary.names.lock());
    for address in names.kernels {
        if tables.kernels.get(&address).is_some_and(|kernel| Arc::ptr_eq(&kernel.binary, &binary)) {
            tables.kernels.remove(&address);
        }
    }
    for address in names.variables {
        if tables.variables.get(&address).is_some_and(|variable| Arc::ptr_eq(&variable.binary, &binary)) {
            tables.variables.remove(&address);
        }
    }
    for address in names.textures {
        if tables.textures.get(&address).is_some_and(|texture| Arc::ptr_eq(&texture.binary, &binary)) {
            tables.textures.remove(&address);
        }
    }
    for address in names.surfaces {
        if tables.surfaces.get(&address).is_some_and(|surface| Arc::ptr_eq(&surface.binary, &binary)) {
            tables.surfaces.remove(&address);
        }
    }
    drop(tables);
    if let Some(library) = binary.library.lock().take() {
        // At the end of the process the driver may be gone, and the library with it.
        let _ = driver!(cuLibraryUnload_v12000(library));
    }
}

/// Registers the function `address` of the host program as the stand-in of a kernel.
pub(crate) fn register_kernel(handle: usize, address: usize, name: usize) {
    let mut tables = TABLES.write();
    let Some(binary) = tables.binaries.get(&handle).cloned() else { return };
    binary.names.lock().kernels.push(address);
    tables.kernels.insert(address, Kernel { binary, name: Name(name), handle: AtomicUsize::new(0) });
}

/// Registers the variable `address` of the host program as the stand-in of one in device memory.
pub(crate) fn register_variable(handle: usize, address: usize, name: usize, managed: bool) {
    let mut tables = TABLES.write();
    let Some(binary) = tables.binaries.get(&handle).cloned() else { return };
    binary.names.lock().variables.push(address);
    tables.variables.insert(address, Variable { binary, name: Name(name), managed });
}

/// Registers a managed variable of the host program, which keeps its address at `place`.
pub(crate) fn register_managed(handle: usize, place: usize, name: usize) {
    register_variable(handle, place, name, true);
    if let Some(binary) = TABLES.read().binaries.get(&handle) {
        binary.names.lock().managed.push((place, Name(name)));
    }
}

/// Registers the structure `address` of the host program as the stand-in of a texture reference.
pub(crate) fn register_texture(handle: usize, address: usize, name: usize, read_mode: cudaTextureReadMode) {
    let mut tables = TABLES.write();
    let Some(binary) = tables.binaries.get(&handle).cloned() else { return };
    binary.names.lock().textures.push(address);
    let texture = Texture { binary, name: Name(name), read_mode, bound: Mutex::default() };
    tables.textures.insert(address, Arc::new(texture));
}

/// Registers the structure `address` of the host program as the stand-in of a surface reference.
pub(crate) fn register_surface(handle: usize, address: usize, name: usize) {
    let mut tables = TABLES.write();
    let Some(binary) = tables.binaries.get(&handle).cloned() else { return };
    binary.names.lock().surfaces.push(address);
    tables.surfaces.insert(address, Surface { binary, name: Name(name) });
}

/// Registers a variable of the host program that device code uses where it is.
pub(crate) fn register_host(handle: usize, name: usize) {
    if let Some(binary) = TABLES.read().binaries.get(&handle) {
        binary.names.lock().host.push(Name(name));
    }
}

/// Makes the managed variables of a binary accessible to the host program. A context must be current.
pub(crate) fn initialize(handle: usize) -> ApiResult {
    let binary = TABLES.read().binaries.get(&handle).cloned();
    let binary = binary.ok_or_else(|| Failure::invalid_value("no fat binary is registered under this handle"))?;
    let managed = binary.names.lock().managed.clone();
    for (place, name) in managed {
        let (address, _) = binary.managed(name)?;
        // SAFETY: the host program gave the place of a pointer for this purpose.
        unsafe { std::ptr::with_exposed_provenance_mut::<usize>(place).write(address as usize) };
        // From now on the host program names the variable by where it is.
        register_variable(handle, address as usize, name.0, true);
    }
    Ok(())
}

/// The kernel that a function of the host program stands for, or that `address` is a handle of.
#[inline]
pub(crate) fn kernel(address: usize) -> ApiResult<CUkernel> {
    let tables = TABLES.read();
    let Some(kernel) = tables.kernels.get(&address) else {
        drop(tables);
        return unregistered(address);
    };
    match kernel.handle.load(Ordering::Acquire) {
        0 => {
            let (binary, name) = (kernel.binary.clone(), kernel.name);
            drop(tables);
            first_use(address, &binary, name)
        }
        handle => Ok(CUkernel(handle)),
    }
}

/// The same for a node of a graph: some drivers only look at the handle itself when they are asked about it.
pub(crate) fn kernel_of_node(address: usize) -> ApiResult<CUkernel> {
    let kernel = kernel(address)?;
    if kernel.0 == address {
        let (mut threads, attribute) = (0, CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
        let device = context::device(context::current_device()?)?;
        // It may be a function of a module too, as nodes tell their own.
        driver!(cuKernelGetAttribute_v12000(&mut threads, attribute, kernel, device))
            .or_else(|_| driver!(cuFuncGetAttribute_v2020(&mut threads, attribute, CUfunction(address))))?;
    }
    Ok(kernel)
}

/// The driver knows whether it is a handle.
#[cold]
fn unregistered(address: usize) -> ApiResult<CUkernel> {
    if address == 0 {
        let code = cudaError::cudaErrorInvalidDeviceFunction;
        return Err(Failure::new(code, "the function is NULL"));
    }
    Ok(CUkernel(address))
}

#[cold]
fn first_use(address: usize, binary: &Arc<Binary>, name: Name) -> ApiResult<CUkernel> {
    let library = binary.library()?;
    let mut handle = CUkernel::NULL;
    driver!(cuLibraryGetKernel_v12000(&mut handle, library, name.text().as_ptr())).map_err(|failure| {
        let missing = failure.code == cudaError::cudaErrorSymbolNotFound;
        let reason = || format!("the fat binary has no kernel {}", name.text().to_string_lossy());
        if missing { Failure::new(cudaError::cudaErrorInvalidDeviceFunction, reason()) } else { failure }
    })?;
    if let Some(kernel) = TABLES.read().kernels.get(&address)
        && Arc::ptr_eq(&kernel.binary, binary)
    {
        kernel.handle.store(handle.0, Ordering::Release);
    }
    Ok(handle)
}

/// What stands for a kernel in the host program: the function that was registered, or the kernel itself.
pub(crate) fn stand_in(kernel: CUkernel) -> usize {
    let tables = TABLES.read();
    let found = tables.kernels.iter().find(|(_, known)| known.handle.load(Ordering::Acquire) == kernel.0);
    found.map_or(kernel.0, |(address, _)| *address)
}

/// The same for a function of the current context, as captured launches tell it: that of a kernel which was used before.
pub(crate) fn stand_in_of_function(function: CUfunction) -> usize {
    let used = |(address, kernel): (&usize, &Kernel)| match kernel.handle.load(Ordering::Acquire) {
        0 => None,
        handle => Some((*address, CUkernel(handle))),
    };
    let kernels: Vec<(usize, CUkernel)> = TABLES.read().kernels.iter().filter_map(used).collect();
    let is_it = |(_, kernel): &&(usize, CUkernel)| {
        let mut here = CUfunction::NULL;
        // One that this context cannot have is another.
        driver!(cuKernelGetFunction_v12000(&mut here, *kernel)).is_ok() && here == function
    };
    kernels.iter().find(is_it).map_or(function.0, |(address, _)| *address)
}

/// Address and size of the variable in device memory, in the current context, that one of the host program stands for.
pub(crate) fn variable(address: usize) -> ApiResult<(u64, usize)> {
    let tables = TABLES.read();
    let Some(variable) = tables.variables.get(&address) else {
        let code = cudaError::cudaErrorInvalidSymbol;
        return Err(Failure::new(code, format!("{address:#x} is no variable of compiled device code")));
    };
    let (binary, name, managed) = (variable.binary.clone(), variable.name, variable.managed);
    drop(tables);
    if managed {
        return binary.managed(name);
    }
    let library = binary.library()?;
    let (mut device, mut size) = (0, 0);
    driver!(cuLibraryGetGlobal_v12000(&mut device, &mut size, library, name.text().as_ptr()))?;
    Ok((device, size))
}

/// The texture reference that a structure of the host program stands for.
pub(crate) fn texture(address: usize) -> ApiResult<Arc<Texture>> {
    TABLES
        .read()
        .textures
        .get(&address)
        .cloned()
        .ok_or_else(|| no_reference(cudaError::cudaErrorInvalidTexture, address))
}

/// Whether a structure of the host program stands for a surface reference.
pub(crate) fn is_surface(address: usize) -> ApiResult {
    let known = TABLES.read().surfaces.contains_key(&address);
    if known { Ok(()) } else { Err(no_reference(cudaError::cudaErrorInvalidSurface, address)) }
}

/// The surface reference of the current context that a structure of the host program stands for.
pub(crate) fn surface(address: usize) -> ApiResult<CUsurfref> {
    let invalid = cudaError::cudaErrorInvalidSurface;
    let found = TABLES.read().surfaces.get(&address).map(|surface| (surface.binary.clone(), surface.name));
    let (binary, name) = found.ok_or_else(|| no_reference(invalid, address))?;
    let module = binary.module()?;
    let mut reference = CUsurfref::NULL;
    driver!(cuModuleGetSurfRef_v3000(&mut reference, module, name.text().as_ptr()))
        .map_err(|failure| missing(failure, invalid, name))?;
    Ok(reference)
}

fn no_reference(code: cudaError, address: usize) -> Failure {
    Failure::new(code, format!("{address:#x} is no reference of compiled device code"))
}

/// The failure of a search by name.
fn missing(failure: Failure, code: cudaError, name: Name) -> Failure {
    if failure.code != cudaError::cudaErrorSymbolNotFound {
        return failure;
    }
    Failure::new(code, format!("the fat binary has no reference {}", name.text().to_string_lossy()))
}

impl Texture {
    /// The driver's reference, which is the current context's.
    pub(crate) fn reference(&self) -> ApiResult<CUtexref> {
        let module = self.binary.module()?;
        let mut reference = CUtexref::NULL;
        driver!(cuModuleGetTexRef_v2000(&mut reference, module, self.name.text().as_ptr()))
            .map_err(|failure| missing(failure, cudaError::cudaErrorInvalidTexture, self.name))?;
        Ok(reference)
    }

    /// Remembers that it is bound in the current context, so many bytes before what was meant.
    pub(crate) fn bound(&self, offset: usize) -> ApiResult {
        let context = context::number()?;
        self.bound.lock().insert(context, offset);
        Ok(())
    }

    /// Forgets that it is bound in the current context; whether it was.
    pub(crate) fn unbound(&self) -> ApiResult<bool> {
        let context = context::number()?;
        Ok(self.bound.lock().remove(&context).is_some())
    }

    /// How many bytes before what was meant it is bound in the current context, if it is.
    pub(crate) fn offset(&self) -> ApiResult<Option<usize>> {
        let context = context::number()?;
        Ok(self.bound.lock().get(&context).copied())
    }
}

impl Binary {
    /// The module of the current context.
    fn module(&self) -> ApiResult<CUmodule> {
        let library = self.library()?;
        let mut module = CUmodule::NULL;
        driver!(cuLibraryGetModule_v12000(&mut module, library))?;
        Ok(module)
    }

    /// The address, which is the same in every context, and size of a managed variable.
    fn managed(&self, name: Name) -> ApiResult<(u64, usize)> {
        let library = self.library()?;
        let (mut device, mut size) = (0, 0);
        driver!(cuLibraryGetManaged_v12000(&mut device, &mut size, library, name.text().as_ptr()))?;
        Ok((device, size))
    }

    /// The driver's library made of this binary, when it is first needed.
    fn library(&self) -> ApiResult<CUlibrary> {
        let mut library = self.library.lock();
        match *library {
            Some(library) => Ok(library),
            None => {
                let loaded = self.load()?;
                *library = Some(loaded);
                Ok(loaded)
            }
        }
    }

    fn load(&self) -> ApiResult<CUlibrary> {
        if let Some(name) = self.names.lock().host.first() {
            let name = name.text().to_string_lossy();
            let reason = format!(
                "device code uses the host variable {name} where it is, which the driver's interface cannot say"
            );
            return Err(Failure::new(cudaError::cudaErrorNotSupported, reason));
        }
        let invalid = |what| Err(Failure::new(cudaError::cudaErrorInvalidKernelImage, what));
        // SAFETY: the host program registered a wrapper here, which stays as long as it is registered.
        let wrapper = unsafe { std::ptr::with_exposed_provenance::<Wrapper>(self.wrapper).read_unaligned() };
        if wrapper.magic != WRAPPER_MAGIC {
            return invalid("what was registered is no fat binary");
        }
        let parts = if wrapper.version >= 2 { parts(wrapper.parts) } else { Vec::new() };
        // What our linker of device code made is an image, whose parts may be code for link-time optimisation only.
        if parts.is_empty() || linker(|linker| add(linker, wrapper.data))? {
            return load(wrapper.data.cast());
        }
        linker(|linker| link(linker, &parts))
    }
}

/// The fat binaries of a list that ends in NULL.
fn parts(mut list: *const *const Header) -> Vec<*const Header> {
    let mut parts = Vec::new();
    while !list.is_null() {
        // SAFETY: the linker of device code wrote a list that ends in NULL.
        let part = unsafe { list.read_unaligned() };
        if part.is_null() {
            break;
        }
        parts.push(part);
        // SAFETY: the list goes on behind every part.
        list = unsafe { list.add(1) };
    }
    parts
}

fn load(image: *const c_void) -> ApiResult<CUlibrary> {
    let mut library = CUlibrary::NULL;
    let (options, values) = (std::ptr::null_mut(), std::ptr::null_mut());
    let (library_options, library_values) = (std::ptr::null_mut(), std::ptr::null_mut());
    driver!(cuLibraryLoadData_v12000(&mut library, image, options, values, 0, library_options, library_values, 0))?;
    Ok(library)
}

/// Does something with a linker of the driver's.
fn linker<T>(work: impl FnOnce(CUlinkState) -> ApiResult<T>) -> ApiResult<T> {
    let mut linker = CUlinkState::NULL;
    driver!(cuLinkCreate_v6050(0, std::ptr::null_mut(), std::ptr::null_mut(), &mut linker))?;
    let done = work(linker);
    driver!(cuLinkDestroy_v5050(linker))?;
    done
}

/// Adds a fat binary to what is linked. Whether there is code for the device in it.
fn add(linker: CUlinkState, binary: *const Header) -> ApiResult<bool> {
    // SAFETY: the host program's fat binaries start with a header.
    let header = unsafe { binary.read_unaligned() };
    if header.magic != FAT_BINARY_MAGIC {
        let code = cudaError::cudaErrorInvalidKernelImage;
        return Err(Failure::new(code, "a part of relocatable device code is no fat binary"));
    }
    let size = usize::from(header.size) + header.rest as usize;
    let kind = CUjitInputType::CU_JIT_INPUT_FATBINARY;
    let name = c"relocatable device code".as_ptr().cast::<c_char>();
    let (options, values) = (std::ptr::null_mut(), std::ptr::null_mut());
    match driver!(cuLinkAddData_v6050(linker, kind, binary.cast_mut().cast(), size, name, 0, options, values)) {
        Err(Failure { code: cudaError::cudaErrorNoKernelImageForDevice, .. }) => Ok(false),
        added => added.map(|()| true),
    }
}

/// Links relocatable device code: what NVIDIA's linker made of it holds machine code only. Parts without code for the device are left out,
/// as that of NVIDIA's device runtime, which the compiler always adds: what is missed then is an error of the linker.
fn link(linker: CUlinkState, parts: &[*const Header]) -> ApiResult<CUlibrary> {
    let mut with_code = 0;
    for &part in parts {
        with_code += usize::from(add(linker, part)?);
    }
    if with_code == 0 {
        // A driver tells more of what it cannot load than of what it cannot link.
        return load(parts[0].cast());
    }
    let (mut image, mut size) = (std::ptr::null_mut(), 0);
    driver!(cuLinkComplete_v5050(linker, &mut image, &mut size))?;
    load(image)
}
