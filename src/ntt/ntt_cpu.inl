// Transforms on the CPU; included by one file for each field.
//
// The transform over x^N - 1 (or x^N + 1, the odd coset) is the walk down the tree that splits
// x^L - t^2 into x^(L/2) - t and x^(L/2) + t. All butterflies of a node share its twiddle t, which
// does not depend on N, and the odd coset is the subtree below node 1: its shift costs nothing.
// Walking down (butterfly u + t v, u - t v) goes from natural to reversed order; walking up
// (u + v, (u - v) / t) goes back.
//
// Cache:   the lowest kLeafLog levels of a block stay in L2. Above them, passes of up to kPassLog
//          levels copy kColumns neighbouring columns into a scratch block first, because rows that
//          lie a power of two apart would evict each other.

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "base/check.h"
#include "ntt/ntt.h"

namespace cuzk {
namespace ntt_internal {

inline constexpr unsigned kLeafLog = 12;
inline constexpr unsigned kPassLog = 8;
inline constexpr std::size_t kColumns = 8;
inline constexpr std::size_t kScaleChunk = 1024;

inline std::size_t reverse_bits(std::size_t v, unsigned bits) {
  std::size_t r = 0;
  for (unsigned i = 0; i < bits; ++i) r |= (v >> i & 1) << (bits - 1 - i);
  return r;
}

// A primitive 2^log2-th root of unity.
template <class Fr>
Fr root_of_unity(unsigned log2, std::uint64_t generator = Fr::Params::kGenerator) {
  Limbs<Fr::kLimbs> exponent = Fr::kModulus;
  exponent[0] -= 1;
  for (unsigned i = 0; i < log2; ++i) shift_right_in_place(exponent, 1);
  return Fr::from_u64(generator).pow(exponent);
}

template <class Fr>
Fr power_of_two(unsigned log2) {
  Fr r = Fr::one();
  for (unsigned i = 0; i < log2; ++i) r = r.dbl();
  return r;
}

// A node's twiddle t as sign * value. The inverse of a node's twiddle is minus the twiddle of its
// mirror image on the same level.
template <class Fr>
struct Twiddle {
  Fr value;
  bool negative;
};
template <bool kInverse, class Fr>
inline Twiddle<Fr> twiddle_of(const Domain<Fr>& domain, std::size_t node) {
  if (!kInverse || node == 0) return {domain.twiddle(node), false};
  const unsigned level = 63u - static_cast<unsigned>(__builtin_clzll(node));
  return {domain.twiddle((std::size_t{3} << level) - 1 - node), true};
}

enum class Walk { kDown, kUp };

// `levels` levels of the tree below `node` over 2^levels rows of `columns` elements each.
template <Walk kWalk, bool kInverse, class Fr>
void walk_block(const Domain<Fr>& domain, Fr* data, unsigned levels, std::size_t columns,
                std::size_t node) {
  for (unsigned step = 0; step < levels; ++step) {
    const unsigned level = kWalk == Walk::kDown ? step : levels - 1 - step;
    const std::size_t half = (columns << (levels - level)) / 2;
    for (std::size_t j = 0; j < std::size_t{1} << level; ++j) {
      const std::size_t v = (node << level) + j;
      Fr* low = data + 2 * half * j;
      Fr* high = low + half;
      if (v == 0) {
        for (std::size_t i = 0; i < half; ++i) {
          const Fr u = low[i];
          low[i] = u + high[i];
          high[i] = u - high[i];
        }
        continue;
      }
      const auto [t, negative] = twiddle_of<kInverse>(domain, v);
      if (negative) std::swap(low, high);
      if constexpr (kWalk == Walk::kDown) {
        // With t negative the roles of the outputs change, those of the inputs do not.
        const Fr* in_u = negative ? high : low;
        const Fr* in_v = negative ? low : high;
        for (std::size_t i = 0; i < half; ++i) {
          const Fr u = in_u[i];
          const Fr tv = t * in_v[i];
          low[i] = u + tv;
          high[i] = u - tv;
        }
      } else {
        Fr* sum = negative ? high : low;
        Fr* difference = negative ? low : high;
        for (std::size_t i = 0; i < half; ++i) {
          const Fr u = low[i];
          const Fr w = high[i];
          sum[i] = u + w;
          difference[i] = t * (u - w);
        }
      }
    }
  }
}

// `levels` levels starting `depth` levels below the root, on columns that lie 2^(k - depth -
// levels) apart; every result is multiplied by *scale where there is one.
template <Walk kWalk, bool kInverse, class Fr>
void walk_columns(Tasks& tasks, const Domain<Fr>& domain, Fr* data, unsigned depth, unsigned levels,
                  std::size_t root, const Fr* scale) {
  const unsigned stride_log = domain.log2_size() - depth - levels;
  const std::size_t groups = (std::size_t{1} << stride_log) / kColumns;
  const std::size_t rows = std::size_t{1} << levels;
  tasks.parallel_for(groups << depth, 16, [&](std::size_t begin, std::size_t end) {
    auto scratch = std::make_unique_for_overwrite<Fr[]>(rows * kColumns);
    for (std::size_t unit = begin; unit < end; ++unit) {
      const std::size_t block = unit / groups;
      Fr* base = data + (block << (stride_log + levels)) + unit % groups * kColumns;
      for (std::size_t r = 0; r < rows; ++r) {
        std::copy_n(base + (r << stride_log), kColumns, &scratch[r * kColumns]);
      }
      walk_block<kWalk, kInverse>(domain, scratch.get(), levels, kColumns, (root << depth) + block);
      for (std::size_t r = 0; r < rows; ++r) {
        Fr* out = base + (r << stride_log);
        const Fr* in = &scratch[r * kColumns];
        for (std::size_t c = 0; c < kColumns; ++c) out[c] = scale ? in[c] * *scale : in[c];
      }
    }
  });
}

template <Walk kWalk, bool kInverse, class Fr>
void walk_leaves(Tasks& tasks, const Domain<Fr>& domain, Fr* data, unsigned levels,
                 std::size_t root, const Fr* scale) {
  const unsigned depth = domain.log2_size() - levels;
  tasks.parallel_for(std::size_t{1} << depth, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      Fr* base = data + (block << levels);
      walk_block<kWalk, kInverse>(domain, base, levels, 1, (root << depth) + block);
      if (!scale) continue;
      for (std::size_t i = 0; i < std::size_t{1} << levels; ++i) base[i] *= *scale;
    }
  });
}

// The whole tree below `root`, 0 for the domain and 1 for the odd coset; results times *scale.
template <Walk kWalk, bool kInverse, class Fr>
void walk(Tasks& tasks, const Domain<Fr>& domain, Fr* data, std::size_t root, const Fr* scale) {
  const unsigned k = domain.log2_size();
  const unsigned leaf = std::min(k, kLeafLog);
  const unsigned top = k - leaf;
  const unsigned passes = (top + kPassLog - 1) / kPassLog;
  if constexpr (kWalk == Walk::kUp) {
    walk_leaves<kWalk, kInverse>(tasks, domain, data, leaf, root, passes ? nullptr : scale);
  }
  for (unsigned i = 0; i < passes; ++i) {
    const unsigned p = kWalk == Walk::kDown ? i : passes - 1 - i;
    const unsigned depth = top * p / passes;
    const unsigned levels = top * (p + 1) / passes - depth;
    const bool last = kWalk == Walk::kUp && p == 0;
    walk_columns<kWalk, kInverse>(tasks, domain, data, depth, levels, root, last ? scale : nullptr);
  }
  if constexpr (kWalk == Walk::kDown) {
    walk_leaves<kWalk, kInverse>(tasks, domain, data, leaf, root, scale);
  }
}

// data[i] *= factor * base^i.
template <class Fr>
void scale_natural(Tasks& tasks, std::span<Fr> data, const Fr& base, const Fr& factor) {
  tasks.parallel_for(data.size(), kScaleChunk, [&](std::size_t begin, std::size_t end) {
    Fr power = factor * base.pow(begin);
    for (std::size_t i = begin; i < end; ++i) {
      data[i] *= power;
      power *= base;
    }
  });
}

// data[i] *= factor * base^reverse(i).
template <class Fr>
void scale_reversed(Tasks& tasks, std::span<Fr> data, const Fr& base, const Fr& factor) {
  const unsigned k = Domain<Fr>::log2_for(data.size());
  const std::size_t low_count = std::min(kScaleChunk, data.size());
  std::vector<Fr> low(low_count);
  for (std::size_t i = 0; i < low_count; ++i) low[i] = base.pow(reverse_bits(i, k));
  tasks.parallel_for(data.size() / low_count, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t block = begin; block < end; ++block) {
      const Fr high = factor * base.pow(reverse_bits(block * low_count, k));
      for (std::size_t i = 0; i < low_count; ++i) data[block * low_count + i] *= high * low[i];
    }
  });
}

// 0 or 1 when the shift is that of a subtree, else nothing.
template <class Fr>
std::optional<std::size_t> subtree_of_shift(const Domain<Fr>& domain, const Fr& shift) {
  if (shift.is_one()) return 0;
  if (domain.has_odd_coset() && shift == domain.odd_shift()) return 1;
  return std::nullopt;
}

// data[i] = out_scalar(data[i]), where T replaces F in the same storage.
template <class Fr, class Op>
std::span<const typename Fr::Scalar> replace_by_scalars(Tasks& tasks, std::span<Fr> data, Op&& op) {
  using Scalar = typename Fr::Scalar;
  static_assert(sizeof(Scalar) == sizeof(Fr) && alignof(Scalar) == alignof(Fr));
  tasks.parallel_for(data.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Scalar s{op(i).limbs};
      std::construct_at(reinterpret_cast<Scalar*>(data.data() + i), s);
    }
  });
  return {std::launder(reinterpret_cast<const Scalar*>(data.data())), data.size()};
}

// x * plain(k) leaves Montgomery form: the canonical value of x k.
template <class Fr>
Fr plain(const Fr& k) {
  return Fr{k.to_scalar().limbs};
}

template <class Fr>
Status check_lengths(const Domain<Fr>& domain, std::span<Fr> a, std::span<Fr> b, std::span<Fr> c) {
  const std::size_t n = domain.size();
  if (a.size() == n && b.size() == n && c.size() == n) return {};
  return fail(ErrorCode::kInvalidArgument,
              "quotient: the domain has {} points, the vectors have {}, {} and {} values", n,
              a.size(), b.size(), c.size());
}

// Values of the three vectors in natural order to N times their coefficients in natural order.
template <class Fr>
void to_scaled_coefficients(Tasks& tasks, const Domain<Fr>& domain, std::span<Fr> a,
                            std::span<Fr> b, std::span<Fr> c) {
  for (std::span<Fr> v : {a, b, c}) {
    bit_reverse(tasks, v);
    walk<Walk::kUp, true>(tasks, domain, v.data(), 0, static_cast<const Fr*>(nullptr));
  }
}

}  // namespace ntt_internal

template <class Fr>
unsigned Domain<Fr>::log2_for(std::size_t count) {
  return count <= 1 ? 0u : 64u - static_cast<unsigned>(__builtin_clzll(count - 1));
}

template <class Fr>
Result<Domain<Fr>> Domain<Fr>::create(Tasks& tasks, MemoryBudget& budget, unsigned log2_size,
                                      std::uint64_t generator) {
  if (log2_size > Fr::Params::kTwoAdicity) {
    return fail(ErrorCode::kInvalidArgument,
                "a domain of 2^{} points does not exist in {}, whose largest has 2^{}", log2_size,
                Fr::Params::kName, Fr::Params::kTwoAdicity);
  }
  Domain d;
  d.log2_size_ = log2_size;
  d.omega_ = ntt_internal::root_of_unity<Fr>(log2_size, generator);
  d.omega_inverse_ = d.omega_.inverse();
  d.size_inverse_ = ntt_internal::power_of_two<Fr>(log2_size).inverse();
  if (d.has_odd_coset()) d.odd_shift_ = ntt_internal::root_of_unity<Fr>(log2_size + 1, generator);

  // Nodes of the domain lie below N / 2, those of the odd coset below N.
  const unsigned table_log = std::min(kTableLog, log2_size);
  const unsigned high_log = log2_size - table_log;
  CUZK_TRY(d.table_, Buffer<Fr>::allocate(budget, "ntt: twiddles", std::size_t{1} << table_log));
  CUZK_TRY(d.high_, Buffer<Fr>::allocate(budget, "ntt: twiddles", std::size_t{1} << high_log));
  // Bit b of a node contributes the root of order 2^(b + 2); a node of the domain has no bit whose
  // root the field lacks.
  const auto fill = [&](Buffer<Fr>& out, unsigned log, unsigned first_bit) {
    out[0] = Fr::one();
    for (unsigned b = 0; b < log; ++b) {
      const unsigned order_log = first_bit + b + 2;
      const Fr root = order_log <= Fr::Params::kTwoAdicity
                          ? ntt_internal::root_of_unity<Fr>(order_log, generator)
                          : Fr::zero();
      const std::size_t half = std::size_t{1} << b;
      tasks.parallel_for(half, 4096, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) out[half + i] = out[i] * root;
      });
    }
  };
  fill(d.table_, table_log, 0);
  fill(d.high_, high_log, table_log);
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "ntt: asked to stop");
  return d;
}

template <class Fr>
void forward_natural_to_reversed(Tasks& tasks, const Domain<Fr>& domain, std::span<Fr> data,
                                 const Fr& shift) {
  using namespace ntt_internal;
  CUZK_CHECK(data.size() == domain.size());
  const auto root = subtree_of_shift(domain, shift);
  if (!root) scale_natural(tasks, data, shift, Fr::one());
  walk<Walk::kDown, false>(tasks, domain, data.data(), root.value_or(0),
                           static_cast<const Fr*>(nullptr));
}

template <class Fr>
void forward_reversed_to_natural(Tasks& tasks, const Domain<Fr>& domain, std::span<Fr> data,
                                 const Fr& shift) {
  using namespace ntt_internal;
  CUZK_CHECK(data.size() == domain.size());
  if (!shift.is_one()) scale_reversed(tasks, data, shift, Fr::one());
  walk<Walk::kUp, false>(tasks, domain, data.data(), 0, static_cast<const Fr*>(nullptr));
}

template <class Fr>
void inverse_natural_to_reversed(Tasks& tasks, const Domain<Fr>& domain, std::span<Fr> data,
                                 const Fr& shift) {
  using namespace ntt_internal;
  CUZK_CHECK(data.size() == domain.size());
  const Fr scale = domain.size_inverse();
  const bool shifted = !shift.is_one();
  walk<Walk::kDown, true>(tasks, domain, data.data(), 0, shifted ? nullptr : &scale);
  if (shifted) scale_reversed(tasks, data, shift.inverse(), scale);
}

template <class Fr>
void inverse_reversed_to_natural(Tasks& tasks, const Domain<Fr>& domain, std::span<Fr> data,
                                 const Fr& shift) {
  using namespace ntt_internal;
  CUZK_CHECK(data.size() == domain.size());
  const Fr scale = domain.size_inverse();
  const auto root = subtree_of_shift(domain, shift);
  walk<Walk::kUp, true>(tasks, domain, data.data(), root.value_or(0), root ? &scale : nullptr);
  if (!root) scale_natural(tasks, data, shift.inverse(), scale);
}

template <class Fr>
void bit_reverse(Tasks& tasks, std::span<Fr> data) {
  using ntt_internal::reverse_bits;
  const unsigned k = Domain<Fr>::log2_for(data.size());
  CUZK_CHECK(data.size() == std::size_t{1} << k);
  // An index is (high, middle, low) of b, k - 2b and b bits; tiles of fixed middle change places,
  // so that whole cache lines move.
  const unsigned b = std::min(3u, k / 2);
  const unsigned middle_bits = k - 2 * b;
  const std::size_t side = std::size_t{1} << b;
  std::array<std::size_t, 8> small{};
  for (std::size_t i = 0; i < side; ++i) small[i] = reverse_bits(i, b);
  const auto at = [&](std::size_t high, std::size_t middle, std::size_t low) -> Fr& {
    return data[(high << (k - b)) | (middle << b) | low];
  };
  tasks.parallel_for(std::size_t{1} << middle_bits, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t m = begin; m < end; ++m) {
      const std::size_t rm = reverse_bits(m, middle_bits);
      if (rm < m) continue;
      for (std::size_t high = 0; high < side; ++high) {
        for (std::size_t low = 0; low < side; ++low) {
          if (rm == m && small[low] * side + small[high] <= high * side + low) continue;
          std::swap(at(high, m, low), at(small[low], rm, small[high]));
        }
      }
    }
  });
}

template <class Fr>
Result<std::span<const typename Fr::Scalar>> quotient(Tasks& tasks, const Domain<Fr>& domain,
                                                      std::span<Fr> a, std::span<Fr> b,
                                                      std::span<Fr> c) {
  using namespace ntt_internal;
  CUZK_TRY_VOID(check_lengths(domain, a, b, c));
  const unsigned k = domain.log2_size();
  const bool odd = domain.has_odd_coset();
  const Fr shift = odd ? domain.odd_shift() : Fr::from_u64(Fr::Params::kGenerator);
  const Fr* no_scale = nullptr;

  to_scaled_coefficients(tasks, domain, a, b, c);
  for (std::span<Fr> v : {a, b}) forward_natural_to_reversed(tasks, domain, v, shift);
  tasks.parallel_for(a.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) a[i] *= b[i];
  });
  walk<Walk::kUp, true>(tasks, domain, a.data(), odd ? 1 : 0, no_scale);
  if (!odd) scale_natural(tasks, a, shift.inverse(), Fr::one());

  // a = N^3 C', c = N C: h = (a - N^2 c) / (N^3 (s^N - 1)).
  const Fr square = power_of_two<Fr>(2 * k);
  const Fr vanishing = shift.pow(std::uint64_t{1} << k) - Fr::one();
  const Fr factor = plain((power_of_two<Fr>(3 * k) * vanishing).inverse());
  const auto h =
      replace_by_scalars(tasks, a, [&](std::size_t i) { return (a[i] - square * c[i]) * factor; });
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "quotient: asked to stop");
  return h.first(h.size() - 1);
}

template <class Fr>
Result<std::span<const typename Fr::Scalar>> odd_coset_values(Tasks& tasks,
                                                              const Domain<Fr>& domain,
                                                              std::span<Fr> a, std::span<Fr> b,
                                                              std::span<Fr> c) {
  using namespace ntt_internal;
  CUZK_TRY_VOID(check_lengths(domain, a, b, c));
  if (!domain.has_odd_coset()) {
    return fail(ErrorCode::kInvalidArgument, "{} has no root of order 2^{} for the odd coset",
                Fr::Params::kName, domain.log2_size() + 1);
  }
  to_scaled_coefficients(tasks, domain, a, b, c);
  for (std::span<Fr> v : {a, b, c}) {
    forward_natural_to_reversed(tasks, domain, v, domain.odd_shift());
  }
  const Fr n = power_of_two<Fr>(domain.log2_size());
  tasks.parallel_for(a.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) a[i] = a[i] * b[i] - n * c[i];
  });
  bit_reverse(tasks, a);
  const Fr factor = plain(power_of_two<Fr>(2 * domain.log2_size()).inverse());
  const auto out = replace_by_scalars(tasks, a, [&](std::size_t i) { return a[i] * factor; });
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "quotient: asked to stop");
  return out;
}

#define CUZK_NTT_INSTANTIATE(Fr)                                                                  \
  template class Domain<Fr>;                                                                      \
  template void forward_natural_to_reversed(Tasks&, const Domain<Fr>&, std::span<Fr>, const Fr&); \
  template void forward_reversed_to_natural(Tasks&, const Domain<Fr>&, std::span<Fr>, const Fr&); \
  template void inverse_natural_to_reversed(Tasks&, const Domain<Fr>&, std::span<Fr>, const Fr&); \
  template void inverse_reversed_to_natural(Tasks&, const Domain<Fr>&, std::span<Fr>, const Fr&); \
  template void bit_reverse(Tasks&, std::span<Fr>);                                               \
  template Result<std::span<const Fr::Scalar>> quotient(Tasks&, const Domain<Fr>&, std::span<Fr>, \
                                                        std::span<Fr>, std::span<Fr>);            \
  template Result<std::span<const Fr::Scalar>> odd_coset_values(                                  \
      Tasks&, const Domain<Fr>&, std::span<Fr>, std::span<Fr>, std::span<Fr>)

}  // namespace cuzk
