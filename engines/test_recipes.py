"""The recipes for Ray and Dask: their files equal the command's."""

import filecmp
import importlib.util
import os
import subprocess
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from mayhap_bloom import open as open_filter

pytestmark = pytest.mark.filterwarnings("ignore")

KEYS = 20_000


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Keys in three files, some twice and some null."""
    folder = tmp_path_factory.mktemp("rows")
    keys = [f"key-{i}" for i in range(KEYS)] + ["key-1", None]
    for part in range(3):
        column = pyarrow.array(keys[part::3], pyarrow.string())
        pyarrow.parquet.write_table(pyarrow.table({"key": column}), folder / f"{part}.parquet")
    return [str(path) for path in sorted(folder.iterdir())]


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The file that the command builds."""
    path = tmp_path_factory.mktemp("command") / "command.mayhap"
    words = [os.environ["MAYHAP"], "build", "-o", path, "-n", KEYS, "-p", 0.01, "--reproducible"]
    words += ["--layout", "blocked", "-"]
    lines = "".join(f"key-{i}\n" for i in range(KEYS)).encode()
    subprocess.run([*map(str, words)], input=lines, check=True, capture_output=True)
    return path


def recipe(name):
    """The module `build` of a folder beside this file."""
    path = Path(__file__).parent / name / "build.py"
    spec = importlib.util.spec_from_file_location(f"recipe_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_dask(files, expected, tmp_path):
    pytest.importorskip("dask")
    out = tmp_path / "dask.mayhap"
    recipe("dask").build(str(out), KEYS, 0.01, "key", files, count=5)
    assert filecmp.cmp(out, expected, shallow=False)
    assert [path.name for path in tmp_path.iterdir()] == ["dask.mayhap"]


def test_dask_leaves_what_is_absent(files, expected):
    frame = pytest.importorskip("dask.dataframe").from_pandas(
        pytest.importorskip("pandas").DataFrame({"key": ["key-1", "other", "key-2"]}), npartitions=2
    )
    kept = recipe("dask").absent(frame, "key", str(expected)).compute()
    assert kept["key"].tolist() == ["other"] and "other" not in open_filter(expected)


def test_ray(files, expected, tmp_path):
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        out = tmp_path / "ray.mayhap"
        module = recipe("ray")
        assert module.build(str(out), KEYS, 0.01, "key", files, count=3) == KEYS + 2
    finally:
        ray.shutdown()
    assert filecmp.cmp(out, expected, shallow=False)
