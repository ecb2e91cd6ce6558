"use strict";
// Functions that programs written as JavaScript call (javascript.py), under the names of their operations.
const {sqrt, cbrt, exp, expm1, log, log1p, log2, sin, cos, tan, asin, acos, atan, atan2, sinh, cosh, tanh, asinh, acosh,
       atanh, floor, ceil, abs, fround, imul} = Math;
const is_finite = Number.isFinite;
const LARGEST = 2 ** 53;
const EPSILON = 2 ** -52;
const SHIFT = 10; // arguments from which the asymptotic series of the gamma function are exact to rounding

function unchanged(a) {
  return a;
}

// As in C: Math.pow(1, NaN) and Math.pow(1, Infinity) are NaN.
function pow(a, b) {
  return a === 1 || (a === -1 && abs(b) === Infinity) ? 1 : Math.pow(a, b);
}

function exp2(a) {
  return Math.pow(2, a);
}

function integer_pow(a, exponent, rounded) {
  if (exponent < 0) return rounded(1 / integer_pow(a, -exponent, rounded));
  let found = 1, square = a;
  for (let k = exponent, first = true; k; k = Math.floor(k / 2)) {
    if (k % 2) [found, first] = [first ? square : rounded(found * square), false];
    if (k > 1) square = rounded(square * square);
  }
  return found;
}

// Integers of 64 bits: exact, or NaN.
function whole(a, lowest) {
  return a >= lowest && a <= LARGEST ? a + 0 : NaN;
}

function quotient(a, b) {
  return b === 0 ? -1 : Math.trunc(a / b) + 0;
}

function saturated(a, low, high) {
  return a !== a ? 0 : Math.min(Math.max(Math.trunc(a), low), high) + 0;
}

function rint(a) {
  return abs(a - floor(a)) === 0.5 ? 2 * Math.round(a / 2) : Math.round(a);
}

function round_away(a) {
  const whole = Math.trunc(a);
  return abs(a - whole) >= 0.5 ? whole + Math.sign(a) : whole;
}

// A number and its bits, in either precision.
const ONE_DOUBLE = {number: new Float64Array(1), one: 1n};
ONE_DOUBLE.bits = new BigInt64Array(ONE_DOUBLE.number.buffer);
const ONE_SINGLE = {number: new Float32Array(1), one: 1};
ONE_SINGLE.bits = new Int32Array(ONE_SINGLE.number.buffer);

function nextafter(a, b, {number, bits, one}) {
  if (a !== a || b !== b) return NaN;
  if (a === b) return b;
  if (a === 0) {
    bits[0] = one;
    return b > 0 ? number[0] : -number[0];
  }
  number[0] = a;
  bits[0] += a < b === a > 0 ? one : -one;
  return number[0];
}

// erf by its series of positive terms, erfc by Lentz's continued fraction where it is small.
function erf(x) {
  if (x !== x) return NaN;
  if (abs(x) > 2) return x > 0 ? 1 - erfc(x) : erfc(-x) - 1;
  let term = x, sum = x;
  for (let k = 1; abs(term) > abs(sum) * EPSILON / 4; k++) {
    term *= 2 * x * x / (2 * k + 1);
    sum += term;
  }
  return 2 / sqrt(Math.PI) * exp(-x * x) * sum;
}

function erfc(x) {
  if (x !== x) return NaN;
  if (x <= 2) return x < -2 ? 2 - erfc(-x) : 1 - erf(x);
  if (x > 27.3) return 0;
  return exp(-x * x) / sqrt(Math.PI) / fraction(x, k => k / 2, () => x);
}

// b0 + a1/(b1 + a2/(b2 + ...)) with b0 = first.
function fraction(first, a, b) {
  let value = first, c = first, d = 0;
  for (let k = 1; k < 10000; k++) {
    d = b(k) + a(k) * d;
    c = b(k) + a(k) / c;
    d = 1 / d;
    value *= c * d;
    if (abs(c * d - 1) < EPSILON) break;
  }
  return value;
}

function erf_inv(y) {
  if (!(abs(y) < 1)) return y === 1 ? Infinity : y === -1 ? -Infinity : NaN;
  if (y === 0) return y;
  const l = log1p(-y * y), m = 2 / (Math.PI * 0.147) + l / 2;
  let x = sqrt(sqrt(m * m - l / 0.147) - m);
  const size = abs(y);
  for (let k = 0; k < 3; k++) {
    const over = size < 0.5 ? erf(x) - size : 1 - size - erfc(x);
    const step = over * sqrt(Math.PI) / 2 * exp(x * x);
    x -= step / (1 + x * step);
  }
  return y > 0 ? x : -x;
}

// Gamma functions: shifted to large arguments, then Stirling's series.
function lgamma(x) {
  if (x === -Infinity) return -Infinity;
  if (x <= 0 && floor(x) === x) return Infinity;
  if (x < 0.5) return log(Math.PI / abs(sin(Math.PI * (x % 2)))) - lgamma(1 - x);
  if (x === Infinity || x !== x) return x;
  let product = 1;
  for (; x < SHIFT; x++) product *= x;
  const z = 1 / (x * x);
  const series = 1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z * (1 / 1188 - z * (691 / 360360 - z / 156)))));
  return (x - 0.5) * log(x) - x + 0.5 * log(2 * Math.PI) + series / x - log(product);
}

function digamma(x) {
  if (x === 0) return 1 / x === Infinity ? -Infinity : Infinity;
  if (x < 0 && floor(x) === x) return NaN;
  if (x < 0) return digamma(1 - x) - Math.PI / tan(Math.PI * (x % 1));
  if (x === Infinity || x !== x) return x;
  let sum = 0;
  for (; x < SHIFT; x++) sum -= 1 / x;
  const z = 1 / (x * x);
  return sum + log(x) - 0.5 / x - z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * 691 / 32760)))));
}

// Regularised incomplete gamma functions: the series below a + 1, the continued fraction above.
function igamma(a, x) {
  if (!(a >= 0 && x >= 0) || (a === Infinity && x === Infinity)) return NaN;
  if (a === 0) return x > 0 ? 1 : NaN;
  if (x === 0 || a === Infinity) return 0;
  if (x > a + 1) return 1 - igammac(a, x);
  let term = 1 / a, sum = term;
  for (let k = 1; k < 10000 && term > sum * EPSILON; k++) {
    term *= x / (a + k);
    sum += term;
  }
  return sum * exp(a * log(x) - x - lgamma(a));
}

function igammac(a, x) {
  if (!(a >= 0 && x >= 0) || (a === Infinity && x === Infinity)) return NaN;
  if (x <= a + 1 || a === 0) return 1 - igamma(a, x);
  if (x === Infinity) return 0;
  const rest = fraction(x + 1 - a, k => -k * (k - a), k => x + 2 * k + 1 - a);
  return exp(a * log(x) - x - lgamma(a)) / rest;
}

// Modified Bessel functions of order 0 and 1 times exp(-|x|): the power series, or the asymptotic one.
function bessel(order, x) {
  if (x === Infinity) return 0;
  let term = 1, sum = 1;
  if (x < 30) {
    term = order ? x / 2 : 1;
    sum = term;
    for (let k = 1; term > sum * EPSILON / 4; k++) {
      term *= x * x / 4 / (k * (k + order));
      sum += term;
    }
    return sum * exp(-x);
  }
  for (let k = 1; abs(term) > EPSILON / 4 && k < 60; k++) {
    term *= ((2 * k - 1) ** 2 - 4 * order * order) / (8 * k * x);
    sum += term;
  }
  return sum / sqrt(2 * Math.PI * x);
}

function bessel_i0e(x) {
  return bessel(0, abs(x));
}

function bessel_i1e(x) {
  return x < 0 ? -bessel(1, -x) : bessel(1, x);
}
