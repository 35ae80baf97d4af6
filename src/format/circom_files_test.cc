// Readers and writers of circom's files: golden files, every way to be malformed that we know of.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "circom/decimal.h"
#include "format/circom_test_files.h"
#include "format/r1cs_file.h"
#include "format/snarkjs_json.h"
#include "format/wtns.h"
#include "format/zkey.h"

namespace cuzk::format {
namespace {

using namespace circom_test;
using circom::CurveId;

class CircomFiles : public ::testing::Test {
 protected:
  groth16::Context context() { return {tasks, memory, timeline}; }

  template <class T>
  void expect_error(const Result<T>& result, ErrorCode code, std::string_view words) {
    ASSERT_FALSE(result.has_value()) << words;
    EXPECT_EQ(result.error().code, code) << result.error().message;
    EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
  }
  void expect_error(const Status& status, ErrorCode code, std::string_view words) {
    ASSERT_FALSE(status.has_value()) << words;
    EXPECT_EQ(status.error().code, code) << status.error().message;
    EXPECT_NE(status.error().message.find(words), std::string::npos) << status.error().message;
  }

  // Reads everything that there is in a key.
  Status read_all(Bytes bytes) {
    CUZK_TRY(const auto file, ZkeyFile::parse(input(std::move(bytes))));
    CUZK_TRY(const auto header, file.header());
    CUZK_TRY_VOID(file.contributions());
    return circom::with_curve(header.curve, [&]<class Curve>() -> Status {
      CUZK_TRY(const auto key, file.load<Curve>(context()));
      CUZK_TRY_VOID(key.proving.h_query.points(context()));
      CUZK_TRY_VOID(key.proving.l_query.points(context()));
      CUZK_TRY_VOID(key.proving.a_query.points(context()));
      CUZK_TRY_VOID(key.proving.b_g1_query.points(context()));
      CUZK_TRY_VOID(key.proving.b_g2_query.points(context()));
      return {};
    });
  }

  Bytes edge_zkey() { return read_bytes(testdata() / "bn128/edge/circuit_final.zkey"); }

  Tasks tasks{2};
  MemoryBudget memory{std::size_t{64} << 20};
  Timeline timeline;
};

TEST(Decimal, RoundTripsAndTakesOneSpellingOnly) {
  SeededRandom random(1);
  for (int i = 0; i < 200; ++i) {
    const auto v = bls12_381::Fq::random(random).to_scalar().limbs;
    const auto back =
        circom::from_decimal(std::string_view(circom::to_decimal(v)), bls12_381::Fq::kModulus);
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, v);
  }
  const auto& r = bn254::Fr::kModulus;
  EXPECT_EQ(circom::to_decimal(Limbs<4>{}), "0");
  EXPECT_EQ(circom::to_decimal(Limbs<4>{0, 1}), "18446744073709551616");
  EXPECT_EQ(circom::to_decimal(Limbs<4>{circom::kTenTo19}), "10000000000000000000");
  EXPECT_EQ(circom::to_decimal(r),
            "21888242871839275222246405745257275088548364400416034343698204186575808495617");
  for (const char* bad :
       {"", "00", "01", "-1", "+1", "0x1", "1e3", " 1", "1 ", "1.0",
        "21888242871839275222246405745257275088548364400416034343698204186575808495617",
        "99999999999999999999999999999999999999999999999999999999999999999999999999999"}) {
    EXPECT_FALSE(circom::from_decimal(std::string_view(bad), r)) << bad;
  }
  EXPECT_TRUE(circom::from_decimal(std::string_view("0"), r));
}

TEST(CurveNames, EveryUsualSpellingIsKnown) {
  for (const char* name : {"bn128", "bn254", "alt_bn128", "altbn128", "BN254"}) {
    EXPECT_EQ(circom::curve_of_name(name), CurveId::kBn254) << name;
  }
  for (const char* name : {"bls12381", "bls12-381", "BLS12_381"}) {
    EXPECT_EQ(circom::curve_of_name(name), CurveId::kBls12_381) << name;
  }
  EXPECT_FALSE(circom::curve_of_name("bls12-377"));
  EXPECT_FALSE(circom::curve_of_name(""));
}

TEST_F(CircomFiles, VerificationKeysEqualThoseThatSnarkjsExports) {
  for (const Vector& v : made_vectors(testdata())) {
    SCOPED_TRACE(v.name);
    const auto file = ZkeyFile::parse(InputBytes::open(v.zkey).value()).value();
    circom::with_curve(file.header()->curve, [&]<class Curve>() {
      const auto vk = file.verifying_key<Curve>(PointCheck::kSubgroup);
      ASSERT_TRUE(vk) << vk.error().message;
      EXPECT_EQ(write_verification_key_json(*vk), read_text(v.vk));
      const auto back = read_verification_key_json<Curve>(read_text(v.vk), "vk");
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(back->ic, vk->ic);
      EXPECT_EQ(back->delta_g2, vk->delta_g2);
    });
  }
}

TEST_F(CircomFiles, ProofsAndPublicSignalsAreWrittenAsSnarkjsWritesThem) {
  for (const Vector& v : made_vectors(testdata())) {
    SCOPED_TRACE(v.name);
    const auto curve = *circom::curve_of_name(v.name.substr(0, v.name.find('/')));
    circom::with_curve(curve, [&]<class Curve>() {
      const std::string proof_text = read_text(v.folder / "proof.json");
      const auto proof = read_proof_json<Curve>(proof_text, "proof");
      ASSERT_TRUE(proof) << proof.error().message;
      EXPECT_EQ(write_proof_json(*proof), proof_text);
      const std::string public_text = read_text(v.folder / "public.json");
      const auto signals = read_public_json<typename Curve::Fr>(public_text, "public");
      ASSERT_TRUE(signals) << signals.error().message;
      EXPECT_EQ(write_public_json<typename Curve::Fr>(*signals), public_text);
      const auto line = write_proof_json(*proof, JsonStyle::kRapidsnark);
      EXPECT_EQ(line.find('\n'), std::string::npos);
      EXPECT_EQ(line.find("curve"), std::string::npos);
      EXPECT_EQ(*read_proof_json<Curve>(line, "line"), *proof);
    });
  }
  const Proof<Bn254> nothing{};
  const auto back = read_proof_json<Bn254>(write_proof_json(nothing), "identities");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, nothing);
}

TEST_F(CircomFiles, ProofJsonIsReadStrictly) {
  const std::string good = read_text(testdata() / "bn128/mul/proof.json");
  ASSERT_TRUE(read_proof_json<Bn254>(good, "good"));
  const auto changed = [&](auto change) {
    auto json = nlohmann::json::parse(good);
    change(json);
    return read_proof_json<Bn254>(json.dump(), "proof");
  };
  const auto corrupt = ErrorCode::kCorruptInput;
  expect_error(changed([](auto& j) { j["protocol"] = "plonk"; }), corrupt, "plonk");
  expect_error(changed([](auto& j) { j.erase("pi_b"); }), corrupt, "pi_b is missing");
  expect_error(changed([](auto& j) { j["pi_a"][0] = 5; }), corrupt, "expected a string");
  expect_error(changed([](auto& j) { j["pi_a"][0] = "0x5"; }), corrupt, "0x5");
  expect_error(changed([](auto& j) { j["pi_a"].push_back("1"); }), corrupt, "an array of 3");
  expect_error(changed([](auto& j) { j["pi_a"][2] = "2"; }), corrupt, "third coordinate");
  expect_error(changed([](auto& j) { j["pi_a"] = {"0", "0", "1"}; }), corrupt, "(0, 0)");
  expect_error(changed([](auto& j) { j["curve"] = "bls12381"; }), ErrorCode::kMismatch,
               "bls12-381");
  expect_error(changed([](auto& j) { j["curve"] = "bn129"; }), corrupt, "bn129");
  EXPECT_TRUE(changed([](auto& j) { j["curve"] = "bn254"; }));
  EXPECT_TRUE(changed([](auto& j) { j.erase("curve"); }));
  expect_error(read_proof_json<Bn254>("", "empty"), corrupt, "not valid JSON");
  expect_error(read_proof_json<Bn254>(std::string_view(), "nothing"), corrupt, "not valid JSON");
  expect_error(read_proof_json<Bn254>("[]", "array"), corrupt, "JSON object");
  expect_error(read_proof_json<Bn254>(R"({"protocol":"groth16","protocol":"groth16"})", "twice"),
               corrupt, "stands twice");
  for (std::size_t n = 0; n < good.size(); ++n) {
    EXPECT_FALSE(read_proof_json<Bn254>(std::string_view(good).substr(0, n), "cut")) << n;
  }
}

TEST_F(CircomFiles, PublicSignalsAreCanonicalDecimalStrings) {
  const auto read = [](std::string_view text) {
    return read_public_json<bn254::Fr>(text, "public.json");
  };
  EXPECT_EQ(read("[]")->size(), 0u);
  EXPECT_EQ(
      read(
          R"(["0","21888242871839275222246405745257275088548364400416034343698204186575808495616"])")
          ->size(),
      2u);
  for (const char* bad :
       {R"(["21888242871839275222246405745257275088548364400416034343698204186575808495617"])",
        R"(["-1"])", R"(["0x21"])", R"(["1e3"])", R"(["007"])", "[7]", R"([""])", R"([["1"]])",
        "null", R"({"0":"1"})", R"("1")"}) {
    expect_error(read(bad), ErrorCode::kCorruptInput, "public.json");
  }
  expect_error(read(R"(["1","-1"])"), ErrorCode::kCorruptInput, "public.json[1]");
}

TEST_F(CircomFiles, VerificationKeysAreReadStrictly) {
  const std::string good = read_text(testdata() / "bls12381/poseidon/verification_key.json");
  const auto changed = [&](auto change) {
    auto json = nlohmann::json::parse(good);
    change(json);
    return read_verification_key_json<Bls12_381>(json.dump(), "vk");
  };
  const auto corrupt = ErrorCode::kCorruptInput;
  EXPECT_TRUE(changed([](auto&) {}));
  EXPECT_TRUE(changed([](auto& j) { j.erase("vk_alphabeta_12"); }));
  expect_error(changed([](auto& j) { j["nPublic"] = 2147483648u; }), corrupt, "2147483648");
  expect_error(changed([](auto& j) { j["IC"] = nlohmann::json::array(); }), corrupt, "IC has 0");
  expect_error(changed([](auto& j) { j["vk_alpha_1"][0] = "1"; }), corrupt, "not on the curve");
  expect_error(changed([](auto& j) { j["protocol"] = "fflonk"; }), corrupt, "fflonk");
  expect_error(changed([](auto& j) { j["vk_delta_2"][0][1] = "1"; }), corrupt, "vk_delta_2");
  // The point of the vectors' invalid proof lies on the twist, outside the subgroup.
  const auto cases =
      nlohmann::json::parse(read_text(testdata() / "bls12381/poseidon/verify_cases.json"));
  for (const auto& c : cases) {
    if (c.at("name") != "b_outside_subgroup") continue;
    expect_error(changed([&](auto& j) { j["vk_delta_2"] = c.at("proof").at("pi_b"); }), corrupt,
                 "outside the subgroup");
  }
}

// T22: no .zkey at all.
TEST_F(CircomFiles, WhatIsNoZkeyIsSaidToBeNone) {
  expect_error(read_all({}), ErrorCode::kCorruptInput, "empty");
  for (const std::string text : {"hello", "<html><body>404</body></html>", "\x1f\x8b\x08", "zke"}) {
    expect_error(read_all(Bytes(text.begin(), text.end())), ErrorCode::kCorruptInput,
                 "not a .zkey");
  }
  Bytes many = edge_zkey();
  put_u32(many, 8, 0xffffffff);
  expect_error(read_all(many), ErrorCode::kCorruptInput, "declares 4294967295 sections");
  Bytes wide = edge_zkey();
  std::memset(wide.data() + 16, 0xff, 8);  // the first section's size
  expect_error(read_all(wide), ErrorCode::kCorruptInput, "18446744073709551615 bytes");
  Bytes longer = edge_zkey();
  longer.push_back(0);
  expect_error(read_all(longer), ErrorCode::kCorruptInput, "");
}

TEST_F(CircomFiles, EveryCutOfAZkeyIsRefused) {
  const Bytes whole = edge_zkey();
  ASSERT_TRUE(read_all(whole));
  for (std::size_t n = 0; n < whole.size(); n += n < 2000 ? 1 : 97) {
    EXPECT_FALSE(read_all(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n))))
        << n;
  }
}

// T23: numbers without the bytes for them.
TEST_F(CircomFiles, DeclaredCountsAreComparedWithTheSections) {
  constexpr std::size_t kCounts = 4 + 32 + 4 + 32;  // in the header of BN254
  const auto with = [&](std::uint32_t id, std::size_t offset, std::uint32_t value) {
    Bytes bytes = edge_zkey();
    put_u32(section(bytes, "zkey", id), offset, value);
    return read_all(bytes);
  };
  const auto corrupt = ErrorCode::kCorruptInput;
  expect_error(with(2, kCounts, 0xffffffff), corrupt, "wires");
  expect_error(with(2, kCounts, 500'000'000), corrupt, "the header asks for 500000000 points");
  expect_error(with(2, kCounts, 1), corrupt, "cannot hold");
  expect_error(with(2, kCounts + 4, 0xffffffff), corrupt, "public signals");
  expect_error(with(2, kCounts + 8, 0x80000000), corrupt, "section 9 (H)");
  expect_error(with(2, kCounts + 8, 24), corrupt, "no power of two");
  expect_error(with(2, kCounts + 8, 0), corrupt, "no power of two");
  expect_error(with(4, 0, 0xffffffff), corrupt, "4294967295 coefficients");
  expect_error(with(10, 64, 0xffffffff), corrupt, "section 10");
  expect_error(with(1, 0, 2), corrupt, "PLONK key, a Groth16 key is needed");
  expect_error(with(1, 0, 10), corrupt, "FFLONK");
  expect_error(with(1, 0, 7), corrupt, "protocol 7");
  expect_error(with(2, 4, 5), corrupt, "primes");
  EXPECT_LT(memory.peak_bytes(), std::size_t{1} << 20);
}

// T24: coefficients that point outside.
TEST_F(CircomFiles, CoefficientsAreCheckedOneByOne) {
  const auto with = [&](std::size_t record, auto change) {
    Bytes bytes = edge_zkey();
    change(section(bytes, "zkey", 4).subspan(4 + record * 44, 44));
    return read_all(bytes);
  };
  const auto corrupt = ErrorCode::kCorruptInput;
  expect_error(with(0, [](auto r) { put_u32(r, 0, 7); }), corrupt, "[0] of 53: matrix 7");
  expect_error(with(3, [](auto r) { put_u32(r, 4, 16); }), corrupt, "[3] of 53: row 16");
  expect_error(with(5, [](auto r) { put_u32(r, 8, 19); }), corrupt, "[5] of 53: wire 19");
  expect_error(with(6, [](auto r) { std::memset(r.data() + 12, 0xff, 32); }), corrupt, "[6] of 53");
  // The last two rows tie the constant one and the public signal.
  expect_error(with(52, [](auto r) { put_u32(r, 8, 3); }), corrupt, "do not tie");
  expect_error(with(52, [](auto r) { put_u32(r, 0, 1); }), corrupt, "do not tie");
  expect_error(with(51, [](auto r) { r[12] ^= 1; }), corrupt, "do not tie");
}

TEST_F(CircomFiles, SectionsMayStandInAnyOrderButNotTwice) {
  const Bytes whole = edge_zkey();
  const auto sections = Iden3Sections::parse(whole, "test", "zkey", 1).value();
  const auto assemble = [&](std::vector<std::size_t> order) {
    Bytes out(whole.begin(), whole.begin() + 12);
    put_u32(out, 8, static_cast<std::uint32_t>(order.size()));
    for (const std::size_t i : order) {
      const auto& s = sections.all()[i];
      const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(s.offset) - 12;
      out.insert(out.end(), begin, begin + 12 + static_cast<std::ptrdiff_t>(s.size));
    }
    return out;
  };
  EXPECT_TRUE(read_all(assemble({9, 3, 1, 0, 8, 7, 6, 5, 4, 2})));
  expect_error(read_all(assemble({0, 1, 2, 3, 4, 5, 6, 7, 8})), ErrorCode::kCorruptInput,
               "missing");
  expect_error(read_all(assemble({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 5})), ErrorCode::kCorruptInput,
               "stands twice");
}

// T26: points that are none.
TEST_F(CircomFiles, CheckPointsNamesSectionAndIndexOfABadPoint) {
  const auto check = [&](Bytes bytes) -> Status {
    CUZK_TRY(const auto file, ZkeyFile::parse(input(std::move(bytes))));
    return circom::with_curve(file.header()->curve,
                              [&]<class Curve>() { return file.check_points<Curve>(context()); });
  };
  const auto corrupt = ErrorCode::kCorruptInput;
  EXPECT_TRUE(check(edge_zkey()));
  for (const auto& [id, size, words] :
       {std::tuple{5u, 64u, "section 5 (A)[2] of 19: the point is not on the curve"},
        std::tuple{7u, 128u, "section 7 (B2)[2] of 19: the point is not on the curve"},
        std::tuple{9u, 64u, "section 9 (H)[2] of 16: the point is not on the curve"},
        std::tuple{3u, 64u, "section 3 (IC)[1]"}}) {
    Bytes bytes = edge_zkey();
    section(bytes, "zkey", id)[(id == 3 ? 1u : 2u) * size] ^= 1;
    expect_error(check(bytes), corrupt, words);
  }
  Bytes head = edge_zkey();
  section(head, "zkey", 2)[84 + 2 * 64] ^= 1;
  expect_error(check(head), corrupt, "beta_g2");
  Bytes unreduced = edge_zkey();
  std::memset(section(unreduced, "zkey", 5).data() + 64, 0xff, 32);
  expect_error(check(unreduced), corrupt, "not below the field's prime");
  expect_error(read_all(unreduced), corrupt, "section 5 (A)[1] of 19: a coordinate");
}

TEST_F(CircomFiles, APointOfAWireOutsideTheMatrixIsRefused) {
  Bytes bytes = edge_zkey();
  const auto b1 = section(bytes, "zkey", 6);
  std::size_t wire = 0;
  while (std::any_of(b1.begin() + static_cast<std::ptrdiff_t>(wire * 64),
                     b1.begin() + static_cast<std::ptrdiff_t>(wire * 64 + 64),
                     [](std::uint8_t b) { return b != 0; })) {
    ++wire;
  }
  std::memcpy(b1.data() + wire * 64, section(bytes, "zkey", 9).data(), 64);
  expect_error(read_all(bytes), ErrorCode::kCorruptInput, "occurs in no row");
}

TEST_F(CircomFiles, ContributionsAreListedAndTheLastOnesDeltaIsTheKeys) {
  const auto file = ZkeyFile::parse(input(edge_zkey())).value();
  const auto contributions = file.contributions();
  ASSERT_TRUE(contributions) << contributions.error().message;
  EXPECT_EQ(contributions->size(), 1u);
  EXPECT_FALSE(contributions->front().is_beacon);
  Bytes bytes = edge_zkey();
  section(bytes, "zkey", 10)[68] ^= 1;
  expect_error(ZkeyFile::parse(input(bytes))->contributions(), ErrorCode::kCorruptInput,
               "not the key's delta_g1");
}

TEST_F(CircomFiles, EveryFlippedByteOfAZkeyIsRefusedOrHarmless) {
  // Never a crash, whatever the byte; the sections of points are looked at by check_points.
  Bytes bytes = read_bytes(testdata() / "bn128/mul/circuit_final.zkey");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const std::uint8_t flip : {0x01, 0x80, 0xff}) {
      bytes[i] ^= flip;
      const auto status = read_all(bytes);
      if (!status) {
        EXPECT_FALSE(status.error().message.empty());
      }
      bytes[i] ^= flip;
    }
  }
  EXPECT_TRUE(read_all(bytes));
}

// T15: a witness that ends early.
TEST_F(CircomFiles, EveryCutOfAWitnessIsRefused) {
  const Bytes whole = read_bytes(testdata() / "bn128/edge/witness.wtns");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_FALSE(WtnsFile::parse(
        input(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)))))
        << n;
  }
  const auto file = WtnsFile::parse(input(whole)).value();
  EXPECT_EQ(file.num_values(), 19u);
  const auto witness = file.to_witness<bn254::Fr>(tasks, 1);
  ASSERT_TRUE(witness) << witness.error().message;
  EXPECT_EQ(witness->inputs.size(), 2u);
  EXPECT_EQ(witness->num_aux(), 17u);
  std::vector<bn254::Fr> values(witness->inputs);
  for (std::size_t i = 0; i < witness->num_aux(); ++i) values.push_back(witness->aux(i));
  EXPECT_EQ(encode_wtns<bn254::Fr>(values), whole);
}

// T16, T17: values that no witness has.
TEST_F(CircomFiles, WitnessValuesAreCanonicalAndTheFirstIsOne) {
  const Bytes whole = read_bytes(testdata() / "bn128/edge/witness.wtns");
  const auto with = [&](std::size_t wire, auto change) {
    Bytes bytes = whole;
    change(section(bytes, "wtns", 2).subspan(wire * 32, 32));
    const auto file = WtnsFile::parse(input(bytes)).value();
    return file.to_witness<bn254::Fr>(tasks, 1);
  };
  const auto set = [](const Limbs<4>& v) {
    return [v](std::span<std::uint8_t> at) { std::memcpy(at.data(), v.data(), 32); };
  };
  const auto plus_r = [](std::span<std::uint8_t> at) {
    Limbs<4> v;
    std::memcpy(v.data(), at.data(), 32);
    ASSERT_EQ(add_in_place(v, bn254::Fr::kModulus), 0u);
    std::memcpy(at.data(), v.data(), 32);
  };
  const auto corrupt = ErrorCode::kCorruptInput;
  expect_error(with(7, set(bn254::Fr::kModulus)), corrupt,
               "value 7 is 2188824287183927522224640574525");
  expect_error(with(18, set({~0ull, ~0ull, ~0ull, ~0ull})), corrupt, "value 18 is");
  expect_error(with(1, plus_r), corrupt, "value 1 is");
  expect_error(with(0, set({2})), ErrorCode::kUnsatisfied, "value 0 is 2, it must be 1");
  expect_error(with(0, set({0})), ErrorCode::kUnsatisfied, "value 0 is 0");
}

TEST_F(CircomFiles, WitnessesOfManyPiecesAreTheirValues) {
  SeededRandom random(3);
  std::vector<bn254::Fr> values = {bn254::Fr::one()};
  while (values.size() < 300'001) {
    values.push_back(values.size() % 3 ? bn254::Fr::from_u64(values.size() % 2)
                                       : bn254::Fr::random(random));
  }
  const auto file = WtnsFile::parse(input(encode_wtns<bn254::Fr>(values))).value();
  const auto witness = file.to_witness<bn254::Fr>(tasks, 100).value();
  ASSERT_EQ(witness.num_aux(), values.size() - 101);
  for (std::size_t i = 0; i < witness.num_aux(); ++i)
    ASSERT_EQ(witness.aux(i), values[101 + i]) << i;
}

TEST_F(CircomFiles, CircuitsAreReadAsDeclared) {
  for (const Vector& v : made_vectors(testdata())) {
    SCOPED_TRACE(v.name);
    const auto file = R1csFile::parse(InputBytes::open(v.folder / "circuit.r1cs").value());
    ASSERT_TRUE(file) << file.error().message;
    const auto& h = file->header();
    const auto zkey = ZkeyFile::parse(InputBytes::open(v.zkey).value()).value();
    EXPECT_EQ(h.curve, zkey.header()->curve);
    EXPECT_EQ(h.num_wires, zkey.header()->num_wires);
    EXPECT_EQ(h.num_public(), zkey.header()->num_public);
    circom::with_curve(h.curve, [&]<class Curve>() {
      using Fr = typename Curve::Fr;
      const auto program = file->load<Fr>(tasks, memory);
      ASSERT_TRUE(program) << program.error().message;
      const auto wtns = WtnsFile::parse(InputBytes::open(v.wtns).value()).value();
      const auto witness = wtns.to_witness<Fr>(tasks, h.num_public()).value();
      const auto symbols = circom::Symbols::parse(read_text(v.folder / "circuit.sym"), "sym");
      ASSERT_TRUE(symbols) << symbols.error().message;
      const Status status = circom::check_satisfied(tasks, *program, witness, *symbols);
      EXPECT_TRUE(status) << status.error().message;
    });
  }
}

// T35 and worse.
TEST_F(CircomFiles, MalformedCircuitsAreRefused) {
  const Bytes whole = read_bytes(testdata() / "bn128/edge/circuit.r1cs");
  const auto load = [&](Bytes bytes) -> Status {
    CUZK_TRY(const auto file, R1csFile::parse(input(std::move(bytes))));
    CUZK_TRY_VOID(file.load<bn254::Fr>(tasks, memory));
    return {};
  };
  ASSERT_TRUE(load(whole));
  for (std::size_t n = 0; n < whole.size(); n += n < 300 ? 1 : 13) {
    EXPECT_FALSE(load(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)))) << n;
  }
  const auto with = [&](std::uint32_t id, std::size_t offset, std::uint32_t value) {
    Bytes bytes = whole;
    put_u32(section(bytes, "r1cs", id), offset, value);
    return load(bytes);
  };
  const auto corrupt = ErrorCode::kCorruptInput;
  expect_error(with(2, 0, 0xffffffff), corrupt, "constraint 0: a sum of 4294967295 terms");
  expect_error(with(2, 4, 19), corrupt, "constraint 0, term 0: wire 19, the header declares 19");
  expect_error(with(1, 36, 0xffffffff), corrupt, "cannot hold");
  expect_error(with(1, 36, 18), corrupt, "");
  expect_error(with(1, 60, 15), corrupt, "");
  expect_error(with(1, 60, 13), corrupt, "left over");
  expect_error(with(1, 60, 0xffffffff), corrupt, "4294967295 constraints");
  expect_error(with(3, 8, 0xffffffff), corrupt, "wire 1 has label");
  // Wires shifted by one, as a compiler that counts from 1 writes them.
  Bytes shifted = whole;
  const auto constraints = section(shifted, "r1cs", 2);
  for (std::size_t at = 0; at < constraints.size();) {
    std::uint32_t count;
    std::memcpy(&count, constraints.data() + at, 4);
    at += 4;
    for (; count > 0; --count, at += 36) {
      std::uint32_t wire;
      std::memcpy(&wire, constraints.data() + at, 4);
      put_u32(constraints, at, wire + 1);
    }
  }
  expect_error(load(shifted), corrupt, "wire 19, the header declares 19 wires");
}

TEST(Symbols, AreParsedLineByLine) {
  const auto symbols = circom::Symbols::parse(
      "1,1,0,main.out\n2,-1,0,main.gone\r\n3,2,0,main.a\n4,2,0,main.b", "sym");
  ASSERT_TRUE(symbols) << symbols.error().message;
  EXPECT_EQ(symbols->name(0), "1");
  EXPECT_EQ(symbols->name(1), "main.out");
  EXPECT_EQ(symbols->name(2), "main.a");
  EXPECT_EQ(symbols->name(3), "wire 3");
  for (const char* bad : {"1,2,3", "1,x,0,a", "1,-2,0,a", "1,99999999999,0,a", "hello"}) {
    const auto result = circom::Symbols::parse(bad, "sym");
    ASSERT_FALSE(result) << bad;
    EXPECT_NE(result.error().message.find("line 1"), std::string::npos);
  }
}

}  // namespace
}  // namespace cuzk::format
