# SPDX-License-Identifier: BSD-3-Clause
"""Options that take lists with commas: given several times, their lists add up."""

from __future__ import annotations

from typing import Any

import click


class ListOption(click.Option):
    """`--size 8,64 --size 4K` is `--size 8,64,4K`."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        parser.add_option(obj=self, opts=self.opts, dest=self.name, action="append", nargs=1)

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        return super().type_cast_value(ctx, ",".join(value) if isinstance(value, list) else value)
