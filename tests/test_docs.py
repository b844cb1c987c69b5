"""The documents say what the code does: every command, flag, setting and error, links, examples, numbers."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from samebits import errors
from samebits.cli.commands import reference
from samebits.cli.commands.doctor import EXTRAS
from samebits.cli.sections import ALL
from samebits.core.config import settings_of
from samebits.core.options import RunOptions
from samebits.jobs import JOBS, get_job
from samebits.machine.caps import THREAD_CAPS

REPO = Path(__file__).resolve().parent.parent
COMMANDS = dict(reference.commands())
OPTIONS = [
    (name, option)
    for name, command in COMMANDS.items()
    for option in command.get_params(reference.context_of(name, command))
    if isinstance(option, click.Option)
]
ERRORS = [name for name in errors.__all__ if name[0].isupper()]
# Folders that exist on somebody's machine only; written in pieces so that this file does not hold them itself.
MACHINE_PATH = re.compile(r"(?<![\w.~/*:-])/(?:work|root|home)/\w")


def tracked(*patterns: str) -> list[Path]:
    """Files of the repository that match, as git sees them; without git, as the folder holds them."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z", *patterns],
        cwd=REPO,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        found = [REPO / os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    else:
        skip = {".git", ".venv", ".bench", "build"}
        found = [
            p for p in REPO.rglob("*") if p.is_file() and not skip.intersection(p.relative_to(REPO).parts)
        ]
        found = [p for p in found if not patterns or any(p.match(pattern) for pattern in patterns)]
    return sorted(path for path in found if path.is_file())


PAGES = tracked("*.md")


def page_id(path: Path) -> str:
    return path.relative_to(REPO).as_posix()


def read(name: str) -> str:
    return (REPO / name).read_text(encoding="utf-8")


def section_of(name: str) -> str:
    """Return one section of the reference of the command line."""
    return read("docs/reference/cli.md").partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def test_the_reference_of_the_command_line_is_current() -> None:
    assert read("docs/reference/cli.md") == reference.render(), "run: make docs"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_in_the_reference_with_an_example(name: str) -> None:
    shown = section_of(name.rpartition(" ")[0] if reference.of_a_job(name) else name)
    assert not reference.of_a_job(name) or name in shown, f"{name} has no example"
    assert "samebits" in re.split(r"Examples?:", shown, maxsplit=1)[1], f"{name} has no example"
    text = COMMANDS[name].help or ""
    assert text.endswith("."), f"the help of {name} is not a sentence"


@pytest.mark.parametrize("name", [name for name in COMMANDS if not reference.of_a_job(name)])
def test_help_fits_a_terminal_of_80_columns(name: str) -> None:
    with click.Context(COMMANDS[name], info_name=name, terminal_width=80, max_content_width=80) as context:
        context.meta[ALL] = True
        assert [line for line in COMMANDS[name].get_help(context).splitlines() if len(line) > 80] == []


@pytest.mark.parametrize(("name", "option"), OPTIONS, ids=lambda value: getattr(value, "name", value))
def test_every_flag_has_a_help_text_and_is_in_the_reference(name: str, option: click.Option) -> None:
    assert option.help, f"{name} {option.opts[-1]} has no help"
    assert not option.help.endswith("."), f"{name} {option.opts[-1]}: one line, no full stop"
    page = read("docs/reference/cli.md")
    shown = page if reference.of_a_job(name) else section_of(name) + section_of("Flags of every job")
    for flag in option.opts:
        assert flag in shown


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_is_explained_with_its_exit_code(name: str) -> None:
    page = read("docs/guides/troubleshooting.md")
    code = getattr(errors, name).exit_code
    assert f"| `{name}` | {code} |" in page
    assert name == "SamebitsError" or f"\n## {name}\n" in page
    assert name in (errors.__doc__ or "")


@pytest.mark.parametrize("setting", settings_of(RunOptions), ids=lambda setting: setting.name)
def test_every_run_option_is_in_the_guide(setting: Any) -> None:
    page = read("docs/guides/configuration.md")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{setting.name}` |"))
    assert setting.flag in row


@pytest.mark.parametrize("name", JOBS)
def test_every_setting_of_every_job_is_documented(name: str) -> None:
    pages = read("docs/reference/cli.md") + "".join(path.read_text(encoding="utf-8") for path in PAGES)
    settings = [setting for setting in settings_of(get_job(name).Config) if setting.name != "inputs"]
    assert [setting.name for setting in settings if not re.search(rf"{setting.flag}\b", pages)] == []


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads(read("pyproject.toml"))
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for extra in project["project"]["optional-dependencies"].values():
        wanted += extra
    names = {re.split(r"[\[<>=~!; ]", item)[0] for item in wanted} - {"samebits"}
    page = read("docs/decisions/dependencies.md")
    assert sorted(name for name in names if f"| {name} |" not in page) == []


def test_the_doctor_knows_every_extra() -> None:
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    assert set(EXTRAS) == set(extras) - {"dev", "all", "site"}


def test_every_public_name_is_in_the_python_reference() -> None:
    import samebits

    page = read("docs/reference/python-api.md")
    assert [name for name in samebits.__all__ if not re.search(rf"`{name}\b", page)] == []


def test_the_changelog_has_an_entry_for_the_version() -> None:
    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    assert re.search(rf"^## {re.escape(version)}\b", read("CHANGELOG.md"), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith(("#", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve()
        assert found.exists(), f"{page_id(page)} links to {target}"
        if anchor:
            assert anchor in anchors(found), f"{page_id(page)} links to {target}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_the_words_are_plain(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    text = text.replace('no "simply"', "")
    assert re.findall(r"\b(?:simply|We|we|our)\b", text) == []
    assert re.findall("[\U0001f300-\U0001faff✅✨⚡]", text) == []


def test_no_file_names_a_folder_of_somebodys_machine() -> None:
    found = []
    for path in tracked():
        data = path.read_bytes()
        if b"\0" in data[:8192]:
            continue
        if hit := MACHINE_PATH.search(data.decode("utf-8", "replace")):
            found.append(f"{page_id(path)}: {hit[0]}")
    assert found == []


def blocks(language: str) -> Iterator[Any]:
    """Every code block of a language in pages that are not generated."""
    for page in PAGES:
        texts = re.findall(
            rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        )
        for number, text in enumerate(texts):
            yield pytest.param(text, id=f"{page_id(page)}-{number}")


def environment() -> dict[str, str]:
    """The user's environment with this interpreter's commands first on the path."""
    return {
        **os.environ,
        **THREAD_CAPS,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }


@pytest.mark.slow
@pytest.mark.parametrize("text", list(blocks("sh")))
def test_shell_blocks_run(text: str, tmp_path: Path) -> None:
    targets = re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE)
    lines = []
    for line in text.splitlines():
        if line.startswith("make "):
            assert line.split()[1] in targets, f"{line}: no such target"
        else:
            lines.append(line)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("text", list(blocks("python")))
def test_python_blocks_run(text: str, tmp_path: Path) -> None:
    run_python(["-c", text], tmp_path)


@pytest.mark.parametrize("text", list(blocks("python fragment")))
def test_python_fragments_are_python(text: str) -> None:
    compile(text, "fragment", "exec")


@pytest.mark.parametrize("script", sorted((REPO / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(script: Path, tmp_path: Path) -> None:
    assert run_python([str(script)], tmp_path) != "", "an example shows something"


def run_python(arguments: list[str], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_make_targets_in_the_contributing_guide_are_real() -> None:
    targets = set(re.findall(r"^([a-z]+):.*##", read("Makefile"), re.MULTILINE))
    assert (
        set(re.findall(r"^\| `make ([a-z]+)` \|", read("CONTRIBUTING.md"), re.MULTILINE)) | {"help"}
        == targets
    )


def test_the_file_map_names_every_room() -> None:
    package = REPO / "src" / "samebits"
    rooms = {f"{path.name}/" for path in package.iterdir() if (path / "__init__.py").exists()}
    files = {path.name for path in package.glob("*.py") if not path.name.startswith("__")}
    listed = re.findall(
        r"^  ([\w.]+/?)\s",
        read("CONTRIBUTING.md").partition("src/samebits/\n")[2].partition("```")[0],
        re.MULTILINE,
    )
    assert (rooms | files) - set(listed) == set()
    assert [name for name in listed if not (package / name).exists()] == []


def test_the_reference_can_be_written_by_its_command(tmp_path: Path) -> None:
    assert importlib.util.find_spec("samebits.cli.commands.reference") is not None
    run_python(["-m", "samebits.cli.commands.reference", str(tmp_path / "cli.md")], tmp_path)
    assert (tmp_path / "cli.md").read_text(encoding="utf-8") == reference.render()


def test_the_session_of_the_readme_gives_what_it_shows(tmp_path: Path) -> None:
    """Its second command names an instruction set that not every machine has; the states are equal on all of them."""
    shutil.copyfile(REPO / "src" / "samebits" / "samples" / "en.txt", tmp_path / "book.txt")
    shown = re.findall(r"^state ([0-9a-f]{16})…", read("README.md"), re.MULTILINE)
    command = next(line for line in read("README.md").splitlines() if line.startswith("$ samebits lm train"))
    run_python(["-m", "samebits", *command.partition("#")[0].split()[2:], "--no-progress"], tmp_path)
    state = json.loads((tmp_path / "one" / "config.json").read_text(encoding="utf-8"))["state_digest"]
    assert shown == [state[:16]] * 2, (
        "the weights changed on purpose? then write their new state into the README"
    )
