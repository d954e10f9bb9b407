//! References: textures and surfaces that a module declares, and that a program binds to memory.
//!
//! The variable of a reference holds the number of its handle, where kernels find it.
use std::sync::Arc;

use parking_lot::Mutex;
use warploom_exec::texture::{Texels, Texture};
use warploom_ptx::ir::{GlobalId, ScalarType};

use super::{Resource, TextureSettings};
use crate::array::Format;
use crate::context::Context;
use crate::driver::Driver;
use crate::handle::Handle;
use crate::module::Module;
use crate::{DriverError, DriverResult, ErrorCode};

/// A texture reference.
pub struct TextureReference {
    handle: Handle,
    context: Arc<Context>,
    /// Whether the program created it, and may destroy it.
    created: bool,
    state: Mutex<ReferenceBinding>,
    texture: Mutex<Option<Arc<Texture>>>,
}

/// What a texture reference is bound to, and how it is sampled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReferenceBinding {
    /// The texels; None until it is bound.
    pub resource: Option<Resource>,
    /// How they are sampled.
    pub settings: TextureSettings,
    /// Format and channels for plain memory (`cuTexRefSetFormat`).
    pub format: Option<(Format, u32)>,
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

    pub(super) fn texture(&self) -> Option<Arc<Texture>> {
        self.texture.lock().clone()
    }
}

impl SurfaceReference {
    pub(super) fn context_id(&self) -> u64 {
        self.context.id()
    }

    pub(super) fn texels(&self) -> Option<Arc<Texels>> {
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
        context.while_alive(|| self.new_texture_reference(&context, true))
    }

    fn new_texture_reference(&self, context: &Arc<Context>, created: bool) -> DriverResult<Handle> {
        let reference = self.objects.texture_references.insert(|handle| TextureReference {
            handle,
            context: Arc::clone(context),
            created,
            state: Mutex::default(),
            texture: Mutex::default(),
        })?;
        Ok(reference.handle)
    }

    /// Destroys a texture reference that was created.
    ///
    /// # Errors
    /// `InvalidValue` for stale and foreign handles, and for references of modules.
    pub fn destroy_texture_reference(&self, reference: Handle) -> DriverResult {
        if !self.texture_reference(reference)?.created {
            return Err(DriverError::invalid_value("the texture reference belongs to a module"));
        }
        self.objects.texture_references.remove(reference).map(|_| ())
    }

    /// The texture reference of a handle.
    ///
    /// # Errors
    /// `InvalidValue` for NULL, stale and foreign handles; the sticky error.
    pub fn texture_reference(&self, reference: Handle) -> DriverResult<Arc<TextureReference>> {
        self.sticky.check()?;
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
        let sampler = next.settings.sampler()?;
        let texture = match &next.resource {
            None => None,
            Some(resource) => Some(Arc::new(Texture { texels: self.texels_of(resource)?, sampler })),
        };
        *state = next;
        *reference.texture.lock() = texture;
        Ok(())
    }

    /// The texture reference of a module with this name.
    ///
    /// # Errors
    /// `NotFound` if the module declares none.
    pub fn texture_reference_named(&self, module: &Module, name: &str) -> DriverResult<Handle> {
        let id = declared(module, name, ScalarType::TexRef, "texture reference")?;
        self.reference_in(module, id, || self.new_texture_reference(module.context(), false))
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
        self.sticky.check()?;
        let reference = self.objects.surface_references.lookup(reference)?;
        let texels = self.texels_of(&Resource::Array(array))?;
        *reference.array.lock() = Some((array, Arc::new(texels)));
        Ok(())
    }

    /// The array that a surface reference is bound to.
    ///
    /// # Errors
    /// `InvalidValue` for stale and foreign handles, and without an array; the sticky error.
    pub fn surface_reference_array(&self, reference: Handle) -> DriverResult<Handle> {
        self.sticky.check()?;
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
        if let Some(known) = references.get(&id) {
            return Ok(*known);
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
        for (_, handle) in module.references().lock().drain() {
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
