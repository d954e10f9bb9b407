"""Operations of cuDF on tables, against pandas."""
import io
import operator

import cudf
import numpy
import pandas
import pytest

GENERATOR = numpy.random.default_rng(7)
COUNT = 20_000
TABLE = pandas.DataFrame(
    {
        "key": GENERATOR.integers(0, 100, COUNT),
        "real": GENERATOR.standard_normal(COUNT),
        "small": GENERATOR.integers(-5, 5, COUNT).astype("int32"),
        "part": GENERATOR.random(COUNT, dtype=numpy.float32),
    }
)
HOLES = TABLE.assign(real=TABLE["real"].where(TABLE["small"] != 0))
WORDS = pandas.Series(["hello", "World", None, "ünïcode", "", "a b c", "12,5", "x-1"] * 50, name="words")


def same(device, host, **options):
    """What the device has is what pandas has."""
    if isinstance(device, (cudf.DataFrame, cudf.Series, cudf.Index)):
        device = device.to_pandas()
    if isinstance(host, pandas.DataFrame):
        pandas.testing.assert_frame_equal(device, host, check_dtype=False, **options)
    elif isinstance(host, pandas.Series):
        pandas.testing.assert_series_equal(device, host, check_dtype=False, **options)
    else:
        numpy.testing.assert_allclose(device, host, rtol=1e-12)


def check(function, table=TABLE, **options):
    """The function gives the same of a table on the device and of one on the host."""
    placed = cudf.DataFrame(table) if isinstance(table, pandas.DataFrame) else cudf.Series(table)
    same(function(placed), function(table), **options)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "gt", "eq", "ne"])
def test_binary_operations(name):
    check(lambda t: getattr(operator, name)(t["real"] * t["real"] + 1, t["small"] * t["small"] + 1))


@pytest.mark.parametrize("kind", ["int8", "uint16", "int64", "float32", "float64", "bool"])
def test_types(kind):
    check(lambda t: t["small"].astype(kind))


@pytest.mark.parametrize("name", ["sum", "min", "max", "mean", "std", "var", "median", "skew", "nunique"])
def test_reductions(name):
    check(lambda t: getattr(t["real"], name)())


def test_filters():
    check(lambda t: t[(t["real"] > 0.5) & (t["small"] < 3)])


def test_sorts():
    check(lambda t: t.sort_values(["small", "real"], ascending=[False, True]))


def test_groups():
    check(lambda t: t.groupby("key").agg({"real": "mean", "small": "sum", "part": "max"}).sort_index(), rtol=1e-9)


def test_many_groups():
    check(lambda t: t.assign(id=t["key"] * 200 + t["small"]).groupby("id")["real"].sum().sort_index(), rtol=1e-9)


def test_groups_of_holes():
    check(lambda t: t.groupby("key")["real"].count().sort_index(), HOLES)


def test_joins():
    few = TABLE[["key", "part"]].head(200)
    host = TABLE.merge(few, on="key")
    device = cudf.DataFrame(TABLE).merge(cudf.DataFrame(few), on="key")
    order = list(host.columns)
    same(device.sort_values(order).reset_index(drop=True), host.sort_values(order).reset_index(drop=True))


def test_left_join_leaves_holes():
    few = pandas.DataFrame({"key": range(0, 100, 3), "more": range(34)})
    host = TABLE.merge(few, on="key", how="left")
    device = cudf.DataFrame(TABLE).merge(cudf.DataFrame(few), on="key", how="left")
    order = list(host.columns)
    same(device.sort_values(order).reset_index(drop=True), host.sort_values(order).reset_index(drop=True))


def test_duplicates():
    check(lambda t: t[["key", "small"]].drop_duplicates().sort_values(["key", "small"]).reset_index(drop=True))


def test_counts():
    check(lambda t: t["key"].value_counts().sort_index())


def test_concatenation():
    placed = cudf.DataFrame(TABLE)
    same(cudf.concat([placed, placed.head(7)]), pandas.concat([TABLE, TABLE.head(7)]))


def test_holes():
    check(lambda t: t["real"].fillna(0.0).cumsum(), HOLES)


def test_dropping_holes():
    check(lambda t: t.dropna(), HOLES)


@pytest.mark.parametrize("name", ["cumsum", "cummax", "diff", "shift"])
def test_scans(name):
    check(lambda t: getattr(t["real"], name)())


def test_rolling():
    check(lambda t: t["real"].rolling(5).mean().dropna(), rtol=1e-9)


def test_quantiles():
    check(lambda t: t["real"].quantile([0.1, 0.5, 0.99]), rtol=1e-12)


def test_categories():
    check(lambda t: t["small"].astype("category").cat.codes)


def test_pivot():
    check(lambda t: t.pivot_table(index="key", columns="small", values="real", aggfunc="sum"), rtol=1e-9)


def test_times():
    days = pandas.Series(pandas.date_range("2024-02-27", periods=500, freq="7h"))
    check(lambda s: s.dt.dayofyear * 100 + s.dt.hour, days)
    check(lambda s: s + pandas.Timedelta(days=3), days)


@pytest.mark.parametrize("name", ["upper", "len", "isdigit", "strip", "title"])
def test_strings(name):
    check(lambda s: getattr(s.str, name)().dropna(), WORDS)


def test_patterns():
    check(lambda s: s.str.contains(r"[a-c]|\d+", regex=True).dropna(), WORDS)
    check(lambda s: s.str.replace("[aeiou]", "_", regex=True).dropna(), WORDS)
    check(lambda s: s.str.split(" ", expand=True)[0].dropna(), WORDS)


def test_text_is_sorted():
    check(lambda s: s.dropna().sort_values().reset_index(drop=True), WORDS)


def test_csv():
    text = TABLE.head(2000).to_csv(index=False)
    same(cudf.read_csv(io.StringIO(text)), pandas.read_csv(io.StringIO(text)))


@pytest.mark.parametrize("host", ["ON", "OFF"])
@pytest.mark.parametrize("compression", [None, "snappy", "gzip", "zstd", "lz4"])
def test_parquet(compression, host, tmp_path, monkeypatch):
    # nvCOMP's PTX for Zstandard is of another device than its host's code takes it for.
    for way in ("COMPRESSION",) if compression == "zstd" else ("COMPRESSION", "DECOMPRESSION"):
        monkeypatch.setenv(f"LIBCUDF_HOST_{way}", host)
    HOLES.to_parquet(tmp_path / "host", compression=compression)
    same(cudf.read_parquet(tmp_path / "host"), HOLES)
    cudf.DataFrame(HOLES).to_parquet(tmp_path / "device", compression=compression)
    same(pandas.read_parquet(tmp_path / "device").astype(HOLES.dtypes), HOLES)


def test_json_lines():
    text = TABLE.head(300).to_json(orient="records", lines=True)
    same(cudf.read_json(io.StringIO(text), lines=True), pandas.read_json(io.StringIO(text), lines=True))


def test_function_of_a_program():
    placed = cudf.DataFrame(TABLE)
    same(placed["small"].apply(lambda x: x * x + 1), TABLE["small"].apply(lambda x: x * x + 1))
    rows = placed.apply(lambda row: row["real"] if row["small"] > 0 else row["part"] * 2.0, axis=1)
    same(rows, TABLE["real"].where(TABLE["small"] > 0, TABLE["part"] * 2.0), check_names=False)


def test_interface_of_arrays():
    import cupy

    column = cudf.Series(TABLE["real"])
    same(float(cupy.asarray(column.values).max()), TABLE["real"].max())
