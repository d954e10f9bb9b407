//! Textures and surfaces: objects that a program creates, and references that modules declare.
mod reference;
mod resource;
mod view;

pub use reference::{BoundTexels, ReferenceBinding, TextureReference};
pub use resource::{Resource, SamplerFlags, TextureSettings};
pub use view::ResourceView;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use warploom_exec::texture::{Objects, Texels, Texture};

use crate::context::Context;
use crate::driver::Driver;
use crate::handle::{Handle, HandleTable, Kind};
use crate::module::Module;
use crate::{DriverError, DriverResult};
use reference::{BoundReferences, SurfaceReference};

/// A texture that a program created.
pub struct TextureObject {
    handle: Handle,
    context: Arc<Context>,
    resource: Resource,
    settings: TextureSettings,
    view: Option<ResourceView>,
    texture: Arc<Texture>,
}

/// A surface that a program created.
pub struct SurfaceObject {
    handle: Handle,
    context: Arc<Context>,
    resource: Resource,
    texels: Arc<Texels>,
}

/// All that kernels can name by a handle. References are found by the launches of their modules, as they were bound then.
pub(crate) struct ObjectTables {
    pub(crate) textures: HandleTable<TextureObject>,
    pub(crate) surfaces: HandleTable<SurfaceObject>,
    pub(crate) texture_references: HandleTable<TextureReference>,
    pub(crate) surface_references: HandleTable<SurfaceReference>,
    /// What the program has destroyed, for kernels that were launched before.
    destroyed: RwLock<HashMap<Handle, Destroyed>>,
}

/// A texture or surface that the program has destroyed.
enum Destroyed {
    Texture(Arc<Texture>),
    Surface(Arc<Texels>),
}

impl ObjectTables {
    pub(crate) fn new() -> ObjectTables {
        ObjectTables {
            textures: HandleTable::owned(Kind::Texture, |texture| texture.context.id()),
            surfaces: HandleTable::owned(Kind::Surface, |surface| surface.context.id()),
            texture_references: HandleTable::owned(Kind::TextureReference, TextureReference::context_id),
            surface_references: HandleTable::owned(Kind::SurfaceReference, SurfaceReference::context_id),
            destroyed: RwLock::default(),
        }
    }

    /// Ends all that a context has: nothing runs in it any more.
    pub(crate) fn end_all_of(&self, context: u64) {
        self.textures.suspend_all_of(context);
        self.surfaces.suspend_all_of(context);
        self.texture_references.suspend_all_of(context);
        self.surface_references.suspend_all_of(context);
    }
}

impl Objects for ObjectTables {
    fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        let handle = Handle::from_raw(usize::try_from(handle).ok()?);
        if let Some(live) = self.textures.get(handle) {
            return Some(Arc::clone(&live.texture));
        }
        match self.destroyed.read().get(&handle)? {
            Destroyed::Texture(texture) => Some(Arc::clone(texture)),
            Destroyed::Surface(_) => None,
        }
    }

    fn surface(&self, handle: u64) -> Option<Arc<Texels>> {
        let handle = Handle::from_raw(usize::try_from(handle).ok()?);
        if let Some(live) = self.surfaces.get(handle) {
            return Some(Arc::clone(&live.texels));
        }
        match self.destroyed.read().get(&handle)? {
            Destroyed::Surface(texels) => Some(Arc::clone(texels)),
            Destroyed::Texture(_) => None,
        }
    }
}

impl Driver {
    /// What a launch of a module's kernels finds behind handles: its references as they are bound now.
    pub(crate) fn objects_of(&self, module: &Module) -> Arc<dyn Objects> {
        match module.known_references() {
            None => self.objects.clone(),
            Some(known) => {
                let known = known.lock();
                let references =
                    known.iter().filter_map(|(id, handle)| Some((*handle, module.variables().address(*id)?)));
                Arc::new(BoundReferences::new(&self.objects, references))
            }
        }
    }

    /// Creates a texture in the calling thread's context, perhaps with a view of the resource; kernels take the handle's number as a
    /// parameter.
    ///
    /// # Errors
    /// `InvalidValue` for a resource, settings or a view that do not exist, and for an array whose format asks for other settings or a view; `InvalidHandle` for a stale array;
    /// those of [`Driver::current`].
    pub fn create_texture(
        &self,
        resource: Resource,
        settings: TextureSettings,
        view: Option<ResourceView>,
    ) -> DriverResult<Handle> {
        let context = self.current()?;
        let levels = self.levels_of(&resource)?;
        let mut sampler = settings.sampler()?;
        sampler.normalized |= matches!(resource, Resource::Mipmapped(_));
        let mut texture = Texture::new(levels, sampler);
        if texture.sampler.seamless && !texture.base().cube {
            return Err(DriverError::invalid_value("what is no cube has no edges to sample across"));
        }
        match &view {
            Some(view) => self.apply_view(&resource, view, &mut texture)?,
            None => self.check_own_format(&resource, &texture)?,
        }
        read_fractions(&mut texture);
        let texture = Arc::new(texture);
        let owner = Arc::clone(&context);
        let make = |handle| TextureObject { handle, context: owner, resource, settings, view, texture };
        Ok(context.while_alive(|| self.objects.textures.insert(make))?.handle)
    }

    /// Whether an array can be read as its own format says.
    fn check_own_format(&self, resource: &Resource, texture: &Texture) -> DriverResult {
        let Some(array) = self.base_array(resource)? else { return Ok(()) };
        let format = array.descriptor().format;
        if format.is_interleaved() {
            return Err(DriverError::invalid_value("brightness and colours among each other are read as a view says"));
        }
        if format.is_srgb() && !texture.sampler.srgb {
            return Err(DriverError::invalid_value("blocks of sRGB are read with CU_TRSF_SRGB"));
        }
        Ok(())
    }

    /// Destroys a texture. Kernels that were launched before may still sample it.
    ///
    /// # Errors
    /// `InvalidValue` for stale and foreign handles; those of [`Driver::current`].
    pub fn destroy_texture(&self, texture: Handle) -> DriverResult {
        self.current()?;
        let object = self.objects.textures.lookup(texture)?;
        self.objects.destroyed.write().insert(texture, Destroyed::Texture(Arc::clone(&object.texture)));
        let removed = self.objects.textures.remove(texture).map(|_| ());
        self.forget_destroyed(&object.context, texture);
        removed
    }

    /// Forgets what was destroyed when no kernel that was launched before can use it any more.
    fn forget_destroyed(&self, context: &Context, handle: Handle) {
        let objects = Arc::clone(&self.objects);
        self.after_work_of(context, move || drop(objects.destroyed.write().remove(&handle)));
    }

    /// The view that a texture was created with.
    ///
    /// # Errors
    /// `InvalidValue` for stale and foreign handles; the sticky error.
    pub fn texture_view(&self, texture: Handle) -> DriverResult<Option<ResourceView>> {
        self.check()?;
        Ok(self.objects.textures.lookup(texture)?.view.clone())
    }

    /// What a texture was created from.
    ///
    /// # Errors
    /// `InvalidValue` for stale and foreign handles; the sticky error.
    pub fn texture(&self, texture: Handle) -> DriverResult<(Resource, TextureSettings)> {
        self.check()?;
        let texture = self.objects.textures.lookup(texture)?;
        Ok((texture.resource.clone(), texture.settings.clone()))
    }

    /// Creates a surface in the calling thread's context: an array to read and write texel by texel.
    ///
    /// # Errors
    /// `InvalidValue` for a resource that is no array; `InvalidHandle` for a stale array; those of [`Driver::current`].
    pub fn create_surface(&self, resource: Resource) -> DriverResult<Handle> {
        let context = self.current()?;
        if !matches!(resource, Resource::Array(_)) {
            return Err(DriverError::invalid_value("a surface needs an array"));
        }
        let texels = Arc::new(self.surface_texels(&resource)?);
        let owner = Arc::clone(&context);
        let make = |handle| SurfaceObject { handle, context: owner, resource, texels };
        Ok(context.while_alive(|| self.objects.surfaces.insert(make))?.handle)
    }

    /// Destroys a surface. Kernels that were launched before may still use it.
    ///
    /// # Errors
    /// `InvalidValue` for stale and foreign handles; those of [`Driver::current`].
    pub fn destroy_surface(&self, surface: Handle) -> DriverResult {
        self.current()?;
        let object = self.objects.surfaces.lookup(surface)?;
        self.objects.destroyed.write().insert(surface, Destroyed::Surface(Arc::clone(&object.texels)));
        let removed = self.objects.surfaces.remove(surface).map(|_| ());
        self.forget_destroyed(&object.context, surface);
        removed
    }

    /// What a surface was created from.
    ///
    /// # Errors
    /// `InvalidValue` for stale and foreign handles; the sticky error.
    pub fn surface(&self, surface: Handle) -> DriverResult<Resource> {
        self.check()?;
        Ok(self.objects.surfaces.lookup(surface)?.resource.clone())
    }
}

/// Texels whose format says that they are fractions, as those of blocks are, are read as such, whatever the settings say.
fn read_fractions(texture: &mut Texture) {
    let base = texture.base();
    let fractions = base.fractions || base.blocks.is_some();
    texture.sampler.integers &= !fractions;
}
