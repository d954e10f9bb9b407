"""Cycles, the path tracer of Blender, whose kernels come as one text of PTX: pictures against those of its own code for the processor."""
import math
import os
import tempfile

import bpy
import numpy
import pytest

SIDE = 40


def devices(kind):
    preferences = bpy.context.preferences.addons["cycles"].preferences
    preferences.compute_device_type = "CUDA"
    preferences.get_devices()
    for device in preferences.devices:
        device.use = device.type == kind
    return [device.name for device in preferences.devices if device.type == kind]


def object_of(mesh, place=(0, 0, 0), material=None):
    made = bpy.data.objects.new(mesh.name, mesh)
    made.location = place
    bpy.context.collection.objects.link(made)
    if material:
        mesh.materials.append(material)
    return made


def plane(material=None, size=4.0, place=(0, 0, -1)):
    mesh = bpy.data.meshes.new("plane")
    corners = [(-size, -size, 0), (size, -size, 0), (size, size, 0), (-size, size, 0)]
    mesh.from_pydata(corners, [], [(0, 1, 2, 3)])
    mesh.uv_layers.new()
    for loop, place_on_it in zip(mesh.uv_layers[0].data, [(0, 0), (1, 0), (1, 1), (0, 1)]):
        loop.uv = place_on_it
    return object_of(mesh, place, material)


def ball(material=None, place=(0, 0, 0), radius=1.0):
    bpy.ops.mesh.primitive_uv_sphere_add(radius=radius, location=place, segments=24, ring_count=12)
    made = bpy.context.object
    bpy.ops.object.shade_smooth()
    if material:
        made.data.materials.append(material)
    return made


def material_of(kind, colour=(0.8, 0.4, 0.2, 1), **inputs):
    """A material of one node that goes to the surface."""
    material = bpy.data.materials.new(kind)
    material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    nodes.clear()
    node, out = nodes.new(kind), nodes.new("ShaderNodeOutputMaterial")
    for name, value in {"Color": colour, "Base Color": colour, **inputs}.items():
        if name in node.inputs:
            node.inputs[name].default_value = value
    links.new(node.outputs[0], out.inputs["Volume" if "Volume" in kind else "Surface"])
    return material


def textured(kind, output=0, **settings):
    """A diffuse material whose colour a texture gives."""
    material = material_of("ShaderNodeBsdfDiffuse")
    nodes, links = material.node_tree.nodes, material.node_tree.links
    texture, places = nodes.new(kind), nodes.new("ShaderNodeTexCoord")
    for name, value in settings.items():
        setattr(texture, name, value)
    links.new(places.outputs["Generated"], texture.inputs[0])
    links.new(texture.outputs[output], next(node for node in nodes if node.bl_idname == "ShaderNodeBsdfDiffuse").inputs["Color"])
    return material


def lamp(kind="POINT", energy=600.0, place=(2, -3, 4), **settings):
    light = bpy.data.lights.new(kind, kind)
    light.energy = energy
    for name, value in settings.items():
        setattr(light, name, value)
    made = bpy.data.objects.new(kind, light)
    made.location = place
    made.rotation_euler = (0.6, 0.3, 0)
    bpy.context.collection.objects.link(made)
    return made


def camera(**settings):
    made = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    made.location, made.rotation_euler = (0, -6, 1.5), (math.radians(78), 0, 0)
    for name, value in settings.items():
        setattr(made.data, name, value)
    bpy.context.collection.objects.link(made)
    bpy.context.scene.camera = made
    return made


def begin():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.samples = 8
    scene.cycles.use_denoising = scene.cycles.use_adaptive_sampling = False
    scene.render.resolution_x = scene.render.resolution_y = SIDE
    scene.render.image_settings.file_format = "OPEN_EXR"
    scene.render.image_settings.color_depth = "32"
    scene.world = bpy.data.worlds.new("world")
    scene.world.use_nodes = True
    scene.world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.1, 0.12, 0.15, 1)
    return scene


def picture(scene, device):
    scene.cycles.device = "GPU" if device == "CUDA" else "CPU"
    with tempfile.TemporaryDirectory() as folder:
        scene.render.filepath = os.path.join(folder, device + ".exr")
        bpy.ops.render.render(write_still=True)
        image = bpy.data.images.load(scene.render.filepath)
        pixels = numpy.array(image.pixels[:]).reshape(SIDE, SIDE, -1)
        bpy.data.images.remove(image)
    return pixels


def compare(scene, apart=0.02):
    """The pictures are the same but for some pixels, where a path took another turn for a last digit."""
    expected = picture(scene, "CPU")
    assert expected[..., :3].std() > 1e-3, "nothing to be seen"
    assert devices("CUDA"), "no device"
    found = picture(scene, "CUDA")
    differs = numpy.abs(found - expected).max(axis=2) > 0.01 + 0.01 * numpy.abs(expected).max(axis=2)
    assert differs.mean() < apart, f"{differs.mean():.1%} of the pixels differ"


def test_the_device():
    begin()
    assert any("warploom" in name for name in devices("CUDA"))


SURFACES = {
    "diffuse": ("ShaderNodeBsdfDiffuse", {"Roughness": 0.5}),
    "metal": ("ShaderNodeBsdfMetallic", {"Roughness": 0.3}),
    "glossy": ("ShaderNodeBsdfAnisotropic", {"Roughness": 0.2, "Anisotropy": 0.6}),
    "glass": ("ShaderNodeBsdfGlass", {"Roughness": 0.05}),
    "translucent": ("ShaderNodeBsdfTranslucent", {}),
    "principled": ("ShaderNodeBsdfPrincipled", {"Metallic": 0.4, "Roughness": 0.4, "Coat Weight": 0.5, "Sheen Weight": 0.5}),
    "sheen": ("ShaderNodeBsdfSheen", {"Roughness": 0.4}),
    "toon": ("ShaderNodeBsdfToon", {}),
    "emission": ("ShaderNodeEmission", {"Strength": 2.0}),
    "subsurface": ("ShaderNodeSubsurfaceScattering", {"Scale": 0.3}),
    "hair": ("ShaderNodeBsdfHair", {}),
}


@pytest.mark.parametrize("kind", SURFACES)
def test_surfaces(kind):
    scene = begin()
    camera()
    lamp(energy=800)
    node, inputs = SURFACES[kind]
    ball(material_of(node, **inputs))
    plane(material_of("ShaderNodeBsdfDiffuse", (0.5, 0.6, 0.5, 1)))
    compare(scene)


TEXTURES = {
    "noise": ("ShaderNodeTexNoise", {}),
    "voronoi": ("ShaderNodeTexVoronoi", {"feature": "SMOOTH_F1"}),
    "waves": ("ShaderNodeTexWave", {}),
    "magic": ("ShaderNodeTexMagic", {}),
    "bricks": ("ShaderNodeTexBrick", {}),
    "checker": ("ShaderNodeTexChecker", {}),
    "gradient": ("ShaderNodeTexGradient", {"gradient_type": "RADIAL"}),
    "gabor": ("ShaderNodeTexGabor", {}),
}


@pytest.mark.parametrize("kind", TEXTURES)
def test_textures(kind):
    scene = begin()
    camera()
    lamp()
    node, settings = TEXTURES[kind]
    ball(textured(node, **settings))
    compare(scene)


@pytest.mark.parametrize("interpolation", ["Linear", "Closest", "Cubic", "Smart"])
def test_pictures_on_surfaces(interpolation):
    scene = begin()
    camera()
    lamp()
    image = bpy.data.images.new("grid", 32, 32, float_buffer=interpolation == "Linear")
    image.generated_type = "COLOR_GRID"
    material = textured("ShaderNodeTexImage", image=image, interpolation=interpolation)
    plane(material, 1.5, (0, 1, 0)).rotation_euler = (math.radians(60), 0, 0.2)
    compare(scene)


LIGHTS = {
    "point": {"kind": "POINT", "shadow_soft_size": 0.5},
    "sun": {"kind": "SUN", "energy": 3.0, "angle": 0.1},
    "spot": {"kind": "SPOT", "energy": 2000.0, "spot_blend": 0.3},
    "area": {"kind": "AREA", "energy": 300.0, "size": 2.0, "shape": "DISK"},
}


@pytest.mark.parametrize("kind", LIGHTS)
def test_lights(kind):
    scene = begin()
    camera()
    lamp(**LIGHTS[kind])
    ball(material_of("ShaderNodeBsdfDiffuse"))
    plane(material_of("ShaderNodeBsdfDiffuse"))
    compare(scene)


def test_many_lights():
    scene = begin()
    camera()
    for index in range(24):
        lamp(energy=40 + 5 * index, place=(3 * math.sin(index), 3 * math.cos(index), 1 + index % 3), color=(1, index / 24, 0.5))
    ball(material_of("ShaderNodeBsdfDiffuse"))
    plane(material_of("ShaderNodeBsdfDiffuse"))
    compare(scene)


def test_a_sky():
    scene = begin()
    camera()
    nodes, links = scene.world.node_tree.nodes, scene.world.node_tree.links
    links.new(nodes.new("ShaderNodeTexSky").outputs[0], nodes["Background"].inputs["Color"])
    nodes["Background"].inputs["Strength"].default_value = 0.1
    ball(material_of("ShaderNodeBsdfDiffuse"))
    plane(material_of("ShaderNodeBsdfDiffuse"))
    compare(scene)


@pytest.mark.parametrize("kind", ["ShaderNodeVolumeScatter", "ShaderNodeVolumeAbsorption", "ShaderNodeVolumePrincipled"])
def test_volumes(kind):
    scene = begin()
    camera()
    lamp(energy=1500)
    ball(material_of(kind, Density=1.5))
    plane(material_of("ShaderNodeBsdfDiffuse"))
    compare(scene)


CAMERAS = {
    "orthographic": {"type": "ORTHO", "ortho_scale": 5.0},
    "panorama": {"type": "PANO"},
    "focus": {"lens": 60},
}


@pytest.mark.parametrize("kind", CAMERAS)
def test_cameras(kind):
    scene = begin()
    made = camera(**CAMERAS[kind])
    if kind == "focus":
        made.data.dof.use_dof, made.data.dof.focus_distance, made.data.dof.aperture_fstop = True, 4.0, 0.3
    lamp()
    for index in range(3):
        ball(material_of("ShaderNodeBsdfDiffuse"), (index - 1, index, 0), 0.6)
    compare(scene)


def test_what_moves_is_blurred():
    scene = begin()
    camera()
    lamp()
    made = ball(material_of("ShaderNodeBsdfDiffuse"))
    made.keyframe_insert("location", frame=0)
    made.location = (1.5, 0, 0.5)
    made.keyframe_insert("location", frame=2)
    scene.frame_set(1)
    scene.render.use_motion_blur = True
    compare(scene)


def test_instances_and_subdivision():
    scene = begin()
    camera()
    lamp()
    bpy.ops.mesh.primitive_monkey_add(size=1.0)
    made = bpy.context.object
    made.data.materials.append(material_of("ShaderNodeBsdfDiffuse"))
    made.modifiers.new("subdivision", "SUBSURF").render_levels = 2
    for index in range(5):
        copy = bpy.data.objects.new("copy", made.data)
        copy.location, copy.rotation_euler = (index - 2, 1, 1), (0, index, 0)
        bpy.context.collection.objects.link(copy)
    compare(scene)


def test_hair():
    scene = begin()
    camera()
    lamp()
    curves = bpy.data.hair_curves.new("hair")
    curves.add_curves([6] * 60)
    points = [(0.9 * math.cos(i), 0.9 * math.sin(i) * 0.3, -0.6 + 0.3 * j + 0.05 * math.sin(i * j)) for i in range(60) for j in range(6)]
    curves.position_data.foreach_set("vector", [number for point in points for number in point])
    curves.attributes.new("radius", "FLOAT", "POINT").data.foreach_set("value", [0.03] * len(points))
    curves.materials.append(material_of("ShaderNodeBsdfHairPrincipled"))
    object_of(curves)
    compare(scene, apart=0.05)


def test_transparent_shadows():
    scene = begin()
    camera()
    lamp()
    material = material_of("ShaderNodeBsdfTransparent", (0.6, 0.9, 0.6, 1))
    for index in range(3):
        plane(material, 0.8, (0, 0, 0.5 + 0.4 * index))
    plane(material_of("ShaderNodeBsdfDiffuse"))
    compare(scene)


@pytest.mark.parametrize("kind", ["ShaderNodeAmbientOcclusion", "ShaderNodeBevel"])
def test_shaders_that_trace_rays(kind):
    scene = begin()
    camera()
    lamp()
    material = material_of("ShaderNodeBsdfDiffuse")
    nodes, links = material.node_tree.nodes, material.node_tree.links
    node = nodes.new(kind)
    diffuse = next(node for node in nodes if node.bl_idname == "ShaderNodeBsdfDiffuse")
    links.new(node.outputs[0], diffuse.inputs["Normal" if kind == "ShaderNodeBevel" else "Color"])
    bpy.ops.mesh.primitive_cube_add(size=1.6, rotation=(0.3, 0.2, 0.5))
    bpy.context.object.data.materials.append(material)
    plane(material_of("ShaderNodeBsdfDiffuse"))
    compare(scene, apart=0.06)


def test_bumps():
    scene = begin()
    camera()
    lamp()
    material = material_of("ShaderNodeBsdfDiffuse")
    nodes, links = material.node_tree.nodes, material.node_tree.links
    noise, bump = nodes.new("ShaderNodeTexNoise"), nodes.new("ShaderNodeBump")
    links.new(noise.outputs[0], bump.inputs["Height"])
    links.new(bump.outputs[0], next(node for node in nodes if node.bl_idname == "ShaderNodeBsdfDiffuse").inputs["Normal"])
    ball(material)
    compare(scene)


def test_samples_where_they_are_needed():
    scene = begin()
    scene.cycles.use_adaptive_sampling, scene.cycles.adaptive_threshold, scene.cycles.samples = True, 0.2, 32
    camera()
    lamp(shadow_soft_size=1.0)
    ball(material_of("ShaderNodeBsdfDiffuse"))
    plane(material_of("ShaderNodeBsdfDiffuse"))
    compare(scene, apart=0.05)


def test_baked_light():
    scene = begin()
    camera()
    lamp()
    material = textured("ShaderNodeTexChecker")
    image = bpy.data.images.new("baked", SIDE, SIDE, float_buffer=True)
    node = material.node_tree.nodes.new("ShaderNodeTexImage")
    node.image = image
    material.node_tree.nodes.active = node
    made = plane(material)
    ball(material_of("ShaderNodeBsdfDiffuse"))
    bpy.ops.object.select_all(action="DESELECT")
    made.select_set(True)
    bpy.context.view_layer.objects.active = made
    baked = []
    for device in ["CPU", "CUDA"]:
        devices("CUDA")
        scene.cycles.device = "GPU" if device == "CUDA" else "CPU"
        bpy.ops.object.bake(type="DIFFUSE")
        baked.append(numpy.array(image.pixels[:]))
    assert baked[0].std() > 0.01
    assert (numpy.abs(baked[0] - baked[1]) > 0.01 + 0.01 * numpy.abs(baked[0])).mean() < 0.02
