"""Algorithms of cuGraph on a random graph, against NetworkX: by pylibcugraph, and as NetworkX's backend."""
import cupy
import networkx
import numpy
import pylibcugraph
import pytest

RANDOM = numpy.random.default_rng(1)
GRAPH = networkx.gnm_random_graph(400, 2000, seed=3)
for _, _, data in GRAPH.edges(data=True):
    data["weight"] = float(RANDOM.integers(1, 20))
# In three parts.
GRAPH.add_edge(400, 401, weight=2.0)
GRAPH.add_edge(402, 403, weight=3.0)
DIRECTED = networkx.gnm_random_graph(200, 700, seed=5, directed=True)
HANDLE = pylibcugraph.ResourceHandle()


def placed(graph, transposed=False):
    edges = [(source, target, data.get("weight", 1.0)) for source, target, data in graph.edges(data=True)]
    if not graph.is_directed():
        edges += [(target, source, weight) for source, target, weight in edges]
    sources, targets, weights = zip(*edges)
    properties = pylibcugraph.GraphProperties(is_symmetric=not graph.is_directed(), is_multigraph=False)
    return pylibcugraph.SGGraph(
        HANDLE,
        properties,
        cupy.array(sources, dtype="int32"),
        cupy.array(targets, dtype="int32"),
        weight_array=cupy.array(weights, dtype="float32"),
        store_transposed=transposed,
        renumber=True,
        do_expensive_check=True,
    )


@pytest.fixture(scope="module")
def graph():
    return placed(GRAPH)


@pytest.fixture(scope="module")
def transposed():
    return placed(GRAPH, transposed=True)


def by_vertex(vertices, values):
    return dict(zip(vertices.get().tolist(), values.get().tolist()))


def near(found, expected, tolerance=1e-5):
    assert found.keys() == expected.keys()
    assert max(abs(found[vertex] - expected[vertex]) for vertex in expected) < tolerance


def groups(vertices, labels):
    found = {}
    for vertex, label in by_vertex(vertices, labels).items():
        found.setdefault(label, set()).add(vertex)
    return sorted(map(sorted, found.values()))


def test_pagerank(transposed):
    found = pylibcugraph.pagerank(HANDLE, transposed, None, None, None, None, 0.85, 1e-6, 500, False)
    near(by_vertex(*found[:2]), networkx.pagerank(GRAPH, 0.85, tol=1e-10), 1e-6)


def test_personalised_pagerank(transposed):
    at, much = cupy.array([0, 5], dtype="int32"), cupy.array([1.0, 3.0], dtype="float32")
    found = pylibcugraph.personalized_pagerank(HANDLE, transposed, None, None, None, None, at, much, 0.85, 1e-6, 500, False)
    expected = networkx.pagerank(GRAPH, 0.85, personalization={0: 1.0, 5: 3.0}, tol=1e-10)
    near(by_vertex(*found[:2]), expected, 1e-6)


def test_breadth_first_search(graph):
    distances, _, vertices = pylibcugraph.bfs(HANDLE, graph, cupy.array([0], dtype="int32"), False, -1, True, False)
    reached = {vertex: far for vertex, far in by_vertex(vertices, distances).items() if far < 2**31 - 1}
    assert reached == dict(networkx.single_source_shortest_path_length(GRAPH, 0))


def test_shortest_paths(graph):
    vertices, distances, _ = pylibcugraph.sssp(HANDLE, graph, 0, 1e30, True, False)
    reached = {vertex: far for vertex, far in by_vertex(vertices, distances).items() if far < 1e30}
    near(reached, dict(networkx.single_source_dijkstra_path_length(GRAPH, 0)))


def test_weakly_connected_components(graph):
    found = pylibcugraph.weakly_connected_components(HANDLE, graph, None, None, None, None, False)
    assert groups(*found) == sorted(map(sorted, networkx.connected_components(GRAPH)))


def test_strongly_connected_components():
    found = pylibcugraph.strongly_connected_components(HANDLE, placed(DIRECTED), None, None, None, None, False)
    assert groups(*found) == sorted(map(sorted, networkx.strongly_connected_components(DIRECTED)))


def test_core_numbers(graph):
    found = pylibcugraph.core_number(HANDLE, graph, "incoming", False)
    assert by_vertex(*found) == networkx.core_number(GRAPH)


def test_triangles(graph):
    found = pylibcugraph.triangle_count(HANDLE, graph, None, False)
    assert by_vertex(*found) == networkx.triangles(GRAPH)


@pytest.mark.parametrize("normalised", [True, False])
def test_betweenness(graph, normalised):
    found = pylibcugraph.betweenness_centrality(HANDLE, graph, None, None, normalised, False, False)
    expected = networkx.betweenness_centrality(GRAPH, normalized=normalised)
    near(by_vertex(*found[:2]), expected, 1e-6 * max(1, max(expected.values())))


def test_eigenvector_centrality():
    largest = GRAPH.subgraph(max(networkx.connected_components(GRAPH), key=len))
    found = pylibcugraph.eigenvector_centrality(HANDLE, placed(largest, transposed=True), 1e-7, 500, False)
    near(by_vertex(*found), networkx.eigenvector_centrality_numpy(largest, weight="weight"), 1e-4)


def test_katz_centrality(transposed):
    found = pylibcugraph.katz_centrality(HANDLE, transposed, None, 0.002, 1.0, 1e-8, 500, False)
    expected = networkx.katz_centrality(GRAPH, 0.002, 1.0, tol=1e-10, normalized=False, weight="weight")
    scale = numpy.linalg.norm(list(expected.values())) / numpy.linalg.norm(found[1].get())
    near({vertex: value * scale for vertex, value in by_vertex(*found).items()}, expected, 1e-4)


def test_hits():
    found = pylibcugraph.hits(HANDLE, placed(DIRECTED, transposed=True), 1e-6, 500, None, None, True, False)
    hubs, authorities = networkx.hits(DIRECTED)
    near(by_vertex(*found[:2]), hubs, 1e-4)
    near(by_vertex(found[0], found[2]), authorities, 1e-4)


@pytest.mark.parametrize("name, expected", [("jaccard", networkx.jaccard_coefficient), ("sorensen", None), ("overlap", None)])
def test_similar_vertices(graph, name, expected):
    first, second = RANDOM.integers(0, 400, (2, 50)).astype("int32")
    coefficients = getattr(pylibcugraph, f"{name}_coefficients")
    found = coefficients(HANDLE, graph, cupy.asarray(first), cupy.asarray(second), False, False)
    near_to = {vertex: set(GRAPH[vertex]) for vertex in GRAPH}
    for one, other, value in zip(*(part.get() for part in found)):
        ours, theirs = near_to[int(one)], near_to[int(other)]
        both = len(ours & theirs)
        of = {"jaccard": len(ours | theirs), "sorensen": (len(ours) + len(theirs)) / 2, "overlap": min(len(ours), len(theirs))}[name]
        assert abs(value - both / of) < 1e-6


def test_ego_graph(graph):
    sources, targets, *_ = pylibcugraph.ego_graph(HANDLE, graph, cupy.array([7], dtype="int32"), 1, False)
    edges = networkx.ego_graph(GRAPH, 7, 1).edges
    expected = {(one, other) for one, other in edges} | {(other, one) for one, other in edges}
    assert set(zip(sources.get().tolist(), targets.get().tolist())) == expected


def test_louvain(graph):
    vertices, clusters, modularity = pylibcugraph.louvain(HANDLE, graph, 100, 1e-7, 1.0, False)
    expected = networkx.community.modularity(GRAPH, groups(vertices, clusters))
    assert abs(modularity - expected) < 1e-4 and modularity > 0.2


def test_random_walks(graph):
    starts = cupy.array([0, 1, 2, 3], dtype="int32")
    paths = pylibcugraph.uniform_random_walks(HANDLE, graph, starts, 6)[0].get().reshape(4, 7)
    assert paths[:, 0].tolist() == [0, 1, 2, 3]
    assert all(GRAPH.has_edge(int(one), int(other)) for path in paths for one, other in zip(path, path[1:]))


@pytest.mark.parametrize("name", ["pagerank", "core_number", "degree_centrality", "clustering"])
def test_backend_of_networkx(name):
    ours = getattr(networkx, name)(GRAPH, backend="cugraph")
    near(dict(ours), dict(getattr(networkx, name)(GRAPH)), 1e-5)
