"""English names of the languages that the package's model knows, for lists and for whoever writes a name instead of a code."""

from __future__ import annotations

import difflib
from collections.abc import Collection

__all__ = ["TITLES", "nearest"]

_TABLE = """
ab Abkhazian, acu Achuar-Shiwiar, af Afrikaans, agr Aguaruna, alt Southern Altai, am Amharic, an Aragonese,
ar Arabic, as Assamese, ast Asturian, az Azerbaijani, ba Bashkir, ban Balinese, bcl Central Bikol,
be Belarusian, bem Bemba, bg Bulgarian, bho Bhojpuri, bn Bengali, bo Tibetan, br Breton, bs Bosnian, ca Catalan,
cak Kaqchikel, ce Chechen, ceb Cebuano, ch Chamorro, chr Cherokee, ckb Central Kurdish, cnh Hakha Chin,
cni Asháninka, cop Coptic, cs Czech, cv Chuvash, cy Welsh, da Danish, de German, diq Zazaki, dsb Lower Sorbian,
dv Dhivehi, dyu Dyula, dz Dzongkha, ee Ewe, el Greek, en English, eo Esperanto, es Spanish, et Estonian,
eu Basque, fa Persian, ff Fulah, fi Finnish, fj Fijian, fo Faroese, fr French, frp Arpitan, fur Friulian,
fy Western Frisian, ga Irish, gd Scottish Gaelic, gl Galician, gn Guarani, gsw Swiss German, gu Gujarati,
gv Manx, ha Hausa, he Hebrew, hi Hindi, hil Hiligaynon, hr Croatian, hsb Upper Sorbian, ht Haitian Creole,
hu Hungarian, hy Armenian, ia Interlingua, id Indonesian, ig Igbo, ilo Iloko, io Ido, is Icelandic, it Italian,
iu Inuktitut, ja Japanese, jiv Shuar, jv Javanese, ka Georgian, kab Kabyle, kjh Khakas, kk Kazakh, km Khmer,
kn Kannada, ko Korean, koi Komi-Permyak, krc Karachay-Balkar, ku Kurdish, ky Kyrgyz, la Latin, lb Luxembourgish,
lg Luganda, lij Ligurian, lo Lao, lt Lithuanian, lv Latvian, mai Maithili, mam Mam, mdf Moksha, mg Malagasy,
mi Māori, mk Macedonian, ml Malayalam, mn Mongolian, mnw Mon, mr Marathi, mrj Western Mari, ms Malay,
mt Maltese, my Burmese, myv Erzya, nan Min Nan Chinese, nb Norwegian Bokmål, nds Low German, ne Nepali,
nl Dutch, nn Norwegian Nynorsk, nso Northern Sotho, ny Chichewa, oc Occitan, om Oromo, or Odia, pa Punjabi,
pl Polish, pnb Western Punjabi, ps Pashto, pt Portuguese, qu Quechua, quc K'iche', rm Romansh, ro Romanian,
ru Russian, rw Kinyarwanda, sa Sanskrit, sah Yakut, sat Santali, sc Sardinian, sco Scots, sd Sindhi,
se Northern Sami, shi Tachelhit, shn Shan, si Sinhala, sk Slovak, skr Saraiki, sl Slovenian, sn Shona,
so Somali, sq Albanian, sr Serbian, ss Swati, st Southern Sotho, su Sundanese, sv Swedish, sw Swahili,
syr Syriac, szl Silesian, ta Tamil, te Telugu, tg Tajik, th Thai, ti Tigrinya, tig Tigre, tk Turkmen,
tl Tagalog, tn Tswana, to Tongan, tok Toki Pona, tr Turkish, ts Tsonga, tt Tatar, tw Twi, ty Tahitian, tyv Tuvan,
ug Uyghur, uk Ukrainian, ur Urdu, uz Uzbek, ve Venda, vec Venetian, vep Veps, vi Vietnamese, vot Votic,
wal Wolaytta, wo Wolof, xh Xhosa, xmf Mingrelian, yi Yiddish, yo Yoruba, yue Yue Chinese,
zgh Standard Moroccan Tamazight, zh Chinese, zu Zulu, zxx no language
"""
#: ISO code -> English name
TITLES: dict[str, str] = {
    code: title for code, _, title in (row.partition(" ") for row in " ".join(_TABLE.split()).split(", "))
}


def nearest(name: str, known: Collection[str], most: int = 3) -> list[str]:
    """Return the labels that were probably meant: by English name or its beginning, or by a code that is spelled alike.

    >>> nearest("German", ["de", "gsw"]), nearest("fre", ["fr", "fy"]), nearest("portugese", ["pt"]), nearest("cbk", ["ckb"])
    (['de'], ['fr'], ['pt'], ['ckb'])
    >>> nearest("qqq", ["de", "en"])
    []
    """
    wanted = name.strip().casefold()
    titles = {label: TITLES.get(label, label).casefold() for label in sorted(known)}
    exact = [label for label, title in titles.items() if title == wanted]
    named = [label for label, title in titles.items() if len(wanted) > 2 and title.startswith(wanted)]
    codes = difflib.get_close_matches(wanted, titles, n=most, cutoff=0.65)
    spelled = difflib.get_close_matches(wanted, titles.values(), n=most, cutoff=0.75)
    alike = [label for label, title in titles.items() if title in spelled]
    return exact or list(dict.fromkeys([*named, *codes, *alike]))[:most]
