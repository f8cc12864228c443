// What every drawing needs: a canvas of sharp pixels, colours of the present theme, axes.

const kNames = ["ground", "ink", "soft", "line", "empty", "full", "good", "orange", "sky", "yellow", "blue", "vermillion", "purple"];

/// Colours of style.css by name, read again at each drawing, as the theme may have changed.
export function palette() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(kNames.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
}

/// Sizes the canvas to `width` x `height` CSS pixels and returns its cleared context.
export function prepare(canvas, width, height) {
  const scale = devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = Math.max(1, Math.round(width * scale)), canvas.height = Math.max(1, Math.round(height * scale));
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.font = "11px system-ui, sans-serif";
  return context;
}

/// Mixes two colours "#rrggbb"; share 0 is `from`.
export function mix(from, to, share) {
  const part = (hex, at) => parseInt(hex.slice(1 + 2 * at, 3 + 2 * at), 16);
  return `rgb(${[0, 1, 2].map((at) => Math.round(part(from, at) + (part(to, at) - part(from, at)) * share)).join(",")})`;
}

/// The least of 1, 2, 5, 10, 20, ... that is not less than `value`.
export function niceCeiling(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((nice) => nice >= value * 0.999999) || 10 * power;
}

/// A line over the last two minutes of real time, with axes. `points`: two a second, the newest last.
export function drawRate(canvas, points, pointsMost, text) {
  const width = canvas.parentElement.clientWidth - 18, height = 110, left = 44, right = 6, top = 8, bottom = 18;
  const context = prepare(canvas, width, height), colours = palette();
  const most = niceCeiling(Math.max(...points, 1)), inner = width - left - right, depth = height - top - bottom;
  context.strokeStyle = colours.line, context.fillStyle = colours.soft, context.lineWidth = 1;
  context.textAlign = "right", context.textBaseline = "middle";
  for (const share of [0, 0.5, 1]) {
    const y = Math.round(top + depth * (1 - share)) + 0.5;
    context.beginPath(), context.moveTo(left, y), context.lineTo(width - right, y), context.stroke();
    context.fillText(text(most * share), left - 5, y);
  }
  context.textBaseline = "top";
  for (const seconds of [120, 60, 0]) {
    const x = left + inner * (1 - seconds / 120);
    context.textAlign = seconds === 120 ? "left" : seconds === 0 ? "right" : "center";
    context.fillText(seconds ? `−${seconds} s` : "now", x, height - bottom + 5);
  }
  context.strokeStyle = colours.blue, context.lineWidth = 1.5;
  context.beginPath();
  points.forEach((value, at) => {
    const x = left + inner * ((pointsMost - points.length + at) / (pointsMost - 1)), y = top + depth * (1 - value / most);
    if (at === 0) context.moveTo(x, y); else context.lineTo(x, y);
  });
  context.stroke();
}
