"""CatBoost, whose wheel has NVIDIA's runtime of CUDA 11.8 in it and PTX of its kernels: boosted trees from the device as good as from its code for the processor."""
import numpy
import pytest
from catboost import CatBoost, CatBoostClassifier, CatBoostRegressor, Pool, utils

ROWS = 3000
SETTINGS = dict(iterations=30, depth=4, learning_rate=0.2, random_seed=1, boosting_type="Plain", verbose=0, allow_writing_files=False)


def numbers(seed=1):
    """Features, some of them without meaning, and what is to be learnt."""
    random = numpy.random.default_rng(seed)
    features = random.normal(size=(ROWS, 8))
    target = 2 * features[:, 0] + numpy.sin(3 * features[:, 1]) + features[:, 2] * features[:, 3] + 0.1 * random.normal(size=ROWS)
    return features, target


def on(device, maker, **settings):
    extra = {"devices": "0"} if device == "GPU" else {"thread_count": 2}
    chosen = {"task_type": device, **SETTINGS, **extra, **settings}
    return maker(chosen) if maker is CatBoost else maker(**chosen)


def error(model, features, target):
    return numpy.mean((model.predict(features) - target) ** 2)


def test_the_device():
    assert utils.get_gpu_device_count() == 1


@pytest.mark.parametrize("loss", ["RMSE", "MAE", "Quantile:alpha=0.7", "Huber:delta=1.0", "Lq:q=2.5"])
def test_regression(loss):
    features, target = numbers()
    unseen, expected = numbers(2)
    errors = [error(on(device, CatBoostRegressor, loss_function=loss).fit(features, target), unseen, expected) for device in ["CPU", "GPU"]]
    assert errors[1] < 1.2 * errors[0] and errors[1] < 0.2 * expected.var()


def test_predictions_of_the_same_trees_are_the_same():
    features, target = numbers()
    model = on("GPU", CatBoostRegressor).fit(features, target)
    assert numpy.abs(model.predict(features, task_type="GPU") - model.predict(features, task_type="CPU")).max() < 1e-5


def test_training_again_gives_as_good_a_model():
    # Threads add to sums in no order, and of two splits that are as good either may be taken.
    features, target = numbers()
    models = [on(device, CatBoostRegressor, bootstrap_type="No").fit(features, target) for device in ["CPU", "GPU", "GPU"]]
    errors = [error(model, features, target) for model in models]
    assert max(errors[1:]) < 1.15 * errors[0]


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
def test_shapes_of_trees(policy):
    features, target = numbers()
    errors = [error(on(device, CatBoostRegressor, grow_policy=policy).fit(features, target), features, target) for device in ["CPU", "GPU"]]
    assert errors[1] < 1.15 * errors[0]


@pytest.mark.parametrize("kind", ["No", "Bernoulli", "Bayesian", "Poisson", "MVS"])
def test_samples_of_rows(kind):
    features, target = numbers()
    settings = {"subsample": 0.7} if kind in ("Bernoulli", "Poisson", "MVS") else {}
    if kind == "MVS":
        settings["sampling_unit"] = "Object"
    model = on("GPU", CatBoostRegressor, bootstrap_type=kind, **settings).fit(features, target)
    assert error(model, features, target) < 0.15 * target.var()


def test_two_classes():
    features, target = numbers()
    labels = target > 0
    unseen, expected = numbers(2)
    rates = [(on(device, CatBoostClassifier).fit(features, labels).predict(unseen).astype(str) == (expected > 0).astype(str)).mean() for device in ["CPU", "GPU"]]
    assert rates[1] > 0.9 and rates[1] > rates[0] - 0.02


@pytest.mark.parametrize("loss", ["MultiClass", "MultiClassOneVsAll"])
def test_several_classes(loss):
    features, target = numbers()
    labels = numpy.digitize(target, [-2, 0, 2])
    rates = [(on(device, CatBoostClassifier, loss_function=loss).fit(features, labels).predict(features).ravel() == labels).mean() for device in ["CPU", "GPU"]]
    assert rates[1] > rates[0] - 0.03


def test_categories_and_text():
    features, target = numbers()
    random = numpy.random.default_rng(3)
    colours = random.choice(["red", "green", "blue", "grey"], ROWS)
    towns = random.integers(0, 200, ROWS).astype(str)
    target = target + 3 * (colours == "red") + 0.02 * towns.astype(int)
    columns = [list(row) + [colour, town] for row, colour, town in zip(features, colours, towns)]
    pool = Pool(columns, target, cat_features=[8, 9])
    errors = [error(on(device, CatBoostRegressor, iterations=60).fit(pool), pool, target) for device in ["CPU", "GPU"]]
    assert errors[1] < 1.25 * errors[0] and errors[1] < 0.2 * target.var()


def test_what_is_missing_and_what_weighs_more():
    features, target = numbers()
    features[::7, 0] = numpy.nan
    weights = numpy.linspace(0.1, 2, ROWS)
    pool = Pool(features, target, weight=weights)
    errors = [numpy.average((on(device, CatBoostRegressor).fit(pool).predict(features) - target) ** 2, weights=weights) for device in ["CPU", "GPU"]]
    assert errors[1] < 1.1 * errors[0]


def test_early_stopping():
    features, target = numbers()
    unseen, expected = numbers(2)
    model = on("GPU", CatBoostRegressor, iterations=500, learning_rate=0.5, early_stopping_rounds=10)
    model.fit(features, target, eval_set=(unseen, expected))
    assert model.tree_count_ < 500 and model.get_best_iteration() < model.tree_count_ + 1


@pytest.mark.parametrize("loss", ["QueryRMSE", "PairLogit", "YetiRank"])
def test_ranking(loss):
    features, target = numbers()
    groups = numpy.arange(ROWS) // 10
    pool = Pool(features, numpy.digitize(target, [-2, 0, 2]), group_id=groups)
    model = on("GPU", CatBoost, loss_function=loss).fit(pool)
    order = numpy.corrcoef(model.predict(pool), target)[0, 1]
    assert order > 0.8


def test_which_features_matter():
    features, target = numbers()
    found = on("GPU", CatBoostRegressor).fit(features, target).get_feature_importance()
    assert found.argmax() == 0 and found[4:].max() < found[:4].min()


@pytest.mark.parametrize("borders", [15, 32, 254])
def test_numbers_of_borders(borders):
    features, target = numbers()
    model = on("GPU", CatBoostRegressor, border_count=borders).fit(features, target)
    assert error(model, features, target) < 0.15 * target.var()


def test_one_model_goes_on_from_another():
    features, target = numbers()
    first = on("GPU", CatBoostRegressor, iterations=10).fit(features, target)
    second = on("CPU", CatBoostRegressor, iterations=20).fit(features, target, init_model=first)
    assert second.tree_count_ == 30 and error(second, features, target) < error(first, features, target)
