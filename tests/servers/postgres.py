"""PostgreSQL on loopback, with databases that a test makes for itself.

Decides: settings that make it fast (no fsync). Never keeps data after `close`, and never drops a
database that it did not create.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from tests.servers import pins
from tests.servers.process import Process, StartError, drop_work_dir, free_port, new_work_dir

# Not among them: `synchronous_commit=off`, with which a killed server forgets what it had committed. Without
# fsync only a crash of the machine loses data.
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "100",
    "shared_buffers": "32MB",
}


class Databases:
    """A server known by the URL of a superuser (`url`); `create_database` gives a fresh one."""

    url: str
    psql_program: str

    def __init__(self) -> None:
        self._created: list[str] = []

    def create_database(self) -> str:
        """A new, empty database; returns its URL (postgresql://user:password@host:port/name)."""
        name = f"handrail_{secrets.token_hex(6)}"
        self.psql(f"CREATE DATABASE {name}")
        self._created.append(name)
        return self.url_of(name)

    def drop_database(self, url: str) -> None:
        """Drop one that `create_database` made, whoever is still connected."""
        name = urlsplit(url).path.lstrip("/")
        if name not in self._created:
            raise ValueError(f"{name} was not created here")
        self.psql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        self._created.remove(name)

    def drop_created(self) -> None:
        for name in list(self._created):
            self.drop_database(self.url_of(name))

    def psql(self, sql: str, url: str | None = None) -> str:
        """Run SQL as the superuser (or as the URL says); unaligned rows without heading; raises on an error."""
        command = [self.psql_program, "--no-psqlrc", "--quiet", "-At", "-v", "ON_ERROR_STOP=1", "-c", sql]
        done = subprocess.run([*command, url or self.url], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"psql: {done.stderr.strip()}")
        return done.stdout.rstrip("\n")

    def url_of(self, database: str, user: str | None = None, password: str = "") -> str:
        """The URL of a database on this server, as the superuser or as somebody else."""
        parts = urlsplit(self.url)
        netloc = parts.netloc if user is None else f"{user}:{password}@{parts.netloc.rpartition('@')[2]}"
        return urlunsplit(parts._replace(netloc=netloc, path=f"/{database}"))


class PostgresServer(Databases):
    """Our own server."""

    def __init__(self) -> None:
        super().__init__()
        programs = pins.program("postgres").parent
        self.psql_program = str(programs / "psql")
        self.work = new_work_dir("postgres")
        self.port = free_port()
        password = secrets.token_hex(12)
        self.url = f"postgresql://postgres:{password}@127.0.0.1:{self.port}/postgres"
        # It refuses to run as root.
        self._user = "postgres" if os.geteuid() == 0 else None
        self._data = self.work / "data"
        self._init(programs, password)
        settings = {**SETTINGS, "port": str(self.port), "unix_socket_directories": str(self.work)}
        options = [option for key, value in settings.items() for option in ("-c", f"{key}={value}")]
        command = [str(programs / "postgres"), "-D", str(self._data), *options]
        # An interrupt ends it at once; the usual request to end would wait for every client to leave.
        self.process = Process("postgres", command, self.work, self._is_up, user=self._user, stop_signal=signal.SIGINT)

    def start(self) -> PostgresServer:
        self.process.start()
        return self

    def stop(self) -> None:
        self.process.stop()

    def close(self) -> None:
        self.stop()
        drop_work_dir(self.work)

    def _is_up(self) -> bool:
        try:
            return self.psql("SELECT 1") == "1"
        except RuntimeError:
            return False

    def _init(self, programs: Path, password: str) -> None:
        password_file = self.work / "password"
        password_file.write_text(password, encoding="ascii")
        if self._user:
            for path in (self.work, password_file):
                shutil.chown(path, self._user, self._user)
        command = [str(programs / "initdb"), "-D", str(self._data), "-U", "postgres", "--no-sync", "-E", "UTF8"]
        command += ["--auth=scram-sha-256", f"--pwfile={password_file}", "--locale=C.UTF-8"]
        done = subprocess.run(
            command,
            cwd=self.work,
            user=self._user,
            group=self._user,
            extra_groups=[] if self._user else None,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise StartError(f"postgres: initdb failed:\n{done.stdout}{done.stderr}")


class ExistingPostgres(Databases):
    """The server that HANDRAIL_TEST_POSTGRES names (a superuser's URL): somebody else's."""

    def __init__(self) -> None:
        super().__init__()
        self.url = os.environ["HANDRAIL_TEST_POSTGRES"]
        program = shutil.which("psql")
        if program is None:
            raise pins.Missing("psql is not installed (Debian: apt-get install postgresql-client)")
        self.psql_program = program

    def close(self) -> None:
        self.drop_created()
