"""Every feature has a test that exists, and a page that exists; the generated table is up to date."""

from __future__ import annotations

import pytest

from tests.impl.features import FEATURES, PAGE, page
from tests.project.tree import ROOT


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_has_a_test_and_a_page(feature: str) -> None:
    test, name, doc = FEATURES[feature]
    assert f"def {name}" in (ROOT / "tests" / "impl" / f"{test}.py").read_text()
    assert (PAGE.parent / doc).is_file()


def test_the_table_of_features_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run python -m tests.impl.features"
