"""YAML files of a form, read as plain data: every text stays the text it is, and nothing in the file can grow when it is read.

Only what JSON has too is more than a text: null, true, false and numbers, which keep their digits. So 0012, 2026-01-01 and no are texts.
Aliases are refused, since a few of them can stand for a billion values.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from governed_memory.errors import InputError, shown
from governed_memory.overlay.forms.json_file import DEEPEST, text_of
from governed_memory.warehouse.json_text import Number

NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
PLAIN = {"": None, "~": None, "null": None, "true": True, "false": False}


def yaml_in(path: Path) -> Any:
    """The one value in a YAML file.

    Raises:
        InputError: it is no YAML, holds an alias, a tag, several documents or a repeated key, or is nested too deeply; the message names the line.
    """
    import yaml

    text = text_of(path)
    builder = _Builder(path)
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{path}, line {line}: not YAML ({error.problem or error.context})") from error
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not YAML ({str(error).splitlines()[0]})") from error
    return builder.value


def yaml_text(value: Any) -> str:
    """A value as YAML, in which every text reads back as itself, here and with any other reader of YAML."""
    import yaml

    fast: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(fast):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    Dumper.add_representer(Number, _number)
    Dumper.add_representer(str, _text)
    try:
        return str(yaml.dump(value, Dumper=Dumper, allow_unicode=True, sort_keys=False, width=140))
    except RecursionError as error:
        raise InputError("a record is nested too deeply to write") from error


def _number(dumper: Any, number: Number) -> Any:
    kind = "int" if number.text.lstrip("-").isdigit() else "float"
    return dumper.represent_scalar(f"tag:yaml.org,2002:{kind}", number.text)


def _text(dumper: Any, text: str) -> Any:
    # In quotes wherever a reader could take it for something else; the folding of long texts is not trusted with blanks and breaks.
    plain = re.fullmatch(r"[^\W\d_][\w ./()-]*[\w)]", text) and "  " not in text and not NUMBER.fullmatch(text)
    is_plain = plain and text.isprintable() and dumper.resolve(_scalar_node(), text, (True, False)) == "tag:yaml.org,2002:str"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if is_plain else '"')


def _scalar_node() -> Any:
    import yaml

    return yaml.ScalarNode


class _Builder:
    """Builds the value from the parser's events, with the path to where it is as a list."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.value: Any = None
        self.open: list[Any] = []
        self.keys: list[Any] = []
        self.documents = 0

    def take(self, event: Any) -> None:
        """One event of the parser."""
        import yaml

        place = f"{self.path}, line {event.start_mark.line + 1}"
        if isinstance(event, yaml.AliasEvent):
            raise InputError(f"{place}: holds an alias, *{event.anchor}; write the value out, aliases are not read")
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise InputError(f"{place}: a second document begins; expected one")
        elif isinstance(event, yaml.ScalarEvent):
            self._put(self._scalar(event, place), place)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._start({} if isinstance(event, yaml.MappingStartEvent) else [], event, place)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self.open.pop()
            self.keys.pop()

    def _start(self, value: Any, event: Any, place: str) -> None:
        _expect_no_tag(event, place, ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"))
        if len(self.open) >= DEEPEST:
            raise InputError(f"{place}: nested more than {DEEPEST} deep; expected records, which are flat or nearly so")
        self._put(value, place)
        self.open.append(value)
        self.keys.append(_NONE)

    def _put(self, value: Any, place: str) -> None:
        if not self.open:
            self.value = value
        elif isinstance(self.open[-1], list):
            self.open[-1].append(value)
        elif self.keys[-1] is _NONE:
            if not isinstance(value, str):
                value = str(value) if isinstance(value, Number) else value
            if not isinstance(value, str):
                raise InputError(f"{place}: a key is no text; put it in quotes")
            if value in self.open[-1]:
                raise InputError(f"{place}: the key {shown(value)} is given twice; say it once")
            self.keys[-1] = value
        else:
            self.open[-1][self.keys[-1]] = value
            self.keys[-1] = _NONE

    @staticmethod
    def _scalar(event: Any, place: str) -> Any:
        _expect_no_tag(event, place, ("tag:yaml.org,2002:str", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"))
        if event.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float"):
            return Number(event.value)
        if event.style or event.tag == "tag:yaml.org,2002:str":
            return event.value
        return PLAIN[event.value] if event.value in PLAIN else Number(event.value) if NUMBER.fullmatch(event.value) else event.value


_NONE = object()


def _expect_no_tag(event: Any, place: str, known: tuple[str, ...]) -> None:
    if event.tag not in (None, "!", *known):
        raise InputError(f"{place}: has the tag {shown(event.tag)}; tags are not read")
