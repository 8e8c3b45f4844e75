"""`caved push` against a stand-in for the Hub: verified first, whole, in one commit, and found again."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hub_writing import Hub, accepting

CAVED = str(Path(sys.executable).with_name("caved"))


@pytest.fixture
def hub():
    with accepting() as hub:
        yield hub


def caved(hub: Hub, home: Path, *arguments: str, token: str = "secret", **more: str) -> subprocess.CompletedProcess:
    """`caved ...` in a fresh process: the address of the Hub is read when its library is imported."""
    env = {k: v for k, v in os.environ.items() if k not in ("HF_HUB_OFFLINE", "HF_TOKEN", "CAVED_RELEASE")}
    env.update(
        HF_ENDPOINT=hub.address,
        HF_HOME=str(home),
        HF_HUB_DISABLE_XET="1",
        NO_PROXY="*",
        HF_HUB_DISABLE_PROGRESS_BARS="1",
    )
    env.update({"HF_TOKEN": token} if token else {}, **more)
    return subprocess.run([CAVED, *arguments], env=env, capture_output=True, text=True, check=False, timeout=120)


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_release_is_pushed_whole_privately_and_found_again(release, hub, tmp_path):
    done = caved(hub, tmp_path, "push", str(release.folder), "--to", "lab/release")
    assert done.returncode == 0, done.stderr[-2000:]
    assert hub.private == {"lab/release": True}
    assert hub.files["lab/release"] == contents(release.folder)
    assert len(hub.commits) == 1
    named = next(word for word in done.stdout.split() if word.startswith("CAVED_RELEASE=")).partition("=")[2]
    repository, _, commit = named.partition("@")
    assert repository == "lab/release"
    assert hub.tags == {f"lab/release digest-{release.info.digest[:16]}": commit}
    # What was pushed is what a task would run on.
    code = "from stimuli_builder.find_release import find_release; print(find_release().info.digest)"
    env = {**os.environ, "HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "other"), "CAVED_RELEASE": "lab/release"}
    env.update(HF_HUB_OFFLINE="0", HF_HUB_DISABLE_XET="1", NO_PROXY="*")
    found = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert found.stdout.strip() == release.info.digest, found.stderr[-1500:]


def test_pushing_twice_commits_once(release, hub, tmp_path):
    for _ in range(2):
        done = caved(hub, tmp_path, "push", str(release.folder), "--to", "lab/release", "--public")
        assert done.returncode == 0, done.stderr[-2000:]
    assert len(hub.commits) == 1 and hub.private == {"lab/release": False}
    assert "already" in done.stdout


def test_an_interrupted_push_goes_on_and_sends_nothing_twice(release, hub, tmp_path):
    hub.fail_uploads = True
    done = caved(hub, tmp_path, "push", str(release.folder), "--to", "lab/release")
    assert done.returncode == 1 and "the same command goes on" in done.stderr and "Traceback" not in done.stderr
    assert hub.files["lab/release"] == {} and not hub.commits
    hub.fail_uploads = False
    assert caved(hub, tmp_path, "push", str(release.folder), "--to", "lab/release").returncode == 0
    large = [path for path in contents(release.folder) if path.endswith(".parquet")]
    assert hub.uploads == len(large)


def test_another_release_replaces_the_files_and_keeps_the_old_tag(release, reversal_release, hub, tmp_path):
    for one in (reversal_release, release):
        assert caved(hub, tmp_path, "push", str(one.folder), "--to", "lab/release").returncode == 0
    assert hub.files["lab/release"] == contents(release.folder)
    assert len(hub.tags) == 2 and len(hub.commits) == 2


def test_a_release_that_does_not_hold_is_not_sent(release, hub, tmp_path):
    folder = tmp_path / "changed"
    shutil.copytree(release.folder, folder)
    path = folder / "probes" / "k16.parquet"
    table = pq.read_table(path)
    pq.write_table(table.slice(1), path)
    done = caved(hub, tmp_path, "push", str(folder), "--to", "lab/release")
    assert done.returncode == 1 and "is not published" in done.stderr and not hub.files


@pytest.mark.parametrize(
    ("arguments", "token", "said"),
    [
        (("--to", "release"), "secret", "write owner/name"),
        (("--to", "lab/release"), "", "hf auth"),
        (("--to", "lab/release"), "wrong", "cannot be written to"),
    ],
)
def test_what_cannot_be_pushed_is_one_line(release, hub, tmp_path, arguments, token, said):
    done = caved(hub, tmp_path, "push", str(release.folder), *arguments, token=token)
    assert done.returncode == 1 and said in done.stderr, done.stderr[-1500:]
    assert "Traceback" not in done.stderr and not hub.commits


def test_a_hub_that_cannot_be_reached_is_one_line(release, hub, tmp_path):
    away = Hub(address="http://127.0.0.1:9")
    done = caved(away, tmp_path, "push", str(release.folder), "--to", "lab/release")
    assert done.returncode == 1 and "cannot be written to" in done.stderr and "Traceback" not in done.stderr


def test_an_image_release_is_pushed_too(image_release, hub, tmp_path):
    done = caved(hub, tmp_path, "push", str(image_release.folder), "--to", "lab/images")
    assert done.returncode == 0, done.stderr[-2000:]
    assert hub.files["lab/images"] == contents(image_release.folder)
