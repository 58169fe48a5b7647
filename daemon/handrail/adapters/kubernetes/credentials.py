"""How the daemon reaches the API server: the pod's own account, or a kubeconfig. Holds no secret longer than needed.

The service account's token is read again for each request, since the kubelet replaces the file; a kubeconfig is
read again when the API server no longer accepts what it gave. Never chooses between the two by itself.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException, load_kube_config
from kubernetes.aio.config.incluster_config import (
    SERVICE_CERT_FILENAME,
    SERVICE_TOKEN_FILENAME,
    InClusterConfigLoader,
)

from handrail.model.config import KubernetesConfig
from handrail.model.errors import BadConfig

Refresh = Callable[[], Awaitable[None]]

_UNREADABLE = (ConfigException, yaml.YAMLError, OSError, KeyError, TypeError, ValueError, AttributeError)
"""What the client's loaders raise for a broken file: it checks little, so a missing part surfaces as any of these."""


@dataclass(frozen=True, slots=True)
class Mounted:
    """Where a pod finds its own account: the paths that Kubernetes mounts and the variables that it sets."""

    token_file: str = SERVICE_TOKEN_FILENAME
    ca_file: str = SERVICE_CERT_FILENAME
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


@dataclass(frozen=True, slots=True)
class Access:
    """The client's configuration, and what to call when the API server answers 401. `refresh` raises OSError."""

    configuration: Configuration
    refresh: Refresh


async def access(config: KubernetesConfig, mounted: Mounted | None = None) -> Access:
    """Raises BadConfig where the account or the kubeconfig can't be read."""
    if config.mode == "in-cluster":
        return await _in_cluster(mounted or Mounted())
    return await _kubeconfig(config)


async def _in_cluster(mounted: Mounted) -> Access:
    configuration = Configuration()
    loader = InClusterConfigLoader(  # type: ignore[no-untyped-call]
        mounted.token_file, mounted.ca_file, False, mounted.environ
    )
    try:
        loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
    except _UNREADABLE as error:
        raise BadConfig(
            f"kubernetes.mode: not in a pod with a service account ({error}); use kubeconfig elsewhere"
        ) from error
    token = _token(Path(mounted.token_file))
    configuration.api_key = {"BearerToken": f"Bearer {token}"}

    def read_again(fresh: Configuration) -> None:
        try:
            fresh.api_key["BearerToken"] = f"Bearer {_token(Path(mounted.token_file))}"
        except (OSError, BadConfig):
            return  # the kubelet is just replacing it: the token we have is still good

    async def refresh() -> None:
        read_again(configuration)

    configuration.refresh_api_key_hook = read_again  # type: ignore[assignment]
    await _must_authenticate(configuration)
    return Access(configuration, refresh)


def _token(path: Path) -> str:
    token = path.read_text(encoding="utf-8").strip()
    if not token or any(not (33 <= ord(sign) < 127) for sign in token):
        raise BadConfig("kubernetes.mode: the service account's token file is empty or no token")
    return token


async def _must_authenticate(configuration: Configuration) -> None:
    """Release 36.0.0 of the client put the token where it never looked and sent every request without it."""
    if "BearerToken" not in await configuration.auth_settings():
        raise BadConfig("kubernetes: this release of the Kubernetes client would send no token; use 37 or newer")


async def _kubeconfig(config: KubernetesConfig) -> Access:
    if config.kubeconfig and not Path(config.kubeconfig).is_file():
        raise BadConfig(f"kubernetes.kubeconfig: there is no file {config.kubeconfig}; name one that can be read")
    configuration = await _loaded(config)

    async def refresh() -> None:
        try:
            configuration.api_key = (await _loaded(config)).api_key
        except BadConfig as error:
            raise OSError(str(error)) from error

    return Access(configuration, refresh)


async def _loaded(config: KubernetesConfig) -> Configuration:
    configuration = Configuration()
    try:
        await load_kube_config(  # type: ignore[no-untyped-call]
            config_file=config.kubeconfig or None,
            context=config.context or None,
            client_configuration=configuration,
            persist_config=False,
        )
    except _UNREADABLE as error:
        where = config.kubeconfig or "the default kubeconfig"
        raise BadConfig(f"kubernetes.kubeconfig: {where} can't be used: {error!s:.300}") from error
    if not configuration.host.startswith(("https://", "http://")):
        raise BadConfig("kubernetes.kubeconfig: the cluster's server needs https:// in front")
    return configuration
