"""`mayhap_bloom.spark` in a session of this process; engines/spark/run.sh has a cluster.

`make engines-short` runs them, with the packages of engines/requirements.txt.
"""

import filecmp
import itertools
import logging
import os
import sys

import fsspec
import pyarrow
import pytest
from moto.server import ThreadedMotoServer
from pyspark.sql import SparkSession

from mayhap_bloom import Bloom, open as open_filter, spark as mayhap
from mayhap_bloom.spark import _build, _plan, _source, _storage

# Spark's own warnings.
pytestmark = pytest.mark.filterwarnings("ignore")

PLANS = ["whole", "segments"]
KEYS = 3_000


@pytest.fixture(scope="module")
def bucket():
    """The URL of a bucket in an object store on loopback."""
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    os.environ["AWS_ENDPOINT_URL"] = f"http://{host}:{port}"
    os.environ["AWS_ACCESS_KEY_ID"] = os.environ["AWS_SECRET_ACCESS_KEY"] = "test"
    fsspec.filesystem("s3").mkdir("bucket")
    yield "s3://bucket"
    server.stop()


@pytest.fixture(scope="module")
def spark(tmp_path_factory, bucket):
    # After `bucket`, so that the tasks find the store, too.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.log.level": "FATAL",
        "spark.sql.shuffle.partitions": "3",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def rows(spark):
    """Keys of each type, some of them twice and some null, in five partitions."""
    values = [(f"key-{i}", f"é{i}".encode(), i - 100) for i in range(KEYS)]
    values += values[:500] + [(None, None, None)] * 7
    return spark.createDataFrame(values, "text string, octets binary, number long").repartition(5)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A filter of half of the texts."""
    path = tmp_path_factory.mktemp("filter") / "texts.mayhap"
    texts = Bloom(KEYS, 0.01, layout="blocked")
    texts.update(f"key-{i}" for i in range(0, KEYS, 2))
    texts.save(path)
    return str(path)


def lines(column):
    """The keys as lines for the command."""
    if column == "text":
        return [f"key-{i}".encode() for i in range(KEYS)]
    if column == "octets":
        return [f"é{i}".encode() for i in range(KEYS)]
    return [(i - 100).to_bytes(8, "little", signed=True).hex().encode() for i in range(KEYS)]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("column", ["text", "octets", "number"])
def test_the_file_is_that_of_the_command(spark, rows, command, tmp_path, column, plan):
    hexadecimal = ["--hex"] if column == "number" else []
    words = ["build", "-o", tmp_path / "command", "-n", KEYS, "-p", 0.01, "--layout", "blocked"]
    stdin = b"\n".join(lines(column)) + b"\n"
    command(*words, "--reproducible", *hexadecimal, "-", stdin=stdin)
    # The header records that keys were written in hex.
    open_filter(tmp_path / "command").save(tmp_path / "command", key_options="")
    mayhap.build(rows, column, KEYS, 0.01, tmp_path / "spark", plan=plan)
    assert filecmp.cmp(tmp_path / "spark", tmp_path / "command", shallow=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["command", "spark"]


@pytest.mark.parametrize("plan", PLANS)
def test_no_rows_are_an_empty_filter(spark, tmp_path, plan):
    rows = spark.createDataFrame([], "text string")
    mayhap.build(rows, "text", KEYS, 0.01, str(tmp_path / "empty"), plan=plan)
    assert open_filter(tmp_path / "empty").count == 0
    assert open_filter(tmp_path / "empty").expected_items == KEYS


def test_a_filter_that_does_not_reach_the_driver_is_an_error(rows, tmp_path, monkeypatch):
    # Like Spark's answer where the driver's JVM has too little memory to send it.
    collect, answers = type(rows).collect, [[]]
    monkeypatch.setattr(type(rows), "collect", lambda df: answers.pop() if answers else collect(df))
    with pytest.raises(RuntimeError, match="did not reach the driver: raise spark.driver.memory"):
        mayhap.build(rows, "text", KEYS, 0.01, tmp_path / "lost", plan="whole")
    assert not answers and not any(tmp_path.iterdir())


def test_partial_filters_and_digests_are_united(rows, tmp_path, monkeypatch):
    files = {}
    # As if no digests fit, and as if all did.
    for num_bytes in (8, 1 << 20):
        monkeypatch.setattr(_build, "filter_bytes", lambda n, p, size=num_bytes: size)
        path = tmp_path / str(num_bytes)
        mayhap.build(rows, "text", KEYS, 0.01, str(path), plan="whole")
        files[num_bytes] = path.read_bytes()
    assert files[8] == files[1 << 20]


@pytest.mark.parametrize("plan", PLANS)
def test_parquet_files_are_read_by_the_tasks(spark, rows, tmp_path, monkeypatch, plan):
    folder = tmp_path / "rows"
    rows.coalesce(2).write.option("parquet.block.size", "4096").parquet(str(folder))
    (folder / "_hidden").write_text("no Parquet file")
    # Each row group for itself.
    monkeypatch.setattr(_source, "TASK_BYTES", 4096)
    files = mayhap.ParquetFiles(spark, folder)
    assert len(files.shares) > 2 and mayhap.ParquetFiles(spark, f"file://{folder}").shares
    mayhap.build(files, "number", KEYS, 0.01, tmp_path / "files", plan=plan)
    mayhap.build(rows, "number", KEYS, 0.01, tmp_path / "frame", plan=plan)
    assert filecmp.cmp(tmp_path / "files", tmp_path / "frame", shallow=False)
    url = mayhap.ParquetFiles(spark, f"file://{folder}")
    mayhap.build(url, "number", KEYS, 0.01, tmp_path / "url", plan=plan)
    assert filecmp.cmp(tmp_path / "url", tmp_path / "frame", shallow=False)
    with pytest.raises(FileNotFoundError, match="no Parquet files"):
        mayhap.ParquetFiles(spark, tmp_path / "nowhere")


def test_segments_may_be_as_many_as_pages(rows, tmp_path):
    for count in (1, 2):
        path = str(tmp_path / str(count))
        mayhap.build(rows, "text", KEYS * 2, 0.01, path, plan="segments", segments=count)
    assert filecmp.cmp(tmp_path / "1", tmp_path / "2", shallow=False)


def test_a_seed_is_kept(rows, tmp_path):
    for plan in PLANS:
        path = str(tmp_path / plan)
        mayhap.build(rows, "text", KEYS, 0.01, path, plan=plan, seed=7)
        assert open_filter(path).seed == 7
        assert all(open_filter(path).contains_many([f"key-{i}" for i in range(KEYS)]))
    assert filecmp.cmp(tmp_path / "whole", tmp_path / "segments", shallow=False)


@pytest.mark.parametrize("scheme", ["file", "s3"])
def test_an_object_store_has_the_file(spark, rows, tmp_path, bucket, scheme):
    store = bucket if scheme == "s3" else f"file://{tmp_path}/store"
    rows.coalesce(2).write.parquet(str(tmp_path / "rows"))
    fs, folder = fsspec.core.url_to_fs(store)
    fs.makedirs(f"{folder}/rows")
    for path in (tmp_path / "rows").iterdir():
        fs.put_file(str(path), f"{folder}/rows/{path.name}")
    mayhap.build(rows, "text", KEYS, 0.01, tmp_path / "local")
    for plan, source in itertools.product(PLANS, [rows, mayhap.ParquetFiles(spark, f"{store}/rows")]):
        url = f"{store}/{plan}.mayhap"
        mayhap.build(source, "text", KEYS, 0.01, url, plan=plan)
        assert fs.cat_file(f"{folder}/{plan}.mayhap") == (tmp_path / "local").read_bytes()
        assert mayhap.semi_join(rows, "text", url).count() == KEYS + 500
    names = sorted(path.rpartition("/")[2] for path in fs.ls(folder, detail=False))
    assert names == ["rows", "segments.mayhap", "whole.mayhap"]
    with pytest.raises(ValueError, match="shared folders only"):
        mayhap.contains(rows, "text", url, plan="segments")


def test_an_object_that_is_replaced_is_fetched_again(rows, bucket):
    url = f"{bucket}/changing.mayhap"
    for keys in ([], ["key-1", "key-2"]):
        filter = Bloom(KEYS, 1e-9)
        filter.update(keys)
        with fsspec.open(url, "wb") as file:
            file.write(bytes(filter))
        assert {r.text for r in mayhap.semi_join(rows, "text", url).collect()} == set(keys)


@pytest.mark.parametrize("plan", PLANS)
def test_answers_are_those_of_the_filter(rows, file, plan):
    answers = mayhap.contains(rows, "text", file, plan=plan, name="found").collect()
    filter = open_filter(file)
    assert len(answers) == KEYS + 507
    for row in answers:
        assert row.found == (None if row.text is None else row.text in filter), row
    assert {row.number for row in answers} == {*range(-100, KEYS - 100), None}


@pytest.mark.parametrize("plan", PLANS)
def test_joins_keep_what_a_join_keeps(rows, file, plan):
    present = {f"key-{i}" for i in range(0, KEYS, 2)}
    kept = [row.text for row in mayhap.anti_join(rows, "text", file, plan=plan).collect()]
    other = [row.text for row in mayhap.semi_join(rows, "text", file, plan=plan).collect()]
    assert kept.count(None) == 7 and None not in other
    assert not present & set(kept) and present <= set(other)
    assert len(kept) + len(other) == KEYS + 507
    # A filter of half of its keys has a far lower rate than 1 %.
    assert len(set(kept)) > 1 + KEYS // 2 - KEYS // 200


def test_a_file_that_changes_is_read_again(rows, tmp_path):
    path = str(tmp_path / "changing")
    Bloom(KEYS, 0.01).save(path)
    assert mayhap.semi_join(rows, "text", path).count() == 0
    full = Bloom(KEYS, 0.01)
    full.update(["key-1", "key-2"])
    full.save(path)
    assert mayhap.semi_join(rows, "text", path).where("text in ('key-1', 'key-2')").count() >= 2


def test_dedup_keeps_one_row_of_a_key(rows):
    kept = mayhap.dedup(rows, "text", KEYS, 1e-6).collect()
    # At this rate a key is lost in one run of 300, and this one is fixed.
    assert len(kept) == KEYS + 1
    assert {row.text for row in kept} == {None, *(f"key-{i}" for i in range(KEYS))}
    assert all(row.number is None or row.text == f"key-{row.number + 100}" for row in kept)


def test_dedup_loses_no_more_in_many_tasks(rows):
    kept = mayhap.dedup(rows, "text", KEYS, 0.01, tasks=16).count()
    # If a task's keys were alike in the bits that its filter uses, half would be lost.
    assert KEYS + 1 - KEYS // 100 < kept <= KEYS + 1


def test_dedup_grows_beyond_what_was_expected(rows):
    kept = mayhap.dedup(rows, "octets", 100, 0.01).count()
    assert KEYS + 1 - KEYS // 50 < kept <= KEYS + 1


def test_dedup_is_computed_before_rows_are_left_out(spark):
    # Were the second condition moved before the filter, a row of each key would always be left.
    values = [("a", i) for i in range(100)] + [("b", i) for i in range(100)]
    rows = spark.createDataFrame(values, "text string, number long")
    kept = mayhap.dedup(rows, "text", 10, 0.01)
    first = {row.text: row.number for row in kept.collect()}
    others = "not (" + " or ".join(f"text = '{t}' and number = {n}" for t, n in first.items()) + ")"
    assert len(first) == 2 and kept.where(others).count() == 0
    both = kept.selectExpr("text", "number as one", "number as two").where("one = two")
    assert both.count() == 2


def test_columns_may_have_any_name(spark, tmp_path):
    rows = spark.createDataFrame([("a", 1), ("b", 2), ("a", 3)], "text string, number long")
    rows = rows.toDF("the.url", "a`b")
    path = tmp_path / "dots"
    for column, plan in (("the.url", "whole"), ("a`b", "segments")):
        mayhap.build(rows, column, KEYS, 0.01, path, plan=plan)
        for query in PLANS:
            assert mayhap.contains(rows, column, path, plan=query).where("contains").count() == 3
    assert mayhap.dedup(rows, "the.url", 10, 0.01).count() == 2


def test_the_plan_is_said_and_forced(rows, file, tmp_path, caplog):
    caplog.set_level(logging.INFO, "mayhap_bloom.spark")
    mayhap.contains(rows, "text", file)
    assert "contains: plan whole" in caplog.text
    with pytest.raises(ValueError, match="plan is 'both'"):
        mayhap.build(rows, "text", KEYS, 0.01, str(tmp_path / "x"), plan="both")
    assert _plan.choose("build", 64 << 20, _plan.WHOLE_BYTES, None) == "whole"
    assert _plan.choose("build", (64 << 20) + 1, _plan.WHOLE_BYTES, None) == "segments"


def test_what_is_no_key_is_refused_before_anything_runs(spark, rows, file):
    with pytest.raises(ValueError, match="no column 'url'; there are text"):
        mayhap.contains(rows, "url", file)
    floats = spark.createDataFrame([(1.5,)], "x double")
    with pytest.raises(TypeError, match="'x' is of double"):
        mayhap.dedup(floats, "x", 10, 0.01)
    with pytest.raises(ValueError, match="no filter has 0 keys"):
        mayhap.dedup(rows, "text", 0, 0.01)


def test_segments_of_other_layouts_are_refused(rows, tmp_path):
    path = str(tmp_path / "standard")
    Bloom(KEYS, 0.01, layout="standard").save(path)
    with pytest.raises(ValueError, match="only blocked filters"):
        mayhap.contains(rows, "text", path, plan="segments")


def test_a_segment_that_comes_in_two_pieces_is_an_error(tmp_path):
    def batch(number):
        columns = [pyarrow.array([number], pyarrow.int32()), pyarrow.array([b""])]
        return pyarrow.RecordBatch.from_arrays(columns, ["segment", "digests"])

    shape = _build.Shape(KEYS * 2, 0.01, 0, 0)
    with (
        _storage.Target(tmp_path / "x").folder() as folder,
        pytest.raises(RuntimeError, match="segment 0 came in two pieces"),
    ):
        list(_build._fill(map(batch, [0, 1, 0]), shape, 2, folder))
