"""A workspace to try things on, with a story in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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
