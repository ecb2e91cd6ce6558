// Sums over tokens j of 2^(q_i . x_j - shift_i) (x_j, 1), for ROWS queries in each thread and one part of the tokens.
//
// Known before this text: Real (float or double), the sizes N (tokens), D (dimension), HEADS, PARTS (of the tokens),
// ROWS (queries of a thread), THREADS (of a block), CHUNK (tokens summed before the sums are added to the totals, which
// bounds rounding errors), and LIMIT, the largest exponent that cannot overflow.
//
// The grid has blocks of queries, parts and heads as its axes. Neighbouring threads have neighbouring queries and read
// the same token at the same time.

constexpr int LANES = 16 / sizeof(Real);                       // numbers in one load
constexpr int WIDTH = (D + LANES - 1) / LANES * LANES;         // length of a row of padded tokens
constexpr double LOG2_E = 1.4426950408889634;

struct __align__(16) Pack {
  Real value[LANES];
};

static __device__ __forceinline__ void load(const Real* row, Real* x) {
#pragma unroll
  for (int k = 0; k < WIDTH / LANES; ++k) {
    const Pack pack = reinterpret_cast<const Pack*>(row)[k];
#pragma unroll
    for (int c = 0; c < LANES; ++c) x[LANES * k + c] = pack.value[c];
  }
}

static __device__ __forceinline__ Real product(const Real* q, const Real* x, Real s) {
#pragma unroll
  for (int c = 0; c < D; ++c) s = fma(q[c], x[c], s);
  return s;
}

// queries (HEADS, N, D), tokens (N, WIDTH), longest (1), the largest norm of a token;
// totals (PARTS, HEADS, D + 1, N), shifts (PARTS, HEADS, N), in powers of two.
extern "C" __global__ void __launch_bounds__(THREADS)
sums_over_pairs(const Real* __restrict__ queries, const Real* __restrict__ tokens, const Real* __restrict__ longest,
                Real* __restrict__ totals, Real* __restrict__ shifts) {
  const int first = blockIdx.x * (THREADS * ROWS) + threadIdx.x;
  const int part = blockIdx.y, head = blockIdx.z;
  const int begin = (long long)N * part / PARTS, end = (long long)N * (part + 1) / PARTS;
  const Real* own_queries = queries + (size_t)head * N * D;
  Real* own_totals = totals + ((size_t)part * HEADS + head) * (D + 1) * N;
  Real* own_shifts = shifts + ((size_t)part * HEADS + head) * N;

  Real q[ROWS][D], shift[ROWS];
  bool far[ROWS], some_far = false;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const int row = first + r * THREADS, i = row < N ? row : N - 1;
    Real own[WIDTH], square = 0;
    load(tokens + (size_t)i * WIDTH, own);
#pragma unroll
    for (int c = 0; c < D; ++c) {
      q[r][c] = Real(LOG2_E) * own_queries[(size_t)i * D + c];
      square += q[r][c] * q[r][c];
    }
    shift[r] = product(q[r], own, 0);
    far[r] = !(sqrt(square) * longest[0] - shift[r] <= Real(LIMIT * LOG2_E));
    some_far |= far[r];
  }

  if (some_far) {  // the score of a token with itself may be too small: take the largest score of this part
    Real most[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) most[r] = -Real(1) / Real(0);
    for (int j = begin; j < end; ++j) {
      Real x[WIDTH];
      load(tokens + (size_t)j * WIDTH, x);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const Real s = product(q[r], x, 0);
        if (s > most[r]) most[r] = s;
      }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
      if (far[r]) shift[r] = most[r];
  }

  for (int chunk = begin; chunk < end; chunk += CHUNK) {
    const int stop = chunk + CHUNK < end ? chunk + CHUNK : end;
    Real sums[ROWS][D + 1];
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
      for (int c = 0; c <= D; ++c) sums[r][c] = 0;
#pragma unroll 2
    for (int j = chunk; j < stop; ++j) {
      Real x[WIDTH];
      load(tokens + (size_t)j * WIDTH, x);
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
        const Real w = exp2(product(q[r], x, -shift[r]));
#pragma unroll
        for (int c = 0; c < D; ++c) sums[r][c] = fma(w, x[c], sums[r][c]);
        sums[r][D] += w;
      }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const int row = first + r * THREADS;
      if (row >= N) break;
#pragma unroll
      for (int c = 0; c <= D; ++c) {
        Real* total = own_totals + (size_t)c * N + row;
        *total = chunk == begin ? sums[r][c] : *total + sums[r][c];
      }
    }
  }

#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const int row = first + r * THREADS;
    if (row < N) own_shifts[row] = shift[r];
  }
}
