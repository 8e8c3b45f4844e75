"""The forms in which a response may write an option: its own text, other spellings, number words, other languages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# Each row names one thing; forms behind the bar are other languages' or adjectives, and may take an ending.
_COLOURS = """
red | rot rouge rojo roja rosso rossa vermelho vermelha красный 红色 红 紅 赤色 赤 빨간색
orange | naranja anaranjado arancione laranja 橙色 橙 オレンジ色 オレンジ
yellow | gelb jaune amarillo amarilla giallo amarelo жёлтый желтый 黄色 黄 노란색
green | grün vert verte verde зелёный зеленый 绿色 绿 緑色 緑 초록색
blue | blau bleu bleue azul blu синий 蓝色 蓝 藍 青色 青 파란색
purple violet | lila violett violette morado morada púrpura viola roxo фиолетовый 紫色 紫 보라색
pink | rosa rose розовый 粉色 粉红色 ピンク色 ピンク
brown | braun marron marrón brun marrone marrom коричневый 棕色 褐色 茶色
black | schwarz noir noire negro negra nero preto чёрный черный 黑色 黑 黒色 黒
white | weiß weiss blanc blanche blanco blanca bianco branco белый 白色 白
grey gray | grau gris grigio cinza серый 灰色 灰
teal turquoise | türkis turquesa
cyan | zyan
beige
magenta
gold golden
silver
navy
maroon
"""
_SHAPES = """
circle | circular round kreis cercle círculo circulo cerchio круг 圆形 圆 円 丸
square | quadrat quadratisch carré cuadrado quadrato quadrado квадрат 正方形 方形 四角
triangle | triangular dreieck dreieckig triángulo triangolo triângulo треугольник 三角形 三角
rectangle | rectangular rechteck rechteckig rectángulo rettangolo retângulo прямоугольник 长方形 矩形 長方形
hexagon | hexagonal sechseck sechseckig hexagone hexágono esagono шестиугольник 六边形 六角形
pentagon | pentagonal fünfeck fünfeckig pentagone pentágono pentagono 五边形 五角形
octagon | octagonal achteck octogone octágono octógono 八边形 八角形
star | starshaped stern sternförmig étoile estrella stella estrela звезда 五角星 星形 星
diamond rhombus | rhombic raute losange rombo ромб 菱形 ダイヤ
oval ellipse | elliptical elliptic ovale óvalo ovalado 椭圆形 椭圆 楕円形 楕円
heart | heartshaped herz cœur coeur corazón cuore сердце 心形 爱心 ハート
cross plus | kreuz croix cruz croce крест 十字形 十字
crescent | halbmond croissant 月牙 三日月
arrow | pfeil flèche flecha freccia 箭头 矢印
trapezoid trapezium | trapez trapèze trapecio 梯形 台形
"""
_NUMBERS = """
0 zero | null cero zéro 零
1 one | eins
2 two | zwei dos deux dois два 两 兩 二
3 three | drei tres trois três три 三
4 four | vier cuatro quatre quatro четыре 四
5 five | fünf cinco cinq пять 五
6 six | sechs seis шесть 六
7 seven | sieben siete sept sete семь 七
8 eight | acht ocho huit oito восемь 八
9 nine | neun nueve neuf nove девять 九
10 ten | zehn diez dix dez десять 十
11 eleven | elf onze
12 twelve | zwölf doce douze doze
13 thirteen
14 fourteen
15 fifteen
16 sixteen
17 seventeen
18 eighteen
19 nineteen
20 twenty
"""
KINDS: tuple[tuple[tuple[tuple[str, ...], tuple[str, ...]], ...], ...] = tuple(
    tuple(
        (tuple(own.split()), tuple(others.split()))
        for own, _, others in (row.partition("|") for row in table.strip().splitlines())
    )
    for table in (_COLOURS, _SHAPES, _NUMBERS)
)
_NUMBER_ROWS = KINDS[2]
_WORD = re.compile(r"[a-zà-ÿ]+")
_UNSPACED = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"  # scripts without spaces
UNSPACED = re.compile(f"[{_UNSPACED}]")
# Case is kept here: with IGNORECASE a range of 20,000 letters takes a tenth of a second to compile, for each option.
_SPACED_LETTER = rf"(?-i:[^\W_{_UNSPACED}])"
_LETTER = r"[^\W_]"  # the same in a text without such scripts, and a hundred times faster to compile
_DASH = r"[\-\u2010-\u2015\u2212]"


def plain(text: str) -> str:
    """A text as options and responses are compared: NFKC, plain quotes and spaces, without mark-up."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    text = re.sub(r"[\u200b-\u200f\u2060\ufeff*`~$_]", "", text)
    return re.sub(r"\s+", " ", text).strip()


def bare(text: str) -> str:
    """A plain text without the punctuation around it."""
    return re.sub(r"^[\W_]+|[\W_]+$", "", plain(text)) or plain(text)


def squeezed(text: str) -> str:
    """A plain text without case, spaces and hyphens, so that all spellings of a code are one."""
    return re.sub(rf"[\s]|{_DASH}", "", plain(text)).casefold()


def is_code(text: str) -> bool:
    """Whether a text is a code: capital letters, or letters and digits, in one to three groups."""
    groups = re.split(rf"\s|{_DASH}", text)
    if not all(re.fullmatch(r"[A-Za-z0-9]+", group) for group in groups) or len(groups) > 3:
        return False
    letters = [c for c in text if c.isalpha()]
    return bool(letters) and (any(c.isdigit() for c in text) or (len(letters) > 2 and text.isupper()))


def _row_of(text: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    word = text.casefold()
    for kind in KINDS:
        for own, others in kind:
            if word in own or word in others:
                return own, others
    return None


def _without_article(text: str) -> str:
    return re.sub(r"^(?:an?|the)\s+(?=\S)", "", text, flags=re.I)


def _distinct_part(texts: Sequence[str], place: int) -> str:
    """An option without the words that all options end with: "yield" of "yield sign"; empty if that says too little."""
    words = [_without_article(text).split() for text in texts]
    shared = 0
    while all(len(w) > shared + 1 for w in words) and len({w[-1 - shared].casefold() for w in words}) == 1:
        shared += 1
    part = " ".join(words[place][: len(words[place]) - shared]) if shared else ""
    return part if len(part) >= 4 else ""


def option_forms(options: Sequence[str]) -> list[tuple[str, ...]]:
    """For each option the texts that stand for it, its own first; no text stands for two options.

    Args:
        options: as displayed.
    """
    texts = [plain(option) for option in options]
    stems = [_without_article(text) for text in texts]
    proposed: list[list[str]] = []
    for place, (text, stem) in enumerate(zip(texts, stems, strict=True)):
        row = _row_of(stem)
        forms = [text, stem, _distinct_part(texts, place)]
        if row is not None:
            forms += [*row[0], *row[1]]
        for british, american in (("grey", "gray"), ("colour", "color"), ("centre", "center"), ("licence", "license")):
            for one, other in ((british, american), (american, british)):
                if re.search(rf"\b{one}", stem, re.I):
                    forms.append(re.sub(rf"\b{one}", other, stem, flags=re.I))
        proposed.append([form for form in forms if form])
    own = [text.casefold() for text in texts]
    result = []
    for place, forms in enumerate(proposed):
        others = {f.casefold() for other, fs in enumerate(proposed) if other != place for f in fs}
        kept = [f for f in forms[1:] if f.casefold() not in others]
        result.append(tuple(dict.fromkeys([texts[place], *kept])) if own.count(own[place]) == 1 else (texts[place],))
    return result


def _body(form: str) -> str:
    """The letters of a form as a regular expression that lets spaces and hyphens vary, and words take an ending."""
    if is_code(form):
        return rf"(?:,?\s|{_DASH}){{0,2}}".join(re.escape(c) for c in form if c.isalnum())
    measure = re.search(r"\d\s+[^\W\d]", form) is not None  # "12.5 kg"
    gap = r"\s*" if measure else rf"(?:\s|{_DASH})+"
    body = gap.join(re.escape(part) for part in re.split(rf"(?:\s|{_DASH})+", form) if part)
    row = _row_of(form)
    if _WORD.fullmatch(form.casefold()) and len(form) > 2 and row not in _NUMBER_ROWS:
        foreign = row is not None and form.casefold() in row[1]
        body += r"(?:e[snrm]?|a?s|o?s)?" if foreign else r"(?:e?s)?"
    return body


def form_pattern(form: str, loose: bool, unspaced: bool) -> str:
    """A regular expression for a form as a whole word.

    Args:
        form: from `option_forms`.
        loose: lets spaces, hyphens and endings vary; wrong where options differ in nothing else.
        unspaced: whether the text may hold scripts that write words without spaces between them.
    """
    letter = _SPACED_LETTER if unspaced else _LETTER
    body = _body(form) if loose and re.search(r"\w", form) else re.sub(r"(?:\\ )+", r"\\s+", re.escape(form))
    before = after = ""
    if re.match(rf"\w(?<![{_UNSPACED}])", form):
        before = rf"(?<!{letter})"
    if re.search(rf"\w(?<![{_UNSPACED}])$", form):
        after = rf"(?!{letter})"
    if is_code(form) or number_of(form) is not None:
        before += rf"(?<![A-Za-z0-9]{_DASH})"
        after += rf"(?!{_DASH}[A-Za-z0-9])"
    if form[0].isdecimal():
        before += r"(?<!\d[.,:/])"
    if form[-1].isdecimal():
        after += r"(?![.,:/]\d)"
    return f"{before}{body}{after}"


def number_of(form: str) -> str | None:
    """The digits of a number or number word; None for anything else."""
    word = form.casefold()
    if word.isdecimal():
        return word
    return next((own[0] for own, others in _NUMBER_ROWS if word in own or word in others), None)


_STATES = re.compile(
    r"(?:^\W*(?:yes|yeah|yep|correct|right|indeed|exactly|agreed)\W|\b(?:it's|it is|is|are|reads?|says?|shows?|be|indeed|actually|there are|spells?|displays?))\s*(?:(?:an?|the|indeed|actually|clearly|exactly)\s+)*"
    r"[\"'(]?(?P<value>\w[\w-]*)",
    re.I,
)


def states_another(text: str, options: Sequence[str], words: bool = True) -> bool:
    """Whether a text states a value of the options' kind that none of them is.

    Args:
        text: in which mentions of options are marked.
        options: as displayed.
        words: also another colour or shape; else another number or code only.
    """
    texts = [plain(option) for option in options]
    values = [match["value"] for match in _STATES.finditer(text)]
    if all(number_of(t) is not None for t in texts):
        return any(number_of(value) is not None for value in values)
    if all(is_code(t) for t in texts):
        lengths = {len(squeezed(t)) + d for t in texts for d in (-1, 0, 1)}
        return any(is_code(v) and any(c.isdigit() for c in v) and len(squeezed(v)) in lengths for v in values)
    if not words:
        return False
    kinds = [
        next((k for k in KINDS if any(_without_article(t).casefold() in (*a, *b) for a, b in k)), None) for t in texts
    ]
    shared = kinds[0] if kinds and all(kind is kinds[0] for kind in kinds) else None
    return shared is not None and any(v.casefold() in (*own, *others) for own, others in shared for v in values)
