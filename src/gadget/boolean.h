#pragma once
// Boolean functions with the constant cases of bellpepper: which of them cost a row, and which are
// a renaming, decides the circuit.
//
// Source: bellpepper-core 0.2.1, gadgets/boolean.rs.

namespace cuzk::gadget {

template <class CS>
typename CS::Bit bit_xor(CS& cs, typename CS::Bit x, typename CS::Bit y) {
  if (x.is_constant()) return x.constant_value() ? !y : y;
  if (y.is_constant()) return y.constant_value() ? !x : x;
  const auto r = cs.alloc_xor_of_variables(x, y);
  return x.is_negated() != y.is_negated() ? !r : r;
}

template <class CS>
typename CS::Bit bit_and(CS& cs, typename CS::Bit x, typename CS::Bit y) {
  using Bit = typename CS::Bit;
  if (x.is_constant()) return x.constant_value() ? y : Bit::constant(false);
  if (y.is_constant()) return y.constant_value() ? x : Bit::constant(false);
  // Of one negated and one plain factor the plain one comes first.
  if (x.is_negated() && !y.is_negated()) return cs.alloc_and(y, x);
  return cs.alloc_and(x, y);
}

// x ? y : z, as SHA-256 uses it.
template <class CS>
typename CS::Bit bit_choice(CS& cs, typename CS::Bit x, typename CS::Bit y, typename CS::Bit z) {
  if (x.is_constant() && y.is_constant() && z.is_constant()) {
    return x.constant_value() ? y : z;
  }
  if (x.is_constant() && !x.constant_value()) return z;
  if (y.is_constant() && !y.constant_value()) return bit_and(cs, !x, z);
  if (z.is_constant()) return z.constant_value() ? !bit_and(cs, x, !y) : bit_and(cs, x, y);
  if (y.is_constant()) return !bit_and(cs, !x, !z);
  return cs.alloc_choice(x, y, z);  // also for x the constant true
}

// What at least two of the three are.
template <class CS>
typename CS::Bit bit_majority(CS& cs, typename CS::Bit x, typename CS::Bit y, typename CS::Bit z) {
  using Bit = typename CS::Bit;
  if (x.is_constant() && y.is_constant() && z.is_constant()) {
    const int sum = x.constant_value() + y.constant_value() + z.constant_value();
    return Bit::constant(sum >= 2);
  }
  if (x.is_constant() && !x.constant_value()) return bit_and(cs, y, z);
  if (y.is_constant() && !y.constant_value()) return bit_and(cs, x, z);
  if (z.is_constant()) return z.constant_value() ? !bit_and(cs, !x, !y) : bit_and(cs, x, y);
  if (y.is_constant()) return !bit_and(cs, !x, !z);
  if (x.is_constant()) return !bit_and(cs, !y, !z);
  return cs.alloc_majority(x, y, z, [&](Bit p, Bit q) { return bit_and(cs, p, q); });
}

}  // namespace cuzk::gadget
