"""A program under every kind of coherence: answers, and which calls do nothing there."""

from __future__ import annotations

from shmem_model.litmus import catalogue, parse_file
from shmem_model.litmus.matrix import CONFIGURATIONS, configured, maintenance, matrix_file, without

HAND_OVER = catalogue.FOLDER / "hand-over" / "hand-over-complete.litmus"
CLOBBER = catalogue.FOLDER / "false-sharing" / "clean-clobbers-the-neighbour.litmus"


def test_flush_and_invalidate_are_no_ops_exactly_where_the_cache_is_missing() -> None:
    found = matrix_file(HAND_OVER)
    assert len(found.rows) == len(CONFIGURATIONS) == 8
    for row in found.rows:
        names = {name.split()[1] for name in row.no_ops}
        expected = set()
        if not row.configuration.writer_must_flush:
            expected.add("flush")
        if not row.configuration.reader_must_invalidate:
            expected.add("invalidate")
        assert names == expected, str(row.configuration)
        assert [q.answer for q in row.answer.questions] == ["forbidden", "race-free", "no-deadlock", "no-fault"]


def test_false_sharing_ends_with_masks() -> None:
    found = matrix_file(CLOBBER)
    answers = {str(row.configuration): row.answer.questions[0].answer for row in found.rows}
    assert answers["flush yes, invalidate yes, line"] == "allowed"
    assert answers["flush yes, invalidate yes, masked"] == "forbidden"


def test_json_names_configuration_answers_and_no_ops() -> None:
    found = matrix_file(HAND_OVER).as_json()
    assert list(found) == ["file", "name", "calls", "rows"]
    assert list(found["rows"][0]) == ["writer_must_flush", "reader_must_invalidate", "write_back", "answers", "no_ops"]


def test_one_call_is_taken_out_and_not_its_equals() -> None:
    program = parse_file(HAND_OVER)
    for _, statement in maintenance(program):
        assert len(list(maintenance(without(program, statement)))) == len(list(maintenance(program))) - 1


def test_a_configuration_sets_caches_and_masks() -> None:
    program = configured(parse_file(HAND_OVER), CONFIGURATIONS[-1])
    assert (program.platform.cached, program.platform.write_back) == ((), "masked")


def test_a_malformed_file_gives_an_error(tmp_path) -> None:
    file = tmp_path / "bad.litmus"
    file.write_text("litmus\n")
    assert list(matrix_file(file).as_json()) == ["file", "error"]
