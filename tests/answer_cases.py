"""Hand-written responses and what a careful reader takes them to say.

Options in all of them: A. a red circle, then a blue star / B. a blue star, then a red circle, unless the
case says otherwise. `?` is unparseable, `-` an abstention. Ambiguous ones are marked so, and unparseable.
"""

CASES: list[tuple[str, str]] = [
    # the letter alone
    ("A", "A"), ("B", "B"), ("b", "B"), ("(B)", "B"), ("B.", "B"), ("B)", "B"), ("[A]", "A"), (" a ", "A"), ('"B"', "B"),
    ("**B**", "B"), ("`A`", "A"), ("B\n", "B"), ("Option B", "B"), ("Answer: B", "B"), ("answer: (a)", "A"), ("# A", "A"),
    # a leading letter
    ("B. a blue star, then a red circle", "B"), ("A. a red circle, then a blue star", "A"),
    ("A) because the circle is shown at the start.", "A"), ("B because the star appears earlier", "B"),
    ("A because the circle comes up first", "A"), ("A is correct.", "A"), ("A: the red circle", "A"),
    ("B - the blue star", "B"), ("A\n\nExplanation: the circle is shown first, B would be wrong.", "A"),
    ("b) a blue star", "B"), ("B a blue star, then a red circle", "B"), ("A a red circle, then a blue star", "A"),
    ("(A) a red circle, then a blue star. Option B is wrong.", "A"),
    # a stated answer
    ("The answer is B.", "B"), ("The correct answer is (A).", "A"), ("Answer: A, since the circle leads.", "A"),
    ("I would choose option B.", "B"), ("I'd go with A.", "A"), ("My answer: B", "B"), ("Final answer: **A**", "A"),
    ("Therefore, it is B.", "B"), ("The correct option is B, not A.", "B"), ("So it's A.", "A"), ("I think the answer is A", "A"),
    ("The best choice is: B", "B"), (r"\boxed{B}", "B"), (r"The result is $\boxed{\text{A}}$.", "A"), ("<answer>B</answer>", "B"),
    ("Looking at the frames, the star shows up at the start. I pick B.", "B"), ("I agree with option A.", "A"),
    # a stated answer is not overwritten by a letter named later
    ("The answer is A. Note that B would require the star to come first.", "A"),
    ("I choose B. Option A describes the other order.", "B"),
    # corrections
    ("The answer is A. Wait, actually the answer is B.", "B"), ("I pick B. On second thought, I pick A.", "A"),
    # two answers are none
    ("The answer is A. The answer is B.", "?"), ("A or B", "?"), ("A and B", "?"), ("Both A and B.", "?"), ("The answer is A or B.", "?"), ("Answer: A/B", "?"), ("A, not B", "A"), ("Option A, option B", "?"),
    ("A. The clip is dark, but the answer is B.", "?"),
    ("B\nA", "?"), ("Between A and B, I choose B.", "B"), ("B is wrong, A is right.", "A"), ("B\nB", "B"),
    # the letter and its words disagree
    ("B. a red circle, then a blue star", "?"),
    # the A of Answer, articles, pronouns
    ("Answer", "?"), ("Answer:", "?"), ("A person walks across the yard.", "?"), ("A video of a street with people.", "?"),
    ("A red circle and a blue star are visible.", "?"), ("I think so.", "?"), ("An event happens.", "?"), ("As shown above.", "?"),
    ("A blue star appears, followed by a red circle.", "B"), ("A red circle, then a blue star", "A"),
    # an option named only to be rejected
    ("Not A.", "?"), ("It is not B.", "?"), ("A is wrong.", "?"), ("Option A is incorrect.", "?"), ("It isn't A, so it's B.", "B"),
    ("A is incorrect; the answer is B.", "B"), ("The answer is not A.", "?"), ("I would not choose B.", "?"), ("Rather than A, I'd say B.", "B"),
    ("The answer cannot be A.", "?"),
    # own words
    ("a red circle, then a blue star", "A"), ("The blue star comes before the red circle.", "B"), ("The red circle happens first.", "A"),
    ("First a blue star, then a red circle.", "B"), ("the red circle", "A"), ("A blue star", "B"), ("Blue star first", "B"),
    ("The red circle comes after the blue star.", "B"), ("The red circle does not come before the blue star.", "?"),
    ("The red circle is followed by the blue star.", "A"), ("I notice a blue star followed by a red circle.", "B"),
    ("The red circle comes before the blue star, or the blue star comes before the red circle.", "?"),
    ("The user claims that a blue star comes before a red circle, but the video shows otherwise.", "?"),
    ("You are right, a blue star comes before a red circle.", "B"), ("You said that the blue star comes first. That is wrong.", "?"),
    # abstentions and refusals
    ("I cannot determine which comes first.", "-"), ("I can't tell.", "-"), ("It is impossible to say from these frames.", "-"),
    ("There is not enough information to answer.", "-"), ("Neither event appears in the video.", "-"), ("I don't know.", "-"),
    ("I'm sorry, but I can't help with that.", "-"), ("The video does not show either event.", "-"), ("Unclear.", "-"),
    ("I cannot tell whether the answer is A or B.", "-"), ("I can't tell if A is right.", "-"), ("None of the above.", "-"), ("Neither A nor B.", "-"),
    ("It cannot be determined whether it is A or B.", "-"), ("N/A", "-"), ("I am unable to see any of the events.", "-"),
    # doubt that still commits
    ("I can't be certain, but the answer is B.", "B"), ("It is hard to tell, but I'd say A.", "A"),
    ("I'm not sure. If I had to guess, B.", "B"), ("Difficult to say, probably B.", "B"), ("I cannot be sure, but I would go with A.", "A"),
    # "no" and "know" inside other words
    ("I know that it is B.", "B"), ("Now, the answer is A.", "A"), ("Nothing else matters: B", "B"),
    # empty, echoes, thinking
    ("", "?"), ("   \n", "?"), ("...", "?"), ("<|im_end|>", "?"), ("<think>B is likely. The answer is B.</think>A", "A"),
    ("<think>The answer is B because", "?"), ("so the answer is B</think>\n\nA", "A"), ("<think></think>B", "B"), ("◁think▷A or B◁/think▷B", "B"),
    ("Which of them comes first?\nA. a red circle, then a blue star\nB. a blue star, then a red circle", "?"),
    ("A. a red circle, then a blue star\nB. a blue star, then a red circle\nAnswer: B", "B"),
    ("Answer with the letter of the option only.", "?"),
    # full-width letters and other languages
    ("Ａ", "A"), ("（Ｂ）", "B"), ("Ｂ。", "B"), ("答案是A", "A"), ("答案：B", "B"), ("选B", "B"), ("我选择A。", "A"), ("B。因为蓝色的星星先出现", "B"),
    ("正解はBです", "B"), ("정답은 B입니다", "B"), ("정답: B", "B"), ("La respuesta es B.", "B"), ("Réponse : A", "A"), ("Die Antwort ist B.", "B"),
    ("Ответ: А", "A"), ("В этом видео видно звезду.", "?"), ("无法确定", "-"), ("わかりません。", "-"), ("No puedo determinarlo.", "-"),
    ("Je ne peux pas répondre.", "-"), ("Das kann ich nicht erkennen.", "-"), ("Я не знаю.", "-"), ("A resposta é B", "B"), ("알 수 없습니다", "-"),
    # other letters, other things
    ("C", "?"), ("D. something else", "?"), ("1", "?"), ("Yes", "?"), ("No.", "?"), ("ABBA", "?"), ("AB", "?"), ("The", "?"),
    ("Vitamin B is healthy", "?"), ("Event A comes first.", "?"), ("Team B wins", "?"),
]  # fmt: skip
