"""A certificate for local servers, and the authority that signed it. Both are new in each process.

The private keys are not kept: that of the authority exists in memory until the certificate is signed, and that of the
certificate is in a temporary file while `ssl` reads it. So the authority cannot sign another certificate, and a client
that trusts it trusts this server only.
"""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

#: The names by which clients on this machine address a server.
_LOCAL = ("localhost", "127.0.0.1", "::1")
_VALID = timedelta(days=30)
#: Clocks of clients may be slow.
_EARLIER = timedelta(hours=1)


class Certificate:
    """A certificate for the names of this machine and ``hosts``. ``authority``: the CA certificate, as PEM."""

    def __init__(self, hosts: Iterable[str] = ()) -> None:
        authority_key, self._key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        authority = _authority(authority_key)
        self._signed = _signed(authority, authority_key, self._key, dict.fromkeys((*_LOCAL, *hosts)))
        self.authority = authority.public_bytes(serialization.Encoding.PEM)

    def context(self, *protocols: str) -> ssl.SSLContext:
        """Return the TLS settings of a server. ``protocols``: what it offers (ALPN)."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.set_alpn_protocols(list(protocols))
        key = self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        with tempfile.TemporaryDirectory() as folder:  # only its owner can read it
            chain = Path(folder) / "chain.pem"
            chain.write_bytes(key + self._signed.public_bytes(serialization.Encoding.PEM) + self.authority)
            context.load_cert_chain(chain)
        return context


def _authority(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "toolparity serve, a temporary authority")])
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        _builder(name, name, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _signed(
    authority: x509.Certificate,
    authority_key: ec.EllipticCurvePrivateKey,
    key: ec.EllipticCurvePrivateKey,
    hosts: Iterable[str],
) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "toolparity serve")])
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    return (
        _builder(name, authority.subject, key)
        .add_extension(x509.SubjectAlternativeName([_name(host) for host in hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(identifier, critical=False)
        .sign(authority_key, hashes.SHA256())
    )


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return x509.CertificateBuilder(
        issuer, subject, key.public_key(), x509.random_serial_number(), now - _EARLIER, now + _VALID
    )


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
