"""Every read as of any revision or moment, and what changed between two of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pandas import DataFrame

import engine
from engine.view import WorkspaceView

Claims = Callable[..., list[str]]


def records(frame: DataFrame) -> Any:
    return json.loads(frame.to_json(orient="records", date_format="iso"))


def everything(view: WorkspaceView) -> dict[str, Any]:
    """All that can be read, as plain data."""
    found: dict[str, Any] = {"history": records(view.history())}
    for name in ("sources", "claims", "decisions", "actions", "corrected", "runs", "load_bearing"):
        found[name] = records(getattr(view, name)())
    for kind, one in (("claims", view.claim), ("decisions", view.decision), ("actions", view.action)):
        for row in found[kind]:
            found[row["id"]] = one(row["id"]).model_dump()
            found[f"why {row['id']}"] = view.explain(row["id"]).model_dump()
    found["graph"] = view.graph(include_superseded=True).model_dump()
    # The index weighs words by how common they are today, so only the order of hits may differ later.
    hits = [hit.model_dump(exclude={"score"}) for hit in view.search("date hall price")]
    found["search"] = sorted(hits, key=lambda hit: str(hit["claim"]["id"]))
    return found


def test_every_read_of_the_past_answers_as_it_did_then(ws: engine.Workspace, claims: Claims) -> None:
    then: dict[int, dict[str, Any]] = {}

    def remember() -> None:
        then[ws.revision] = everything(ws)

    date, hall = claims("The date is June.", "The hall is free.", name="Plan")
    remember()
    book = ws.decide("Book", [[date, hall]])
    go = ws.decide("Go", [date, hall])
    ws.plan("Sign", [book.id])
    remember()
    applied = ws.apply(ws.preview(date, "The date is July."), "Ana")
    remember()
    ws.ask("Is the hall free?")
    remember()
    ws.settle(book.id, engine.Rebase("Book for July", [applied.replacement.id]))  # type: ignore[union-attr]
    remember()
    source = ws.claim(hall).evidence[0].source_id
    withdrawn = ws.apply(ws.preview_withdrawal(source), "Bo")
    remember()
    ws.undo(applied.correction.id, "Cy")
    ws.undo(withdrawn.correction.id, "Cy")
    ws.replace_source(source, "The hall is free. The date is June.")
    ws.reanchor(source, [date, hall])
    ws.justify(go.id, [[date, hall]])
    remember()
    for revision, seen in then.items():
        assert everything(ws.at(revision)) == seen, revision


def test_moments_and_revisions(ws: engine.Workspace, claims: Claims) -> None:
    start = datetime.now(UTC)
    claims("The date is June.")
    middle = datetime.now(UTC)
    claims("The hall is free.")
    assert ws.at(start - timedelta(days=1)).revision == 0
    assert ws.at(middle).revision == 2
    assert len(ws.at(middle).claims()) == 1
    assert ws.at(datetime.now(UTC)).revision == ws.revision
    assert ws.at(middle.astimezone().replace(tzinfo=None)).revision == 2, "without a zone, a moment is local"
    assert len(ws.at(0).claims()) == 0
    with pytest.raises(engine.InvalidInput, match="newest is"):
        ws.at(99)
    with pytest.raises(engine.InvalidInput, match="newest is"):
        ws.at(-1)
    with pytest.raises(engine.InvalidInput, match="datetime"):
        ws.at("yesterday")  # type: ignore[arg-type]
    with pytest.raises(engine.UnknownNode):
        ws.at(0).claim(ws.claims().id[0])


def test_what_changed_between(ws: engine.Workspace, claims: Claims) -> None:
    (date,) = claims("The date is June.")
    decision = ws.decide("Book", [date])
    before = ws.revision
    applied = ws.apply(ws.preview(date, "The date is July."))
    rows = ws.compare(before).set_index("id")
    assert rows.loc[date, "before"] == "current, supported"
    assert rows.loc[date, "after"] == "superseded"
    assert rows.loc[decision.id, "after"] == "needs_review, 0 supports hold"
    assert rows.loc[applied.replacement.id, "before"] == "absent"  # type: ignore[union-attr]
    ws.undo(applied.correction.id)
    assert set(ws.compare(before).title) == {"A reviewer", "The date is July.", "The date is June."}
    assert len(ws.compare(before, before)) == 0
