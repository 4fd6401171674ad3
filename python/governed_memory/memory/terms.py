"""The words of a text, made once when it is written and once for each question, so that every engine compares the same texts (rule M5).

Texts are put in composed form (NFC) and case is folded, so that STRASSE and straße are one word. A word is a run of letters, marks and digits.
Scripts that set no spaces between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese) are cut into every two neighbouring characters.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache

# A word this long is no word that somebody asks for; its beginning finds it.
LONGEST = 64
# Every character of ASCII in lower case, and a space for what is no letter or digit.
ASCII_WORDS = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
# Han, Hiragana, Katakana and the scripts of South-East Asia.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)


def index_terms(text: str) -> list[str]:
    """The words by which a text is found, each once, in order of their code points: also the single characters of scripts without spaces."""
    return sorted(_terms(text, of_a_question=False))


def query_terms(text: str) -> list[str]:
    """The words of a question, each once, in order; one character of a script without spaces stands alone only where it is asked for alone."""
    return sorted(_terms(text, of_a_question=True))


def _terms(text: str, *, of_a_question: bool) -> set[str]:
    if text.isascii():
        words = text.translate(ASCII_WORDS).split()
        return set(words) if len(text) <= LONGEST or max(map(len, words), default=0) <= LONGEST else {word[:LONGEST] for word in words}
    found: set[str] = set()
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    word_pattern, run_pattern = _patterns()
    for word in word_pattern.findall(folded):
        for run in run_pattern.finditer(word):
            found |= _pairs(run[1], of_a_question) if run[1] else {run[0][:LONGEST]}
    return found


def _pairs(run: str, of_a_question: bool) -> set[str]:
    pairs = {run[place : place + 2] for place in range(len(run) - 1)}
    return pairs if pairs and of_a_question else pairs | set(run)


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Of words, and of the parts of a word that are of scripts without spaces or not."""
    # \w lacks marks, without which words of Hindi or Arabic with vowels would break.
    marks = "".join(character for character in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(character)[0] == "M")
    return re.compile(f"(?:[^\\W_]|[{marks}])+"), re.compile(f"([{UNSPACED}]+)|[^{UNSPACED}]+")
