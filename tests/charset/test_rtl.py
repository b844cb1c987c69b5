from __future__ import annotations

import pytest
from benchmarks.chardet_peer import find_icu, icu_visual

from samebits.charset.recipes.rtl import glyph_fallbacks, join_arabic, to_visual

HEBREW = [
    "שלום",
    "abc (אבג) def",
    "אבג (דהו)",
    "מחיר: 12.50 ₪, 3% הנחה",
    'קובץ "readme.txt" (גרסה 2) נשמר',
    "tab\tאבג \tדהו  ",
    "שורה ראשונה\nsecond line אבג\n\nסוף",
    "[אחת {שתיים (שלוש)}] 1-2-3 abc",
    "",
]
ARABIC = ["السعر 15 دولار", "رقم ١٢٣,٤ و 56.7%", "خطأ (500)", "a بـ c"]


def test_display_order_of_known_lines() -> None:
    assert to_visual("אבג (דהו)") == "(והד) גבא"
    assert to_visual("abc אבג 123 דהו") == "abc והד 123 גבא"
    assert to_visual("only latin (x)") == "only latin (x)"


@pytest.mark.skipif(find_icu() is None, reason="no ICU library on this system to compare with")
@pytest.mark.parametrize("text", HEBREW + ARABIC)
def test_display_order_equals_icu(text: str) -> None:
    assert to_visual(text) == icu_visual(text)


def test_letters_take_the_form_of_their_place_in_the_word() -> None:
    assert join_arabic("بب ب ب") == "\ufe91\ufe90 \ufe8f \ufe8f"
    assert join_arabic("لا") == "\ufefb"
    assert join_arabic("abc") == "abc"


def test_a_missing_form_falls_back_to_the_one_two_form_pages_use() -> None:
    assert glyph_fallbacks("\ufe92")[0] == "\ufe91"
    assert glyph_fallbacks("\ufe90")[0] == "\ufe8f"
    assert glyph_fallbacks("x") == ()
