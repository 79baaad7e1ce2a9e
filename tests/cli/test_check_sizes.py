# SPDX-License-Identifier: BSD-3-Clause
"""What tools/check_sizes.py finds: what is too long, and what it cannot parse and so does not check."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import said_by_check

LONG = "  g();\n" * 59
MEMBERS = "".join(f"  int a{i};\n" for i in range(26))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.cc", 400 * "\n", None),
        ("a.cc", 401 * "\n", "src/base/a.cc has 401 lines (at most 400)"),
        ("a.cc", "void f() {\n" + LONG[7:] + "}\n", None),
        ("a.cc", "void f() {\n" + LONG + "}\n", "src/base/a.cc:f has 61 lines (at most 60)"),
        (
            "a.cc",
            "void A::f() UNISONO_REQUIRES(queues(a)) {\n" + LONG + "}\n",
            "src/base/a.cc:A::f has 61 lines (at most 60)",
        ),
        (
            "a.h",
            'class UNISONO_CAPABILITY("mutex") A {\n' + MEMBERS + "};\n",
            "src/base/a.h:A has 26 members (at most 25)",
        ),
        ("a.c", "static _Atomic(void*) a[4];\nstatic int* const b = {B(C)};\nvoid f(void) {\n}\n", None),
        ("a.h", '#ifdef __cplusplus\nextern "C" {\n#endif\nvoid f();\n#ifdef __cplusplus\n}\n#endif\n', None),
        (
            "a.cc",
            'int a = b<A>({\n#if B\n  {"c", [] { return d(); }, e},\n',
            "src/base/a.cc: cannot be parsed, so its functions are not checked",
        ),
        (
            "a.cc",
            "void f() {\n  g(;\n  if (a {\n}\n",
            "src/base/a.cc: line 4: what ends here cannot be parsed, so it is not checked",
        ),
    ],
)
def test_what_is_found(tmp_path: Path, name: str, text: str, said: str | None) -> None:
    assert said_by_check("check_sizes.py", tmp_path, {f"src/base/{name}": text}) == ([said] if said else [])
