"""What cuML, nvForest and cuVS compute without products of cuBLAS's, against scikit-learn."""
import cudf
import cuml
import cuml.explainer
import cuml.metrics
import cupy
import numpy
import nvforest
import pytest
import sklearn.cluster
import sklearn.ensemble
import sklearn.feature_extraction.text
import sklearn.metrics
import sklearn.naive_bayes
import sklearn.neighbors
import sklearn.preprocessing
from cuml.feature_extraction.text import CountVectorizer
from cuml.neighbors import KernelDensity, KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from cuvs.neighbors import brute_force, cagra, nn_descent
from sklearn.datasets import make_blobs, make_classification, make_moons, make_regression
from sklearn.manifold import trustworthiness

BLOBS, KINDS = make_blobs(n_samples=600, centers=4, n_features=8, random_state=0)
BLOBS = BLOBS.astype("float32")
ROWS, CLASSES = make_classification(800, 16, n_informative=8, random_state=0)
ROWS, CLASSES = ROWS.astype("float32"), CLASSES.astype("int32")
INPUTS, OUTPUTS = make_regression(800, 8, random_state=0)
INPUTS, OUTPUTS = INPUTS.astype("float32"), OUTPUTS.astype("float32")


def near(found, expected, tolerance=1e-4):
    numpy.testing.assert_allclose(numpy.asarray(cupy.asnumpy(found)), expected, rtol=tolerance, atol=tolerance)


def test_dbscan():
    moons, _ = make_moons(500, noise=0.05, random_state=0)
    moons = moons.astype("float32")
    found = cuml.DBSCAN(eps=0.2, min_samples=5).fit_predict(moons)
    assert sklearn.metrics.adjusted_rand_score(sklearn.cluster.DBSCAN(eps=0.2, min_samples=5).fit_predict(moons), found) == 1


def test_random_forest_of_classes():
    model = cuml.ensemble.RandomForestClassifier(n_estimators=10, max_depth=8, random_state=0).fit(ROWS[:600], CLASSES[:600])
    assert (numpy.asarray(model.predict(ROWS[:600])) == CLASSES[:600]).mean() > 0.97
    assert (numpy.asarray(model.predict(ROWS[600:])) == CLASSES[600:]).mean() > 0.8


def test_random_forest_of_numbers():
    model = cuml.ensemble.RandomForestRegressor(n_estimators=10, max_depth=8, random_state=0).fit(INPUTS[:600], OUTPUTS[:600])
    assert model.score(INPUTS[:600], OUTPUTS[:600]) > 0.9
    assert model.score(INPUTS[600:], OUTPUTS[600:]) > 0.6


def test_forest_of_others():
    """A forest that scikit-learn has grown."""
    grown = sklearn.ensemble.RandomForestClassifier(20, max_depth=6, random_state=0).fit(ROWS, CLASSES)
    model = nvforest.load_from_sklearn(grown, device="gpu", precision="double")
    near(model.predict_proba(cupy.asarray(ROWS, dtype="float64")), grown.predict_proba(ROWS), 1e-6)


def test_explained_trees():
    grown = sklearn.ensemble.RandomForestRegressor(5, max_depth=4, random_state=0).fit(INPUTS, OUTPUTS)
    explainer = cuml.explainer.TreeExplainer(model=grown)
    parts = numpy.asarray(explainer.shap_values(INPUTS[:20]))
    near(parts.sum(1) + numpy.asarray(explainer.expected_value), grown.predict(INPUTS[:20]), 1e-3)


def test_neighbours():
    distances, places = NearestNeighbors(n_neighbors=5).fit(BLOBS).kneighbors(BLOBS[:50] + numpy.float32(0.1))
    expected = sklearn.neighbors.NearestNeighbors(n_neighbors=5).fit(BLOBS).kneighbors(BLOBS[:50] + numpy.float32(0.1))
    assert (numpy.asarray(places) == expected[1]).all()
    near(distances, expected[0], 1e-3)


def test_classes_of_neighbours():
    expected = sklearn.neighbors.KNeighborsClassifier(5).fit(ROWS, CLASSES).predict(ROWS)
    assert (numpy.asarray(KNeighborsClassifier(n_neighbors=5).fit(ROWS, CLASSES).predict(ROWS)) == expected).all()


def test_numbers_of_neighbours():
    expected = sklearn.neighbors.KNeighborsRegressor(5).fit(INPUTS, OUTPUTS).predict(INPUTS)
    near(KNeighborsRegressor(n_neighbors=5).fit(INPUTS, OUTPUTS).predict(INPUTS), expected, 1e-3)


def test_density():
    expected = sklearn.neighbors.KernelDensity(bandwidth=1.0).fit(BLOBS).score_samples(BLOBS[:20])
    near(KernelDensity(bandwidth=1.0).fit(BLOBS).score_samples(BLOBS[:20]), expected, 1e-3)


def test_naive_bayes():
    expected = sklearn.naive_bayes.GaussianNB().fit(BLOBS, KINDS).predict(BLOBS)
    assert (cupy.asnumpy(cuml.naive_bayes.GaussianNB().fit(BLOBS, KINDS).predict(BLOBS)) == expected).all()


def test_umap():
    laid_out = cuml.UMAP(random_state=0, n_epochs=100, init="random").fit_transform(BLOBS)
    assert trustworthiness(BLOBS, numpy.asarray(laid_out)) > 0.9


DISTANCES = ("l1", "chebyshev", "canberra", "euclidean", "sqeuclidean", "cosine", "minkowski")


@pytest.mark.parametrize("metric", DISTANCES)
def test_distances(metric):
    found = cuml.metrics.pairwise_distances(BLOBS[:70], BLOBS[70:200], metric=metric)
    near(found, sklearn.metrics.pairwise_distances(BLOBS[:70], BLOBS[70:200], metric=metric), 1e-3)


SCORES = ("adjusted_rand_score", "mutual_info_score", "homogeneity_score", "completeness_score", "v_measure_score")


@pytest.mark.parametrize("score", SCORES)
def test_scores_of_clusters(score):
    labels, others = KINDS.astype("int32"), (KINDS % 3).astype("int32")
    near(getattr(cuml.metrics, score)(labels, others), getattr(sklearn.metrics, score)(labels, others), 1e-6)


def test_scores_of_predictions():
    guesses = numpy.random.default_rng(0).random(len(CLASSES)).astype("float32")
    near(cuml.metrics.roc_auc_score(CLASSES, guesses), sklearn.metrics.roc_auc_score(CLASSES, guesses), 1e-6)
    near(cuml.metrics.r2_score(OUTPUTS, OUTPUTS + 1), sklearn.metrics.r2_score(OUTPUTS, OUTPUTS + 1), 1e-6)
    guessed = (guesses > 0.4).astype("int32")
    near(cuml.metrics.confusion_matrix(CLASSES, guessed), sklearn.metrics.confusion_matrix(CLASSES, guessed), 0)
    near(cuml.metrics.accuracy_score(CLASSES, guessed), sklearn.metrics.accuracy_score(CLASSES, guessed), 1e-6)


@pytest.mark.parametrize("scaler", ("StandardScaler", "MinMaxScaler", "RobustScaler"))
def test_scaling(scaler):
    found = getattr(cuml.preprocessing, scaler)().fit_transform(BLOBS)
    near(found, getattr(sklearn.preprocessing, scaler)().fit_transform(BLOBS), 1e-4)


def test_labels():
    found = cuml.preprocessing.LabelEncoder().fit_transform(cudf.Series(["b", "a", "c", "b"]))
    assert cudf.Series(found).to_pandas().tolist() == [1, 0, 2, 1]


def test_words():
    lines = ["a cat sat on a mat", "the cat and the dog", "dogs sit"]
    expected = sklearn.feature_extraction.text.CountVectorizer().fit_transform(lines)
    assert (CountVectorizer().fit_transform(cudf.Series(lines)).get().toarray() == expected.toarray()).all()


def exact(count):
    apart = sklearn.metrics.pairwise_distances(BLOBS[:40], BLOBS, metric="sqeuclidean")
    return numpy.argsort(apart, 1, kind="stable")[:, :count]


def share(found, expected):
    return numpy.mean([len(set(row) & set(other)) / len(other) for row, other in zip(cupy.asnumpy(found).tolist(), expected.tolist())])


@pytest.fixture
def points():
    """An index does not keep what it was made of."""
    return cupy.asarray(BLOBS)


def test_brute_force(points):
    index = brute_force.build(points)
    _, places = brute_force.search(index, cupy.asarray(BLOBS[:40]), 6)
    assert share(cupy.asarray(places), exact(6)) == 1


def test_graph_of_neighbours():
    graph = numpy.asarray(nn_descent.build(nn_descent.IndexParams(graph_degree=16), BLOBS).graph)
    assert share(graph[:40, :8], exact(9)[:, 1:]) > 0.9


def test_search_in_graph(points):
    options = cagra.IndexParams(graph_degree=16, intermediate_graph_degree=32, build_algo="nn_descent")
    index = cagra.build(options, points)
    _, places = cagra.search(cagra.SearchParams(itopk_size=64), index, cupy.asarray(BLOBS[:40]), 6)
    assert share(cupy.asarray(places), exact(6)) > 0.9
