// Harmonics on the sphere: their sums over tokens, and their values at queries (`expansions` has the mathematics).
//
// Known before this text: Real (float or double), the DEGREE L, and the sizes N (tokens or queries), THREADS (of a
// block), and for the sums TOTAL (threads that share the tokens) and DEGREES (whose sums a thread keeps in registers),
// for the values ROWS (queries of a thread).

constexpr int ORDERS = DEGREE + 1;

// Y_lm from Y_{l-1,m} and Y_{l-2,m}; the table holds two coefficients for each m and l.
static __device__ __forceinline__ void next_degree(const Real* __restrict__ table, int m, int l, Real z, Real* now,
                                                   Real* before) {
  const Real forward = table[2 * (m * ORDERS + l)] * z, backward = table[2 * (m * ORDERS + l) + 1];
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    const Real next = forward * now[p] - backward * before[p];
    before[p] = now[p];
    now[p] = next;
  }
}

// Y_mm from Y_{m-1,m-1}: a product with x + iy.
static __device__ __forceinline__ void next_order(Real raising, Real x, Real y, Real* top) {
  const Real re = raising * (x * top[0] - y * top[1]);
  top[1] = raising * (x * top[1] + y * top[0]);
  top[0] = re;
}

#ifdef TOTAL
// Sums of Y_lm(x_j) (x_j, 1) over the tokens of each thread. The second axis of the grid has the groups: an order m and
// the first of DEGREES degrees. tokens (N, 3), table (ORDERS, ORDERS, 2), raising (ORDERS), groups (groups, 2);
// sums (groups, DEGREES, 2, 4, TOTAL).
extern "C" __global__ void __launch_bounds__(THREADS)
harmonic_moments(const Real* __restrict__ tokens, const Real* __restrict__ table, const Real* __restrict__ raising,
                 const int* __restrict__ groups, Real* __restrict__ sums) {
  const int thread = blockIdx.x * THREADS + threadIdx.x, group = blockIdx.y;
  const int m = groups[2 * group], lowest = groups[2 * group + 1];
  if (thread >= TOTAL) return;
  Real total[DEGREES][2][4];
#pragma unroll
  for (int k = 0; k < DEGREES; ++k)
#pragma unroll
    for (int c = 0; c < 4; ++c) total[k][0][c] = total[k][1][c] = 0;
  for (int j = thread; j < N; j += TOTAL) {
    const Real x = tokens[3 * (size_t)j], y = tokens[3 * (size_t)j + 1], z = tokens[3 * (size_t)j + 2];
    Real now[2] = {1, 0}, before[2] = {0, 0};
    for (int k = 1; k <= m; ++k) next_order(raising[k], x, y, now);
    for (int l = m + 1; l <= lowest; ++l) next_degree(table, m, l, z, now, before);
#pragma unroll
    for (int k = 0; k < DEGREES; ++k) {
      if (lowest + k > DEGREE) break;
      if (k > 0) next_degree(table, m, lowest + k, z, now, before);
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        total[k][p][0] += now[p] * x;
        total[k][p][1] += now[p] * y;
        total[k][p][2] += now[p] * z;
        total[k][p][3] += now[p];
      }
    }
  }
#pragma unroll
  for (int k = 0; k < DEGREES; ++k)
#pragma unroll
    for (int p = 0; p < 2; ++p)
#pragma unroll
      for (int c = 0; c < 4; ++c)
        sums[((((size_t)group * DEGREES + k) * 2 + p) * 4 + c) * TOTAL + thread] = total[k][p][c];
}
#endif

#ifdef ROWS
// Sums over l and m of Z_lm(v_i) moments_lm. queries (N, 3), moments (ORDERS, 2, ORDERS, 4), table and raising as above;
// values (N, 4).
extern "C" __global__ void __launch_bounds__(THREADS)
harmonic_values(const Real* __restrict__ queries, const Real* __restrict__ moments, const Real* __restrict__ table,
                const Real* __restrict__ raising, Real* __restrict__ values) {
  const int first = blockIdx.x * (THREADS * ROWS) + threadIdx.x;
  Real direction[ROWS][3], scale[ROWS][ORDERS], top[ROWS][2], value[ROWS][4];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const int row = first + r * THREADS, i = row < N ? row : N - 1;
    const Real* v = queries + 3 * (size_t)i;
    const Real square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    const bool zero = square < Real(1e-30);  // a direction is then arbitrary
    const Real length = zero ? Real(1) : sqrt(square);
    direction[r][0] = zero ? Real(0) : v[0] / length;
    direction[r][1] = zero ? Real(0) : v[1] / length;
    direction[r][2] = zero ? Real(1) : v[2] / length;
    Real ratio = 1 / (ORDERS + sqrt(Real(ORDERS + 1) * Real(ORDERS + 1) + square));
    for (int l = DEGREE; l > 0; --l) scale[r][l] = ratio = 1 / (2 * l + 1 + square * ratio);
    scale[r][0] = 1;
    for (int l = 1; l <= DEGREE; ++l) scale[r][l] *= scale[r][l - 1] * (zero ? Real(0) : length);
    top[r][0] = 1;
    top[r][1] = 0;
#pragma unroll
    for (int c = 0; c < 4; ++c) value[r][c] = 0;
  }
  for (int m = 0; m <= DEGREE; ++m) {
    Real now[ROWS][2], before[ROWS][2];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if (m > 0) next_order(raising[m], direction[r][0], direction[r][1], top[r]);
#pragma unroll
      for (int p = 0; p < 2; ++p) now[r][p] = top[r][p], before[r][p] = 0;
    }
    for (int l = m; l <= DEGREE; ++l) {
      Real moment[2][4];
#pragma unroll
      for (int p = 0; p < 2; ++p)
#pragma unroll
        for (int c = 0; c < 4; ++c) moment[p][c] = moments[(((size_t)l * 2 + p) * ORDERS + m) * 4 + c];
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        if (l > m) next_degree(table, m, l, direction[r][2], now[r], before[r]);
        const Real re = scale[r][l] * now[r][0], im = scale[r][l] * now[r][1];
#pragma unroll
        for (int c = 0; c < 4; ++c) value[r][c] += re * moment[0][c] + im * moment[1][c];
      }
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const int row = first + r * THREADS;
    if (row < N)
#pragma unroll
      for (int c = 0; c < 4; ++c) values[4 * (size_t)row + c] = value[r][c];
  }
}
#endif
