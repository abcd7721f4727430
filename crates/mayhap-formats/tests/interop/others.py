"""Writes filters as others.rs does, and answers for both sides' files: others.py FOLDER

Works with any of pyarrow, rbloom, pybloomfiltermmap3 and pybloom_live that are installed.
"""
import hashlib
import importlib.metadata
import importlib.util
import os
import pickle
import sys

folder = sys.argv[1]
members = open(os.path.join(folder, "members")).read().splitlines()
keys = open(os.path.join(folder, "keys")).read().splitlines()


def has(module):
    return importlib.util.find_spec(module) is not None


def path(side, name):
    return os.path.join(folder, f"{side}.{name}")


def answer(side, name, contains):
    """The keys that are found, one a line."""
    with open(path(side, name) + ".found", "w") as out:
        out.writelines(key + "\n" for key in keys if contains(key))


if has("rbloom"):
    import rbloom

    def recipe(key):
        digest = hashlib.sha256(pickle.dumps(key, protocol=4)).digest()
        return int.from_bytes(digest[:16], "big") - 2**127

    theirs = rbloom.Bloom(10_000, 0.01, recipe)
    theirs.update(members)
    theirs.save(path("theirs", "rbloom"))
    answer("theirs", "rbloom", theirs.__contains__)
    answer("ours", "rbloom", rbloom.Bloom.load(path("ours", "rbloom"), recipe).__contains__)

if has("pybloomfilter"):
    import pybloomfilter

    seeds = [1, 2, 3, 4, 5, 6]
    theirs = pybloomfilter.BloomFilter(
        10_000, 0.01, path("theirs", "pybloomfiltermmap"), hash_seeds=seeds
    )
    theirs.update(members)
    answer("theirs", "pybloomfiltermmap", theirs.__contains__)
    theirs.close()
    ours = pybloomfilter.BloomFilter.open(path("ours", "pybloomfiltermmap"), mode="r")
    answer("ours", "pybloomfiltermmap", ours.__contains__)

if has("pybloom_live"):
    import pybloom_live

    release = importlib.metadata.version("pybloom_live").split(".")[0]
    name = f"pybloom-live{release}"
    theirs = pybloom_live.BloomFilter(10_000, 0.01)
    for key in members:
        theirs.add(key)
    with open(path("theirs", name), "wb") as out:
        theirs.tofile(out)
    answer("theirs", name, theirs.__contains__)
    with open(path("ours", name), "rb") as file:
        answer("ours", name, pybloom_live.BloomFilter.fromfile(file).__contains__)

if has("pyarrow"):
    import pyarrow
    import pyarrow.parquet

    numbers = list(range(len(members)))
    table = pyarrow.table({"text": members, "number": pyarrow.array(numbers, pyarrow.int64())})
    filters = {"text": {"ndv": 4_000, "fpp": 0.01}, "number": {"ndv": 4_000, "fpp": 0.01}}
    pyarrow.parquet.write_table(
        table, path("theirs", "parquet"), row_group_size=4_000, bloom_filter_options=filters
    )
