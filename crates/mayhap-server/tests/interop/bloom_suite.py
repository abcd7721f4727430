"""redis-py's own Bloom tests against `mayhap serve`, as a plugin of pytest.

What the server does not have is listed here by the name of the test: single requests, which have to
be refused and of which the test then gets the answer it expects, and whole tests, which have to
fail. An entry that is served after all fails its test, so the lists stay true. With the variable
STORE, the ports of a store's nodes, the server is one in front of that store.
"""
import functools
import os
import re

import pytest
import redis
import redis.asyncio

STORE = [int(port) for port in os.environ.get("STORE", "").split()]

# A server: neither sketch of counts nor of ranks nor of the most frequent ones.
SKETCHES = r"(CMS|TOPK)\."
UNKNOWN = "unknown command '{}'"
# A front: what the layout of the store cannot hold.
NOT_SERVED = "'{}' is not served for filters in a store"
NEVER_CREATED = "not found; filters in a store do not grow"

# Requests of a test: a pattern of their words, what the refusal begins with, and the answer.
CALLS = {
    "test_create": [(SKETCHES, UNKNOWN, True)],
    "test_bf_reserve": [(SKETCHES, UNKNOWN, True)],
}
# Tests, and what the refusal that ends them begins with.
TESTS = dict.fromkeys(
    ["test_cms", "test_cms_merge", "test_topk", "test_topk_list_with_special_words",
     "test_topk_incrby", "test_tdigest_create", "test_tdigest_reset", "test_tdigest_merge",
     "test_tdigest_min_and_max", "test_tdigest_quantile", "test_tdigest_cdf",
     "test_tdigest_trimmed_mean", "test_tdigest_rank", "test_tdigest_revrank",
     "test_tdigest_byrank", "test_tdigest_byrevrank"], "unknown command ")

if STORE:
    EXPANSION = "EXPANSION is not for filters in a store"
    for name in ("test_create", "test_bf_reserve"):
        CALLS[name] += [
            (r"BF\.RESERVE bloom_e .*EXPANSION 1$", EXPANSION, True),
            (r"CF\.RESERVE ", NOT_SERVED, True),
        ]
    # Without CAPACITY there is no size to create it with.
    CALLS["test_bf_insert"] = [(r"BF\.INSERT errtest ERROR ", NEVER_CREATED, [1])]
    CALLS["test_bf_info"] = [
        (r"BF\.RESERVE expanding .*EXPANSION 4$", EXPANSION, True),
        (r"BF\.INFO expanding$", NEVER_CREATED, {"expansionRate": 4, "Expansion rate": 4}),
    ]
    CALLS["test_bf_card"] = [
        # A filter that was lost is not one without keys.
        (r"BF\.CARD not_exist$", NEVER_CREATED, 0),
        (r"BF\.ADD bf1 ", NEVER_CREATED, 1),
        (r"BF\.CARD bf1$", NEVER_CREATED, 1),
    ]
    TESTS |= {
        "test_bf_scandump_and_loadchunk": NOT_SERVED.format("bf.scandump"),
        "test_cf_add_and_insert": NOT_SERVED.format("cf.reserve"),
        "test_cf_exists_and_del": NOT_SERVED.format("cf.reserve"),
    }

# The calls of the test that runs which it has not made yet, and all of them.
remaining, listed = set(), []
passed, seen = 0, set()


def expected(words):
    """The entry of the list for this request."""
    line = " ".join(map(str, words))
    return next((call for call in listed if re.match(call[0], line)), None)


def is_refusal(error, begin):
    # Without the code, which redis-py takes off.
    return str(error).lower().startswith(begin.lower())


def refused(call, words, error):
    """The answer to a request that was refused."""
    pattern, begin, answer = call
    if not is_refusal(error, begin.format(words[0])):
        raise AssertionError(f"{words}: {error}") from error
    remaining.discard(pattern)
    return answer


def flush():
    for port in STORE:
        with redis.Redis(port=port, protocol=2) as node:
            sync_command(node, "FLUSHALL")


sync_command = redis.Redis.execute_command
async_command = redis.asyncio.Redis.execute_command


@functools.wraps(sync_command)
def on_sync(self, *words, **options):
    if STORE and words[0] == "FLUSHDB":
        return flush()
    call = expected(words)
    if call is None:
        return sync_command(self, *words, **options)
    try:
        answer = sync_command(self, *words, **options)
    except redis.ResponseError as error:
        return refused(call, words, error)
    raise AssertionError(f"{words} is on the list, and the answer is {answer}")


@functools.wraps(async_command)
async def on_async(self, *words, **options):
    if STORE and words[0] == "FLUSHDB":
        return flush()
    call = expected(words)
    if call is None:
        return await async_command(self, *words, **options)
    try:
        answer = await async_command(self, *words, **options)
    except redis.ResponseError as error:
        return refused(call, words, error)
    raise AssertionError(f"{words} is on the list, and the answer is {answer}")


redis.Redis.execute_command = on_sync
redis.asyncio.Redis.execute_command = on_async


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    global passed
    calls, fails = CALLS.get(item.originalname, []), TESTS.get(item.originalname)
    seen.add(item.originalname)
    listed[:] = calls
    remaining.update(pattern for pattern, *_ in calls)
    try:
        yield
    except redis.ResponseError as error:
        if fails is None or not is_refusal(error, fails):
            raise
        pytest.xfail(fails)
    else:
        if fails is not None:
            raise AssertionError(f"{item.originalname} is on the list, and passes")
        if remaining:
            raise AssertionError(f"on the list, and not called: {remaining}")
        passed += 1
    finally:
        listed.clear()
        remaining.clear()


def pytest_sessionfinish(session, exitstatus):
    rest = {*CALLS, *TESTS} - seen
    if rest or not passed:
        session.exitstatus = 1
        print(f"on the list, and no test that ran: {rest}; {passed} passed")
