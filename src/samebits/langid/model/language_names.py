"""Names of languages: ISO 639-3 for the two-letter codes, macrolanguages, and labels with a script (``deu_Latn``)."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence

from samebits.errors import ConfigError, did_you_mean

__all__ = ["MACROLANGUAGES", "allowed_languages", "script_of", "three_letters", "with_script"]

_CODES = """
ab abk af afr am amh an arg ar ara as asm az aze ba bak be bel bg bul bn ben bo bod br bre bs bos ca cat ce
che ch cha cs ces cv chv cy cym da dan de deu dv div dz dzo ee ewe el ell en eng eo epo es spa et est eu eus
fa fas ff ful fi fin fj fij fo fao fr fra fy fry ga gle gd gla gl glg gn grn gu guj gv glv ha hau he heb hi
hin hr hrv ht hat hu hun hy hye ia ina id ind ig ibo io ido is isl it ita iu iku ja jpn jv jav ka kat kk kaz
km khm kn kan ko kor ku kur ky kir la lat lb ltz lg lug lo lao lt lit lv lav mg mlg mi mri mk mkd ml mal mn
mon mr mar ms msa mt mlt my mya nb nob ne nep nl nld nn nno no nor ny nya oc oci om orm or ori pa pan pl pol
ps pus pt por qu que rm roh ro ron ru rus rw kin sa san sc srd sd snd se sme si sin sk slk sl slv sn sna so
som sq sqi sr srp ss ssw st sot su sun sv swe sw swa ta tam te tel tg tgk th tha ti tir tk tuk tl tgl tn tsn
to ton tr tur ts tso tt tat tw twi ty tah ug uig uk ukr ur urd uz uzb ve ven vi vie wo wol xh xho yi yid yo
yor zh zho zu zul
"""
_PAIRS = _CODES.split()
_THREE = dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True))
_TWO = {three: two for two, three in _THREE.items()}

# A name that stands for several of a model's labels. A label that is also a language of its own comes first.
MACROLANGUAGES: dict[str, tuple[str, ...]] = {
    "ber": ("kab", "shi", "zgh"),
    "fil": ("tl",),
    "hbs": ("bs", "hr", "sr"),
    "kmr": ("ku",),
    "ku": ("ku", "ckb"),
    "lah": ("pnb", "skr"),
    "no": ("nb", "nn"),
    "sh": ("bs", "hr", "sr"),
    "wen": ("dsb", "hsb"),
    "zho": ("zh", "yue", "nan"),
    "cmn": ("zh",),
    "iw": ("he",),
    "jw": ("jv",),
    "in": ("id",),
    "mo": ("ro",),
}
_ALIASES = {"kur": "ku", "nor": "no"}
# ISO 639-2 has two codes for some languages; these are the ones that libraries use.
_LIBRARY = "alb sq arm hy baq eu bur my chi zho cze cs dut nl fre fr geo ka ger de gre el ice is mac mk mao mi may ms per fa rum ro slo sk tib bo wel cy"
_ALIASES |= dict(zip(_LIBRARY.split()[::2], _LIBRARY.split()[1::2], strict=True))
# Of these pairs one is written in simplified, the other in traditional Chinese.
_SIMPLE = "们这国说时会来个为发东车门问间见现长样实学当动过还进对无书业产经电话让认识请谁听红绿万与乐从开关头种总题师应两几机边里后么"
_FULL = "們這國說時會來個為發東車門問間見現長樣實學當動過還進對無書業產經電話讓認識請誰聽紅綠萬與樂從開關頭種總題師應兩幾機邊裡後麼"

# Where a script's letters begin; a range ends where the next begins.
_SCRIPTS = """
41 Latn 370 Grek 400 Cyrl 530 Armn 590 Hebr 600 Arab 700 Syrc 750 Arab 780 Thaa 7C0 Nkoo 800 Samr 860 Syrc 870
Arab 900 Deva 980 Beng A00 Guru A80 Gujr B00 Orya B80 Taml C00 Telu C80 Knda D00 Mlym D80 Sinh E00 Thai E80
Laoo F00 Tibt 1000 Mymr 10A0 Geor 1100 Hang 1200 Ethi 13A0 Cher 1400 Cans 1680 Ogam 1700 Tglg 1780 Khmr 1800
Mong 1900 Limb 1B00 Bali 1C50 Olck 1C80 Cyrl 1C90 Geor 1D00 Latn 1F00 Grek 2000 Zyyy 2C00 Glag 2C60 Latn 2C80
Copt 2D00 Geor 2D30 Tfng 2D80 Ethi 2DE0 Cyrl 2E00 Hani 3040 Hira 30A0 Kana 3100 Hani A000 Yiii A4D0 Lisu A640
Cyrl A6A0 Latn A800 Latn A8E0 Deva A930 Latn A9E0 Mymr AA80 Latn AB00 Ethi AB30 Latn AB70 Cher ABC0 Mtei AC00
Hang F900 Hani FB00 Latn FB1D Hebr FB50 Arab FE30 Zyyy FE70 Arab FF00 Latn 10000 Zyyy 20000 Hani
"""
_RANGES = _SCRIPTS.split()
_STARTS = [int(start, 16) for start in _RANGES[::2]]
_LOOKED_AT = 200  # characters
FEW = 20  # labels that a message lists in full


def script_of(text: str) -> str:
    """Return the ISO 15924 code of the script most letters of a text are in; ``Zyyy`` without letters.

    >>> script_of("Guten Tag"), script_of("Добрый день, Ann"), script_of("123")
    ('Latn', 'Cyrl', 'Zyyy')
    """
    letters = (c for c in text[:_LOOKED_AT] if c.isalpha())
    counted = Counter(_RANGES[2 * max(0, bisect_right(_STARTS, ord(c)) - 1) + 1] for c in letters)
    return counted.most_common(1)[0][0] if counted else "Zyyy"


def three_letters(label: str) -> str:
    """Return the ISO 639-3 code of a label.

    >>> three_letters("de"), three_letters("ckb")
    ('deu', 'ckb')
    """
    return _THREE.get(label, label)


def allowed_languages(names: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return a model's labels that the given names stand for.

    Two- and three-letter codes, tags with a script or country (``zh-Hant``, ``pt_BR``) and macrolanguages are understood.

    Raises:
        ConfigError: for a name that stands for none of them.

    >>> allowed_languages(["deu", "fre", "hbs", "zh-Hant"], ["bs", "de", "fr", "hr", "zh"])
    ['bs', 'de', 'fr', 'hr', 'zh']
    """
    found: set[str] = set()
    for name in names:
        labels = _labels(name.strip(), known)
        if not labels:
            raise ConfigError(f"the model has no language {name!r}", hint=_meant(name, known))
        found.update(labels)
    return [name for name in known if name in found]


def _meant(name: str, known: Sequence[str]) -> str:
    """Say which labels were probably meant, and how to see all of them where they are many."""
    from samebits.langid.model.titles import TITLES, nearest  # only for mistakes

    if len(known) <= FEW:
        return did_you_mean(name, known)
    macros = {macro for macro, of in MACROLANGUAGES.items() if set(of) & set(known)}
    close = [f"{one} ({TITLES[one]})" if one in TITLES else one for one in nearest(name, {*known, *macros})]
    listed = "'samebits langid languages' lists all of them"
    return f"did you mean {' or '.join(close)}? {listed}" if close else listed


def _labels(name: str, known: Sequence[str]) -> list[str]:
    base = name.replace("_", "-").split("-")[0].lower()
    for candidate in (name, _ALIASES.get(base, base), _TWO.get(base, base)):
        of = [label for label in MACROLANGUAGES.get(candidate, (candidate,)) if label in known]
        if of:
            return of
    return []


def with_script(label: str, text: str) -> str:
    """Return a label of ISO 639-3 and script, as FLORES and GlotLID write it.

    >>> with_script("de", "Guten Tag"), with_script("zh", "這個"), with_script("ja", "これ")
    ('deu_Latn', 'zho_Hant', 'jpn_Jpan')
    """
    if label in ("und", "zxx"):
        return label
    script = script_of(text)
    if label == "ja":
        script = "Jpan"
    elif label == "ko":
        script = "Kore"
    elif script == "Hani":
        script = "Hant" if sum(c in _FULL for c in text) > sum(c in _SIMPLE for c in text) else "Hans"
    return f"{three_letters(label)}_{script}"
