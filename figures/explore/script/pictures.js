// What is drawn: the plane, the line or the cobweb, time series, the section, the potential and the swept diagram.
const GRID = 80; // cells of the nullclines on each side
const ARROWS = 21; // on the longer side of the plot
const SAMPLES = 2001; // of a trajectory
const TOLERANCES = {rtol: 1e-10, atol: 1e-12}; // as of tests/figures/test_explore_numerics.py
const QUICK = {rtol: 1e-7, atol: 1e-9}; // of sections and sweeps
const SWEPT = 160; // parameter values of a diagram

function solverOptions(state, tolerances = TOLERANCES) {
  const far = BLOW_UP * Math.max(...state.box.map(([low, high]) => Math.max(abs(low), abs(high), high - low)));
  return {...tolerances, far, longest: MODEL.forced ? forcingPeriod(state) / 4 : Infinity};
}

// The trajectories of all starts: {start, forward, backward}; `backward` is null unless it is wanted, and for maps.
function trajectories(state) {
  const options = solverOptions(state);
  return state.starts.map(start => {
    if (MODEL.isMap) return {start, forward: orbit(field, state.values, 0, start, Math.round(state.horizon), options.far), backward: null};
    const run = length => trajectory(field, state.values, state.time, start, state.time + length, SAMPLES, options);
    return {start, forward: run(state.horizon), backward: state.backwards ? run(-state.horizon) : null};
  });
}

// The field in the plane of two components, with the others held.
function inPlane(state, at = state.at) {
  const [i, j] = state.axes, x = Float64Array.from(at), v = new Float64Array(SIZE);
  return (a, b, out) => {
    x[i] = a;
    x[j] = b;
    residual(MODEL, state.time, x, state.values, v);
    out[0] = v[i];
    out[1] = v[j];
  };
}

// Equilibria or fixed points in the window, from starts on a grid and from the ones that were found before.
function findEquilibria(state, before, side = {1: 101, 2: 11}[SIZE] ?? 5) {
  const [i, j] = state.axes, scale = state.box.map(([low, high]) => high - low), starts = before.map(one => one.x);
  const rows = SIZE === 1 ? 1 : side;
  const along = (k, c) => state.box[c][0] + scale[c] * (k + 0.5) / side;
  for (let a = 0; a < side; a++) {
    for (let b = 0; b < rows; b++) {
      const x = [...state.at];
      x[i] = along(a, i);
      if (SIZE > 1) x[j] = along(b, j);
      starts.push(x);
    }
  }
  for (let k = 1; SIZE > 2 && k <= 40; k++) {
    starts.push(state.box.map(([low], c) => low + scale[c] * halton(k, [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37][c])));
  }
  const shown = SIZE === 1 ? [i] : state.axes;
  const inside = x => shown.every(c => x[c] >= state.box[c][0] - 0.02 * scale[c] && x[c] <= state.box[c][1] + 0.02 * scale[c]);
  return equilibria(MODEL, state.time, state.values, starts, scale, inside);
}

function drawField(picture, plot, state, evaluate) {
  const [width, height] = plot.size, [[left, right], [bottom, top]] = state.axes.map(k => state.box[k]);
  const spacing = Math.max(width, height) / ARROWS, out = new Float64Array(2), arrows = [];
  const nx = Math.max(2, Math.round(width / spacing)), ny = Math.max(2, Math.round(height / spacing));
  const unitX = (right - left) / width, unitY = (top - bottom) / height; // of a pixel
  let fastest = 0;
  for (let a = 0; a < nx; a++) {
    for (let b = 0; b < ny; b++) {
      const x = left + (right - left) * (a + 0.5) / nx, y = bottom + (top - bottom) * (b + 0.5) / ny;
      evaluate(x, y, out);
      const [u, v] = [out[0] / unitX, out[1] / unitY], speed = Math.hypot(u, v);
      if (!(speed > 0 && speed < Infinity)) continue;
      fastest = Math.max(fastest, speed);
      arrows.push([x, y, u / speed, v / speed, speed]);
    }
  }
  const length = 0.62 * spacing, barb = 0.3 * length, shades = 5;
  const lines = Array.from({length: shades}, () => [[], []]);
  for (const [x, y, u, v, speed] of arrows) { // from tail to tip, and to one barb and over the tip to the other
    const [xs, ys] = lines[Math.min(Math.floor(shades * Math.sqrt(speed / fastest)), shades - 1)];
    const put = (a, b) => {
      xs.push(x + a * unitX);
      ys.push(y + b * unitY);
    };
    const [a, b, back] = [u * length / 2, v * length / 2, length / 2 - barb];
    put(-a, -b);
    put(a, b);
    put(u * back - 0.5 * v * barb, v * back + 0.5 * u * barb);
    put(a, b);
    put(u * back + 0.5 * v * barb, v * back - 0.5 * u * barb);
    put(NaN, NaN);
  }
  lines.forEach(([xs, ys], k) => picture.thin(xs, ys, COLORS.grey, 0.3 + 0.55 * (k + 0.5) / shades));
}

function drawNullclines(picture, state, evaluate) {
  const [xs, ys] = state.axes.map(k => linspace(...state.box[k], GRID + 1));
  onGrid(evaluate, xs, ys, 2).forEach((values, c) => {
    const {x0, y0, x1, y1} = zeroCurves(values, xs, ys, evaluate, c);
    const across = [], up = [];
    for (let k = 0; k < x0.length; k++) {
      across.push(x0[k], x1[k], NaN);
      up.push(y0[k], y1[k], NaN);
    }
    picture.thin(across, up, COLORS.components[c]);
  });
}

// Stable and unstable curves of saddles of a planar flow.
function drawSeparatrices(picture, state, found) {
  const options = {...solverOptions(state, QUICK), far: 3 * Math.max(...state.box.flat().map(abs))};
  for (const {x, J, kind, values} of found) {
    if (kind !== "saddle") continue;
    for (const [value] of values) {
      const vector = eigenvector(J, value);
      for (const side of [1e-4, -1e-4]) {
        const start = x.map((a, c) => a + side * vector[c] * (state.box[c][1] - state.box[c][0]));
        const end = state.time + Math.sign(value) * Math.max(state.horizon, 20 / abs(value));
        const curve = trajectory(field, state.values, state.time, start, end, 801, options);
        if (value > 0) picture.curve(...curve.x, COLORS.separatrix, 1.4);
        else picture.dashed(...curve.x, COLORS.separatrix);
      }
    }
  }
}

function markEquilibria(picture, found, place) {
  for (const one of found) picture.point(...place(one.x), MARKERS[one.kind]);
}

function markStarts(picture, state, place) {
  state.starts.forEach((start, k) => {
    const fill = k === state.selected ? COLORS.selected : COLORS.curve;
    picture.point(...place(start), {marker: "square", fill, line: "#ffffff"}, 12);
  });
}

// The plane of a flow or a map with two or more components.
function drawPlane(plot, state, runs, found) {
  const picture = new Picture(), [i, j] = state.axes, evaluate = inPlane(state);
  const frame = [...state.box[i], ...state.box[j]];
  plot.window = frame;
  if (state.field && !MODEL.isMap) drawField(picture, plot, state, evaluate);
  if (state.nullclines) drawNullclines(picture, state, evaluate);
  if (state.separatrices && SIZE === 2 && !MODEL.forced && !MODEL.isMap) drawSeparatrices(picture, state, found);
  runs.forEach(({forward, backward}, k) => {
    const selected = k === state.selected, color = selected ? COLORS.selected : COLORS.curve;
    if (MODEL.isMap) {
      forward.x[i].forEach((x, n) => picture.dot(turned(x, i, frame[0]), turned(forward.x[j][n], j, frame[2]), color));
      return;
    }
    for (const run of [forward, backward]) {
      if (run) copies(run.x[i], run.x[j], state.axes, frame, (x, y) => picture.curve(x, y, color, selected ? 2.2 : 1.4));
    }
  });
  markEquilibria(picture, found, x => [x[i], x[j]]);
  markStarts(picture, state, x => [x[i], x[j]]);
  plot.show(picture);
}

// The velocity of a flow on a line, with arrows on the axis.
function drawLine(plot, state, found) {
  const picture = new Picture(), xs = linspace(...state.box[0], 401), out = new Float64Array(1);
  const velocity = x => {
    residual(MODEL, state.time, [x], state.values, out);
    return out[0];
  };
  const ys = xs.map(velocity);
  plot.fit([[xs, ys], [xs, [0]]]);
  picture.curve(xs, ys, COLORS.dark);
  const [left, right, bottom, top] = plot.window, [width, height] = plot.size;
  picture.thin([left, right], [0, 0], COLORS.grey);
  for (let k = 0; k < 16; k++) {
    const x = left + (right - left) * (k + 0.5) / 16, side = Math.sign(velocity(x));
    const dx = side * 8 * (right - left) / width, dy = 5 * (top - bottom) / height;
    if (side) picture.thin([x - dx / 2, x + dx / 2, x - dx / 2], [dy, 0, -dy], COLORS.dark);
  }
  markEquilibria(picture, found, x => [x[0], 0]);
  markStarts(picture, state, x => [x[0], 0]);
  plot.show(picture);
  return velocity;
}

function drawPotential(plot, state, found, velocity) {
  const picture = new Picture(), xs = linspace(...state.box[0], 401), V = potential(velocity, xs);
  const at = x => V[Math.round(Math.min(Math.max((x - xs[0]) / (xs[400] - xs[0]), 0), 1) * 400)];
  plot.fit([[xs, V]]);
  picture.curve(xs, V, COLORS.dark);
  markEquilibria(picture, found, x => [x[0], at(x[0])]);
  for (const start of state.starts) picture.point(start[0], at(start[0]), {marker: "square", fill: COLORS.curve, line: "#ffffff"}, 9);
  plot.show(picture);
}

// The graph of a map of one component with the orbits as cobwebs.
function drawCobweb(plot, state, runs, found) {
  const picture = new Picture(), [low, high] = state.box[0], xs = linspace(low, high, 601), out = new Float64Array(1);
  plot.window = [low, high, low, high];
  const image = x => {
    field(0, [x], state.values, out);
    return turned(out[0], 0, low);
  };
  picture.curve([low, high], [low, high], COLORS.grey, 1.2);
  picture.curve(xs, xs.map(image), COLORS.dark);
  runs.forEach(({forward}, k) => {
    const [a, b] = [[], []], values = forward.x[0];
    for (let n = 0; n + 1 < values.length; n++) {
      a.push(values[n], values[n]);
      b.push(n ? values[n] : low, values[n + 1]);
    }
    picture.curve(a, b, k === state.selected ? COLORS.selected : COLORS.curve, 1.2);
  });
  markEquilibria(picture, found, x => [x[0], x[0]]);
  markStarts(picture, state, x => [x[0], low + 0.02 * (high - low)]);
  plot.show(picture);
}

// Components of the selected trajectory against time.
function drawSeries(plot, state, runs) {
  const picture = new Picture(), run = runs[state.selected];
  const parts = run ? [run.backward, run.forward].filter(Boolean) : [], curves = [];
  for (const part of parts) {
    part.x.forEach((x, c) => {
      if (!isSeries(state, c)) return;
      const color = COLORS.components[orderOf(state, c)];
      curves.push([part.t, x]);
      picture.curve(part.t, x, color, MODEL.isMap ? 1 : 1.8);
      if (MODEL.isMap) x.forEach((value, k) => picture.point(part.t[k], value, {marker: "circle", fill: color, line: color}, 3));
    });
  }
  plot.fit(curves);
  plot.show(picture);
}

// Whether a component is drawn against time.
function isSeries(state, c) {
  return state.series < 0 ? orderOf(state, c) < COLORS.components.length : state.series === c;
}

// The place of a component among the colours: those of the plane come first.
function orderOf(state, c) {
  const others = MODEL.names.map((_, k) => k).filter(k => !state.axes.includes(k));
  return [...new Set(state.axes), ...others].indexOf(c);
}

// The stroboscopic section of a forced flow, part by part.
function* drawSection(plot, state) {
  const picture = new Picture(), [i, j] = SIZE > 1 ? state.axes : [0, 0], period = forcingPeriod(state);
  const frame = [...state.box[i], ...state.box[j]], options = solverOptions(state, QUICK);
  let x = state.starts[state.selected] ?? state.at;
  plot.window = frame;
  plot.show(picture);
  for (let k = 0; k < 1200 && period < Infinity; k++) {
    let end = null;
    integrate(field, state.values, state.time + k * period, x, state.time + (k + 1) * period, options, step => {
      end = Array.from(step.next);
      return false;
    });
    if (!end || !end.every(Number.isFinite)) break;
    x = end;
    if (k >= 50) picture.dot(turned(x[i], i, frame[0]), turned(x[j], j, frame[2]), COLORS.selected);
    if (k % 60 === 59) plot.show(picture);
    yield;
  }
  plot.show(picture);
}

// What long trajectories do at each value of a parameter, upwards and downwards, and the equilibria, part by part.
function* drawDiagram(plot, state) {
  const picture = new Picture(), component = state.axes[0], [low, high] = state.ranges[state.swept];
  const values = [...state.values], options = solverOptions(state, QUICK), period = forcingPeriod(state);
  const first = state.starts[state.selected] ?? state.at;
  let x = first, before = [];
  plot.window = [low, high, ...state.box[component]];
  for (let n = 0; n < 2 * SWEPT; n++) { // each value twice, so that both branches of a hysteresis are seen
    values[state.swept] = low + (high - low) * (n < SWEPT ? n : 2 * SWEPT - 1 - n) / (SWEPT - 1);
    const now = {...state, values}, put = value => picture.dot(values[state.swept], turned(value, component, state.box[component][0]), COLORS.selected);
    if (!MODEL.forced && n < SWEPT) {
      before = findEquilibria(now, before, SIZE === 1 ? 41 : 5);
      for (const one of before) picture.dot(values[state.swept], one.x[component], COLORS.kinds[one.kind]);
    }
    if (!x.every(Number.isFinite)) x = first;
    if (MODEL.isMap) {
      const run = orbit(field, values, 0, x, 500, options.far);
      if (run.end === "finished") run.x[component].slice(380).forEach(put);
      x = run.end === "finished" ? run.x.map(one => one[500]) : first;
    } else if (MODEL.forced) {
      const length = MODEL.parameters[state.swept].name === state.forcing.by ? forcingPeriod(now) : period;
      const run = stroboscopic(field, values, x, length, 24, 40, {...options, longest: length / 4});
      if (run[0].length === 24) run[component].forEach(put);
      x = run[0].length === 24 ? run.map(one => one[23]) : first;
    } else {
      const settled = extrema(field, values, 0, x, 2 * state.horizon, component, options).end;
      const {found, end} = extrema(field, values, 0, settled, state.horizon, component, options);
      found.forEach(put);
      x = Array.from(end, (a, c) => a + 1e-6 * (state.box[c][1] - state.box[c][0])); // off an equilibrium that loses stability
    }
    if (n % 12 === 11) plot.show(picture);
    yield;
  }
  plot.show(picture);
}
