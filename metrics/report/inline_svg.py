"""A figure as part of the page: nothing in it can run or load, its ids are its own, its colours follow the scheme."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from metrics.report.contents import Figure
from metrics.report.figure_style import GRID, INK, MUTED, PALETTE, PAPER
from metrics.report.notation import plain

_TAGS = {
    "svg",
    "g",
    "path",
    "use",
    "defs",
    "clipPath",
    "rect",
    "line",
    "polyline",
    "polygon",
    "circle",
    "text",
    "tspan",
}
_LEFT_OUT = {"metadata", "style", "title", "desc"}
_COLOURS = {INK: "--ink", MUTED: "--muted", GRID: "--grid", PAPER: "--paper"} | {
    light: f"--model-{i}" for i, (light, _) in enumerate(PALETTE, 1)
}
_COLOUR = re.compile("|".join(map(re.escape, _COLOURS)), re.IGNORECASE)


def _local(name: str) -> str:
    return name.rsplit("}", 1)[-1]


def _attribute(name: str, value: str, prefix: str) -> str | None:
    """The value with its references renamed and its colours looked up; None if it may not stand in the page."""
    if name.lower().startswith("on") or re.search(r"url\(\s*['\"]?(?!#)", value):
        return None
    if name == "href":
        return f"#{prefix}-{value[1:]}" if value.startswith("#") else None
    if name == "id":
        return f"{prefix}-{value}"
    value = value.replace("url(#", f"url(#{prefix}-")
    return _COLOUR.sub(lambda m: f"var({_COLOURS[m[0].lower()]}, {m[0]})", value)


def _adopt(element: ElementTree.Element, figure: Figure) -> None:
    for child in [c for c in element if _local(c.tag) in _LEFT_OUT]:
        element.remove(child)
    for child in element:
        _adopt(child, figure)
    element.tag = _local(element.tag)
    if element.tag not in _TAGS:
        raise ValueError(f"figure {figure.name} holds <{element.tag}>, which the page does not admit: draw it without")
    kept = {}
    for full_name, value in element.attrib.items():
        name = _local(full_name)
        shown = _attribute(name, value, f"svg-{figure.name}")
        if shown is None:
            raise ValueError(f"figure {figure.name} holds {name}={value[:60]!r}, which may load or run something")
        kept[name] = shown
    element.attrib.clear()
    element.attrib.update(kept)


def inline_svg(figure: Figure) -> str:
    """The figure's SVG for use inside HTML, named by its title and described by its caption.

    Raises:
        ValueError: if it is no SVG, or holds anything but shapes.
    """
    try:
        root = ElementTree.fromstring(figure.svg)  # leaves comments and the document type out
    except ElementTree.ParseError as error:
        raise ValueError(f"figure {figure.name} is no SVG: {error}") from error
    _adopt(root, figure)
    if root.tag != "svg":
        raise ValueError(f"figure {figure.name} is no SVG: it begins with <{root.tag}>")
    for name in set(root.attrib) - {"viewBox", "width", "height"}:
        del root.attrib[name]
    root.set("role", "img")
    root.set("aria-label", plain(f"{figure.title}. {figure.caption}"))
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False)


def model_colours(dark: bool) -> str:
    """CSS that sets the colour of each model."""
    return " ".join(f"--model-{i}: {pair[dark]};" for i, pair in enumerate(PALETTE, 1))
