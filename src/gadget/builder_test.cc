// The two builders against each other and against plain computation.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/hash.h"
#include "field/bls12_381.h"
#include "field/bn254.h"
#include "gadget/merkle.h"
#include "gadget/poseidon_hash.h"
#include "r1cs/density.h"
#include "r1cs/digest.h"
#include "r1cs/eval.h"

namespace cuzk::gadget {
namespace {

using bls12_381::Fr;
using Rec = Recorder<Fr>;
using Wit = WitnessBuilder<Fr>;

// Runs a gadget on both builders and expects the witness to satisfy the rows.
template <class F>
CompactWitness<Fr> expect_satisfied(F&& gadget) {
  Rec recorder("test");
  gadget(recorder);
  const auto r1cs = recorder.finish();
  Tasks tasks(2);
  Wit builder(tasks);
  gadget(builder);
  auto witness = builder.finish();
  const Status status = check_satisfied(tasks, r1cs, witness);
  EXPECT_TRUE(status) << status.error().message;
  EXPECT_GE(r1cs.num_full_aux, witness.full_values().size());
  return witness;
}

// Words whose bits are constants, variables and negations at random, with the values they have.
struct MixedWord {
  std::uint32_t value, constants, negated;
};
MixedWord random_mixed(RandomSource& rng) {
  const auto word = [&] { return static_cast<std::uint32_t>(rng.next_u64()); };
  std::uint32_t constants = word() & word();
  if (rng.next_u64() % 4 == 0) constants = 0;
  if (rng.next_u64() % 8 == 0) constants = ~0u;
  return {word(), constants, word() & ~constants};
}
template <class CS>
typename CS::Word make(CS& cs, const MixedWord& m) {
  std::array<typename CS::Bit, 32> bits;
  for (unsigned i = 0; i < 32; ++i) {
    const bool v = m.value >> i & 1;
    if (m.constants >> i & 1) {
      bits[i] = CS::Bit::constant(v);
    } else if (m.negated >> i & 1) {
      bits[i] = !cs.alloc_bit(!v);
    } else {
      bits[i] = cs.alloc_bit(v);
    }
  }
  return CS::Word::from_bits(bits);
}

TEST(WordGadgets, AnyMixOfConstantsAndNegationsHolds) {
  SeededRandom rng(1);
  for (int round = 0; round < 300; ++round) {
    const MixedWord x = random_mixed(rng), y = random_mixed(rng), z = random_mixed(rng);
    std::uint32_t sum = 0, exclusive = 0, choice = 0, majority = 0, shifted = 0;
    expect_satisfied([&]<class CS>(CS& cs) {
      const auto a = make(cs, x), b = make(cs, y), c = make(cs, z);
      const auto s0 = word_xor(cs, word_xor(cs, a.rotr(7), b.shr(3)), c);
      const auto s1 = word_xor(cs, a, b);
      const auto ch = word_choice(cs, a, b, c);
      const auto maj = word_majority(cs, a, b, c);
      MultiEq<CS> equalities(cs);
      const std::array<typename CS::Word, 5> operands = {a, b, c, s0, ch};
      const auto total = word_sum<CS>(cs, equalities, operands);
      word_sum<CS>(cs, equalities, std::array<typename CS::Word, 2>{total, maj});
      equalities.flush();
      if constexpr (!CS::kRecordsRows) {
        sum = total.value;
        exclusive = s1.value;
        choice = ch.value;
        majority = maj.value;
        shifted = s0.value;
      }
    });
    EXPECT_EQ(exclusive, x.value ^ y.value);
    EXPECT_EQ(shifted, std::rotr(x.value, 7) ^ (y.value >> 3) ^ z.value);
    EXPECT_EQ(choice, (x.value & y.value) | (~x.value & z.value));
    EXPECT_EQ(majority, (x.value & y.value) | (x.value & z.value) | (y.value & z.value));
    EXPECT_EQ(sum, x.value + y.value + z.value + shifted + choice);
  }
}

TEST(Sha256Gadget, DigestIsSha256OfTheWords) {
  SeededRandom rng(2);
  for (const std::size_t words : {0u, 1u, 13u, 14u, 16u, 29u, 30u, 40u}) {
    std::vector<std::uint8_t> message(4 * words);
    rng.fill(message);
    std::array<std::uint8_t, 32> digest{};
    expect_satisfied([&]<class CS>(CS& cs) {
      std::vector<typename CS::Word> in;
      for (std::size_t i = 0; i < words; ++i) {
        in.push_back(make(cs, {load_be32(message.data() + 4 * i), i % 3 == 1 ? ~0u : 0u, 0}));
      }
      const auto out = sha256<CS>(cs, in);
      if constexpr (!CS::kRecordsRows) {
        for (std::size_t i = 0; i < 8; ++i) store_be32(digest.data() + 4 * i, out[i].value);
      }
    });
    EXPECT_EQ(digest, cuzk::sha256(message)) << words;
  }
}

TEST(PoseidonGadget, ResultIsTheHash) {
  SeededRandom rng(3);
  for (const std::size_t arity : {2u, 4u, 8u, 11u}) {
    std::vector<Fr> inputs(arity);
    for (Fr& v : inputs) v = Fr::random(rng);
    inputs[0] = Fr::zero();
    Fr result;
    expect_satisfied([&]<class CS>(CS& cs) {
      std::vector<typename CS::Num> nums;
      for (const Fr& v : inputs) nums.push_back(cs.alloc(CS::value([&] { return v; })));
      const auto hash = poseidon<CS>(cs, nums);
      if constexpr (!CS::kRecordsRows) result = hash.value;
    });
    EXPECT_EQ(result, poseidon_hash(poseidon_params(arity), inputs));
  }
}

TEST(Insertion, EveryPlaceHoldsItsElement) {
  SeededRandom rng(4);
  for (const std::size_t size : {2u, 4u, 8u}) {
    for (std::size_t place = 0; place < size; ++place) {
      std::vector<Fr> expected(size), got;
      for (Fr& v : expected) v = Fr::random(rng);
      Fr selected;
      expect_satisfied([&]<class CS>(CS& cs) {
        std::vector<typename CS::Num> siblings;
        for (std::size_t i = 0; i < size; ++i) {
          if (i != place) {
            siblings.push_back(cs.alloc(CS::value([&] { return expected[i]; })));
          }
        }
        const auto element = cs.alloc(CS::value([&] { return expected[place]; }));
        const auto bits = cs.alloc_bits_u64(place, std::countr_zero(size));
        const auto all = insert<CS>(cs, element, siblings, bits);
        const auto chosen = select<CS>(cs, all, bits);
        if constexpr (!CS::kRecordsRows) {
          for (const auto& n : all) got.push_back(n.value);
          selected = chosen.value;
        }
      });
      EXPECT_EQ(got, expected) << "place " << place << " of " << size;
      EXPECT_EQ(selected, expected[place]);
    }
  }
}

// A chain of squares under one shared number, with an input in each instance.
template <class CS>
void repeated_squares(CS& cs, std::uint32_t count, bool by_hand, std::span<const Fr> values) {
  const auto shared = cs.alloc(CS::value([&] { return values[0]; }));
  inputize(cs, shared);
  const auto body = [&](CS& own, std::uint32_t i) {
    const auto step = own.scope("inner", 0);
    const auto x = own.alloc(CS::value([&] { return values[i]; }));
    const auto bits = to_bits_le(own, add(own, multiply(own, x, x), shared));
    pack_into_inputs<CS>(own, bits);
  };
  if (by_hand) {
    for (std::uint32_t i = 0; i < count; ++i) body(cs, i);
  } else {
    cs.repeat(count, "square", body);
  }
  inputize(cs, multiply(cs, shared, shared));
}

TEST(Repeat, PlacedCopiesEqualInstancesWrittenOut) {
  SeededRandom rng(5);
  std::vector<Fr> values(7);
  for (Fr& v : values) v = Fr::random(rng);
  for (const std::uint32_t count : {0u, 1u, 2u, 7u}) {
    Rec compact("r"), flat("r");
    repeated_squares(compact, count, false, values);
    repeated_squares(flat, count, true, values);
    const auto a = compact.finish(), b = flat.finish();
    EXPECT_EQ(r1cs_digest(a), r1cs_digest(b));
    EXPECT_EQ(a.num_full_aux, b.num_full_aux);
    EXPECT_EQ(b.blocks.size(), 1u);
    EXPECT_EQ(a.blocks.size(), count ? 3u : 1u);
    EXPECT_EQ(a.segments.size(), count ? 2u + count : 1u);

    Tasks tasks(2);
    Wit parallel(tasks), serial(tasks);
    repeated_squares(parallel, count, false, values);
    repeated_squares(serial, count, true, values);
    const auto w = parallel.finish();
    EXPECT_EQ(witness_digest(w), witness_digest(serial.finish()));
    EXPECT_TRUE(check_satisfied(tasks, a, w));
    EXPECT_TRUE(check_satisfied(tasks, b, w));
  }
}

TEST(Repeat, PathsNameEveryInstance) {
  Rec cs("r");
  repeated_squares(cs, 3, false, {});
  const auto r1cs = cs.finish();
  const Segment& last = r1cs.segments[3];
  EXPECT_EQ(row_path(r1cs, last.row_base), "r > square 2 > inner 0");
  EXPECT_EQ(row_path(r1cs, last.row_base - 1), "r > square 1 > inner 0");
  EXPECT_EQ(row_path(r1cs, 0), "r");
}

TEST(Repeat, InstancesThatDifferBreakAnInvariant) {
  const auto recorded = [](auto&& body) {
    Rec cs("r");
    const auto outside = std::array{cs.alloc({}), cs.alloc({})};
    cs.repeat(3, "x", [&](Rec& own, std::uint32_t i) { body(own, i, outside); });
  };
  EXPECT_NO_THROW(recorded([](Rec& cs, std::uint32_t, auto& o) { inputize(cs, o[0]); }));
  EXPECT_THROW(recorded([](Rec& cs, std::uint32_t i, auto& o) { inputize(cs, o[i % 2]); }),
               InvariantError);
  EXPECT_THROW(recorded([](Rec& cs, std::uint32_t i, auto& o) {
                 if (i == 0) inputize(cs, o[0]);
               }),
               InvariantError);
  EXPECT_THROW(recorded([](Rec& cs, std::uint32_t i, auto&) {
                 if (i == 1) cs.alloc({});
               }),
               InvariantError);
  EXPECT_THROW(recorded([](Rec& cs, std::uint32_t i, auto& o) {
                 cs.enforce([&](auto& a, auto&, auto&) { a.add(o[0], Fr::from_u64(i + 5)); });
               }),
               InvariantError);
  EXPECT_THROW(recorded([](Rec& cs, std::uint32_t, auto&) {
                 cs.repeat(2, "nested", [](Rec&, std::uint32_t) {});
               }),
               InvariantError);
}

// Pairs of outside numbers and bits, and results that the next round takes up.
template <class CS>
void repeated_pairs(CS& cs, bool by_hand, std::span<const Fr> values) {
  using Num = typename CS::Num;
  std::vector<Num> round;
  for (const Fr& v : values) round.push_back(cs.alloc(CS::value([&] { return v; })));
  const auto shared = cs.alloc(CS::value([&] { return values[0]; }));
  for (; round.size() > 1;) {
    const auto count = static_cast<std::uint32_t>(round.size() / 2);
    const auto body = [&](CS& own, std::uint32_t i) {
      const auto product = multiply(own, add(own, round[2 * i + 1], round[2 * i]), shared);
      own.alloc_bits(product.value, 3);
      return add(own, product, round[2 * i]);
    };
    std::vector<Num> next;
    if (by_hand) {
      for (std::uint32_t i = 0; i < count; ++i) next.push_back(body(cs, i));
    } else {
      next = cs.repeat(
          count, "pair",
          [&](std::uint32_t i) {
            return std::vector<Num>(round.begin() + 2 * i, round.begin() + 2 * i + 2);
          },
          body);
    }
    round = std::move(next);
  }
  inputize(cs, round[0]);
}

TEST(Repeat, InstancesReferToOutsideVariablesOfTheirOwn) {
  SeededRandom rng(6);
  std::vector<Fr> values(16);
  for (Fr& v : values) v = Fr::random(rng);
  Rec compact("r"), flat("r");
  repeated_pairs(compact, false, values);
  repeated_pairs(flat, true, values);
  const auto a = compact.finish(), b = flat.finish();
  EXPECT_EQ(r1cs_digest(a), r1cs_digest(b));
  EXPECT_EQ(a.num_full_aux, b.num_full_aux);
  EXPECT_EQ(a.ports.size(), 2 * (8u + 4 + 2 + 1));
  const Density da = compute_density(a), db = compute_density(b);
  EXPECT_EQ(da.a_aux.digest(), db.a_aux.digest());
  EXPECT_EQ(da.b_aux.digest(), db.b_aux.digest());

  Tasks tasks(2);
  Wit parallel(tasks), serial(tasks);
  repeated_pairs(parallel, false, values);
  repeated_pairs(serial, true, values);
  const auto w = parallel.finish();
  EXPECT_EQ(witness_digest(w), witness_digest(serial.finish()));
  const Status satisfied = check_satisfied(tasks, a, w);
  EXPECT_TRUE(satisfied) << satisfied.error().message;
}

TEST(Repeat, OutsideVariablesThatDoNotFitBreakAnInvariant) {
  const auto recorded = [](auto&& outside_of, auto&& body) {
    Rec cs("r");
    const auto o = std::array{cs.alloc({}), cs.alloc({}), cs.alloc({}), cs.alloc({})};
    using Nums = std::vector<RecordedNum>;
    cs.repeat(
        2, "x", [&](std::uint32_t i) -> Nums { return outside_of(i, o); },
        [&](Rec& own, std::uint32_t i) { body(own, i, o); });
  };
  using Nums = std::vector<RecordedNum>;
  const auto two = [](std::uint32_t i, auto& o) { return Nums{o[2 * i], o[2 * i + 1]}; };
  const auto use = [](Rec& cs, std::uint32_t i, auto& o) {
    enforce_equal(cs, o[2 * i], o[2 * i + 1]);
  };
  EXPECT_NO_THROW(recorded(two, use));
  // Another of the instance's two, a descending list, lists of two lengths, one not listed.
  EXPECT_THROW(recorded(two, [](Rec& cs, std::uint32_t i, auto& o) { inputize(cs, o[3 * i]); }),
               InvariantError);
  EXPECT_THROW(recorded(
                   [](std::uint32_t i, auto& o) {
                     return Nums{o[2 * i + 1], o[2 * i]};
                   },
                   use),
               InvariantError);
  EXPECT_THROW(recorded([](std::uint32_t i, auto& o) { return Nums(o.begin(), o.begin() + 1 + i); },
                        [](Rec& cs, std::uint32_t, auto& o) { inputize(cs, o[0]); }),
               InvariantError);
  EXPECT_THROW(recorded([](std::uint32_t i, auto& o) { return Nums{o[2 * i]}; }, use),
               InvariantError);
}

TEST(Recorder, EqualVariablesMergeAndZeroCoefficientsVanish) {
  Rec cs("r");
  const auto x = cs.alloc({}), y = cs.alloc({});
  cs.enforce([&](auto& a, auto& b, auto& c) {
    a.add(y);
    a.add(x, Fr::from_u64(3));
    a.add_constant(Fr::from_u64(7));
    a.add(x, Fr::from_u64(4));
    a.add_constant(-Fr::from_u64(7));
    b.add(x);
    b.subtract(x);
    c.add(y, Fr::from_u64(2));
    c.subtract(y);
  });
  const auto r1cs = cs.finish();
  const auto& m = r1cs.blocks[0].matrices;
  ASSERT_EQ(m[0].terms.size(), 2u);  // 7 x + y
  EXPECT_EQ(r1cs.dictionary[m[0].terms[0].coefficient], Fr::from_u64(7));
  EXPECT_EQ(m[0].terms[0].column, ColumnRef::make(ColumnRef::kLocalAux, 0));
  EXPECT_EQ(m[0].terms[1].coefficient, 0u);
  EXPECT_TRUE(m[1].terms.empty());
  ASSERT_EQ(m[2].terms.size(), 1u);
  EXPECT_EQ(m[2].terms[0].coefficient, 0u);
}

TEST(NumGadgets, WorkOverBn254) {
  using F = bn254::Fr;
  const auto gadget = []<class CS>(CS& cs) {
    const auto x = cs.alloc(CS::value([] { return -F::from_u64(5); }));
    const auto bits = to_bits_le(cs, x);
    inputize(cs, pack_bits<CS>(cs, std::span(bits).first(kCapacityBits<F>)));
    pack_into_inputs<CS>(cs, bits);
  };
  Recorder<F> recorder("bn254");
  gadget(recorder);
  Tasks tasks(1);
  WitnessBuilder<F> builder(tasks);
  gadget(builder);
  const auto witness = builder.finish();
  EXPECT_EQ(witness.inputs.size(), 4u);  // one, the packed number, 253 bits and the last one
  EXPECT_TRUE(check_satisfied(tasks, recorder.finish(), witness));
}

}  // namespace
}  // namespace cuzk::gadget
