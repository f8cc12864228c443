// The timeline: deployments as bars, faults and changes of nodes as signs, over virtual time.
import { palette, prepare } from "./canvas.js";
import { address, duration, time } from "./dom.js";

/// Kinds of marks: the row, colour and sign of each, and what it says.
const kMarks = {
  partition: ["faults", "vermillion", "cross", "cut off"], heal: ["faults", "good", "ring", "connected again"],
  kill: ["faults", "vermillion", "cross", "client stopped"], restart: ["faults", "blue", "ring", "client restarted"],
  slow: ["faults", "orange", "ring", "reports delayed"], lose: ["faults", "vermillion", "cross", "removed"],
  leader: ["faults", "purple", "diamond", "leader changed"], join: ["nodes", "good", "diamond", "joined"],
  down: ["nodes", "vermillion", "down", "down"], disconnected: ["nodes", "yellow", "diamond", "disconnected"],
  ready: ["nodes", "good", "up", "ready"], ineligible: ["nodes", "purple", "down", "ineligible"],
  eligible: ["nodes", "good", "up", "eligible"], drain: ["drains", "orange", "down", "drain began"],
  drained: ["drains", "good", "up", "drain ended"],
};
const kRows = ["faults", "nodes", "drains"];
const kBars = { running: "sky", pending: "sky", initializing: "sky", blocked: "orange", paused: "orange", successful: "good", failed: "vermillion",
  cancelled: "purple", unblocking: "orange" };
const kSteps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 2 * 86400, 7 * 86400, 30 * 86400, 90 * 86400, 365 * 86400];
const kLeft = 84, kRow = 20, kLane = 15, kLanesMost = 12, kAxis = 22, kRight = 10;
export const kRanges = { "10 minutes": 600, "1 hour": 3600, "6 hours": 21600, "1 day": 86400, "1 week": 604800, all: 0 };

export const markText = (mark) => {
  const what = (kMarks[mark.kind] || [])[3] || mark.kind;
  if (!mark.node) return mark.count > 1 ? `${what} ${mark.count} times` : what;
  return mark.count > 1 ? `${mark.count} nodes: ${what} (the first: ${mark.node})` : `${mark.node}: ${what}`;
};

const startOf = (deployment) => deployment.CreateTime / 1e6;
const isOver = (deployment) => ["successful", "failed", "cancelled"].includes(deployment.Status);
const endOf = (deployment, now) => (isOver(deployment) ? Math.max((deployment.ModifyTime || deployment.CreateTime) / 1e6, startOf(deployment)) : now);

export class Timeline {
  /// `open(address)` is called for a click, `tip(text)` with what is under the pointer.
  constructor(canvas, open, tip) {
    this.canvas = canvas, this.hits = [], this.range = "all";
    const hit = (event) => this.hits.find(([x, y, width, height]) =>
      event.offsetX >= x && event.offsetX <= x + width && event.offsetY >= y && event.offsetY <= y + height);
    canvas.addEventListener("mousemove", (event) => {
      const found = hit(event);
      canvas.style.cursor = found && found[5] ? "pointer" : "default";
      tip(found ? found[4] : "");
    });
    canvas.addEventListener("click", (event) => {
      const found = hit(event);
      if (found && found[5]) open(found[5]);
    });
  }

  draw(deployments, marks, now) {
    const seconds = kRanges[this.range];
    const shownMarks = marks.filter((mark) => !seconds || mark.until >= now - seconds * 1000);
    const shown = deployments.filter((one) => startOf(one) <= now && (!seconds || endOf(one, now) >= now - seconds * 1000));
    const first = Math.min(now - 60_000, ...shownMarks.map((mark) => mark.at), ...shown.map(startOf));
    const from = seconds ? now - seconds * 1000 : first - (now - first) * 0.02, to = now;
    const lanes = this.assign(shown, from, now);
    const laneCount = Math.max(1, ...lanes.map((lane) => lane + 1));
    const width = this.canvas.parentElement.clientWidth - 18, height = kAxis + kRows.length * kRow + laneCount * kLane + 8;
    const context = prepare(this.canvas, width, height), colours = palette();
    this.x = (at) => kLeft + ((at - from) / (to - from)) * (width - kLeft - kRight);
    this.hits = [];
    this.drawAxis(context, colours, from, to, width, height);
    shown.forEach((deployment, at) => {
      if (lanes[at] >= 0) this.drawBar(context, colours, deployment, lanes[at], now);
    });
    for (const mark of shownMarks) this.drawMark(context, colours, mark);
    const hidden = lanes.filter((lane) => lane < 0).length;
    return `deployments: ${shown.length - hidden}${hidden ? ` (${hidden} more at the same time are not drawn)` : ""}; faults and changes of nodes: ${shownMarks.length}`;
  }

  /// Gives each deployment the first lane that is free at its time; -1: all are taken.
  assign(deployments, from, now) {
    const order = deployments.map((_, at) => at).sort((a, b) => startOf(deployments[a]) - startOf(deployments[b]));
    const free = [], out = new Array(deployments.length).fill(-1), gap = (now - from) / 150;
    for (const at of order) {
      let lane = free.findIndex((until) => until <= startOf(deployments[at]));
      if (lane < 0) lane = free.length;
      if (lane >= kLanesMost) continue;
      free[lane] = endOf(deployments[at], now) + gap;
      out[at] = lane;
    }
    return out;
  }

  drawAxis(context, colours, from, to, width, height) {
    const span = (to - from) / 1000, room = Math.max(2, Math.floor((width - kLeft) / 84));
    const step = (kSteps.find((one) => span / one <= room) || kSteps[kSteps.length - 1]) * 1000;
    context.strokeStyle = colours.line, context.fillStyle = colours.soft, context.lineWidth = 1;
    context.textBaseline = "middle", context.textAlign = "center";
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const x = Math.round(this.x(at)) + 0.5, iso = new Date(at).toISOString();
      context.beginPath(), context.moveTo(x, kAxis - 4), context.lineTo(x, height), context.stroke();
      const text = step >= 86_400_000 ? iso.slice(0, 10) : span > 86_400 ? iso.slice(5, 16).replace("T", " ") : iso.slice(11, step < 60_000 ? 19 : 16);
      if (x > kLeft + 16 && x < width - 24) context.fillText(text, x, kAxis / 2 - 1);
    }
    context.textAlign = "left";
    kRows.forEach((name, row) => context.fillText(name, 0, kAxis + row * kRow + kRow / 2));
    context.fillText("deployments", 0, kAxis + kRows.length * kRow + kLane / 2 + 4);
    for (let row = 0; row <= kRows.length; ++row) {
      const y = kAxis + row * kRow + 0.5;
      context.beginPath(), context.moveTo(0, y), context.lineTo(width, y), context.stroke();
    }
  }

  drawBar(context, colours, deployment, lane, now) {
    const x = Math.max(kLeft, this.x(startOf(deployment))), end = this.x(endOf(deployment, now));
    const y = kAxis + kRows.length * kRow + lane * kLane + 5, width = Math.max(3, end - x), height = kLane - 3;
    context.fillStyle = colours[kBars[deployment.Status] || "sky"];
    context.fillRect(x, y, width, height);
    if (deployment.Status === "failed") {  // hatched: visible without colours
      context.save(), context.beginPath(), context.rect(x, y, width, height), context.clip();
      context.strokeStyle = "#000", context.lineWidth = 1, context.beginPath();
      for (let at = x - height; at < x + width; at += 5) context.moveTo(at, y + height), context.lineTo(at + height, y);
      context.stroke(), context.restore();
    }
    const label = deployment.JobID;
    if (width > 24) {
      context.save(), context.beginPath(), context.rect(x, y, width - 3, height), context.clip();
      context.fillStyle = "#000", context.textAlign = "left", context.textBaseline = "middle";
      context.fillText(label, x + 4, y + height / 2 + 0.5);
      context.restore();
    }
    const took = duration((endOf(deployment, now) - startOf(deployment)) / 1000);
    this.hits.push([x, y, width, height, `${label}, version ${deployment.JobVersion}: ${deployment.Status} (${took}), ${deployment.StatusDescription}`,
      address.deployment(deployment.ID)]);
  }

  drawMark(context, colours, mark) {
    const [row, colour, sign] = kMarks[mark.kind] || ["faults", "ink", "diamond"];
    const x = this.x(mark.at), y = kAxis + kRows.indexOf(row) * kRow + kRow / 2, r = 5;
    if (x < kLeft - r) return;
    context.fillStyle = context.strokeStyle = colours[colour];
    context.lineWidth = 2;
    context.beginPath();
    if (sign === "cross") context.moveTo(x - r + 1, y - r + 1), context.lineTo(x + r - 1, y + r - 1), context.moveTo(x + r - 1, y - r + 1), context.lineTo(x - r + 1, y + r - 1);
    if (sign === "ring") context.arc(x, y, r - 1, 0, 2 * Math.PI);
    if (sign === "cross" || sign === "ring") context.stroke();
    if (sign === "down") context.moveTo(x - r, y - r + 1), context.lineTo(x + r, y - r + 1), context.lineTo(x, y + r - 1);
    if (sign === "up") context.moveTo(x - r, y + r - 1), context.lineTo(x + r, y + r - 1), context.lineTo(x, y - r + 1);
    if (sign === "diamond") context.moveTo(x, y - r), context.lineTo(x + r, y), context.lineTo(x, y + r), context.lineTo(x - r, y);
    if (sign !== "cross" && sign !== "ring") context.closePath(), context.fill();
    this.hits.unshift([x - r - 1, y - r - 1, 2 * r + 2, 2 * r + 2, `${time(mark.at * 1e6)}: ${markText(mark)}`, mark.id ? address.node(mark.id) : ""]);
  }
}
