"""Pages that several commands write keep each other's parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.page_parts import with_part, write_part
from stimuli_builder.errors import CavedError

texts = st.text(alphabet="ab #|\n", min_size=1).filter(str.strip)


@given(st.lists(st.tuples(st.sampled_from(("video", "image", "image reader")), texts), max_size=8))
def test_each_part_is_what_was_written_last(writes):
    page, last = "", {}
    for name, text in writes:
        page, last[name] = with_part(page, name, text), text.strip()
    for name, text in last.items():
        assert page.count(f"<!-- {name} -->\n{text}\n<!-- end of {name} -->\n") == 1
    assert len(page.split("<!-- end of ")) == len(last) + 1
    for name, text in last.items():  # writing the same again changes nothing
        assert with_part(page, name, text) == page


def test_what_stands_around_parts_stays(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("# Title\n\n<!-- a -->\nold\n<!-- end of a -->\n\nBetween.\n")
    write_part(path, "b", "second")
    write_part(path, "a", "new")
    assert path.read_text() == (
        "# Title\n\n<!-- a -->\nnew\n<!-- end of a -->\n\nBetween.\n\n<!-- b -->\nsecond\n<!-- end of b -->\n"
    )


@pytest.mark.parametrize("page", ["<!-- a -->\nx\n", "x\n<!-- end of a -->\n", "<!-- end of a -->\n<!-- a -->\n"])
def test_half_a_part_is_refused(page):
    with pytest.raises(CavedError, match="without the other"):
        with_part(page, "a", "new")
