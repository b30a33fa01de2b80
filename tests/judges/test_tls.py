"""A server whose certificate is not good is not spoken to; one that the user vouches for is."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from loopbook.judges import Answer, Failure
from loopbook.judges.system_one import SystemOne, transport
from tests.judges.conftest import PACKET
from tests.judges.faulty import Faulty

if shutil.which("openssl") is None:
    pytest.skip("openssl makes the certificate of the server", allow_module_level=True)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that nobody has signed but itself; its key stands beside it."""
    folder = tmp_path_factory.mktemp("tls")
    made = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(["openssl", "req", *made, *name, *files], check=True, capture_output=True)
    return folder / "cert.pem"


@pytest.fixture(scope="module")
def secured(certificate: Path) -> Iterator[Faulty]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    server = Faulty(context).start()
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def _fresh_trust() -> Iterator[None]:
    """Whose certificates are good is read once in a process, and anew for each test here."""
    transport.trusted.cache_clear()
    yield
    transport.trusted.cache_clear()


def test_a_certificate_that_nobody_vouches_for_is_refused_before_anything_is_sent(
    secured: Faulty, key: str
) -> None:
    for _ in range(2):
        outcome = anyio.run(SystemOne(secured.at("fine"), key=key).ask, PACKET, 5)
        assert outcome == Failure("tls", "SSLCertVerificationError")
    assert "fine" not in secured.received


def test_one_that_the_user_vouches_for_is_taken(
    secured: Faulty, key: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert isinstance(anyio.run(SystemOne(secured.at("fine"), key=key).ask, PACKET, 5), Answer)
    assert f"Bearer {key}".encode() in secured.received["fine"][-1].raw


def test_a_good_certificate_of_another_host_is_not_good(
    secured: Faulty, key: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    elsewhere = secured.at("fine").replace("127.0.0.1", "localhost")
    outcome = anyio.run(SystemOne(elsewhere, key=key).ask, PACKET, 5)
    assert outcome == Failure("tls", "SSLCertVerificationError")


def test_a_file_of_certificates_that_is_none_is_a_failure(
    secured: Faulty, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "none.pem").write_text("no certificate")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    outcome = anyio.run(SystemOne(secured.at("fine"), key=key).ask, PACKET, 5)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "tls"
