"""A run as one row of the list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from samebits.serve import words
from samebits.serve.live.watch import Watcher
from samebits.serve.runs.about import About
from samebits.serve.runs.places import FolderPlace, State, state_of

__all__ = ["Row", "row_of"]


@dataclass(frozen=True, slots=True)
class Row:
    """What the list says of a run; ``line`` is one short sentence."""

    key: str
    name: str
    job: str
    state: State
    share: float
    line: str
    digest: str
    changed: float

    def plain(self) -> dict[str, Any]:
        """Return it as data."""
        return {name: getattr(self, name) for name in self.__slots__}


def row_of(place: FolderPlace, about: About, watcher: Watcher | None) -> Row:
    """Make a row from what is known; an unfinished run says more when it is watched."""
    state = watcher.state if watcher else state_of(place)
    line = _live_line(watcher) if watcher else _line(about)
    share = watcher.share() if watcher else float(state == "finished")
    return Row(place.key, place.name, about.job, state, share, line, about.digest, place.changed)


def _live_line(watcher: Watcher) -> str:
    texts = watcher.texts()
    pieces = [texts["stage"]] if texts["stage"] != "–" else []
    if texts["loss"] != "–":
        pieces.append(f"loss {texts['loss']}")
    if watcher.state == "running":
        pieces += [texts["rate"]] if texts["rate"] != "–" else []
        pieces += [f"{texts['left']} left"] if texts["left"] != "–" else []
    return " · ".join(pieces) or "starting"


def _line(about: About) -> str:
    pieces = []
    seconds, workers = about.number("seconds"), about.number("workers")
    if seconds is not None:
        pieces.append(words.duration(seconds))
    if workers:
        pieces.append(f"{workers:.0f} worker{'' if workers == 1 else 's'}")
    loss = about.metrics.get("val_loss", about.metrics.get("train_loss"))
    if isinstance(loss, float):
        pieces.append(f"loss {loss:.4f}")
    accuracy = about.metrics.get("accuracy")
    if isinstance(accuracy, float):
        pieces.append(f"accuracy {accuracy:.1%}")
    return " · ".join(pieces)
