# SPDX-License-Identifier: BSD-3-Clause
"""Pages of simulated calls, and of a source's figures beside them. Each is one file that loads nothing and runs no script."""

from __future__ import annotations

import importlib.resources
from collections.abc import Sequence
from typing import Any

from unisono import __version__
from unisono.page import colours, templates
from unisono.page.graph import Rectangle
from unisono.reporting import simulated_text
from unisono.reporting.simulated import Row

_WIDTH, _HEIGHT = 640.0, 240.0


def page_of_calls(answer: dict[str, Any]) -> str:
    bins = [] if simulated_text.is_one_time(answer) else answer["distribution"]["histogram"]
    most = max((count for *_, count in bins), default=0)
    wide = _WIDTH / max(1, len(bins))
    bars = [
        Rectangle(
            number * wide,
            _HEIGHT * (1 - count / most),
            max(1.0, wide - 1),
            _HEIGHT * count / most,
            1.0,
            f"{low:.4g} to {high:.4g} us: {count} calls",
        )
        for number, (low, high, count) in enumerate(bins)
    ]
    title = simulated_text.title(answer)
    return _render(
        title=title,
        facts=simulated_text.facts(answer),
        how=simulated_text.how(answer),
        bars=bars,
        ends=(f"{bins[0][0]:.4g} us", f"{bins[-1][0]:.4g} us and more") if bins else ("", ""),
        rows=[],
    )


def page_of_published(rows: Sequence[Row]) -> str:
    lines = [
        {
            "place": row.place,
            "what": row.what,
            "source": simulated_text.number(row.source, row.unit),
            "ours": simulated_text.number(row.ours, row.unit),
            "error": "" if row.error is None else f"{row.error:+.1%}",
            "allowed": "" if row.nearness is None else f"{row.nearness:.0%}",
            "verdict": simulated_text.verdict(row),
            "remark": row.remark,
        }
        for row in rows
    ]
    how = "Times on this page are a model's; nothing was measured here."
    return _render(
        title="NIC-based reduction (2003), beside virtual time",
        facts=[],
        how=how,
        bars=[],
        ends=("", ""),
        rows=lines,
    )


def _render(**values: Any) -> str:
    style = (importlib.resources.files("unisono") / "page/assets/page.css").read_text() + colours.css()
    template = templates.environment().get_template("simulated.html")
    return template.render(version=__version__, style=style, width=_WIDTH, height=_HEIGHT, **values)
