"""Makes records of a form: of its XLSForm, and of its data as ODK Central and KoboToolbox export them.

    python3 from_odk.py form.xlsx data.csv --organisation=savannah

Writes forms.ndjson, agents.ndjson and entries.ndjson for `field-data-api load`; docs/from-a-form.md says what becomes what.
Files of repeats stand behind the first one, or are further sheets of an XLSX. --agent=NAME and --id=NAME name columns, --without=NAME,NAME
questions to leave out, --missing=-99,-88 answers that stand for none, --language=NAME that of the labels. Needs Python 3.11 and openpyxl.
"""

import csv
import json
import re
import sys
from collections import Counter, defaultdict
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace

from openpyxl import load_workbook

TYPES = {"select_one": "singleChoice", "select_multiple": "multiChoice", "rank": "multiChoice", "integer": "number", "decimal": "number", "range": "number"}
UNASKED = "note start end today deviceid subscriberid simserial phonenumber username email audit background-audio xml-external csv-external".split()
IDLE = re.compile(r"_.*|.+_url|set-of-.+|meta\W.+|instance(id|name)|formhub.uuid|(parent_)?key|submi(tter|ssion).+|attachments.+|(review)?stat(e|us)|edits|formversion")
PLACE = {"Latitude": "latitude", "Longitude": "longitude", "Altitude": "altitude", "Accuracy": "precision"}


def tables_of(file):
    """The tables of a file, by what a message calls them: the names of their columns, and their rows of texts."""
    try:
        if file.endswith(".xlsx"):  # it keeps 3 as 3.0, and a day as a time; what a sheet says of its size may be wrong
            tables = {f"{file}, sheet {sheet.title}":
                      [["" if cell is None else cell if isinstance(cell, str) else re.sub(r"(\.0| 00:00:00)$", "", str(cell)) for cell in row]
                       for row in sheet.values] for sheet in load_workbook(file, read_only=True, data_only=True) if sheet.reset_dimensions() is None}
        else:
            lines = [*open(file, encoding="utf-8-sig", newline="")]
            tables = {file: [*csv.reader(lines, delimiter=max(",;\t", key=re.sub(r'"[^"]*("|$)', "", lines[0]).count))]}
    except Exception as error:
        raise SystemExit(f"{file} cannot be read ({error}); allowed are an XLSX and a CSV in UTF-8")
    return {table: ([" ".join(name.split()) for name in rows[0]], [row + [""] * (len(rows[0]) - len(row)) for row in rows[1:] if any(row)])
            for table, rows in tables.items() if rows}


def apart(names, labels, language):
    """The labels in a language, or names. Equal ones have their names behind them."""
    texts = [of.get(language, name) for name, of in zip(names, labels)]
    count = Counter(texts)
    return [f"{text} ({name})" if count[text] > 1 else text for name, text in zip(names, texts)]


def read_form(file, language):
    """The questions of an XLSForm in their order, its lists of choices as (texts by name, names by label), and its repeats by their paths."""
    sheets = defaultdict(lambda: [defaultdict(str)])
    for table, (names, rows) in tables_of(file).items():
        names = [re.sub(r"^label *:+ *", "label::", name, flags=re.I).replace("list name", "list_name") for name in names]
        sheets[table.removeprefix(f"{file}, sheet ")] = [defaultdict(str, {name: " ".join(cell.split()) for name, cell in zip(names, row)}) for row in rows or [[]]]
    settings, languages = sheets["settings"][0], [name for name in sheets["survey"][0] if re.match("label(::|$)", name)]
    wanted = [name for name in languages if name.removeprefix("label::") == (language or settings["default_language"])]
    if not {"type", "name"} <= {*sheets["survey"][0]} or language and not wanted:
        raise SystemExit(f"{file}: its sheet survey has no type and name, or no {language}; allowed are {', '.join(languages).replace('label::', '') or 'XLSForms'}")
    lists, path, wanted, name = defaultdict(dict), [], (wanted or languages or [""])[0], settings["form_id"] or settings["id_string"] or Path(file).stem
    form = SimpleNamespace(id=name, repeats={(): settings["form_title"] or name}, questions=[], languages=[None, *languages])
    for row in [row for row in sheets["choices"] if row["list_name"]]:
        lists[row["list_name"]].setdefault(row["name"] or row["value"], {each: row[each] for each in languages if row[each]})
    for row in sheets["survey"]:
        kind = re.sub(r"^select[ _](one|multiple) from ", r"select_\1 ", re.sub("^(begin|end) ", r"\1_", row["type"]))
        kind, listed, *_ = [*kind.replace("_from_file", "").split(), "", ""]
        nodes = [*path, (row["name"], {each: row[each] for each in languages if row[each]}, kind)]
        repeat = tuple(name for name, _, kind in nodes if kind == "begin_repeat")
        if kind and not kind.startswith(("begin_", "end_")):
            form.questions.append(SimpleNamespace(at=len(form.questions), name=row["name"], nodes=nodes, repeat=repeat, kind=kind,
                                                  type=TYPES.get(kind, kind), listed=listed))
        form.repeats.setdefault(repeat, f"{form.repeats[()]}: {nodes[-1][1].get(wanted, row['name'])}")
        path = nodes if kind.startswith("begin_") else path[:-1] if kind.startswith("end_") else path
    for listed, of in [*lists.items()]:
        labels = [(label, name) for name, labelled in of.items() for label in {*labelled.values()}]
        count = Counter(label for label, _ in labels)
        any_label = "|".join(map(re.escape, sorted(count, key=len, reverse=True)))
        lists[listed] = dict(zip(of, apart(of, of.values(), wanted))), {label: name for label, name in labels if count[label] == 1}, any_label
    for asked in [[each for each in form.questions if each.repeat == repeat] for repeat in form.repeats]:
        count = Counter(each.name for each in asked)
        names = [each.name if count[each.name] == 1 else "/".join(name for name, *_ in each.nodes) for each in asked]
        for question, text in zip(asked, apart(names, [each.nodes[-1][1] for each in asked], wanted)):
            question.text, question.choices = text, lists.get(question.listed, ({}, {}, ""))
    return form


def columns_of(form, names, repeat):
    """For each column (question, choice or number of a place, whether it is called by its label). Equal names are in the form's order."""
    calls, taken, last = defaultdict(list), set(), 0
    for question in [each for each in form.questions if each.repeat == repeat]:
        texts, by_label, _ = question.choices if question.type == "multiChoice" else ({}, {}, "")
        for language in form.languages:
            path = [labels.get(language, name) for name, labels, _ in question.nodes]
            for start, called in [(start, "/".join(path[start:])) for start in range(len(path))]:
                ways = [(called, "")] + [(f"{called}/{each}", name) for each, name in [*zip(texts, texts), *by_label.items()]]
                for part, kobo in PLACE.items() if "geopoint" in question.kind else []:
                    ways += [(f"{called}/{part}", part), ("/".join([*path[start:-1], f"_{path[-1]}_{kobo}"]), part)]
                for way, part in ways:
                    calls[re.sub("[-.:]", "/", way)].append((start > 0 or language is not None, question.at, part, language is not None))
    for name in names:
        found = [(is_partly, at < last, at, *more) for is_partly, at, *more in calls[re.sub("[-.:]", "/", name)] if (at, more[0]) not in taken]
        *_, last, part, by_label = min(found, default=(last, None, False))
        taken.add((last, part))
        yield (form.questions[last] if found else None, part, by_label)


def answer_of(question, cells, by_label, missing, notes):
    """The answer in the cells of a question: a text, a list of texts, or None."""
    (names, labels, any_label), is_several = question.choices, question.type == "multiChoice"
    cell = cells.get("", "") if is_several else cells.get("") or " ".join(cells.values()).strip()
    words, ticks = cell.split() if is_several else [cell] * (cell != ""), [part for part, tick in cells.items() if part and tick.upper() in ["1", "TRUE"]]
    is_labels = is_several and labels and re.fullmatch(f"(({any_label})([ ,;]+|$))+", cell)
    by_labels = [labels[cell]] if cell in labels else [labels.get(label, label) for label in re.findall(any_label, cell)] if is_labels else []
    ways = [words if {*words} & {*names} else [], ticks if is_several else [], by_labels, words]
    found = next(filter(None, [*ways[1:3], *ways] if by_label else ways), [])
    notes[f"cells of {question.name} were taken that differ from its columns of choices"] += is_several and "" in cells and len(cells) > 1 and {*found} != {*ticks}
    texts = [names.get(name, name) for name in found if not missing & {name, names.get(name)}]
    notes["answers were left out that stand for none"] += len(found) - len(texts)
    notes[f"answers to {question.name} were taken that are not among its choices"] += sum(name not in names for name in found if names)
    return texts if is_several else "".join(texts)


def time_of(text):
    return (time := datetime.fromisoformat(text)).replace(tzinfo=time.tzinfo or timezone.utc).astimezone(timezone.utc).isoformat(timespec="milliseconds")


def main(form, *files, organisation, agent="", id="", language="", missing="", without=""):
    form, missing, without = read_form(form, language), {*missing.split(",")} - {""}, {*without.split(",")} - {""}
    forms, agents, entries, parents, count, notes = {}, {}, {}, {}, Counter(), Counter()
    for table, (names, rows) in [each for file in files for each in tables_of(file).items()]:
        fitting = [each for each in form.repeats if each and table.removesuffix(".csv").endswith(each[-1])]
        repeat = max(fitting, key=lambda each: len(each[-1]), default=None) if forms else ()
        if repeat is None:
            raise SystemExit(f"{table}: its name ends with that of no repeat; allowed are {', '.join(each[-1] for each in form.repeats if each) or 'none'}")
        columns, known = [*columns_of(form, names, repeat)], {each.name for each in form.questions}
        others = {agent, id} - {name for name, (question, *_) in zip(names, columns) if not question} if not repeat else set()
        if unknown := (without | others) - known - {""}:
            raise SystemExit(f"{table}: no question or other column is {', '.join(unknown)}; allowed are {', '.join([*known, *names])}")
        labelled = {question.at for question, _, by_label in columns if by_label}
        kept = [bool(question) and question.kind not in UNASKED and question.name not in {*without, agent} for question, *_ in columns]
        place = min([(each.kind, each.at) for (each, *_), is_kept in zip(columns, kept) if is_kept and "geopoint" in each.kind], default=("", None))[1]
        left = {name: "columns that are no answers" if question or name.lower() in UNASKED or IDLE.fullmatch(name.lower()) else "left out, as the form does not have them"
                for name, (question, *_), is_kept in zip(names, columns, kept) if name and not is_kept and name not in [agent, id]}
        print(*[f"{table}: {why}: {', '.join(name for name in left if left[name] == why)}\n" for why in sorted({*left.values()})], sep="", end="")
        for number, row in enumerate(rows, 2):
            where, said, cells, there = f"{table}, row {number}", defaultdict(str), defaultdict(dict), {}
            if any(row[len(names):]):
                raise SystemExit(f"{where}: it has {len(row)} cells; allowed are {len(names)}, as in the row of names")
            for name, (question, part, _), is_kept, text in zip(names, columns, kept, map(str.strip, row)):
                key = name.lower() if part != "" else question.kind if question.kind in UNASKED else f"?{question.name}"
                try:
                    said[key] = said[key] or (time_of(text) if text and key in ["start", "end", "today", "submissiondate", "_submission_time"] else text)
                    if is_kept and question.at == place:
                        there |= {each: (float(one), one) for each, one in zip([part] if part else PLACE, text.replace(",", " ").split())}
                    elif is_kept:
                        cells[question.at][part] = text
                except ValueError:
                    raise SystemExit(f"{where}, column {name}: {text!r} cannot be read; allowed are times such as 2025-03-14T09:26:53+01:00, and degrees")
            sent, parent = said["submissiondate"] or said["_submission_time"], parents.get((repeat[:-1], said["parent_key"] or said["_parent_index"] or None))
            if not (parent if repeat else said["start"] or sent or said["end"] or said["today"]):
                raise SystemExit(f"{where}: it needs {'PARENT_KEY or _parent_index of a row above' if repeat else 'start, end, today, SubmissionDate or _submission_time'}")
            if repeat:
                count[parent["id"], repeat] += 1
                entry = {field: value for field, value in parent.items() if field not in ["duration", "location"]}
                entry["id"] += f"-{repeat[-1]}-{count[parent['id'], repeat]}"
            else:
                keys = [f"?{id}", id.lower()] if id else ["key", "_uuid", "meta-instanceid", "meta/instanceid", "instanceid", "_id"]
                entry = {"id": f"{organisation}-{form.id}-{next((said[each] for each in keys if said[each]), str(number)).removeprefix('uuid:')}",
                         "status": said["reviewstate"] or said["_validation_status"] or "pending",
                         "createdAt": said["start"] or sent or said["end"] or said["today"], "updatedAt": sent or said["end"] or said["start"] or said["today"]}
                times = [datetime.fromisoformat(said[each]) for each in ["start", "end"] if said[each]]
                notes["entries have the number of their row in their id, as no column has ids"] += not any(map(said.get, keys))
                entry |= {"duration": (times[1] - times[0]).total_seconds()} if len(times) == 2 else {}
            dated = {"createdAt": entry["createdAt"], "updatedAt": entry["createdAt"]}
            if not repeat and agent and (code := said[f"?{agent}"] or said[agent.lower()]):
                texts, codes, _ = next((each.choices for each in form.questions if each.name == agent), ({}, {}, ""))
                entry["agent"], name = f"{organisation}-agent-{codes.get(code, code)}", texts.get(codes.get(code, code), code)
                agents.setdefault(entry["agent"], {"id": entry["agent"], "status": "active", "firstName": name, "lastName": "", "location": [], **dated})
            if entry["id"] in entries:
                raise SystemExit(f"{where}: {entry['id']} is the id of a row before; allowed is --id=NAME of a column whose values differ")
            entry |= {"location": {"coordinates": {"longitude": there["Longitude"][0], "lattitude": there["Latitude"][0]}}} if len(there) > 1 else {}
            answers = [("text", "Parent entry", parent["id"])] if repeat else []
            answers += [("number", f"{form.questions[place].text} ({part.lower()} in metres)", there[part][1]) for part in [*PLACE][2:] if part in there]
            for question in [form.questions[at] for at in sorted(cells)]:
                answers.append((question.type, question.text, answer_of(question, cells[question.at], question.at in labelled, missing, notes)))
            entry |= {"form": "-".join([organisation, form.id, *repeat]),
                      "answers": [{"type": kind, "question": text, "answer": answer} for kind, text, answer in answers if answer]}
            entries[entry["id"]] = parents[repeat, said["key"]] = parents[repeat, said["_index"]] = entry
            forms.setdefault(entry["form"], {"id": entry["form"], "dispatched": True, "status": "active", "name": form.repeats[repeat][:250], **dated})
    for name, records in [("forms", forms), ("agents", agents), ("entries", entries)]:
        Path(f"{name}.ndjson").write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records.values()), encoding="utf-8")
        print(f"{name}.ndjson has {len(records)} {name}")
    print(*[f"{number} {note}\n" for note, number in (+notes).items()], sep="", end="")


if __name__ == "__main__":
    options = dict(each.removeprefix("--").partition("=")[::2] for each in sys.argv[1:] if each.startswith("--"))
    if len(sys.argv) < len(options) + 3 or not {"organisation"} <= {*options} <= {"organisation", "agent", "id", "language", "missing", "without"}:
        raise SystemExit(__doc__)
    main(*[each for each in sys.argv[1:] if not each.startswith("--")], **options)
