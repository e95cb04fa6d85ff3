"""Corrections: those of all agents, and what is done about one of them."""

from __future__ import annotations

from typing import Final

from engine.correction_records import Correction, CorrectionPage, CorrectionStats
from engine.http import bodies
from engine.http.agent_operations import Searched, page, searched, stats
from engine.http.operations import Asked, Operation


def _list_corrections(asked: Asked) -> CorrectionPage:
    return page(asked, asked.asker.agent(asked.query.agent_name))


def _correction_stats(asked: Asked) -> CorrectionStats:
    return stats(asked, asked.asker.agent(asked.query.agent_name))


def _search(asked: Asked) -> Searched:
    return searched(asked, asked.query, asked.query.agent_name)


def _search_by_body(asked: Asked) -> Searched:
    return searched(asked, asked.body, asked.body.agent_name)


def _get_correction(asked: Asked) -> Correction:
    return asked.asker.correction(asked.path["correction"], asked.query.tenant_id)


def _approve(asked: Asked) -> Correction:
    who, given = asked.asker, asked.body
    found = who.correction(asked.path["correction"], given.tenant_id)
    who.may_change(found)
    return who.workspace.corrections.approve(
        found.id,
        who.reviewer(given.reviewer),
        invalidate_contradicted=given.invalidate_contradicted,
        caller=who.gate(given.tenant_id),
    )


def _revert(asked: Asked) -> Correction:
    who, given = asked.asker, asked.body
    found = who.correction(asked.path["correction"], given.tenant_id)
    who.may_change(found)
    return who.workspace.corrections.revert(
        found.id, who.reviewer(given.reviewer), given.reason or "", caller=who.gate(given.tenant_id)
    )


ONE: Final = "/corrections/{correction}"
OPERATIONS: Final = (
    Operation("list_corrections", "GET", "/corrections", "The corrections, newest first", _list_corrections,
        CorrectionPage, query=bodies.AllPageQuery),
    Operation("correction_stats", "GET", "/corrections/stats", "What the corrections come to", _correction_stats,
        CorrectionStats, query=bodies.AllFilters),
    Operation("search_corrections", "GET", "/corrections/search", "The corrections that matter for a query", _search,
        Searched, query=bodies.AllSearchQuery),
    Operation("search_corrections_by_body", "POST", "/corrections/search",
        "The same, for a query that is too long for an address", _search_by_body, Searched, body=bodies.Search),
    Operation("get_correction", "GET", ONE, "One correction", _get_correction, Correction, query=bodies.TenantQuery,
        answers=(404,)),
    Operation("approve_correction", "POST", f"{ONE}/approve", "Let a pending correction take effect", _approve,
        Correction, "review", body=bodies.Approval, answers=(404, 409)),
    Operation("revert_correction", "POST", f"{ONE}/revert", "Take a correction back", _revert, Correction, "review",
        body=bodies.Review, answers=(404, 409)),
)  # fmt: skip
