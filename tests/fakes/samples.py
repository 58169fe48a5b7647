"""A request and a plan's schema, for the tests of the fake Messages API."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

Json = dict[str, Any]
MODEL = "claude-sonnet-5-5"
ASK: Json = {"model": MODEL, "max_tokens": 1000, "messages": [{"role": "user", "content": "What is wrong?"}]}


class Choice(BaseModel):
    option: Literal["restart", "undo"]
    replicas: int = Field(ge=0, le=10)


class Plan(BaseModel):
    diagnosis: str = Field(max_length=200, pattern="^[A-Z]")
    choices: list[Choice] = Field(min_length=1, max_length=3)
    note: str | None = None


PLAN: Json = {"diagnosis": "Bad image", "choices": [{"option": "undo", "replicas": 2}], "note": None}


def with_schema(schema: Json) -> Json:
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
