//! References: textures and surfaces that a module declares, and that a program binds to memory.
//!
//! The variable of a reference holds the number of its handle, where kernels find it.
use std::sync::Arc;

use parking_lot::Mutex;
use warploom_exec::texture::{Objects, Texels, Texture};
use warploom_ptx::ir::{GlobalId, ScalarType};

use super::resource::hide;
use super::{ObjectTables, Resource, TextureSettings, read_fractions};
use crate::array::Format;
use crate::context::Context;
use crate::device::attribute;
use crate::driver::Driver;
use crate::handle::Handle;
use crate::module::Module;
use crate::{DriverError, DriverResult, ErrorCode};

/// A texture reference.
pub struct TextureReference {
    handle: Handle,
    context: Arc<Context>,
    /// The module that declares it, and the variable; None if the program created it.
    declared: Option<(Handle, GlobalId)>,
    state: Mutex<ReferenceBinding>,
    texture: Mutex<Option<Arc<Texture>>>,
}

/// What a texture reference is bound to, and how it is sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceBinding {
    /// The texels; None until it is bound.
    pub texels: Option<BoundTexels>,
    /// How they are sampled.
    pub settings: TextureSettings,
    /// The number of a format (`CUarray_format`), whether it exists or not: what plain memory is read as.
    pub format: u32,
    /// Channels of a texel in plain memory, a number that is possible or not.
    pub channels: i32,
}

/// Where the texels of a reference are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoundTexels {
    /// In an array.
    Array(Handle),
    /// In a mipmapped array.
    Mipmapped(Handle),
    /// In device memory, in one dimension.
    Linear {
        /// First byte, a multiple of the device's texture alignment.
        address: u64,
        /// Bytes.
        bytes: u64,
    },
    /// In device memory, in two dimensions.
    Pitch2d {
        /// First byte.
        address: u64,
        /// Texels of a row.
        width: u64,
        /// Rows.
        height: u64,
        /// Bytes from row to row.
        pitch: u64,
    },
}

impl Default for ReferenceBinding {
    /// Nothing, to be read as single floats: recorded on hardware.
    fn default() -> Self {
        ReferenceBinding { texels: None, settings: TextureSettings::default(), format: FLOAT, channels: 1 }
    }
}

/// `CU_AD_FORMAT_FLOAT`.
const FLOAT: u32 = 0x20;

impl ReferenceBinding {
    /// What a kernel can read. None where that is nothing: the reference is not bound, to no address or to no texel, or it has no
    /// format that exists. As recorded, a program may set all that; a kernel that then reads faults.
    fn resource(&self) -> Option<Resource> {
        let format = Format::of_memory(self.format).ok();
        let format = format.zip(u32::try_from(self.channels).ok());
        let format = format.filter(|(format, channels)| format.has(*channels));
        match *self.texels.as_ref()? {
            BoundTexels::Array(array) => Some(Resource::Array(array)),
            BoundTexels::Mipmapped(array) => Some(Resource::Mipmapped(array)),
            BoundTexels::Linear { address, bytes } => {
                let (format, channels) = format?;
                let texels = bytes / (format.bytes() * u64::from(channels));
                (address != 0 && texels != 0).then_some(Resource::Linear { address, format, channels, bytes })
            }
            BoundTexels::Pitch2d { address, width, height, pitch } => {
                let (format, channels) = format?;
                let any = address != 0 && width != 0 && height != 0;
                any.then_some(Resource::Pitch2d { address, format, channels, width, height, pitch })
            }
        }
    }
}

/// What a launch finds behind handles: references as they were bound when it was made, and all else.
pub(super) struct BoundReferences {
    textures: Vec<(Names, Arc<Texture>)>,
    surfaces: Vec<(Names, Arc<Texels>)>,
    rest: Arc<ObjectTables>,
}

/// By which numbers kernels know a reference: its handle, which instructions find in the variable that they name, and the address of that variable, as
/// registers may have it (PTX ISA 5.3: pointers to opaque variables).
type Names = [u64; 2];

impl BoundReferences {
    /// `references` are a module's, each with the address of its variable.
    pub(super) fn new(tables: &Arc<ObjectTables>, references: impl Iterator<Item = (Handle, u64)>) -> BoundReferences {
        let mut bound = BoundReferences { textures: Vec::new(), surfaces: Vec::new(), rest: Arc::clone(tables) };
        for (handle, address) in references {
            let names = [handle.raw() as u64, address];
            // One of the two tables has it, or none once it is destroyed.
            let texture = tables.texture_references.get(handle).and_then(|reference| reference.texture.lock().clone());
            bound.textures.extend(texture.map(|texture| (names, texture)));
            let surface = tables.surface_references.get(handle).and_then(|reference| reference.texels());
            bound.surfaces.extend(surface.map(|texels| (names, texels)));
        }
        bound
    }
}

impl Objects for BoundReferences {
    fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        let bound = self.textures.iter().find(|(names, _)| names.contains(&handle));
        bound.map(|(_, texture)| Arc::clone(texture)).or_else(|| self.rest.texture(handle))
    }

    fn surface(&self, handle: u64) -> Option<Arc<Texels>> {
        let bound = self.surfaces.iter().find(|(names, _)| names.contains(&handle));
        bound.map(|(_, texels)| Arc::clone(texels)).or_else(|| self.rest.surface(handle))
    }
}

/// A surface reference.
pub(crate) struct SurfaceReference {
    context: Arc<Context>,
    array: Mutex<Option<(Handle, Arc<Texels>)>>,
}

impl TextureReference {
    /// What it is bound to.
    pub fn binding(&self) -> ReferenceBinding {
        self.state.lock().clone()
    }

    pub(super) fn context_id(&self) -> u64 {
        self.context.id()
    }
}

impl SurfaceReference {
    pub(super) fn context_id(&self) -> u64 {
        self.context.id()
    }

    fn texels(&self) -> Option<Arc<Texels>> {
        self.array.lock().as_ref().map(|(_, texels)| Arc::clone(texels))
    }
}

impl Driver {
    /// Creates a texture reference that no module declares.
    ///
    /// # Errors
    /// Those of [`Driver::current`].
    pub fn create_texture_reference(&self) -> DriverResult<Handle> {
        let context = self.current()?;
        context.while_alive(|| self.new_texture_reference(&context, None))
    }

    fn new_texture_reference(
        &self,
        context: &Arc<Context>,
        declared: Option<(Handle, GlobalId)>,
    ) -> DriverResult<Handle> {
        let reference = self.objects.texture_references.insert(|handle| TextureReference {
            handle,
            context: Arc::clone(context),
            declared,
            state: Mutex::default(),
            texture: Mutex::default(),
        })?;
        Ok(reference.handle)
    }

    /// Destroys a texture reference. One that a module declares cannot be found in it any more, as recorded.
    ///
    /// # Errors
    /// `InvalidValue` for stale and foreign handles; the sticky error.
    pub fn destroy_texture_reference(&self, reference: Handle) -> DriverResult {
        let declared = self.texture_reference(reference)?.declared;
        self.objects.texture_references.remove(reference)?;
        if let Some((module, id)) = declared
            && let Some(module) = self.modules.get(module)
        {
            module.references().lock().insert(id, Handle::NULL);
        }
        Ok(())
    }

    /// The texture reference of a handle.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles; the sticky error.
    pub fn texture_reference(&self, reference: Handle) -> DriverResult<Arc<TextureReference>> {
        self.check()?;
        self.objects.texture_references.lookup(reference)
    }

    /// Changes a texture reference: kernels launched from now on see it.
    ///
    /// # Errors
    /// `InvalidValue` for a binding that does not exist, which leaves the reference as it was; as
    /// [`Driver::texture_reference`].
    pub fn change_texture_reference(
        &self,
        reference: Handle,
        change: impl FnOnce(&mut ReferenceBinding) -> DriverResult,
    ) -> DriverResult {
        let reference = self.texture_reference(reference)?;
        let mut state = reference.state.lock();
        let mut next = state.clone();
        change(&mut next)?;
        let mut sampler = next.settings.sampler()?;
        sampler.normalized |= matches!(next.texels, Some(BoundTexels::Mipmapped(_)));
        if let Some(texels) = &next.texels {
            self.check_bound(texels)?;
        }
        let texture = match next.resource() {
            None => None,
            Some(resource) => {
                check_rows(&resource)?;
                let mut texture = Texture::new(self.levels_of(&resource)?, sampler);
                if self.is_interleaved(&resource)? {
                    texture.levels.iter_mut().for_each(hide);
                }
                read_fractions(&mut texture);
                Some(Arc::new(texture))
            }
        };
        *state = next;
        *reference.texture.lock() = texture;
        Ok(())
    }

    /// Checks what holds for memory in two dimensions whatever its format: recorded on hardware.
    fn check_bound(&self, texels: &BoundTexels) -> DriverResult {
        let BoundTexels::Pitch2d { address, width, height, pitch } = *texels else { return Ok(()) };
        if width == 0 || height == 0 {
            return Ok(());
        }
        let device = self.device_of(&*self.current()?)?;
        for (value, number) in [(address, attribute::TEXTURE_ALIGNMENT), (pitch, attribute::TEXTURE_PITCH_ALIGNMENT)] {
            let alignment = u64::from(device.limit(number)).max(1);
            if !value.is_multiple_of(alignment) {
                let reason =
                    format!("address {address:#x} with a pitch of {pitch}: {value:#x} is no multiple of {alignment}");
                return Err(DriverError::invalid_value(reason));
            }
        }
        Ok(())
    }

    /// The texture reference of a module with this name.
    ///
    /// # Errors
    /// `NotFound` if the module declares none, or it has been destroyed.
    pub fn texture_reference_named(&self, module: &Module, name: &str) -> DriverResult<Handle> {
        let id = declared(module, name, ScalarType::TexRef, "texture reference")?;
        self.reference_in(module, id, || self.new_texture_reference(module.context(), Some((module.handle(), id))))
    }

    /// The surface reference of a module with this name.
    ///
    /// # Errors
    /// `NotFound` if the module declares none.
    pub fn surface_reference_named(&self, module: &Module, name: &str) -> DriverResult<Handle> {
        let id = declared(module, name, ScalarType::SurfRef, "surface reference")?;
        self.reference_in(module, id, || {
            let handle = self.objects.surface_references.reserve()?;
            let reference =
                Arc::new(SurfaceReference { context: Arc::clone(module.context()), array: Mutex::default() });
            self.objects.surface_references.restore(handle, reference);
            Ok(handle)
        })
    }

    /// Binds a surface reference to an array.
    ///
    /// # Errors
    /// `InvalidValue` for stale and foreign handles; `InvalidHandle` for a stale array; the sticky error.
    pub fn bind_surface_reference(&self, reference: Handle, array: Handle) -> DriverResult {
        self.check()?;
        let reference = self.objects.surface_references.lookup(reference)?;
        let texels = self.surface_texels(&Resource::Array(array))?;
        *reference.array.lock() = Some((array, Arc::new(texels)));
        Ok(())
    }

    /// The array that a surface reference is bound to.
    ///
    /// # Errors
    /// `InvalidValue` for stale and foreign handles, and without an array; the sticky error.
    pub fn surface_reference_array(&self, reference: Handle) -> DriverResult<Handle> {
        self.check()?;
        let reference = self.objects.surface_references.lookup(reference)?;
        let array = reference.array.lock().as_ref().map(|(array, _)| *array);
        array.ok_or_else(|| DriverError::invalid_value("the surface reference is not bound"))
    }

    /// The handle in the variable of a reference; the first time it is asked for, it is made and put there.
    fn reference_in(
        &self,
        module: &Module,
        id: GlobalId,
        make: impl FnOnce() -> DriverResult<Handle>,
    ) -> DriverResult<Handle> {
        let mut references = module.references().lock();
        match references.get(&id) {
            Some(destroyed) if destroyed.is_null() => {
                return Err(DriverError::new(ErrorCode::NotFound, "the reference has been destroyed"));
            }
            Some(known) => return Ok(*known),
            None => {}
        }
        let handle = make()?;
        let lost = || DriverError::new(ErrorCode::Unknown, "the reference lost its variable");
        let address = module.variables().address(id).ok_or_else(lost)?;
        self.memory().view().store(address, handle.raw() as u64).map_err(|_| lost())?;
        references.insert(id, handle);
        Ok(handle)
    }

    /// Ends the references of a module that is unloaded.
    pub(crate) fn forget_references(&self, module: &Module) {
        for (_, handle) in module.known_references().into_iter().flat_map(|known| std::mem::take(&mut *known.lock())) {
            // One of the two tables has it.
            let _ = self.objects.texture_references.remove(handle);
            let _ = self.objects.surface_references.remove(handle);
        }
    }
}

fn declared(module: &Module, name: &str, ty: ScalarType, noun: &str) -> DriverResult<GlobalId> {
    let code = module.code().module();
    let declared = |id: &GlobalId| code.globals.get(id.0 as usize).is_some_and(|global| global.ty == ty);
    code.global(name)
        .filter(declared)
        .ok_or_else(|| DriverError::new(ErrorCode::NotFound, format!("the module has no {noun} {name}")))
}

/// Of references rows have to hold their texels, as recorded, which is not asked of objects.
fn check_rows(resource: &Resource) -> DriverResult {
    match *resource {
        Resource::Pitch2d { format, channels, width, pitch, .. }
            if pitch < width * format.bytes() * u64::from(channels) =>
        {
            Err(DriverError::invalid_value(format!("a pitch of {pitch} for rows of {width} texels")))
        }
        _ => Ok(()),
    }
}
