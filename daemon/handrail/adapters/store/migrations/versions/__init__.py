"""One file per step, in order. Expand first, contract a release later (docs/adr/0009-schema-changes.md)."""
