"""From the configuration to how a server is used: the password is read where it lies, at each new connection."""

from __future__ import annotations

from pathlib import Path

from handrail.adapters.settings.secrets import Secret
from handrail.adapters.store.home import Access
from handrail.model.config import SecretRef, StoreConfig


def access_of(store: StoreConfig) -> Access:
    """As the daemon's own role."""
    password = Secret(store.password, "store.password") if store.password else None
    return Access(password=password, lease_seconds=store.lease_seconds)


def access_as(store: StoreConfig, user: str, password_file: Path | None) -> Access:
    """As another role, with its own password: the one that migrates. Without either, as the daemon's own."""
    own = access_of(store)
    if password_file is not None:
        return Access(password=Secret(SecretRef(file=str(password_file)), "--password-file"), user=user)
    return Access(password=None if user else own.password, user=user)
