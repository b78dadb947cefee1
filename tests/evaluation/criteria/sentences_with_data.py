"""Seeded Dutch sentences with one kind of personal data each, and sentences with what only looks like it."""

import random
from collections.abc import Callable

Draw = random.Random

FRAMES = (
    "Mijn gegeven is {x}.", "U kunt mij bereiken via {x}, bij voorkeur na zes uur.", "Het gaat om {x}.",
    "In de brief van 12 maart 2024 staat {x} vermeld.", "Graag {x} gebruiken voor de aanvraag.",
    "Volgens artikel 17 AVG moet {x} worden verwijderd.", "De gemeente noteerde ({x}) in het dossier.",
    "Zaaknummer 2023/118; {x}; behandeld door de afdeling Vergunningen.", "Let op: {x}!",
    "Wat gebeurt er met {x}?", 'Ik heb "{x}" doorgegeven aan de verhuurder.', "- {x}\n- de rest volgt",
    "De aanvrager, bekend onder {x}, heeft bezwaar gemaakt.", "Per 1 januari geldt {x} als kenmerk.",
)  # fmt: skip

PLAIN = (
    "De termijn van 30 dagen begint op {date}.", "Uw bezwaar met ordernummer {order} is ontvangen.",
    "Het bedrag is € {amount}, te betalen vóór {date}.", "Zie artikel {n}, lid {m}, van de verordening.",
    "Het kantoor is open van 9.00 tot 17.{n} uur.", "De zaak ECLI:NL:HR:20{yy}:{n} is hier van belang.",
    "De factuur {long} staat nog open.", "Bel gratis 0800-{four} of kijk op de website.",
    "Stuur een bericht aan @gemeente{n} of vraag het.", "De prijs was {m} stuks @ {amount} euro.",
    "Wij zijn bereikbaar op 14 0{m}{m}, ook op {date}.", "Het klantnummer is {seven}.",
    "Rekening NL00 BANK {four} {four} {m}{m} bestaat niet.", "Er zijn {n} kamers en {order} dossiers.",
    "Voor vragen uit Duitsland: +49 30 90{four}.", "De oppervlakte is {n} m², de huur € {amount}.",
    "Op grond van Richtlijn 95/46/EG, zaak C-{n}/{yy}.", "KvK-nummer {kvk}, gevestigd te Utrecht.",
    "Onze ref. {four}-{yy}-{n}, uw ref. {order}.", "Dat staat op bladzijde {n} tot en met 1{n}.",
    "Van de {seven} aanvragen is {m} procent afgewezen.", "Het algemene nummer is 088-{seven}.",
    "De afspraak is op {date} om 1{m}:30 uur.", "Geen bijzonderheden over zaak {four}.",
)  # fmt: skip


def digits(draw: Draw, count: int) -> str:
    return "".join(str(draw.randrange(10)) for _ in range(count))


def subscriber(draw: Draw, count: int) -> str:
    return str(draw.randrange(2, 8)) + digits(draw, count - 1)


def bsn(draw: Draw) -> str:
    while True:
        n = digits(draw, 9)
        weighed = sum(int(d) * weight for d, weight in zip(n, (9, 8, 7, 6, 5, 4, 3, 2, -1), strict=True))
        if weighed % 11 == 0 and int(n):
            break
    fours, threes = (n[:4], n[4:6], n[6:]), (n[:3], n[3:6], n[6:])
    return draw.choice((n, " ".join(fours), ".".join(fours), "-".join(threes), " ".join(threes)))


def iban(draw: Draw) -> str:
    country, bank, length = draw.choice(
        [("NL", "ABNA", 10), ("NL", "INGB", 10), ("NL", "RABO", 10), ("DE", "", 18)]
    )
    body = bank + digits(draw, length)
    spelled = "".join(str(int(character, 36)) for character in f"{body}{country}00")
    whole = f"{country}{98 - int(spelled) % 97:02d}{body}"
    grouped = " ".join(whole[start : start + 4] for start in range(0, len(whole), 4))
    return draw.choice((whole, grouped))


def email(draw: Draw) -> str:
    first = draw.choice(("jan", "a", "fatima", "p.w", "info", "j.de"))
    last = draw.choice(("jansen", "bakker", "vries", "el-amrani"))
    local = draw.choice(
        (f"{first}.{last}", f"{first}_{last}", f"{first}{draw.randrange(99)}", f"{first}+web")
    )
    return f"{local}@{draw.choice(('example.org', 'gemeente-utrecht.nl', 'mail.bedrijf.eu', 'xs4all.nl'))}"


def nl_phone(draw: Draw) -> str:
    mobile = f"6 {draw.randrange(1, 6)}{digits(draw, 7)}"
    seven, six = subscriber(draw, 7), subscriber(draw, 6)
    return draw.choice(
        (
            f"0{mobile}", f"0{mobile}".replace(" ", "-"), f"0{mobile}".replace(" ", ""), f"+31 {mobile}",
            f"+31{mobile}".replace(" ", ""), f"+31 (0){mobile}", f"0031 {mobile}", f"020-{seven}",
            f"(030) {seven}", f"070 {seven[:3]} {seven[3:5]} {seven[5:]}", f"+31 10 {seven}", f"0344-{six}",
            f"085-{seven}",
        )
    )  # fmt: skip


def postcode(draw: Draw) -> str:
    letters = draw.choice(("AB", "XZ", "KL", "GH", "RT"))
    return f"{draw.randrange(1000, 9999)}{draw.choice(('', ' '))}{letters}"


MONTHS = ("januari", "februari", "maart", "april", "mei", "juni", "juli", "augustus", "september", "oktober")


def birthdate(draw: Draw) -> str:
    day, month, year = draw.randrange(1, 29), draw.randrange(1, 11), draw.randrange(1930, 2010)
    written = f"{day} {MONTHS[month - 1]} {year}"
    numeric = (f"{day:02d}-{month:02d}-{year}", f"{day}-{month}-{year}", f"{year}-{month:02d}-{day:02d}")
    when = draw.choice((*numeric, f"{day}/{month}/{year}", f"{day}.{month}.{year}", written))
    cue = draw.choice(("geboren op", "geboortedatum:", "geb.", "geboren te Utrecht op", "Geboren"))
    return f"{cue} {when}"


def id_number(draw: Draw) -> str:
    a, b, c, d = (draw.choice("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(4))
    return f"{a}{b}{c}{digits(draw, 3)}{d}{digits(draw, 2)}"


def license_plate(draw: Draw) -> str:
    series = draw.choice(("99-XXX-9", "9-XXX-99", "XX-999-X", "X-999-XX", "99-XX-XX", "XX-99-XX"))
    signs = {"X": "BDFGHJKLNPRSTVXZ", "9": "0123456789", "-": "-"}
    return "".join(draw.choice(signs[sign]) for sign in series)


MAKE: dict[str, Callable[[Draw], str]] = {
    "bsn": bsn, "iban": iban, "email": email, "nl_phone": nl_phone, "postcode": postcode,
    "birthdate": birthdate, "id_number": id_number, "license_plate": license_plate,
}  # fmt: skip


def with_data(kind: str, count: int) -> list[str]:
    """Sentences that each hold one of this kind."""
    draw = Draw(f"with {kind}")
    return [draw.choice(FRAMES).format(x=MAKE[kind](draw)) for _ in range(count)]


def without_data(count: int) -> list[str]:
    """Sentences that hold none of any kind; nearly all hold a number that could be taken for one."""
    draw = Draw("without")
    return [
        draw.choice(PLAIN).format(
            date=f"{draw.randrange(1, 29)}-{draw.randrange(1, 13)}-{draw.randrange(2015, 2026)}",
            order=digits(draw, draw.choice((7, 8, 9, 10, 11))),
            amount=f"{draw.randrange(1, 9)}.{digits(draw, 3)},{digits(draw, 2)}",
            n=draw.randrange(10, 99),
            m=draw.randrange(1, 9),
            yy=draw.randrange(10, 25),
            long=digits(draw, 12),
            four=digits(draw, 4),
            seven=digits(draw, 7),
            kvk=digits(draw, 8),
        )
        for _ in range(count)
    ]
