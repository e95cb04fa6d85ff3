"""What differs between two previews of the same request, one sentence each."""

from __future__ import annotations

from engine.reasons import quoted
from engine.records import Effect, Preview

_TIERS = {
    "acted": "was acted on",
    "needs_review": "would need review",
    "held": "would be held",
    "weakened": "would be weakened",
    "restored": "would be restored",
    "untouched": "would stay untouched",
}


def differences(old: Preview, new: Preview) -> list[str]:
    """Return what a reviewer who saw `old` would see differently in `new`."""
    found: list[str] = []
    before = {claim.id: claim for claim in old.claims}
    for claim in new.claims:
        was = before.pop(claim.id, None)
        if was is None:
            found.append(f"It would also change the claim {quoted(claim.statement)}.")
        elif len(claim.evidence) != len(was.evidence):
            found.append(
                f"The claim {quoted(claim.statement)} has {len(claim.evidence)} pieces of evidence now, "
                f"not {len(was.evidence)}."
            )
        elif claim != was:
            found.append(f"The claim {quoted(claim.statement)} was changed in revision {claim.revision}.")
    found.extend(f"It would no longer change the claim {quoted(claim.statement)}." for claim in before.values())
    if old.undoes != new.undoes:
        found.append(f"It would undo {len(new.undoes)} corrections now, not {len(old.undoes)}.")
    placed = {effect.id: (tier, effect) for tier, effect in old.impact.effects()}
    for tier, effect in new.impact.effects():
        was_in = placed.pop(effect.id, None)
        found.extend(_moved(was_in, tier, effect))
    found.extend(f"{quoted(effect.title)} {_TIERS[tier]}; it is no longer reached." for tier, effect in placed.values())
    return found or ["The details of what would happen changed."]


def _moved(was_in: tuple[str, Effect] | None, tier: str, effect: Effect) -> list[str]:
    title = quoted(effect.title)
    if was_in is None:
        return [f"{title} {_TIERS[tier]}; it was not there before."]
    if was_in[0] != tier:
        return [f"{title} {_TIERS[tier]}; before, it {_TIERS[was_in[0]]}."]
    if was_in[1] != effect:
        return [f"{title} {_TIERS[tier]} as before, but its supports differ: {effect.why}"]
    return []
