#pragma once
// The points of a .zkey's sections: one, all that a query needs, or all of them checked.
//
// Form:    in the file as in memory (affine, Montgomery, the identity zero), but not aligned.
// Threads: uses context.tasks.

#include <atomic>
#include <bit>
#include <cstring>
#include <string>

#include "curve/encoding.h"
#include "curve/endomorphism.h"
#include "format/input_bytes.h"
#include "groth16/context.h"
#include "r1cs/density.h"

namespace cuzk::format::zkey_internal {

template <class G>
Affine<G> load_point(const std::uint8_t* bytes) {
  Affine<G> p;
  std::memcpy(&p, bytes, sizeof p);
  return p;
}

template <class P>
bool is_reduced(const Fp<P>& v) {
  constexpr std::size_t kTop = Fp<P>::kLimbs - 1;
  return v.limbs[kTop] < P::kModulus[kTop] || compare(v.limbs, P::kModulus) < 0;
}
template <class F>
bool is_reduced(const Fp2<F>& v) {
  return is_reduced(v.c0) && is_reduced(v.c1);
}

// What is wrong with a point; empty when nothing is.
template <class G>
std::string_view problem_of(const Affine<G>& p, PointCheck check) {
  if (!is_reduced(p.x) || !is_reduced(p.y)) return "a coordinate is not below the field's prime";
  if (check == PointCheck::kFormOnly) return {};
  if (!p.is_on_curve()) return "the point is not on the curve";
  if (check == PointCheck::kSubgroup && !is_in_subgroup(p)) {
    return "the point is on the curve but outside the subgroup of prime order";
  }
  return {};
}

// The lowest of the indices that several tasks find wrong.
class FirstBad {
 public:
  static constexpr std::size_t kNone = SIZE_MAX;
  void report(std::size_t index) {
    std::size_t seen = index_.load();
    while (index < seen && !index_.compare_exchange_weak(seen, index)) {
    }
  }
  std::size_t index() const { return index_; }

 private:
  std::atomic<std::size_t> index_{kNone};
};

inline constexpr std::size_t kPointsPerTask = std::size_t{1} << 14;

template <class G>
Status check_all_points(const groth16::Context& context, const InputBytes& input, ByteSpan section,
                        const std::string& what) {
  constexpr std::size_t kBytes = sizeof(Affine<G>);
  const std::size_t count = section.size() / kBytes;
  FirstBad bad;
  context.tasks.parallel_for(count, kPointsPerTask / 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto p = load_point<G>(section.data() + i * kBytes);
      if (!problem_of(p, PointCheck::kSubgroup).empty()) return bad.report(i);
    }
    input.done_with(section.subspan(begin * kBytes, (end - begin) * kBytes));
  });
  if (context.tasks.stop_requested()) return fail(ErrorCode::kCancelled, "{}: stopped", what);
  if (bad.index() == FirstBad::kNone) return {};
  const auto p = load_point<G>(section.data() + bad.index() * kBytes);
  return fail(ErrorCode::kCorruptInput, "{}[{}] of {}: {}", what, bad.index(), count,
              problem_of(p, PointCheck::kSubgroup));
}

// Every point of a section, its form checked.
template <class G>
Result<Buffer<Affine<G>>> read_all_points(const groth16::Context& context, const InputBytes& input,
                                          ByteSpan section, const std::string& what) {
  constexpr std::size_t kBytes = sizeof(Affine<G>);
  const std::size_t count = section.size() / kBytes;
  CUZK_TRY(auto out, Buffer<Affine<G>>::allocate(context.memory, what, count));
  FirstBad bad;
  context.tasks.parallel_for(count, kPointsPerTask, [&](std::size_t begin, std::size_t end) {
    const ByteSpan part = section.subspan(begin * kBytes, (end - begin) * kBytes);
    std::memcpy(static_cast<void*>(out.data() + begin), part.data(), part.size());
    input.done_with(part);
    for (std::size_t i = begin; i < end; ++i) {
      if (!problem_of(out[i], PointCheck::kFormOnly).empty()) return bad.report(i);
    }
  });
  if (context.tasks.stop_requested()) return fail(ErrorCode::kCancelled, "{}: stopped", what);
  if (bad.index() == FirstBad::kNone) return out;
  return fail(ErrorCode::kCorruptInput, "{}[{}] of {}: {}", what, bad.index(), count,
              problem_of(out[bad.index()], PointCheck::kFormOnly));
}

// The wires of a section that a query keeps: inputs first, then auxiliaries.
struct WireSelection {
  std::size_t num_inputs = 0;
  const VariableSet* inputs = nullptr;  // null: all of them
  const VariableSet* aux = nullptr;

  bool keeps(std::size_t wire) const {
    if (wire >= num_inputs) return aux->contains(wire - num_inputs);
    return !inputs || inputs->contains(wire);
  }
  std::size_t count() const { return (inputs ? inputs->count : num_inputs) + aux->count; }
};

// The points of the selected wires, in order. A wire that is left out occurs in no row of the
// matrix, so its point must be the identity: with another one this would be no key of these rows.
template <class G>
Result<Buffer<Affine<G>>> read_selected_points(const groth16::Context& context,
                                               const InputBytes& input, ByteSpan section,
                                               const WireSelection& selection,
                                               const std::string& what) {
  constexpr std::size_t kBytes = sizeof(Affine<G>);
  const std::size_t wires = section.size() / kBytes;
  CUZK_TRY(auto out, Buffer<Affine<G>>::allocate(context.memory, what, selection.count()));
  const std::size_t blocks = (wires + kPointsPerTask - 1) / kPointsPerTask;
  std::vector<std::size_t> first_of_block(blocks + 1);  // where a block's points begin in `out`
  for (std::size_t wire = 0; wire < wires; ++wire) {
    first_of_block[wire / kPointsPerTask + 1] += selection.keeps(wire);
  }
  for (std::size_t b = 0; b < blocks; ++b) first_of_block[b + 1] += first_of_block[b];

  FirstBad bad;
  context.tasks.parallel_for(blocks, 1, [&](std::size_t from, std::size_t to) {
    const std::size_t begin = from * kPointsPerTask, end = std::min(to * kPointsPerTask, wires);
    std::size_t k = first_of_block[from];
    for (std::size_t wire = begin; wire < end; ++wire) {
      const auto p = load_point<G>(section.data() + wire * kBytes);
      if (selection.keeps(wire)) {
        if (!problem_of(p, PointCheck::kFormOnly).empty()) return bad.report(wire);
        out[k++] = p;
      } else if (!p.is_identity()) {
        return bad.report(wire);
      }
    }
    input.done_with(section.subspan(begin * kBytes, (end - begin) * kBytes));
  });
  if (context.tasks.stop_requested()) return fail(ErrorCode::kCancelled, "{}: stopped", what);
  if (bad.index() == FirstBad::kNone) return out;
  return fail(ErrorCode::kCorruptInput, "{}[{}] of {}: {}", what, bad.index(), wires,
              selection.keeps(bad.index())
                  ? "a coordinate is not below the field's prime"
                  : "a point stands for a wire that occurs in no row of the matrix");
}

}  // namespace cuzk::format::zkey_internal
