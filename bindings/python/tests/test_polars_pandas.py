"""The namespace of Polars and the accessor of pandas."""

import pandas
import polars

import mayhap_bloom.pandas
import mayhap_bloom.polars
from mayhap_bloom import Bloom


def seen():
    b = Bloom(1000, 1e-9)
    b.update(["a", "b", 1])
    return b


def test_expressions_of_polars_answer_for_each_key():
    frame = polars.DataFrame({"url": ["a", "z", None, "b"]})
    found = polars.col("url").mayhap.contains(seen())
    assert frame.select(found).to_series().to_list() == [True, False, None, True]
    assert frame.filter(~found)["url"].to_list() == ["z"]
    for engine in ("in-memory", "streaming"):
        lazy = frame.lazy().filter(found).collect(engine=engine)
        assert lazy["url"].to_list() == ["a", "b"]
    assert frame.lazy().select(found).collect_schema()["url"] == polars.Boolean
    large = polars.DataFrame({"id": range(200_000)})
    b = Bloom(200_000, 1e-9)
    b.update(range(0, 200_000, 2))
    found = large.filter(polars.col("id").mayhap.contains(b))
    assert found["id"].to_list() == list(range(0, 200_000, 2))


def test_series_of_polars_are_keys():
    b = seen()
    series = polars.Series("url", ["a", None, "new"])
    assert series.mayhap.contains(b).to_list() == [True, None, False]
    assert series.mayhap.add_to(b).to_list() == [False, None, True]
    assert "new" in b


def test_series_of_pandas_are_keys():
    b = seen()
    series = pandas.Series(["a", "z"], index=[7, 9], name="url")
    found = series.mayhap.contains(b)
    assert found.to_dict() == {7: True, 9: False} and found.name == "url"
    assert series[~found].tolist() == ["z"]
    assert series.mayhap.add_to(b).tolist() == [False, True] and "z" in b
    assert pandas.Series([1, 5]).mayhap.contains(b).tolist() == [True, False]
    categories = pandas.Series(["a", "q", "a"], dtype="category")
    assert categories.mayhap.contains(b).tolist() == [True, False, True]
