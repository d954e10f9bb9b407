"""Tensors, searches, clouds of points, volumes and images of Open3D: on a device against on the processor."""
import numpy
import open3d
import open3d.core
import pytest
from open3d.t.geometry import Image, InterpType, PointCloud, VoxelBlockGrid
from open3d.t.pipelines import registration

DEVICE, HOST = open3d.core.Device("CUDA:0"), open3d.core.Device("CPU:0")
RANDOM = numpy.random.default_rng(1)
POINTS = RANDOM.random((2000, 3)).astype("float32")
NUMBERS = RANDOM.integers(-50, 50, (300, 40)).astype("int32")
PICTURE = RANDOM.random((120, 160, 3)).astype("float32")
# A wall that leans away.
DEPTH = (numpy.indices((120, 160)).sum(0)[..., None] / 100 + 1).astype("float32")
CAMERA = numpy.array([[100, 0, 80], [0, 100, 60], [0, 0, 1.0]])
VOXEL = 0.05


def tensor(values, device):
    return open3d.core.Tensor(values, device=device)


def cloud(device):
    return PointCloud(tensor(POINTS, device))


def host(result):
    results = result if isinstance(result, (list, tuple)) else [result]
    return [result.cpu().numpy() if hasattr(result, "cpu") else numpy.asarray(result) for result in results]


def agree(compute, tolerance=0.0):
    """Results of the device are those of the processor, in shape, type and value."""
    for found, expected in zip(host(compute(DEVICE)), host(compute(HOST)), strict=True):
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        numpy.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def in_order(rows):
    rows = rows.cpu().numpy()
    return rows[numpy.lexsort(rows.T.round(4))]


TENSORS = {
    "arithmetic": (lambda a, n: (a + a * 2 - 0.5) / 3, 1e-6),
    "functions": (lambda a, n: [a.exp(), a.sqrt(), a.sin(), a.cos(), a.abs(), a.floor(), a.round()], 1e-6),
    "integers": (lambda a, n: [n + n, n * n, -n, n.abs()], 0.0),
    "comparison": (lambda a, n: [a > 0.5, (a > 0.2).logical_and(a < 0.7), n.eq(3), a.isnan()], 0.0),
    "sum": (lambda a, n: [a.sum(0), a.sum(1), a.sum(), n.sum(0), n.sum()], 1e-5),
    "mean": (lambda a, n: [a.mean(0), a.mean(1)], 1e-5),
    "product": (lambda a, n: a.prod(1), 1e-6),
    "extremes": (lambda a, n: [a.min(0), a.max(1), n.min(), n.max(0), a.argmin(0), a.argmax(1)], 0.0),
    "conversion": (lambda a, n: [a.to(open3d.core.float64), a.to(open3d.core.int32), n.to(open3d.core.float32)], 0.0),
    "slices": (lambda a, n: [a[10:100:3], n[:, 4], n.T().contiguous(), n.reshape((40, 300))], 0.0),
    "masks": (lambda a, n: [a[a[:, 0] > 0.5], *(n > 3).nonzero()], 0.0),
    "join": (lambda a, n: [a.append(a, 0), open3d.core.concatenate((n, n), 1)], 0.0),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensor(name):
    compute, tolerance = TENSORS[name]
    agree(lambda device: compute(tensor(POINTS, device), tensor(NUMBERS, device)), tolerance)


def test_gather():
    agree(lambda device: tensor(POINTS, device)[tensor(numpy.array([5, 1, 7, 5]), device)])


def test_hash_map():
    keys = (POINTS * 6).astype("int32")

    def compute(device):
        held = open3d.core.HashMap(10, open3d.core.int32, [3], open3d.core.float32, [1], device)
        held.insert(tensor(keys[:1500], device), tensor(POINTS[:1500, :1].copy(), device))
        held.erase(tensor(keys[:20], device))
        return [numpy.array(held.size()), held.find(tensor(keys, device))[1], in_order(held.key_tensor()[held.active_buf_indices().to(open3d.core.int64)])]

    agree(compute)


def search(device):
    return open3d.core.nns.NearestNeighborSearch(tensor(POINTS, device))


def test_nearest():
    def compute(device):
        at = search(device)
        at.knn_index()
        return at.knn_search(tensor(POINTS[:100] + numpy.float32(0.01), device), 7)

    agree(compute, 1e-6)


def test_fixed_radius():
    def compute(device):
        at = search(device)
        at.fixed_radius_index(0.1)
        _, distances, rows = at.fixed_radius_search(tensor(POINTS[:100], device), 0.1)
        ends = rows.cpu().numpy()
        return [rows, numpy.concatenate([numpy.sort(part) for part in numpy.split(distances.cpu().numpy(), ends[1:-1])])]

    agree(compute, 1e-6)


def test_hybrid():
    def compute(device):
        at = search(device)
        at.hybrid_index(0.1)
        _, distances, counts = at.hybrid_search(tensor(POINTS[:100], device), 0.1, 8)
        return distances, counts

    agree(compute, 1e-6)


MOVE = numpy.array([[0, 1, 0, 1], [-1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1.0]])

CLOUDS = {
    "transform": (lambda points: points.transform(tensor(MOVE, points.device)).point.positions, 1e-6),
    "voxels": (lambda points: in_order(points.voxel_down_sample(0.2).point.positions), 1e-5),
    "each_third": (lambda points: points.uniform_down_sample(3).point.positions, 0.0),
    "radius_outliers": (lambda points: points.remove_radius_outliers(5, 0.1)[1], 0.0),
    "bounds": (lambda points: [points.get_min_bound(), points.get_max_bound(), points.get_center()], 1e-5),
    "crop": (
        lambda points: points.crop(
            open3d.t.geometry.AxisAlignedBoundingBox(tensor([0.2] * 3, points.device), tensor([0.7] * 3, points.device))
        ).point.positions,
        0.0,
    ),
}


@pytest.mark.parametrize("name", CLOUDS)
def test_cloud(name):
    compute, tolerance = CLOUDS[name]
    agree(lambda device: compute(cloud(device)), tolerance)


def test_normals():
    def compute(device):
        points = cloud(device)
        points.estimate_normals(max_nn=20, radius=0.2)
        return numpy.abs(points.point.normals.cpu().numpy())

    agree(compute, 1e-3)


def test_features():
    def compute(device):
        points = cloud(device)
        points.estimate_normals(max_nn=20, radius=0.2)
        return registration.compute_fpfh_feature(points, 20, 0.2)

    found, expected = (host(compute(device))[0] for device in (DEVICE, HOST))
    # Which way a normal points is a question of rounding, and changes a feature.
    assert (numpy.abs(found - expected).max(1) < 0.1).mean() > 0.99


def test_points_of_depth():
    agree(
        lambda device: in_order(
            PointCloud.create_from_depth_image(
                Image(tensor(DEPTH, device)), tensor(CAMERA, HOST), depth_scale=1.0, depth_max=10.0
            ).point.positions
        ),
        1e-5,
    )


def test_gray():
    agree(lambda device: Image(tensor(PICTURE, device)).rgb_to_gray().as_tensor(), 1e-6)


def test_resize():
    for way in (InterpType.Nearest, InterpType.Super):
        agree(lambda device: Image(tensor(PICTURE, device)).resize(0.5, way).as_tensor(), 1e-6)


def test_picture_type():
    agree(lambda device: Image(tensor(PICTURE, device)).to(open3d.core.uint8, False, 255.0).as_tensor(), 1.0)


@pytest.fixture(scope="module")
def volumes():
    """A volume that a wall was measured into, on the device and on the processor."""
    made = []
    for device in (DEVICE, HOST):
        kinds = (open3d.core.float32, open3d.core.float32)
        volume = VoxelBlockGrid(("tsdf", "weight"), kinds, ((1), (1)), VOXEL, 8, 1000, device)
        depth, camera = Image(tensor(DEPTH, device)), (tensor(CAMERA, HOST), tensor(numpy.eye(4), HOST))
        blocks = volume.compute_unique_block_coordinates(depth, *camera, 1.0, 5.0)
        volume.integrate(blocks, depth, *camera, 1.0, 5.0)
        made.append((volume, blocks, camera))
    return made


def test_blocks(volumes):
    found, expected = (in_order(blocks) for _, blocks, _ in volumes)
    assert (found == expected).all() and len(found) > 100


def test_integrated(volumes):
    """Voxels at the border of two pixels may be given to either."""
    voxels = []
    for volume, _, _ in volumes:
        held = volume.hashmap().active_buf_indices().to(open3d.core.int64)
        order = numpy.lexsort(volume.hashmap().key_tensor()[held].cpu().numpy().T)
        voxels.append([volume.attribute(name)[held].cpu().numpy()[order] for name in ("tsdf", "weight")])
    (found, weights), (expected, other_weights) = voxels
    same = weights == other_weights
    assert same.mean() > 0.99 and (numpy.abs(found - expected)[same] < 1e-4).mean() > 0.99


def test_surface(volumes):
    """Points of a surface lie where the wall was."""
    for volume, _, _ in volumes:
        points = volume.extract_point_cloud(0.5).point.positions.cpu().numpy()
        columns, rows = (points[:, :2] / points[:, 2:] * 100 + [80, 60]).T
        assert len(points) > 5000
        assert numpy.median(numpy.abs((columns + rows) / 100 + 1 - points[:, 2])) < VOXEL / 2


def test_mesh(volumes):
    sizes = []
    for volume, _, _ in volumes:
        mesh = volume.extract_triangle_mesh(0.5)
        sizes.append((len(mesh.vertex.positions), len(mesh.triangle.indices)))
    assert numpy.abs(numpy.subtract(*sizes)).max() < numpy.max(sizes) / 100


def test_rays(volumes):
    pictures = []
    for volume, blocks, camera in volumes:
        # The first one finds out how much room the second needs.
        for _ in range(2):
            seen = volume.ray_cast(blocks, *camera, 160, 120, ["depth"], 1.0, 0.1, 5.0, 1.0)
        pictures.append(seen["depth"].cpu().numpy())
    found, expected = pictures
    assert (numpy.abs(found - expected) < 1e-3).mean() > 0.95
    assert (numpy.abs(found - DEPTH)[found > 0] < VOXEL).mean() > 0.95
