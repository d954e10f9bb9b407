//! How kernels name textures and surfaces, and what happens outside them. What they read is held by the PTX sweep.
use std::sync::{Arc, OnceLock};

use warploom_exec::texture::{AddressMode, Channel, Objects, Sampler, Texels, Texture};
use warploom_interp_testing::{Device, Shape, entry};

const HANDLE: u64 = 0x70;

/// One texture, which is also a surface.
#[derive(Default)]
struct One(OnceLock<Texture>);

impl Objects for One {
    fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        self.0.get().filter(|_| handle == HANDLE).copied().map(Arc::new)
    }

    fn surface(&self, handle: u64) -> Option<Arc<Texels>> {
        self.texture(handle).map(|texture| Arc::new(texture.texels))
    }
}

/// A device with an image of 4 by 2 words, 10 to 17.
fn device() -> Device {
    let objects = Arc::new(One::default());
    let device = Device::with_objects(objects.clone());
    let texels = Texels {
        address: device.buffer(&[10, 11, 12, 13, 14, 15, 16, 17]),
        size: [4, 2, 1],
        dimensions: 2,
        pitch: 16,
        slice: 32,
        channel: Channel::U32,
        channels: 1,
        layered: false,
        cube: false,
    };
    let sampler = Sampler { address: [AddressMode::Clamp; 3], ..Sampler::default() };
    objects.0.set(Texture { texels, sampler }).unwrap();
    device
}

fn fault(body: &str) -> (&'static str, String) {
    let device = device();
    let kernel = device.kernel(&entry(body)).unwrap();
    let out = device.alloc(128);
    let fault = device.launch(&kernel, Shape::new(1, 32), &[out]).unwrap_err();
    (fault.code_name(), fault.kind.to_string())
}

#[test]
fn an_element_of_an_array_of_references_is_its_own() {
    let kernel = entry(
        "mov.u64 %d3, images; mov.u64 %d4, 0x70; st.global.u64 [%d3 + 8], %d4;
         and.b32 %r5, %r0, 3; mov.u32 %r6, 1;
         tex.2d.v4.u32.s32 {%r1, %r7, %r8, %r9}, [images + 8, {%r5, %r6}];",
    );
    let words = device().run(&format!(".visible .global .texref images[2];\n{kernel}"), Shape::new(1, 4));
    assert_eq!(words, [14, 15, 16, 17]);
}

#[test]
fn a_reference_of_the_module_holds_the_handle() {
    let kernel = entry(
        "mov.u64 %d3, image; mov.u64 %d4, 0x70; st.global.u64 [%d3], %d4;
         and.b32 %r5, %r0, 3; shr.u32 %r6, %r0, 2;
         tex.2d.v4.u32.s32 {%r1, %r7, %r8, %r9}, [image, {%r5, %r6}];",
    );
    let words = device().run(&format!(".visible .global .texref image;\n{kernel}"), Shape::new(1, 10));
    assert_eq!(words, [10, 11, 12, 13, 14, 15, 16, 17, 0, 0]);
}

#[test]
fn lanes_store_texels() {
    let words = device().run(
        &entry(
            "mov.u64 %d3, 0x70; shl.b32 %r5, %r0, 2; mul.lo.u32 %r6, %r0, 100;
             sust.b.2d.b32.zero [%d3, {%r5, 1}], %r6; suld.b.2d.b32.clamp %r1, [%d3, {%r5, 7}];",
        ),
        Shape::new(1, 6),
    );
    assert_eq!(words, [0, 100, 200, 300, 300, 300]);
}

#[test]
fn outside_a_surface_is_an_illegal_address() {
    let (code, text) = fault("mov.u64 %d3, 0x70; suld.b.2d.b32.trap %r1, [%d3, {16, 1}];");
    assert_eq!(code, "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_eq!(text, "illegal address: load of 4 bytes outside a surface, at 16 in x");
    let (code, text) = fault("mov.u64 %d3, 0x70; sust.b.2d.b32.trap [%d3, {0, -1}], %r0;");
    assert_eq!(code, "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_eq!(text, "illegal address: store of 4 bytes outside a surface, at -1 in y");
}

#[test]
fn a_handle_of_nothing_is_an_illegal_address() {
    for body in [
        "mov.u64 %d3, 0x71; tex.1d.v4.u32.s32 {%r1, %r7, %r8, %r9}, [%d3, {%r0}];",
        "mov.u64 %d3, 0x71; suld.b.1d.b32.zero %r1, [%d3, {%r0}];",
        "mov.u64 %d3, 0x71; txq.width.b32 %r1, [%d3];",
    ] {
        let (code, text) = fault(body);
        assert_eq!(code, "CUDA_ERROR_ILLEGAL_ADDRESS");
        assert!(text.contains("0x71"), "{text}");
    }
}
