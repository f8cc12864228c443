// The first page: totals, the map of nodes, the timeline, blocked jobs, rates, and what happened last.
import { get } from "./api.js";
import { drawRate } from "./canvas.js";
import { address, idLink, integer, jobLink, link, make, mebibytes, megahertz, meter, pill, rounded, section, table, time } from "./dom.js";
import { describe, HeatMap, kGroups, kMeasures, legend } from "./heatmap.js";
import { kLists, whyBlocked } from "./lists.js";
import { live } from "./live.js";
import { explanation } from "./objects.js";
import { PagedList } from "./paged_list.js";
import { kRanges, markText, Timeline } from "./timeline.js";

const kRates = { placed: "allocations placed a second", evaluations: "evaluations a second", entries: "log entries a second", p99_us: "time of a decision, p99, µs" };
const kRows = 40, kDeployments = 100, kPoints = 240;

function select(label, values, changed) {
  const out = make("select", { "aria-label": label, onchange: () => changed(out.value) }, values.map((value) => make("option", { value }, value)));
  return make("label", {}, `${label} `, out);
}

// ---------------------------------------------------------------- totals

function totals() {
  const cards = make("div", { class: "totals" }), meters = make("div", { class: "meters" });
  const kinds = { nodes: [["all", (c) => c.nodes.all, "/ui/clients"], ["ready", (c) => c.nodes.ready, "/ui/clients?Status=ready"],
    ["draining", (c) => c.nodes.draining, "/ui/clients"], ["down", (c) => c.nodes.down, "/ui/clients?Status=down"]],
  jobs: [["all", (c) => c.jobs, "/ui/jobs"], ["not dead", (c) => c.live_jobs, "/ui/jobs"]],
  allocations: ["running", "pending", "complete", "failed", "lost", "unknown"].map((status) => [status, (c) => c.allocs[status], `/ui/allocations?ClientStatus=${status}`]),
  evaluations: [["queued", (c) => c.evals_ready, "/ui/evaluations?Status=pending"], ["blocked", (c) => c.evals_blocked, "/ui/evaluations?Status=blocked"]] };
  const numbers = [];
  for (const [kind, ones] of Object.entries(kinds)) {
    cards.append(make("div", { class: "cards", role: "group", "aria-label": kind }, make("span", { class: "soft" }, kind), ones.map(([name, value, href]) => {
      const number = make("b", {}, "–");
      numbers.push([number, value]);
      return make("a", { href, class: "card" }, number, make("span", {}, name));
    })));
  }
  function show() {
    if (!live.counts) return;
    for (const [number, value] of numbers) number.textContent = integer(value(live.counts));
    const has = live.counts.resources;
    meters.replaceChildren(...[["cpu", has.cpu_mhz, megahertz], ["memory", has.memory_mb, mebibytes], ["disk", has.disk_mb, mebibytes]].map(([name, [used, total], text]) =>
      meter(name, used, total, `${text(used)} of ${text(total)}`)));
  }
  return { element: make("section", { "aria-label": "Totals" }, cards, meters), show };
}

// ---------------------------------------------------------------- map and timeline

function nodeMap(go) {
  const canvas = make("canvas", { id: "map", tabindex: "0", role: "application", "aria-label": "Map of nodes; arrow keys move, Enter opens the node" });
  const signs = make("canvas", { class: "legend", role: "img", "aria-label": "Legend: light to dark is 0 to 100 % in use; arrow: draining, bar: ineligible, ring: disconnected, cross: down" });
  const about = make("output", { class: "tip", "aria-live": "polite" }), note = make("small");
  const map = new HeatMap(canvas, (node) => go(address.node(node[6])), (node) => { about.textContent = node ? describe(node) : " "; });
  const draw = () => {
    map.layOut(), legend(signs);
    note.textContent = `${integer(map.cells.length)} shown${live.nodes.size >= live.nodesMost ? ", the first " + integer(live.nodesMost) + " of the cluster" : ""}`;
  };
  const set = (name) => (value) => { map[name] = value; draw(); };
  const text = make("input", { type: "search", "aria-label": "nodes to show", placeholder: "name, class, pool, state …", maxlength: "100", oninput: () => set("text")(text.value.trim()) });
  const element = make("section", { id: "map-section" }, make("h2", {}, "Nodes ", note),
    make("div", { class: "filters" }, select("colour by", Object.keys(kMeasures), set("measure")), select("group by", [...Object.keys(kGroups), "nothing"], set("group")), text),
    make("div", { class: "frame" }, canvas), about, signs);
  return { element, draw, map };
}

function history(go) {
  const canvas = make("canvas", { id: "timeline", role: "img", "aria-label": "Timeline of deployments and faults; the table below has the same" });
  const tip = make("output", { class: "tip" }, " "), note = make("small"), rows = make("div");
  const timeline = new Timeline(canvas, go, (text) => { tip.textContent = text || " "; });
  let deployments = [];
  const details = make("details", { ontoggle: () => list() }, make("summary", {}, "as a table"), rows);
  function list() {
    if (!details.open) return;
    const all = [...[...live.marks.values()].map((mark) => [mark.at, mark.id ? link(address.node(mark.id), markText(mark)) : markText(mark)]),
      ...deployments.map((one) => [one.CreateTime / 1e6, make("span", {}, "deployment of ", jobLink(one.JobID, one.Namespace), ` version ${one.JobVersion}: `, pill(one.Status))])];
    all.sort((a, b) => b[0] - a[0]);
    rows.replaceChildren(table("Deployments and faults", ["time", "what"], all.slice(0, 100).map(([when, what]) => [time(when * 1e6), what])));
  }
  function draw() {
    if (live.now) note.textContent = timeline.draw(deployments, [...live.marks.values()], live.now);
  }
  async function refresh() {
    deployments = await get("/v1/deployments", { namespace: "*", reverse: "true", per_page: kDeployments });
    draw(), list();
  }
  const element = make("section", {}, make("h2", {}, "Deployments and faults ", note),
    make("div", { class: "filters" }, select("time", ["all", ...Object.keys(kRanges).filter((name) => name !== "all")], (value) => { timeline.range = value; draw(); })),
    make("div", { class: "frame" }, canvas), tip, details);
  return { element, draw, refresh };
}

// ---------------------------------------------------------------- tables

function blockedJobs() {
  const row = (evaluation) => {
    const cell = make("div", {}, whyBlocked(evaluation), " ");
    cell.append(make("button", { name: `why ${evaluation.ID}`, onclick: (event) => { event.target.remove(); cell.append(explanation(evaluation.JobID, evaluation.Namespace)); asked.set(evaluation.ID, cell); } }, "What would help?"));
    return [jobLink(evaluation.JobID, evaluation.Namespace), idLink("evaluation", evaluation.ID), evaluation.Priority, asked.get(evaluation.ID) || cell];
  };
  const asked = new Map();  // explanations stay while the list is refreshed
  return new PagedList({ label: "Blocked jobs", path: kLists.evaluations.path, heads: ["job", "evaluation", "priority", "why it is blocked"], row, perPage: 10, empty: "no job is blocked",
    query: () => ({ namespace: "*", filter: 'Status == "blocked"', reverse: "true" }) });
}

const outcome = (line) => [[line.placed, "placed"], [line.stopped, "stopped"], [line.preempted, "evicted"], [line.refused, "refused by the applier"]]
  .filter(([count]) => count > 0).map(([count, word]) => `${word} ${integer(count)}`)
  .concat(line.failed.map((failed) => `no room for ${integer(failed.missing)} of ${failed.group}`)).join(", ") || "nothing to do";

function lastRows(label, heads) {
  const element = table(label, heads, [], "nothing yet"), body = element.querySelector("tbody");
  const rows = new Map();
  /// Puts rows on top; a row with a known key is replaced.
  const add = (entries) => {
    for (const [key, cells] of entries.slice(-kRows)) {
      if (!rows.size) body.replaceChildren();
      rows.get(key)?.remove();
      const row = make("tr", {}, cells.map((cell) => make("td", {}, cell ?? "")));
      rows.delete(key), rows.set(key, row);
      body.prepend(row);
    }
    for (const [key, row] of rows) {
      if (rows.size <= kRows) break;
      row.remove(), rows.delete(key);
    }
  };
  return { element, add, clear: () => { rows.clear(); body.replaceChildren(); } };
}

const jobEntry = ([namespace, id, type, status, wanted, running, starting, failed]) => [`${namespace}\n${id}`,
  [jobLink(id, namespace), type, pill(status), integer(wanted), integer(running), integer(starting), make("span", { class: failed ? "bad" : "" }, integer(failed))]];

// ---------------------------------------------------------------- the page

export function overview(go) {
  const sums = totals(), map = nodeMap(go), past = history(go), blocked = blockedJobs();
  const jobs = lastRows("Jobs that changed last", ["job", "type", "status", "wanted", "running", "starting", "failed or lost"]);
  const decisions = lastRows("Decisions", ["time", "job", "trigger", "decided", "µs"]), missed = make("small");
  const charts = Object.entries(kRates).map(([name, title]) => {
    const value = make("b"), canvas = make("canvas", { class: "rate", role: "img", "aria-label": title });
    return { name, value, canvas, element: make("figure", {}, make("figcaption", {}, title, " ", value), canvas) };
  });
  let decision = 0;
  const addDecisions = (lines) => decisions.add(lines.map((line) => [++decision, [new Date(line.at).toISOString().slice(11, 23), line.job ? jobLink(line.job, line.namespace) : "", line.trigger,
    make("span", { class: line.failed.length ? "bad" : "" }, outcome(line)), integer(line.us)]]));
  const drawRates = () => {
    for (const { name, value, canvas } of charts) {
      const points = live.rates[name] || [];
      value.textContent = points.length ? rounded(points[points.length - 1]) : "";
      drawRate(canvas, points, kPoints, rounded);
    }
  };
  const redraw = () => { map.draw(), past.draw(), drawRates(), sums.show(); };
  const take = {
    state(message) {
      jobs.clear(), decisions.clear();
      jobs.add(message.jobs.map(jobEntry)), addDecisions(message.decisions);
      sums.show();
    },
    nodes(message) {
      if (message.complete) redraw();
    },
    tick(message) {
      sums.show();
      if (!map.map.update(message.changed)) map.draw();
      past.draw(), drawRates();
      jobs.add(message.jobs.map(jobEntry)), addDecisions(message.decisions);
      missed.textContent = message.decisions_missed > 0 ? `${integer(message.decisions_missed)} more in the last half second` : "";
    },
  };
  const root = make("div", { class: "overview" }, sums.element, map.element, past.element, section("Blocked jobs", blocked.element),
    make("div", { class: "charts" }, charts.map((chart) => chart.element)),
    make("section", {}, make("h2", {}, "Jobs that changed last"), jobs.element), make("section", {}, make("h2", {}, "Decisions ", missed), decisions.element));
  return { title: "Overview", root, redraw, onMessage: (kind, message) => take[kind]?.(message), refresh: () => Promise.all([past.refresh(), blocked.refresh()]),
    onShow: () => { redraw(), jobs.add([...live.jobs.values()].map(jobEntry)), addDecisions(live.decisions); } };
}
