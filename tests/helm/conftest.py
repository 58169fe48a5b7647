"""The real helm for tests of the chart, with files of its own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.helm.chart import Helm
from tests.servers import helm as helm_server
from tests.servers.fixtures import unavailable
from tests.servers.pins import Missing


@pytest.fixture
def helm(tmp_path: Path) -> Helm:
    try:
        helm_server.program()
    except Missing as missing:
        unavailable(str(missing))
    return partial(helm_server.run, home=tmp_path)
