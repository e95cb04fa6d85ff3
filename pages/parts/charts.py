"""Charts: readable in light and dark, and never by colour alone; every one has a table beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

import altair as alt
import pandas as pd
import streamlit as st

from pages.parts.words import counted, short

TOP: Final = 15
DAYS: Final = 7
"""A chart over time shows at least so many days, so that one day is no wall of colour."""

FEW: Final = 10
"""Up to so many days each shows its interval as a bar too; a band alone is nothing where there is one day."""

# Each has a contrast of at least 3 to 1 on the light and on the dark background.
BLUE: Final = "#4a86c8"
AMBER: Final = "#c07d12"
RED: Final = "#d0554a"
GREEN: Final = "#3a9a68"
GREY: Final = "#808a96"
MARGIN: Final = 44  # of the vertical axis, so that charts above one another are aligned


def days(first: str, last: str) -> list[str]:
    """Return every day from first to last as ISO texts, at least `DAYS` of them."""
    end = pd.Timestamp(last)
    start = min(pd.Timestamp(first), end - pd.Timedelta(days=DAYS - 1))
    return [day.date().isoformat() for day in pd.date_range(start, end, freq="D")]


def _over_days(span: Sequence[str], labels: bool = True) -> alt.X:
    return alt.X(
        "day:O",
        scale=alt.Scale(domain=list(span)),
        axis=alt.Axis(
            title=None,
            labels=labels,
            labelAngle=0,
            labelOverlap="greedy",
            labelSeparation=12,
            labelExpr="utcFormat(toDate(datum.value), '%d %b')",
            ticks=labels,
        ),
    )


def accuracy_chart(frame: pd.DataFrame) -> None:
    """Show first-pass accuracy by day with its interval, above the runs that it is counted over."""
    span = days(str(frame["day"].min()), str(frame["day"].max()))
    shown = frame.assign(right=frame["runs"] - frame["corrected_runs"])
    tooltip = [
        alt.Tooltip("day:N", title="day"),
        alt.Tooltip("first_pass_accuracy:Q", title="accuracy", format=".0%"),
        alt.Tooltip("low:Q", title="at least (95 %)", format=".0%"),
        alt.Tooltip("high:Q", title="at most (95 %)", format=".0%"),
        alt.Tooltip("runs:Q", title="runs"),
        alt.Tooltip("corrected_runs:Q", title="corrected"),
    ]
    share = alt.Axis(format="%", title=None, minExtent=MARGIN, maxExtent=MARGIN, values=[0, 0.25, 0.5, 0.75, 1])
    base = alt.Chart(shown).encode(x=_over_days(span, labels=False))
    level = alt.Y("first_pass_accuracy:Q", scale=alt.Scale(domain=[0, 1]), axis=share)
    band = base.mark_area(opacity=0.2, color=BLUE).encode(y=alt.Y("low:Q", axis=share), y2="high:Q")
    bars = base.mark_rule(color=BLUE, strokeWidth=2, opacity=0.6).encode(y=alt.Y("low:Q", axis=share), y2="high:Q")
    line = base.mark_line(color=BLUE, strokeWidth=2.5).encode(y=level)
    few = len(shown) <= FEW
    points = base.mark_circle(color=BLUE, size=90 if few else 36, opacity=1).encode(y=level, tooltip=tooltip)
    st.altair_chart(
        ((band + bars if few else band) + line + points).properties(height=220),
        width="stretch",
        alt="First-pass accuracy by day, with its 95 % interval",
    )
    counts = shown.melt(["day"], ["right", "corrected_runs"], "what", "number")
    counts["what"] = counts["what"].map({"right": "right at once", "corrected_runs": "corrected"})
    counts["place"] = counts["what"].map({"right at once": 0, "corrected": 1})
    colours = {"right at once": GREY, "corrected": RED}
    _legend(colours)
    runs = (
        alt.Chart(counts)
        .mark_bar()
        .encode(
            x=_over_days(span),
            y=alt.Y(
                "number:Q",
                axis=alt.Axis(title=None, minExtent=MARGIN, maxExtent=MARGIN, tickCount=3, tickMinStep=1, format="d"),
            ),
            color=_colours(colours),
            order="place:Q",
            tooltip=[alt.Tooltip("day:N"), alt.Tooltip("what:N", title="runs"), alt.Tooltip("number:Q")],
        )
        .properties(height=140)
    )
    st.altair_chart(runs, width="stretch", alt="Runs by day: right at once, and corrected")


def _colours(colours: Mapping[str, str]) -> alt.Color:
    return alt.Color("what:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=None)


def _legend(colours: Mapping[str, str]) -> None:
    """Say what the colours mean, on as many lines as it takes: a legend inside a chart is cut off on a phone."""
    st.html(
        '<div style="display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;font-size:.85rem">'
        + "".join(
            f'<span><span style="display:inline-block;width:.75rem;height:.75rem;border-radius:2px;'
            f'background:{colour}"></span> {escape(name)}</span>'
            for name, colour in colours.items()
        )
        + "</div>"
    )


def day_chart(by_day: Mapping[str, int], noun: str) -> None:
    """Show a number by day."""
    span = days(min(by_day), max(by_day))
    frame = pd.DataFrame({"day": list(by_day), "number": list(by_day.values())})
    chart = (
        alt.Chart(frame)
        .mark_bar(color=BLUE)
        .encode(
            x=_over_days(span),
            y=alt.Y(
                "number:Q",
                axis=alt.Axis(title=None, minExtent=MARGIN, maxExtent=MARGIN, tickCount=4, tickMinStep=1, format="d"),
            ),
            tooltip=[alt.Tooltip("day:N"), alt.Tooltip("number:Q", title=noun)],
        )
        .properties(height=180)
    )
    st.altair_chart(chart, width="stretch", alt=f"{noun.capitalize()} by day")


def top_chart(counts: Mapping[str, int], noun: str) -> None:
    """Show the most frequent names as bars, each with its number, and what the rest comes to."""
    rows = [{"name": name, "number": number} for name, number in list(counts.items())[:TOP]]
    rest = list(counts.values())[TOP:]
    # The key keeps two long names apart that are cut to the same text.
    frame = pd.DataFrame(rows).assign(key=range(len(rows)), label=[short(str(row["name"]), 28) for row in rows])
    labels = dict(enumerate(frame["label"]))
    base = alt.Chart(frame).encode(
        y=alt.Y("key:O", sort=None, axis=_names(labels)),
        x=alt.X("number:Q", axis=None, scale=alt.Scale(domain=[0, max(frame["number"]) * 1.18])),
        tooltip=[alt.Tooltip("name:N", title=noun), alt.Tooltip("number:Q", title="corrections")],
    )
    bars = base.mark_bar(cornerRadiusEnd=3, color=BLUE)
    numbers = base.mark_text(align="left", dx=5, color=GREY, fontSize=12).encode(text=alt.Text("number:Q", format=","))
    st.altair_chart(
        (bars + numbers).properties(height=28 * len(rows) + 12), width="stretch", alt=f"Corrections by {noun}"
    )
    if rest:
        st.caption(f"{counted(sum(rest), 'correction')} of {len(rest):,} others in the table.")


def _names(labels: Mapping[int, str]) -> alt.Axis:
    """An axis that shows names as they are: they are data here, and never part of an expression."""
    return alt.Axis(
        title=None,
        ticks=False,
        domain=False,
        labelLimit=170,
        labelExpr=f"({_literal(labels)})[datum.value]",
    )


def _literal(labels: Mapping[int, str]) -> str:
    """Return names as an array of a Vega expression in which nothing but plain text can stand."""
    inside = ", ".join('"' + "".join(_escaped(c) for c in label) + '"' for label in labels.values())
    return f"[{inside}]"


def _escaped(character: str) -> str:
    if (character.isascii() and character.isalnum()) or character == " ":
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def stacked_chart(frame: pd.DataFrame, labels: Sequence[str], colours: Mapping[str, str], noun: str) -> None:
    """Show rows of parts: `frame` has row, what, number; `labels` names the rows. Each part has its number on it."""
    order = {name: place for place, name in enumerate(colours)}
    shown = frame.assign(place=frame["what"].map(order), name=[labels[row] for row in frame["row"]])
    shown = shown[shown["number"] > 0].sort_values(["row", "place"])
    shown["middle"] = shown.groupby("row")["number"].cumsum() - shown["number"] / 2
    axis = _names({number: short(label, 28) for number, label in enumerate(labels)})
    tooltip: list[Any] = [alt.Tooltip("name:N", title=noun), alt.Tooltip("what:N"), alt.Tooltip("number:Q")]
    y = alt.Y("row:O", sort=None, scale=alt.Scale(domain=list(range(len(labels)))), axis=axis)
    base = alt.Chart(shown).encode(y=y, tooltip=tooltip)
    bars = base.mark_bar().encode(x=alt.X("number:Q", axis=None), color=_colours(colours), order=alt.Order("place:Q"))
    _legend(colours)
    numbers = base.mark_text(color="white", fontSize=11, fontWeight="bold").encode(x="middle:Q", text="number:Q")
    st.altair_chart(
        (bars + numbers).properties(height=32 * len(labels) + 24), width="stretch", alt=f"By {noun}, in parts"
    )
