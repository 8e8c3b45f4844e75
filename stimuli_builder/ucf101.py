"""UCF-101 as it unpacks: its folders, the words for its 101 classes, and which of them look alike.

The phrases complete "... comes before ...": each is a noun phrase with an actor, so that any two of them
fit into one sentence. The groups are a judgement from the classes' definitions, not a measurement.
"""

from __future__ import annotations

from pathlib import Path

from stimuli_builder.catalogue import EventClass
from stimuli_builder.folders import classes_of

PHRASES = {
    "ApplyEyeMakeup": "a person applying eye makeup",
    "ApplyLipstick": "a person applying lipstick",
    "Archery": "a person shooting a bow and arrow",
    "BabyCrawling": "a baby crawling",
    "BalanceBeam": "a gymnast on a balance beam",
    "BandMarching": "a marching band",
    "BaseballPitch": "a baseball pitch",
    "Basketball": "a person shooting a basketball",
    "BasketballDunk": "a basketball dunk",
    "BenchPress": "a person bench-pressing a barbell",
    "Biking": "a person riding a bicycle",
    "Billiards": "a person playing billiards",
    "BlowDryHair": "a person blow-drying hair",
    "BlowingCandles": "a person blowing out candles",
    "BodyWeightSquats": "a person doing squats",
    "Bowling": "a person bowling at pins",
    "BoxingPunchingBag": "a person hitting a heavy punching bag",
    "BoxingSpeedBag": "a person hitting a small speed bag",
    "BreastStroke": "a person swimming breaststroke",
    "BrushingTeeth": "a person brushing teeth",
    "CleanAndJerk": "a weightlifter doing a clean and jerk",
    "CliffDiving": "a person diving off a cliff",
    "CricketBowling": "a cricketer bowling the ball",
    "CricketShot": "a cricketer batting the ball",
    "CuttingInKitchen": "a person cutting food in a kitchen",
    "Diving": "a person diving from a board into a pool",
    "Drumming": "a person playing a drum kit",
    "Fencing": "two people fencing",
    "FieldHockeyPenalty": "a field hockey penalty",
    "FloorGymnastics": "a gymnast tumbling on a floor mat",
    "FrisbeeCatch": "a person catching a frisbee",
    "FrontCrawl": "a person swimming front crawl",
    "GolfSwing": "a golf swing",
    "Haircut": "a person getting a haircut",
    "HammerThrow": "an athlete throwing the hammer",
    "Hammering": "a person hammering a nail",
    "HandstandPushups": "a person doing handstand push-ups",
    "HandstandWalking": "a person walking on the hands",
    "HeadMassage": "a person getting a head massage",
    "HighJump": "an athlete doing a high jump",
    "HorseRace": "a horse race",
    "HorseRiding": "a person riding a horse",
    "HulaHoop": "a person spinning a hula hoop",
    "IceDancing": "a couple dancing on ice",
    "JavelinThrow": "an athlete throwing a javelin",
    "JugglingBalls": "a person juggling balls",
    "JumpRope": "a person skipping with a rope",
    "JumpingJack": "a person doing jumping jacks",
    "Kayaking": "a person paddling a kayak",
    "Knitting": "a person knitting",
    "LongJump": "an athlete doing a long jump",
    "Lunges": "a person doing lunges",
    "MilitaryParade": "a military parade",
    "Mixing": "a person mixing batter in a bowl",
    "MoppingFloor": "a person mopping a floor",
    "Nunchucks": "a person swinging nunchucks",
    "ParallelBars": "a gymnast on the parallel bars",
    "PizzaTossing": "a person tossing pizza dough",
    "PlayingCello": "a person playing the cello",
    "PlayingDaf": "a person playing the daf frame drum",
    "PlayingDhol": "a person playing the dhol barrel drum",
    "PlayingFlute": "a person playing the flute",
    "PlayingGuitar": "a person playing the guitar",
    "PlayingPiano": "a person playing the piano",
    "PlayingSitar": "a person playing the sitar",
    "PlayingTabla": "a person playing the tabla hand drums",
    "PlayingViolin": "a person playing the violin",
    "PoleVault": "an athlete pole-vaulting",
    "PommelHorse": "a gymnast on the pommel horse",
    "PullUps": "a person doing pull-ups",
    "Punch": "a person punching an opponent",
    "PushUps": "a person doing push-ups",
    "Rafting": "people rafting down a river",
    "RockClimbingIndoor": "a person climbing an indoor wall",
    "RopeClimbing": "a person climbing a rope",
    "Rowing": "people rowing a boat",
    "SalsaSpin": "a couple dancing salsa",
    "ShavingBeard": "a person shaving a beard",
    "Shotput": "an athlete putting the shot",
    "SkateBoarding": "a person skateboarding",
    "Skiing": "a person skiing down a slope",
    "Skijet": "a person riding a jet ski",
    "SkyDiving": "a person skydiving",
    "SoccerJuggling": "a person juggling a soccer ball",
    "SoccerPenalty": "a soccer penalty kick",
    "StillRings": "a gymnast on the still rings",
    "SumoWrestling": "two sumo wrestlers fighting",
    "Surfing": "a person surfing a wave",
    "Swing": "a child on a swing",
    "TableTennisShot": "a person playing table tennis",
    "TaiChi": "a person practising tai chi",
    "TennisSwing": "a person hitting a tennis ball",
    "ThrowDiscus": "an athlete throwing a discus",
    "TrampolineJumping": "a person jumping on a trampoline",
    "Typing": "a person typing on a keyboard",
    "UnevenBars": "a gymnast on the uneven bars",
    "VolleyballSpiking": "a volleyball player spiking the ball",
    "WalkingWithDog": "a person walking a dog",
    "WallPushups": "a person doing push-ups against a wall",
    "WritingOnBoard": "a person writing on a board",
    "YoYo": "a person playing with a yo-yo",
}

CONFUSABLE_GROUPS = tuple(
    frozenset(group.split())
    for group in (
        "ApplyEyeMakeup ApplyLipstick",
        "BrushingTeeth ShavingBeard",
        "Haircut BlowDryHair HeadMassage",
        "Basketball BasketballDunk",
        "BoxingPunchingBag BoxingSpeedBag Punch",
        "BreastStroke FrontCrawl",
        "Diving CliffDiving",
        "CricketBowling CricketShot",
        "HammerThrow ThrowDiscus Shotput",
        "HighJump LongJump PoleVault JavelinThrow",
        "HorseRace HorseRiding",
        "Kayaking Rafting Rowing",
        "PlayingDhol PlayingTabla PlayingDaf Drumming",
        "PlayingGuitar PlayingSitar",
        "PlayingViolin PlayingCello",
        "ParallelBars UnevenBars StillRings",
        "PushUps WallPushups HandstandPushups",
        "BandMarching MilitaryParade",
        "FieldHockeyPenalty SoccerPenalty",
        "BodyWeightSquats Lunges",
        "JumpRope JumpingJack",
        "Surfing Skijet",
    )
)


def ucf101_classes(folder: Path) -> list[EventClass]:
    """The classes under `folder`, which is `UCF-101` itself or the folder that it was unpacked into.

    A class is its sub-folder's name, never part of a file's name: the clips of `HandstandPushups` are
    called `v_HandStandPushups_...`, and a reader that goes by file names finds a 102nd class.

    Raises:
        CavedError: if the folder is missing, or holds no sub-folder with clips.
    """
    inner = folder / "UCF-101"
    return classes_of(inner if inner.is_dir() else folder, "--ucf101", PHRASES)
