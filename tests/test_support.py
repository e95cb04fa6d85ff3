"""The pure heart against an answer-set solver and against brute force, on random graphs with cycles."""

from __future__ import annotations

import os
from itertools import combinations

import clingo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.impact import Change, Reach, Reached, assess
from engine.rules import Case, last_support_lost, local_groups, reachable, touch_one_flag_all
from engine.states import State
from engine.support import Ground, Node, Way, origins_behind, single_points, smallest_witness, supported

NAMES = [f"c_{n}" for n in range(5)] + [f"d_{n}" for n in range(5)]
ORIGINS = ["o1", "o2", "o3"]


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Node]:
    graph = {}
    for name in NAMES[: draw(st.integers(2, len(NAMES)))]:
        others = [other for other in NAMES if other != name]
        grounds = []
        if name.startswith("c_"):
            for n in range(draw(st.sampled_from([0, 1, 1, 2]))):
                needs = draw(st.sets(st.sampled_from(ORIGINS), min_size=1, max_size=2))
                grounds.append(
                    Ground(f"{name}/e{n}", f"s{n}", frozenset(needs), draw(st.sampled_from([True, True, False])))
                )
        ways = [
            Way(f"{name}/w{n}", frozenset(draw(st.sets(st.sampled_from(others), min_size=1, max_size=3))))
            for n in range(draw(st.integers(0, 3)))
        ]
        graph[name] = Node(name, draw(st.sampled_from([True, True, True, False])), tuple(grounds), tuple(ways))
    return graph


def by_clingo(graph: dict[str, Node]) -> set[str]:
    """The same, as an answer-set program: its one stable model is the least fixed point."""
    rules = []
    for node in graph.values():
        if not node.open:
            continue
        rules += [f'up("{node.id}").' for ground in node.grounds if ground.standing]
        for way in node.ways:
            rules.append(
                f'up("{node.id}") :- ' + ", ".join(f'up("{premise}")' for premise in sorted(way.premises)) + "."
            )
    control = clingo.Control(["--warn=none"])
    control.add("base", [], "\n".join(rules) + "\n#show up/1.")
    control.ground([("base", [])])
    found: set[str] = set()
    control.solve(on_model=lambda model: found.update(atom.arguments[0].string for atom in model.symbols(shown=True)))
    return found


def check_against_references(graph: dict[str, Node]) -> None:
    standing = supported(graph)
    assert standing == by_clingo(graph)
    claims = {name for name in graph if name.startswith("c_")}
    points = single_points(graph, claims, graph)
    for name in graph:
        if name not in standing:
            assert points[name].all == []
            continue
        without = {c for c in claims - {name} if name not in by_clingo(graph | {c: graph[c].with_(open=False)})}
        assert set(points[name].claims) == without
        lonely = set()
        for origin in ORIGINS:
            fewer = {
                n: node.with_(
                    grounds=tuple(g._replace(standing=g.standing and origin not in g.origins) for g in node.grounds)
                )
                for n, node in graph.items()
            }
            if name not in by_clingo(fewer):
                lonely.add(origin)
        assert set(points[name].origins) == lonely
        assert lonely <= origins_behind(graph, name, standing)
        witness, exact = smallest_witness(graph, name, standing)
        assert exact
        assert witness_holds(graph, set(witness), name)
        backed = [c for c in claims if any(g.standing for g in graph[c].grounds) and graph[c].open]
        smaller = [set(s) for s in combinations(backed, len(witness) - 1)]
        assert not any(witness_holds(graph, s, name) for s in smaller)


def witness_holds(graph: dict[str, Node], witness: set[str], name: str) -> bool:
    only = {n: node if n in witness else node.with_(grounds=()) for n, node in graph.items()}
    return name in by_clingo(only)


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_support_fragility_and_witnesses_are_right(graph: dict[str, Node]) -> None:
    check_against_references(graph)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_support_is_right_on_twenty_thousand_graphs() -> None:
    @settings(max_examples=int(os.environ.get("CORRIGENDA_GRAPHS", "20000")), deadline=None)
    @given(graphs())
    def run(graph: dict[str, Node]) -> None:
        assert supported(graph) == by_clingo(graph)
        check_a_correction(graph, next(iter(graph)))

    run()


def check_a_correction(graph: dict[str, Node], corrected: str) -> None:
    standing = by_clingo(graph)
    after = by_clingo(graph | {corrected: graph[corrected].with_(open=False)})
    expected = standing - after - {corrected}
    case = Case(graph, frozenset({corrected}))
    assert last_support_lost(case) == expected
    assert expected <= reachable(case) == touch_one_flag_all(case)
    states = {n: State("current" if n.startswith("c_") else "standing", n in standing) for n in graph}
    in_reach = reachable(case) | {corrected}
    reach = Reach(
        {
            n: Reached(n, "Claim" if n.startswith("c_") else "Decision", n, states[n], graph[n])
            for n in in_reach
            if n in graph
        },
        {n: states[n] for n in graph if n not in in_reach},
    )
    outcome = assess(reach, Change(statuses={corrected: "superseded"}), 2)
    tiers = {fate.id: fate.tier for fate in outcome.fates.values()}
    assert {n for n, tier in tiers.items() if tier == "needs_review"} == expected
    for name, fate in outcome.fates.items():
        if name == corrected:
            assert fate.tier is None
            continue
        held = [w for w in graph[name].ways if w.premises <= standing] if graph[name].open else []
        holds = [w for w in graph[name].ways if w.premises <= after] if graph[name].open else []
        if name in after:
            assert fate.tier == ("weakened" if len(holds) < len(held) else "untouched")
        assert fate.path[0] == corrected
        assert fate.path[-1] == name
        for above, below in zip(fate.path, fate.path[1:], strict=False):
            assert any(above in way.premises for way in graph[below].ways)
            if name in expected:
                assert below in expected, "the path that carried the loss runs through what lost its support"


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_every_node_in_reach_is_in_its_tier(graph: dict[str, Node]) -> None:
    for name in list(graph)[:3]:
        if graph[name].open:
            check_a_correction(graph, name)


def test_nodes_that_hold_up_only_each_other_are_not_supported() -> None:
    ring = {
        "d_1": Node("d_1", ways=(Way("a", frozenset({"d_2"})), Way("b", frozenset({"c_1"})))),
        "d_2": Node("d_2", ways=(Way("c", frozenset({"d_1"})),)),
        "c_1": Node("c_1", grounds=(Ground("e", "s", frozenset({"s"})),)),
    }
    assert supported(ring) == {"c_1", "d_1", "d_2"}
    case = Case(ring, frozenset({"c_1"}))
    assert last_support_lost(case) == {"d_1", "d_2"}
    assert local_groups(case) == set(), "without the check for cycles the ring stays up"


def test_two_claims_of_one_origin_make_nothing_robust() -> None:
    graph = {
        "c_1": Node("c_1", grounds=(Ground("e1", "s1", frozenset({"wire"})),)),
        "c_2": Node("c_2", grounds=(Ground("e2", "s2", frozenset({"wire"})),)),
        "d_1": Node("d_1", ways=(Way("a", frozenset({"c_1"})), Way("b", frozenset({"c_2"})))),
    }
    (fragility,) = single_points(graph, {"c_1", "c_2"}, ["d_1"]).values()
    assert fragility.claims == ()
    assert fragility.origins == ("wire",)
