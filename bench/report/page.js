// Draws the report: the data of #data (report/document.h) into headings, tables and charts. Texts go into the page through
// textContent only, so a name in a file cannot become markup. The hash may say #dark, #light and #check (for tests).
"use strict";
(() => {
  const errors = [];
  addEventListener("error", (event) => errors.push(event.message));
  const doc = JSON.parse(document.getElementById("data").textContent);
  const charts = [];

  // ---------------------------------------------------------------- small parts
  const el = (tag, attributes = {}, ...children) => {
    const out = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value) out.setAttribute(name, value);
    out.append(...children.filter((child) => child !== null));  // strings become text nodes
    return out;
  };
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const seriesColor = (index) => color("s" + (index % 16));
  // From the ninth series on, lines are also broken in a way of their own.
  const seriesDash = (index) => [[], [2, 3], [10, 3], [10, 3, 2, 3]][Math.floor(index / 8) % 4];

  const digits = (value) => {
    const size = Math.abs(value);
    if (size >= 999.5) return Math.round(value).toLocaleString("en-US");
    return String(Number(value.toPrecision(3)));
  };
  const shown = (value, unit) => {
    if (value === null || !Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    if (unit === "s") return size > 0 && size < 0.9995 ? shown(value * 1e9, "ns") : digits(value) + " s";
    if (unit === "ns") {
      if (size < 999.5) return digits(value) + " ns";
      if (size < 999.5e3) return digits(value / 1e3) + " us";
      return size < 999.5e6 ? digits(value / 1e6) + " ms" : digits(value / 1e9) + " s";
    }
    if (unit === "bytes") return size < 2 ** 20 ? digits(value / 1024) + " KiB"
        : size < 2 ** 30 ? digits(value / 2 ** 20) + " MiB" : digits(value / 2 ** 30) + " GiB";
    if (unit === "/s" || unit === "x") return digits(value) + unit;
    return unit ? digits(value) + " " + unit : digits(value);
  };
  const percentileName = (x) => {  // x = 1 / (1 - p)
    const percent = 100 - 100 / x;
    const places = percent < 99 ? 1 : Math.max(1, Math.ceil(Math.log10(x)) - 2);
    return Number(percent.toFixed(places)) + " %";
  };
  const onAxis = (axis, value) => (axis.percentile ? percentileName(value) : shown(value, axis.unit));

  // ---------------------------------------------------------------- tables
  // The order of a cell: numbers by size whatever their unit, then texts, then what is empty.
  const factors = {ns: 1, us: 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30};
  const sortKey = (text) => {
    if (/^[-–]?$/.test(text)) return [2, 0];
    const [all, number, unit] = /^[~<≤≥]?\s*([-+–]?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*([a-zA-Z]*)/.exec(text) ?? [];
    return all ? [0, Number(number.replace(/,/g, "").replace("–", "-")) * (factors[unit] ?? 1)] : [1, text.toLowerCase()];
  };
  // A click on a column's title, or Enter or the space bar there, sorts by it; again the other way round.
  const sortable = (title, column, body) => {
    const button = el("button", {type: "button", class: "sort"}, ...title.childNodes);
    title.append(button);
    button.addEventListener("click", () => {
      const down = title.getAttribute("aria-sort") === "ascending";
      for (const other of title.parentNode.children) other.removeAttribute("aria-sort");
      title.setAttribute("aria-sort", down ? "descending" : "ascending");
      const lines = [...body.children].map((line) => [sortKey(line.children[column]?.textContent ?? ""), line]);
      const less = (a, b) => (a[0] !== b[0] ? a[0] - b[0] : (a[0] === 2 || a[1] === b[1] ? 0 : a[1] < b[1] ? -1 : 1) * (down ? -1 : 1));
      body.append(...lines.sort((a, b) => less(a[0], b[0])).map(([, line]) => line));
    });
  };
  const table = (head, rows, words) => {
    const parts = (cell) => (Array.isArray(cell) ? cell : [cell, ""]);
    // Text columns are left-aligned, number columns right-aligned.
    const side = head.map((_, i) => {
      const texts = rows.map((row) => parts(row[i] ?? "")[0]).filter((text) => text !== "" && text !== "-");
      return texts.filter((text) => !/^[-+–<]?[\d.]/.test(text)).length > texts.length / 2 ? "left" : "";
    });
    const body = el("tbody");
    for (const row of rows) {
      const line = el("tr");
      row.forEach((cell, i) => {
        const [text, tone] = parts(cell);
        line.append(el("td", {class: `${tone} ${side[i]}`.trim(), "data-head": head[i]}, text));
      });
      body.append(line);
    }
    const top = el("tr");
    const pairs = head.length === 2 && rows.length > 4 && !words;  // names and values: side by side where there is room
    head.forEach((text, i) => {
      const title = el("th", {scope: "col", class: side[i]}, text);
      if (!pairs && rows.length > 1) sortable(title, i, body);
      top.append(title);
    });
    return el("div", {class: "scroll", tabindex: "0"},
      el("table", {class: [words ? "words" : "", pairs ? "pairs" : "", head.length > 3 ? "stack" : ""].join(" ").trim()}, el("thead", {}, top), body));
  };
  const folded = (title, ...content) => el("details", {}, el("summary", {}, title), ...content);

  const tableCard = (t) => {
    const card = el("div", {class: "card wide"});
    const words = t.rows.some((row) => row.some((cell) => (Array.isArray(cell) ? cell[0] : cell).length > 60));
    const content = table(t.head, t.rows, words);
    if (t.filter && t.rows.length > 5) {  // rows with all typed words
      const box = el("input", {type: "search", placeholder: "filter rows", "aria-label": "filter rows of " + t.title});
      box.addEventListener("input", () => {
        const wanted = box.value.toLowerCase().split(/\s+/);
        for (const row of content.querySelectorAll("tbody tr"))
          row.hidden = !wanted.every((word) => row.textContent.toLowerCase().includes(word));
      });
      content.prepend(box);
    }
    if (t.folded) card.append(folded(t.title + " (" + t.rows.length + ")", content));
    else card.append(...(t.title ? [el("h3", {}, t.title)] : []), content);
    if (t.note) card.append(el("p", {class: "note"}, t.note));
    return card;
  };

  // The numbers of a chart as a table, for those who cannot see it. Long series are thinned evenly.
  const numbers = (c) => {
    const most = 40;
    if (c.kind === "heat") {
      const width = c.heat[0]?.length ?? 0, step = Math.max(1, Math.ceil(width / 12));
      const at = [...Array(width).keys()].filter((i) => i % step === 0);
      const place = (i, n, range) => range[0] + (i / n) * (range[1] - range[0]);
      const head = [c.y.title + " from \\ " + c.x.title,
        ...at.map((i) => shown(c.columns[i] ?? place(i, width, c.x_range), c.x.unit))];
      const rows = c.heat.map((row, r) => [shown(place(r, c.heat.length, c.y_range), c.y.unit),
        ...at.map((i) => shown(row[i] ?? null, c.heat_unit))]);
      return table(head, rows.reverse());
    }
    if (c.kind === "bars") {
      const value = (p) => shown(p[1], c.x.unit) + (p.length > 2 ? ` (${shown(p[2], c.x.unit)} to ${shown(p[3], c.x.unit)})` : "");
      const rows = c.categories.map((name, i) =>
        [name, ...c.series.map((s) => { const p = s.points.find((q) => q[0] === i); return p ? value(p) : "–"; })]);
      return table(["", ...c.series.map((s) => s.name)], rows);
    }
    const xs = [...new Set(c.series.flatMap((s) => s.points.map((p) => p[0])))].sort((a, b) => a - b);
    const step = Math.max(1, Math.ceil(xs.length / most));
    const kept = xs.filter((_, i) => i % step === 0 || i === xs.length - 1);
    const maps = c.series.map((s) => new Map(s.points.map((p) => [p[0], p[1]])));
    return table([c.x.title, ...c.series.map((s) => s.name)],
      kept.map((x) => [onAxis(c.x, x), ...maps.map((m) => (m.has(x) ? shown(m.get(x), c.y.unit) : "–"))]));
  };

  // Nested frames as boxes, the root on top, as wide as their weight; what is too narrow to see is left out.
  const flameCard = (flame) => {
    const root = {name: "", weight: 0, children: new Map()};
    for (const [stack, weight] of flame.stacks) {
      let at = root;
      root.weight += weight;
      for (const name of stack.split(";")) {
        if (!at.children.has(name)) at.children.set(name, {name, weight: 0, children: new Map()});
        at = at.children.get(name);
        at.weight += weight;
      }
    }
    const share = (weight) => (100 * weight / root.weight).toPrecision(3) + " %";
    const box = (node, depth) => {
      const title = `${node.name}: ${share(node.weight)}`;
      const children = [...node.children.values()].sort((a, b) => b.weight - a.weight)
        .filter((child) => child.weight >= root.weight / 1000).map((child) => {
          const inner = box(child, depth + 1);
          inner.style.width = 100 * child.weight / node.weight + "%";
          return inner;
        });
      const bar = el("span", {title, class: "frame f" + depth % 4}, node.name);
      return el("div", {class: "flame"}, bar, el("div", {class: "frames"}, ...children));
    };
    const top = el("div", {class: "frames"}, ...[...root.children.values()].sort((a, b) => b.weight - a.weight).map((node) => {
      const inner = box(node, 0);
      inner.style.width = 100 * node.weight / root.weight + "%";
      return inner;
    }));
    const rows = [...flame.stacks].sort((a, b) => b[1] - a[1]).slice(0, 40).map(([stack, weight]) => [stack, share(weight)]);
    return el("div", {class: "card wide"}, el("h3", {}, flame.title), el("p", {class: "about"}, flame.about), top,
      folded("Numbers", table(["frames, from the root", "share"], rows, true)));
  };

  // ---------------------------------------------------------------- charts
  const axisOptions = (axis, extra = {}) => ({
    type: axis.log || axis.percentile ? "logarithmic" : "linear",
    title: {display: axis.title !== "", text: axis.title, color: color("soft")},
    grid: {color: color("grid"), borderColor: color("line"), tickColor: color("grid")},
    ticks: {
      color: color("soft"), maxRotation: 0, autoSkipPadding: 12, includeBounds: false,
      callback(value) {
        if (axis.unit === "s" && Math.abs(value) < 1e-3 * this.max) value = 0;
        if (axis.log && !axis.percentile && axis.unit !== "bytes" && Math.abs(Math.log10(value) % 1) > 1e-9) return "";  // powers of ten only
        return onAxis(axis, value);
      },
    },
    ...(axis.percentile ? {afterBuildTicks: (scale) => {
      scale.ticks = [2, 10, 100, 1000, 1e4, 1e5, 1e6].filter((v) => v <= scale.max).map((value) => ({value}));
    }} : {}),
    ...(axis.log && axis.unit === "bytes" ? {afterBuildTicks: (scale) => {
      scale.ticks = [...Array(64).keys()].map((i) => 2 ** i).filter((v, i) => i % 3 === 0 && v >= scale.min && v <= scale.max)
        .map((value) => ({value}));
    }} : {}),
    ...(axis.max !== null ? {suggestedMax: axis.max} : {}),
    ...extra,
  });

  // A share ends at 100 %, unless something is beyond.
  const percentEnd = (axis, values) => {
    const most = Math.max(0, ...values.filter(Number.isFinite));
    return axis.unit === "%" && !axis.log && most <= 100 && (axis.max === 100 || most > 50) ? {max: 100, grace: 0} : {};
  };

  // Error bars of bar charts: low and high of each point.
  const errorBars = {
    id: "errorBars",
    afterDatasetsDraw(chart) {
      const {ctx} = chart;
      const {left, right, top, bottom} = chart.chartArea;
      ctx.save();
      ctx.beginPath();
      ctx.rect(left, top, right - left, bottom - top);
      ctx.clip();
      ctx.strokeStyle = color("text");
      ctx.lineWidth = 1.25;
      chart.data.datasets.forEach((dataset, i) => {
        if (!chart.isDatasetVisible(i)) return;
        chart.getDatasetMeta(i).data.forEach((bar, k) => {
          const range = dataset.ranges?.[k];
          if (!range) return;
          const [from, to] = range.map((value) => chart.scales.x.getPixelForValue(value));
          ctx.beginPath();
          for (const x of [from, to]) ctx.moveTo(x, bar.y - 4), ctx.lineTo(x, bar.y + 4);
          ctx.moveTo(from, bar.y), ctx.lineTo(to, bar.y);
          ctx.stroke();
        });
      });
      ctx.restore();
    },
  };

  // What happened meanwhile: a line where it began, a band while it lasted, its name where there is room. Of many things
  // only the main ones; the others are ticks at the upper edge.
  const eventMarks = (c) => ({
    id: "eventMarks",
    beforeDatasetsDraw(chart) {
      const {ctx, chartArea: area, scales: {x}} = chart;
      const place = (value) => Math.min(area.right, Math.max(area.left, x.getPixelForValue(value)));
      ctx.save();
      ctx.strokeStyle = ctx.fillStyle = color("s1");
      ctx.font = "10px " + Chart.defaults.font.family;
      ctx.textBaseline = "top";
      let free = area.left;
      const ticks = c.marks.some((mark) => !mark[3]) ? 7 : 0;
      for (const [from, until, name, main] of c.marks) {
        const at = place(from);
        if (!main) {
          ctx.globalAlpha = 0.6;
          ctx.fillRect(at, area.top, 1, ticks - 1);
          continue;
        }
        ctx.globalAlpha = 0.12;
        if (until !== null) ctx.fillRect(at, area.top, Math.max(1, place(until) - at), area.bottom - area.top);
        ctx.globalAlpha = 0.6;
        ctx.fillRect(at, area.top, 1, area.bottom - area.top);
        const width = ctx.measureText(name).width;
        if (at < free || at + width + 3 > area.right) continue;
        ctx.globalAlpha = 1;
        ctx.fillStyle = color("soft");
        ctx.fillText(name, at + 3, area.top + ticks);
        ctx.fillStyle = color("s1");
        free = at + width + 8;
      }
      ctx.restore();
    },
  });

  const mixed = (share) => {  // along --heat0, --heat1, --heat2
    const stops = ["heat0", "heat1", "heat2"].map((name) => color(name).match(/\w\w/g).map((hex) => parseInt(hex, 16)));
    const [a, b] = share < 0.5 ? [stops[0], stops[1]] : [stops[1], stops[2]];
    const t = share < 0.5 ? share * 2 : share * 2 - 1;
    return `rgb(${a.map((from, i) => Math.round(from + (b[i] - from) * t)).join(",")})`;
  };

  // A heat map: cells drawn between the grid and the (invisible) points that carry the tooltips.
  const heatCells = (c, high) => ({
    id: "heatCells",
    beforeDatasetsDraw(chart) {
      const {ctx, chartArea: area} = chart;
      const palette = [...Array(64).keys()].map((i) => mixed(i / 63));
      const rows = c.heat.length, width = c.heat[0].length;
      const edge = (i, n, from, to) => Math.round(from + (i / n) * (to - from));
      c.heat.forEach((row, r) => row.forEach((value, k) => {
        if (value === null) return;
        const x = edge(k, width, area.left, area.right), y = edge(r + 1, rows, area.bottom, area.top);
        ctx.fillStyle = palette[Math.round(63 * Math.min(1, Math.max(0, value / high)))];
        ctx.fillRect(x, y, edge(k + 1, width, area.left, area.right) - x, edge(r, rows, area.bottom, area.top) - y);
      }));
    },
  });

  const heatConfig = (c) => {
    const high = c.heat_unit === "%" && c.heat_what.includes("use") ? 100 : Math.max(1e-9, ...c.heat.flat().filter((v) => v !== null));
    const rows = c.heat.length, width = c.heat[0].length;
    const xAt = (column) => c.columns.length
      ? c.columns[Math.min(c.columns.length - 1, Math.max(0, Math.round(column)))]
      : c.x_range[0] + (column / width) * (c.x_range[1] - c.x_range[0]);
    const yAt = (row) => c.y_range[0] + (row / rows) * (c.y_range[1] - c.y_range[0]);
    const points = c.heat.flatMap((row, r) => row.map((value, k) => ({x: k + 0.5, y: r + 0.5, value})));
    const scale = (axis, most, at) => axisOptions(axis, {type: "linear", min: 0, max: most, grid: {display: false},
      ticks: {color: color("soft"), maxRotation: 0, autoSkipPadding: 16, includeBounds: false,
        callback: (value) => onAxis(axis, Math.abs(at(value)) < 1e-3 * Math.abs(at(most)) ? 0 : at(value))}});
    return {
      high,
      type: "scatter",
      data: {datasets: [{label: c.heat_what, data: points, pointRadius: 0, pointHitRadius: 0, pointHoverRadius: 0}]},
      plugins: [heatCells(c, high)],
      options: {
        interaction: {mode: "nearest", intersect: false},
        scales: {x: scale(c.x, width, xAt), y: scale(c.y, rows, yAt)},
        plugins: {legend: {display: false}, tooltip: {displayColors: false, callbacks: {label: ({raw}) =>
          `${c.heat_what}: ${shown(raw.value, c.heat_unit)} (${c.x.title} ${onAxis(c.x, xAt(raw.x - 0.5))}, ` +
          `${c.y.title} ${onAxis(c.y, yAt(raw.y - 0.5))})`}}},
      },
    };
  };

  // The axis of a bar chart reaches to the ends of the error bars, unless these dwarf the bars.
  const reach = (c) => {
    const all = c.series.flatMap((s) => s.points);
    const most = 3 * Math.max(...all.map((p) => Math.abs(p[1])));
    const ends = all.filter((p) => p.length > 2);
    return ends.length === 0 ? {} : {suggestedMax: Math.min(most, Math.max(...ends.map((p) => p[3]))),
      ...(Math.min(...ends.map((p) => p[2])) < 0 && all.some((p) => p[1] < 0) ?
        {suggestedMin: Math.max(-most, Math.min(...ends.map((p) => p[2])))} : {})};
  };

  const barConfig = (c) => ({
    type: "bar",
    data: {
      labels: c.categories,
      datasets: c.series.map((s, i) => ({
        label: s.name,
        data: c.categories.map((_, k) => s.points.find((p) => p[0] === k)?.[1] ?? null),
        ranges: c.categories.map((_, k) => s.points.find((p) => p[0] === k)?.slice(2, 4)).map((r) => (r?.length ? r : null)),
        backgroundColor: seriesColor(s.color >= 0 ? s.color : i),
        borderRadius: 2, maxBarThickness: 26, stack: c.stacked ? "all" : undefined,
      })),
    },
    plugins: [errorBars],
    options: {
      indexAxis: "y",
      scales: {
        x: axisOptions(c.x, {stacked: c.stacked, ...(c.x.log ? {} : {grace: "5%"}), ...reach(c),
          ...(c.stacked ? {} : percentEnd(c.x, c.series.flatMap((s) => s.points.flatMap((p) => p.slice(1)))))}),
        y: {stacked: c.stacked, grid: {display: false, borderColor: color("line")}, title: {display: c.y.title !== "", text: c.y.title, color: color("soft")},
          ticks: {color: color("text"), autoSkip: false, callback(value) {
            const lines = this.getLabelForValue(value).match(/.{1,26}(?:\s|$)|\S{26}/g) ?? [""];  // of words, two at most
            return lines.length > 2 ? [lines[0], lines[1].slice(0, 25) + "…"] : lines;
          }}},
      },
      plugins: {legend: {display: c.series.length > 1}, tooltip: {callbacks: {label: (item) => {
        const range = item.dataset.ranges[item.dataIndex];
        return `${item.dataset.label}: ${shown(item.parsed.x, c.x.unit)}` +
          (range ? ` (${shown(range[0], c.x.unit)} to ${shown(range[1], c.x.unit)})` : "");
      }}}},
    },
  });

  const lineConfig = (c) => ({
    type: c.kind === "points" ? "scatter" : "line",
    data: {datasets: c.series.map((s, i) => {
      const own = seriesColor(s.color >= 0 ? s.color : i);
      return {label: s.name, data: s.points.map((p) => ({x: p[0], y: p[1]})), borderColor: own, backgroundColor: own,
        borderWidth: 2, borderDash: s.dashed ? [6, 4] : seriesDash(s.color >= 0 ? s.color : i), spanGaps: false,
        pointRadius: c.kind === "points" ? 6 : s.points.length === 1 ? 4 : 0, pointHitRadius: 8};
    })},
    plugins: c.marks.length ? [eventMarks(c)] : [],
    options: {
      interaction: c.kind === "points" ? {mode: "nearest", intersect: false} : {mode: "nearest", axis: "x", intersect: false},
      scales: {x: axisOptions(c.x, c.kind === "points" ? {grace: "5%"} : {max: Math.max(...c.series.flatMap((s) => s.points.map((p) => p[0]))), ...(["s", "/s"].includes(c.x.unit) && !c.x.log ? {min: 0} : {})}),
        y: axisOptions(c.y, c.y.log ? {} : {beginAtZero: true, ...percentEnd(c.y, c.series.flatMap((s) => s.points.map((p) => p[1])))})},
      plugins: {legend: {display: c.series.length > 1}, tooltip: {callbacks: {
        title: (items) => (items.length && c.kind === "line" ? c.x.title + " " + onAxis(c.x, items[0].parsed.x) : ""),
        label: (item) => `${item.dataset.label}: ` + (c.kind === "points" ? `${c.x.title} ${shown(item.parsed.x, c.x.unit)}, ${c.y.title} ` : "") +
          shown(item.parsed.y, c.y.unit)}}},
    },
  });

  const draw = (entry) => {
    entry.chart?.destroy();
    const c = entry.data;
    const config = c.kind === "heat" ? heatConfig(c) : c.kind === "bars" ? barConfig(c) : lineConfig(c);
    Object.assign(config.options, {responsive: true, maintainAspectRatio: false, animation: false});
    config.options.plugins.legend.labels = {color: color("text"), boxWidth: 14, boxHeight: 3,
      filter: ({text}) => !text.endsWith(", published")};  // dashed, in the colour of its strategy
    if (c.kind !== "line") config.options.plugins.legend.labels.boxHeight = 10;
    entry.chart = new Chart(entry.canvas, config);
    if (entry.scale) entry.scale.replaceChildren(shown(0, c.heat_unit), el("i"), shown(config.high, c.heat_unit), " " + c.heat_what);
  };

  const chartCard = (c) => {
    const canvas = el("canvas", {role: "img", "aria-label": c.title + ". " + c.about});
    const plot = el("div", {class: "plot"}, canvas);
    if (c.kind === "bars") {  // as high as its bars need
      const bars = c.categories.length * (c.stacked ? 1 : Math.max(1, c.series.length));
      plot.style.height = Math.max(9, 6 + bars * (c.series.length > 1 && !c.stacked ? 1.1 : 1.9)) + "rem";
    }
    const scale = c.kind === "heat" ? el("div", {class: "scale"}) : null;
    const card = el("figure", {class: "card"}, el("h3", {}, c.title), el("p", {class: "about"}, c.about), plot,
      scale, folded("Numbers", numbers(c)));
    card.style.margin = 0;
    charts.push({data: c, canvas, scale});
    return card;
  };

  // ---------------------------------------------------------------- the page
  const report = document.getElementById("report"), contents = document.getElementById("contents");
  document.getElementById("title").textContent = doc.title;
  doc.sections.forEach((section, i) => {
    const [verdict, tone] = Array.isArray(section.verdict) ? section.verdict : [section.verdict, ""];
    const out = el("section", {id: "section-" + i});
    out.append(el("div", {class: "heading"}, doc.sections.length > 1 ? el("h2", {}, section.title) : null,
      verdict ? el("span", {class: "verdict " + tone}, verdict) : null, el("span", {class: "file"}, section.file)));
    const facts = el("dl");
    for (const [name, value] of section.facts) facts.append(el("div", {}, el("dt", {}, name), el("dd", {}, value)));
    const cards = el("div", {class: "cards"});
    const flame = section.flame.stacks.length ? [flameCard(section.flame)] : [];
    const tables = section.tables.filter((t) => t.rows.length);
    cards.append(...tables.filter((t) => !t.folded).map(tableCard), ...section.charts.map(chartCard), ...flame,
      ...tables.filter((t) => t.folded).map(tableCard));
    for (const [title, text] of section.texts) cards.append(el("div", {class: "card wide"}, folded(title, el("pre", {tabindex: "0"}, text))));
    out.append(facts, cards);
    report.append(out);
    if (doc.sections.length > 1) contents.append(el("a", {href: "#section-" + i}, section.title));
  });

  const button = document.getElementById("theme"), root = document.documentElement;
  const wishes = location.hash.slice(1).split(",");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const theme = (name) => {
    root.dataset.theme = name;
    button.textContent = name === "dark" ? "Light" : "Dark";
    charts.forEach(draw);
  };
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 12;
  theme(wishes.includes("dark") || (system.matches && !wishes.includes("light")) ? "dark" : "light");
  button.addEventListener("click", () => theme(root.dataset.theme === "dark" ? "light" : "dark"));
  system.addEventListener("change", (event) => theme(event.matches ? "dark" : "light"));
  if (!wishes.includes("check")) return;

  // For tests: whether every chart has coloured pixels in its area, whether the page fits its width, and what failed.
  const drawn = ({chart, canvas, data: {kind}}) => {
    const {left, top, width, height} = chart.chartArea, ratio = chart.currentDevicePixelRatio;
    const {data} = canvas.getContext("2d").getImageData(left * ratio, top * ratio, width * ratio, height * ratio);
    let coloured = 0;  // grid lines are grey; a heat map has none, and cells of any colour
    for (let i = 0; i < data.length; i += 4)
      coloured += data[i + 3] > 100 && (kind === "heat" ||
        Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 40);
    return coloured >= 20;
  };
  requestAnimationFrame(() => setTimeout(() => {
    const blank = charts.filter((entry) => !drawn(entry)).map((entry) => entry.data.title);
    const said = `charts ${charts.length - blank.length} of ${charts.length}; ` +
      `blank: ${blank.join(", ") || "none"}; width ${root.scrollWidth} of ${innerWidth}; ` +
      `theme ${root.dataset.theme}; errors: ${errors.join(" | ") || "none"}`;
    document.getElementById("check").textContent = said;
    if (parent !== window) parent.postMessage(said, "*");  // shown in a frame of a phone's width
  }));
})();
