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
    _agents_at_work(ws)
    return ws


def _agents_at_work(ws: Workspace) -> None:
    """Add two agents that read invoices and answer mail, their runs, and what people and models corrected.

    All of it is recorded as of now: a history cannot be made up through the front door.
    """
    reader, mail = "invoice-reader", "mail-assistant"
    ask = "Read the invoice of {}: vendor, date, total, tax_id, category."
    letter = "Answer the mail of {}: {}"
    record = ws.corrections.record
    kept = record(
        reader, "1,240.00", "1,420.00", "total", "Two digits were swapped.", "Hall Ghent", "inv-001",
        original_input=ask.format("Hall Ghent"), reviewer="Ana",
    )  # fmt: skip
    vague = record(
        reader, "Catering", "Travel", "category", "Trains are travel.", "Belgian Rail", "inv-002",
        original_input=ask.format("Belgian Rail"), reviewer="Ben",
    )  # fmt: skip
    blank = record(
        reader, "BE0000000000", "", "tax_id", "No number is printed; it made one up.", "Press Lille", "inv-003",
        original_input=ask.format("Press Lille"), reviewer="Ana",
    )  # fmt: skip
    tone = record(
        mail, "Dear Sir", "Dear Ms Peeters", "salutation", "She signs her mails.", "Peeters & Co", "mail-001",
        original_input=letter.format("Peeters & Co", "When do we ship?"), reviewer="Ben",
    )  # fmt: skip
    promise = record(
        mail, "You will have it tomorrow", "We confirm the date next week", "promise",
        "Nobody may promise a date.", "Peeters & Co", "mail-002",
        original_input=letter.format("Peeters & Co", "When do we get the press kit?"), reviewer="Cleo",
    )  # fmt: skip
    record(
        reader, "03/07/2026", "2026-07-03", "date", "Dates are written year first.", "Print Works", "inv-004",
        original_input=ask.format("Print Works"), reviewer="Ana",
    )  # fmt: skip
    record(reader, "Print Works", "Print Works NV", "vendor", None, "Print Works", "inv-004", reviewer="Ana")
    for run_id, reviewer in (("inv-011", "Ana"), ("inv-019", "Ben")):  # the same mistake, twice more
        record(reader, "1,240.00", "1,420.00", "total", None, "Hall Ghent", run_id, reviewer=reviewer)
    record(
        reader, "Catering", "Travel and lodging", "category", "The new name of the account.", "Belgian Rail",
        "inv-012", original_input=ask.format("Belgian Rail"), reviewer="Cleo",
    )  # fmt: skip
    # A model looked at answers of the other one; a person has not looked at its findings yet.
    record(
        mail, "the hall on 12 June", "the hall on 3 July", "date", "The launch was moved.", "Print Works", "mail-007",
        original_input=letter.format("Print Works", "When is the hall free?"), author_kind="model", reviewer="checker",
    )  # fmt: skip
    record(
        reader, "Travel and lodging", "Travel", "category", "A day trip has no lodging.", "Belgian Rail", "inv-012",
        author_kind="model", reviewer="checker",
    )  # fmt: skip
    shown: dict[int, list[tuple[str, str]]] = {
        6: [(kept.id, "1,420.00")], 11: [(kept.id, "1,240.00")], 14: [(blank.id, "")],
        16: [(vague.id, "Travel"), (kept.id, "1,420.00")], 19: [(kept.id, "1,240.00")], 21: [(blank.id, "")],
    }  # fmt: skip
    for number in range(1, 23):
        showed = shown.get(number, [])
        output = "; ".join(said for _, said in showed) or "read"
        ws.corrections.record_run(
            reader, f"Invoice {number}", output, f"inv-{number:03}", shown=[name for name, _ in showed]
        )
    for number in range(1, 13):
        showed = {5: [(tone.id, "Dear Ms Peeters")], 9: [(promise.id, "You will have it tomorrow")]}.get(number, [])
        output = " ".join(said for _, said in showed) or "answered"
        ws.corrections.record_run(
            mail, f"Mail {number}", output, f"mail-{number:03}", shown=[name for name, _ in showed]
        )
    ws.learnings.add(
        "Invoices of Belgian Rail belong to the account Travel and lodging.",
        agent_name=reader, author=reader, author_kind="model",
    )  # fmt: skip


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
