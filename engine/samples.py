"""Workspaces to try things on: a story, and a real graph of documents that depend on one another."""

from __future__ import annotations

import json
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.errors import InvalidInput
from engine.records import ProposedClaim

if TYPE_CHECKING:
    from engine.workbench import Workbench
    from engine.workspace import Workspace

PLAN: Final = """\
Aurora: launch plan, second draft

The public launch of Aurora is on 12 June. The launch event takes place in Ghent.
The main hall in Ghent holds 400 people. Invitations go out six weeks before the launch.

The press tour begins on the day of the launch. The budget for the launch event is 90,000 euros.
"""
MEMO: Final = """\
To: the launch team
From: the partner office

Our three partners are ready to ship from 1 June. The partners ask for joint press material.
The largest partner ships from Lille.
"""
SURVEY: Final = """\
Customer survey, spring

Of 1,200 customers, 71% want an offline mode. Customers in Belgium and France answered most often.
Half of the customers would pay for priority support.
"""
WRONG: Final = "The public launch of Aurora is on 12 June."
RIGHT: Final = "The public launch of Aurora is on 3 July."


def load_launch_story(wb: Workbench, name: str = "Aurora launch (sample)") -> Workspace:
    """Make a workspace in which a document gets the launch date wrong, and return it.

    Some decisions rest on that date alone, some on it and something else, some on other claims alone; one action
    was already done. Correct the date to see which of them fall.
    """
    ws = wb.create_workspace(name)
    plan = ws.ingest(PLAN, name="Launch plan, draft 2", extractor=None)
    memo = ws.ingest(MEMO, name="Memo of the partner office", extractor=None, kind="message")
    survey = ws.ingest(SURVEY, name="Customer survey", extractor=None)
    date, place, hall, invitations, press, budget = _claims(
        ws,
        plan.source_id,
        WRONG,
        "The launch event takes place in Ghent.",
        "The main hall in Ghent holds 400 people.",
        "Invitations go out six weeks before the launch.",
        "The press tour begins on the day of the launch.",
        "The budget for the launch event is 90,000 euros.",
    )
    ready, _, lille = _claims(
        ws,
        memo.source_id,
        "Our three partners are ready to ship from 1 June.",
        "The partners ask for joint press material.",
        "The largest partner ships from Lille.",
    )
    offline, _, support = _claims(
        ws,
        survey.source_id,
        "Of 1,200 customers, 71% want an offline mode.",
        "Customers in Belgium and France answered most often.",
        "Half of the customers would pay for priority support.",
    )
    sent = ws.derive("Invitations must be sent by 1 May.", because=[[date, invitations]]).id
    book = ws.decide(
        "Book the main hall in Ghent for 12 June", [[date, place, hall]], "The date and the place are set."
    )
    print_ = ws.decide("Print the invitations in April", [sent], "They go out by 1 May.")
    ship = ws.decide("Start shipping in June", [date, ready], "The launch is in June, and the partners are ready.")
    tour = ws.decide("Announce the press tour", [[book.id, press]], "It begins with the event.")
    mode = ws.decide("Build the offline mode first", [offline], "Most customers want it.")
    tier = ws.decide("Offer a paid support tier", [support], "Half would pay for it.")
    stand = ws.decide("Keep the stand small", [budget, lille], "Money is short, and goods are near.")
    ws.plan("Sign the contract for the hall", [book.id])
    printed = ws.plan("Order 400 printed invitations", [print_.id])
    ws.plan("Brief the press", [tour.id])
    ws.plan("Reserve the trucks", [ship.id])
    ws.plan("Assign two developers to the offline mode", [mode.id])
    ws.plan("Draft prices for priority support", [tier.id])
    ws.plan("Rent a 20 m² stand", [stand.id])
    ws.mark_done(printed.id)
    return ws


def _claims(ws: Workspace, source_id: str, *sentences: str) -> list[str]:
    report = ws.submit_claims(source_id, [ProposedClaim(sentence, sentence) for sentence in sentences])
    return [claim.id for claim in report.claims]


LIVE: Final = {"Active", "Draft", "Experimental", "Final", "Proposed", "Stable"}


def load_specifications(
    wb: Workbench,
    path: str | PathLike[str],
    name: str = "Specifications (sample)",
    on_progress: Callable[[float], object] | None = None,
) -> Workspace:
    """Make a workspace of specifications that require one another, and return it.

    `path` is a JSON file: number → `title`, `status`, `requires`. Each document is a source with one claim, that
    it may be relied on; for each live one there is a decision to rely on it, held up by its own claim together
    with what it requires. Correct the claim of one document to see which live ones lose their support.

    Raises:
        InvalidInput: the file cannot be read as that.
    """
    try:
        documents: dict[str, dict[str, Any]] = json.loads(Path(path).read_text(encoding="utf-8"))
        needs = {number: [n for n in d["requires"] if n in documents] for number, d in documents.items()}
        titles = {number: f"XEP-{number} ({' '.join(d['title'].split())})" for number, d in documents.items()}
        live = [number for number, d in sorted(documents.items()) if d["status"] in LIVE]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"{path} is not a file of specifications: {error!r}.") from error
    ws = wb.create_workspace(name)
    claims: dict[str, str] = {}
    for done, number in enumerate(sorted(documents)):
        statement = f"{titles[number]} may be relied on."
        requires = "".join(f"\nIt requires {titles[other]}." for other in needs[number])
        text = f"{statement}\nIts status is {documents[number]['status']}.{requires}\n"
        source = ws.ingest(text, name=titles[number], extractor=None)
        claims[number] = ws.submit_claims(source.source_id, [ProposedClaim(statement, statement)]).claims[0].id
        if on_progress is not None:
            on_progress(0.8 * done / len(documents))
    decisions: dict[str, str] = {}
    for done, number in enumerate(_requirements_first(live, needs)):
        # Documents that require one another cannot both wait for the other's decision: there, the claim stands in.
        premises = [claims[number], *(decisions.get(other, claims[other]) for other in needs[number])]
        decisions[number] = ws.decide(f"Rely on {titles[number]}", [list(dict.fromkeys(premises))]).id
        if on_progress is not None:
            on_progress(0.8 + 0.2 * done / len(live))
    return ws


def _requirements_first(wanted: list[str], needs: dict[str, list[str]]) -> list[str]:
    order: dict[str, None] = {}
    for root in wanted:
        stack = [(root, False)]
        entered: set[str] = set()
        while stack:
            number, left = stack.pop()
            if left:
                order.setdefault(number)
            elif number not in order and number not in entered:
                entered.add(number)
                stack.append((number, True))
                stack.extend((other, False) for other in reversed(needs[number]))
    among = set(wanted)
    return [number for number in order if number in among]
