"""Kubeconfig files: writing one for a token, and reading an existing one into an API client.

Never runs the helper programs that a kubeconfig may name: tests need a token or a client certificate in it.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import yaml

from tests.servers.api import Api


def write_kubeconfig(path: Path, url: str, ca_file: Path, token: str) -> Path:
    """JSON, which is YAML; returns the path."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": url, "certificate-authority": str(ca_file)}}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    }
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    path.chmod(0o600)
    return path


def read_kubeconfig(path: Path, work: Path) -> tuple[Api, Path]:
    """The API client of the current context and its CA file; embedded data goes to files in `work`."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    context = _named(document["contexts"], document["current-context"])["context"]
    cluster = _named(document["clusters"], context["cluster"])["cluster"]
    user = _named(document["users"], context["user"])["user"]
    ca_file = _file(cluster, "certificate-authority", path, work)
    certificate, key = _file(user, "client-certificate", path, work), _file(user, "client-key", path, work)
    pair = (certificate, key) if certificate and key else None
    if ca_file is None or not (user.get("token") or pair):
        raise ValueError(f"{path}: tests need a certificate authority and a token or a client certificate in it")
    return Api(cluster["server"], ca_file, user.get("token"), pair), ca_file


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def _file(entry: dict[str, Any], key: str, config: Path, work: Path) -> Path | None:
    if data := entry.get(f"{key}-data"):
        path = work / f"existing-{key}.pem"
        path.write_bytes(base64.b64decode(data))
        path.chmod(0o600)
        return path
    return config.parent / entry[key] if entry.get(key) else None
