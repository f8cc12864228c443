"""Compares two answers of Nomad's API up to random differences.

A `Matching` belongs to one scenario. It maps identifiers of the recording to those of the other cluster, and
`compare` walks two answers side by side with it. Random values are compared only in part:

  identifiers       UUIDs, and the words of dispatched and periodic children: one to one over the whole scenario
  times             only which are zero
  indexes           only their order within one answer, and which are zero
  nodes             which of the nodes of one pool an allocation is on; a node of the recording that a step picked
  stands
                    for the node that was picked here
  ports, addresses  any dynamic port, any node's address
  batches           of evaluations for failed or healthy allocations of a job, one more or less
  placement         which nodes were looked at and what they scored; the names of what was scored are compared
  order             of lists whose elements are named by random identifiers

Everything else must be equal: every key, every text, every number.
"""
import collections
import functools
import json
import re

UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
CLASS = r"v1:\d{15,20}"  # a computed class: the order of signals in it differs from start to start
CHILD = r"(?:(?<=-)\d{9,11}-[0-9a-f]{8}(?![0-9a-f-])|periodic-\d+)"  # a dispatched child: its time and a random word
TOKEN = re.compile(f"({UUID}|{CHILD}|{CLASS})")
ONE_UUID = re.compile(f"^{UUID}$")
DURATION = re.compile(r"(?<![\w.])(?:\d+(?:\.\d+)?(?:h|ms|µs|us|ns|m|s))+(?![\w])")
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
INDEX_IN_TEXT = re.compile(r"(?i)(\bindex(?: of)?:? )\d+")
ADDRESS = re.compile(r"\b10\.0\.1\.1[1-7](?::\d+)?\b")
ZERO_TIMES = (None, 0, "", "0001-01-01T00:00:00Z")

TIME_KEYS = re.compile(
    r"(Time|At|Timestamp|RequireProgressBy|WaitUntil|Uptime|LastRestart|StatusUpdatedAt|^Submitted|^Created)$")
# Keys with these endings that are not times.
NOT_TIMES = {"ProgressDeadlineAt"}
INDEX_KEYS = re.compile(r"Index$")
ADDRESS_KEYS = {"IP", "HostIP", "Address"}
NODE_KEYS = {"NodeID", "NodeName"}
# What is never compared: measurements, key material, addresses of the recorder's proxies. No HTTPAddr is served
# (R-API-303).
IGNORED = {"HTTPAddr", "IdentitySigningKeyID", "AllocationTime", "took_s", "MacAddress", "SigningKeyID",
           "SignedIdentities"}
# Keys of which only the presence and the type of the value are compared.
SHAPE_ONLY = {"Scores"}
# Which nodes an evaluation visited depends on its visiting order, which is drawn from its identifier.
VISITED = {"NodesEvaluated", "NodesFiltered", "NodesExhausted", "ClassFiltered", "ConstraintFiltered", "ClassExhausted",
           "DimensionExhausted", "QuotaExhausted", "NodesInPool", "ResourcesExhausted"}
# Fields that are compared if a node is the counterpart of another one: those of its state, not of its machine.
NODE_LIFE = {"Status", "StatusDescription", "SchedulingEligibility", "Drain", "DrainStrategy", "LastDrain", "Events"}
POOL_OF = {"client-1": "default", "client-2": "default", "client-3": "default", "client-4": "default",
           "client-7": "default", "client-5": "batch", "client-6": "edge"}


# Evaluations of what clients and deployments report, which is batched for 50 to 250 ms: whether two allocations that
# fail or become healthy at about the same time make one evaluation or two is random.
BATCHED = {"alloc-failure", "deployment-watcher"}
# A delay carries up to a quarter more by chance.
# Objects that change at the same time get indexes in any order, and so do the watchers of a node.
AT_ONCE = 8
KNOWN = 1e6   # similarity of two objects that are known to match
TRIED = 1500  # maximum number of pairs of a list that are tried
UNRELATED = {"SnapshotIndex", "LastAllocUpdateIndex", "LastMissedHeartbeatIndex"}
JITTERED = {"StartDelay", "start_delay"}


def as_number(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


class Difference:
    """One place where two answers differ: `where` as a path without positions, `what` in a word, and both values."""

    def __init__(self, where, what, recorded=None, here=None):
        self.where, self.what, self.recorded, self.here = where, what, recorded, here

    def __str__(self):
        def short(value):
            text = json.dumps(value, ensure_ascii=False, default=str)
            return text if len(text) <= 160 else text[:157] + "..."
        if self.what in ("missing", "extra"):
            return f"{self.where}: {self.what} {short(self.recorded if self.what == 'missing' else self.here)}"
        return f"{self.where}: {self.what}: recorded {short(self.recorded)}, here {short(self.here)}"


class Matching:
    def __init__(self, nodes):
        """`nodes`: {identifier: name} of the recorded cluster; the other cluster has the same ones."""
        self.there, self.here = {}, {}  # recorded identifier -> replayed identifier, and back
        self.nodes = dict(nodes)
        self.node_names = {name: node for node, name in self.nodes.items()}
        self.stands_for = {}  # recorded node -> its replayed counterpart
        self.indexes = {}     # recorded JobModifyIndex -> the replayed one
        self.configurations = {}  # recorded ModifyIndex of the scheduler configuration -> the replayed one
        self.tokens = {}      # recorded page token -> the replayed one
        self.names = {}       # recorded name of an allocation -> the name of its replayed counterpart
        self.told = {}        # recorded allocation -> (job and group, name, identifiers of its follow-up evaluation)
        self.chains = {}      # recorded evaluation -> evaluations that it names
        self.trail = None     # changes of a trial, so that undo() can revert them

    # --- identifiers ---
    def known(self, recorded):
        return self.there.get(recorded.lower())

    def pairs(self, recorded, here):
        """True if the two are known to match."""
        return isinstance(recorded, str) and isinstance(here, str) and self.known(recorded) == here.lower()

    def agrees(self, recorded, here):
        """True if the two may match. Stores no new match."""
        recorded, here = recorded.lower(), here.lower()
        if recorded in self.nodes or here in self.nodes:
            return recorded in self.nodes and here in self.nodes
        pair = self.there.get(recorded)
        if pair is not None:
            return pair == here
        return here not in self.here

    def pair(self, recorded, here):
        recorded, here = recorded.lower(), here.lower()
        if not self.agrees(recorded, here):
            return False
        if recorded not in self.nodes and recorded not in self.there:
            self.there[recorded], self.here[here] = here, recorded
            if self.trail is not None:
                self.trail.append((recorded, here))
        return True

    def bind(self, recorded, here):
        """Stores that a recorded object, which a step picked, matches this replayed one."""
        if recorded in self.nodes and here in self.nodes:
            self.node_plays(recorded, here)
        elif isinstance(recorded, str) and TOKEN.fullmatch(recorded):
            recorded, here = recorded.lower(), str(here).lower()
            self.here.pop(self.there.pop(recorded, None), None)
            self.there.pop(self.here.pop(here, None), None)
            self.there[recorded], self.here[here] = here, recorded

    def node_plays(self, recorded, here):
        """Exchanges the counterparts of two nodes."""
        part = {node: self.stands_for.get(node, node) for node in self.nodes}
        taken_from = next(node for node, player in part.items() if player == here)
        part[taken_from], part[recorded] = part[recorded], here
        self.stands_for = {node: player for node, player in part.items() if node != player}

    def node_here(self, recorded):
        return self.stands_for.get(recorded, recorded)

    # --- which of equals ---
    def note(self, recorded):
        """Recorded allocations and evaluations that have to be exchanged together with this one."""
        if "TaskGroup" in recorded and "ClientStatus" in recorded:
            self.told[recorded["ID"]] = ((recorded.get("JobID"), recorded["TaskGroup"]), recorded.get("Name"),
                                         recorded.get("FollowupEvalID"))
        elif "TriggeredBy" in recorded:
            self.chains[recorded["ID"]] = [recorded[k] for k in ("PreviousEval", "NextEval") if recorded.get(k)]

    def name_here(self, recorded):
        return self.names.get(recorded, recorded)

    def state(self):
        return dict(self.there), dict(self.here), dict(self.names)

    def restore(self, state):
        self.there, self.here, self.names = (dict(part) for part in state)

    def exchange(self, first, second):
        """Exchanges the counterparts of two allocations of one group, and drops the matches that depended on them."""
        self.names[first], self.names[second] = self.name_here(second), self.name_here(first)
        forgotten = set()
        for identifier, (_, name, followup) in self.told.items():
            if name in (first, second):
                forgotten.update((identifier, followup))
        more = {e for e, named in self.chains.items() if forgotten & {e, *named} and forgotten & set(named)}
        for e in list(forgotten):
            more.update(self.chains.get(e, ()))
        self.forget(forgotten | {e for e in more if self.chains.get(e)})

    def forget(self, identifiers, of_here=()):
        for identifier in identifiers:
            here = self.there.pop((identifier or "").lower(), None)
            self.here.pop(here, None)
        for identifier in of_here:
            recorded = self.here.pop(identifier.lower(), None)
            self.there.pop(recorded, None)

    # --- trials ---
    def begin(self):
        """Begins a trial within the present one; the result is an argument of undo()."""
        outer, self.trail = self.trail, []
        return outer

    def undo(self, outer):
        for recorded, here in self.trail:
            del self.there[recorded], self.here[here]
        self.trail = outer

    # --- what is sent ---
    def translate(self, text):
        """A recorded path or body with the identifiers of the replaying cluster."""
        def one(match):
            token = match.group(0)
            low = token.lower()
            if low in self.nodes:
                return self.node_here(low)
            return self.there.get(low, token)
        text = TOKEN.sub(one, text)
        text = re.sub(r"([?&]cas=)(\d+)", lambda m: m.group(1) +
                      str(self.configurations.get(int(m.group(2)), m.group(2))), text)

        def short(match):
            start = match.group(2).lower()
            if any(start == node[:len(start)] for node in self.nodes):
                found = [self.node_here(node) for node in self.nodes if node.startswith(start)]
            else:
                found = [here for recorded, here in self.there.items() if recorded.startswith(start)]
            return match.group(1) + found[0][:len(start)] if len(found) == 1 else match.group(0)
        return re.sub(r"((?:^|[/=\"]))([0-9a-f]{8}(?:-[0-9a-f]{2,4}){0,3}-?)(?=$|[/?&\"])", short, text)

    def translate_json(self, value, key=""):
        if isinstance(value, dict):
            return {self.translate(k): self.translate_json(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self.translate_json(v, key) for v in value]
        if isinstance(value, str):
            return self.translate(value)
        if key == "JobModifyIndex" and isinstance(value, int) and value in self.indexes:
            return self.indexes[value]
        return value


def batch_of(value):
    """Job and trigger of an evaluation that covers all reports of a fifth of a second."""
    if value.get("TriggeredBy") in BATCHED and value.get("Status") == "complete":
        return value.get("JobID"), value["TriggeredBy"]
    return None


# Few keys and texts are compared a million times: what the patterns find in them is cached.
@functools.lru_cache(1 << 14)
def kind_of_key(key):
    """(values of this key are times, they are indexes)."""
    return bool(TIME_KEYS.search(key)) and key not in NOT_TIMES, bool(INDEX_KEYS.search(key))


@functools.lru_cache(1 << 14)
def has_token(key):
    return bool(TOKEN.search(key))


@functools.lru_cache(1 << 14)
def masked_text(text):
    """A text without its random parts, except for identifiers."""
    text = INSTANT.sub("<instant>", text)
    text = INDEX_IN_TEXT.sub(r"\g<1><index>", text)
    text = ADDRESS.sub("<address>", text)
    return DURATION.sub("<duration>", text)


def settled_events(events):
    """Events without those whose number or presence chance decides.

    How often a node is missed while it is away depends on the TTLs, which are drawn. Whether a task that a restarted
    client found again logs that it is being killed before it ends differs between two recordings.
    """
    kept = []
    for position, event in enumerate(events):
        if not isinstance(event, dict):
            return events
        after = [e.get("Type") for e in events[position + 1:position + 3] if isinstance(e, dict)]
        if event.get("Message") == "Node heartbeat missed" and kept and kept[-1].get("Message") == event["Message"]:
            continue
        if event.get("Type") == "Killing" and after == ["Terminated"]:
            continue
        kept.append(event)
    return kept


class Comparison:
    """One pair of answers."""

    def __init__(self, matching, path=""):
        self.matching, self.path = matching, path
        self.differences = []

    def differ(self, where, what, recorded=None, here=None):
        self.differences.append(Difference(where, what, recorded, here))

    # --- values ---
    def values(self, recorded, here, where="", key="", owner=None):
        if key in IGNORED:
            return
        if key in NODE_KEYS or (key == "Key" and isinstance(recorded, str) and recorded in self.matching.nodes):
            return self.node(recorded, here, where)
        is_time, is_index = kind_of_key(key)
        if is_time and not isinstance(recorded, (dict, list, bool)):
            if (recorded in ZERO_TIMES) != (here in ZERO_TIMES) or isinstance(here, (dict, list)):
                self.differ(where, "time", recorded, here)
            elif type(recorded) is not type(here) and None not in (recorded, here):
                self.differ(where, "type", recorded, here)
            return
        if is_index and isinstance(recorded, int) and not isinstance(recorded, bool):
            return self.index(recorded, here, where, key)
        if key in JITTERED and as_number(recorded) and as_number(here):
            if type(recorded) is not type(here) or not 0.79 < as_number(here) / as_number(recorded) < 1.26:
                self.differ(where, "delay", recorded, here)
            return
        if isinstance(recorded, dict) and isinstance(here, dict):
            return self.objects(recorded, here, where, key)
        if isinstance(recorded, list) and isinstance(here, list):
            return self.lists(recorded, here, where, key)
        if isinstance(recorded, str) and isinstance(here, str):
            if key == "Name" and recorded in self.matching.names:
                recorded = self.matching.name_here(recorded)
            if key == "ComputedClass" and re.fullmatch(CLASS, recorded) and re.fullmatch(CLASS, here):
                self.matching.bind(recorded, here)  # differs after each start of a client
                return
            if key == "os.signals" and sorted(recorded.split(",")) == sorted(here.split(",")):
                return
            if key in ADDRESS_KEYS and ADDRESS.fullmatch(recorded) and ADDRESS.fullmatch(here):
                return
            if not self.text(recorded, here):
                self.differ(where, "text", recorded, here)
            return
        if isinstance(recorded, bool) or isinstance(here, bool) or recorded is None or here is None:
            if recorded is not here:
                self.differ(where, "value", recorded, here)
            return
        if isinstance(recorded, (int, float)) and isinstance(here, (int, float)):
            if key in ("Value", "Port") and 20000 <= recorded <= 20063 and 20000 <= here <= 20063:
                return
            if abs(recorded - here) > 1e-9 * max(1.0, abs(recorded)):
                self.differ(where, "number", recorded, here)
            return
        self.differ(where, "type", recorded, here)

    def node(self, recorded, here, where):
        names = self.matching.nodes
        pools = [POOL_OF.get(names.get(node, node)) for node in (recorded, here)]
        if pools[0] != pools[1] or (recorded in names) != (here in names):
            self.differ(where, "node", recorded, here)

    def index(self, recorded, here, where, key):
        if not isinstance(here, int) or isinstance(here, bool):
            return self.differ(where, "type", recorded, here)
        if (recorded == 0) != (here == 0):
            return self.differ(where, "index", recorded, here)
        if key == "JobModifyIndex" and recorded:
            self.matching.indexes[recorded] = here
        if where == "SchedulerConfig.ModifyIndex":
            self.matching.configurations[recorded] = here

    def text(self, recorded, here):
        if recorded == here:
            return True
        a, b = TOKEN.split(recorded), TOKEN.split(here)
        if len(a) != len(b) or any(masked_text(x) != masked_text(y) for x, y in zip(a[::2], b[::2])):
            return False
        return all(self.matching.pair(x, y) for x, y in zip(a[1::2], b[1::2]))

    # --- objects ---
    def objects(self, recorded, here, where, key):
        life_only = False
        if isinstance(recorded.get("ID"), str):
            self.matching.note(recorded)
        if "SchedulingEligibility" in recorded and "Datacenter" in recorded and "ID" in recorded:
            if recorded.get("ID") != here.get("ID"):
                life_only = True
                if self.matching.node_here(recorded["ID"]) != here.get("ID"):
                    self.differ(f"{where}.ID", "node", recorded["ID"], here.get("ID"))
        if key == "ScoreMetaData" or key == "Scores":
            return
        if key == "ClassEligibility":
            return self.classes(recorded, here, where)
        self.ages(recorded, here, where)
        elsewhere = "ServiceName" in recorded and recorded.get("NodeID") != here.get("NodeID")
        keys = self.keys(recorded, here, where)
        for k, (left, right) in keys.items():
            if k in IGNORED or (life_only and left not in NODE_LIFE) or (elsewhere and left == "Datacenter"):
                continue
            place = f"{where}.{k}" if where else k
            if left is None:
                self.differ(place, "extra", here=here[right])
            elif right is None:
                self.differ(place, "missing", recorded[left])
            elif left in VISITED and "NodesEvaluated" in recorded:
                self.visited(recorded[left], here[right], place)
            else:
                self.values(recorded[left], here[right], place, left if isinstance(left, str) else "", recorded)

    def classes(self, recorded, here, where):
        """Computed classes differ from start to start of a client; the result for each class is the same."""
        counts = [sorted(map(str, x.values())) for x in (recorded, here)]
        if counts[0] != counts[1]:
            self.differ(where, "value", recorded, here)

    def visited(self, recorded, here, where):
        """The number of visited nodes is random, but the type of the value is not."""
        if isinstance(recorded, dict) or isinstance(here, dict):
            if not isinstance(recorded, (dict, type(None))) or not isinstance(here, (dict, type(None))):
                self.differ(where, "type", recorded, here)
        elif type(recorded) is not type(here):
            self.differ(where, "type", recorded, here)

    def keys(self, recorded, here, where):
        """{name for a path: (recorded key, key here)}; keys that are identifiers are paired."""
        if recorded.keys() == here.keys() and not any(map(has_token, recorded)):
            return {k: (k, k) for k in recorded}
        result, left_over, right_over = {}, [], [k for k in here if has_token(k)]
        for k in recorded:
            if not has_token(k):
                result[k] = (k, k if k in here else None)
            else:
                left_over.append(k)
        for k in here:
            if k not in recorded and not has_token(k):
                result[k] = (None, k)
        number = 0
        for certain in (True, False):
            for left in list(left_over):
                for right in right_over:
                    if certain and (self.matching.known(left) != right.lower() and left != right):
                        continue
                    if not certain and not self.text(left, right):
                        continue
                    result[f"<id>{'' if number == 0 else ''}#{number}"] = (left, right)
                    number += 1
                    left_over.remove(left), right_over.remove(right)
                    break
        for left in left_over:
            result[f"<id>#{number}"] = (left, None)
            number += 1
        for right in right_over:
            result[f"<id>#{number}"] = (None, right)
            number += 1
        return result

    # --- lists ---
    def lists(self, recorded, here, where, key):
        if key == "ScoreMetaData":
            return self.scores(recorded, here, where)
        if key == "Events":
            recorded, here = settled_events(recorded), settled_events(here)
        place = f"{where}[]"
        if recorded and isinstance(recorded[0], dict) and self.is_unordered(recorded):
            return self.unordered(recorded, here, place)
        if recorded and all(isinstance(x, str) and TOKEN.search(x) for x in recorded):
            return self.identifiers(recorded, here, place)
        if len(recorded) != len(here):
            return self.differ(where, "length", recorded, here)
        for left, right in zip(recorded, here):
            self.values(left, right, place, key)

    @staticmethod
    def is_unordered(recorded):
        return any(isinstance(x.get("ID"), str) and TOKEN.search(x["ID"]) for x in recorded)

    def scores(self, recorded, here, where):
        names = [sorted({name for entry in entries or [] for name in entry.get("Scores") or {}})
                 for entries in (recorded, here)]
        # Without any other allocation of the job on a node there is no anti-affinity score, and so on: names may miss.
        if bool(recorded) != bool(here):
            self.differ(where, "length", recorded, here)
        elif recorded and "binpack" in names[0] and "binpack" not in names[1]:
            self.differ(where, "scores", names[0], names[1])

    def identifiers(self, recorded, here, where):
        if len(recorded) != len(here):
            return self.differ(where, "length", recorded, here)
        left_over, right_over = [], list(here)
        for left in recorded:
            right = self.matching.known(left)
            if right in right_over:
                right_over.remove(right)
            elif left in self.matching.nodes and self.matching.node_here(left) in right_over:
                right_over.remove(self.matching.node_here(left))
            else:
                left_over.append(left)
        for left, right in zip(left_over, right_over):
            if not self.text(left, right):
                self.differ(where, "identifier", left, right)

    def unordered(self, recorded, here, where):
        if any(not isinstance(x, dict) for x in here):
            return self.differ(where, "type", recorded, here)
        self.order(recorded, here, where)
        ranks = [self.ranks(recorded), self.ranks(here)]
        scores = {(i, j): self.likeness(left, right) for i, left in enumerate(recorded) for j, right in enumerate(here)}
        scores = {pair: score for pair, score in scores.items() if score >= 0}
        costs = {pair: self.cost(recorded[pair[0]], here[pair[1]], where) for pair in scores} if (
            len(scores) <= TRIED) else {}
        candidates = sorted(scores, key=lambda pair: (-(scores[pair] >= KNOWN), costs.get(pair, 0), -scores[pair],
                                                      abs(ranks[0][pair[0]] - ranks[1][pair[1]]), pair))
        taken_left, taken_right, pairs = set(), set(), []
        while candidates:
            # Matches that the last pair stored decide other identifiers first.
            i, j = next((pair for pair in candidates if self.matching.pairs(
                recorded[pair[0]].get("ID"), here[pair[1]].get("ID"))), candidates[0])
            taken_left.add(i), taken_right.add(j)
            pairs.append((i, j))
            self.values(recorded[i], here[j], where, "")
            candidates = [pair for pair in candidates if pair[0] != i and pair[1] != j and self.may_pair(
                recorded[pair[0]], here[pair[1]])]
        missing = [x for i, x in enumerate(recorded) if i not in taken_left]
        extra = [x for j, x in enumerate(here) if j not in taken_right]
        split = self.split_batches(missing + extra, [recorded[i] for i, _ in pairs])
        self.ages_in_list([(recorded[i], here[j]) for i, j in pairs if batch_of(recorded[i]) not in split], where)
        for left in missing:
            if batch_of(left) not in split:
                self.differ(where, "missing", self.in_short(left))
        for right in extra:
            if batch_of(right) not in split:
                self.differ(where, "extra", here=self.in_short(right))

    @staticmethod
    def split_batches(unpaired, paired):
        """Kinds of evaluations that one side has once more than the other, because what was reported together there was
        reported apart here; both sides have such evaluations."""
        kinds = collections.Counter(batch_of(x) for x in unpaired)
        return {kind for kind, count in kinds.items() if kind and count == 1 and kind in map(batch_of, paired)}

    def may_pair(self, recorded, here):
        left, right = recorded.get("ID"), here.get("ID")
        return not (isinstance(left, str) and TOKEN.fullmatch(left)) or left in self.matching.nodes or (
            self.matching.agrees(left, right))

    def cost(self, recorded, here, where):
        """How much two objects differ. Stores no match."""
        trial = Comparison(self.matching, self.path)
        outer = self.matching.begin()
        trial.values(recorded, here, where, "")
        self.matching.undo(outer)
        return len(trial.differences)

    @staticmethod
    def ranks(objects):
        """Position of each object by age; among equal ones, by the age of its successor."""
        ages = {x.get("ID"): x.get("CreateIndex") or 0 for x in objects}
        by_age = sorted(range(len(objects)), key=lambda i: (objects[i].get("CreateIndex") or 0, ages.get(
            objects[i].get("NextAllocation") or objects[i].get("NextEval"), 0), i))
        return {i: rank for rank, i in enumerate(by_age)}

    @staticmethod
    def in_short(value):
        keys = ("ID", "Name", "Type", "TriggeredBy", "Status", "ClientStatus", "DesiredStatus", "JobVersion", "JobID")
        return {k: value[k] for k in keys if k in value}

    def order(self, recorded, here, where):
        """Lists in the order of CreateIndex must be so in the replay as well; others are ordered by a random identifier."""
        head = self.path.split("?")[0]
        if where != "[]" or head not in ("/v1/allocations", "/v1/evaluations", "/v1/deployments"):
            return
        step = -1 if "reverse=true" in self.path else 1
        found = [x.get("CreateIndex", 0) * step for x in here]
        if "prefix=" not in self.path and found != sorted(found):
            self.differ(where, "order", here=found)

    def likeness(self, recorded, here):
        left, right = recorded.get("ID"), here.get("ID")
        if isinstance(left, str) and isinstance(right, str) and TOKEN.search(left) and TOKEN.search(right):
            known = self.matching.known(left) if TOKEN.fullmatch(left) else None
            if left in self.matching.nodes or right in self.matching.nodes:
                return KNOWN if self.matching.node_here(left) == right else -1
            if known == right.lower():
                return KNOWN
            if TOKEN.fullmatch(left) and not self.matching.agrees(left, right):
                return -1
        elif left != right:
            return -1
        score = 0.0
        for k, value in recorded.items():
            if isinstance(value,
                          (str, int, bool)) and k in here and not TIME_KEYS.search(k) and not INDEX_KEYS.search(k):
                other = here[k]
                if isinstance(value, str) and isinstance(other, str) and TOKEN.fullmatch(value) and k != "NodeID":
                    known = self.matching.known(value)
                    score += 8 if known == other.lower() else (-4 if known is not None else 0)
                elif other == (self.matching.name_here(value) if k == "Name" else value):
                    score += {"Name": 16, "JobID": 16, "TriggeredBy": 8, "JobVersion": 8}.get(k, 2)
        return max(score, 0.0)

    # --- order of indexes ---
    def ages(self, recorded, here, where):
        """The indexes of one object must have the recorded order."""
        keys = [k for k in recorded if k in here and kind_of_key(k)[1] and k not in UNRELATED and
                all(isinstance(x[k], int) and x[k] > 0 for x in (recorded, here))]
        for a in keys:
            for b in keys:
                if recorded[a] < recorded[b] and here[a] > here[b]:
                    return self.differ(where, "order of indexes", {a: recorded[a], b: recorded[b]},
                                       {a: here[a], b: here[b]})

    def ages_in_list(self, pairs, where):
        """Two objects of clearly different age must have the recorded order."""
        # On which of its nodes a system job comes first follows from the order in which nodes are visited.
        pairs = [(left["CreateIndex"], right["CreateIndex"], left.get("Name") if "TaskGroup" in left else None)
                 for left, right in pairs if isinstance(left.get("CreateIndex"), int)
                 and isinstance(right.get("CreateIndex"), int) and
                 "SchedulingEligibility" not in left]
        for older in pairs:
            for younger in pairs:
                if younger[0] - older[0] > AT_ONCE and younger[1] < older[1] and (
                        older[2] is None or older[2] != younger[2]):
                    return self.differ(f"{where}.CreateIndex", "order of indexes", [older[0], younger[0]],
                                       [older[1], younger[1]])


HEADERS = ("X-Nomad-Index", "X-Nomad-KnownLeader", "X-Nomad-LastContact", "X-Nomad-NextToken", "Content-Type",
           "Location", "Allow")
# Answers of which only the status and the top level are compared.
MEASURED = re.compile(r"^/v1/(metrics|client/stats|client/allocation/[^/]+/stats)")
AGENT = re.compile(r"^/v1/agent/self")


def compare(matching, path, recorded, here):
    """The differences of two answers {status, headers, body | body_text}."""
    before = matching.state()
    found = compare_once(matching, path, recorded, here)
    if not found or recorded.get("status") != here.get("status"):
        return found
    # Objects that were equal when they were first seen may have been matched the wrong way round.
    after = matching.state()
    matching.restore(before)
    matching.forget(identities_in(recorded.get("body")), identities_in(here.get("body")))
    other = compare_once(matching, path, recorded, here)
    if len(other) < len(found):
        found, before = other, before_again(matching, before, recorded, here)
    else:
        matching.restore(after)
    if not found:
        return found
    # Which of several equal allocations a node gets is random, so an event may have hit another of them in the replay.
    for first, second in exchangeable(matching, recorded.get("body"), here.get("body")):
        after = matching.state()
        matching.restore(before)
        matching.exchange(first, second)
        other = compare_once(matching, path, recorded, here)
        if len(other) < len(found):
            found, before = other, before[:2] + (dict(matching.names),)
            if not found:
                break
        else:
            matching.restore(after)
    return found


# Which allocations a smaller count stops is decided by their names.
BY_NAME = "alloc not needed due to job update"
EXCHANGED = 28  # maximum number of exchanged pairs that are tried


def identities_in(value):
    """The allocations and evaluations of an answer, and the evaluations that its allocations are of."""
    if isinstance(value, dict):
        if ("TaskGroup" in value and "ClientStatus" in value) or "TriggeredBy" in value:
            yield from (value[k] for k in ("ID", "EvalID", "FollowupEvalID", "NextAllocation", "PreviousAllocation",
                                           "NextEval", "PreviousEval", "BlockedEval") if value.get(k))
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        if isinstance(inner, (dict, list)):
            yield from identities_in(inner)


def before_again(matching, before, recorded, here):
    """The matches from before, without those of this answer."""
    after = matching.state()
    matching.restore(before)
    matching.forget(identities_in(recorded.get("body")), identities_in(here.get("body")))
    again = matching.state()
    matching.restore(after)
    return again


def allocations_in(value):
    if isinstance(value, dict):
        if "TaskGroup" in value and "ClientStatus" in value:
            yield value
            return
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        if isinstance(inner, (dict, list)):
            yield from allocations_in(inner)


def victims_in(value):
    """The allocations that were evicted for those of an answer."""
    for alloc in allocations_in(value):
        yield from alloc.get("PreemptedAllocations") or ()
        if alloc.get("PreemptedByAllocation"):
            yield alloc["PreemptedByAllocation"]


def exchangeable(matching, recorded, here):
    """Pairs of recorded names of one group, none of which was stopped for its name."""
    groups, barred = {}, set()
    original = {name: recorded_name for recorded_name, name in matching.names.items()}
    for is_here, side in ((False, recorded), (True, here)):
        found = [((alloc.get("JobID"), alloc["TaskGroup"]), alloc.get("Name"), alloc.get("DesiredDescription"))
                 for alloc in allocations_in(side)]
        found = [(group, original.get(name, name) if is_here else name, why) for group, name, why in found]
        for identifier in victims_in(side):
            told = matching.told.get(matching.here.get(identifier) if is_here else identifier)
            if told:
                found.append((told[0], told[1], None))
        for group, name, why in found:
            if why == BY_NAME:
                barred.add(name)
            if isinstance(name, str):
                groups.setdefault(group, {})[name] = True
    pairs = []
    for names in groups.values():
        free = sorted(name for name in names if name not in barred)
        pairs += [(a, b) for i, a in enumerate(free) for b in free[i + 1:]]
    return pairs[:EXCHANGED]


def compare_once(matching, path, recorded, here):
    c = Comparison(matching, path)
    if recorded.get("status") != here.get("status"):
        c.differ("status", "status", [recorded.get("status"), recorded.get("body_text", "")[:200]],
                 [here.get("status"), here.get("body_text", "")[:200]])
        return c.differences
    compare_headers(c, recorded.get("headers") or {}, here.get("headers") or {})
    if ("body" in recorded) != ("body" in here):
        c.differ("body", "type", recorded.get("body", recorded.get("body_text")),
                 here.get("body", here.get("body_text")))
    elif "body" in recorded:
        if MEASURED.match(path) or AGENT.match(path):
            compare_structure(c, recorded["body"], here["body"])
        else:
            c.values(recorded["body"], here["body"])
    elif not c.text(recorded.get("body_text", ""), here.get("body_text", "")):
        c.differ("body", "text", recorded.get("body_text"), here.get("body_text"))
    return c.differences


def compare_headers(c, recorded, here):
    for name in HEADERS:
        left, right = recorded.get(name), here.get(name)
        if name == "X-Nomad-NextToken" and left and right:
            c.matching.tokens[left] = right
            continue
        if name in ("X-Nomad-Index", "X-Nomad-LastContact"):
            if (left is None) != (right is None) or (name == "X-Nomad-Index" and (left == "0") != (right == "0")):
                c.differ(f"header {name}", "header", left, right)
        elif left != right and not (left and right and c.text(left, right)):
            c.differ(f"header {name}", "header", left, right)


def compare_structure(c, recorded, here, where="", depth=2):
    """The keys of the first two levels; of measurements and an agent's configuration nothing else is compared."""
    if type(recorded) is not type(here):
        return c.differ(where or "body", "type", recorded, here)
    for key in recorded if isinstance(recorded, dict) else ():
        place = f"{where}.{key}" if where else key
        if key not in here:
            c.differ(place, "missing", recorded[key])
        elif depth > 1 and isinstance(recorded[key], dict):
            compare_structure(c, recorded[key], here[key], place, depth - 1)
