"""Every feature has a test that exists, and a page that exists; the generated table is up to date."""

from __future__ import annotations

import subprocess
import sys

import pytest

import shmem
from tests.impl.daemons import ENVIRONMENT
from tests.impl.features import DEMANDED, FEATURES, PAGE, page
from tests.project.tree import ROOT


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_has_a_test_and_a_page(feature: str) -> None:
    test, name, doc = FEATURES[feature]
    assert f"def {name}" in (ROOT / "tests" / "impl" / f"{test}.py").read_text()
    assert (PAGE.parent / doc).is_file()


@pytest.mark.parametrize("words", DEMANDED)
def test_what_is_demanded_is_a_feature(words: str) -> None:
    assert any(words in feature for feature in FEATURES)


def test_what_nobody_has_is_missed() -> None:
    assert not any("teleportation" in feature for feature in FEATURES)


def test_a_handle_says_nothing_of_the_contents() -> None:
    fields = set(shmem.SharedMemoryRegion.__slots__)
    assert fields == {"device_address", "flags", "generation", "id", "key", "owner", "size"}


PROBE = """
import sys, time
begin = time.process_time()
import numpy
numpys = time.process_time() - begin
known = set(sys.modules)
begin = time.process_time()
import shmem
spent = time.process_time() - begin
new = {name.partition(".")[0] for name in set(sys.modules) - known}
print(spent / numpys, *sorted(new - sys.stdlib_module_names))
"""


def test_import_is_quick_and_pulls_in_numpy_and_the_standard_library_alone() -> None:
    line = [sys.executable, "-c", PROBE]
    told = [
        subprocess.run(line, env=ENVIRONMENT, capture_output=True, text=True, check=True).stdout.split()
        for _ in range(3)
    ]
    assert {*told[0][1:]} <= {"numpy", "shmem"}
    assert min(float(one[0]) for one in told) < 1.4, "of NumPy's own import, which takes 0.11 s"


def test_the_table_of_features_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run python -m tests.impl.features"
