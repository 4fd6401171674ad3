"""F1: documents, Markdown pages of tagged statements in plain sentences."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from awkward_records import STORES, plain, same
from hypothesis import HealthCheck, given, settings

from governed_memory.errors import InputError
from governed_memory.overlay.forms import documents
from governed_memory.overlay.forms.store import FormStore


def test_f1_documents_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "pages"

    @settings(max_examples=80, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(STORES)
    def holds(store: FormStore) -> None:
        shutil.rmtree(path, ignore_errors=True)
        documents.write(store, path)
        again = documents.read(path)
        assert same(again, store)

    holds()


DOCS = Path(__file__).parents[2] / "docs/forms_catalogue_documents.md"


def read_pages(folder: Path, **pages: str) -> FormStore:
    folder.mkdir(exist_ok=True)
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return documents.read(folder)


def said(store: FormStore, folder: Path) -> list[str]:
    return [notice.replace(f"{folder}/", "") for notice in store.notices]


def test_f1_the_pages_that_the_documentation_shows_say_what_it_says(tmp_path: Path) -> None:
    shown = re.findall(r"`(\w+)\.md`:\n\n```markdown\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    store = read_pages(tmp_path / "pages", **dict(shown))
    revenue = {"concept": "net_revenue", "valid_from": "2026-01-01", "concept_owner": "finance", "owner_role": "Head of Finance"}
    assert store.records == [
        {**revenue, "record_id": "D-101", "value": "Net revenue is the invoiced amount.", "valid_from": "2024-01-01", "valid_to": None, "source": "FIN-H-02"},
        {
            **revenue, "record_id": "D-102", "value": "Net revenue is the invoiced amount less returns.", "valid_to": "2026-06-30", "source": "FIN-H-05",
            "supersedes": "D-101", "release_to": ["board", "legal", "audit"], "applies_to": ["external"], "does_not_apply_to": ["internal"],
        },
        {"record_id": "D-103", "concept": "target", "value": "42 million euro", "valid_from": "2026-01-01", "valid_to": None, "concept_owner": "sales"},
    ]  # fmt: skip
    assert store.conflict_policy == "The record of the concept's owner stands; of two by one owner the later."
    assert store.expected_concepts == ("net_revenue", "churn")
    assert store.notices == []


READ = {
    # name of the case: (page, record without the tag)
    "only_a_value": ("[D-1] Net revenue is net.", {"value": "Net revenue is net."}),
    "no_value": ("[D-1] In force from 2026-01-01.", {"valid_from": "2026-01-01"}),
    "nothing": ("[D-1]", {}),
    "an_end_alone": ("[D-1] x; in force to 2026-01-01.", {"value": "x", "valid_to": "2026-01-01"}),
    "wrapped": ("[D-1] One\ntwo. In\nforce from\n2026-01-01 until further\nnotice. Source:\nF-1.", {"value": "One two.", "valid_from": "2026-01-01", "valid_to": None, "source": "F-1"}),
    "markup_in_a_value": ("[D-1] **Net** `a` _b_ [c](d) \\*.", {"value": "**Net** `a` _b_ [c](d) *."}),
    "a_quoted_value": ('[D-1] `"Source: a.\\nb"`. Source: c.', {"value": "Source: a.\nb", "source": "c"}),
    "code_that_is_no_quote": ("[D-1] `x`. Source: c.", {"value": "`x`.", "source": "c"}),
    "a_stop_before_a_quote": ('[D-1] It is "net." Source: c.', {"value": 'It is "net."', "source": "c"}),
    "links": ("[D-1] x. Replaces [D-2](other.md#d-2), [D-3] and [D-4]. Source: https://x.example/a.b?c=d.", {"value": "x.", "supersedes": ["D-2", "D-3", "D-4"], "source": "https://x.example/a.b?c=d"}),
    "a_name_with_and": ('[D-1] Released to legal, `"sales and marketing"`, and board.', {"release_to": ["legal", "sales and marketing", "board"]}),
    "nobody_and_nothing": ("[D-1] Released to nobody. Replaces nothing. Governs no questions. Leaves out no questions.", {"release_to": [], "restricted": True, "supersedes": None, "applies_to": [], "does_not_apply_to": []}),
    "an_empty_list": ("[D-1] Also `release_to` is `[]`.", {"release_to": []}),
    "prose_that_is_no_release": ("[D-1] What was released to the press is restricted to no one. Releases are monthly.", {"value": "What was released to the press is restricted to no one. Releases are monthly."}),
    "other_keys": ('[D-1] Also `classification` is `"secret"`. Also `"a\\"b"` is `[1]`.', {"classification": "secret", 'a"b': [1]}),
    "in_a_quotation": ("> [D-1] x.", {"value": "x."}),
    "escaped": ("[D-1] A \\[D-2\\] &amp; b\\.", {"value": "A [D-2] & b."}),
    "a_date_for_the_rules": ("[D-1] In force from 2026-02-30 to 2026-1-1.", None),
    "an_odd_date": ("[D-1] In force from 2026-02-30 to `\"soon\"`.", {"valid_from": "2026-02-30", "valid_to": "soon"}),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_f1_a_statement_reads_as_its_sentences_say(case: str, tmp_path: Path) -> None:
    page, record = READ[case]
    store = read_pages(tmp_path / "pages", a=page)
    assert [plain(record) for record in store.records] == ([] if record is None else [{"record_id": "D-1", **record}])
    assert bool(store.notices) == (record is None)


def test_f1_what_is_no_statement_is_not_read(tmp_path: Path) -> None:
    """F1: a tag that stands where no statement begins is told."""
    page = """# [D-1] A heading

Prose about [D-2]. Source: x.

```sql
select 1
[D-3] secret
```

    [D-4] secret

<!-- [D-5] secret -->

<div>
<b>[D-6]</b> secret
</div>

**[D-7]** secret
**[D-8]** secret

| tag | text |
|---|---|
| [D-9] | secret |

- [ ] to do
- [x] done

[home](index.md) is here.
"""
    store = read_pages(tmp_path / "pages", a=page)
    assert store.records == []
    notice = re.compile(r"a\.md, line (\d+): the tag \[(D-\d)\](?: and 1 more)? stands in (.+) and is not read; a paragraph or item begins with the tag itself")
    read = [notice.fullmatch(line) for line in said(store, tmp_path / "pages")]
    assert [match and match.groups() for match in read] == [
        ("1", "D-1", "a heading"), ("7", "D-3", "code or HTML"), ("10", "D-4", "code or HTML"), ("12", "D-5", "code or HTML"), ("15", "D-6", "code or HTML"),
        ("18", "D-7", "markup or a table"), ("23", "D-9", "markup or a table"),
    ]  # fmt: skip


AFTER = {
    # name of the case: (what stands after a statement, its line)
    "a_paragraph": ("\n\nReleased to board.", 3),
    "an_item": ("\n\nNotes.\n\n- RELEASED TO board.", 5),
    "its_own_second_paragraph": ("\n\nText. Only released to board.", 3),
    "a_quotation": ("\n\n> Released: board.", 3),
    "code": ("\n\n```\nreleased to board.\n```", 4),
    "emphasis": ("\n\n**Released to board.**", 3),
    "another_sentence": ("\n\nIn force from 2026-01-01.", 3),
}


@pytest.mark.parametrize("case", AFTER)
def test_f1_what_goes_on_after_a_statement_never_leaves_it_open_g5(case: str, tmp_path: Path) -> None:
    """F1, G5: a release that is not read takes its statement with it, and no other."""
    rest, line = AFTER[case]
    store = read_pages(tmp_path / "pages", a=f"[D-1] secret{rest}", b="- [D-2] x\n- [D-3] secret\n\n  Released to board.\n- [D-4] y")
    assert [record["record_id"] for record in store.records] == ["D-2", "D-4"]
    first, second = said(store, tmp_path / "pages")
    assert first.startswith(f"a.md, line {line}: [D-1]: ") and first.endswith("the statement is left out") and "secret" not in first
    assert second.startswith("b.md, line 4: [D-3]: the sentence that begins with 'Released to' stands in a paragraph of its own")


def test_f1_statements_may_share_a_paragraph_and_a_heading_names_their_concept(tmp_path: Path) -> None:
    store = read_pages(tmp_path / "pages", a='## Concept: arr\n\n[D-1] x\n[D-2] y\n\n## Notes\n\n[D-3] z\n\n## Concept: `"a b "`\n\n- [no tag] w\n')
    assert [(record.get("record_id"), record.get("concept"), record["value"]) for record in store.records] == [
        ("D-1", "arr", "x"), ("D-2", "arr", "y"), ("D-3", None, "z"), (None, "a b ", "w"),
    ]  # fmt: skip


UNREAD = {
    # name of the case: (page, notice, whether the statement is left out)
    "a_date_in_words": ("[D-1] secret. In force from January. Source: F-1.", "a.md, line 1: [D-1]: the sentence that begins with 'In force' cannot be read: it is none", True),
    "until_a_day": ("[D-1] secret.\nIn force from 2026-01-01 until 2026-02-01.", "a.md, line 2: [D-1]: the sentence that begins with 'In force' cannot be read", True),
    "neither_end": ("[D-1] secret. In force.", "a.md, line 1: [D-1]: the sentence that begins with 'In force' cannot be read: it says neither", True),
    "no_full_stop": ("[D-1] secret. Released to board", "a.md, line 1: [D-1]: the sentence that begins with 'Released to' does not end with a full stop", True),
    "cut_off": ("[D-1] secret. Source: F-1. Repl", "a.md, line 1: [D-1]: a sentence does not end with a full stop", True),
    "prose_after": ("[D-1] secret. Source: F-1.\nIt is\nsecret.", "a.md, line 2: [D-1]: a sentence cannot be read: it is none of the sentences", True),
    "twice": ("[D-1] secret. Source: F-1. Source: secret.", "a.md, line 1: [D-1]: the sentence that begins with 'Source:' says 'source' a second time", True),
    "replaces_prose": ("[D-1] secret; replaces the secret.", "a.md, line 1: [D-1]: the sentence that begins with 'Replaces' cannot be read", True),
    "within_a_sentence": ("[D-1] secret Released to board.", "a.md, line 1: [D-1]: the sentence that begins with 'Released to' stands within another one", True),
    "emphasised": ("[D-1] secret. **Source:** secret.", "a.md, line 1: [D-1]: the sentence that begins with 'Source:' stands within another one", True),
    "after_a_comma": ("[D-1] secret, in force from 2026-01-01.", "a.md, line 1: [D-1]: the sentence that begins with 'In force' stands within another one", True),
    "an_empty_name": ("[D-1] secret. Released to board,  .", "a.md, line 1: [D-1]: the sentence that begins with 'Released to'", True),
    "code_as_a_name": ("[D-1] secret. Source: `secret` of x.", "a.md, line 1: [D-1]: the sentence that begins with 'Source:' cannot be read: a name is plain words", True),
    "no_json": ("[D-1] secret. Also `a` is `{secret`.", "a.md, line 1: [D-1]: the sentence that begins with 'Also' cannot be read", True),
    "upper_case": ("[D-1] secret. RELEASED TO board.", "a.md, line 1: [D-1]: words that look like a sentence", True),
    "lower_case": ("[D-1] secret. released to board. Source: x.", "a.md, line 1: [D-1]: words that look like a sentence", True),
    "only": ("[D-1] secret. Only released to board.", "a.md, line 1: [D-1]: words that look like a sentence", True),
    "a_colon": ("[D-1] secret. Released: board.", "a.md, line 1: [D-1]: words that look like a sentence", True),
    "a_release_after_a_comma": ("[D-1] secret, released to board.", "a.md, line 1: [D-1]: words that look like a sentence", True),
    "a_release_in_a_source": ("[D-1] secret. Source: x, released to board.", "a.md, line 1: [D-1]: words that look like a sentence", True),
    "another_tag_behind_markup": ("[D-1] secret\n**[D-2]** x. Released to board.", "a.md, line 2: [D-1]: a tag behind markup stands in it", True),
    "a_release_of_nothing": ("Released to board.", "a.md, line 1: a sentence that looks like a release belongs to no statement", True),
    "a_tag_with_a_colon": ("[D-1]: secret is it.", "a.md, line 1: begins with the tag 'D-1' and a colon", True),
    "a_word_in_brackets": ("\n[TODO] secret.", "a.md, line 2: begins with 'TODO' in brackets, which is no tag and is not read", True),
    "a_tag_as_a_link": ("[D-1](x.md) secret.", "a.md, line 1: begins with the tag 'D-1' as a link and is not read", True),
    "a_concept_half_in_code": ("# Concept: a `secret`\n\n[D-1] x", "a.md, line 1: the heading names no concept", False),
}  # fmt: skip


@pytest.mark.parametrize("case", UNREAD)
def test_f1_a_sentence_that_cannot_be_read_is_reported_and_never_guessed_c23(case: str, tmp_path: Path) -> None:
    """F1, C23: page, line and tag, and nothing of what the statement says, which may be restricted."""
    page, notice, is_left_out = UNREAD[case]
    store = read_pages(tmp_path / "pages", a=page)
    [line] = said(store, tmp_path / "pages")
    assert line.startswith(notice), line
    assert "secret" not in line and "\n" not in line and len(line) < 300
    assert (store.records == []) == is_left_out


def test_f1_a_tag_that_stands_twice_is_reported_and_both_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    store = read_pages(folder, a="[D-1] x", b="Text.\n\n- [D-2] y\n- [D-1] z\n")
    assert said(store, folder) == ["b.md, line 4: the tag 'D-1' stands already in a.md, line 1; both are read, and reads refuse both"]
    assert [record["value"] for record in store.records] == ["x", "y", "z"]


def test_f1_owners_are_those_of_the_tag_else_of_the_concept(tmp_path: Path) -> None:
    """F1, L2: several stay several, so that the rule about one owner finds them."""
    owners = """# Owners

Who owns what, as of today. Everything is owned by somebody
else.

- arr is owned by finance.
- arr is owned by sales, where the VP Sales answers.
- [D-2] is owned by nobody, where nobody answers. The Head of Legal answers for `"a b."`.
- [D-9] is owned by legal.
- what is this
"""
    folder = tmp_path / "pages"
    store = read_pages(folder, a='## Concept: arr\n\n[D-1] x\n\n[D-2] y\n\n## Concept: `"a b."`\n\n[D-3] z', owners=owners)
    assert [(record.get("concept_owner", "-"), record.get("owner_role", "-")) for record in store.records] == [
        (["finance", "sales"], "VP Sales"), (None, None), ("-", "Head of Legal"),
    ]  # fmt: skip
    assert [line.partition("; expected")[0] for line in said(store, folder)] == [
        "owners.md, line 10: a sentence cannot be read and is left out",
        "owners.md, line 9: no statement has the tag 'D-9'",
    ]


def test_f1_a_checklist_and_a_policy_may_hold_any_text(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    store = read_pages(
        folder, a="", checklist='# All\n\nSoon:\n\n- [x] arr\n* `"a\\nb"`\n1. `c` d\n', policy="Policy\n======\n\n1. The *owner*.\n\n\n2. Else `none`.\n"
    )
    assert store.expected_concepts == ("arr", "a\nb")
    assert store.conflict_policy == "1. The *owner*.\n\n\n2. Else `none`."
    assert [line.partition(":")[0] for line in said(store, folder)] == ["checklist.md, line 7"]


REFUSED: dict[str, tuple[dict[str, bytes], str]] = {
    "no_page": ({"a.txt": b"[D-1] secret"}, "holds no Markdown page"),
    "not_utf8": ({"a.md": b"[D-1] secret \xff"}, "a.md: byte 14 is not UTF-8"),
    "deep_quotations": ({"a.md": b"x\n\n" + b"> " * 300 + b"[D-1] secret"}, "a.md, line 3: lists and quotations are nested more than 9 deep"),
    "deep_lists": ({"a.md": b"- " * 300 + b"[D-1] secret"}, "a.md, line 1: lists and quotations are nested more than 9 deep"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_f1_pages_that_cannot_be_read_give_one_clear_line(case: str, tmp_path: Path) -> None:
    files, notice = REFUSED[case]
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as raised:
        documents.read(tmp_path)
    assert notice in str(raised.value) and "secret" not in str(raised.value)


@pytest.mark.parametrize("markup", ["*", "_", "**", "[", "![", "`", "<", "&", "\\", "~~", "](", '["', "[`"])
def test_f1_a_page_full_of_markup_is_read_in_time(markup: str, tmp_path: Path) -> None:
    store = read_pages(tmp_path / "pages", a=f"[D-1] {markup * 3000}. Source: a.")
    assert [record["record_id"] for record in store.records] == ["D-1"]


def test_f1_pages_are_written_into_a_new_or_empty_folder_only(tmp_path: Path) -> None:
    """F1: a page that stands there already would be read as part of the store, and is never written over."""
    (tmp_path / "a.md").write_text("[D-1] x", encoding="utf-8")
    for place in (tmp_path, tmp_path / "a.md"):
        with pytest.raises(InputError, match="pages are written into a new or empty folder"):
            documents.write(FormStore([{"record_id": "D-2"}]), place)
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == "[D-1] x" and len([*tmp_path.iterdir()]) == 1
    with pytest.raises(InputError, match="no such folder or page"):
        documents.read(tmp_path / "b")
    assert documents.read(tmp_path / "a.md").records == [{"record_id": "D-1", "value": "x"}]


def test_f1_the_example_store_reads_as_plain_english(tmp_path: Path) -> None:
    """F1: quotes within code stand only where plain words would say something else."""
    lines = (DOCS.parents[1] / "stores/reference.jsonl").read_text(encoding="utf-8").splitlines()
    documents.write(FormStore([json.loads(line) for line in lines]), tmp_path / "pages")
    text = (tmp_path / "pages/statements.md").read_text(encoding="utf-8")
    assert (
        "[M-102] Invoiced amount less returns, discounts and partner commissions; in force from 2026-01-01 until further notice. Source: FIN-H-05. Replaces [M-101].\n"
        in text
    )
    in_code = {code for code in re.findall(r"`(.*?)`", text) if not code.startswith('"owner-then-latest: ')}
    assert in_code == {"classification", '"restricted"', "confidential", "true", "conflict_policy"}
