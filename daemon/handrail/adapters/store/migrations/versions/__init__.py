"""One file per step, in order. Expand first, contract a release later (docs/adr/0006-schema-changes.md)."""
