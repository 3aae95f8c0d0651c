"""Finds entries and agents that need a second look, in a file of entries, by the formulas of docs/second-look.md.

curl -H "Authorization: Bearer $API_KEY" "$API_URL/v1/exports/entries.ndjson?answers=list" > entries.ndjson
python second_look.py entries.ndjson [MIN_ENTRIES [ZONE]] > checked.json

Needs pandas. It has what GET /v1/checks/entries and /v1/checks/agents have, and was written apart from them.
"""

import hashlib
import json
import re
import sys

import numpy as np
import pandas as pd

CHECKS = ["short", "long", "copy", "incomplete", "number", "place"]


def middle(values):
    """The median, and the median distance from it as a standard deviation."""
    median = np.quantile(values, 0.5)
    return median, 1.4826 * np.quantile(np.abs(values - median), 0.5)


def kilometres(x, y, longitude, latitude):
    a, b = np.radians(y), np.radians(latitude)
    half = np.sin((b - a) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(np.radians(longitude - x) / 2) ** 2
    return 2 * 6371.0088 * np.arcsin(np.minimum(1, np.sqrt(half)))


def interval(count, of):
    if of == 0:
        return {"count": 0, "of": 0, "share": None, "low": None, "high": None}
    z, share = 1.959963984540054, count / of
    centre, half = share + z * z / 2 / of, z * np.sqrt(share * (1 - share) / of + (z / of) ** 2 / 4)
    low, high = (centre - half) / (1 + z * z / of), (centre + half) / (1 + z * z / of)
    return {"count": int(count), "of": int(of), "share": share, "low": max(0.0, low), "high": min(1.0, high)}


def read(path):
    """A row for each entry, and one for each answer of an entry."""
    entries, answers = [], []
    for row, line in enumerate(open(path, encoding="utf-8")):
        entry = json.loads(line)
        place = (entry.get("location") or {}).get("coordinates") or {}
        given = [(each["question"], each.get("type"), [word for word in each.get("answer") or [] if word])
                 for each in entry["answers"]]
        given = [each for each in given if each[2]]
        answers += [(row, *each) for each in given]
        entries.append({
            "id": entry["id"], "form": entry.get("form") or "", "agent": entry.get("agent") or "",
            "time": pd.Timestamp(entry["createdAt"]).as_unit("ms"), "duration": entry.get("duration"),
            "state": json.dumps([(entry.get("location") or {}).get(name) or "" for name in ("country", "state")]),
            "x": place.get("longitude"), "y": place.get("lattitude"), "answered": len(given),
            "all": json.dumps([(question, words) for question, _, words in given]),
        })
    entries = pd.DataFrame(entries).astype({"duration": float, "x": float, "y": float})
    entries.loc[entries.x.isna() | entries.y.isna(), ["x", "y"]] = np.nan
    return entries, pd.DataFrame(answers, columns=["row", "question", "type", "words"])


class Findings:
    def __init__(self, entries):
        self.flags = {}
        self.looked = {check: np.zeros(len(entries), bool) for check in CHECKS}

    def flag(self, check, row, value, least, most, n, **more):
        number = lambda each: None if each is None else float(each)
        value = value if isinstance(value, str) else number(value)
        flag = {"check": check, **more, "value": value, "expected": [number(least), number(most)], "n": int(n)}
        self.flags.setdefault(row, []).append(flag)


def check(entries, answers, minimum, zone):
    found, ratios, alike = Findings(entries), pd.Series(np.nan, entries.index), {}
    for _, form in entries.groupby("form"):
        timed = form.duration[form.duration > 0]
        if len(timed):
            centre, deviation = middle(np.log(timed.to_numpy()))
            ratios[timed.index] = timed / np.exp(centre)
            if len(timed) >= minimum and deviation > 0:
                least, most = np.exp(centre - 3 * deviation), np.exp(centre + 3.5 * deviation)
                for name, out in ("short", timed[timed < least]), ("long", timed[timed > most]):
                    found.looked[name][timed.index] = True
                    for row, value in out.items():
                        found.flag(name, row, value, least, most, len(timed))
    enough = entries[entries.answered >= 5]
    found.looked["copy"][enough.index] = True
    for _, same in enough.groupby(["form", "all"]):
        same = same.sort_values(["time", "id"])
        for row in same.index[1:]:
            found.flag("copy", row, same.id.iloc[0], None, None, len(same))
    for _, form in entries.groupby("form"):
        if len(form) >= minimum:
            found.looked["incomplete"][form.index] = True
            least = np.quantile(form.answered, 0.5) / 2
            for row, value in form.answered[form.answered < least].items():
                found.flag("incomplete", row, value, least, None, len(form))
    check_answers(found, entries, answers, minimum, alike)
    check_places(found, entries, minimum)
    return found, agents_of(found, entries, ratios, alike, zone)


def check_answers(found, entries, answers, minimum, alike):
    answers = answers.assign(form=entries.form.to_numpy()[answers.row], agent=entries.agent.to_numpy()[answers.row])
    is_chosen = answers.type.isin(["singleChoice", "multiChoice"])
    is_number = answers.words.map(lambda words: len(words) == 1 and bool(re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", words[0], re.ASCII)))
    typed = answers[~is_chosen & is_number]
    for (_, question), group in typed.groupby(["form", "question"], sort=False):
        values = group.words.map(lambda words: float(words[0]))
        low, high = np.quantile(values, 0.25), np.quantile(values, 0.75)
        if len(group) < minimum or low == high:
            continue
        least, most = low - 3 * (high - low), high + 3 * (high - low)
        found.looked["number"][group.row] = True
        key = hashlib.sha256(question.encode()).hexdigest()[:12]
        for row, value in zip(group.row, values):
            if not least <= value <= most:
                found.flag("number", row, value, least, most, len(group), key=key, question=question)
    chosen = answers[is_chosen & (answers.agent != "")].assign(choice=answers.words.map("\0".join))
    counts = chosen.groupby(["form", "question", "agent", "choice"]).size()
    of_agents = counts.groupby(level=[0, 1, 2]).agg(["max", "sum"])
    of_agents = of_agents[of_agents["sum"] >= minimum / 4]
    means = (of_agents["max"] / of_agents["sum"]).groupby(level=["form", "agent"]).mean()
    for form, group in means.groupby(level="form"):
        centre, deviation = middle(group.to_numpy())
        if len(group) >= 5 and deviation > 0:
            most = centre + 3.5 * deviation
            for (_, agent), value in group[group > most].items():
                same = {"form": form or None, "value": value, "expected": [None, most], "n": len(group)}
                alike.setdefault(agent, []).append(same)


def check_places(found, entries, minimum):
    def flag(row, reason, value=None, most=None, n=0):
        if not any(each["check"] == "place" for each in found.flags.get(row, [])):
            found.flag("place", row, value, None, most, n, reason=reason)

    is_placed, is_zero = entries.x.notna(), (entries.x == 0) & (entries.y == 0)
    found.looked["place"][is_placed] = True
    for _, form in entries.groupby("form"):
        missing = form.index[form.x.isna()]
        if len(form) >= minimum and len(form) - len(missing) >= 0.9 * len(form):
            found.looked["place"][missing] = True
            for row in missing:
                flag(row, "missing", n=len(form))
    is_on_earth = lambda x, y: (np.abs(x) <= 180) & (np.abs(y) <= 90)
    for _, state in entries[is_placed].groupby("state"):
        for row in state.index[is_zero[state.index]]:
            flag(row, "zero", n=len(state))
        placed = state[~is_zero[state.index]]
        sound = placed[is_on_earth(placed.x, placed.y)]
        if len(sound) < minimum:
            continue
        x, y = np.quantile(sound.x, 0.5), np.quantile(sound.y, 0.5)
        far = lambda a, b: kilometres(x, y, a, b) if is_on_earth(a, b) else np.inf
        most = np.sqrt(np.log(1000) / np.log(20)) * np.quantile(kilometres(x, y, sound.x, sound.y), 0.95)
        for row, a, b in placed[["x", "y"]].itertuples() if most > 0 else []:
            value = far(a, b)
            if value > most:
                flag(row, "exchanged" if far(b, a) <= most else "far", value if np.isfinite(value) else None, most, len(sound))
    is_flagged = pd.Series([any(each["check"] == "place" for each in found.flags.get(row, [])) for row in entries.index], dtype=bool)
    points = entries[is_placed & ~is_flagged & (entries.agent != "")].groupby(["agent", "x", "y"])
    usual = points.size().groupby(level="agent").max()
    most = max(minimum / 4, 3 * np.quantile(usual, 0.5)) if len(usual) else np.inf
    for _, rows in points.groups.items():
        for row in rows if len(rows) > most else []:
            flag(row, "repeated", len(rows), most, len(usual))


def agents_of(found, entries, ratios, alike, zone):
    day, agents = entries.time.dt.tz_convert(zone).dt.date, []
    shown = {name: np.array([any(each["check"] == name for each in found.flags.get(row, [])) for row in entries.index], bool)
             for name in CHECKS}
    for agent, group in entries.groupby("agent"):
        rows, days, timed = group.index, day[group.index].nunique(), ratios[group.index].dropna()
        agents.append({
            "agent": agent or None, "entries": len(rows), "days": days, "entriesPerDay": len(rows) / days,
            "durationRatio": float(np.quantile(timed, 0.5)) if len(timed) else None, "durations": len(timed),
            "flagged": interval(sum(row in found.flags for row in rows), len(rows)),
            **{name: interval(shown[name][rows].sum(), found.looked[name][rows].sum()) for name in CHECKS},
            "sameness": alike.get(agent, []),
        })
    return agents


if __name__ == "__main__":
    minimum, zone = int((sys.argv[2:] or ["20"])[0]), (sys.argv[3:] or ["UTC"])[0]
    entries, answers = read(sys.argv[1])
    found, agents = check(entries, answers, minimum, zone)
    flagged = {entries.id[row]: flags for row, flags in found.flags.items()}
    json.dump({"flagged": flagged, "agents": agents}, sys.stdout)
