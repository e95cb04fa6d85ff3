"""The real app, started as `make run` starts it, on a free port and a data folder of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from urllib.error import URLError
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent.parent
START_WITHIN = 60


class AppProcess:
    """A context manager; `output()` is what the app has printed so far."""

    def __init__(self, data_dir: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.data_dir = data_dir
        self.log = data_dir.parent / f"{data_dir.name}-app-{self.port}.log"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def url(self, page: str = "", **query: str) -> str:
        return f"{self.address}/{page}{'?' + urlencode(query) if query else ''}"

    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def __enter__(self) -> AppProcess:
        command = [
            str(Path(sys.executable).parent / "streamlit"),
            *("run", "app.py", "--server.address", "127.0.0.1", "--server.port", str(self.port)),
        ]
        environment = {**os.environ, "CORRIGENDA_DATA_DIR": str(self.data_dir)}
        environment.pop("FALKORDB_URL", None)  # these tests start from an empty folder
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        until = time.monotonic() + START_WITHIN
        while time.monotonic() < until:
            if self.process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"{self.address}/_stcore/health", timeout=1) as answer:
                    if answer.status == 200:
                        return self
            except (URLError, TimeoutError, ConnectionError):
                time.sleep(0.1)
        self.stop()
        raise RuntimeError(f"The app did not start:\n{self.output()}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop it as a terminal would."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout=10)
