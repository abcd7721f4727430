"""Opens the filter NAME of the command, counts the members that it finds and adds the lines of
`more`: opened.py NAME; writes NAME.found and NAME.theirs."""
import hashlib
import pickle
import shutil
import sys

name = sys.argv[1]
members = open("members").read().splitlines()
more = open("more").read().splitlines()
theirs = name + ".theirs"


def recipe(key):
    """The hash of rbloom's README."""
    digest = hashlib.sha256(pickle.dumps(key, protocol=4)).digest()
    return int.from_bytes(digest[:16], "big") - 2**127


if name == "rbloom":
    import rbloom

    opened = rbloom.Bloom.load(name, recipe)
elif name == "pybloomfiltermmap":
    import pybloomfilter

    # It writes to the file that it has opened.
    shutil.copyfile(name, theirs)
    opened = pybloomfilter.BloomFilter.open(theirs, mode="rw")
else:
    import pybloom_live

    with open(name, "rb") as file:
        opened = pybloom_live.BloomFilter.fromfile(file)

found = sum(key in opened for key in members)
for key in more:
    opened.add(key)

if name == "rbloom":
    opened.save(theirs)
elif name == "pybloomfiltermmap":
    opened.sync()
    opened.close()
else:
    with open(theirs, "wb") as file:
        opened.tofile(file)
with open(name + ".found", "w") as file:
    file.write(f"{found}\n")
