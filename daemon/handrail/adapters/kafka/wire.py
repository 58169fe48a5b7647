"""How to reach the brokers, and as whom: addresses, TLS, SASL and the member's name as aiokafka wants them."""

from __future__ import annotations

import os
import re
import ssl
from typing import Any

from handrail.adapters.settings.secrets import Secret
from handrail.model.config import MEMBER_NAME, KafkaConfig, KafkaSecurity
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


def member_name(config: KafkaConfig) -> str:
    """ "" where membership is not to be stable. Raises BadConfig where the environment names no fit name."""
    variable = config.group_instance_env
    if not variable:
        return config.group_instance_id
    name = os.environ.get(variable, "")
    if not name or not re.fullmatch(MEMBER_NAME, name):
        raise BadConfig(f"kafka.group_instance_env: {variable} holds {name[:60]!r}, which is no member's name")
    return name


def _tls(security: KafkaSecurity) -> ssl.SSLContext:
    """Names are always checked; there is no switch to turn that off."""
    try:
        context = ssl.create_default_context(cafile=security.ca_file or None)
        if security.cert_file:
            context.load_cert_chain(security.cert_file, security.key_file or None)
    except OSError as unreadable:
        raise BadConfig(f"kafka.security: a certificate or key can't be read: {unreadable}") from unreadable
    return context
