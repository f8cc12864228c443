// The stream of changes, GET /v1/berth/live. One connection for all pages; its latest values are kept here.
//
//   nodes      Map of row -> [row, bits, cpu, memory, disk (thousandths in use), allocations, id, name, datacenter, class, pool]
//   counts     totals of nodes, jobs, allocations, evaluations and resources
//   rates      per name the last kPoints values, two a second
//   jobs       Map of key -> job, those that changed last; decisions: the last ones
//   marks      Map of number -> fault or change of nodes, for the timeline
//   listeners  get each message after its values are stored: "state", "nodes", "tick", "connection"

export const kStatus = 3, kEligible = 4, kDraining = 8, kGone = 16, kDown = 2, kDisconnected = 3;
const kPoints = 240, kMarks = 400, kLast = 40;

export const live = {
  nodes: new Map(), byId: new Map(), counts: null, rates: {}, marks: new Map(), jobs: new Map(), decisions: [], now: 0, speed: "", index: 0,
  messages: 0, connection: "connecting",
};
const listeners = new Set();

/// Calls `listener(kind, message)` from now on; returns a function that ends it.
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function takeNode(node) {
  const had = live.nodes.get(node[0]);
  if (had && node.length <= 6) {
    for (let at = 1; at < node.length; ++at) had[at] = node[at];
    return had;
  }
  if (node.length <= 6) return null;
  if (had) live.byId.delete(had[6]);
  if (node[1] & kGone) {
    live.nodes.delete(node[0]);
    return node;
  }
  live.nodes.set(node[0], node);
  live.byId.set(node[6], node);
  return node;
}

function takeCommon(message) {
  live.now = message.now, live.speed = message.speed, live.counts = message.counts, live.index = message.counts.index;
  for (const mark of message.marks) live.marks.set(mark.number, mark);
  while (live.marks.size > kMarks) live.marks.delete(live.marks.keys().next().value);
  for (const job of message.jobs) live.jobs.delete(job[0] + "\n" + job[1]), live.jobs.set(job[0] + "\n" + job[1], job);
  while (live.jobs.size > kLast) live.jobs.delete(live.jobs.keys().next().value);
  live.decisions = live.decisions.concat(message.decisions).slice(-kLast);
}

const take = {
  state(message) {
    live.nodes.clear(), live.byId.clear(), live.marks.clear(), live.jobs.clear();
    live.decisions = [];
    live.nodesMost = message.nodes_drawn;
    takeCommon(message);
  },
  nodes(message) {
    message.nodes.forEach(takeNode);
  },
  tick(message) {
    takeCommon(message);
    message.changed = message.nodes.map(takeNode).filter(Boolean);
    for (const [name, value] of Object.entries({ ...message.rates, p99_us: message.latency.p99_us || 0 })) {
      const points = (live.rates[name] = live.rates[name] || []);
      points.push(value);
      if (points.length > kPoints) points.shift();
    }
  },
};

function emit(kind, message) {
  for (const listener of listeners) listener(kind, message);
}

function setConnection(text) {
  live.connection = text;
  emit("connection", null);
}

let source = null, retry = 0;
export function connect() {
  if (source) source.close();
  clearTimeout(retry);
  source = new EventSource("/v1/berth/live");
  source.onopen = () => setConnection("live");
  source.onerror = () => {
    setConnection(source.readyState === EventSource.CLOSED ? "refused" : "no connection");
    if (source.readyState === EventSource.CLOSED) retry = setTimeout(connect, 10_000);  // by the browser itself otherwise
  };
  source.onmessage = (event) => {
    const message = JSON.parse(event.data);
    take[message.kind](message);
    ++live.messages;
    emit(message.kind, message);
  };
}
