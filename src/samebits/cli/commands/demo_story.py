"""A small corpus for the demo's language model: days in a harbour village, told by a seeded grammar and some passages by hand.

One language, few words, clean sentences: enough for a model of a hundred thousand weights to write like it after a minute.
The same seed gives the same bytes on every machine.
"""

from __future__ import annotations

from samebits.core.seeds import rng_for

__all__ = ["story"]

SEED = 7
NUM_DAYS = 900  # about 300 KB

WORDS = {
    "who": "Anna|Tom|Mira|old Jonas|the baker|the ferryman|Lena|the miller|the teacher|her brother",
    "other": "a neighbour|the children|the fisherman|her aunt|a stranger|the cook|his sister|the carpenter",
    "place": "the harbour|the market|the mill|the old bridge|the school|the lighthouse|the garden|the beach",
    "thing": "a basket of apples|a blue kite|a loaf of bread|a small boat|an old map|a red lantern|a letter|a wooden box",
    "weather": "The sun was warm|A cold wind came from the sea|It rained all night|The morning was grey and still|Snow lay on the roofs|The fog was thick",
    "time": "In the morning|At noon|In the evening|After the storm|Before sunrise|On the way home",
    "went": "walked to|ran to|rowed to|came back from|waited at|looked for work at",
    "made": "carried|found|painted|mended|sold|bought|lost|hid",
    "felt": "happy|tired|proud|hungry|curious|glad|quiet|surprised",
    "said": "said|asked|answered|whispered|called",
    "words": "Come and see|We have time|The boat is late|I know the way|Wait for me|Bring it home|It is not far|Nobody was there",
    "animal": "a dog|a white cat|two gulls|a donkey|a black hen|a fox",
    "did": "slept in the sun|followed them|sat on the wall|looked at the sea|ran away|made no sound",
    "number": "two|three|four|five|six|seven",
}
SENTENCES = (
    "{weather}.",
    "{time} {who} {went} {place}.",
    "{who} {made} {thing} and was {felt}.",
    "{who} met {other} at {place}.",
    "“{words},” {said} {who}.",
    "“{words},” {said} {other}, and they laughed.",
    "{time} {other} {made} {thing} near {place}.",
    "Near {place} {animal} {did}.",
    "{who} waited for {number} hours and then went home.",
    "They ate bread and cheese, and {animal} {did}.",
    "It took {number} days to reach {place}.",
    "{who} gave {thing} to {other}.",
    "Nobody knew why {who} was so {felt}.",
    "When the bell rang, {who} {went} {place}.",
)
PASSAGES = (
    "Every boat in the harbour has a name, and every name has a story. The oldest boat is called Patience. She has never won a "
    "race, and she has never been late.",
    "The baker gets up before the birds. By the time the sun is over the mill, the bread is on the table and the street smells of "
    "it. Whoever is first in line may tell the news.",
    "There are two ways to the lighthouse. The short one goes over the rocks and is wet. The long one goes through the garden and "
    "is dry. The children take the short one and come home by the long one.",
    "When the fog comes, the village listens. You hear the bell, then the water, then someone who laughs. Then you know where the "
    "land is.",
    "The miller counts everything twice. He says that a number you have counted once is only a guess. Nobody has ever found him "
    "wrong, and everybody has tried.",
    "In winter the ferryman mends nets. He is slow, and he does not mind. A net, he says, is made of holes, and the trick is to "
    "tie them together well.",
)


def story(num_days: int = NUM_DAYS) -> str:
    """Return the corpus: a paragraph for each day, a passage by hand after every tenth."""
    days = [_day(number) for number in range(num_days)]
    return "".join(
        f"{day}\n{PASSAGES[number // 10 % len(PASSAGES)]}\n" if number % 10 == 9 else f"{day}\n"
        for number, day in enumerate(days)
    )


def _day(number: int) -> str:
    rng = rng_for(SEED, "demo", "story", number)
    chosen = rng.integers(0, len(SENTENCES), 6).tolist()
    said = []
    for sentence in chosen:
        text = SENTENCES[sentence]
        for name, words in WORDS.items():
            while f"{{{name}}}" in text:
                options = words.split("|")
                text = text.replace(f"{{{name}}}", options[int(rng.integers(0, len(options)))], 1)
        said.append(text[:1].upper() + text[1:])
    return " ".join(said)
