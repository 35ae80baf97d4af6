#pragma once
// Inverses of many elements for the price of one inversion and three products each (Montgomery
// 1987, section 10.3.1).
//
// Shape:   values in place; zeros stay zero and disturb nobody.
// Needs:   F with zero(), one(), is_zero(), inverse() and products: the prime fields and Fp2.
// Memory:  one F of scratch for each value, given by the caller or taken from the heap.
// Threads: one call works alone; split the span for several.

#include <span>
#include <vector>

#include "base/check.h"

namespace cuzk {

// scratch.size() >= values.size(); its content is overwritten.
template <class F>
void batch_inverse(std::span<F> values, std::span<F> scratch) {
  CUZK_CHECK(scratch.size() >= values.size());
  F product = F::one();
  for (std::size_t i = 0; i < values.size(); ++i) {
    scratch[i] = product;  // of the non-zero values before i
    if (!values[i].is_zero()) product *= values[i];
  }
  F inverse = product.inverse();
  for (std::size_t i = values.size(); i-- > 0;) {
    if (values[i].is_zero()) continue;
    const F value = values[i];
    values[i] = inverse * scratch[i];
    inverse *= value;
  }
}

template <class F>
void batch_inverse(std::span<F> values) {
  std::vector<F> scratch(values.size());
  batch_inverse(values, std::span<F>(scratch));
}

}  // namespace cuzk
