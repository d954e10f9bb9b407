//! Texture objects.
use warploom_abi::{
    CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC, CUDA_TEXTURE_DESC, CUaddress_mode, CUfilter_mode,
    CUresourceViewFormat, CUtexObject,
};
use warploom_driver::Handle;
use warploom_driver::texture::{ResourceView, TextureSettings};

use crate::border::members::{resource, resource_description};
use crate::border::{ApiResult, In, Out};
use crate::process::driver;

fn handle(object: CUtexObject) -> Handle {
    Handle::from_raw(usize::try_from(object).unwrap_or(0))
}

fn settings(description: &CUDA_TEXTURE_DESC) -> TextureSettings {
    TextureSettings {
        address_modes: description.addressMode.map(|mode| mode.0),
        filter_mode: description.filterMode.0,
        flags: description.flags,
        max_anisotropy: description.maxAnisotropy,
        mipmap_filter_mode: description.mipmapFilterMode.0,
        mipmap_level_bias: description.mipmapLevelBias,
        mipmap_level_clamp: [description.minMipmapLevelClamp, description.maxMipmapLevelClamp],
        border_color: description.borderColor,
    }
}

fn view_of(description: &CUDA_RESOURCE_VIEW_DESC) -> ResourceView {
    ResourceView {
        format: description.format.0,
        size: [description.width, description.height, description.depth].map(|extent| extent as u64),
        levels: [description.firstMipmapLevel, description.lastMipmapLevel],
        layers: [description.firstLayer, description.lastLayer],
    }
}

pub(crate) fn cuTexObjectCreate(
    pTexObject: Out<'_, CUtexObject>,
    pResDesc: In<'_, CUDA_RESOURCE_DESC>,
    pTexDesc: In<'_, CUDA_TEXTURE_DESC>,
    pResViewDesc: In<'_, CUDA_RESOURCE_VIEW_DESC>,
) -> ApiResult {
    let place = pTexObject.required("pTexObject")?;
    let resource = resource(&pResDesc.get("pResDesc")?)?;
    let settings = settings(&pTexDesc.get("pTexDesc")?);
    let view = pResViewDesc.optional().map(|view| view_of(&view));
    place.set(driver()?.create_texture(resource, settings, view)?.raw() as CUtexObject);
    Ok(())
}

pub(crate) fn cuTexObjectDestroy(texObject: CUtexObject) -> ApiResult {
    // As recorded, there is no object 0, and to destroy it is no mistake.
    if texObject == 0 {
        return driver()?.current().map(|_| ());
    }
    driver()?.destroy_texture(handle(texObject))
}

pub(crate) fn cuTexObjectGetResourceDesc(pResDesc: Out<'_, CUDA_RESOURCE_DESC>, texObject: CUtexObject) -> ApiResult {
    let place = pResDesc.required("pResDesc")?;
    let (resource, _) = driver()?.texture(handle(texObject))?;
    place.set(resource_description(&resource));
    Ok(())
}

pub(crate) fn cuTexObjectGetTextureDesc(pTexDesc: Out<'_, CUDA_TEXTURE_DESC>, texObject: CUtexObject) -> ApiResult {
    let place = pTexDesc.required("pTexDesc")?;
    let (_, settings) = driver()?.texture(handle(texObject))?;
    place.set(CUDA_TEXTURE_DESC {
        addressMode: settings.address_modes.map(CUaddress_mode),
        filterMode: CUfilter_mode(settings.filter_mode),
        flags: settings.flags,
        maxAnisotropy: settings.max_anisotropy,
        mipmapFilterMode: CUfilter_mode(settings.mipmap_filter_mode),
        mipmapLevelBias: settings.mipmap_level_bias,
        minMipmapLevelClamp: settings.mipmap_level_clamp[0],
        maxMipmapLevelClamp: settings.mipmap_level_clamp[1],
        borderColor: settings.border_color,
        reserved: [0; 12],
    });
    Ok(())
}

pub(crate) fn cuTexObjectGetResourceViewDesc(
    pResViewDesc: Out<'_, CUDA_RESOURCE_VIEW_DESC>,
    texObject: CUtexObject,
) -> ApiResult {
    let place = pResViewDesc.required("pResViewDesc")?;
    // Of a texture without a view nothing is told, as recorded.
    let Some(view) = driver()?.texture_view(handle(texObject))? else { return Ok(()) };
    let [width, height, depth] = view.size.map(|extent| extent as usize);
    place.set(CUDA_RESOURCE_VIEW_DESC {
        format: CUresourceViewFormat(view.format),
        width,
        height,
        depth,
        firstMipmapLevel: view.levels[0],
        lastMipmapLevel: view.levels[1],
        firstLayer: view.layers[0],
        lastLayer: view.layers[1],
        reserved: [0; 16],
    });
    Ok(())
}
