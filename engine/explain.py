"""Why a node stands, fell, or was left alone: one sentence, then the structure it was read from."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from engine.effects import frailty, origin_names
from engine.errors import UnknownNode
from engine.ids import kind_of
from engine.reasons import counted, join, quoted
from engine.records import Explanation, NodeKind, Reason
from engine.states import Lifeline
from engine.store import history
from engine.store.claims import fetch_claims
from engine.store.corrections import corrections_of, fetch_corrections
from engine.store.decisions import fetch_actions, fetch_decisions
from engine.store.snapshot import Snapshot
from engine.store.sources import fetch_sources
from engine.store.structure import Structure, claims_quoting, find, upstream
from engine.support import origins_behind, smallest_witness, ways_that_hold


def explain(snap: Snapshot, node_id: str) -> Explanation:
    """Return the explanation of any node of the product view.

    Raises:
        UnknownNode: there is no such node.
    """
    kind = kind_of(node_id)
    if kind in ("Claim", "Decision"):
        found = find(snap, [node_id]).get(node_id)
        if found is None:
            raise UnknownNode(f"There is no {kind.lower()} {node_id} in this workspace.")
        if found.life.at(snap.revision).supported:
            return _stands(snap, node_id, found.title, found.life)
        return _fell(snap, node_id, found.title, found.life)
    if kind == "Action":
        return _action(snap, node_id)
    if kind == "Source":
        return _source(snap, node_id)
    if kind == "Correction":
        return _correction(snap, node_id)
    raise UnknownNode(f"{node_id} names a {kind}, which is not something to explain.")


def _stands(snap: Snapshot, node_id: str, title: str, life: Lifeline) -> Explanation:
    structure = upstream(snap, [node_id])
    standing = {name for name, state in structure.states.items() if state.supported}
    node = structure.graph[node_id]
    kind = kind_of(node_id)
    held_by, smallest = smallest_witness(structure.graph, node_id, standing)
    origins = origins_behind(structure.graph, node_id, standing)
    shown = frailty(snap, structure, [node_id])
    fragile = shown.of[node_id]
    ways = len(ways_that_hold(node, standing))
    witnesses = {ground.source for ground in node.grounds}
    total = len(node.ways) + len(witnesses)
    holding = ways + len({ground.source for ground in node.grounds if ground.standing})
    state = life.at(snap.revision)
    independent = f"from {counted(len(origins), 'independent source')}"
    if holding < total:
        verb = "remains" if holding == 1 else "remain"
        sentence = f"{holding} of {total} supports {verb}, {independent}."
    elif kind == "Claim" and not node.ways:
        sentence = f"It stands on evidence of its own, {independent}."
    else:
        sentence = f"It stands on {counted(holding, 'support')}, {independent}."
    if kind == "Decision" and fragile.claims:
        sentence += f" It hangs on {join([quoted(shown.titles[c], 60) for c in fragile.claims[:3]])} alone."
    elif kind == "Decision" and fragile.origins:
        names = origin_names(snap, fragile.origins)
        sentence += f" All of it comes from one origin: {join([names.get(o, o) for o in fragile.origins[:3]])}."
    if state.status == "needs_review":
        sentence += " It lost its support before and has support again; a reviewer has yet to settle it."
    claims = fetch_claims(snap, held_by)
    return Explanation(
        id=node_id,
        kind=kind,
        title=title,
        status=state.status,
        supported=True,
        sentence=sentence,
        held_by=held_by,
        smallest=smallest,
        evidence=[e for claim in claims.values() for e in claim.evidence if e.standing],
        supports_before=total,
        supports=holding,
        independent_sources=len(origins),
        fragile_on=fragile.all,
        reasons=_reasons(snap, [node_id, *held_by]),
    )


def _fell(snap: Snapshot, node_id: str, title: str, life: Lifeline) -> Explanation:
    kind = kind_of(node_id)
    state = life.at(snap.revision)
    changed = life.changed(snap.revision)
    cause = changed if state.status in ("superseded", "retracted", "withdrawn") else state.cause
    happened = history.event(snap, cause) if cause else None
    correction_id = _correction_behind(snap, node_id, happened)
    path = [node_id]
    supports_before = 0
    if state.status in ("current", "standing", "needs_review") and cause:
        then = replace(snap, revision=cause)
        before = upstream(replace(snap, revision=cause - 1), [node_id])
        path = _carried(then, before, node_id)
        if node_id in before.graph:
            up = {name for name, s in before.states.items() if s.supported}
            supports_before = len(ways_that_hold(before.graph[node_id], up))
    titles = {name: found.title for name, found in find(snap, path).items()}
    sentence = _fell_sentence(snap, kind, state.status, cause, happened, path, titles, correction_id)
    return Explanation(
        id=node_id,
        kind=kind,
        title=title,
        status=state.status,
        supported=False,
        sentence=sentence,
        path=path,
        path_titles=[titles[name] for name in path],
        correction_id=correction_id,
        supports_before=supports_before,
        reasons=_reasons(snap, path),
    )


def _carried(then: Snapshot, before: Structure, node_id: str) -> list[str]:
    """Return the shortest path along which the loss came, from what was changed to the node."""
    standing = {name for name, state in before.states.items() if state.supported}
    after = {name: found.life.at(then.revision).supported for name, found in find(then, before.graph).items()}
    parents: dict[str, str | None] = {node_id: None}
    queue = deque([node_id])
    while queue:
        name = queue.popleft()
        held = ways_that_hold(before.graph[name], standing) if name in before.graph else []
        lost = sorted({p for way in held for p in way.premises if not after.get(p, False)})
        if not lost and name != node_id:
            path = [name]
            while (parent := parents[path[-1]]) is not None:
                path.append(parent)
            return path
        for premise in lost:
            if premise not in parents:
                parents[premise] = name
                queue.append(premise)
    return [node_id]


def _correction_behind(snap: Snapshot, node_id: str, happened: dict[str, object] | None) -> str | None:
    if kind_of(node_id) == "Claim":
        ended = corrections_of(snap, [node_id]).get(node_id, [])
        applied = [k for k, _, life in ended if life.at(snap.revision).status == "applied"]
        if applied:
            return applied[-1]
    ref = str(happened["ref"]) if happened else ""
    return ref if ref.startswith("k_") else None


def _fell_sentence(
    snap: Snapshot,
    kind: str,
    status: str,
    cause: int,
    happened: dict[str, object] | None,
    path: list[str],
    titles: dict[str, str],
    correction_id: str | None,
) -> str:
    noun = kind.lower()
    by = _by(snap, correction_id, happened)
    if status in ("superseded", "retracted", "withdrawn"):
        return f"This {noun} was {status} in revision {cause}: {by}"
    if not cause or happened is None:
        return f"Nothing ever held this {noun} up."
    if len(path) == 1:
        return f"This {noun} has had no support since revision {cause}: {by}"
    through = ""
    if len(path) > 2:
        through = f", through {join([quoted(titles[p], 50) for p in path[1:-1]])}"
    return f"Its last support fell in revision {cause} with {quoted(titles[path[0]], 60)}{through}: {by}"


def _by(snap: Snapshot, correction_id: str | None, happened: dict[str, object] | None) -> str:
    if correction_id is not None:
        correction = fetch_corrections(snap, [correction_id]).get(correction_id)
        if correction is not None and (happened is None or happened["kind"] != "undo"):
            why = f" ({correction.reason})" if correction.reason else ""
            if correction.statement is not None:
                said = f"corrected it to {quoted(correction.statement)}"
            elif correction.kind == "withdraw":
                said = f"withdrew {quoted(correction.original)}"
            else:
                said = f"retracted {quoted(correction.original)}"
            return f"{correction.reviewer} {said}{why}."
    if happened is None:
        return "history does not say why."
    who = f" by {happened['actor']}" if happened["actor"] else ""
    return f"{str(happened['summary']).rstrip('.')}{who}."


def _reasons(snap: Snapshot, names: list[str]) -> list[Reason]:
    claims = fetch_claims(snap, [name for name in names if kind_of(name) == "Claim"])
    decisions = fetch_decisions(snap, [name for name in names if kind_of(name) == "Decision"])
    found = []
    for name in dict.fromkeys(names):
        if name in claims:
            claim = claims[name]
            found.append(
                Reason(
                    id=name,
                    kind="Claim",
                    title=claim.statement,
                    status=claim.status,
                    supported=claim.supported,
                    evidence=claim.evidence,
                    because=claim.because,
                )
            )
        elif name in decisions:
            decision = decisions[name]
            found.append(
                Reason(
                    id=name,
                    kind="Decision",
                    title=decision.title,
                    status=decision.status,
                    supported=decision.supported,
                    because=decision.because,
                )
            )
    return found


def _action(snap: Snapshot, node_id: str) -> Explanation:
    action = fetch_actions(snap, [node_id]).get(node_id)
    if action is None:
        raise UnknownNode(f"There is no action {node_id} in this workspace.")
    decisions = fetch_decisions(snap, action.because)
    marked = [d for d in decisions.values() if d.status == "needs_review"]
    named = join([quoted(d.title, 60) for d in (marked or list(decisions.values()))])
    if action.status == "held":
        sentence = f"It is on hold: {named} needs review."
    elif action.status == "done":
        sentence = (
            f"It was done, and {named} that it was done for needs review."
            if marked
            else f"It was done because of {named}."
        )
    elif action.status == "cancelled":
        sentence = f"It was cancelled when {named} was settled."
    else:
        sentence = f"It is proposed because of {named}."
    return _plain(
        node_id,
        "Action",
        action.description,
        action.status,
        not marked,
        sentence,
        _reasons(snap, action.because),
    )


def _source(snap: Snapshot, node_id: str) -> Explanation:
    source = fetch_sources(snap, [node_id]).get(node_id)
    if source is None:
        raise UnknownNode(f"There is no source {node_id} in this workspace.")
    claims = claims_quoting(snap, node_id)
    names = origin_names(snap, source.origins)
    origins = join([names.get(origin, origin) for origin in source.origins])
    own = source.origins == [source.id]
    sentence = (
        f"{counted(len(claims), 'claim')} {'quotes' if len(claims) == 1 else 'quote'} it, and it is "
        f"{'a witness of its own' if own else f'one witness with {origins}'}."
    )
    if source.status == "withdrawn":
        sentence = f"It was withdrawn; {counted(len(claims), 'claim')} quoted it."
    return _plain(node_id, "Source", source.name, source.status, source.status == "active", sentence, [])


def _correction(snap: Snapshot, node_id: str) -> Explanation:
    correction = fetch_corrections(snap, [node_id]).get(node_id)
    if correction is None:
        raise UnknownNode(f"There is no correction {node_id} in this workspace.")
    happened = history.event(snap, correction.revision)
    summary = str(happened["summary"]) if happened else ""
    undone = " It was undone since." if correction.status == "reverted" else ""
    why = f" Why: {correction.reason}" if correction.reason else ""
    sentence = f"{correction.reviewer}, in revision {correction.revision}: {summary}{why}{undone}"
    return _plain(
        node_id,
        "Correction",
        correction.statement or correction.original,
        correction.status,
        correction.status == "active",
        sentence,
        [],
    )


def _plain(
    node_id: str,
    kind: NodeKind,
    title: str,
    status: str,
    supported: bool,
    sentence: str,
    reasons: list[Reason],
) -> Explanation:
    return Explanation(
        id=node_id,
        kind=kind,
        title=title,
        status=status,
        supported=supported,
        sentence=sentence,
        reasons=reasons,
    )
