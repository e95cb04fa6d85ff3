"""The README's code runs and prints what the README says; its table is what the command prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from engine.__main__ import main

from .conftest import SHARED

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_readme_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    printed = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    assert len(examples) == len(printed) == 2
    monkeypatch.chdir(tmp_path)
    for code, expected in zip(examples, printed, strict=True):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "README.md", "exec"), {})
        assert out.getvalue() == expected


def test_the_table_of_rules_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(SHARED / f"propagation_{name}.jsonl") for name in ("proofwriter", "entailmentbank")]
    if not Path(files[0]).exists():
        pytest.skip("EXTERNAL CASES MISSING: the propagation files are not beside the project; nothing was checked")
    main(["rules", *files])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert rows
    for row in rows:
        assert row in README


def test_every_picture_and_file_that_the_readme_names_is_there() -> None:
    root = Path(__file__).resolve().parent.parent
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", README):
        assert (root / picture).exists(), picture
    for name in re.findall(r"`((?:engine|pages|tests)/[\w/]+\.py)`", README):
        assert (root / name).exists(), name
