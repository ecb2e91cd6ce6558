// Linear algebra of small matrices, stored by rows, and the names of equilibria and fixed points by their eigenvalues.
const NEAR_ZERO = 1e-7; // real parts up to this, relative to the matrix, count as zero
const ENTRIES = 1e-10; // relative error of the entries of a Jacobian by which equal eigenvalues are recognised
const ROUNDING = 16 * EPSILON;

// Solve A x = b in place by elimination with partial pivoting; false for a singular matrix.
function solveLinear(A, b, n) {
  for (let k = 0; k < n; k++) {
    let pivot = k;
    for (let i = k + 1; i < n; i++) if (abs(A[i * n + k]) > abs(A[pivot * n + k])) pivot = i;
    if (!(abs(A[pivot * n + k]) > 0)) return false;
    if (pivot !== k) {
      for (let j = k; j < n; j++) [A[k * n + j], A[pivot * n + j]] = [A[pivot * n + j], A[k * n + j]];
      [b[k], b[pivot]] = [b[pivot], b[k]];
    }
    for (let i = k + 1; i < n; i++) {
      const share = A[i * n + k] / A[k * n + k];
      if (share === 0) continue;
      for (let j = k + 1; j < n; j++) A[i * n + j] -= share * A[k * n + j];
      b[i] -= share * b[k];
    }
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let j = i + 1; j < n; j++) b[i] -= A[i * n + j] * b[j];
    b[i] /= A[i * n + i];
  }
  return true;
}

// Eigenvalues as pairs [real, imaginary]: in closed form up to two, else by shifted QR steps in complex numbers.
function eigenvalues(A, n) {
  if (!A.every(Number.isFinite)) return Array.from({length: n}, () => [NaN, NaN]);
  if (n === 1) return [[A[0], 0]];
  if (n === 2) return planarEigenvalues(A[0], A[1], A[2], A[3]);
  const found = complexEigenvalues(A, n), size = Math.max(...A.map(abs)) || 1;
  return found.map(pair => pair.map(a => abs(a) <= 1e-12 * size ? 0 : a));
}

function planarEigenvalues(a, b, c, d) {
  const middle = (a + d) / 2, half = (a - d) / 2, under = half * half + b * c;
  if (under < 0) return [[middle, sqrt(-under)], [middle, -sqrt(-under)]];
  const far = middle + (middle < 0 ? -1 : 1) * sqrt(under);
  const near = far === 0 ? 0 : (a * d - b * c) / far;
  return far > near ? [[near, 0], [far, 0]] : [[far, 0], [near, 0]];
}

function complexEigenvalues(A, n) {
  const H = Array.from({length: n}, (_, i) => Array.from({length: n}, (_, j) => [A[i * n + j], 0]));
  const times = ([a, b], [c, d]) => [a * c - b * d, a * d + b * c];
  const minus = ([a, b], [c, d]) => [a - c, b - d];
  const plus = ([a, b], [c, d]) => [a + c, b + d];
  const size = ([a, b]) => Math.hypot(a, b);
  const conjugate = ([a, b]) => [a, -b];
  const scaled = ([a, b], s) => [a * s, b * s];
  const turned = (row, column, c, s, k, i, j) => { // a rotation of the rows or columns i and j
    for (let m = 0; m < n; m++) {
      const [p, q] = row ? [H[i][m], H[j][m]] : [H[m][i], H[m][j]];
      const first = plus(scaled(p, c), times(row ? s : conjugate(s), q));
      const second = minus(scaled(q, c), times(row ? conjugate(s) : s, p));
      if (row) [H[i][m], H[j][m]] = [first, second];
      else [H[m][i], H[m][j]] = [first, second];
    }
  };
  const rotation = (p, q) => { // c and s with c p + s q = r and c q - conj(s) p = 0
    const r = Math.hypot(size(p), size(q));
    if (size(q) === 0) return [1, [0, 0]];
    if (size(p) === 0) return [0, scaled(conjugate(q), 1 / size(q))];
    const phase = scaled(p, 1 / size(p));
    return [size(p) / r, scaled(times(phase, conjugate(q)), 1 / r)];
  };
  for (let k = 0; k < n - 2; k++) { // to Hessenberg form
    for (let i = n - 1; i > k + 1; i--) {
      const [c, s] = rotation(H[i - 1][k], H[i][k]);
      turned(true, 0, c, s, k, i - 1, i);
      turned(false, 0, c, s, k, i - 1, i);
    }
  }
  const root = ([a, b]) => {
    const r = sqrt((Math.hypot(a, b) + abs(a)) / 2);
    if (r === 0) return [0, 0];
    return a >= 0 ? [r, b / (2 * r)] : [abs(b) / (2 * r), b < 0 ? -r : r];
  };
  const found = [];
  let end = n - 1, tries = 0;
  while (end >= 0) {
    let begin = end;
    while (begin > 0 && size(H[begin][begin - 1]) > EPSILON * (size(H[begin][begin]) + size(H[begin - 1][begin - 1]))) {
      begin--;
    }
    if (begin === end || tries > 100 * n) {
      found.push(H[end][end]);
      end--;
      tries = 0;
      continue;
    }
    tries++;
    const [a, b, c, d] = [H[end - 1][end - 1], H[end - 1][end], H[end][end - 1], H[end][end]];
    const half = scaled(minus(a, d), 0.5), away = root(plus(times(half, half), times(b, c)));
    const options = [plus(half, away), minus(half, away)].map(one => plus(d, one));
    const near = options[size(minus(options[0], d)) < size(minus(options[1], d)) ? 0 : 1];
    const shift = tries % 11 === 10 ? plus(d, c) : near;
    for (let k = begin; k <= end; k++) H[k][k] = minus(H[k][k], shift);
    const rotations = [];
    for (let k = begin; k < end; k++) {
      const [co, si] = rotation(H[k][k], H[k + 1][k]);
      rotations.push([co, si]);
      turned(true, 0, co, si, k, k, k + 1);
    }
    rotations.forEach(([co, si], k) => turned(false, 0, co, si, k, begin + k, begin + k + 1));
    for (let k = begin; k <= end; k++) H[k][k] = plus(H[k][k], shift);
  }
  return found.sort((p, q) => p[0] - q[0] || q[1] - p[1]);
}

function largestEntry(A) {
  return A.reduce((most, a) => Math.max(most, abs(a)), 0);
}

// stable, saddle, unstable or undecided: by the real parts, or by the moduli of the multipliers of a fixed point.
function stability(parts, tolerance) {
  if (parts.every(a => a < -tolerance)) return "stable";
  if (!parts.some(a => a > tolerance)) return "undecided";
  return parts.every(a => a > tolerance) ? "unstable" : "saddle";
}

function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function notHyperbolic(kind, reasons) {
  return `${kind === "saddle" || kind === "unstable" ? "unstable, " : ""}not hyperbolic (${reasons.join(" and ")})`;
}

// Kind and type of an equilibrium, as analysis/dynamics/equilibrium_types.py names them.
function equilibriumType(A, n) {
  const values = eigenvalues(A, n), tolerance = NEAR_ZERO * Math.max(1, norm(A, n));
  const kind = stability(values.map(v => v[0]), tolerance);
  const neutral = values.filter(v => abs(v[0]) <= tolerance);
  if (neutral.length) {
    const zeros = neutral.filter(v => abs(v[1]) <= tolerance).length, pairs = (neutral.length - zeros) / 2;
    const isCentre = neutral.length === n && !zeros;
    if (isCentre) return {kind, type: "centre of the linearisation", values};
    const reasons = zeros ? [counted(zeros, "zero eigenvalue")] : [];
    if (pairs) reasons.push(counted(pairs, "imaginary pair"));
    return {kind, type: notHyperbolic(kind, reasons), values};
  }
  if (n === 1) return {kind, type: kind, values};
  const equal = n === 2 && areEqual(A, values);
  const turning = values.map(v => v[1] !== 0 && !equal);
  let type = `${kind} node`;
  if (kind === "saddle") {
    const index = values.filter(v => v[0] > 0).length;
    type = (turning.some(Boolean) ? "saddle-focus" : "saddle") + (n > 2 ? ` of index ${index}` : "");
  } else if (turning.every(Boolean)) type = `${kind} focus`;
  else if (turning.some(Boolean)) type = `${kind} focus-node`;
  else if (equal) type = isScalar(A) ? `${kind} star node` : `${kind} degenerate node`;
  return {kind, type, values};
}

// The largest singular value of a planar matrix, and a bound of it for larger ones.
function norm(A, n) {
  if (n > 2) return Math.hypot(...A);
  if (n === 1) return abs(A[0]);
  const sum = A[0] ** 2 + A[1] ** 2 + A[2] ** 2 + A[3] ** 2, det = A[0] * A[3] - A[1] * A[2];
  return sqrt((sum + sqrt(Math.max(sum * sum - 4 * det * det, 0))) / 2);
}

// Whether the eigenvalues of a planar matrix are equal within the errors of its entries, to first order: an eigenvalue
// with the unit eigenvectors x and y moves by at most |y|^T E |x| / |y x|.
function areEqual(A, [first, second]) {
  const [a, b, c, d] = A, size = norm(A, 2);
  const errors = A.map(entry => ENTRIES * abs(entry) + ROUNDING * largestEntry(A));
  const length = ([[p, q], [r, s]]) => Math.hypot(p, q, r, s);
  const own = value => {
    const fromA = [value[0] - a, value[1]], fromD = [value[0] - d, value[1]];
    const longer = (one, two) => length(one) >= length(two) ? one : two;
    const x = longer([[b, 0], fromA], [fromD, [c, 0]]), y = longer([[c, 0], fromA], [fromD, [b, 0]]);
    const lengths = length(x) * length(y);
    if (!(lengths > 0)) return 0;
    const [u, v] = x.map(one => Math.hypot(...one)), [p, q] = y.map(one => Math.hypot(...one));
    const moved = (p * (errors[0] * u + errors[1] * v) + q * (errors[2] * u + errors[3] * v)) / lengths;
    const real = x[0][0] * y[0][0] - x[0][1] * y[0][1] + x[1][0] * y[1][0] - x[1][1] * y[1][1];
    const imaginary = x[0][0] * y[0][1] + x[0][1] * y[0][0] + x[1][0] * y[1][1] + x[1][1] * y[1][0];
    const product = Math.hypot(real, imaginary) / lengths;
    return Math.min(moved / Math.max(product, Number.MIN_VALUE), sqrt(moved * size));
  };
  return Math.hypot(first[0] - second[0], first[1] - second[1]) <= 2 * (own(first) + own(second));
}

function isScalar([a, b, c, d]) {
  const error = 4 * (ENTRIES + ROUNDING) * Math.max(abs(a), abs(d));
  return abs(b) <= error && abs(c) <= error && abs(a - d) <= error;
}

// Kind and type of a fixed point of a map by its multipliers, as `fixed_point_type` names them.
function fixedPointType(A, n) {
  const values = eigenvalues(A, n), tolerance = NEAR_ZERO * Math.max(1, norm(A, n));
  const sizes = values.map(v => Math.hypot(...v));
  const turning = values.map((v, k) => abs(v[1]) > tolerance * sizes[k]);
  const kind = stability(sizes.map(size => size - 1), tolerance);
  const neutral = sizes.map(size => abs(size - 1) <= tolerance);
  if (neutral.some(Boolean)) {
    const reasons = [1, -1].flatMap(side => {
      const count = values.filter((v, k) => neutral[k] && !turning[k] && v[0] * side > 0).length;
      return count ? [counted(count, `multiplier`) + ` ${side}`] : [];
    });
    const pairs = values.filter((v, k) => neutral[k] && turning[k]).length / 2;
    if (pairs) reasons.push(`${counted(pairs, "pair")} on the unit circle`);
    return {kind, type: notHyperbolic(kind, reasons), values};
  }
  const reflected = values.some((v, k) => v[0] < 0 && !turning[k]) ? " with reflection" : "";
  let type = `${kind} ${turning.some(Boolean) ? "focus-node" : "node"}${reflected}`;
  if (n === 1) type = kind + reflected;
  else if (kind === "saddle") {
    const flips = values.filter((v, k) => v[0] < -1 && !turning[k]).length % 2;
    const index = n > 2 ? ` of index ${sizes.filter(size => size > 1).length}` : "";
    type = (flips ? "flip saddle" : turning.some(Boolean) ? "saddle-focus" : "saddle") + index;
  } else if (turning.every(Boolean)) type = `${kind} focus`;
  return {kind, type, values};
}

// A unit eigenvector of a real eigenvalue of a planar matrix.
function eigenvector([a, b, c, d], value) {
  const one = [b, value - a], two = [value - d, c];
  const [x, y] = Math.hypot(...one) >= Math.hypot(...two) ? one : two, length = Math.hypot(x, y) || 1;
  return length > 0 && (x || y) ? [x / length, y / length] : [1, 0];
}
