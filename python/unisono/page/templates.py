# SPDX-License-Identifier: BSD-3-Clause
"""The templates of pages (page/assets)."""

from __future__ import annotations

from unisono.common.extras import jinja2


def environment() -> jinja2.Environment:
    """Where templates are found. What is filled in is escaped, and a name that there is not is an error."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("unisono", "page/assets"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
