// Plots of Bokeh and what is drawn into them. A layer is a table of columns; a picture fills the layers of a plot.
const COLORS = PAGE.colors;
const MARKERS = {
  stable: {marker: "circle", fill: COLORS.dark, line: COLORS.dark, sign: "●"},
  unstable: {marker: "circle", fill: "#ffffff", line: COLORS.dark, sign: "○"},
  saddle: {marker: "diamond", fill: COLORS.grey, line: COLORS.dark, sign: "◆"},
  undecided: {marker: "triangle", fill: COLORS.undecided, line: COLORS.dark, sign: "▲"},
};

class Picture {
  constructor() {
    this.layers = {};
    for (const [name, columns] of Object.entries(PAGE.layers)) {
      this.layers[name] = Object.fromEntries(columns.map(column => [column, []]));
    }
  }

  // Thin lines of one colour, with NaN between them: one entry is drawn faster than many.
  thin(xs, ys, color, alpha = 1) {
    if (xs.length) this.add("thin", {xs, ys, color, alpha});
  }

  curve(xs, ys, color, width = 2) {
    if (xs.length) this.add("curves", {xs, ys, color, width});
  }

  dashed(xs, ys, color) {
    if (xs.length) this.add("dashed", {xs, ys, color});
  }

  dot(x, y, color) {
    this.add("dots", {x, y, color});
  }

  point(x, y, {fill, line, marker}, size = 11) {
    this.add("points", {x, y, fill, line, marker, size});
  }

  add(layer, row) {
    for (const [column, value] of Object.entries(row)) this.layers[layer][column].push(value);
  }
}

// One plot: its ranges, its labels and its layers, by the public models of Bokeh.
class Plot {
  constructor(document) {
    this.model = document.roots()[0];
    this.sources = Object.fromEntries(Object.keys(PAGE.layers).map(name => [name, document.get_model_by_name(name)]));
    this.filled = {};
  }

  // Pixels inside of the axes.
  get size() {
    return [this.model.inner_width || 400, this.model.inner_height || 300];
  }

  get window() {
    const {x_range: x, y_range: y} = this.model;
    return [x.start, x.end, y.start, y.end];
  }

  set window([left, right, bottom, top]) {
    const now = this.window;
    if ([left, right, bottom, top].some((end, k) => end !== now[k])) {
      this.model.x_range.setv({start: left, end: right});
      this.model.y_range.setv({start: bottom, end: top});
    }
  }

  label(x, y) {
    this.model.below[0].axis_label = x;
    this.model.left[0].axis_label = y;
  }

  show(picture) {
    for (const [name, columns] of Object.entries(picture.layers)) {
      const count = Object.values(columns)[0].length;
      if (count || this.filled[name]) { // of copies, because a table that it knows is no change to Bokeh
        this.sources[name].data = Object.fromEntries(Object.entries(columns).map(([key, values]) => [key, values.slice()]));
      }
      this.filled[name] = count;
    }
    this.picture = picture;
  }

  // A window that holds the curves of a picture, with a margin.
  fit(curves) {
    let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const [xs, ys] of curves) {
      for (let k = 0; k < xs.length; k++) {
        if (!Number.isFinite(ys[k])) continue;
        if (xs[k] < left) left = xs[k];
        if (xs[k] > right) right = xs[k];
        if (ys[k] < bottom) bottom = ys[k];
        if (ys[k] > top) top = ys[k];
      }
    }
    if (!(right > left)) [left, right] = Number.isFinite(left) ? [left - 1, left + 1] : [0, 1];
    if (!(top >= bottom)) [bottom, top] = [0, 1];
    const margin = Math.max(0.04 * (top - bottom), 1e-9 * Math.max(abs(top), abs(bottom)), 1e-12);
    const unit = 10 ** Math.floor(Math.log10(top - bottom + 2 * margin)) / 5; // so that ends change rarely
    this.window = [left, right, Math.floor((bottom - margin) / unit) * unit, Math.ceil((top + margin) / unit) * unit];
  }
}

// Add a copy of a curve for each turn of an angle by which it comes into the window.
function copies(x, y, [i, j], [left, right, bottom, top], add) {
  const turns = (values, period, low, high) => {
    if (!period) return [0];
    let [least, most] = [Infinity, -Infinity];
    for (const value of values) [least, most] = [Math.min(least, value), Math.max(most, value)];
    const first = Math.ceil((low - most) / period), last = Math.floor((high - least) / period);
    return Array.from({length: Math.min(Math.max(last - first + 1, 0), 24)}, (_, k) => (first + k) * period);
  };
  for (const a of turns(x, MODEL.periods[i], left, right)) {
    for (const b of turns(y, MODEL.periods[j], bottom, top)) {
      add(a ? x.map(value => value + a) : x, b ? y.map(value => value + b) : y);
    }
  }
}

// A value of a component in the period that begins at the lower end of the window.
function turned(value, component, low) {
  const period = MODEL.periods[component];
  return period ? value - Math.floor((value - low) / period) * period : value;
}
