"""The password validator in the real Django, behind a form on loopback."""

import hashlib
import http.client
import threading
import urllib.parse
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
import pytest
from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ImproperlyConfigured, ValidationError

from mayhap_bloom import Bloom
from mayhap_bloom.django import PasswordFilterValidator

LEAKED = ["123456", "password", "пароль"]

settings.configure(
    ROOT_URLCONF="test_django",
    ALLOWED_HOSTS=["127.0.0.1"],
    SECRET_KEY="of a test",
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
)
django.setup()


def view(request):
    """A form for a new password."""
    from django import forms
    from django.http import HttpResponse

    class Form(forms.Form):
        password = forms.CharField(validators=[validate_password])

    form = Form(request.POST)
    valid = form.is_valid()
    errors = "" if valid else form.errors["password"][0]
    return HttpResponse(errors or "accepted", status=200 if valid else 422)


def urls():
    from django.urls import path

    return [path("", view)]


urlpatterns = urls()


@pytest.fixture(params=[None, "sha1"])
def leaked(request, tmp_path):
    """A filter file of the passwords, as they are or hashed."""
    b = Bloom(1000, 1e-9)
    for password in LEAKED:
        key = password.encode()
        b.add(key if request.param is None else hashlib.new(request.param, key).digest())
    path = tmp_path / "leaked.mayhap"
    b.save(path)
    return {"path": str(path), "hash": request.param}


def test_a_form_refuses_leaked_passwords(leaked):
    from django.contrib.auth import password_validation
    from django.core.handlers.wsgi import WSGIHandler

    class Quiet(WSGIRequestHandler):
        def log_message(self, *arguments):
            pass

    settings.AUTH_PASSWORD_VALIDATORS = [
        {"NAME": "mayhap_bloom.django.PasswordFilterValidator", "OPTIONS": leaked}
    ]
    password_validation.get_default_password_validators.cache_clear()
    server = make_server("127.0.0.1", 0, WSGIHandler(), handler_class=Quiet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        answers = {word: post(server.server_port, word) for word in [*LEAKED, "a good one"]}
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert answers.pop("a good one") == (200, "accepted")
    refused = (422, "This password is in a list of leaked passwords.")
    assert answers == dict.fromkeys(LEAKED, refused)


def post(port, password):
    """Sends the form."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/", urllib.parse.urlencode({"password": password}), headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_the_validator_is_checked_when_django_starts(leaked, tmp_path):
    validator = PasswordFilterValidator(**leaked)
    validator.validate("a good one")
    with pytest.raises(ValidationError) as caught:
        validator.validate("password")
    assert caught.value.code == "password_leaked" and "leaked" in validator.get_help_text()
    with pytest.raises(ImproperlyConfigured, match="cannot be opened"):
        PasswordFilterValidator(tmp_path / "nowhere")
    with pytest.raises(ImproperlyConfigured, match="no hash function"):
        PasswordFilterValidator(leaked["path"], hash="sha0")


def build(command, tmp_path, lines, *options):
    path = tmp_path / "list.mayhap"
    command("build", "-q", "--force", "-n", 1000, "-p", "1e-6", "-o", path, *options, "-",
            stdin=lines.encode())  # fmt: skip
    return str(path)


def digits(hash, passwords=("password", "other")):
    return "".join(f"{hashlib.new(hash, p.encode()).hexdigest().upper()}:1\n" for p in passwords)


WORDS = "password\nother\n"
FIELD = ("--delim", ":", "--field", "1")

#: Lists that hold "password", how the file is built, and options that would let it pass.
MISTAKES = {
    "hashes without a hash": (digits("sha1"), (*FIELD, "--hex"), None),
    "digits for hashes": (digits("sha1"), FIELD, "sha1"),
    "digits for passwords": (digits("sha1"), FIELD, None),
    "other hash": (digits("sha1"), (*FIELD, "--hex"), "sha256"),
    "md5": (digits("md5"), (*FIELD, "--hex"), "sha1"),
    "words for hashes": (WORDS, (), "sha1"),
    "lower words for hashes": (WORDS, ("--lower",), "sha1"),
    "hashed words, other hash": (WORDS, ("--sha1",), "md5"),
    "domains": ("http://password/\n", ("--domain",), None),
    "prefixes": ("http://password/\n", ("--url-prefixes",), None),
    "urls": ("http://password/\n", ("--normalize-url",), None),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_23_a_validator_that_would_let_leaked_passwords_pass_is_refused(name, command, tmp_path):
    lines, options, hash = MISTAKES[name]
    path = build(command, tmp_path, lines, *options)
    with pytest.raises(ImproperlyConfigured, match="would let leaked passwords pass"):
        PasswordFilterValidator(path, hash=hash)


#: Files that fit, and passwords that are in the list in plain form.
FITTING = {
    "hex": (digits("sha1"), (*FIELD, "--hex"), "sha1", "password"),
    "md5": (digits("md5"), (*FIELD, "--hex"), "md5", "password"),
    "words": (WORDS, (), None, "password"),
    "lower": ("Password\n", ("--lower",), None, "PASSWORD"),
    "fold": ("Straße\n", ("--fold",), None, "STRASSE"),
    "trim": (" secret \n", ("--trim",), None, "secret"),
    "sha1": (WORDS, ("--sha1",), None, "password"),
    "sha1 named": (WORDS, ("--sha1",), "sha1", "password"),
    "lower sha1": ("Password\n", ("--lower", "--sha1"), "sha1", "PassWord"),
    "field": ("7:password\n", ("--delim", ":", "--field", "2"), None, "password"),
    "rare": ("correct horse\n", (), None, "correct horse"),
    "rare hashes": (digits("sha1", ["correct horse"]), (*FIELD, "--hex"), "sha1", "correct horse"),
}


@pytest.mark.parametrize("name", FITTING)
def test_23_what_the_file_says_of_its_keys_is_done_to_passwords(name, command, tmp_path):
    lines, options, hash, password = FITTING[name]
    validator = PasswordFilterValidator(build(command, tmp_path, lines, *options), hash=hash)
    with pytest.raises(ValidationError):
        validator.validate(password)
    validator.validate("surely a good one")
    validator.validate("a\ud800b")


def test_23_a_password_with_the_delimiter_is_one_value(command, tmp_path):
    path = build(command, tmp_path, "7,a:b\n", "--delim", ",", "--field", "2", "--lower")
    with pytest.raises(ValidationError):
        PasswordFilterValidator(path).validate("A:B")
    with pytest.raises(ValidationError):
        path = build(command, tmp_path, "a:1\n", *FIELD, "--lower")
        PasswordFilterValidator(path).validate("A")
    # Not cut as a line is: this one is not in the list.
    PasswordFilterValidator(path).validate("A:b")


def test_23_a_filter_that_finds_much_by_chance_is_no_mistake(tmp_path):
    b = Bloom(1000, 0.2)
    b.update(f"rare-{i}" for i in range(900))
    b.save(tmp_path / "f")
    PasswordFilterValidator(tmp_path / "f")
