"""How to reach the brokers: addresses, TLS and SASL as aiokafka wants them."""

from __future__ import annotations

import ssl
from typing import Any

from handrail.adapters.settings.secrets import Secret
from handrail.model.config import KafkaConfig, KafkaSecurity
from handrail.model.errors import BadConfig


def options(config: KafkaConfig) -> dict[str, Any]:
    """Keyword arguments of any aiokafka client. Secrets are read now, so a reconnect uses what is valid by then.

    Raises BadConfig where a certificate or a secret can't be read.
    """
    security = config.security
    found: dict[str, Any] = {
        "bootstrap_servers": list(config.bootstrap),
        "security_protocol": security.protocol,
        "client_id": "handrail",
    }
    if security.protocol in ("SSL", "SASL_SSL"):
        found["ssl_context"] = _tls(security)
    if security.sasl is not None:
        found["sasl_mechanism"] = security.sasl.mechanism
        found["sasl_plain_username"] = Secret(security.sasl.username, "kafka.security.sasl.username")()
        found["sasl_plain_password"] = Secret(security.sasl.password, "kafka.security.sasl.password")()
    return found


def _tls(security: KafkaSecurity) -> ssl.SSLContext:
    """Names are always checked; there is no switch to turn that off."""
    try:
        context = ssl.create_default_context(cafile=security.ca_file or None)
        if security.cert_file:
            context.load_cert_chain(security.cert_file, security.key_file or None)
    except OSError as unreadable:
        raise BadConfig(f"kafka.security: a certificate or key can't be read: {unreadable}") from unreadable
    return context
