// Numerical methods of the page: an adaptive solver, Newton's method, contour lines, and sweeps.
const MAX_STEPS = 200000; // of one trajectory
const BLOW_UP = 1e3; // a trajectory ends this many windows away

// The method of Dormand and Prince of order 5 with its dense output: E. Hairer, S. P. Norsett and G. Wanner, Solving
// Ordinary Differential Equations I, section II.5 and DOPRI5.
const DP_NODES = [0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1];
const DP_ROWS = [
  [],
  [1 / 5],
  [3 / 40, 9 / 40],
  [44 / 45, -56 / 15, 32 / 9],
  [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
  [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
  [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
];
const DP_ERRORS = [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40];
const DP_DENSE = [-12715105075 / 11282082432, 0, 87487479700 / 32700410799, -10690763975 / 1880347072,
                  701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423];

// Integrate x' = f(t, x, p) from t0 to t1 > t0 or < t0. After each step `onStep(step)` sees {t, h, x, next, first, last,
// at(theta, out)} and may return true to stop. The answer is finished, stopped, steps, escaped or singular.
function integrate(f, p, t0, x0, t1, {rtol = 1e-9, atol = 1e-11, longest = Infinity, far = Infinity} = {}, onStep) {
  const n = x0.length, direction = Math.sign(t1 - t0) || 1;
  const k = Array.from({length: 7}, () => new Float64Array(n));
  let x = Float64Array.from(x0), next = new Float64Array(n), t = t0;
  f(t, x, p, k[0]);
  const dense = Array.from({length: 5}, () => new Float64Array(n));
  let prepared = false;
  const step = {
    at(theta, out) {
      if (!prepared) {
        for (let i = 0; i < n; i++) {
          const difference = next[i] - x[i], bend = step.h * k[0][i] - difference;
          dense[0][i] = x[i];
          dense[1][i] = difference;
          dense[2][i] = bend;
          dense[3][i] = difference - step.h * k[6][i] - bend;
          dense[4][i] = step.h * DP_DENSE.reduce((sum, d, j) => sum + d * k[j][i], 0);
        }
        prepared = true;
      }
      const rest = 1 - theta;
      for (let i = 0; i < n; i++) {
        out[i] = dense[0][i] + theta * (dense[1][i] + rest * (dense[2][i] + theta * (dense[3][i] + rest * dense[4][i])));
      }
    },
  };
  let h = firstStep(f, p, t, x, k[0], direction, rtol, atol, Math.min(longest, abs(t1 - t0)));
  let rejected = false, lastError = 1e-4;
  for (let count = 0; count < MAX_STEPS; count++) {
    h = Math.min(h, longest);
    const remaining = abs(t1 - t), isLast = h >= remaining * (1 - 1e-12);
    const signed = direction * (isLast ? remaining : h);
    if (remaining === 0) return "finished";
    if (t + signed === t) return "singular";
    for (let s = 1; s < 7; s++) {
      const row = DP_ROWS[s];
      for (let i = 0; i < n; i++) {
        let sum = 0;
        for (let j = 0; j < s; j++) sum += row[j] * k[j][i];
        next[i] = x[i] + signed * sum;
      }
      f(t + DP_NODES[s] * signed, next, p, k[s]);
    }
    let error = 0;
    for (let i = 0; i < n; i++) {
      let sum = 0;
      for (let j = 0; j < 7; j++) sum += DP_ERRORS[j] * k[j][i];
      error += (signed * sum / (atol + rtol * Math.max(abs(x[i]), abs(next[i])))) ** 2;
    }
    error = sqrt(error / n);
    if (!(error <= 1)) {
      h = abs(signed) * (error < Infinity ? Math.max(0.2, 0.9 * error ** -0.2) : 0.1);
      rejected = true;
      continue;
    }
    [step.t, step.h, step.x, step.next, step.first, step.last] = [t, signed, x, next, k[0], k[6]];
    prepared = false;
    if (onStep && onStep(step)) return "stopped";
    t = isLast ? t1 : t + signed;
    [x, next] = [next, x];
    [k[0], k[6]] = [k[6], k[0]];
    if (isLast) return "finished";
    for (let i = 0; i < n; i++) if (abs(x[i]) > far) return "escaped";
    const growth = 0.9 * Math.max(error, 1e-10) ** -0.17 * lastError ** 0.04; // with the last error, which steadies it
    h = abs(signed) * Math.min(rejected ? 1 : 10, Math.max(0.2, growth));
    [lastError, rejected] = [Math.max(error, 1e-4), false];
  }
  return "steps";
}

// The length of the first step, by Hairer's algorithm.
function firstStep(f, p, t, x, slope, direction, rtol, atol, most) {
  const n = x.length, there = new Float64Array(n), after = new Float64Array(n);
  const size = v => sqrt(v.reduce((sum, a, i) => sum + (a / (atol + rtol * abs(x[i]))) ** 2, 0) / n);
  const [d0, d1] = [size(x), size(slope)];
  const h0 = Math.min(d0 < 1e-5 || d1 < 1e-5 ? 1e-6 : 0.01 * d0 / d1, most);
  for (let i = 0; i < n; i++) there[i] = x[i] + direction * h0 * slope[i];
  f(t + direction * h0, there, p, after);
  const d2 = size(after.map((a, i) => a - slope[i])) / h0, largest = Math.max(d1, d2);
  const h1 = largest <= 1e-15 ? Math.max(1e-6, h0 * 1e-3) : (0.01 / largest) ** 0.2;
  const h = Math.min(100 * h0, h1, most);
  return h > 0 ? h : Math.min(1e-6, most);
}

// A trajectory at `count` equally spaced times: {t, x: one array for each component, end}; shorter where it fails.
function trajectory(f, p, t0, x0, t1, count, options) {
  const n = x0.length, t = new Float64Array(count), x = Array.from({length: n}, () => new Float64Array(count));
  const out = new Float64Array(n), at = k => k === count - 1 ? t1 : t0 + (t1 - t0) * k / (count - 1);
  for (let i = 0; i < n; i++) x[i][0] = x0[i];
  t[0] = t0;
  let k = 1;
  const end = t1 === t0 ? "finished" : integrate(f, p, t0, x0, t1, options, step => {
    const last = step.t + step.h, forward = step.h > 0;
    for (; k < count; k++) {
      const time = at(k);
      if (forward ? time > last : time < last) break;
      step.at((time - step.t) / step.h, out);
      for (let i = 0; i < n; i++) x[i][k] = out[i];
      t[k] = time;
    }
    return false;
  });
  if (end === "finished") k = t1 === t0 ? 1 : count;
  return {t: t.subarray(0, k), x: x.map(one => one.subarray(0, k)), end};
}

// The orbit of a map as a trajectory: its step number is the time.
function orbit(f, p, k0, x0, steps, far = Infinity) {
  const n = x0.length, x = Array.from({length: n}, () => new Float64Array(steps + 1)), next = new Float64Array(n);
  const now = Float64Array.from(x0), t = Float64Array.from({length: steps + 1}, (_, k) => k0 + k);
  for (let k = 0; ; k++) {
    const inside = now.every(a => abs(a) <= far);
    if (!inside) return {t: t.subarray(0, k), x: x.map(one => one.subarray(0, k)), end: "escaped"};
    for (let i = 0; i < n; i++) x[i][k] = now[i];
    if (k === steps) return {t, x, end: "finished"};
    f(k0 + k, now, p, next);
    now.set(next);
  }
}

// Newton's method for f(t, x) = 0, or f(t, x) = x of a map; null unless it converges.
function newton(model, t, p, start, scale) {
  const n = start.length, x = Float64Array.from(start), v = new Float64Array(n), J = new Float64Array(n * n);
  for (let count = 0; count < 40; count++) {
    residual(model, t, x, p, v);
    model.jacobian(t, x, p, J);
    if (model.isMap) for (let i = 0; i < n; i++) J[i * n + i] -= 1;
    const step = Float64Array.from(v);
    if (!v.every(Number.isFinite) || !solveLinear(J, step, n)) return null;
    let length = 0;
    for (let i = 0; i < n; i++) length = Math.max(length, abs(step[i]) / scale[i]);
    const share = length > 1 ? 1 / length : 1;
    for (let i = 0; i < n; i++) x[i] -= share * step[i];
    if (length < 1e-10) return x;
    if (!(length < 1e6)) return null;
  }
  return null;
}

function residual(model, t, x, p, v) {
  model.field(t, x, p, v);
  if (!model.isMap) return;
  for (let i = 0; i < x.length; i++) {
    v[i] -= x[i];
    const period = model.periods[i]; // whole turns of an angle are no change
    if (period) v[i] -= Math.round(v[i] / period) * period;
  }
}

// Equilibria (or fixed points) that Newton's method reaches from starts, each once, with types; `inside` selects them.
function equilibria(model, t, p, starts, scale, inside, most = 60) {
  const n = scale.length, found = [];
  for (const start of starts) {
    const x = newton(model, t, p, start, scale);
    if (!x || !inside(x)) continue;
    if (found.some(one => one.x.every((a, i) => abs(a - x[i]) <= 1e-6 * scale[i]))) continue;
    const J = new Float64Array(n * n);
    model.jacobian(t, x, p, J);
    found.push({x: Array.from(x, a => abs(a) < 1e-14 * scale[0] ? 0 : a), J, ...nameOf(model, Array.from(J), n)});
    if (found.length === most) break;
  }
  const order = one => one.x.slice(0, 2).map((a, i) => Math.round(a / (1e-6 * scale[i]))); // as they are told apart
  const before = ([a, b = 0], [c, d = 0]) => a - c || b - d;
  return found.sort((one, other) => before(order(one), order(other)));
}

function nameOf(model, J, n) {
  return model.isMap ? fixedPointType(J, n) : equilibriumType(J, n);
}

// Values of a function of two numbers with `m` results on a grid: m arrays of (ny, nx), by rows.
function onGrid(evaluate, xs, ys, m) {
  const values = Array.from({length: m}, () => new Float64Array(xs.length * ys.length)), out = new Float64Array(m);
  for (let j = 0, k = 0; j < ys.length; j++) {
    for (let i = 0; i < xs.length; i++, k++) {
      evaluate(xs[i], ys[j], out);
      for (let c = 0; c < m; c++) values[c][k] = out[c];
    }
  }
  return values;
}

// Segments of the curves on which a component of `evaluate` is zero, by marching squares: {x0, y0, x1, y1}.
// A cell in which the values at the ends of its segment are not small holds a pole or a jump, and is left out.
function zeroCurves(values, xs, ys, evaluate, component) {
  const found = {x0: [], y0: [], x1: [], y1: []}, nx = xs.length, out = new Float64Array(2);
  const crossing = (a, b, u, v) => a + (b - a) * u / (u - v);
  for (let j = 0; j + 1 < ys.length; j++) {
    for (let i = 0; i + 1 < nx; i++) {
      const k = j * nx + i, a = values[k], b = values[k + 1], c = values[k + nx + 1], d = values[k + nx];
      const sides = [];
      if (a < 0 !== b < 0) sides.push([crossing(xs[i], xs[i + 1], a, b), ys[j]]);
      if (b < 0 !== c < 0) sides.push([xs[i + 1], crossing(ys[j], ys[j + 1], b, c)]);
      if (d < 0 !== c < 0) sides.push([crossing(xs[i], xs[i + 1], d, c), ys[j + 1]]);
      if (a < 0 !== d < 0) sides.push([xs[i], crossing(ys[j], ys[j + 1], a, d)]);
      if (!sides.length) continue;
      const most = Math.max(abs(a), abs(b), abs(c), abs(d));
      if (!(most < Infinity)) continue;
      if (sides.length === 4 && (a < 0) === ((a + b + c + d) < 0)) sides.push(sides.shift()); // a saddle of the values
      for (let m = 0; m + 1 < sides.length; m += 2) {
        const [[x0, y0], [x1, y1]] = [sides[m], sides[m + 1]];
        evaluate((x0 + x1) / 2, (y0 + y1) / 2, out);
        if (!(abs(out[component]) <= 0.5 * most)) continue;
        found.x0.push(x0);
        found.y0.push(y0);
        found.x1.push(x1);
        found.y1.push(y1);
      }
    }
  }
  return found;
}

function linspace(low, high, count) {
  return Float64Array.from({length: count}, (_, k) => low + (high - low) * k / (count - 1));
}

// Evenly spread numbers in [0, 1): the Halton sequence of a base.
function halton(k, base) {
  let value = 0;
  for (let share = 1 / base, rest = k; rest > 0; rest = Math.floor(rest / base), share /= base) value += share * (rest % base);
  return value;
}

// The potential V with x' = -V'(x) of a flow on a line, by Simpson's rule; zero at its lowest point.
function potential(velocity, xs) {
  const found = new Float64Array(xs.length);
  for (let k = 1; k < xs.length; k++) {
    const [a, b] = [xs[k - 1], xs[k]];
    found[k] = found[k - 1] - (b - a) / 6 * (velocity(a) + 4 * velocity((a + b) / 2) + velocity(b));
  }
  const lowest = found.reduce((least, a) => a < least ? a : least, Infinity);
  return found.map(a => a - lowest);
}

// States of a forced flow at multiples of its period, after `skipped` of them: one array for each component.
function stroboscopic(f, p, x0, period, count, skipped, options) {
  const whole = trajectory(f, p, 0, x0, period * (count + skipped), count + skipped + 1, options);
  return whole.x.map(one => one.subarray(Math.min(skipped + 1, one.length)));
}

// Local extrema of a component along a trajectory: where its velocity changes its sign in a step.
function extrema(f, p, t0, x0, t1, component, options) {
  const found = [], out = new Float64Array(x0.length), end = Float64Array.from(x0);
  integrate(f, p, t0, x0, t1, options, step => {
    end.set(step.next);
    let [low, high] = [0, 1];
    const [first, last] = [step.first[component], step.last[component]];
    if (first < 0 === last < 0) return found.length >= 64;
    const slope = new Float64Array(x0.length);
    for (let count = 0; count < 12; count++) {
      const middle = (low + high) / 2;
      step.at(middle, out);
      f(step.t + middle * step.h, out, p, slope);
      if (slope[component] < 0 === first < 0) low = middle;
      else high = middle;
    }
    found.push(out[component]);
    return found.length >= 64;
  });
  return {found, end};
}
