"""Documents: a folder of Markdown pages whose statements carry a tag such as [D-102] and say the rest in plain sentences (rule F1).

`owners.md` lists who owns what, `policy.md` says how disagreements are settled, `checklist.md` which concepts are expected; every other
page holds statements. docs/forms_catalogue_documents.md has the grammar.
"""

from __future__ import annotations

from pathlib import Path

from governed_memory.errors import InputError, shown
from governed_memory.overlay.forms.json_file import text_of, write_text
from governed_memory.overlay.forms.pages.checklist import concepts_on, policy_on
from governed_memory.overlay.forms.pages.markdown import blocks_of
from governed_memory.overlay.forms.pages.owners import Owners
from governed_memory.overlay.forms.pages.statements import Statement, statements_on
from governed_memory.overlay.forms.pages.template import pages
from governed_memory.overlay.forms.store import FormStore

OWNERS, POLICY, CHECKLIST = "owners", "policy", "checklist"
ENDINGS = (".md", ".markdown")


def read(path: Path) -> FormStore:
    """The statements of a folder of pages, in the order of the pages' names; or of one page of statements.

    A statement with a sentence that cannot be read is left out whole, with a notice: without its release it would be open to everybody.

    Raises:
        InputError: there are no pages, or one cannot be read.
    """
    notices: list[str] = []
    statements: list[Statement] = []
    owners = Owners()
    policy: str | None = None
    expected: tuple[str, ...] = ()
    for page in _pages(path):
        blocks, text = blocks_of(page), text_of(page)
        kind = page.stem.lower() if page.parent == path else ""
        if kind == OWNERS:
            owners.add(blocks, str(page), notices)
        elif kind == POLICY:
            policy = policy_on(blocks, text)
        elif kind == CHECKLIST:
            expected = concepts_on(blocks, str(page), notices)
        else:
            statements += statements_on(blocks, str(page), notices)
    _report_repeated_tags(statements, notices)
    owners.report_unused(statements, notices)
    return FormStore([owners.given(statement) for statement in statements], policy, expected, notices)


def write(store: FormStore, path: Path) -> None:
    """Write pages into a folder that is new or empty: what stands there already would be read as part of the store.

    Raises:
        InputError: the path is a file or a folder with something in it, or a record cannot be written.
    """
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise InputError(f"{path}: is {'a file' if path.is_file() else 'a folder with something in it'}; pages are written into a new or empty folder")
    texts = pages(store)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be made: {error.strerror}") from error
    for name, text in texts.items():
        write_text(path / f"{name}.md", text)


def _pages(path: Path) -> list[Path]:
    if not path.exists():
        raise InputError(f"{path}: no such folder or page; expected a folder of Markdown pages")
    found = sorted(page for page in path.rglob("*") if page.suffix.lower() in ENDINGS and page.is_file()) if path.is_dir() else [path]
    if not found or (path.is_file() and path.suffix.lower() not in ENDINGS):
        raise InputError(f"{path}: holds no Markdown page, whose name ends in .md; expected a folder of pages, or one page of statements")
    return found


def _report_repeated_tags(statements: list[Statement], notices: list[str]) -> None:
    first: dict[str, Statement] = {}
    for statement in statements:
        tag = statement.record.get("record_id")
        if isinstance(tag, str) and first.setdefault(tag, statement) is not statement:
            notices.append(f"{statement.place}: the tag {shown(tag)} stands already in {first[tag].place}; both are read, and reads refuse both")
