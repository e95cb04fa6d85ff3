"""Agents, what they are corrected in, and what they report."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

from pydantic import JsonValue

from engine.agent_registry import AgentInfo, Agents, agent_name
from engine.correction_records import Caller, Correction, CorrectionHit, CorrectionPage, CorrectionStats, Learning
from engine.correction_records import RecordPreview as Foreseen
from engine.entries import party
from engine.errors import UnknownNode
from engine.http import bodies
from engine.http.operations import Asked, Operation
from engine.http.problems import Problem
from engine.ids import require
from engine.prompt_section import section
from engine.record import Record
from engine.store.agents import reported_runs, run_tenants

_OURS: Final = re.compile(r"r_[0-9a-f]{16}", re.ASCII)


class Searched(Record):
    """What a search found, best first, and how it searched: `words and meaning`, or `words` and why in `note`."""

    hits: list[CorrectionHit]
    mode: str
    note: str


class Section(Record):
    """A section for a prompt; "" when no correction matters."""

    section: str


class RecordedRun(Record):
    """A run that was recorded: its id as its agent calls it."""

    run_id: str


class Run(Record):
    """A run that an agent reported, or that a correction made known."""

    run_id: str
    agent_name: str
    input: str | None
    output: str | None
    tenant_id: str | None
    at: datetime
    revision: int


class RunPage(Record):
    """Some runs, newest first, and the cursor that goes on after them; None when there are no more."""

    items: list[Run]
    next_cursor: str | None


def named(asked: Asked) -> str:
    """Return the agent in the path, if the token may speak for it."""
    agent = agent_name(asked.path["agent"])
    asked.asker.agent(agent, "agent")
    return agent


def known(asked: Asked, tenant: str | None) -> str:
    """Return the agent in the path, if it is known and corrections are on for it.

    Raises:
        Problem: 404.
    """
    agent = named(asked)
    info = Agents(asked.asker.workspace).get(agent, asked.asker.gate(tenant))
    if info is None:
        raise Problem(
            404,
            "unknown_agent",
            "There is no agent of this name. Register it with PUT /agents/{agent}, or record a run of it.",
            "agent",
        )
    if not info.corrections:
        raise Problem(
            404,
            "corrections_off",
            "Corrections are switched off for this agent. Switch them on with PUT /agents/{agent}.",
            "agent",
        )
    return agent


def _list_agents(asked: Asked) -> list[AgentInfo]:
    who = asked.asker
    bound = who.agent(None)
    found = Agents(who.workspace).list(who.gate(asked.query.tenant_id))
    return [agent for agent in found if bound is None or agent.name == bound]


def _get_agent(asked: Asked) -> AgentInfo:
    info = Agents(asked.asker.workspace).get(named(asked), asked.asker.gate(asked.query.tenant_id))
    if info is None:
        raise Problem(404, "unknown_agent", "There is no agent of this name.", "agent")
    return info


def _register_agent(asked: Asked) -> AgentInfo:
    tenant = asked.asker.tenant(asked.body.tenant_id)
    return Agents(asked.asker.workspace).register(named(asked), asked.body.corrections, tenant_id=tenant)


def _record_correction(asked: Asked) -> Correction:
    who, given = asked.asker, asked.body
    agent = known(asked, given.tenant_id)
    if given.claim_id is not None:
        who.may_correct_claims("claim_id")
    more = recorded_for(asked)
    _own_run(asked, given.run_id)
    return who.workspace.corrections.record(
        agent,
        claim_id=given.claim_id,
        idempotency_key=given.idempotency_key,
        invalidate_contradicted=given.invalidate_contradicted,
        **more,
    )


def _preview_correction(asked: Asked) -> Foreseen:
    agent = known(asked, asked.body.tenant_id)
    contradicted = asked.body.invalidate_contradicted
    more = recorded_for(asked)
    return asked.asker.workspace.corrections.preview(agent, invalidate_contradicted=contradicted, **more)


def recorded_for(asked: Asked) -> dict[str, Any]:
    """Return the arguments of a record, with whose it is decided by the token."""
    who, given = asked.asker, asked.body
    return {
        "original_value": given.original_value,
        "corrected_value": given.corrected_value,
        "field": given.field,
        "reason": given.reason,
        "entity_key": given.entity_key,
        "run_id": given.run_id,
        "session_id": given.session_id,
        "original_input": given.original_input,
        "tags": given.tags or (),
        "scope": who.scope(given.scope),
        "user_id": who.user(given.user_id),
        "tenant_id": who.tenant(given.tenant_id),
        "author_kind": given.author_kind,
        "reviewer": who.reviewer(given.reviewer),
    }


def _own_run(asked: Asked, run_id: str | None) -> None:
    """Hide the runs of others, which the ids of their nodes would name."""
    if run_id is None or not _OURS.fullmatch(run_id):
        return
    tenants = run_tenants(asked.asker.workspace._snapshot(), run_id)
    if not tenants or not asked.asker.sees(tenants[0]):
        raise UnknownNode(f"There is no run {run_id} in this workspace.")


def _list_corrections(asked: Asked) -> CorrectionPage:
    return page(asked, known(asked, asked.query.tenant_id))


def page(asked: Asked, agent: str | None) -> CorrectionPage:
    """Return the corrections that the query means."""
    query, who = asked.query, asked.asker
    return who.workspace.corrections.page(
        query.limit,
        query.cursor,
        agent_name=agent,
        entity_key=query.entity_key,
        field=query.field,
        since=query.since,
        until=query.until,
        status=query.status,
        caller=who.gate(query.tenant_id),
    )


def _agent_stats(asked: Asked) -> CorrectionStats:
    return stats(asked, known(asked, asked.query.tenant_id))


def stats(asked: Asked, agent: str | None) -> CorrectionStats:
    """Return what the corrections that the query means come to."""
    query, who = asked.query, asked.asker
    return who.workspace.corrections.stats(
        agent, query.entity_key, query.field, query.since, until=query.until, caller=who.gate(query.tenant_id)
    )


def _search_agent(asked: Asked) -> Searched:
    return searched(asked, asked.query, known(asked, asked.query.tenant_id))


def searched(asked: Asked, sought: Any, agent: str | None) -> Searched:
    """Return the corrections that matter for what is sought."""
    who = asked.asker
    caller = who.caller(sought.tenant_id, sought.user_id, agent)
    recalled = who.workspace.corrections.recall(sought.query, caller, sought.top_k, sought.min_score, sought.entity_key)
    return Searched(hits=recalled.hits, mode=recalled.mode, note=recalled.note)


def _prompt_section(asked: Asked) -> Section:
    found = searched(asked, asked.query, known(asked, asked.query.tenant_id))
    return Section(section=section([hit.correction for hit in found.hits]))


def _record_run(asked: Asked) -> RecordedRun:
    who, given = asked.asker, asked.body
    agent = named(asked)
    tenant = who.tenant(given.tenant_id)
    for correction in given.shown:
        who.correction(correction, tenant)
    output: JsonValue = given.output
    run = who.workspace.corrections.record_run(
        agent, given.input, output, given.run_id or None, shown=given.shown, tenant_id=tenant
    )
    return RecordedRun(run_id=run)


def _list_runs(asked: Asked) -> RunPage:
    who, query = asked.asker, asked.query
    agent = named(asked)
    caller: Caller | None = who.gate(query.tenant_id)
    tenants = None if caller is None else [party("tenant", t) for t in dict.fromkeys((None, caller.tenant_id))]
    before = None
    if query.cursor is not None:
        born, _, node = query.cursor.partition(".")
        before = (int(born), require(node, "AgentRun"))
    rows = reported_runs(who.workspace._snapshot(), party("agent", agent), tenants, query.limit + 1, before)
    kept = rows[: query.limit]
    following = f"{kept[-1]['revision']}.{kept[-1]['node']}" if len(rows) > len(kept) else None
    items = [Run(**{k: v for k, v in row.items() if k != "node"}, agent_name=agent) for row in kept]
    return RunPage(items=items, next_cursor=following)


def _add_learning(asked: Asked) -> Learning:
    who, given = asked.asker, asked.body
    agent = named(asked)
    if given.author_kind == "model" and not given.author:
        author = who.token.name if who.token is not None else agent
    else:
        author = who.reviewer(given.author)
    return who.workspace.learnings.add(
        given.text,
        given.because,
        agent_name=agent,
        author=author,
        author_kind=given.author_kind,
        scope=who.scope(given.scope),  # type: ignore[arg-type]
        user_id=who.user(given.user_id),
        tenant_id=who.tenant(given.tenant_id),
    )


def _list_learnings(asked: Asked) -> list[Learning]:
    who, query = asked.asker, asked.query
    agent = who.agent(query.agent_name)
    frame = who.workspace.learnings.list(query.status, agent, caller=who.gate(query.tenant_id))
    return [Learning.model_validate(row) for row in frame.to_dict("records")]


def _get_learning(asked: Asked) -> Learning:
    return _learning(asked, asked.query.tenant_id)


def _verify_learning(asked: Asked) -> Learning:
    who = asked.asker
    found = _learning(asked, asked.body.tenant_id)
    if found.tenant_id != who.tenant(asked.body.tenant_id):
        who.need("admin", "Verifying a learning that others share", "learning")
    return who.workspace.learnings.verify(found.id, who.reviewer(asked.body.reviewer))


def _learning(asked: Asked, tenant: str | None) -> Learning:
    who = asked.asker
    found = who.workspace.learnings.get(asked.path["learning"], who.gate(tenant))
    bound = who.agent(None)
    if bound is not None and found.agent_name not in (None, bound):
        raise UnknownNode(f"There is no learning {found.id} in this workspace.")
    return found


A: Final = "/agents/{agent}"
K: Final = f"{A}/corrections"
OPERATIONS: Final = (
    Operation("list_agents", "GET", "/agents", "The agents that are known", _list_agents, list[AgentInfo],
        query=bodies.TenantQuery),
    Operation("get_agent", "GET", A, "One agent", _get_agent, AgentInfo, query=bodies.TenantQuery, answers=(404,)),
    Operation("register_agent", "PUT", A, "Make an agent known, with corrections on or off", _register_agent,
        AgentInfo, "admin", body=bodies.Registration),
    Operation("list_agent_corrections", "GET", K, "The corrections of an agent, newest first", _list_corrections,
        CorrectionPage, query=bodies.PageQuery, answers=(404,)),
    Operation("record_correction", "POST", K, "Record what an agent put out and what it should have been",
        _record_correction, Correction, "review", body=bodies.RecordedCorrection, status=201, answers=(404, 409)),
    Operation("preview_record", "POST", f"{K}/preview", "What recording a correction would do", _preview_correction,
        Foreseen, body=bodies.NewCorrection, answers=(404, 409)),
    Operation("agent_stats", "GET", f"{K}/stats", "What the corrections of an agent come to", _agent_stats,
        CorrectionStats, query=bodies.Filters, answers=(404,)),
    Operation("search_agent_corrections", "GET", f"{K}/search", "The corrections that matter for a query",
        _search_agent, Searched, query=bodies.SearchQuery, answers=(404,)),
    Operation("prompt_section", "GET", f"{K}/prompt", "The same as a section of a prompt", _prompt_section, Section,
        query=bodies.SearchQuery, answers=(404,)),
    Operation("list_runs", "GET", f"{A}/runs", "The runs that an agent reported, newest first", _list_runs, RunPage,
        query=bodies.RunsQuery, answers=(404,)),
    Operation("record_run", "POST", f"{A}/runs", "Record that an agent ran", _record_run, RecordedRun, "review",
        body=bodies.NewRun, status=201, answers=(404, 409)),
    Operation("add_learning", "POST", f"{A}/learnings", "Keep what an agent or a person concluded", _add_learning,
        Learning, "review", body=bodies.NewLearning, status=201, blames="because", answers=(404, 409)),
    Operation("list_learnings", "GET", "/learnings", "The learnings, oldest first", _list_learnings, list[Learning],
        query=bodies.LearningsQuery),
    Operation("get_learning", "GET", "/learnings/{learning}", "One learning", _get_learning, Learning,
        query=bodies.TenantQuery, answers=(404,)),
    Operation("verify_learning", "POST", "/learnings/{learning}/verify", "Stand behind what a model concluded",
        _verify_learning, Learning, "review", body=bodies.Review, answers=(404, 409)),
)  # fmt: skip
