// bellman's files: equal bytes with the reference's, every kind of damage refused, real proofs.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "format/bellman_key.h"
#include "format/bellman_proof.h"
#include "groth16/key_check.h"
#include "groth16/setup.h"
#include "groth16/test_golden.h"
#include "groth16/verifier.h"

namespace cuzk::bellman {
namespace {

using bls12_381::Fq;
using bls12_381::Fr;
using groth16::Claim;
using groth16::PreparedVerifyingKey;
using groth16::testing::fr_from_hex_be;
using groth16::testing::read_bytes;
using groth16::testing::read_json;

using Bytes = std::vector<std::uint8_t>;
using G1 = Affine<Bls12_381G1>;
using G2 = Affine<Bls12_381G2>;

const std::string kMimc = CUZK_TESTDATA_DIR "/golden/mimc/";
const std::string kPorep = CUZK_TESTDATA_DIR "/golden/porep_2kib_v1_1/";

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = ::testing::TempDir() + "bellman_XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void write_bytes(const std::filesystem::path& path, ByteSpan bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

// Points that are not what they should be.
G1 off_curve_g1() {
  G1 p = Bls12_381G1::generator();
  p.y += Fq::one();
  return p;
}
G1 outside_subgroup_g1() {
  for (std::uint64_t x = 1;; ++x) {
    Bytes bytes(48, 0);
    bytes[0] = 0x80;
    bytes[47] = static_cast<std::uint8_t>(x);
    const auto p = decode_compressed<Bls12_381G1>(bytes, PointCheck::kOnCurve);
    if (p && !decode_compressed<Bls12_381G1>(bytes, PointCheck::kSubgroup)) return *p;
  }
}
G2 outside_subgroup_g2() {
  for (std::uint64_t x = 1;; ++x) {
    Bytes bytes(96, 0);
    bytes[0] = 0x80;
    bytes[95] = static_cast<std::uint8_t>(x);
    const auto p = decode_compressed<Bls12_381G2>(bytes, PointCheck::kOnCurve);
    if (p && !decode_compressed<Bls12_381G2>(bytes, PointCheck::kSubgroup)) return *p;
  }
}

template <class G>
void put(Bytes& bytes, std::size_t offset, const Affine<G>& p) {
  std::ranges::copy(encode_uncompressed(p), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
}

class MimcKey : public ::testing::Test {
 protected:
  Result<ProvingKey<Bls12_381>> load(const Bytes& bytes, PointCheck check) {
    write_bytes(directory_ / "key.params", bytes);
    CUZK_TRY(const ParamsFile file, ParamsFile::open(directory_ / "key.params"));
    return file.load(tasks_, memory_, check);
  }
  // The file is refused, and the message names what is wrong with it.
  void expect_refused(const Bytes& bytes, PointCheck check, std::string_view word) {
    const auto key = load(bytes, check);
    ASSERT_FALSE(key) << word;
    EXPECT_EQ(key.error().code, ErrorCode::kCorruptInput) << key.error().message;
    EXPECT_NE(key.error().message.find("key.params"), std::string::npos) << key.error().message;
    EXPECT_NE(key.error().message.find(word), std::string::npos) << key.error().message;
    EXPECT_EQ(memory_.used_bytes(), 0u);
  }

  const TemporaryDirectory directory_;
  const Bytes params_ = read_bytes(kMimc + "mimc16.params");
  const Bytes vk_ = read_bytes(kMimc + "mimc16.vk");
  Tasks tasks_;
  MemoryBudget memory_{std::size_t{1} << 30};
  Timeline timeline_;
};

TEST_F(MimcKey, SetupFromTheGoldenSecretsWritesTheGoldenFiles) {
  const auto inputs = read_json(kMimc + "inputs.json");
  const auto circuit = groth16::testing::golden_mimc(inputs);
  const groth16::Context context{tasks_, memory_, timeline_};
  const auto key =
      groth16::insecure_dev_setup(context, circuit.r1cs, compute_density(circuit.r1cs),
                                  groth16::testing::golden_toxic_waste(inputs["toxic_waste"]));
  ASSERT_TRUE(key) << key.error().message;
  const auto written = write_params(tasks_, memory_, directory_ / "made.params", *key);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(read_bytes(directory_ / "made.params"), params_);
  ASSERT_TRUE(write_vk(directory_ / "made.vk", key->vk));
  EXPECT_EQ(read_bytes(directory_ / "made.vk"), vk_);
}

TEST_F(MimcKey, ReadingAndWritingGivesTheSameBytes) {
  for (const PointCheck check :
       {PointCheck::kFormOnly, PointCheck::kOnCurve, PointCheck::kSubgroup}) {
    const auto key = load(params_, check);
    ASSERT_TRUE(key) << key.error().message;
    ASSERT_TRUE(write_params(tasks_, memory_, directory_ / "again.params", *key));
    EXPECT_EQ(read_bytes(directory_ / "again.params"), params_);
  }
  const auto vk = decode_vk(vk_, "vk", PointCheck::kSubgroup);
  ASSERT_TRUE(vk) << vk.error().message;
  EXPECT_EQ(encode_vk(*vk), vk_);
}

TEST_F(MimcKey, CountsAreWhatTheCircuitNeeds) {
  const auto file = ParamsFile::open(kMimc + "mimc16.params");
  ASSERT_TRUE(file) << file.error().message;
  const auto circuit = groth16::testing::golden_mimc(read_json(kMimc + "inputs.json"));
  const auto expected = groth16::expected_key_counts(circuit.r1cs, compute_density(circuit.r1cs));
  EXPECT_TRUE(groth16::check_key_counts(file->counts(), expected, "key", "mimc"));
  auto other = expected;
  ++other.a;
  const auto status = groth16::check_key_counts(file->counts(), other, "mimc16.params", "other");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kMismatch);
  EXPECT_NE(status.error().message.find("a has 34 points, the circuit other needs 35"),
            std::string::npos)
      << status.error().message;
  const auto key = file->load(tasks_, memory_, PointCheck::kSubgroup);
  ASSERT_TRUE(key);
  EXPECT_EQ(groth16::key_counts(*key), file->counts());
  EXPECT_EQ(file->loaded_bytes(), memory_.used_bytes());
  EXPECT_TRUE(file->check_points(tasks_, PointCheck::kSubgroup));
}

TEST_F(MimcKey, EveryTruncationIsRefused) {
  for (std::size_t n = 0; n < vk_.size(); ++n) {
    const auto vk = decode_vk({vk_.data(), n}, "vk", PointCheck::kFormOnly);
    ASSERT_FALSE(vk) << n;
    EXPECT_EQ(vk.error().code, ErrorCode::kCorruptInput);
  }
  for (std::size_t n = 0; n < params_.size(); ++n) {
    const auto layout = ParamsFile::parse_layout({params_.data(), n}, "params");
    ASSERT_FALSE(layout) << n;
    EXPECT_EQ(layout.error().code, ErrorCode::kCorruptInput);
  }
}

TEST_F(MimcKey, TrailingBytesAreRefused) {
  Bytes longer = params_;
  longer.push_back(0);
  expect_refused(longer, PointCheck::kFormOnly, "1");
  longer = vk_;
  longer.push_back(0);
  EXPECT_FALSE(decode_vk(longer, "vk", PointCheck::kFormOnly));
}

TEST_F(MimcKey, CountsBeyondTheFileAreRefusedByName) {
  const auto layout = ParamsFile::parse_layout(params_, "params");
  ASSERT_TRUE(layout);
  const std::pair<const char*, ParamsFile::Section> sections[] = {
      {"ic", layout->ic}, {"h", layout->h},       {"l", layout->l},
      {"a", layout->a},   {"b_g1", layout->b_g1}, {"b_g2", layout->b_g2}};
  for (const auto& [name, section] : sections) {
    for (const std::uint32_t count : {0xffffffffu, 0x80000000u, 1000u}) {
      Bytes bytes = params_;
      store_be32(bytes.data() + section.offset - 4, count);
      expect_refused(bytes, PointCheck::kFormOnly, name);
    }
    // One more or fewer moves every section after it: no reading of the file fits.
    for (const int delta : {-1, 1}) {
      Bytes bytes = params_;
      store_be32(bytes.data() + section.offset - 4,
                 static_cast<std::uint32_t>(static_cast<int>(section.count) + delta));
      expect_refused(bytes, PointCheck::kFormOnly, "");
    }
  }
  Bytes empty = vk_;
  store_be32(empty.data() + kVkHeadBytes, 0);
  empty.resize(kVkHeadBytes + 4);
  const auto vk = decode_vk(empty, "vk", PointCheck::kFormOnly);
  ASSERT_FALSE(vk);
  EXPECT_NE(vk.error().message.find("ic has no point"), std::string::npos);
}

TEST_F(MimcKey, WrongPointsAreRefusedByNameAndIndex) {
  const auto layout = ParamsFile::parse_layout(params_, "params");
  ASSERT_TRUE(layout);
  const std::pair<const char*, ParamsFile::Section> sections[] = {{"ic[1]", layout->ic},
                                                                  {"h[1]", layout->h},
                                                                  {"l[1]", layout->l},
                                                                  {"a[1]", layout->a},
                                                                  {"b_g1[1]", layout->b_g1}};
  for (const auto& [name, section] : sections) {
    SCOPED_TRACE(name);
    const std::size_t at = section.offset + 96;
    Bytes bytes = params_;
    put(bytes, at, G1::identity());
    expect_refused(bytes, PointCheck::kFormOnly, name);
    expect_refused(bytes, PointCheck::kFormOnly, "identity");
    put(bytes, at, off_curve_g1());
    EXPECT_TRUE(load(bytes, PointCheck::kFormOnly));
    expect_refused(bytes, PointCheck::kOnCurve, name);
    expect_refused(bytes, PointCheck::kSubgroup, name);
    put(bytes, at, outside_subgroup_g1());
    EXPECT_TRUE(load(bytes, PointCheck::kOnCurve));
    expect_refused(bytes, PointCheck::kSubgroup, name);
    bytes = params_;
    bytes[at] |= 0x80;  // says compressed
    expect_refused(bytes, PointCheck::kFormOnly, name);
    bytes = params_;
    bytes[at] |= 0x20;  // a sign that uncompressed points do not have
    expect_refused(bytes, PointCheck::kFormOnly, name);
    bytes = params_;
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), 48, std::uint8_t{0x1f});
    expect_refused(bytes, PointCheck::kFormOnly, name);  // above the modulus
  }
  Bytes bytes = params_;
  put(bytes, layout->b_g2.offset + 3 * 192, outside_subgroup_g2());
  EXPECT_TRUE(load(bytes, PointCheck::kOnCurve));
  expect_refused(bytes, PointCheck::kSubgroup, "b_g2[3]");
  put(bytes, layout->b_g2.offset + 3 * 192, G2::identity());
  expect_refused(bytes, PointCheck::kFormOnly, "b_g2[3]");
}

TEST_F(MimcKey, TheFirstWrongPointOfSeveralIsNamed) {
  const auto layout = ParamsFile::parse_layout(params_, "params");
  Bytes bytes = params_;
  for (const std::size_t i : {60, 41, 7, 50}) put(bytes, layout->h.offset + 96 * i, off_curve_g1());
  expect_refused(bytes, PointCheck::kOnCurve, "h[7] of 63");
}

TEST_F(MimcKey, HeadPointsAreCheckedByName) {
  const std::pair<const char*, std::size_t> g1[] = {
      {"alpha_g1", 0}, {"beta_g1", 96}, {"delta_g1", 576}};
  for (const auto& [name, offset] : g1) {
    Bytes bytes = vk_;
    put(bytes, offset, off_curve_g1());
    EXPECT_TRUE(decode_vk(bytes, "vk", PointCheck::kFormOnly));
    const auto off = decode_vk(bytes, "vk", PointCheck::kOnCurve);
    ASSERT_FALSE(off);
    EXPECT_NE(off.error().message.find(name), std::string::npos) << off.error().message;
    put(bytes, offset, outside_subgroup_g1());
    EXPECT_FALSE(decode_vk(bytes, "vk", PointCheck::kSubgroup));
    put(bytes, offset, G1::identity());
    EXPECT_FALSE(decode_vk(bytes, "vk", PointCheck::kFormOnly));
  }
  const std::pair<const char*, std::size_t> g2[] = {
      {"beta_g2", 192}, {"gamma_g2", 384}, {"delta_g2", 672}};
  for (const auto& [name, offset] : g2) {
    Bytes bytes = vk_;
    put(bytes, offset, outside_subgroup_g2());
    const auto outside = decode_vk(bytes, "vk", PointCheck::kSubgroup);
    ASSERT_FALSE(outside);
    EXPECT_NE(outside.error().message.find(name), std::string::npos) << outside.error().message;
    put(bytes, offset, G2::identity());
    EXPECT_FALSE(decode_vk(bytes, "vk", PointCheck::kFormOnly));
  }
}

TEST_F(MimcKey, WhatIsNoFileIsRefused) {
  const auto directory = ParamsFile::open(directory_.path());
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, ErrorCode::kInvalidArgument);
  const auto missing = ParamsFile::open(directory_ / "missing.params");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  expect_refused({}, PointCheck::kFormOnly, "verifying key's head");
  const auto missing_vk = read_vk(directory_ / "missing.vk");
  ASSERT_FALSE(missing_vk);
  EXPECT_EQ(missing_vk.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(read_proofs(directory_.path()));
}

TEST_F(MimcKey, AnUnreadableFileIsRefused) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything: the unreadable file was not tried";
  write_bytes(directory_ / "closed.params", params_);
  chmod((directory_ / "closed.params").c_str(), 0);
  const auto closed = ParamsFile::open(directory_ / "closed.params");
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, ErrorCode::kIo);
}

TEST_F(MimcKey, ASmallBudgetOrAStopIsSaid) {
  const auto file = ParamsFile::open(kMimc + "mimc16.params");
  ASSERT_TRUE(file);
  MemoryBudget small(6000);
  const auto key = file->load(tasks_, small, PointCheck::kFormOnly);
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().code, ErrorCode::kOutOfBudget);
  EXPECT_EQ(small.used_bytes(), 0u);
  std::stop_source stop;
  stop.request_stop();
  Tasks stopped(1, stop.get_token());
  const auto cancelled = file->load(stopped, memory_, PointCheck::kFormOnly);
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, ErrorCode::kCancelled);
}

TEST(Meta, SaysTheSectorSize) {
  EXPECT_EQ(encode_meta(2048), "{\"sector_size\":2048}");
  EXPECT_EQ(decode_meta("{\"sector_size\":34359738368}", "meta").value(), 34359738368u);
  for (const char* bad :
       {"", "{}", "{\"sector_size\":}", "{\"sector_size\":2048", "2048", "{\"sector_size\":2048}\n",
        "{\"sector_size\":-1}", "{\"sector_size\":99999999999999999999}"}) {
    const auto refused = decode_meta(bad, "meta");
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, ErrorCode::kCorruptInput);
  }
}

class GoldenProofs : public ::testing::Test {
 protected:
  GoldenProofs()
      : vk_(read_vk(kPorep + "porep.vk").value()),
        golden_(groth16::testing::golden_proof(
            read_json(kPorep + "porep.proof.json")["partitions"][0])) {}
  Result<groth16::VerifiedProof<Bls12_381>> check(const Proof<Bls12_381>& proof) {
    return verify(tasks_, vk_, Claim<Bls12_381>{proof, golden_.public_inputs});
  }

  Tasks tasks_;
  const PreparedVerifyingKey<Bls12_381> vk_;
  const groth16::testing::GoldenProof golden_;
  const Bytes bytes_ = read_bytes(kPorep + "porep.proof.bin");
};

TEST_F(GoldenProofs, VerifyAndRoundTrip) {
  EXPECT_TRUE(groth16::check_verifying_key(vk_.vk(), "porep.vk"));
  EXPECT_EQ(encode_vk(vk_.vk()), read_bytes(kPorep + "porep.vk"));
  for (const char* name : {"porep.proof.bin", "porep_api.proof.bin"}) {
    const auto proofs = read_proofs(kPorep + name);
    ASSERT_TRUE(proofs) << proofs.error().message;
    ASSERT_EQ(proofs->size(), 1u);
    EXPECT_EQ(encode_proofs(*proofs), read_bytes(kPorep + name));
    const auto verified = check(proofs->front());
    EXPECT_TRUE(verified) << verified.error().message;
  }
  EXPECT_EQ(to_hex(bytes_), golden_.proof_hex);
  EXPECT_EQ(decode_proof(bytes_, "proof").value(), golden_.proof);
}

TEST_F(GoldenProofs, EveryChangedPublicInputIsRefused) {
  for (std::size_t i = 0; i < golden_.public_inputs.size(); ++i) {
    auto inputs = golden_.public_inputs;
    inputs[i] += Fr::one();
    const auto refused = verify(tasks_, vk_, Claim<Bls12_381>{golden_.proof, inputs});
    ASSERT_FALSE(refused) << i;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidProof);
  }
}

TEST_F(GoldenProofs, EveryChangedByteIsRefused) {
  std::size_t decoded = 0;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    for (const int change : {0x01, 0x20, 0x80, 0xff}) {
      Bytes changed = bytes_;
      changed[i] ^= static_cast<std::uint8_t>(change);
      const auto proof = decode_proof(changed, "proof");
      if (!proof) {
        EXPECT_EQ(proof.error().code, ErrorCode::kCorruptInput);
        continue;
      }
      ++decoded;
      const auto verified = check(*proof);
      ASSERT_FALSE(verified) << "byte " << i;
      EXPECT_EQ(verified.error().code, ErrorCode::kInvalidProof);
    }
  }
  EXPECT_EQ(decoded, 3u);  // the three signs: -A, -B, -C are points; other changes leave the group
}

TEST_F(GoldenProofs, WrongLengthsAreNamed) {
  for (const std::size_t n : {0, 1, 191, 193, 383}) {
    Bytes bytes = bytes_;
    bytes.resize(n, 0);
    const auto proofs = decode_proofs(bytes, "proof.bin");
    ASSERT_FALSE(proofs);
    EXPECT_EQ(proofs.error().code, ErrorCode::kCorruptInput);
    EXPECT_NE(proofs.error().message.find(std::to_string(n)), std::string::npos)
        << proofs.error().message;
    EXPECT_FALSE(decode_proof(bytes, "proof.bin"));
  }
  Bytes two = bytes_;
  two.insert(two.end(), bytes_.begin(), bytes_.end());
  EXPECT_EQ(decode_proofs(two, "two").value().size(), 2u);
  EXPECT_FALSE(decode_proof(two, "two"));
  two[192] ^= 1;
  const auto refused = decode_proofs(two, "two");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("proof 2 of 2: A"), std::string::npos)
      << refused.error().message;
}

TEST_F(GoldenProofs, TheIdentityIsNoElement) {
  const std::pair<std::size_t, std::size_t> elements[] = {{0, 48}, {48, 96}, {144, 48}};
  for (const auto& [offset, length] : elements) {
    Bytes bytes = bytes_;
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), length, std::uint8_t{0});
    bytes[offset] = 0xc0;
    const auto proof = decode_proof(bytes, "proof");
    ASSERT_FALSE(proof);
    EXPECT_NE(proof.error().message.find("identity"), std::string::npos);
  }
}

TEST_F(GoldenProofs, PointsOutsideTheSubgroupAreRefused) {
  Proof<Bls12_381> proof = golden_.proof;
  proof.a = outside_subgroup_g1();
  EXPECT_FALSE(decode_proof(encode_proof(proof), "proof"));
  EXPECT_FALSE(check(proof));
  proof = golden_.proof;
  proof.b = outside_subgroup_g2();
  EXPECT_FALSE(decode_proof(encode_proof(proof), "proof"));
  EXPECT_FALSE(check(proof));
}

// fil-blst's records: u64 BE numbers of proofs and inputs, a verifying key, then each proof and its
// inputs, big-endian.
struct ProofRecord {
  VerifyingKey<Bls12_381> vk;
  std::vector<Claim<Bls12_381>> claims;
};
ProofRecord read_record(const std::string& path) {
  const Bytes bytes = read_bytes(path);
  const std::size_t proofs = load_be64(bytes.data());
  const std::size_t inputs = load_be64(bytes.data() + 8);
  const std::size_t vk_bytes = kVkHeadBytes + 4 + 96 * (inputs + 1);
  ProofRecord record;
  record.vk = decode_vk({bytes.data() + 16, vk_bytes}, path, PointCheck::kSubgroup).value();
  std::size_t at = 16 + vk_bytes;
  for (std::size_t i = 0; i < proofs; ++i) {
    Claim<Bls12_381> claim;
    claim.proof = decode_proof({bytes.data() + at, kProofBytes}, path).value();
    at += kProofBytes;
    for (std::size_t j = 0; j < inputs; ++j, at += 32) {
      claim.public_inputs.push_back(
          Fr::from_bytes_be(std::span<const std::uint8_t, 32>(bytes.data() + at, 32)).value());
    }
    record.claims.push_back(std::move(claim));
  }
  EXPECT_EQ(at, bytes.size());
  return record;
}

TEST(RealProofs, TenPartitionsOfARealSectorVerifyAsOneBatch) {
  const std::string directory = CUZK_TESTDATA_DIR "/filecoin/fil-blst/";
  const ProofRecord record = read_record(directory + "seal32_x10.prf");
  ASSERT_EQ(record.claims.size(), 10u);
  EXPECT_EQ(encode_vk(record.vk), read_bytes(directory + "seal32_x10.vk"));
  EXPECT_TRUE(groth16::check_verifying_key(record.vk, "seal32_x10.vk"));
  Tasks tasks;
  const PreparedVerifyingKey<Bls12_381> vk(record.vk);
  const auto verified = verify_batch(tasks, vk, record.claims);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(verified->size(), 10u);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_TRUE(verify(tasks, vk, record.claims[i]));
    auto changed = record.claims;
    changed[i].public_inputs[(31 * i) % changed[i].public_inputs.size()] += Fr::one();
    EXPECT_FALSE(verify(tasks, vk, changed[i]));
    const auto refused = verify_batch(tasks, vk, changed);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find(": " + std::to_string(i + 1)), std::string::npos)
        << refused.error().message;
  }
}

TEST(RealProofs, AWindowPostWithTwentyFiveThousandInputsVerifies) {
  const std::string path = CUZK_SHARED_DIR "/inputs/filecoin/fil-blst/window.prf";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is not here: the real 32 GiB WindowPoSt proof was not checked";
  }
  ProofRecord record = read_record(path);
  ASSERT_EQ(record.claims.size(), 1u);
  ASSERT_EQ(record.claims[0].public_inputs.size(), 25839u);
  Tasks tasks;
  const PreparedVerifyingKey<Bls12_381> vk(record.vk);
  const auto verified = verify(tasks, vk, record.claims[0]);
  EXPECT_TRUE(verified) << verified.error().message;
  record.claims[0].public_inputs[25838] += Fr::one();
  EXPECT_FALSE(verify(tasks, vk, record.claims[0]));
}

// polka-storage keeps its keys with compressed points, in bellman's order.
VerifyingKey<Bls12_381> decode_compressed_vk(ByteSpan bytes) {
  ByteReader reader(bytes, "compressed vk");
  const auto point = [&]<class G>(Affine<G>& p) {
    p = decode_compressed<G>(*reader.take(kCompressedBytes<G>, "point"), PointCheck::kSubgroup)
            .value();
  };
  VerifyingKey<Bls12_381> vk;
  point(vk.alpha_g1);
  point(vk.beta_g1);
  point(vk.beta_g2);
  point(vk.gamma_g2);
  point(vk.delta_g1);
  point(vk.delta_g2);
  vk.ic.resize(reader.count_u32_be("ic", 48).value());
  for (G1& p : vk.ic) point(p);
  EXPECT_TRUE(reader.expect_end());
  return vk;
}

TEST(RealProofs, PolkaStoragesProofVerifies) {
  const auto record = read_json(CUZK_TESTDATA_DIR "/filecoin/polka-storage/porep2k.json");
  const auto vk_bytes = from_hex(record["vk_compressed"].get<std::string>()).value();
  const auto proof_bytes = from_hex(record["proof"].get<std::string>()).value();
  const PreparedVerifyingKey<Bls12_381> vk(decode_compressed_vk(vk_bytes));
  EXPECT_TRUE(groth16::check_verifying_key(vk.vk(), "porep2k"));
  Claim<Bls12_381> claim{decode_proof(proof_bytes, "porep2k").value(), {}};
  for (const auto& input : record["public_inputs_be"]) {
    claim.public_inputs.push_back(fr_from_hex_be(input));
  }
  Tasks tasks;
  const auto verified = verify(tasks, vk, claim);
  EXPECT_TRUE(verified) << verified.error().message;
  for (std::size_t i = 0; i < claim.public_inputs.size(); ++i) {
    auto changed = claim;
    changed.public_inputs[i] -= Fr::one();
    EXPECT_FALSE(verify(tasks, vk, changed)) << i;
  }
}

}  // namespace
}  // namespace cuzk::bellman
