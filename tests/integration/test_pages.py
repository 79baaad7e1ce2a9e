# SPDX-License-Identifier: BSD-3-Clause
"""Every code block of a page that is marked `run` runs, and prints what the page shows."""

from __future__ import annotations

from pathlib import Path

import mpis
import pages
import pytest
from mpis import ROOT


def written(tmp_path: Path, text: str) -> pages.Page:
    path = tmp_path / "page.md"
    path.write_text(text)
    return pages.read(path)


PAGES = [
    page
    for page in (pages.read(path) for path in sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")]))
    if page.commands
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.path.relative_to(ROOT)))
def test_page(page: pages.Page, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--allow-missing") and not mpis.BY_NAME["openmpi5"].is_installed:
        pytest.skip("openmpi5 is not installed")
    outcomes = pages.run(page, tmp_path / "page")
    wrong = [text for outcome in outcomes if (text := pages.complaint(page, outcome))]
    assert not wrong, "\n".join(wrong)


SESSION = """# Title
<!-- run
$ mkdir -p sub && cd sub
$ export WORD=hello
-->

```c file=here/one.c
int main() {}
```

- In a list:

  ```console run
  $ echo $WORD; \\
  >   cat $HOME/../work/sub/here/one.c
  hello
  int main() {}
  $ echo "1 of 2 files, 4 KiB in 3 ms"
  7 of 9 files, 12 MiB in 1.5 s
  ```

```console run status=3
$ printf 'first\\nsecond\\nthird and more\\n'; (exit 0)
first
...
third ...
$ (exit 3)
```

```sh run
echo one
echo two
```

```text output
one
...
```

```console
$ never run
```
"""


def test_session_runs_in_one_shell(tmp_path: Path) -> None:
    page = written(tmp_path, SESSION)
    outcomes = pages.run(page, tmp_path / "page")
    assert len(outcomes) == 8
    assert [text for outcome in outcomes if (text := pages.complaint(page, outcome))] == []


@pytest.mark.parametrize(
    ("block", "says"),
    [
        ("```console run\n$ echo one\ntwo\n```", "--- it printed ---\none"),
        ("```console run\n$ echo one; echo two\none\n```", "--- it printed ---\none\ntwo"),
        ("```sh run\necho one\n```\n\n```text output\ntwo\n```", "--- it printed ---\none"),
        ("```console run\n$ false\n```", "ended with status 1, not 0"),
        ("```console run status=1\n$ true\n```", "ended with status 0, not 1"),
        ("```sh run\nfalse\ntrue\n```", "ended with status 1, not 0"),
        ("```console run\n$ exit 4\n$ echo later\n```", "or was never begun"),
    ],
)
def test_differences_are_found(block: str, says: str, tmp_path: Path) -> None:
    page = written(tmp_path, block)
    wrong = [pages.complaint(page, outcome) or "" for outcome in pages.run(page, tmp_path / "page")]
    assert says in "\n".join(wrong)


@pytest.mark.parametrize(
    ("block", "says"),
    [
        ("```console run\nno command\n```", "output before the first command"),
        ("```console run frob=1\n$ true\n```", "no such option of a block: frob=1"),
        ("```text output\none\n```", "output before the first command"),
        ("```c run\nint main() {}\n```", "a block of c needs file=NAME"),
    ],
)
def test_blocks_without_sense_are_refused(block: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(pages.PageError, match=says):
        written(tmp_path, block)


def test_unknown_fixture_is_refused(tmp_path: Path) -> None:
    page = written(tmp_path, "<!-- run fixture=nowhere -->\n")
    assert page.fixtures == ["nowhere"]
    with pytest.raises(pages.PageError, match="no fixture nowhere"):
        pages.run(page, tmp_path / "page")
