"""CAVED_RELEASE as a data set on the Hub, with and without a revision."""

import os
import subprocess
import sys

import pytest
from hub import serving

CODE = "from stimuli_builder.find_release import find_release; print(find_release().info.digest)"


def find(address: str, named: str, home) -> subprocess.CompletedProcess:
    """Look a release up in a fresh process: the address of the Hub is read when its library is imported."""
    env = {k: v for k, v in os.environ.items() if k not in ("HF_HUB_OFFLINE", "HF_TOKEN")}
    env.update(HF_ENDPOINT=address, HF_HOME=str(home), CAVED_RELEASE=named, HF_HUB_DISABLE_XET="1", NO_PROXY="*")
    return subprocess.run(
        [sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize("named", ["lab/release", "lab/release@v1"])
def test_a_release_on_the_hub_is_fetched_whole(release, tmp_path, named):
    with serving(release.folder, "lab/release", "v1") as address:
        done = find(address, named, tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == release.info.digest


@pytest.mark.parametrize("named", ["lab/release@v2", "lab/other"])
def test_what_the_hub_does_not_have_is_one_line(release, tmp_path, named):
    with serving(release.folder, "lab/release", "v1") as address:
        done = find(address, named, tmp_path)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("stimuli_builder.errors.CavedError: CAVED_RELEASE=") and "cannot be fetched" in last
    assert "check the spelling" in last
