"""Finds entries and agents that need a second look in a file of entries, by the formulas of docs/second-look.md.

curl -u "key:$API_KEY" "$API_URL/v1/exports/entries.ndjson?answers=list" > entries.ndjson
python3 second_look.py entries.ndjson [MIN_ENTRIES [ZONE]] [--missing=-99,NA] [--unique=KEY,KEY] [--questions=KEY] > checked.json

Needs pandas and numpy. It was written apart from the service, and a test compares both.
"""

import argparse
import hashlib
import json
import sys
from collections import defaultdict

import numpy as np
import pandas as pd

CHECKS = ["short", "long", "copy", "repeated", "incomplete", "number", "place"]
CLOSED = ["singleChoice", "multiChoice"]
CODES = [66, 77, 88, 96, 97, 98, 99, 666, 777, 888, 996, 997, 998, 999, 9999]  # with either sign
NUMBER = r"(?=[\s\S]{1,100}\Z)[ \t\r\n]*-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?[ \t\r\n]*"


def quantile(values, part):
    """What numpy's quantile is, without a difference in the last digit."""
    values = np.sort(np.asarray(values, float))
    low, rest = divmod(part * (len(values) - 1), 1)
    return values[int(low)] + (values[min(int(low) + 1, len(values) - 1)] - values[int(low)]) * rest


def middle(values):
    median = quantile(values, 0.5)
    return median, 1.4826 * quantile(np.abs(values - median), 0.5)


def is_usual(values, minimum):
    """Which values so many have that they are no slip."""
    count = values.map(values.value_counts())
    return (count >= minimum) & (count * 100 >= len(values))


def kilometres(x, y, longitude, latitude):
    a, b, c = np.radians(y), np.radians(latitude), np.radians(longitude - x)
    half = np.sin((b - a) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(c / 2) ** 2
    return 2 * 6371.0088 * np.arcsin(np.minimum(1, np.sqrt(half)))


def wilson(count, of):
    if of == 0:
        return [0, 0, None, None, None]
    z, share = 1.959963984540054, count / of
    centre, half = share + z * z / 2 / of, z * np.sqrt(share * (1 - share) / of + (z / of) ** 2 / 4)
    low, high = (centre - half) / (1 + z * z / of), (centre + half) / (1 + z * z / of)
    return [int(count), int(of), share, 0 if count == 0 else low, 1 if count == of else high]


def key_of(question):
    return hashlib.sha256(question.encode()).hexdigest()[:12]


def read(path, missing):
    """A row for each entry, and one for each answer that says something."""
    entries, answers = [], []
    for entry in map(json.loads, open(path, encoding="utf-8")):
        if "id" not in entry:  # the line of entries that are left out
            continue
        location = entry.get("location") or {}
        place = location.get("coordinates") or {}
        given = [(each["question"], each["type"], [word for word in each.get("answer", []) if word and word not in missing]) for each in entry["answers"]]
        given = [each for each in given if each[2]]
        answers += [(len(entries), entry.get("form", ""), entry.get("agent", ""), *each) for each in given]
        entries.append((entry["id"], entry.get("form", ""), entry.get("agent", ""), entry["createdAt"], entry.get("duration"),
                        json.dumps([location.get("country", ""), location.get("state", "")]), place.get("longitude"),
                        place.get("lattitude"), len(given), json.dumps([(question, words) for question, _, words in given])))
    names = ["id", "form", "agent", "createdAt", "duration", "state", "x", "y", "answered", "all"]
    entries = pd.DataFrame(entries, columns=names).astype({"duration": float, "x": float, "y": float})
    return entries, pd.DataFrame(answers, columns=["row", "form", "agent", "question", "type", "words"])


def check(entries, answers, minimum, unique=(), questions=()):
    flags, looked, ratios = defaultdict(list), {check: np.zeros(len(entries), bool) for check in CHECKS}, pd.Series(np.nan, entries.index)

    def flag(check, row, value, bounds=(None, None), n=0, reason=None):
        flags[row].append([check, reason, value if isinstance(value, str) or value is None else float(value), *bounds, int(n)])

    def is_placed_wrong(row):
        return any(each[0] == "place" for each in flags.get(row, []))

    for _, form in entries.groupby("form"):
        given = form.duration[form.duration.notna()]
        timed = given[given > 0]
        looked["short"][given.index] = True
        bounds, n = (None, None), len(given)
        if len(timed) > 0:
            centre, deviation = middle(np.log(timed.to_numpy()))
            ratios[timed.index] = timed / np.exp(centre)
            if len(timed) >= minimum and deviation > 0:
                bounds, n = (np.exp(centre - 3 * deviation), np.exp(centre + 3.5 * deviation)), len(timed)
                looked["long"][given.index] = True
        for row, value in given.items():
            if value <= 0 or value < (bounds[0] or 0):
                flag("short", row, value, bounds, n)
            elif bounds[1] is not None and value > bounds[1]:
                flag("long", row, value, bounds, n)
    looked["copy"] = (entries.answered >= 5).to_numpy()
    for _, alike in entries[looked["copy"]].sort_values(["createdAt", "id"]).groupby(["form", "all"]):
        for row in alike.index[1:]:
            flag("copy", row, alike.id.iloc[0], n=len(alike))
    given = answers.assign(key=answers.question.map(key_of)).groupby("row")[["key", "words"]].apply(lambda of: dict(zip(of.key, of.words)))
    same = defaultdict(list)
    for row, of in given.items() if unique else []:
        if all(key in of for key in unique):
            looked["repeated"][row] = True
            same[json.dumps([of[key] for key in unique])].append(row)
    for rows in same.values():
        for row in rows if len(rows) > 1 else []:
            flag("repeated", row, entries.id[rows[1] if row == rows[0] else rows[0]], n=len(rows))
    ways = answers.groupby("row").question.agg(lambda each: json.dumps(sorted({*each}))).reindex(entries.index).fillna("")
    for _, form in entries.groupby("form"):
        if len(form) >= minimum:
            least, is_way = quantile(form.answered, 0.5) / 2, is_usual(ways[form.index], minimum)
            looked["incomplete"][form.index] = True
            for row, value in form.answered[(form.answered < least) & ~is_way].items():
                flag("incomplete", row, value, (least, None), len(form))
    is_number = ~answers.type.isin([*CLOSED, "text"]) & (answers.words.str.len() == 1) & answers.words.str[0].str.fullmatch(NUMBER)
    typed = answers[is_number.astype(bool) & (answers.question.map(key_of).isin(questions) | (len(questions) == 0))]
    typed = typed.assign(value=typed.words.str[0].astype(float))
    for (_, question), typed in typed[np.isfinite(typed.value)].groupby(["form", "question"]):
        is_rarely_negative = (typed.value < 0).sum() * 20 <= len(typed)
        is_code = (typed.value < 0) & (-typed.value).isin(CODES) & is_rarely_negative
        values, bounds, key = typed.value[~is_code], (None, None), key_of(question)
        if len(typed) < minimum or (values % 1 == 0).all() and values.nunique() * 10 >= len(values) * 9:
            continue
        looked["number"][typed.row] = True
        is_skewed = is_rarely_negative and quantile(values, 0.95) - quantile(values, 0.5) >= 3 * (quantile(values, 0.5) - quantile(values, 0.05))
        of = values[values > 0] if is_skewed else values
        low, high = (quantile(of, 0.25), quantile(of, 0.75)) if len(of) >= minimum else (0, 0)
        if low < high:
            far = (high / low) * (high / low) if is_skewed else 3 * (high - low)
            low, high = (low / far, high * far) if is_skewed else (low - far, high + far)
            is_shown = np.isfinite(low) and (low >= 0 or (values < 0).any()), np.isfinite(high)
            bounds = low if is_shown[0] else None, high if is_shown[1] else None
            is_far = ((values < low) | (values > high)) & ~((values == 0) & is_skewed) & ~is_usual(values, minimum)
            for row, value in zip(typed.row[~is_code][is_far], values[is_far]):
                flag("number", row, value, bounds, len(of), "code" if abs(value) in CODES else key)
        for row, value in zip(typed.row[is_code], typed.value[is_code]):
            flag("number", row, value, bounds, len(of), "code")
    is_placed = entries.x.notna() & entries.y.notna()
    looked["place"] = is_placed.to_numpy().copy()
    for _, form in entries.groupby("form"):
        missing = form.index[~is_placed[form.index]]
        if len(form) >= minimum and len(form) - len(missing) >= 0.9 * len(form):
            looked["place"][missing] = True
            for row in missing:
                flag("place", row, None, n=len(form), reason="missing")
    for _, state in entries[is_placed].groupby("state"):
        is_zero = (state.x == 0) & (state.y == 0)
        for row in state.index[is_zero]:
            flag("place", row, None, n=len(state), reason="zero")
        placed = state[~is_zero]
        sound = placed[(placed.x.abs() <= 180) & (placed.y.abs() <= 90)]
        most = 0
        if len(sound) >= minimum:
            x, y = quantile(sound.x, 0.5), quantile(sound.y, 0.5)
            near = min(0.99, max(0.95, 1 - 5 / len(sound)))
            most = quantile(kilometres(x, y, sound.x, sound.y), near) * np.sqrt(np.log(1000) / -np.log(1 - near))
        if most == 0:  # what is nowhere on earth is far without bounds too
            for row in placed.index.difference(sound.index):
                flag("place", row, None, n=len(state), reason="far")
            continue
        for row, a, b in placed[["x", "y"]].itertuples():
            there, exchanged = [kilometres(x, y, *at) if abs(at[0]) <= 180 and abs(at[1]) <= 90 else np.inf for at in ((a, b), (b, a))]
            if there > most:
                reason = "exchanged" if exchanged <= most else "far"
                flag("place", row, there if there < np.inf else None, (None, most), len(sound), reason)
    is_right = pd.Series([not is_placed_wrong(row) for row in entries.index], entries.index, dtype=bool)
    points = entries[is_placed & is_right & (entries.agent != "")].groupby(["agent", "x", "y"])
    usual = points.size().groupby(level="agent").max()
    most = max(minimum / 4, 3 * quantile(usual, 0.5)) if len(usual) > 0 else np.inf
    for rows in points.groups.values():
        for row in rows if len(rows) > most else []:
            flag("place", row, len(rows), (None, most), len(usual), "repeated")
    return flags, looked, ratios


def sameness(answers, minimum):
    alike, closed = defaultdict(list), answers[answers.type.isin(CLOSED) & (answers.agent != "")]
    counts = closed.assign(choice=closed.words.str.join("\0")).groupby(["form", "question", "agent", "choice"]).size()
    of_agents = counts.groupby(level=[0, 1, 2]).agg(["max", "sum"])
    of_agents = of_agents[of_agents["sum"] >= minimum / 4]
    for form, means in (of_agents["max"] / of_agents["sum"]).groupby(level=[0, 2]).mean().groupby(level=0):
        centre, deviation = middle(means.to_numpy())
        for (_, agent), mean in means.items() if len(means) >= 5 and deviation > 0 else []:
            if mean > centre + 5 * deviation:
                alike[agent].append([form, mean, centre + 5 * deviation, len(means)])
    return alike


def main(path, minimum, zone, missing, unique, questions):
    entries, answers = read(path, missing)
    flags, looked, ratios = check(entries, answers, minimum, unique, questions)
    alike, agents = sameness(answers, minimum), {}
    days = pd.to_datetime(entries.createdAt, format="ISO8601", utc=True).dt.tz_convert(zone).dt.date
    for agent, of in entries.groupby("agent"):
        found = [{each[0] for each in flags.get(row, [])} for row in of.index]
        shares = {name: wilson(sum(name in each for each in found), looked[name][of.index].sum()) for name in CHECKS if unique or name != "repeated"}
        ratio = ratios[of.index].dropna()
        agents[agent] = {"entries": len(of), "days": days[of.index].nunique(), "durations": len(ratio),
                         "durationRatio": quantile(ratio, 0.5) if len(ratio) > 0 else None,
                         "flagged": wilson(sum(map(bool, found)), np.any([looked[name][of.index] for name in CHECKS], axis=0).sum()), **shares, "sameness": alike[agent]}
    json.dump({"flags": {entries.id[row]: of for row, of in flags.items()}, "agents": agents}, sys.stdout)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("minimum", type=int, nargs="?", default=20)
    parser.add_argument("zone", nargs="?", default="UTC")
    for name in ["missing", "unique", "questions"]:
        parser.add_argument(f"--{name}", type=lambda text: text.split(","), default=[])
    main(**vars(parser.parse_args()))
