"""lingua behind the port."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from experiments.detect.languages import LinguaDetector

DETECTOR = LinguaDetector()
AFRIKAANS = "Hierdie is 'n brief oor die huur, en dit is nie waar dat ons niks geweet het nie."


def test_a_sentence_that_reads_as_two_languages_is_in_none() -> None:
    assert DETECTOR.detect("Zie art. 6:162 BW.") is None
    assert DETECTOR.detect("Ja.") is None


def test_afrikaans_is_told_from_dutch_only_where_it_is_asked_for() -> None:
    asked = DETECTOR.asked_for("af")
    assert asked is not None
    assert (DETECTOR.detect(AFRIKAANS), asked.detect(AFRIKAANS)) == ("nl", "af")


def test_a_usual_language_needs_no_other_detector_and_one_for_another_is_made_once() -> None:
    assert DETECTOR.asked_for("fr") is DETECTOR
    assert DETECTOR.asked_for("es") is DETECTOR.asked_for("es")
    assert DETECTOR.asked_for("fy") is None


def test_broken_text_and_a_megabyte_break_nothing() -> None:
    for text in ("", "\x00", "\ud800\udfff", "\u202eabc", "a" * 1_000_000, "\U0010ffff" * 1_000):
        DETECTOR.detect(text)


def test_many_threads_share_one_detector() -> None:
    fresh = LinguaDetector()
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(fresh.detect, ["De huur is te laat betaald door de huurder."] * 32))
    assert found == {"nl"}


def test_nothing_is_loaded_before_the_first_sentence() -> None:
    code = (
        "import sys\n"
        "from experiments.detect.languages import LinguaDetector\n"
        "from experiments.hooks import read_hooks\n"
        "LinguaDetector()\n"
        "read_hooks('').services\n"
        "heavy = {'lingua', 'sentencex', 'phonenumbers', 'stdnum', 'email_validator'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
