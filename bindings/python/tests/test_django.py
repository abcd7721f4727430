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
