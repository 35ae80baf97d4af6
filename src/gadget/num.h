#pragma once
// Field elements as variables: inputs, sums, bits, packing.
//
// Source: bellpepper-core 0.2.1 gadgets/num.rs, bellpepper gadgets/multipack.rs, and
//         storage-proofs-core 14.1.0, src/gadgets/{constraint,uint64}.rs.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "gadget/recorder.h"
#include "gadget/witness_builder.h"

namespace cuzk::gadget {

// Bits that always fit an element.
template <class Fr>
inline constexpr std::size_t kCapacityBits = Fr::kBits - 1;

// Makes the value of `x` public: a new input, equal to x.
template <class CS>
void inputize(CS& cs, const typename CS::Num& x) {
  const auto input = cs.alloc_input(x.value);
  cs.enforce([&](auto& a, auto& b, auto& c) {
    a.add(input);
    b.add_constant(CS::Fr::one());
    c.add(x);
  });
}

template <class CS>
void enforce_equal(CS& cs, const typename CS::Num& x, const typename CS::Num& y) {
  cs.enforce([&](auto& a, auto& b, auto& c) {
    a.add(x);
    b.add_constant(CS::Fr::one());
    c.add(y);
  });
}

template <class CS>
typename CS::Num add(CS& cs, const typename CS::Num& x, const typename CS::Num& y) {
  const auto sum = cs.alloc(x.value + y.value);
  cs.enforce([&](auto& a, auto& b, auto& c) {
    a.add(x);
    a.add(y);
    b.add_constant(CS::Fr::one());
    c.add(sum);
  });
  return sum;
}

template <class CS>
typename CS::Num subtract(CS& cs, const typename CS::Num& x, const typename CS::Num& y) {
  const auto difference = cs.alloc(x.value - y.value);
  cs.enforce([&](auto& a, auto& b, auto& c) {
    a.add(difference);
    a.add(y);
    b.add_constant(CS::Fr::one());
    c.add(x);
  });
  return difference;
}

template <class CS>
typename CS::Num multiply(CS& cs, const typename CS::Num& x, const typename CS::Num& y) {
  const auto product = cs.alloc(x.value * y.value);
  cs.enforce([&](auto& a, auto& b, auto& c) {
    a.add(x);
    b.add(y);
    c.add(product);
  });
  return product;
}

// All bits of x, lowest first. No check that they are those of the reduced representative.
template <class CS>
std::vector<typename CS::Bit> to_bits_le(CS& cs, const typename CS::Num& x) {
  using Fr = typename CS::Fr;
  auto bits = cs.alloc_bits(x.value, Fr::kBits);
  cs.enforce([&](auto&, auto&, auto& c) {
    for (std::size_t i = 0; i < bits.size(); ++i) c.add(bits[i], power_of_two<Fr>(i));
    c.subtract(x);
  });
  return bits;
}

// Sum of 2^i * bits[i].
template <class CS>
typename CS::Value packed_value(const CS&, std::span<const typename CS::Bit> bits) {
  using Fr = typename CS::Fr;
  CUZK_CHECK(bits.size() <= kCapacityBits<Fr>);
  if constexpr (CS::kRecordsRows) {
    return {};
  } else {
    typename Fr::Scalar sum;
    for (std::size_t i = 0; i < bits.size(); ++i) {
      sum.limbs[i / 64] |= std::uint64_t{bits[i].value()} << (i % 64);
    }
    return Fr::from_scalar(sum);
  }
}

template <class CS>
void enforce_packed(CS& cs, std::span<const typename CS::Bit> bits, const typename CS::Num& sum) {
  cs.enforce([&](auto& a, auto& b, auto& c) {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      a.add(bits[i], power_of_two<typename CS::Fr>(i));
    }
    b.add_constant(CS::Fr::one());
    c.add(sum);
  });
}

// The number whose bits, lowest first, are given: at most kCapacityBits.
template <class CS>
typename CS::Num pack_bits(CS& cs, std::span<const typename CS::Bit> bits) {
  const auto sum = cs.alloc(packed_value(cs, bits));
  enforce_packed(cs, bits, sum);
  return sum;
}

// Public inputs that hold the bits, kCapacityBits in each.
template <class CS>
void pack_into_inputs(CS& cs, std::span<const typename CS::Bit> bits) {
  while (!bits.empty()) {
    const auto chunk = bits.first(std::min(bits.size(), kCapacityBits<typename CS::Fr>));
    enforce_packed(cs, chunk, cs.alloc_input(packed_value(cs, chunk)));
    bits = bits.subspan(chunk.size());
  }
}

template <class CS>
typename CS::Value picked_value(typename CS::Bit condition, const typename CS::Num& x,
                                const typename CS::Num& y) {
  if constexpr (CS::kRecordsRows) {
    return {};
  } else {
    return condition.value() ? x.value : y.value;
  }
}

// condition ? x : y.
template <class CS>
typename CS::Num pick(CS& cs, typename CS::Bit condition, const typename CS::Num& x,
                      const typename CS::Num& y) {
  const auto picked = cs.alloc(picked_value<CS>(condition, x, y));
  cs.enforce([&](auto& a, auto& b, auto& c) {
    a.add(y);
    a.subtract(x);
    b.add(condition);
    c.add(y);
    c.subtract(picked);
  });
  return picked;
}

}  // namespace cuzk::gadget
