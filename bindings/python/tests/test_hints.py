"""Errors of the library name the next step in the words of Python."""

import pytest
from mayhap_bloom import Bloom, FormatError, ServerError, open


def test_the_next_step_is_in_the_words_of_python(tmp_path):
    keyed, plain = tmp_path / "keyed.mayhap", tmp_path / "plain.mayhap"
    Bloom(100, 0.01, secret_key=bytes(16)).save(keyed)
    Bloom(100, 0.01).save(plain)
    (tmp_path / "text").write_text("one\ntwo\n")
    (tmp_path / "bits").write_bytes(bytes([1, 2, 3, 4] * 8))
    for path, arguments, hint in [
        (keyed, {"secret_key": bytes([1] * 16)}, "secret_key=..."),
        (plain, {"secret_key": bytes(16)}, "omit secret_key"),
        (tmp_path / "text", {}, 'format="guava"'),
        (tmp_path / "bits", {"format": "redisson"}, "num_bits=M, num_hashes=K"),
        (tmp_path / "text", {"format": "guava"}, "format=..."),
    ]:
        with pytest.raises(FormatError) as caught:
            open(path, **arguments)
        assert hint in str(caught.value)
        assert "--" not in str(caught.value), "no option of the command"


def test_a_server_that_is_not_there_gets_a_hint_too():
    with pytest.raises(ServerError, match="is it running there") as caught:
        open("redis://127.0.0.1:1/0/seen", timeout=0.2)
    assert "--" not in str(caught.value)
    with pytest.raises(ValueError, match="append the name of the filter"):
        open("redis://127.0.0.1:6379/0")
