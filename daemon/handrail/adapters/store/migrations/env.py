"""What Alembic runs: on the connection, and in the transaction, that it was given. Never opens one of its own."""

from __future__ import annotations

from alembic import context

connection = context.config.attributes["connection"]
# SQLite can roll schema changes back as well; Alembic believes that it can't.
context.configure(connection=connection, transactional_ddl=True, transaction_per_migration=False)
context.run_migrations()
