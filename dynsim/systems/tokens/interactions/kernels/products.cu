// Sums over tokens j of 2^(q_i . x_j - shift_i) (x_j, 1) by tensor cores, for 16 queries in each warp.
//
// Known before this text: the sizes N (tokens), STEPS (dimensions divided by 8), HEADS, PARTS (of the tokens), WARPS (of
// a block), CHUNK (groups of tokens summed before the sums are added to the totals). The grid has blocks of queries,
// parts and heads as its axes.
//
// A number is the sum of two shorter ones, and a product of two numbers that of three products, which leaves out 2^-22 of
// it. Groups of 8 tokens lie in memory as the lanes of a warp need them: (groups, STEPS, 32, 2). Lane 4g + t has token g
// and dimensions 8s + 2t and 8s + 2t + 1 for the scores, tokens 2t and 2t + 1 and dimension 8s + g for the sums.

#ifndef multiply_add_tile
// c (16, 8) += a (16, 8) b (8, 8), with the entries of each lane in the order of the instruction.
static __device__ __forceinline__ void multiply_add_tile(float* c, const float* a, const float* b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
                 "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}
#endif

template <int COUNT>
static __device__ __forceinline__ void split(const float* x, float* high, float* low) {
#pragma unroll
  for (int k = 0; k < COUNT; ++k) {
    high[k] = __uint_as_float(__float_as_uint(x[k]) & 0xffffe000u);
    low[k] = x[k] - high[k];
  }
}

struct __align__(8) Pair {
  float value[2];
};

constexpr int GROUPS = (N + 7) / 8, ROWS = (N + 16 * WARPS - 1) / (16 * WARPS) * (16 * WARPS), WIDTH = 8 * STEPS;

// queries (HEADS, ROWS, WIDTH), shifts (HEADS, ROWS), keys and values (GROUPS, STEPS, 32, 2);
// totals (PARTS, HEADS, ROWS, WIDTH), weights (PARTS, HEADS, ROWS, 4).
extern "C" __global__ void __launch_bounds__(32 * WARPS)
sums_by_products(const float* __restrict__ queries, const float* __restrict__ shifts, const Pair* __restrict__ keys,
                 const Pair* __restrict__ values, float* __restrict__ totals, float* __restrict__ weights) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int part = blockIdx.y, head = blockIdx.z;
  const int begin = (long long)GROUPS * part / PARTS, end = (long long)GROUPS * (part + 1) / PARTS;
  size_t row[2], place[2];
  float shift[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    row[r] = (size_t)head * ROWS + (blockIdx.x * WARPS + threadIdx.x / 32) * 16 + g + 8 * r;
    place[r] = (size_t)part * HEADS * ROWS + row[r];
    shift[r] = shifts[row[r]];
  }
  float high[STEPS][4], low[STEPS][4];
#pragma unroll
  for (int s = 0; s < STEPS; ++s) {
    float q[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) q[k] = queries[row[k % 2] * WIDTH + 8 * s + 2 * t + k / 2];
    split<4>(q, high[s], low[s]);
  }

  for (int chunk = begin; chunk < end; chunk += CHUNK) {
    const int stop = chunk + CHUNK < end ? chunk + CHUNK : end;
    float sums[STEPS][4], weight[2] = {0, 0};
#pragma unroll
    for (int s = 0; s < STEPS; ++s)
#pragma unroll
      for (int k = 0; k < 4; ++k) sums[s][k] = 0;
    for (int group = chunk; group < stop; ++group) {
      float score[4] = {-shift[0], -shift[0], -shift[1], -shift[1]}, rest[4] = {0, 0, 0, 0};
#pragma unroll
      for (int s = 0; s < STEPS; ++s) {
        const Pair x = keys[((size_t)group * STEPS + s) * 32 + lane];
        float most[2], least[2];
        split<2>(x.value, most, least);
        multiply_add_tile(score, high[s], most);
        multiply_add_tile(rest, high[s], least);
        multiply_add_tile(rest, low[s], most);
      }
      float w[4];  // tokens 2t and 2t + 1 for both rows, in the order in which a product takes them
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int token = 8 * group + 2 * t + k / 2, from = 2 * (k % 2) + k / 2;
        w[k] = token < N ? exp2f(score[from] + rest[from]) : 0;
        weight[k % 2] += w[k];
      }
      float most_w[4], least_w[4];
      split<4>(w, most_w, least_w);
#pragma unroll
      for (int s = 0; s < STEPS; ++s) {
        const Pair x = values[((size_t)group * STEPS + s) * 32 + lane];
        float most[2], least[2];
        split<2>(x.value, most, least);
        multiply_add_tile(sums[s], most_w, least);
        multiply_add_tile(sums[s], least_w, most);
        multiply_add_tile(sums[s], most_w, most);
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float* own = weights + place[r] * 4 + t;
      *own = chunk == begin ? weight[r] : *own + weight[r];
#pragma unroll
      for (int s = 0; s < STEPS; ++s)
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          float* total = totals + place[r] * WIDTH + 8 * s + 2 * t + k;
          *total = chunk == begin ? sums[s][2 * r + k] : *total + sums[s][2 * r + k];
        }
    }
  }
}
