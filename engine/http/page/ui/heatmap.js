// The map of nodes: one cell per node, its colour the share of a resource in use. States that matter have a colour and a
// sign. Cells shrink until all nodes fit; a message redraws only the cells that it changes.
import { live, kStatus, kEligible, kDraining, kDown, kDisconnected } from "./live.js";
import { mix, palette, prepare } from "./canvas.js";

export const kMeasures = { cpu: 2, memory: 3, disk: 4 };
export const kGroups = { datacenter: 8, "node class": 9, "node pool": 10 };
const kHeightMost = 440, kCellMost = 26, kCellLeast = 4, kLabel = 18, kGroupsMost = 30, kSteps = 20;

export function stateOf(node) {
  const status = node[1] & kStatus;
  if (status === kDown) return "down";
  if (status === kDisconnected) return "disconnected";
  if (node[1] & kDraining) return "draining";
  if (!(node[1] & kEligible)) return "ineligible";
  return status === 1 ? "ready" : "initializing";
}

export const describe = (node) =>
  `${node[7]}: ${stateOf(node)}, ${node[8]}${node[9] ? ", class " + node[9] : ""}, cpu ${node[2] / 10} %, ` +
  `memory ${node[3] / 10} %, disk ${node[4] / 10} %, ${node[5]} allocations`;

export class HeatMap {
  /// `open(node)` is called for a click and for Enter, `chosen(node)` when another cell is under the pointer or cursor.
  constructor(canvas, open, chosen) {
    this.canvas = canvas, this.measure = "cpu", this.group = "datacenter", this.text = "";
    this.cells = [], this.at = new Map(), this.cursor = -1;
    canvas.addEventListener("mousemove", (event) => this.choose(this.cellAt(event), chosen));
    canvas.addEventListener("mouseleave", () => this.choose(-1, chosen));
    canvas.addEventListener("click", (event) => {
      const cell = this.cellAt(event);
      if (cell >= 0) open(this.cells[cell].node);
    });
    canvas.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns };
      if (event.key === "Enter" && this.cursor >= 0) return open(this.cells[this.cursor].node);
      if (!(event.key in steps) && event.key !== "Home" && event.key !== "End") return;
      event.preventDefault();
      const last = this.cells.length - 1;
      const to = event.key === "Home" ? 0 : event.key === "End" ? last : this.cursor < 0 ? 0 : this.cursor + steps[event.key];
      this.choose(Math.max(0, Math.min(last, to)), chosen);
    });
  }

  choose(cell, chosen) {
    if (cell === this.cursor) return;
    const before = this.cursor;
    this.cursor = cell;
    for (const one of [before, cell]) if (one >= 0 && one < this.cells.length) this.drawCell(this.cells[one], one);
    chosen(cell >= 0 && cell < this.cells.length ? this.cells[cell].node : null);
  }

  cellAt(event) {
    const column = Math.floor(event.offsetX / this.size);
    for (const part of this.parts || []) {
      const row = Math.floor((event.offsetY - part.top) / this.size);
      if (event.offsetY < part.top || row >= part.rows || column >= this.columns) continue;
      const cell = part.first + row * this.columns + column;
      return cell < part.first + part.count ? cell : -1;
    }
    return -1;
  }

  /// Orders all nodes and draws them. Called when nodes came or went, and when the settings or the width changed.
  layOut() {
    const text = this.text.toLowerCase();
    this.passes = (node) => !text || node.slice(6, 11).some((field) => field.toLowerCase().includes(text)) || stateOf(node).startsWith(text);
    const nodes = [...live.nodes.values()].filter(this.passes);
    const collator = new Intl.Collator("en", { numeric: true }), field = kGroups[this.group];
    const key = field ? (node) => node[field] : () => "";
    nodes.sort((a, b) => collator.compare(key(a), key(b)) || collator.compare(a[7], b[7]));
    const groups = [];
    for (const node of nodes) {
      const last = groups[groups.length - 1];
      if (!last || last.name !== key(node)) groups.push({ name: key(node), count: 0 });
      ++groups[groups.length - 1].count;
    }
    const parts = field && groups.length <= kGroupsMost ? groups : [{ name: "", count: nodes.length }];
    const width = Math.max(this.canvas.parentElement.clientWidth - 18, 60), label = field && parts.length === groups.length ? kLabel : 0;
    const height = (size) => parts.reduce((sum, part) => sum + label + Math.ceil(part.count / Math.floor(width / size)) * size, 0);
    this.size = kCellMost;
    while (this.size > kCellLeast && height(this.size) > kHeightMost) --this.size;
    this.columns = Math.floor(width / this.size);
    this.context = prepare(this.canvas, width, Math.max(height(this.size), 20));
    this.readColours();
    let top = 0, first = 0;
    this.parts = parts.map((part) => {
      top += label;
      const out = { ...part, first, top, rows: Math.ceil(part.count / this.columns) };
      if (label) {
        this.context.fillStyle = this.colours.soft;
        this.context.fillText(`${part.name || "none"} (${part.count})`, 0, top - 6);
      }
      top += out.rows * this.size, first += part.count;
      return out;
    });
    this.cells = [];
    for (const part of this.parts)
      for (let at = 0; at < part.count; ++at)
        this.cells.push({ node: nodes[part.first + at], x: (at % this.columns) * this.size, y: part.top + Math.floor(at / this.columns) * this.size });
    this.at = new Map(this.cells.map((cell, at) => [cell.node[0], at]));
    if (this.cursor >= this.cells.length) this.cursor = -1;
    this.cells.forEach((cell, at) => this.drawCell(cell, at));
  }

  readColours() {
    this.colours = palette();
    this.scale = Array.from({ length: kSteps + 1 }, (_, step) => mix(this.colours.empty, this.colours.full, step / kSteps));
  }

  /// Redraws these nodes. False: a node needs a cell that it does not have, or the reverse, so layOut() is needed.
  update(nodes) {
    let complete = true;
    for (const node of nodes) {
      const cell = this.at.get(node[0]), isShown = live.nodes.has(node[0]) && this.passes(node);
      if (isShown !== (cell !== undefined)) complete = false;
      if (!isShown || cell === undefined) continue;
      this.cells[cell].node = node;
      this.drawCell(this.cells[cell], cell);
    }
    return complete;
  }

  drawCell({ node, x, y }, cell) {
    const context = this.context, colours = this.colours, gap = this.size > 6 ? 2 : 1, side = this.size - gap;
    const state = stateOf(node);
    const fills = { down: colours.vermillion, disconnected: colours.yellow, draining: colours.orange, ineligible: colours.purple };
    context.fillStyle = colours.ground;
    context.fillRect(x, y, this.size, this.size);
    context.fillStyle = fills[state] || this.scale[Math.round((node[kMeasures[this.measure]] * kSteps) / 1000)];
    context.fillRect(x, y, side, side);
    if (fills[state] && side >= 5) drawSign(context, state, x, y, side);
    if (cell !== this.cursor) return;
    context.strokeStyle = colours.ink, context.lineWidth = 2;
    context.strokeRect(x + 1, y + 1, Math.max(side - 2, 1), Math.max(side - 2, 1));
  }
}

/// The sign of a state, which is visible without colours: a cross, a ring, an arrow down, a bar.
export function drawSign(context, state, x, y, side) {
  const low = side * 0.22, high = side - low, middle = side / 2;
  context.save(), context.translate(x, y);
  context.strokeStyle = "#000", context.lineWidth = Math.max(1, side / 9);
  context.beginPath();
  if (state === "down") context.moveTo(low, low), context.lineTo(high, high), context.moveTo(high, low), context.lineTo(low, high);
  if (state === "disconnected") context.arc(middle, middle, side * 0.26, 0, 2 * Math.PI);
  if (state === "draining") context.moveTo(middle, low), context.lineTo(middle, high), context.moveTo(low, middle), context.lineTo(middle, high), context.lineTo(high, middle);
  if (state === "ineligible") context.moveTo(low, middle), context.lineTo(high, middle);
  context.stroke(), context.restore();
}

/// The legend: the scale, and each state with its sign.
export function legend(canvas) {
  const kNarrow = 480, width = canvas.parentElement.clientWidth, isNarrow = width < kNarrow;
  const context = prepare(canvas, width, isNarrow ? 38 : 18), colours = palette();
  context.textBaseline = "middle";
  let x = 0, y = 0;
  const word = (text) => {
    context.fillStyle = colours.soft;
    context.fillText(text, x, y + 9);
    x += context.measureText(text).width + 12;
  };
  for (let step = 0; step <= 10; ++step) {
    context.fillStyle = mix(colours.empty, colours.full, step / 10);
    context.fillRect(x + step * 8, 3, 8, 12);
  }
  x += 94;
  word("0 to 100 % in use");
  if (isNarrow) x = 0, y = 20;
  for (const [state, name] of [["draining", "orange"], ["ineligible", "purple"], ["disconnected", "yellow"], ["down", "vermillion"]]) {
    context.fillStyle = colours[name];
    context.fillRect(x, y + 2, 13, 13);
    drawSign(context, state, x, y + 2, 13);
    x += 17;
    word(state);
  }
}
