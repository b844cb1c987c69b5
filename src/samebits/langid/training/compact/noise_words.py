"""Words of no language: what base64, hashes and keyboards leave when only letters are looked at.

They train the class ``zxx`` (BCP 47: no linguistic content) of the compact model. They are made from hashed numbers, so
they are the same everywhere; addresses and most code are told by their signs in the kernel, not by these words.
"""

from __future__ import annotations

__all__ = ["NO_LANGUAGE", "noise_words"]

NO_LANGUAGE = "zxx"
NUM_WORDS = 160_000
CODE_TIMES = 40
KEYBOARD = (
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "qwertzuiop",
    "azertyuiop",
    "йцукенгшщзхъ",
    "фывапролджэ",
    "ячсмитьбю",
)
# Names and keywords of code that are no words of a language, or hardly.
_CODE = """
args argc argv async bool cfg char const cout ctx def elif endif endl enum err expr fmt fn foo baz qux func idx impl init
int io json kwargs lambda len malloc mut nil np npm nullptr numpy obj println printf proc ptr pub px sizeof sql src std
stderr stdin stdio stdout str strcpy struct sudo tmp tuple typedef uint utf var vec void wget xml yaml html css div href
"""
# Keywords that are also words of a language: about as frequent in both, so that what stands beside them decides.
_SHARED = "assert false none raise return self true yield"
SHARED_TIMES = 12
LETTERS = "abcdefghijklmnopqrstuvwxyz"
MASK = (1 << 64) - 1


class _Numbers:
    """Numbers from a hashed counter."""

    def __init__(self) -> None:
        self.state = 0

    def below(self, limit: int) -> int:
        """Return the next number below the limit."""
        self.state += 1
        x = (self.state * 0x9E3779B97F4A7C15) & MASK
        x ^= x >> 32
        x = (x * 0xBF58476D1CE4E5B9) & MASK
        return ((x ^ (x >> 29)) >> 11) % limit


def noise_words() -> list[str]:
    """Return the words, with repeats, in a fixed order."""
    numbers = _Numbers()
    makers = (_random, _random, _hexadecimal, _mash, _mash, _repeated, _home, _rolled)
    code = [*(_CODE.split() * CODE_TIMES), *(_SHARED.split() * SHARED_TIMES)]
    return [*code, *(makers[i % len(makers)](numbers) for i in range(NUM_WORDS))]


def _random(numbers: _Numbers) -> str:
    return "".join(LETTERS[numbers.below(26)] for _ in range(1 + numbers.below(12)))


def _hexadecimal(numbers: _Numbers) -> str:
    return "".join(LETTERS[numbers.below(6)] for _ in range(1 + numbers.below(5)))


def _mash(numbers: _Numbers) -> str:
    first = numbers.below(len(KEYBOARD))
    row = KEYBOARD[first]
    at, letters = numbers.below(len(row)), []
    for _ in range(4 + numbers.below(10)):
        if first < 3 and numbers.below(5) == 0:
            row = KEYBOARD[numbers.below(3)]
        letters.append(row[at % len(row)])
        at = at + (1, 1, -1, 2, 3, 5)[numbers.below(6)]
    return "".join(letters)


def _repeated(numbers: _Numbers) -> str:
    unit = "".join(LETTERS[numbers.below(26)] for _ in range(1 + numbers.below(2)))
    return unit * (4 + numbers.below(8))


def _home(numbers: _Numbers) -> str:
    """Mostly the row under the fingers."""
    letters = []
    for _ in range(4 + numbers.below(10)):
        row = KEYBOARD[1] if numbers.below(10) < 7 else KEYBOARD[numbers.below(3)]
        letters.append(row[numbers.below(len(row))])
    return "".join(letters)


def _rolled(numbers: _Numbers) -> str:
    """A few neighbouring keys, again and again."""
    row = KEYBOARD[numbers.below(3)]
    first = numbers.below(len(row) - 2)
    unit = row[first : first + 3 + numbers.below(4)]
    return (unit * 7)[: 6 + numbers.below(16)]
