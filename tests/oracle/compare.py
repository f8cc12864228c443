"""Whether two answers of an evaluation vector are equal (FORMAT-evals.md section 5)."""
import hashlib
import json
import re

# Maps from names or IDs: an entry with an empty value is still an entry.
MAPS = {"DesiredTGUpdates", "FailedTGAllocs", "QueuedAllocations", "ClassEligibility", "ClassFiltered",
        "ConstraintFiltered", "NodesAvailable", "ClassExhausted", "DimensionExhausted", "ResourcesExhausted", "Scores",
        "Tasks", "TaskResources", "TaskStates", "TaskGroups", "Meta", "Env", "Config"}
UNORDERED = {"NodeUpdate", "NodeAllocation", "NodePreemptions", "DeploymentUpdates", "CreatedEvals"}


def is_zero(v):
    return v is None or v is False or v == "" or v == [] or v == {} or (isinstance(v, (int, float)) and v == 0)


def normal(x, jobs, key="", depth=""):
    """Zero values dropped, job indexes replaced by the job's text, what is not compared removed."""
    if isinstance(x, list):
        return [normal(v, jobs, "", key) for v in x]
    if isinstance(x, dict):
        out = {}
        for k, v in x.items():
            if k == "AllocationTime" or (depth == "NodeAllocation" and k in ("TaskResources", "SharedResources")):
                continue
            if k == "Job" and isinstance(v, int):
                out[k] = "job " + hashlib.sha1(json.dumps(jobs[v], sort_keys=True).encode()).hexdigest()[:12]
                continue
            v = normal(v, jobs, k, key)
            if key in MAPS:
                out[k] = v if not is_zero(v) else 0
            elif not is_zero(v):
                out[k] = v
        return out
    if isinstance(x, float) and x == 0:
        return 0
    return x


def text(x, colours):
    s = json.dumps(x, sort_keys=True)
    for i, c in colours.items():
        s = s.replace(i, c)
    return s


def fresh_ids(x, prefixes):
    return sorted(set(re.findall("|".join(p + r"[a-z]*-?[0-9]+\b" for p in prefixes), json.dumps(x))), key=len,
                  reverse=True)


def units(x):
    """The parts of an answer that may be exchanged, with their place."""
    for i, a in enumerate(x.get("Attempts") or []):
        for k, v in a["Plan"].items():
            if k in UNORDERED:
                for e in v:
                    yield f"{i}.{k}", e
            else:
                yield f"{i}.{k}", v
    for e in x.get("CreatedEvals") or []:
        yield "created", e
    for i, e in enumerate(x.get("UpdatedEvals") or []):
        yield f"updated.{i}", e
    for i, e in enumerate(x.get("ReblockedEvals") or []):
        yield f"reblocked.{i}", e


def ordered(x, colours):
    if isinstance(x, list):
        return [ordered(v, colours) for v in x]
    if isinstance(x, dict):
        return {k: sorted((ordered(e, colours) for e in v), key=lambda e: text(e, colours)) if k in UNORDERED
                else ordered(v, colours) for k, v in x.items()}
    return x


def canonical(answer, jobs, prefixes):
    x = normal(answer, jobs)
    ids = fresh_ids(x, prefixes)
    colours = {i: "<" + i.strip("0123456789").split("-")[1] + ">" for i in ids}
    for _ in range(3):
        where = {i: [] for i in ids}
        for place, unit in units(x):
            raw = json.dumps(unit, sort_keys=True)
            for i in ids:
                if re.search(re.escape(i) + r"\b", raw):
                    own = dict(colours)
                    own[i] = "<self>"
                    where[i].append(place + text(unit, own))
        colours = {i: "<" + hashlib.sha1("|".join(sorted(w)).encode()).hexdigest()[:10] + ">" for i, w in where.items()}
    x = ordered(x, colours)
    s = json.dumps(x, sort_keys=True)
    seen = {}
    pattern = "|".join(p + r"[a-z]*-?[0-9]+\b" for p in prefixes)
    s = re.sub(pattern, lambda m: seen.setdefault(m.group(0), f"id{len(seen)}"), s)
    return json.loads(s)


def first_difference(a, b, path=""):
    if isinstance(a, dict) and isinstance(b, dict):
        for k in sorted(set(a) | set(b)):
            if a.get(k) != b.get(k):
                return first_difference(a.get(k), b.get(k), path + "." + k)
    if isinstance(a, list) and isinstance(b, list):
        for i in range(max(len(a), len(b))):
            x, y = (v[i] if i < len(v) else None for v in (a, b))
            if x != y:
                return first_difference(x, y, f"{path}[{i}]")
    return f"{path}: expected {json.dumps(a)[:300]} oracle {json.dumps(b)[:300]}"


def difference(vector, got, jobs):
    """"" if equal, else the first difference."""
    a = canonical(vector["expect"], vector["jobs"], ["new-"])
    b = canonical(got, jobs, ["fresh-"])
    return "" if a == b else first_difference(a, b)
