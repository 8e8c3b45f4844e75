"""The page of a report: escaped, closed to the network, in order, and readable by everyone."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import HOSTILE, QWEN, all_figures, estimate, report, table

from metrics.report.contents import Figure, Report
from metrics.report.figure_style import PALETTE
from metrics.report.inline_svg import inline_svg
from metrics.report.page import render_page
from metrics.report.report_table import Cell, Column, ReportTable, Row
from metrics.report.shown_table import shown_table

VOID = {"meta", "img", "br", "wbr", "link", "input", "hr"}


class Page(HTMLParser):
    """Tags with their attributes, and the text under each; fails on tags that do not nest."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.texts = [], [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes), len(self.texts)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((tuple(self.open), data))

    def text(self, inside="body"):
        return " ".join("".join(data for path, data in self.texts if inside in path).split())

    def named(self, tag):
        return [attributes for name, attributes, _ in self.tags if name == tag]


def page_of(content):
    return Page(render_page(content, [f"sheets/{i}.png" for i in range(len(content.sheets))]))


def shapes(page):
    """The skeleton of a page: its tags without what texts are in them."""
    return [(name, sorted(attributes)) for name, attributes, _ in page.tags if name not in ("wbr", "code", "sub")]


@pytest.fixture(scope="module")
def drawn():
    return report(figures=all_figures((QWEN, "other")))


@pytest.fixture(scope="module")
def page(drawn):
    return page_of(drawn)


def test_harmful_names_are_shown_and_change_nothing():
    hostile, harmless = page_of(report(HOSTILE)), page_of(report([f"m{i}" for i in range(len(HOSTILE))]))
    assert not hostile.named("script") and len(hostile.named("img")) == len(HOSTILE)
    assert shapes(hostile) == shapes(harmless)
    text = hostile.text()
    for name in HOSTILE[:3]:
        assert " ".join(name.split()) in text
    assert "模型/🙂" in text and "\x00" not in text and "half\ufffd line next" in text and "\u202e" not in text


@settings(max_examples=40, deadline=None)
@given(st.text(min_size=1, max_size=60))
def test_any_text_leaves_the_skeleton_as_it_is(text):
    found = page_of(report((text, f"{text}2")))
    assert shapes(found) == shapes(page_of(report(("a", "a2"))))
    assert render_page(report((text, f"{text}2")), ["a", "b"]).encode("utf-8")


def test_nothing_is_loaded_and_nothing_runs(page):
    (policy,) = [m["content"] for m in page.named("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none';") and "script-src" not in policy
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & {name for name, _, _ in page.tags}
    for name, attributes, _ in page.tags:
        assert not any(a.startswith("on") for a in attributes), (name, attributes)
        for attribute in ("src", "href", "xlink:href", "srcset", "action"):
            value = attributes.get(attribute, "#")
            assert value.startswith(("#", "data:image/png;base64,")), (name, attribute)
    css = "".join(data for path, data in page.texts if "style" in path)
    assert "url(" not in css and "@import" not in css


def test_ids_are_unique_and_every_reference_arrives(page):
    ids = [attributes["id"] for _, attributes, _ in page.tags if attributes.get("id")]
    assert len(ids) == len(set(ids))
    for _, attributes, _ in page.tags:
        for name in ("href", "xlink:href", "aria-labelledby"):
            if name in attributes:
                assert attributes[name].lstrip("#") in ids
        for value in attributes.values():
            assert all(target in ids for target in re.findall(r"url\(#([^)]+)\)", value or ""))


def test_what_must_be_known_first_comes_first(page):
    order = [a["id"] for a in page.named("section") if a["id"] in
             ("warnings", "verdicts", "missing", "tables", "figures", "sheets", "receipts", "provenance")]  # fmt: skip
    assert order == ["warnings", "verdicts", "missing", "tables", "figures", "sheets", "receipts", "provenance"]


def test_readers_of_all_kinds_are_served(page):
    assert page.named("html") == [{"lang": "en"}] and len(page.named("h1")) == 1 and len(page.named("main")) == 1
    levels = [int(name[1]) for name, _, _ in page.tags if re.fullmatch("h[1-6]", name)]
    assert all(b <= a + 1 for a, b in zip(levels, levels[1:], strict=False))
    assert all(a["scope"] in ("col", "row", "colgroup") for a in page.named("th"))
    assert all(a["alt"] for a in page.named("img"))
    assert all(a["role"] == "img" and len(a["aria-label"]) > 40 for a in page.named("svg"))
    scrolling = [a for a in page.named("div") if "scroll" in a.get("class", "")]
    assert scrolling and all(a["tabindex"] == "0" and (a.get("aria-label") or a["aria-labelledby"]) for a in scrolling)
    assert len(scrolling) >= len(page.named("table")) + len(page.named("svg"))


def luminance(colour):
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return float(
        np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]
    )


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_and_marks_stand_out_in_both_schemes(page):
    css = "".join(data for path, data in page.texts if "style" in path)
    schemes = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{([^}]*)\}", css)
    ]
    base = [scheme for scheme in schemes if "paper" in scheme]
    models = [scheme for scheme in schemes if "model-1" in scheme]
    assert len(base) == len(models) == 2
    for colours, series in zip(base, models, strict=True):
        for text in ("ink", "muted", "link", "published"):
            assert min(contrast(colours[text], colours[ground]) for ground in ("paper", "panel")) >= 4.5, text
        assert contrast(colours["alarm"], colours["alarm-panel"]) >= 4.5
        assert contrast(colours["link"], colours["alarm-panel"]) >= 3
        assert len(series) == len(PALETTE)
        assert min(contrast(colour, colours["paper"]) for colour in series.values()) >= 3


def cells_of(one_table):
    content = page_of(Report("t", tables=(one_table,)))
    starts = [at for name, _, at in content.tags if name == "td"] + [len(content.texts)]

    def joined(a, b):
        return " ".join("".join(d if "td" in path else "" for path, d in content.texts[a:b]).split())

    return content, [joined(a, b) for a, b in zip(starts, starts[1:], strict=False)]


def test_a_cell_shows_number_interval_test_and_paper():
    content, cells = cells_of(table())
    assert cells[0].startswith("0.51[0.47, 0.55]p < 0.001paper 0.04 (+0.47)")
    assert cells[1].startswith("1.000e[0.993, 1.000]p = 0.041paper 0.930 (+0.070)")
    assert cells[2].startswith("0.00cpaper 0.00 (±0.00)")  # no interval, and the note would say what the mark says
    assert cells[3].startswith("−0.361[−0.40, −0.32]")  # 1 is the footnote
    assert cells[4].startswith("no channelpaper 0.50")  # nothing to compare
    assert cells[5].startswith("0.000") and "[" not in cells[5]  # not "−0.000"
    assert cells[6] == "–"
    text = content.text()
    for explained in (
        "e (exact)",
        "c (by construction)",
        "–: not measured",
        "measured minus published",
        "2608.03160 v2",
    ):
        assert explained in text
    assert "too few probes; run caved build" in text and "Probes behind each number: 499 to 500." in text
    assert "nan" not in text.lower().replace("provenance", "")


def test_only_marks_that_occur_are_explained():
    plain = ReportTable("x", "X", "Table 9", "model", (Column("a", "a"),), (Row("m", {"a": Cell(estimate(0.5))}),))
    content, _ = cells_of(plain)
    assert (
        "exact" not in content.text("ul") and "published" not in content.text("ul") and "[0.46, 0.54]" in content.text()
    )


def test_the_sign_of_a_difference_is_measured_minus_published():
    def shown(value, published):
        cell = Cell(estimate(value), published=published)
        one = ReportTable("x", "X", "T", "m", (Column("a", "a"),), (Row("m", {"a": cell}),))
        return shown_table(one).rows[0].cells[0].difference

    assert [shown(0.40, 0.51), shown(0.51, 0.40), shown(0.512, 0.51), shown(0.0, -0.36)] == [
        "−0.11",
        "+0.11",
        "±0.00",
        "+0.36",
    ]


def test_groups_span_their_columns(page):
    spans = [(a["colspan"]) for a in page.named("th") if a["scope"] == "colgroup"]
    assert spans == ["2", "1"] * 2
    heads = [a for a in page.named("th") if a.get("rowspan") == "2"]
    assert len(heads) == 4  # the model and the column without a group, in both tables


def test_commands_are_code_and_missing_things_are_gathered(page):
    assert "Main results: no log of caved_or_convinced_k32" in page.text()
    assert any("code" in path and data == "caved_or_convinced_k32" for path, data in page.texts)


def test_an_empty_report_says_so():
    text = page_of(Report("Nothing yet")).text()
    for part in ("None of the checks found anything", "There is nothing to judge", "No receipts"):
        assert part in text


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        "<foreignObject><p/></foreignObject>",
        '<g onload="alert(1)"/>',
        '<use href="http://example.org/x"/>',
        '<image href="data:image/png;base64,AA"/>',
        '<path style="fill: url(http://example.org/x)"/>',
        '<a href="#x"/>',
    ],
)
def test_a_figure_with_more_than_shapes_is_refused(inside):
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1">{inside}</svg>'
    with pytest.raises(ValueError, match="figure odd"):
        inline_svg(Figure("odd", "Odd", "odd", svg, b""))


@pytest.mark.parametrize("svg", ["", "no svg", "<p/>"])
def test_what_is_no_svg_is_refused(svg):
    with pytest.raises(ValueError, match="figure odd"):
        inline_svg(Figure("odd", "Odd", "odd", svg, b""))


def test_figures_follow_the_scheme_of_the_page(drawn):
    html = render_page(drawn, ["a", "b"])
    body = html[html.index("<body") :]
    assert "var(--model-1, #113492)" in body and "var(--ink, #1f2430)" in body
    assert not re.search(r"(fill|stroke): #", body)
