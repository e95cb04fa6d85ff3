"""Claims: finding them, asking why they stand, and correcting them by a preview that somebody looked at.

Claims belong to all tenants of a workspace. What a correction does to them is shown to everybody; which learnings of
other tenants it invalidates is not.
"""

from __future__ import annotations

from typing import Final

from engine.corrections import request_of, shown_digest
from engine.errors import InvalidInput, NotAllowed, StalePreview, UnknownNode
from engine.http import bodies
from engine.http.asking import Asker
from engine.http.operations import Asked, Operation
from engine.records import Applied, Claim, ClaimHit, Explanation, Preview
from engine.store.learnings import fetch_learnings


def _search_claims(asked: Asked) -> list[ClaimHit]:
    return asked.asker.workspace.search(asked.query.query, asked.query.limit)


def _get_claim(asked: Asked) -> Claim:
    return asked.asker.workspace.claim(asked.path["claim"])


def _explain_claim(asked: Asked) -> Explanation:
    who = asked.asker
    claim = who.workspace.claim(asked.path["claim"])
    explanation = who.workspace.explain(claim.id)
    if explanation.correction_id is not None:
        try:
            who.correction(explanation.correction_id)
        except UnknownNode:
            # Its sentence repeats the reviewer and the reason, which are another tenant's.
            hidden = f"It is {claim.status}: a correction that you may not see changed it."
            return explanation.model_copy(update={"sentence": hidden, "correction_id": None})
    return explanation


def _preview_claim(asked: Asked) -> Preview:
    given = asked.body
    preview = asked.asker.workspace.preview(
        asked.path["claim"], given.statement, invalidate_contradicted=given.invalidate_contradicted
    )
    return seen(asked.asker, preview)


def _apply_claim(asked: Asked) -> Applied:
    who, given = asked.asker, asked.body
    who.may_correct_claims("preview")
    claim = who.workspace.claim(asked.path["claim"])
    named = {change.claim_id for change in given.preview.changes}
    if given.preview.kind not in ("correct", "retract") or named != {claim.id}:
        raise InvalidInput(
            f"`preview` is not one of correcting {claim.id}. Send what POST /claims/{claim.id}/preview answered.",
            "preview",
        )
    return applied(who, given.preview, who.reviewer(given.reviewer), given.reason or "")


def _preview_undo(asked: Asked) -> Preview:
    who = asked.asker
    found = who.correction(asked.path["correction"], asked.query.tenant_id)
    return seen(who, who.workspace.preview_undo(found.id))


def _undo(asked: Asked) -> Applied:
    who, given = asked.asker, asked.body
    found = who.correction(asked.path["correction"], given.tenant_id)
    who.may_correct_claims("correction")
    done = who.workspace.undo(found.id, who.reviewer(given.reviewer), given.reason or "")
    return done.model_copy(update={"corrections": [k for k in done.corrections if who.sees(k.tenant_id)]})


def applied(who: Asker, shown: Preview, reviewer: str, reason: str) -> Applied:
    """Apply what a preview showed.

    Raises:
        StalePreview: something else would happen now; it carries the fresh preview as this asker may see it.
    """
    workspace = who.workspace
    if shown.workspace_id != workspace.id:
        raise InvalidInput("This preview was made for another workspace.", "preview")
    whole = shown
    if who.token is not None and shown.digest == shown_digest(shown):
        # What was kept from this asker is part of what will happen; it is put back if nothing else is different.
        request = request_of(shown)
        try:
            now = workspace.preview(
                request.changes[0].claim_id,
                request.changes[0].statement,
                invalidate_contradicted=shown.invalidate_contradicted,
            )
        except (NotAllowed, InvalidInput):
            now = shown
        whole = now if seen(who, now).digest == shown.digest else shown
    try:
        return workspace.apply(whole, reviewer, reason)
    except StalePreview as error:
        raise StalePreview(str(error), seen(who, error.fresh), error.differences) from error


def seen(who: Asker, preview: Preview) -> Preview:
    """Return a preview without the learnings of tenants that this asker may not see."""
    if who.token is None or not preview.invalidates:
        return preview
    learnings = fetch_learnings(who.workspace._snapshot(), [entry.learning_id for entry in preview.invalidates])
    kept = [
        entry
        for entry in preview.invalidates
        if entry.learning_id in learnings and who.sees(learnings[entry.learning_id].tenant_id)
    ]
    partly = preview.model_copy(update={"invalidates": kept})
    return partly.model_copy(update={"digest": shown_digest(partly)})


ONE: Final = "/claims/{claim}"
OPERATIONS: Final = (
    Operation("search_claims", "GET", "/claims", "The current claims that match a query, best first", _search_claims,
        list[ClaimHit], query=bodies.ClaimsQuery),
    Operation("get_claim", "GET", ONE, "One claim with its evidence", _get_claim, Claim, answers=(404,)),
    Operation("explain_claim", "GET", f"{ONE}/explanation", "Why a claim stands or fell", _explain_claim, Explanation,
        answers=(404,)),
    Operation("preview_claim", "POST", f"{ONE}/preview", "What correcting or retracting a claim would do",
        _preview_claim, Preview, body=bodies.ClaimCorrection, blames="statement", answers=(404, 409)),
    Operation("apply_claim", "POST", f"{ONE}/apply", "Make the change that a preview showed", _apply_claim, Applied,
        "review", body=bodies.Application, blames="preview", answers=(404, 409)),
    Operation("preview_undo", "GET", "/corrections/{correction}/undo", "What undoing a correction would do",
        _preview_undo, Preview, query=bodies.TenantQuery, answers=(404, 409)),
    Operation("undo_correction", "POST", "/corrections/{correction}/undo",
        "Undo the correction of a claim, with those that followed it", _undo, Applied, "review", body=bodies.Review,
        answers=(404, 409)),
)  # fmt: skip
