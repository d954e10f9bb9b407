"""The same models on the device and on the CPU."""
import json

import numpy
import pytest
import xgboost

ROUNDS = 12


def data(objective, missing):
    random = numpy.random.default_rng(3)
    # Each value gets a bin of its own: where several share one, the device's bins are not quite the CPU's.
    x = random.normal(size=(600, 8)).round(1).astype("float32")
    y = x[:, 0] * 2 - x[:, 1] * x[:, 2] + random.normal(0, 0.3, len(x))
    x[random.random(x.shape) < missing] = numpy.nan
    if objective == "binary:logistic":
        y = y > 0
    elif objective == "multi:softprob":
        y = numpy.digitize(y, [-1, 1])
    return xgboost.DMatrix(x[:400], y[:400]), xgboost.DMatrix(x[400:], y[400:])


def trained(device, objective, missing):
    train, test = data(objective, missing)
    # Above 0, its device looks at fewer splits than its CPU: see `best_split`.
    parameters = {"device": device, "tree_method": "hist", "objective": objective, "max_depth": 4, "min_child_weight": 0}
    if objective == "multi:softprob":
        parameters["num_class"] = 3
    history = {}
    model = xgboost.train(parameters, train, ROUNDS, evals=[(train, "train")], evals_result=history, verbose_eval=False)
    [metric] = history["train"].values()
    return model, train, test, metric


@pytest.mark.parametrize("objective", ["reg:squarederror", "binary:logistic", "multi:softprob"])
@pytest.mark.parametrize("missing", [0, 0.05])
def test_training_and_prediction(objective, missing):
    device, train, test, losses = trained("cuda", objective, missing)
    host, _, _, expected = trained("cpu", objective, missing)
    assert losses[-1] < losses[0]
    numpy.testing.assert_allclose(losses, expected, rtol=1e-5)
    numpy.testing.assert_allclose(device.predict(train), host.predict(train), rtol=1e-4, atol=1e-5)
    # With values missing, several splits are as good, which rows that were not trained on tell apart.
    if not missing:
        numpy.testing.assert_allclose(device.predict(test), host.predict(test), rtol=1e-4, atol=1e-5)


def best_split(x, gradients, values, least, group):
    """The feature and the value below which rows go left, of the split with the greatest gain for squared errors.

    Of so many values in a row as are in a `group`, XGBoost's device takes the best split and then asks whether either child has the `least` rows
    (`EvaluateSplitAgent::Numerical` and `DeviceSplitCandidate::Update` in its sources): if not, the others of the group are lost. Its CPU asks for each.
    """
    total, rows = gradients.sum(), len(x)
    # Splits are to be better than none.
    found = total**2 / (rows + 1), None
    for feature, candidates in enumerate(values):
        for start in range(0, len(candidates), group):
            of_group = []
            for value in candidates[start : start + group]:
                left = x[:, feature] < value
                above, count = gradients[left].sum(), left.sum()
                gain = above**2 / (count + 1) + (total - above) ** 2 / (rows - count + 1)
                of_group.append((gain, value, count))
            gain, value, count = max(of_group, key=lambda split: split[0])
            if gain > found[0] and count >= least and rows - count >= least:
                found = gain, (feature, float(value))
    return found[1]


def expected_splits(x, gradients, values, least, group, depth):
    """The splits of a tree, each before those of its children."""
    split = best_split(x, gradients, values, least, group) if depth else None
    if split is None:
        return []
    left = x[:, split[0]] < split[1]
    children = [(x[side], gradients[side]) for side in (left, ~left)]
    return [split, *(below for child in children for below in expected_splits(*child, values, least, group, depth - 1))]


def splits(node):
    """Those of a tree that was dumped."""
    if "leaf" in node:
        return []
    own = int(node["split"].removeprefix("f")), float(numpy.float32(node["split_condition"]))
    return [own, *(below for child in node["children"] for below in splits(child))]


def test_children_of_some_weight():
    random = numpy.random.default_rng(3)
    x = random.normal(size=(400, 8)).round(1).astype("float32")
    y = x[:, 0] * 2 - x[:, 1] * x[:, 2] + random.normal(0, 0.3, len(x))
    values = [numpy.unique(column) for column in x.T]
    trees = {}
    for device, group in [("cuda", 32), ("cpu", 1)]:
        parameters = {"device": device, "tree_method": "hist", "max_depth": 4, "min_child_weight": 5, "base_score": 0.0}
        model = xgboost.train(parameters, xgboost.DMatrix(x, y), 1)
        trees[device] = splits(json.loads(model.get_dump(dump_format="json")[0]))
        assert trees[device] == expected_splits(x, -y, values, 5, group, 4)
    assert trees["cuda"] != trees["cpu"]


def test_early_stopping():
    best = {}
    for device in ["cuda", "cpu"]:
        train, test = data("reg:squarederror", 0)
        parameters = {"device": device, "tree_method": "hist", "eta": 0.9, "max_depth": 6}
        model = xgboost.train(parameters, train, 60, evals=[(test, "test")], early_stopping_rounds=3, verbose_eval=False)
        best[device] = model.best_iteration, round(model.best_score, 4)
    assert best["cuda"] == best["cpu"] and best["cuda"][0] < 59
