"""Queries of Polars on its GPU engine, against its own."""
import datetime

import numpy
import polars
import pytest
from polars import col
from polars.testing import assert_frame_equal

GENERATOR = numpy.random.default_rng(7)
COUNT = 20_000
TABLE = polars.DataFrame(
    {
        "key": GENERATOR.integers(0, 50, COUNT),
        "real": GENERATOR.standard_normal(COUNT),
        "small": GENERATOR.integers(-5, 5, COUNT).astype("int32"),
        "word": [f"w{number % 13}" for number in range(COUNT)],
        "day": [datetime.date(2024, 1, 1) + datetime.timedelta(days=number % 700) for number in range(COUNT)],
    }
).lazy()
ENGINE = polars.GPUEngine(raise_on_fail=True)

QUERIES = {
    "columns": TABLE.select((col("real") * 2 + col("key")).alias("sum"), (col("small") // 3).alias("third")),
    "conditions": TABLE.select(polars.when(col("small") > 0).then(col("real")).otherwise(0.0).alias("part")),
    "filter": TABLE.filter((col("real") > 0) & (col("word") == "w3")),
    "reductions": TABLE.select(col("real").sum().alias("sum"), col("real").std().alias("std"), col("key").n_unique()),
    "groups": TABLE.group_by("key").agg(col("real").mean(), col("small").max(), polars.len()).sort("key"),
    "groups by text": TABLE.group_by("word").agg(col("real").sum()).sort("word"),
    "join": TABLE.join(TABLE.select("key", col("real").alias("other")).head(100), on="key").select(polars.len()),
    "semi join": TABLE.join(polars.LazyFrame({"key": [1, 4, 7]}), on="key", how="semi"),
    "sort": TABLE.sort(["word", "real"], descending=[True, False]),
    "window": TABLE.select(col("real").sum().over("key")),
    "running sum": TABLE.select(col("real").cum_sum()),
    "text": TABLE.select(col("word").str.to_uppercase(), col("word").str.contains("1").alias("has")),
    "dates": TABLE.select(col("day").dt.month(), col("day").dt.year().alias("year")),
    "types": TABLE.select(col("small").cast(polars.Float32), col("key").cast(polars.Int8).alias("byte")),
    "unique": TABLE.select("key", "small").unique().sort("key", "small"),
    "rows side by side": polars.concat([TABLE.head(10), TABLE.filter(col("small") == 1)]),
}


@pytest.mark.parametrize("name", QUERIES)
def test_query(name):
    assert_frame_equal(QUERIES[name].collect(engine=ENGINE), QUERIES[name].collect(), rel_tol=1e-9)


@pytest.mark.parametrize("compression", ["zstd", "snappy", "lz4", "gzip", "uncompressed"])
def test_parquet(compression, tmp_path):
    TABLE.collect().write_parquet(tmp_path / "table", compression=compression)
    query = polars.scan_parquet(tmp_path / "table").filter(col("key") < 10).group_by("key").agg(col("real").sum())
    assert_frame_equal(query.sort("key").collect(engine=ENGINE), query.sort("key").collect(), rel_tol=1e-9)
