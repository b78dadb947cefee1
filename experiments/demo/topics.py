"""What the demo service knows to say: one topic a question, with the answers it gives by turns.

A topic is found by its cues. `order` says which answer the n-th attempt of a case gets, one letter an
attempt, so that five repeats always hold the mix a case is there to show ("aabab": the second answer twice in
five). Which rules an answer cites is not written here: the service searches the handbook and cites what it
found.
"""

from __future__ import annotations

from dataclasses import dataclass

LEDGER = "claim_ledger"
SEARCH = "handbook_search"

NO_ADVICE = "no_advice"
NOT_COVERED = "not_covered"


@dataclass(frozen=True, slots=True)
class Answer:
    """One way to answer. `text` may name `{claim}`, `{status}`, `{amount}` and `{income}`.

    `cites`: how many of the found rules are cited; None leaves it to the scores. `invents`: ids cited that
    the search did not find. `failure`: what went wrong beside the reply. `drafts`: how often the answer was
    rewritten, each of which costs tokens. `reports_usage` False leaves the usage out, as some services do.
    """

    text: str
    cites: int | None = None
    invents: tuple[str, ...] = ()
    node: str | None = None
    failure: str | None = None
    drafts: int = 1
    reports_usage: bool = True


@dataclass(frozen=True, slots=True)
class Topic:
    """A question the service recognises: every cue must occur in the lower-case text.

    `node` is the spec node it reports, None for none; `refusal` the code of the message the answer gives;
    `reads_ledger` and `withdraws` say what it does with the claim at hand. `earlier` is the order of the
    release before this one, where it was another.
    """

    name: str
    cues: tuple[str, ...]
    node: str | None
    answers: tuple[Answer, ...]
    order: str = "a"
    earlier: str = ""
    refusal: str | None = None
    reads_ledger: bool = False
    withdraws: bool = False

    def order_in(self, *, earlier: bool) -> str:
        """The order of this release, or of the one before it."""
        return self.earlier or self.order if earlier else self.order

    def answer(self, place: int, *, earlier: bool = False) -> Answer:
        """The answer for the attempt at `place` (from 0)."""
        order = self.order_in(earlier=earlier)
        return self.answers[ord(order[place % len(order)]) - ord("a")]


LEDGER_DOWN = Topic(
    "ledger-down",
    (),
    "ER-01",
    (
        Answer(
            "I cannot reach the claim ledger at the moment, so I can say nothing about the state of a claim. "
            "Nothing is lost: please ask again later, or call the desk during counter hours.",
            cites=0,
            invents=("handbook/ch:10/art:3",),
        ),
    ),
)

NOT_IN_HANDBOOK = Topic(
    "not-in-handbook",
    (),
    "AB-01",
    (
        Answer(
            "The handbook does not answer this question, so I would rather not guess. "
            "Shall I pass it to a colleague at the desk?",
            cites=0,
        ),
    ),
    refusal=NOT_COVERED,
)

WHICH_CLAIM = Topic(
    "which-claim",
    (),
    "RF-01",
    (
        Answer(
            "I can help with that. What is the number of your claim or permit? It looks like PK-4417.",
            cites=0,
        ),
    ),
)

TOPICS: tuple[Topic, ...] = (
    Topic(
        "claim-number",
        ("number is",),
        "RF-02",
        (
            Answer(
                "Thank you. I found claim {claim}: {status}, {amount} euros. What would you like to know?",
                cites=0,
            ),
        ),
        reads_ledger=True,
    ),
    Topic("refund-intake", ("i want a refund",), "RF-01", WHICH_CLAIM.answers),
    Topic(
        "withdraw",
        ("withdraw",),
        "RF-03",
        (Answer("Claim {claim} is withdrawn. Nothing more is owed, and nothing will be paid out.", cites=1),),
        reads_ledger=True,
        withdraws=True,
    ),
    Topic(
        "slow-ledger",
        ("how far is",),
        "RF-02",
        (
            Answer("Claim {claim} is {status}. The amount is {amount} euros.", cites=0),
            Answer(
                "By last night's copy claim {claim} is {status}. I could not read its state of today.",
                cites=0,
                failure="claim_ledger timed out after 2.0 s; answered from last night's copy",
            ),
        ),
        "aabaa",
        earlier="bbaab",
        reads_ledger=True,
    ),
    Topic(
        "claim-state",
        ("state of", "claim"),
        "RF-02",
        (Answer("Claim {claim} is {status}. The amount is {amount} euros.", cites=0),),
        reads_ledger=True,
    ),
    Topic(
        "refund-timing",
        ("refund", "paid", "when"),
        "RF-04",
        (
            Answer(
                "A refund is paid within 30 days of the decision that grants it. The 30 days start on the "
                "day after the date of the decision, so not on the day you asked.",
                cites=2,
            ),
        ),
    ),
    Topic(
        "objection-period",
        ("objection", "how long"),
        "OB-01",
        (
            Answer(
                "You have six weeks from the date of the decision. Send the objection in writing, by "
                "letter or email, sign it, and say why the decision is wrong. It costs nothing."
            ),
        ),
    ),
    Topic(
        "instalments",
        ("instalments",),
        "HD-02",
        (
            Answer(
                "Yes. Up to 12 monthly instalments of at least 15 euros each are granted without an "
                "inquiry into income. I have your net monthly income as {income} euros and will not need "
                "it for this."
            ),
        ),
    ),
    Topic(
        "leak",
        ("leak",),
        "WT-01",
        (
            Answer(
                "Water lost through a hidden leak is charged at half the price. The loss is the use above "
                "the average of the last three years, and half the price of that loss is credited on the "
                "next invoice. The rebate is given once in five years, when the leak was repaired within "
                "two weeks and a plumber's invoice is enclosed."
            ),
        ),
    ),
    Topic(
        "legal-advice",
        ("chance",),
        "RX-01",
        (
            Answer(
                "I do not give legal advice. The free legal counter in Mill Street 4 can look at your "
                "case with you.",
                cites=0,
                invents=("handbook/ch:10/art:2", "handbook/ch:10/art:2/par:1"),
            ),
        ),
        refusal=NO_ADVICE,
    ),
    Topic(
        "opening-hours",
        ("thursday",),
        "GN-01",
        (Answer("On Thursdays the counter is open from 9:00 to 19:00."),),
    ),
    Topic(
        "event-cancelled-early",
        ("event", "three weeks"),
        "RF-06",
        (
            Answer(
                "Half of the fee for the event permit is refunded when you cancel.",
                cites=2,
                invents=("handbook/ch:4/art:4/par:1",),
            ),
        ),
    ),
    Topic(
        "event-weather",
        ("event", "weather"),
        "RF-06",
        (
            Answer("With an orange weather warning the whole fee is refunded, whatever the day.", cites=2),
            Answer("Less than 14 days before the event nothing is refunded.", cites=3),
            Answer("", cites=0),
        ),
        "abaca",
        earlier="aaaaa",
    ),
    Topic(
        "deposit-interest",
        ("interest", "deposit"),
        "DP-02",
        (
            Answer(
                "Yes. From day 31 the city owes statutory interest on your deposit, without being asked.",
                cites=3,
            ),
        ),
    ),
    Topic(
        "second-vehicle",
        ("second vehicle",),
        "RF-05",
        (
            Answer("The permit ends on the day of the sale. From then on you pay the single fee.", cites=3),
            Answer("The permit ends on the day of the sale. From then on you pay the single fee.", cites=0),
        ),
        "ababa",
        earlier="aaaaa",
    ),
    Topic(
        "reminder",
        ("reminder",),
        "FE-01",
        (
            Answer(
                "The first reminder is free. A second reminder costs 12.50 euros and gives a last 10 days."
            ),
            Answer("The first reminder is free. The second one costs twelve and a half euros.", cites=2),
        ),
        "aabab",
        earlier="aaaaa",
    ),
    Topic(
        "late-objection",
        ("objection", "late"),
        "OB-02",
        (
            Answer(
                "A late objection is heard all the same when the delay is excusable, and a stay in "
                "hospital is named as an example. Whether it is excusable in your case is for the desk to "
                "decide."
            ),
        ),
    ),
    Topic(
        "estimated-reading",
        ("estimate",),
        "WT-02",
        (
            Answer("Yes. Send a reading with a dated photograph within six months of the invoice.", cites=3),
            Answer("The desk estimates use by the average of the last three years.", cites=2, node="WT-03"),
        ),
        "aaaba",
        earlier="babab",
    ),
    Topic(
        "cash-refund",
        ("cash",),
        "RF-07",
        (
            Answer(
                "Refunds are not paid in cash, except up to 25 euros for a person without a bank account."
            ),
            Answer(
                "Refunds are not paid in cash, except up to 25 euros for a person without a bank account.",
                invents=("handbook/ch:3/art:9",),
            ),
        ),
        "abaab",
        earlier="aaaaa",
    ),
    Topic(
        "moving",
        ("waste levy", "move"),
        "WT-04",
        (
            Answer("You get back the waste levy for the full months that remain."),
            Answer(
                "You get back the waste levy for the full months that remain. The yearly levy is divided "
                "by twelve and multiplied by the full months after the month in which you ask; an "
                "administration charge of 8 euros is kept once. A move within the city would have given "
                "no refund.",
                drafts=4,
            ),
            Answer("You get back the waste levy for the full months that remain.", reports_usage=False),
        ),
        "aabac",
        earlier="aaaaa",
    ),
    Topic(
        "goodwill",
        ("goodwill",),
        "HD-04",
        (
            Answer(
                "The head of the desk may reduce a fee where strict use of the rules would be plainly "
                "unfair. Nobody has a right to it."
            ),
        ),
    ),
    Topic("silent", ("complaint", "mayor"), None, (Answer("", cites=0),)),
    Topic("thanks", ("that was all",), None, (Answer("You are welcome. Have a good day.", cites=0),)),
    Topic(
        "dog",
        ("dog",),
        NOT_IN_HANDBOOK.node,
        NOT_IN_HANDBOOK.answers,
        refusal=NOT_COVERED,
    ),
)

TIMING_OF_A_KNOWN_CLAIM = "RF-04.2"


def emittable_nodes() -> tuple[str, ...]:
    """Every spec node the service can report, sorted."""
    topics = (*TOPICS, LEDGER_DOWN, NOT_IN_HANDBOOK, WHICH_CLAIM)
    nodes = {topic.node for topic in topics} | {answer.node for topic in topics for answer in topic.answers}
    return tuple(sorted({node for node in nodes if node} | {TIMING_OF_A_KNOWN_CLAIM, "GN-09"}))


def find_topic(text: str) -> Topic | None:
    """The first topic whose cues all occur in `text`, or None."""
    lowered = text.lower()
    return next((topic for topic in TOPICS if all(cue in lowered for cue in topic.cues)), None)
