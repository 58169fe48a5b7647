"""The shop and the stores of the reconciler's tests, for those who try to break what happens in them."""

from __future__ import annotations

from tests.reconciler.conftest import shop, template, url

__all__ = ["shop", "template", "url"]
