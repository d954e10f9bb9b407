//! Textures and surfaces: objects that a program creates, and references that modules declare.
mod reference;
mod resource;

pub use reference::{ReferenceBinding, TextureReference};
pub use resource::{Resource, SamplerFlags, TextureSettings};

use std::sync::Arc;

use warploom_exec::texture::{Objects, Texels, Texture};

use crate::driver::Driver;
use crate::handle::{Handle, HandleTable, Kind};
use crate::{DriverError, DriverResult, ErrorCode};
use reference::SurfaceReference;

/// A texture that a program created.
pub struct TextureObject {
    handle: Handle,
    resource: Resource,
    settings: TextureSettings,
    texture: Arc<Texture>,
}

/// A surface that a program created.
pub struct SurfaceObject {
    handle: Handle,
    resource: Resource,
    texels: Arc<Texels>,
}

/// All that kernels can name by a handle.
pub(crate) struct ObjectTables {
    pub(crate) textures: HandleTable<TextureObject>,
    pub(crate) surfaces: HandleTable<SurfaceObject>,
    pub(crate) texture_references: HandleTable<TextureReference>,
    pub(crate) surface_references: HandleTable<SurfaceReference>,
}

impl ObjectTables {
    pub(crate) fn new() -> ObjectTables {
        ObjectTables {
            textures: HandleTable::new(Kind::Texture),
            surfaces: HandleTable::new(Kind::Surface),
            texture_references: HandleTable::new(Kind::TextureReference),
            surface_references: HandleTable::new(Kind::SurfaceReference),
        }
    }
}

impl Objects for ObjectTables {
    fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        let handle = Handle::from_raw(usize::try_from(handle).ok()?);
        if handle.claims(Kind::TextureReference) {
            return self.texture_references.get(handle)?.texture();
        }
        Some(Arc::clone(&self.textures.get(handle)?.texture))
    }

    fn surface(&self, handle: u64) -> Option<Arc<Texels>> {
        let handle = Handle::from_raw(usize::try_from(handle).ok()?);
        if handle.claims(Kind::SurfaceReference) {
            return self.surface_references.get(handle)?.texels();
        }
        Some(Arc::clone(&self.surfaces.get(handle)?.texels))
    }
}

impl Driver {
    /// Creates a texture in the calling thread's context; kernels take the handle's number as a parameter.
    ///
    /// # Errors
    /// `InvalidValue` for a resource or settings that do not exist; `InvalidHandle` for a stale array; those of
    /// [`Driver::current`].
    pub fn create_texture(&self, resource: Resource, settings: TextureSettings) -> DriverResult<Handle> {
        self.current()?;
        let texels = self.texels_of(&resource)?;
        let texture = Arc::new(Texture { texels, sampler: settings.sampler()? });
        Ok(self.objects.textures.insert(|handle| TextureObject { handle, resource, settings, texture })?.handle)
    }

    /// Destroys a texture.
    ///
    /// # Errors
    /// `InvalidValue` for stale and foreign handles; those of [`Driver::current`].
    pub fn destroy_texture(&self, texture: Handle) -> DriverResult {
        self.current()?;
        self.objects.textures.remove(texture).map(|_| ())
    }

    /// What a texture was created from.
    ///
    /// # Errors
    /// `InvalidValue` for stale and foreign handles; the sticky error.
    pub fn texture(&self, texture: Handle) -> DriverResult<(Resource, TextureSettings)> {
        self.sticky.check()?;
        let texture = self.objects.textures.lookup(texture)?;
        Ok((texture.resource.clone(), texture.settings.clone()))
    }

    /// Creates a surface in the calling thread's context: an array to read and write texel by texel.
    ///
    /// # Errors
    /// `InvalidValue` for a resource that is no array; `InvalidHandle` for a stale array; those of [`Driver::current`].
    pub fn create_surface(&self, resource: Resource) -> DriverResult<Handle> {
        self.current()?;
        if !matches!(resource, Resource::Array(_)) {
            return Err(DriverError::invalid_value("a surface needs an array"));
        }
        let texels = Arc::new(self.texels_of(&resource)?);
        Ok(self.objects.surfaces.insert(|handle| SurfaceObject { handle, resource, texels })?.handle)
    }

    /// Destroys a surface.
    ///
    /// # Errors
    /// `InvalidValue` for stale and foreign handles; those of [`Driver::current`].
    pub fn destroy_surface(&self, surface: Handle) -> DriverResult {
        self.current()?;
        self.objects.surfaces.remove(surface).map(|_| ())
    }

    /// What a surface was created from.
    ///
    /// # Errors
    /// `InvalidValue` for stale and foreign handles; the sticky error.
    pub fn surface(&self, surface: Handle) -> DriverResult<Resource> {
        self.sticky.check()?;
        Ok(self.objects.surfaces.lookup(surface)?.resource.clone())
    }
}

/// What cannot be asked of a texture on a CPU yet.
fn not_supported(what: &str) -> DriverError {
    DriverError::new(ErrorCode::NotSupported, format!("{what} is not supported"))
}
