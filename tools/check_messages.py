# SPDX-License-Identifier: BSD-3-Clause
"""Finds what Unisono says to its users in the sources, and says which of it no page explains.

    tools/check_messages.py             # messages without a place in docs/, and places without a message; then status 1
    tools/check_messages.py --all       # prints all messages
    tools/check_messages.py --write     # writes docs/reference/messages.md anew: messages about what was asked

A message is a text of three words or more in the C and C++ sources whose messages reach users, or what a Python error is
made of. What is filled in is `...`. A page has a message when it has each of its pieces, word by word.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BY_HAND = "docs/troubleshooting.md"
GENERATED = "docs/reference/messages.md"
FILLED_IN = "..."

# What of src/ says nothing to users but results, reasons and pictures, which other pages explain.
NO_MESSAGES = re.compile(
    r"src/(algorithms|matching|traces|proof|pictures|measure|schedule|host)/|src/model/(built_in_machines|predict|virtual_time|measured_choices)"
    r"|src/tuning/(decisions/rules|learning/|tables/knowledge|tables/table_chooser)|src/tool/(list_command|mixed_mode)"
    r"|src/(front/help|launch/(flavours|detect|linked_mpi|run_options))|src/runtime/reports/(report_summary|job_profile)|src/adapter/profile/|src/base/ticks|src/runtime/learning/|src/base/(float_control|operations)|src/adapter/(below/family|host_interface/mpi_host)"
)
# Subjects of the generated page: messages that end a command, or leave out a file, and say themselves what to write instead.
SUBJECTS = {
    "Commands": r"python/unisono/.*|src/(tool|launch)/|src/front/(?!reports)",
    "Options and algorithms": r"src/base/option_|src/tuning/decisions/(algorithm_text|forced)",
    "Tables": r"src/tuning/tables/",
    "Machines": r"src/model/",
    "Layouts and switches": r"src/patterns/|src/runtime/world/found_switches",
    "JSON": r"src/base/json_text",
}
ASKED_WRONG = {"UsageError", "BadParameter", "TextError"}
ERRORS = {*ASKED_WRONG, "UnisonoError", "FileError", "NotFoundError", "NotExecutableError", "JobError"}


@dataclass(frozen=True)
class Message:
    """A text with what is filled in as `...`; `pieces` are what stands between."""

    file: str
    line: int
    text: str
    is_generated: bool

    def pieces(self) -> list[str]:
        return [piece for piece in map(plain, self.text.split(FILLED_IN)) if piece.count(" ") >= 2]


def plain(text: str) -> str:
    """A text as it is compared: without marks of Markdown, quotes and ends of lines."""
    text = re.sub(r"\\n|\s+", " ", text)
    text = re.sub(r"\\?\||[`'\"*]", "", text).removeprefix("unisono: ")
    return text.strip(" ,;:.()")


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)


def subject(file: str) -> str | None:
    return next((name for name, pattern in SUBJECTS.items() if re.match(pattern, file)), None)


def compiled_messages(root: Path) -> Iterator[Message]:
    for path in sorted((root / "src").rglob("*")):
        file = path.relative_to(root).as_posix()
        if path.suffix not in {".c", ".cc", ".h"} or NO_MESSAGES.match(file):
            continue
        for line, text in compiled_texts(without_lists(path.read_text())):
            if is_message(text):
                yield Message(file, line, text, subject(file) is not None)


def is_message(text: str) -> bool:
    """Descriptions and help begin with a capital letter and end as sentences do; formats for reading have no words."""
    words = re.sub(r"%[a-z*0-9.]+|[^A-Za-z ]", " ", text.replace(FILLED_IN, " ")).split()
    is_sentence = text[:1].isupper() and text.rstrip().endswith(".")
    is_usage = text.startswith("usage:") or "{" in text
    return (
        len(words) >= 3
        and not (is_sentence or is_usage)
        and any(piece.strip().count(" ") >= 2 for piece in text.split(FILLED_IN))
    )


WORDS = re.compile(r'\bconstexpr std::string_view \w+ =((?:\s*"[A-Za-z0-9 -]*")+);')


def without_lists(source: str) -> str:
    """Without constants of words in the order of the alphabet: they list options of launchers."""

    def blank(constant: re.Match[str]) -> str:
        words = re.sub(r'"\s*"|"', "", constant[1]).split()
        return "\n" * constant[0].count("\n") + ";" if words == sorted(words) else constant[0]

    return WORDS.sub(blank, source)


def compiled_texts(source: str) -> Iterator[tuple[int, str]]:
    """The literals of a C or C++ file, those of one statement as one text."""
    line = 0
    text = ""
    last = -1
    for match in TOKEN.finditer(source):
        literal = match.group()
        if literal[0] != '"' or source[: match.start()].rsplit("\n", 1)[-1].lstrip().startswith("#include"):
            continue
        between = source[last : match.start()] if last >= 0 else ";"
        code = TOKEN.sub("", between)
        content = re.sub(r"%[-+ #0-9.*]*(?:hh|h|ll|l|z|j)?[a-zA-Z]", FILLED_IN, literal[1:-1]).replace(
            '\\"', '"'
        )
        if re.match(r"\s*,", code) or re.search(r"[;{}]|\breturn\b", code) or len(code) > 400:
            if text:
                yield line, text + continued(source[last:])
            line, text = source.count("\n", 0, match.start()) + 1, content
        else:
            text += ("" if not code.strip() else FILLED_IN) + content
        last = match.end()
    if text:
        yield line, text + continued(source[last:])


def continued(rest: str) -> str:
    return FILLED_IN if re.match(r"\s*\+", rest) else ""


def python_messages(root: Path) -> Iterator[Message]:
    for path in sorted((root / "python/unisono").rglob("*.py")):
        file = path.relative_to(root).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ERRORS or is_for_standard_error(node):
                for text in texts_of(node.args[:1]):
                    if is_message(text):
                        yield Message(file, node.lineno, text, name in ASKED_WRONG)


def is_for_standard_error(call: ast.Call) -> bool:
    return any(
        (one.arg == "err" and isinstance(one.value, ast.Constant) and one.value.value is True)
        or (one.arg == "file" and ast.unparse(one.value) == "sys.stderr")
        for one in call.keywords
    )


def texts_of(nodes: Iterable[ast.expr]) -> Iterator[str]:
    """The texts that an expression may be: both of a choice, with what is filled in as `...`."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(
                part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else FILLED_IN
                for part in node.values
            )
        elif isinstance(node, ast.BinOp):
            left, right = list(texts_of([node.left])), list(texts_of([node.right]))
            yield "".join((*(left[:1] or [FILLED_IN]), *(right[:1] or [FILLED_IN])))
        elif isinstance(node, ast.IfExp):
            yield from texts_of([node.body, node.orelse])
        elif isinstance(node, ast.Call):
            yield from texts_of(node.args[:1])


def messages(root: Path = ROOT) -> list[Message]:
    found = {(one.file, one.text): one for one in (*compiled_messages(root), *python_messages(root))}
    return list(found.values())


def without_a_place(found: Iterable[Message], pages: str) -> Iterator[str]:
    """Messages of which a piece stands on no page."""
    known = plain(pages)
    for one in found:
        lacking = [piece for piece in one.pieces() if piece not in known]
        if lacking:
            page = (
                f"write it with: tools/check_messages.py --write ({GENERATED})"
                if one.is_generated
                else BY_HAND
            )
            yield f"{one.file}:{one.line}: no page has '{' ... '.join(lacking)}'; its place is {page}"


def without_a_message(page: str, root: Path) -> Iterator[str]:
    """What the tables of the page say of messages that are no longer in the sources."""
    files = (path for folder in ("src", "python/unisono") for path in sorted((root / folder).rglob("*.*")))
    sources = " ".join(path.read_text() for path in files if path.suffix in {".c", ".cc", ".h", ".py"})
    # Literals may go on in the next line, or after what is filled in.
    known = plain(re.sub(r"%[a-z]+|\{[^{};\"\n]*\}", FILLED_IN, re.sub(r'"\s*f?"', "", sources)))
    for first in re.findall(r"^\| (`[^|]+) \|", page, re.MULTILINE):
        for span in re.findall(r"`([^`]+)`", first):
            pieces = [plain(piece) for piece in re.split(r"\.\.\.|[;:,()]|'", span)]
            gone = [
                piece
                for piece in pieces
                if piece.count(" ") >= 2 and not any(run in known for run in runs(piece))
            ]
            if gone:
                yield f"{BY_HAND}: no message has '{' ... '.join(gone)}' any more"


def runs(piece: str) -> Iterator[str]:
    """Each three words that follow each other: a message may be made of several literals."""
    words = piece.split()
    return (" ".join(words[first : first + 3]) for first in range(len(words) - 2))


HEAD = """# Messages about what was asked

<!-- Written by tools/check_messages.py --write from the sources; change it there. -->

These messages say themselves what to write instead; [troubleshooting](../troubleshooting.md) explains all others.
What is filled in is `...`.
A command that prints one of them ends with status 2; `unisono table check`, which looks for them, with 1.
A job goes on without the option, rule or file that the message names.
"""


def generated_page(all_messages: Iterable[Message]) -> str:
    by_subject: dict[str, list[str]] = {name: [] for name in SUBJECTS}
    for one in all_messages:
        if one.is_generated:
            by_subject[subject(one.file) or "Commands"].append(shown(one.text))
    parts = [HEAD]
    for name, texts in by_subject.items():
        lines = sorted(set(texts), key=lambda text: (plain(text).lower(), text))
        parts.append(f"## {name}\n\n```text\n" + "\n".join(lines) + "\n```\n")
    return "\n".join(parts)


def shown(text: str) -> str:
    """A message as a line of at most 120 columns, and those after it indented."""
    text = re.sub(r"^(\w*\.\.\.)+(?=.{8})", FILLED_IN, text.replace("\\n", " ").replace("\n", " "))
    words = re.sub(r"(\.\.\.)+", FILLED_IN, text).split()
    lines = [""]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > 116:
            lines.append("   ")
        lines[-1] += (" " if lines[-1].strip() else "") + word
    return "\n".join(line.rstrip() for line in lines)


def complaints(found: list[Message]) -> Iterator[str]:
    texts = {
        page: (ROOT / page).read_text() if (ROOT / page).is_file() else "" for page in (BY_HAND, GENERATED)
    }
    yield from without_a_place(found, "\n".join(texts.values()))
    yield from without_a_message(texts[BY_HAND], ROOT)
    if texts[GENERATED] != generated_page(found):
        yield f"{GENERATED} differs from what the sources say: tools/check_messages.py --write"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", action="store_true", help="print all messages")
    parser.add_argument("--write", action="store_true", help=f"write {GENERATED}")
    arguments = parser.parse_args()
    found = messages()
    if arguments.write:
        (ROOT / GENERATED).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / GENERATED).write_text(generated_page(found))
        return 0
    if arguments.all:
        print("\n".join(f"{one.file}:{one.line}: {one.text}" for one in found))
        return 0
    said = list(complaints(found))
    print("\n".join(said), end="\n" if said else "")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
