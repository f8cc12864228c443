"use strict";
const byId = (id) => document.getElementById(id);
const kStatus = 3, kEligible = 4, kDraining = 8, kGone = 16, kDown = 2, kDisconnected = 3;
const kPoints = 240, kDecisions = 200, kCell = 12;
const view = { nodes: new Map(), order: [], jobs: new Map(), rates: {}, decisions: 0, drawn: 0, errors: [], messages: 0 };
addEventListener("error", (event) => view.errors.push(String(event.message)));
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const number = (value) => (value >= 100 ? Math.round(value).toLocaleString("en") : String(Math.round(value * 10) / 10));

function text(parent, tag, value, className) {
  const child = document.createElement(tag);
  child.textContent = value;
  if (className) child.className = className;
  parent.append(child);
  return child;
}

// ---------------------------------------------------------------- the map of nodes

function mix(from, to, share) {
  const part = (hex, at) => parseInt(hex.slice(1 + 2 * at, 3 + 2 * at), 16);
  const full = (hex) => (hex.length === 4 ? "#" + [...hex.slice(1)].map((digit) => digit + digit).join("") : hex);
  const [a, b] = [full(from), full(to)];
  return "rgb(" + [0, 1, 2].map((at) => Math.round(part(a, at) + (part(b, at) - part(a, at)) * share)).join(",") + ")";
}

function nodeColour(node, colours) {
  const [, bits] = node;
  if ((bits & kStatus) === kDown) return colours.down;
  if ((bits & kStatus) === kDisconnected) return colours.lost;
  if (bits & kDraining) return colours.drain;
  if (!(bits & kEligible)) return colours.off;
  return colours.scale[Math.round(node[Number(byId("measure").value)] / 50)];
}

function layOut() {
  const nodes = [...view.nodes.values()].filter((node) => !(node[1] & kGone));
  nodes.sort((a, b) => a[6].localeCompare(b[6]) || a[5].localeCompare(b[5], "en", { numeric: true }));
  view.order = nodes;
}

function drawMap() {
  const canvas = byId("map"), width = Math.max(canvas.parentElement.clientWidth - 18, kCell);
  const columns = Math.max(1, Math.floor(width / kCell)), rows = Math.ceil(view.order.length / columns);
  const scale = devicePixelRatio || 1;
  canvas.style.height = rows * kCell + "px";
  canvas.width = width * scale, canvas.height = Math.max(rows * kCell, 1) * scale;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  const [empty, full] = [colour("--empty"), colour("--full")];
  const colours = { down: colour("--down"), lost: colour("--lost"), drain: colour("--drain"), off: colour("--off"),
    scale: Array.from({ length: 21 }, (_, step) => mix(empty, full, step / 20)) };
  view.order.forEach((node, at) => {
    context.fillStyle = nodeColour(node, colours);
    context.fillRect((at % columns) * kCell, Math.floor(at / columns) * kCell, kCell - 2, kCell - 2);
  });
  view.drawn = view.order.length, view.columns = columns;
}

let mapDue = false;
function redrawMap() {
  if (mapDue) return;
  mapDue = true;
  setTimeout(() => { mapDue = false; drawMap(); }, 0);
}

function nodeAt(event) {
  const at = Math.floor(event.offsetX / kCell) + view.columns * Math.floor(event.offsetY / kCell);
  return event.offsetX < view.columns * kCell ? view.order[at] : undefined;
}

byId("map").addEventListener("mousemove", (event) => {
  const node = nodeAt(event);
  byId("map").title = node ? `${node[5]} (${node[6]}): cpu ${node[2] / 10} %, memory ${node[3] / 10} %` : "";
});
byId("map").addEventListener("click", async (event) => {
  const node = nodeAt(event);
  if (!node) return;
  const [whole, allocs] = await Promise.all([`/v1/node/${node[4]}`, `/v1/node/${node[4]}/allocations`].map(
    (path) => fetch(path).then((answer) => answer.json())));
  const lines = [`${whole.Name}  ${whole.ID}`, `${whole.Status}, ${whole.SchedulingEligibility}, pool ${whole.NodePool}, ` +
    `class ${whole.NodeClass || "none"}, ${whole.Datacenter}`, ""];
  for (const alloc of allocs.slice(0, 50)) lines.push(`${alloc.Name}  ${alloc.DesiredStatus}  ${alloc.ClientStatus}`);
  if (allocs.length > 50) lines.push(`and ${allocs.length - 50} more`);
  for (const event_ of (whole.Events || []).slice(-5)) lines.push(`${event_.Timestamp}  ${event_.Message}`);
  byId("detail").hidden = false;
  byId("detail").textContent = lines.join("\n");
});
byId("measure").addEventListener("change", redrawMap);
addEventListener("resize", redrawMap);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { redrawMap(); drawSparks(); });

// ---------------------------------------------------------------- counts, rates, tables

function showCounts(counts) {
  const shown = [["nodes", counts.nodes.all], ["ready", counts.nodes.ready], ["draining", counts.nodes.draining],
    ["down", counts.nodes.down], ["jobs", counts.jobs], ["not dead", counts.live_jobs], ["running", counts.allocs.running],
    ["pending", counts.allocs.pending], ["complete", counts.allocs.complete], ["failed", counts.allocs.failed],
    ["lost", counts.allocs.lost], ["unknown", counts.allocs.unknown], ["queued evaluations", counts.evals_ready],
    ["blocked evaluations", counts.evals_blocked]];
  const parent = byId("counts");
  if (parent.children.length !== shown.length) {
    parent.replaceChildren();
    for (const [name] of shown) {
      const card = text(parent, "div", "");
      text(card, "b", "");
      text(card, "span", name);
    }
  }
  shown.forEach(([, value], at) => { parent.children[at].firstChild.textContent = value.toLocaleString("en"); });
  byId("index").textContent = counts.index;
}

function drawSparks() {
  for (const canvas of document.querySelectorAll(".spark")) {
    const points = view.rates[canvas.dataset.of] || [], scale = devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = width * scale, canvas.height = height * scale;
    const context = canvas.getContext("2d"), most = Math.max(...points, 1e-9);
    context.scale(scale, scale);
    context.strokeStyle = colour("--accent"), context.lineWidth = 1.5;
    context.beginPath();
    points.forEach((value, at) => {
      const x = (at / (kPoints - 1)) * width, y = height - 2 - (value / most) * (height - 6);
      if (at === 0) context.moveTo(x, y); else context.lineTo(x, y);
    });
    context.stroke();
  }
}

function showRates(rates, latency) {
  for (const [name, value] of [...Object.entries(rates), ["p99_us", latency.p99_us || 0]]) {
    const points = (view.rates[name] = view.rates[name] || []);
    points.push(value);
    if (points.length > kPoints) points.shift();
    if (byId(name)) byId(name).textContent = number(value);
  }
  drawSparks();
}

function showJobs(jobs) {
  const body = byId("jobs").tBodies[0];
  for (const job of jobs) {
    const key = job[0] + "\n" + job[1];
    const row = view.jobs.get(key) || document.createElement("tr");
    view.jobs.set(key, row);
    row.replaceChildren();
    text(row, "td", job[0] === "default" ? job[1] : `${job[1]} (${job[0]})`);
    for (const value of job.slice(2, 7)) text(row, "td", value);
    text(row, "td", job[7], job[7] > 0 ? "bad" : "");
    body.prepend(row);
  }
  while (body.rows.length > 200) {
    for (const [key, row] of view.jobs) if (row === body.lastChild) view.jobs.delete(key);
    body.lastChild.remove();
  }
  byId("jobs-note").textContent = "those that changed last come first";
}

function decided(line) {
  const parts = [];
  for (const [key, word] of [["placed", "placed"], ["stopped", "stopped"], ["preempted", "evicted"], ["refused", "refused by the applier"]])
    if (line[key] > 0) parts.push(`${word} ${line[key]}`);
  for (const failed of line.failed) parts.push(`no room for ${failed.missing} of ${failed.group}`);
  return parts.join(", ") || "nothing to do";
}

function showDecisions(lines, missed) {
  const body = byId("decisions").tBodies[0];
  for (const line of lines) {
    const row = document.createElement("tr");
    text(row, "td", new Date(line.at).toISOString().slice(11, 23));
    text(row, "td", line.namespace === "default" ? line.job : `${line.job || ""} (${line.namespace || ""})`);
    text(row, "td", line.trigger);
    text(row, "td", decided(line), line.failed.length ? "bad" : "");
    text(row, "td", line.us);
    body.prepend(row);
    ++view.decisions;
  }
  while (body.rows.length > kDecisions) body.lastChild.remove();
  if (missed > 0) byId("decisions-note").textContent = `${missed} more in the last half second`;
  else if (lines.length) byId("decisions-note").textContent = "";
}

// ---------------------------------------------------------------- the stream

function showTime(message) {
  byId("now").textContent = new Date(message.now).toISOString().replace("T", " ").slice(0, 23);
  byId("speed").textContent = message.speed;
  for (const button of byId("speeds").children) button.setAttribute("aria-pressed", button.value === message.speed);
}

const take = {
  state(message) {
    view.nodes.clear(), view.jobs.clear();
    byId("jobs").tBodies[0].replaceChildren(), byId("decisions").tBodies[0].replaceChildren();
    view.limit = message.nodes_drawn;
    showTime(message), showCounts(message.counts), showJobs(message.jobs), showDecisions(message.decisions, 0);
  },
  nodes(message) {
    for (const node of message.nodes) view.nodes.set(node[0], node);
    if (!message.complete) return;
    layOut(), redrawMap();
    byId("map-note").textContent = view.nodes.size >= view.limit ? `the first ${view.limit}` : "";
  },
  tick(message) {
    showTime(message), showCounts(message.counts), showRates(message.rates, message.latency);
    showJobs(message.jobs), showDecisions(message.decisions, message.decisions_missed);
    let unknown = false;
    for (const change of message.nodes) {
      const node = view.nodes.get(change[0]);
      if (!node) { unknown = true; continue; }
      const gone = (node[1] ^ change[1]) & kGone;
      node[1] = change[1], node[2] = change[2], node[3] = change[3];
      if (gone) layOut();
    }
    if (message.nodes.length) redrawMap();
    if (unknown) connect();  // a node that is new: everything once more
  },
};

let source;
function connect() {
  if (source) source.close();
  source = new EventSource("/v1/berth/live");
  source.onopen = () => { byId("connection").textContent = "live"; byId("connection").className = "pill live"; };
  source.onerror = () => { byId("connection").textContent = "no connection"; byId("connection").className = "pill"; };
  source.onmessage = (event) => {
    const message = JSON.parse(event.data);
    take[message.kind](message);
    ++view.messages;
  };
}

for (const speed of ["step", "1", "10", "100", "max"]) {
  const button = text(byId("speeds"), "button", speed === "step" ? "pause" : speed === "max" ? "max" : speed + "×");
  button.value = speed;
  button.addEventListener("click", () => fetch("/v1/berth/speed", { method: "PUT", body: JSON.stringify({ Speed: speed }) }));
}
connect();

// ---------------------------------------------------------------- for the test

function check() {
  const pixels = (canvas) => {
    if (!canvas.width || !canvas.height) return 0;
    const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const seen = new Set();
    for (let at = 0; at < data.length; at += 4) if (data[at + 3]) seen.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
    return seen.size;
  };
  const blank = [...document.querySelectorAll(".spark")].filter((canvas) => pixels(canvas) === 0).length;
  byId("check").textContent = `check: nodes ${view.drawn}; colours ${pixels(byId("map"))}; jobs ${byId("jobs").tBodies[0].rows.length}; ` +
    `decisions ${view.decisions}; messages ${view.messages}; blank charts ${blank}; ` +
    `width ${document.documentElement.scrollWidth} of ${innerWidth}; errors: ${view.errors.join(", ") || "none"}`;
}
if (location.hash === "#check") {  // keeps the page loading for a while, so that a browser without a head looks at it then
  const hold = new Image();
  hold.src = "/v1/jobs?index=999999999&wait=4s";
  hold.hidden = true;
  setTimeout(check, 3500);
  document.body.append(hold);
}
