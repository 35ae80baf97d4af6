// Gadgets against the reference: rows, witnesses, densities and evaluations, by digest and, for the
// small ones, byte by byte.

#include <algorithm>
#include <functional>

#include "field/bls12_381.h"
#include "gadget/golden_test_support.h"
#include "gadget/merkle.h"
#include "gadget/poseidon_hash.h"

namespace cuzk::gadget {
namespace {

using bls12_381::Fr;

const std::filesystem::path kGolden = std::filesystem::path(CUZK_TESTDATA_DIR) / "golden/gadgets";
const std::filesystem::path kSharedGolden =
    std::filesystem::path(CUZK_SHARED_DIR) / "golden/gadgets";

constexpr std::uint32_t kPoseidonArities[] = {8, 8};
constexpr std::uint32_t kShaArities[] = {2, 2, 2, 2, 2, 2};

template <class CS>
std::vector<typename CS::Num> alloc_all(CS& cs, std::size_t count, std::span<const Fr> values) {
  std::vector<typename CS::Num> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(cs.alloc(CS::value([&] { return values[i]; })));
  }
  return out;
}

// Poseidon path of two steps whose values lie in the auxiliaries of the reference's witness.
Path<Fr> poseidon_path(std::span<const Fr> aux) {
  Path<Fr> path;
  constexpr std::size_t kStepAux = 3 + 7 + 22 + 505;
  for (std::size_t step = 0; step < 2; ++step) {
    const auto at = aux.subspan(1 + step * kStepAux);
    PathStep<Fr>& s = path.emplace_back();
    for (std::size_t b = 0; b < 3; ++b) s.index |= std::uint64_t{at[b].is_one()} << b;
    s.siblings.assign(at.begin() + 3, at.begin() + 10);
  }
  return path;
}

// Allocates what the reference's program allocated before the gadget and calls it. `aux` are the
// reference's auxiliaries, for their leading ones are the inputs; empty when recording.
template <class CS>
void build(CS& cs, const std::string& name, std::span<const Fr> aux) {
  using Num = typename CS::Num;
  using Bit = typename CS::Bit;
  const auto nums = [&](std::size_t n) { return alloc_all(cs, n, aux); };
  const auto bits_after = [&](std::size_t first, std::size_t n) {
    std::vector<Bit> bits;
    for (std::size_t i = 0; i < n; ++i) {
      bits.push_back(cs.alloc_bit(CS::index([&] { return aux[first + i].is_one(); })));
    }
    return bits;
  };
  if (name == "alloc_inputize") {
    inputize(cs, nums(1)[0]);
  } else if (name == "to_bits_le") {
    to_bits_le(cs, nums(1)[0]);
  } else if (name == "num_mul_square") {
    const auto x = nums(2);
    multiply(cs, x[0], x[1]);
    multiply(cs, x[0], x[0]);
  } else if (name == "constraint_equal_sum_diff") {
    const auto x = nums(2);
    const Num sum = add(cs, x[0], x[1]);
    enforce_equal(cs, subtract(cs, sum, x[1]), x[0]);
  } else if (name == "uint64_pack_into_input") {
    pack_into_inputs<CS>(cs, cs.alloc_bits_u64(0x0123456789abcdef, 64));
  } else if (name == "pack_bits_253") {
    pack_bits<CS>(cs, bits_after(0, 253));
  } else if (name == "pack_into_inputs_6") {
    pack_into_inputs<CS>(cs, bits_after(0, 6));
  } else if (name == "encode") {
    const auto x = nums(2);
    add(cs, x[0], x[1]);
  } else if (name == "poseidon_gen_randomness") {
    poseidon<CS>(cs, poseidon_params(2, PoseidonDomain::kRandomness), nums(2));
  } else if (name.starts_with("poseidon_arity")) {
    poseidon<CS>(cs, nums(std::stoul(name.substr(14))));
  } else if (name.starts_with("insert_")) {
    const std::size_t n = std::stoul(name.substr(7));
    const auto x = nums(n);
    const auto bits = bits_after(n, static_cast<std::size_t>(std::countr_zero(n)));
    insert<CS>(cs, x[0], std::span(x).subspan(1), bits);
  } else if (name == "select_8") {
    const auto x = nums(8);
    select<CS>(cs, x, bits_after(8, 3));
  } else if (name == "sha256_512_bits") {
    // The reference's bits are those of the bytes, highest first.
    auto bits = bits_after(0, 512);
    for (std::size_t i = 0; i < 512; i += 32) {
      std::reverse(bits.begin() + static_cast<long>(i), bits.begin() + static_cast<long>(i) + 32);
    }
    sha256<CS>(cs, words_from_bits<CS>(bits));
  } else if (name == "sha256_tree_d_node") {
    Sha256Tree::hash<CS>(cs, nums(2));
  } else if (name == "por_poseidon_8_0_0_64") {
    Path<Fr> path;
    if (!aux.empty()) path = poseidon_path(aux);
    const Num value = nums(1)[0];
    const auto computed = merkle_root<PoseidonTree>(cs, value, kPoseidonArities, &path);
    pack_into_inputs<CS>(cs, computed.index_bits);
    const Num root = cs.alloc(CS::value([&] { return aux.back(); }));
    enforce_equal(cs, computed.root, root);
  } else if (name == "por_sha256_2_0_0_64") {
    CUZK_CHECK(CS::kRecordsRows);
    const Num value = nums(1)[0];
    const auto computed = merkle_root<Sha256Tree>(cs, value, kShaArities, nullptr);
    pack_into_inputs<CS>(cs, computed.index_bits);
    const Num root = cs.alloc(CS::value([] { return Fr{}; }));
    enforce_equal(cs, computed.root, root);
  } else {
    FAIL() << "no such gadget: " << name;
  }
}

const char* const kGadgets[] = {"alloc_inputize",
                                "to_bits_le",
                                "num_mul_square",
                                "constraint_equal_sum_diff",
                                "uint64_pack_into_input",
                                "pack_bits_253",
                                "pack_into_inputs_6",
                                "encode",
                                "poseidon_arity2",
                                "poseidon_arity4",
                                "poseidon_arity8",
                                "poseidon_arity11",
                                "poseidon_gen_randomness",
                                "insert_2",
                                "insert_4",
                                "insert_8",
                                "select_8",
                                "sha256_512_bits",
                                "sha256_tree_d_node",
                                "por_poseidon_8_0_0_64",
                                "por_sha256_2_0_0_64"};

CompactR1cs<Fr> record(const std::string& name) {
  Recorder<Fr> cs(name);
  build(cs, name, {});
  return cs.finish();
}

std::vector<Fr> elements(std::span<const std::uint8_t> bytes) {
  std::vector<Fr> out;
  for (std::size_t i = 0; i + 32 <= bytes.size(); i += 32) {
    out.push_back(Fr::from_bytes_le(bytes.subspan(i).first<32>()).value());
  }
  return out;
}

class Gadget : public testing::TestWithParam<const char*> {};

TEST_P(Gadget, RowsAreTheReferences) {
  const std::string name = GetParam();
  const auto r1cs = record(name);
  golden::expect_circuit(r1cs, golden::read_json(kGolden / (name + ".circuit.json")));
  golden::expect_segments(r1cs, kGolden / (name + ".r1cs_segments.tsv"), 1024);
  const auto bin = kGolden / (name + ".r1cs.bin");
  if (!std::filesystem::exists(bin)) return;
  std::vector<std::uint8_t> encoded;
  r1cs_encode<Fr>(r1cs, [&](ByteSpan b) { encoded.insert(encoded.end(), b.begin(), b.end()); });
  EXPECT_EQ(encoded, golden::read_bytes(bin));
}

TEST_P(Gadget, WitnessIsTheReferences) {
  const std::string name = GetParam();
  if (name == "por_sha256_2_0_0_64") {
    GTEST_SKIP() << "no witness is published for it; whole circuits cover it";
  }
  auto bin = kGolden / (name + ".witness.bin");
  if (!std::filesystem::exists(bin)) bin = kSharedGolden / (name + ".witness.bin");
  if (!std::filesystem::exists(bin)) GTEST_SKIP() << bin << " is not there";
  const auto expected = golden::read_json(kGolden / (name + ".circuit.json"));
  const auto reference = elements(golden::read_bytes(bin));
  const std::size_t num_inputs = expected.at("num_inputs_including_one");

  Tasks tasks(2);
  WitnessBuilder<Fr> cs(tasks);
  build(cs, name, std::span(reference).subspan(num_inputs));
  const auto witness = cs.finish();
  ASSERT_EQ(witness.inputs.size(), num_inputs);
  ASSERT_EQ(witness.num_aux(), reference.size() - num_inputs);
  for (std::size_t i = 0; i < witness.num_aux(); ++i) {
    ASSERT_EQ(witness.aux(i), reference[num_inputs + i]) << "auxiliary " << i;
  }
  golden::expect_witness(tasks, record(name), witness, expected);
}

INSTANTIATE_TEST_SUITE_P(Golden, Gadget, testing::ValuesIn(kGadgets),
                         [](const auto& gadget) { return std::string(gadget.param); });

}  // namespace
}  // namespace cuzk::gadget
