#pragma once
// Poseidon as a circuit: x^5 by three rows, linear layers for nothing.
//
// Cost:   311, 377, 505 and 598 rows for arities 2, 4, 8 and 11; one auxiliary variable a row.
// Source: neptune 11.0.0, src/circuit.rs (the circuit that Filecoin's parameters are for, not
//         circuit2.rs).

#include <span>
#include <vector>

#include "gadget/num.h"
#include "gadget/poseidon_params.h"

namespace cuzk::gadget {

namespace poseidon_internal {

// The state between the rounds: allocated numbers where they are still themselves, linear
// combinations elsewhere.
template <class CS>
class Permutation {
 public:
  using Fr = typename CS::Fr;
  using Num = typename CS::Num;
  using Lin = typename CS::Lin;

  Permutation(CS& cs, const PoseidonParams& params, std::span<const Num> inputs)
      : cs_(cs), params_(params), key_(params.compressed_round_constants.data()) {
    CUZK_CHECK(inputs.size() == params.arity);
    first_round(inputs);
  }

  Num run() {
    const std::size_t half = params_.half_full_rounds();
    for (std::size_t r = 1; r < half; ++r) {
      full_round(false);
      mix_dense(r + 1 == half ? params_.pre_sparse : params_.mds);
    }
    for (const PoseidonSparseMatrix& matrix : params_.sparse) {
      state_[0] = Lin(s_box(allocate(state_[0]), next_key()));
      mix_sparse(matrix);
    }
    for (std::size_t r = 0; r < half; ++r) {
      full_round(r + 1 == half);
      mix_dense(params_.mds);
    }
    return allocate(state_[1]);
  }

 private:
  const Fr* next_key() { return key_++; }

  // Element 0 is a constant: its S-box costs no row. The keys before it: one for each element, then
  // those after it.
  void first_round(std::span<const Num> inputs) {
    const Fr* pre = key_;
    const Fr* post = key_ + params_.width;
    key_ += 2 * params_.width;
    const Fr x = params_.domain_tag + pre[0];
    Lin constant;
    constant.add_constant(x.square().square() * x + post[0]);
    state_.push_back(std::move(constant));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      state_.emplace_back(first_s_box(inputs[i], pre[i + 1], post[i + 1]));
    }
    mix_dense(params_.mds);
  }

  void full_round(bool last) {
    for (Lin& element : state_) {
      element = Lin(s_box(allocate(element), last ? nullptr : next_key()));
    }
  }

  Num allocate(const Lin& lin) {
    const Num n = cs_.alloc(lin.value);
    cs_.enforce([&](auto& a, auto& b, auto& c) {
      a.add(lin);
      b.add_constant(Fr::one());
      c.add(n);
    });
    return n;
  }

  // (x + pre)^5 + post.
  Num first_s_box(const Num& x, const Fr& pre, const Fr& post) {
    if constexpr (CS::kRecordsRows) {
      return s_box_rows(x, &pre, &post);
    } else {
      return s_box_values(x.value + pre, &post);
    }
  }
  // x^5, plus the key if there is one.
  Num s_box(const Num& x, const Fr* post) {
    if constexpr (CS::kRecordsRows) {
      return s_box_rows(x, nullptr, post);
    } else {
      return s_box_values(x.value, post);
    }
  }
  Num s_box_values(const Fr& x, const Fr* post) {
    const Fr square = x.square(), fourth = square.square(), fifth = fourth * x;
    cs_.alloc(square);
    cs_.alloc(fourth);
    return cs_.alloc(post ? fifth + *post : fifth);
  }
  Num s_box_rows(const Num& x, const Fr* pre, const Fr* post) {
    const auto add_x = [&](auto& lin) {
      lin.add(x);
      if (pre) lin.add_constant(*pre);
    };
    const Num square = cs_.alloc({});
    cs_.enforce([&](auto& a, auto& b, auto& c) {
      add_x(a);
      add_x(b);
      c.add(square);
    });
    const Num fourth = multiply(cs_, square, square);
    const Num fifth = cs_.alloc({});
    cs_.enforce([&](auto& a, auto& b, auto& c) {
      add_x(a);
      b.add(fourth);
      c.add(fifth);
      if (post) c.add_constant(-*post);
    });
    return fifth;
  }

  void mix_dense(std::span<const Fr> matrix) {
    const std::size_t t = params_.width;
    std::vector<Lin> mixed(t);
    for (std::size_t j = 0; j < t; ++j) {
      for (std::size_t i = 0; i < t; ++i) mixed[j].add(state_[i], matrix[i * t + j]);
      mixed[j].normalise();
    }
    state_ = std::move(mixed);
  }

  void mix_sparse(const PoseidonSparseMatrix& matrix) {
    Lin first;
    for (std::size_t i = 0; i < params_.width; ++i) first.add(state_[i], matrix.w_hat[i]);
    first.normalise();
    for (std::size_t j = 1; j < params_.width; ++j) {
      state_[j].add(state_[0], matrix.v_rest[j - 1]);
      state_[j].normalise();
    }
    state_[0] = std::move(first);
  }

  CS& cs_;
  const PoseidonParams& params_;
  const Fr* key_;
  std::vector<Lin> state_;
};

}  // namespace poseidon_internal

// Hash of params.arity numbers.
template <class CS>
typename CS::Num poseidon(CS& cs, const PoseidonParams& params,
                          std::span<const typename CS::Num> inputs) {
  return poseidon_internal::Permutation<CS>(cs, params, inputs).run();
}

template <class CS>
typename CS::Num poseidon(CS& cs, std::span<const typename CS::Num> inputs) {
  return poseidon(cs, poseidon_params(inputs.size()), inputs);
}

}  // namespace cuzk::gadget
