//! How kernels name textures and surfaces, and what happens at their edges and outside them. What they read is held by the PTX sweep.
use std::sync::{Arc, OnceLock};

use warploom_exec::texture::{AddressMode, Blocks, Channel, Compression, Objects, Sampler, Texels, Texture};
use warploom_interp_testing::{Device, Shape, entry};

const HANDLE: u64 = 0x70;
/// The same by another name.
const OTHER: u64 = 0x90;

/// One texture, which is also a surface.
#[derive(Default)]
struct One(OnceLock<Texture>);

impl Objects for One {
    fn texture(&self, handle: u64) -> Option<Arc<Texture>> {
        self.0.get().filter(|_| handle == HANDLE || handle == OTHER).cloned().map(Arc::new)
    }

    fn surface(&self, handle: u64) -> Option<Arc<Texels>> {
        self.texture(handle).map(|texture| Arc::new(texture.base().clone()))
    }
}

/// A device with an image of 4 by 2 words, 10 to 17.
fn device() -> Device {
    device_with(|image| image)
}

/// The same with what `change` makes of the image.
fn device_with(change: impl FnOnce(Texels) -> Texels) -> Device {
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
        linear: false,
        fractions: false,
        blocks: None,
        mapped: None,
    };
    let sampler = Sampler { address: [AddressMode::Clamp; 3], ..Sampler::default() };
    objects.0.set(Texture::new(vec![change(texels)], sampler)).unwrap();
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

/// A device whose image is blocks, two beside each other and two below.
fn blocks(compression: Compression, opaque: bool, size: [u32; 3]) -> Device {
    device_with(|image| Texels {
        size,
        channel: Channel::of_blocks(compression),
        channels: compression.channels(),
        blocks: Some(Blocks { compression, opaque }),
        ..image
    })
}

#[test]
fn texels_come_out_of_blocks() {
    // Blue of both blocks of the first row: ends 10 and 0, texels 3, 2, 0 and 0, then ends 12 and 0, texels 1, 3, 0 and 0. Outside there is nothing.
    let body = "mov.u64 %d3, 0x70; tex.2d.v4.u32.s32 {%r7, %r8, %r1, %r9}, [%d3, {%r0, 0}];";
    let words = blocks(Compression::Bc1, true, [8, 8, 1]).run(&entry(body), Shape::new(1, 10));
    let blue = [27u8, 55, 82, 82, 0, 33, 99, 99, 0, 0];
    assert_eq!(words, blue.map(|blue| (f32::from(blue) / 255.0).to_bits()));
}

#[test]
fn the_fourth_channel_of_blocks_that_lack_it() {
    let one = 1.0f32.to_bits();
    let body = "mov.u64 %d3, 0x70; shl.b32 %r5, %r0, 2; tex.2d.v4.u32.s32 {%r7, %r8, %r9, %r1}, [%d3, {%r5, 0}];";
    for (opaque, fourth) in [(true, one), (false, 0)] {
        // Also where there is no texel.
        let device = blocks(Compression::Bc4 { signed: false }, opaque, [8, 8, 1]);
        assert_eq!(device.run(&entry(body), Shape::new(1, 3)), [fourth; 3]);
    }
    assert_eq!(blocks(Compression::Bc1, true, [8, 8, 1]).run(&entry(body), Shape::new(1, 3)), [one, one, 0]);
}

#[test]
fn past_the_last_block_are_zeros() {
    // Alpha of BC1, whose block of zeros is black, and then of no texel.
    let body = "mov.u64 %d3, 0x70; shl.b32 %r5, %r0, 2; tex.2d.v4.u32.s32 {%r7, %r8, %r9, %r1}, [%d3, {0, %r5}];";
    let words = blocks(Compression::Bc1, true, [8, 12, 1]).run(&entry(body), Shape::new(1, 4));
    let one = 1.0f32.to_bits();
    assert_eq!(words, [one, one, one, 0]);
}

/// A device with `layers` layers of 2 by 2 words each, that count up from 0; twelve are two cubes.
fn layers(layers: u32, cube: bool) -> Device {
    let objects = Arc::new(One::default());
    let device = Device::with_objects(objects.clone());
    let texels = Texels {
        address: device.buffer(&(0..4 * layers).collect::<Vec<_>>()),
        size: [2, 2, layers],
        dimensions: 2,
        pitch: 8,
        slice: 16,
        channel: Channel::U32,
        channels: 1,
        layered: true,
        cube,
        linear: false,
        fractions: false,
        blocks: None,
        mapped: None,
    };
    let sampler = Sampler { address: [AddressMode::Clamp; 3], normalized: cube, ..Sampler::default() };
    objects.0.set(Texture::new(vec![texels], sampler)).unwrap();
    device
}

#[test]
fn past_the_last_layer_is_the_last() {
    // Recorded: but not for whole numbers, which name texels without the sampler.
    for (coordinates, expected) in [
        ("f32 {%r1, %r7, %r8, %r9}, [%d3, {%r0, 0f3FC00000, 0f00000000, 0f00000000}]", [1, 5, 9, 9, 9]),
        ("s32 {%r1, %r7, %r8, %r9}, [%d3, {%r0, 1, 0, 0}]", [1, 5, 9, 0, 0]),
    ] {
        let body = format!("mov.u64 %d3, 0x70; tex.a2d.v4.u32.{coordinates};");
        assert_eq!(layers(3, false).run(&entry(&body), Shape::new(1, 5)), expected);
    }
    // Without mip levels, each is the base.
    let level = "mov.u64 %d3, 0x70; tex.level.a2d.v4.u32.f32 {%r1, %r7, %r8, %r9}, [%d3, {%r0, 0f00000000, 0f00000000, 0f00000000}], 0f40000000;";
    assert_eq!(layers(3, false).run(&entry(level), Shape::new(1, 2)), [0, 4]);
}

#[test]
fn surfaces_have_layers() {
    let body = "mov.u64 %d3, 0x70; sust.b.a2d.b32.zero [%d3, {%r0, 4, 1, 0}], 70; suld.b.a2d.b32.zero %r1, [%d3, {%r0, 4, 1, 0}];";
    assert_eq!(layers(3, false).run(&entry(body), Shape::new(1, 5)), [70, 70, 70, 0, 0]);
}

#[test]
fn a_direction_meets_one_face_of_one_cube() {
    // Lanes 0 to 2 look along x, y and z, and 3 to 5 back.
    let direction = "rem.u32 %r5, %r0, 3; setp.lt.u32 %p1, %r0, 3; selp.b32 %r6, 0x3f800000, 0xbf800000, %p1;
         setp.eq.u32 %p2, %r5, 0; selp.b32 %r7, %r6, 0x3e800000, %p2;
         setp.eq.u32 %p2, %r5, 1; selp.b32 %r8, %r6, 0x3e800000, %p2;
         setp.eq.u32 %p2, %r5, 2; selp.b32 %r9, %r6, 0x3e800000, %p2; mov.u64 %d3, 0x70;";
    // Faces +x, +y, +z, -x, -y, -z, and the texel where the other two coordinates are a quarter.
    let expected = [[0, 0], [2, 3], [4, 1], [1, 1], [3, 1], [5, 0]].map(|[face, texel]| 4 * face + texel);
    let cube = format!("{direction} tex.cube.v4.u32.f32 {{%r1, %r2, %r3, %r4}}, [%d3, {{%r7, %r8, %r9, %r9}}];");
    assert_eq!(layers(12, true).run(&entry(&cube), Shape::new(1, 6)), expected);
    let cubes = format!("{direction} tex.acube.v4.u32.f32 {{%r1, %r2, %r3, %r4}}, [%d3, {{7, %r7, %r8, %r9}}];");
    assert_eq!(layers(12, true).run(&entry(&cubes), Shape::new(1, 6)), expected.map(|word| 24 + word));
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

/// Recorded on an H200: inside the surface and outside, in every mode.
#[test]
fn bytes_of_a_row_have_to_be_aligned() {
    for (at, clamp) in [("2", "zero"), ("-2", "zero"), ("1026", "clamp"), ("14", "trap")] {
        let (code, text) = fault(&format!("mov.u64 %d3, 0x70; suld.b.2d.b32.{clamp} %r1, [%d3, {{{at}, 1}}];"));
        assert_eq!(code, "CUDA_ERROR_MISALIGNED_ADDRESS");
        let expected = format!(
            "misaligned address: load of 4 bytes in a surface at byte {at} of a row, which is not a multiple of 4"
        );
        assert_eq!(text, expected);
    }
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

/// Recorded on an H200: plain memory of one dimension has no height, an array of one dimension has 1.
#[test]
fn a_row_has_a_height_in_an_array_only() {
    let body = "mov.u64 %d3, 0x70; txq.width.b32 %r5, [%d3]; txq.height.b32 %r6, [%d3]; txq.depth.b32 %r7, [%d3];
                mad.lo.u32 %r1, %r6, 100, %r5; mad.lo.u32 %r1, %r7, 10000, %r1;";
    for (linear, expected) in [(true, 8), (false, 108)] {
        let device = device_with(|image| Texels { size: [8, 1, 1], dimensions: 1, linear, ..image });
        assert_eq!(device.run(&entry(body), Shape::new(1, 1)), [expected]);
    }
}

/// What stands in place of a sampler does not matter, as on an H200 (`sampler_of_another` in `tests/c/answers/arrays.golden`).
#[test]
fn a_texture_is_sampled_as_it_was_made() {
    let body = "mov.u64 %d3, 0x70; mov.u64 %d4, 0x71; mov.u32 %r6, 1; cvt.rn.f32.u32 %f1, %r0; cvt.rn.f32.u32 %f2, %r6;
                tex.2d.v4.u32.f32 {%r1, %r7, %r8, %r9}, [%d3, %d4, {%f1, %f2}];";
    assert_eq!(device().run(&entry(body), Shape::new(1, 5)), [14, 15, 16, 17, 17]);
}

/// What is sampled for a whole warp at once, as its lanes name one texture, is what lanes by themselves sample, which names that differ make them do.
#[test]
fn warps_sample_what_lanes_do() {
    const SIZES: [[u32; 2]; 6] = [[8, 8], [1, 1], [2, 1], [5, 3], [40, 4], [100, 7]];
    let mut state = 7u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let formats = [
        (Channel::F32, 1),
        (Channel::F32, 2),
        (Channel::F16, 2),
        (Channel::U8, 4),
        (Channel::S8, 2),
        (Channel::U16, 1),
        (Channel::S16, 4),
        (Channel::U32, 1),
        (Channel::S32, 2),
        (Channel::U32, 4),
    ];
    let modes = [
        (AddressMode::Clamp, false),
        (AddressMode::Clamp, true),
        (AddressMode::Wrap, true),
        (AddressMode::Mirror, true),
    ];
    for (channel, channels) in formats {
        // Numbers of any size, and such as are near to each other.
        for near in [false, true] {
            let readings = [(true, false, false), (false, false, false), (true, true, false), (true, false, true)];
            for ((address, normalized), (linear, srgb, integers)) in
                modes.into_iter().flat_map(|mode| readings.map(|reading| (mode, reading)))
            {
                let [width, height] = SIZES[random() as usize % SIZES.len()];
                let pitch = (u64::from(width) * channel.bytes() * u64::from(channels)).next_multiple_of(16);
                let words: Vec<u32> = (0..pitch * u64::from(height) / 4)
                    .map(|_| match near {
                        true => 0x3c00_3c00 | random() & 0x83ff_03ff,
                        false => random() << 16 ^ random(),
                    })
                    .collect();
                let objects = Arc::new(One::default());
                let device = Device::with_objects(objects.clone());
                let texels = Texels {
                    address: device.buffer(&words),
                    size: [width, height, 1],
                    dimensions: 2,
                    pitch,
                    slice: pitch * u64::from(height),
                    channel,
                    channels,
                    layered: false,
                    cube: false,
                    linear: false,
                    fractions: false,
                    blocks: None,
                    mapped: None,
                };
                let anisotropy = 4;
                let sampler = Sampler {
                    address: [address; 3],
                    linear,
                    normalized,
                    integers,
                    srgb,
                    anisotropy,
                    ..Sampler::default()
                };
                objects.0.set(Texture::new(vec![texels], sampler)).unwrap();
                let scale = |size: u32| if normalized { 1.0 } else { size as f32 };
                // As long as three texels along x, and as one along y.
                let [long, short] = [(3.0, width), (1.0, height)]
                    .map(|(texels, size): (f32, u32)| (texels / size as f32 * scale(size)).to_bits());
                let gradients = format!(", {{0f{long:08x}, 0f00000000}}, {{0f00000000, 0f{short:08x}}}");
                // Around the texture and in it, or of neighbours in a row; and some that are no place.
                let neighbours = random() % 2 == 0;
                let (start, step) = ((random() % 1000) as f32 / 1000.0, (random() % 3) as f32 * 0.6 - 0.5);
                let nowhere = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e20, -1e30, -0.0, 1e-40];
                let coordinates: Vec<u32> = (0..64)
                    .map(|at| match (neighbours, random() % 40) {
                        (_, special @ 0..7) if random() % 8 == 0 => nowhere[special as usize],
                        (true, _) if at < 32 => (start + at as f32 * step / width as f32) * scale(width),
                        (true, _) => start * scale(height),
                        _ => ((random() % 1000) as f32 / 250.0 - 1.5) * scale(if at < 32 { width } else { height }),
                    })
                    .map(f32::to_bits)
                    .collect();
                let coordinates = device.buffer(&coordinates);
                let sample = |names: &str, kind: &str, gradients: &str| {
                    let body = format!(
                        "mov.u64 %d4, {coordinates}; add.u64 %d4, %d4, %d2; ld.global.f32 %f1, [%d4]; ld.global.f32 %f2, [%d4 + 128];
                         mov.u64 %d3, {HANDLE}; {names} tex.{kind}2d.v4.f32.f32 {{%f3, %f4, %f5, %f6}}, [%d3, {{%f1, %f2}}]{gradients};
                         mov.b32 %r1, %f3; mov.b32 %r3, %f4; mad.lo.u32 %r1, %r1, 31, %r3; mov.b32 %r3, %f5; mad.lo.u32 %r1, %r1, 31, %r3;
                         mov.b32 %r3, %f6; mad.lo.u32 %r1, %r1, 31, %r3;"
                    );
                    device.run(&entry(&body), Shape::new(1, 32))
                };
                let other = format!("setp.eq.u32 %p1, %r2, 31; @%p1 mov.u64 %d3, {OTHER};");
                let what = format!("{channel:?} {channels} {sampler:?}, {width} by {height}, near {near}");
                for (kind, gradients) in [("", ""), ("grad.", gradients.as_str())] {
                    let [warp, lanes] = ["", other.as_str()].map(|names| sample(names, kind, gradients));
                    assert_eq!(warp, lanes, "{kind} {what}");
                }
            }
        }
    }
}

/// What an H100 sampled around the edges of small textures (`tests/goldens/texture_edges.py`), bit for bit.
#[test]
fn edges_are_as_recorded() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/goldens/texture_edges.json");
    let golden: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let list = |value: &serde_json::Value| value.as_array().unwrap().clone();
    let bits = |text: &str| u32::from_str_radix(text, 16).unwrap();
    let words =
        |value: &serde_json::Value| -> Vec<u32> { list(value).iter().map(|w| bits(w.as_str().unwrap())).collect() };
    let border = golden["border"].as_f64().unwrap() as f32;
    for case in list(&golden["cases"]) {
        let size: Vec<u32> = list(&case["size"]).iter().map(|n| n.as_u64().unwrap() as u32).collect();
        let objects = Arc::new(One::default());
        let device = Device::with_objects(objects.clone());
        let address = match case["address"].as_str().unwrap() {
            "wrap" => AddressMode::Wrap,
            "clamp" => AddressMode::Clamp,
            "mirror" => AddressMode::Mirror,
            _ => AddressMode::Border,
        };
        let height = size.get(1).copied().unwrap_or(1);
        let texels = Texels {
            address: device.buffer(&words(&case["texels"])),
            size: [size[0], height, 1],
            dimensions: size.len() as u8,
            pitch: u64::from(size[0]) * 4,
            slice: u64::from(size[0] * height) * 4,
            channel: Channel::F32,
            channels: 1,
            layered: false,
            cube: false,
            linear: false,
            fractions: false,
            blocks: None,
            mapped: None,
        };
        let sampler = Sampler {
            address: [address; 3],
            linear: case["linear"].as_bool().unwrap(),
            normalized: case["normalized"].as_bool().unwrap(),
            border: [border; 4],
            ..Sampler::default()
        };
        objects.0.set(Texture::new(vec![texels], sampler)).unwrap();
        let points: Vec<String> = list(&case["coordinates"]).iter().map(|w| w.as_str().unwrap().to_owned()).collect();
        let axis =
            |axis: usize| device.buffer(&points.iter().map(|p| bits(&p[8 * axis..8 * axis + 8])).collect::<Vec<_>>());
        let (x, y) = (axis(0), if size.len() > 1 { axis(1) } else { 0 });
        let sample = match size.len() {
            1 => "tex.1d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%d3, {%f1}];".to_owned(),
            _ => format!(
                "mov.u64 %d4, {y}; add.u64 %d4, %d4, %d2; ld.global.f32 %f2, [%d4];
                 tex.2d.v4.f32.f32 {{%f3, %f4, %f5, %f6}}, [%d3, {{%f1, %f2}}];"
            ),
        };
        let body = format!(
            "mov.u64 %d3, {HANDLE}; mov.u64 %d4, {x}; add.u64 %d4, %d4, %d2; ld.global.f32 %f1, [%d4]; {sample} mov.b32 %r1, %f3;"
        );
        let sampled = device.run(&entry(&body), Shape::new(1, points.len() as u32));
        let got: Vec<f32> = sampled.into_iter().map(f32::from_bits).collect();
        let expected: Vec<f32> = words(&case["results"]).into_iter().map(f32::from_bits).collect();
        assert_eq!(got, expected, "{} {:?} {}", case["address"], sampler, case["size"]);
    }
}
