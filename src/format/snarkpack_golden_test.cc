// SnarkPack against the reference's aggregates: every challenge, every verdict, every byte; real
// aggregates of the network; every kind of damage refused with its reason.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "aggregate/polynomials.h"
#include "aggregate/prover.h"
#include "aggregate/transcript.h"
#include "aggregate/verifier.h"
#include "base/hash.h"
#include "base/mapped_file.h"
#include "base/timeline.h"
#include "format/aggregate.h"
#include "format/bellman_key.h"
#include "format/bellman_proof.h"
#include "format/inner_product_srs.h"

namespace cuzk::format {
namespace {

using namespace aggregate;
using nlohmann::json;
using Bytes = std::vector<std::uint8_t>;

const std::string kGolden = CUZK_TESTDATA_DIR "/golden/snarkpack/";
const std::string kReal = CUZK_TESTDATA_DIR "/filecoin/aggregate/";

Tasks& tasks() {
  static Tasks shared(2);
  return shared;
}

Bytes bytes_of_file(const std::string& path) { return read_file(path, 1 << 20).value(); }
json json_of_file(const std::string& path) { return json::parse(bytes_of_file(path)); }

Fr fr_of(const json& hex) {
  const Bytes bytes = from_hex(hex.get<std::string>()).value();
  return Fr::from_bytes_le(std::span<const std::uint8_t, 32>(bytes.data(), 32)).value();
}
std::vector<Fr> frs_of(const json& list) {
  std::vector<Fr> out;
  for (const json& v : list) out.push_back(fr_of(v));
  return out;
}

// One case of the golden folder under one version.
struct Case {
  std::string name;
  std::size_t n = 0;
  std::vector<Groth16Proof> proofs;
  std::vector<std::vector<Fr>> statements;
  Bytes binding;
  Version version = Version::kV1;
  json expected;
  Bytes bytes;
  std::shared_ptr<groth16::PreparedVerifyingKey<Curve>> key;

  AggregateClaim claim() const { return {version, binding, statements}; }
};

std::string vk_name(const std::string& name) {
  const std::string kind = name.substr(0, name.find('_'));
  const std::map<std::string, std::string> files = {{"mimc", "mimc16.vk"},
                                                    {"porep", "porep_2kib.vk"},
                                                    {"update", "update_2kib.vk"},
                                                    {"window", "window_post_2kib.vk"},
                                                    {"winning", "winning_post_2kib.vk"}};
  return files.at(kind);
}

std::vector<Case> load_cases() {
  std::vector<Case> cases;
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kGolden)) {
    if (entry.path().extension() == ".json" && entry.path().stem() != "srs") {
      files.insert(entry.path());
    }
  }
  for (const auto& file : files) {
    const json doc = json_of_file(file.string());
    Case c;
    c.name = doc["case"];
    c.n = doc["n"];
    for (const json& hex : doc["proofs"]) {
      const Bytes bytes = from_hex(hex.get<std::string>()).value();
      c.proofs.push_back(bellman::decode_proof(bytes, c.name).value());
    }
    for (const json& statement : doc["statements_le_hex"]) {
      c.statements.push_back(frs_of(statement));
    }
    c.binding = from_hex(doc["transcript_include"].get<std::string>()).value();
    c.key = std::make_shared<groth16::PreparedVerifyingKey<Curve>>(
        bellman::read_vk(kGolden + vk_name(c.name)).value());
    for (const json& version : doc["versions"]) {
      c.version = version["version"] == "V1" ? Version::kV1 : Version::kV2;
      c.expected = version;
      c.bytes = bytes_of_file(kGolden + version["file"].get<std::string>());
      cases.push_back(c);
    }
  }
  return cases;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = load_cases();
  return all;
}

const InnerProductSrsFile& srs_file() {
  static const InnerProductSrsFile file =
      InnerProductSrsFile::open(kGolden + "srs_generic.bin").value();
  return file;
}
const VerifierSrs& golden_verifier_srs() {
  static const VerifierSrs srs = srs_file().load_verifier().value();
  return srs;
}
Srs golden_srs(std::size_t n) {
  return srs_file().load(tasks(), MemoryBudget::process(), n, PointCheck::kSubgroup).value();
}

AggregateProof decoded(const Case& c) { return decode_aggregate(tasks(), c.bytes, c.name).value(); }
// The verdict on an aggregate; the reason when it is refused.
Status verdict(const Case& c, const AggregateClaim& claim, const AggregateProof& proof) {
  const auto verified = aggregate::verify(tasks(), golden_verifier_srs(), *c.key, claim, proof);
  if (!verified) return fail(verified.error());
  EXPECT_EQ(verified->proof(), proof);
  return {};
}

void expect_refused(const Status& status, ErrorCode code, const std::string& reason) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, code) << status.error().message;
  EXPECT_NE(status.error().message.find(reason), std::string::npos) << status.error().message;
}

TEST(SnarkPackGolden, CoversBothVersionsAndEveryKind) {
  EXPECT_EQ(cases().size(), 24u);
  std::set<std::pair<std::size_t, bool>> seen;
  for (const Case& c : cases()) seen.insert({c.n, c.version == Version::kV1});
  EXPECT_EQ(seen.size(), 8u);  // 2, 4, 8, 16 proofs, each in both versions
}

TEST(SnarkPackGolden, TranscriptGivesEveryChallenge) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.expected["file"]);
    const json& want = c.expected["challenges_le_hex"];
    const AggregateProof proof = decoded(c);
    Transcript transcript(c.version, c.binding);
    EXPECT_EQ(transcript.combine(proof.com_ab, proof.com_c), fr_of(want["r"]));
    EXPECT_EQ(transcript.commitments_hash(), fr_of(want["hcom"]));
    transcript.begin_rounds(proof.ip_ab, proof.agg_c);
    EXPECT_EQ(transcript.first_hash(), fr_of(want["gipa_0_initial"]));
    for (std::size_t i = 0; i < proof.rounds.size(); ++i) {
      EXPECT_EQ(transcript.round(proof.rounds[i]), fr_of(want["x_inv"][i]));
    }
    const Fr z = transcript.open(proof);
    EXPECT_EQ(z, fr_of(want["z"]));
    EXPECT_EQ(transcript.extra_link(), fr_of(want["extra_link"]));
    const Challenges all = derive_challenges(c.version, c.binding, proof);
    EXPECT_EQ(all.x, frs_of(want["x"]));
    EXPECT_EQ(all.x_inverse, frs_of(want["x_inv"]));
    EXPECT_EQ(evaluate_v(all.x_inverse, z), fr_of(want["f_v_at_z"]));
    EXPECT_EQ(evaluate_w(all.x, all.r, z), fr_of(want["f_w_at_z"]));
  }
}

TEST(SnarkPackGolden, EveryAggregateVerifiesAndEncodesToItsBytes) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.expected["file"]);
    EXPECT_EQ(c.bytes.size(), aggregate_bytes(c.n));
    const AggregateProof proof = decoded(c);
    EXPECT_EQ(proof.num_proofs(), c.n);
    EXPECT_EQ(encode_aggregate(proof).value(), c.bytes);
    const Status status = verdict(c, c.claim(), proof);
    EXPECT_TRUE(status) << status.error().message;
  }
}

TEST(SnarkPackGolden, OurAggregatesAreTheReferencesBytes) {
  Timeline timeline;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.expected["file"]);
    const Srs srs = golden_srs(c.n);
    std::vector<Groth16Proof> padded = c.proofs;
    padded.resize(c.n, c.proofs.back());  // porep_2of4 and 2of8 have more than the network asks
    const auto proof = aggregate::create({tasks(), MemoryBudget::process(), timeline}, srs,
                                         c.version, c.binding, padded);
    ASSERT_TRUE(proof) << proof.error().message;
    EXPECT_EQ(encode_aggregate(*proof).value(), c.bytes);
  }
}

TEST(SnarkPackGolden, ChangedStatementsAreRefused) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.expected["file"]);
    const AggregateProof proof = decoded(c);
    Case changed = c;
    changed.statements[0][0] += Fr::one();
    expect_refused(verdict(c, changed.claim(), proof), ErrorCode::kInvalidProof,
                   "the combined Groth16 equation of the statements");
    if (c.statements.size() > 1) {
      changed = c;
      std::swap(changed.statements[0], changed.statements[1]);
      const bool equal = changed.statements == c.statements;
      EXPECT_EQ(verdict(c, changed.claim(), proof).has_value(), equal);
    }
    changed = c;
    changed.statements.back().pop_back();
    expect_refused(verdict(c, changed.claim(), proof), ErrorCode::kMismatch, "public inputs");
    changed.statements.clear();
    expect_refused(verdict(c, changed.claim(), proof), ErrorCode::kMismatch, "0 statements");
    changed = c;
    changed.statements.resize(2 * c.n, c.statements.back());
    expect_refused(verdict(c, changed.claim(), proof), ErrorCode::kMismatch, "statements");
  }
}

TEST(SnarkPackGolden, OneStatementLessIsRefused) {
  for (const Case& c : cases()) {
    if (c.statements.size() < 2) continue;
    SCOPED_TRACE(c.expected["file"]);
    Case changed = c;
    changed.statements.pop_back();
    EXPECT_FALSE(verdict(c, changed.claim(), decoded(c)));
  }
}

TEST(SnarkPackGolden, AnotherBindingOrVersionIsRefused) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.expected["file"]);
    const AggregateProof proof = decoded(c);
    Case changed = c;
    changed.binding[0] ^= 1;
    expect_refused(verdict(c, changed.claim(), proof), ErrorCode::kInvalidProof, "Groth16");
    changed = c;
    changed.version = c.version == Version::kV1 ? Version::kV2 : Version::kV1;
    expect_refused(verdict(c, changed.claim(), proof), ErrorCode::kInvalidProof, "opening");
  }
}

TEST(SnarkPackGolden, ChangedElementsAreRefusedWithTheEquationThatFails) {
  const auto g1 = [](G1Affine& p) {
    p = (Xyzz<Bls12_381G1>::from_affine(p) + Bls12_381G1::generator()).to_affine();
  };
  const auto g2 = [](G2Affine& p) {
    p = (Xyzz<Bls12_381G2>::from_affine(p) + Bls12_381G2::generator()).to_affine();
  };
  struct Change {
    std::function<void(AggregateProof&)> apply;
    std::string reason;
  };
  const std::vector<Change> changes = {
      {[&](auto& p) { g1(p.agg_c); }, "Groth16 equation"},
      {[&](auto& p) { g1(p.rounds[0].z_c_left); }, "the fold of C"},
      {[&](auto& p) { g1(p.final_a); }, "the fold of A and B"},
      {[&](auto& p) { g2(p.final_b); }, "the fold of A and B"},
      {[&](auto& p) { g1(p.final_c); }, "the first commitment to C"},
      {[&](auto& p) { g2(p.final_v[0]); }, "the opening of the first key of G2"},
      {[&](auto& p) { g2(p.final_v[1]); }, "the opening of the second key of G2"},
      {[&](auto& p) { g1(p.final_w[0]); }, "the opening of the first key of G1"},
      {[&](auto& p) { g1(p.final_w[1]); }, "the opening of the second key of G1"},
      {[&](auto& p) { g2(p.opening_v[0]); }, "the opening of the first key of G2"},
      {[&](auto& p) { g2(p.opening_v[1]); }, "the opening of the second key of G2"},
      {[&](auto& p) { g1(p.opening_w[0]); }, "the opening of the first key of G1"},
      {[&](auto& p) { g1(p.opening_w[1]); }, "the opening of the second key of G1"},
      {[&](auto& p) { std::swap(p.rounds[0].z_ab_left, p.rounds[0].z_ab_right); },
       "the fold of A and B"},
      {[&](auto& p) { std::swap(p.com_ab.t, p.com_ab.u); }, "the first commitment to A and B"},
      {[&](auto& p) { std::swap(p.com_c.t, p.com_c.u); }, "the second commitment to C"},
      {[&](auto& p) { std::swap(p.rounds[0].ab_left.t, p.rounds[0].ab_left.u); },
       "the second commitment to A and B"},
      {[&](auto& p) { std::swap(p.rounds[0].c_right.t, p.rounds[0].c_right.u); },
       "the first commitment to C"},
      {[&](auto& p) { p.ip_ab *= p.com_c.t; }, "Groth16 equation"},
  };
  for (const Case& c : cases()) {
    if (c.name != "mimc_3of4" && c.name != "porep_2of2") continue;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      SCOPED_TRACE(fmt::format("{} {} change {}", c.name, version_name(c.version), i));
      AggregateProof proof = decoded(c);
      changes[i].apply(proof);
      expect_refused(verdict(c, c.claim(), proof), ErrorCode::kInvalidProof, changes[i].reason);
    }
  }
}

// A bit of every element, in every position that a byte has: refused on reading or on checking.
TEST(SnarkPackGolden, EveryFlippedBitIsRefused) {
  for (const Case& c : cases()) {
    if (c.name != "mimc_2of2") continue;
    std::size_t corrupt = 0, invalid = 0;
    for (std::size_t at = 0; at < c.bytes.size(); at += 23) {
      Bytes bytes = c.bytes;
      bytes[at] ^= static_cast<std::uint8_t>(1 << at % 8);
      const auto proof = decode_aggregate(tasks(), bytes, "flipped");
      if (!proof) {
        EXPECT_EQ(proof.error().code, ErrorCode::kCorruptInput) << proof.error().message;
        ++corrupt;
        continue;
      }
      expect_refused(verdict(c, c.claim(), *proof), ErrorCode::kInvalidProof, "does not hold");
      ++invalid;
    }
    EXPECT_GT(corrupt, 200u);  // nearly all: an element is rarely in its group by chance
    EXPECT_EQ(corrupt + invalid, (c.bytes.size() + 22) / 23);
  }
}

TEST(SnarkPackGolden, OtherSignsOfPointsAreRefused) {
  for (const Case& c : cases()) {
    if (c.name != "mimc_2of2") continue;
    // The first bytes of the points, from the end; another sign flag leaves a point of the
    // subgroup.
    const std::size_t end = c.bytes.size();
    for (const std::size_t back : {end - 1440, 864ul, 816ul, 768ul, 720ul, 624ul, 576ul, 480ul,
                                   384ul, 336ul, 288ul, 192ul, 96ul, 48ul}) {
      const std::size_t at = end - back;
      Bytes bytes = c.bytes;
      bytes[at] ^= 0x20;
      const auto proof = decode_aggregate(tasks(), bytes, "sign");
      ASSERT_TRUE(proof) << at << ": " << proof.error().message;
      expect_refused(verdict(c, c.claim(), *proof), ErrorCode::kInvalidProof, "does not hold");
    }
  }
}

TEST(AggregateFormat, LengthIsCheckedExactlyBeforeAnythingElse) {
  const Case& c = cases().front();
  const auto refuse = [&](const Bytes& bytes, const std::string& words) {
    const auto proof = decode_aggregate(tasks(), bytes, "agg");
    ASSERT_FALSE(proof);
    EXPECT_EQ(proof.error().code, ErrorCode::kCorruptInput);
    EXPECT_NE(proof.error().message.find(words), std::string::npos) << proof.error().message;
  };
  Bytes bytes = c.bytes;
  refuse({}, "at least");
  refuse(Bytes(bytes.begin(), bytes.end() - 1), fmt::format("has {} bytes", bytes.size()));
  bytes.push_back(0);
  refuse(bytes, fmt::format("found {}", bytes.size()));
  bytes.pop_back();
  for (const std::uint32_t count :
       {0u, 1u, 3u, 13u, 17u, (1u << 20) + 1, 1u << 21, 1u << 31, ~0u}) {
    store_le(bytes.data() + 1488, count);
    refuse(bytes, fmt::format("nproofs is {}", count));
  }
  for (const std::uint32_t count : {2u, 4u, 8u, 32u, 1u << 20}) {
    store_le(bytes.data() + 1488, count);
    if (aggregate_bytes(count) != bytes.size()) refuse(bytes, "bytes, found");
  }
  EXPECT_EQ(aggregate_bytes(16), 14164u);
  EXPECT_EQ(aggregate_bytes(128), 23092u);
  EXPECT_EQ(aggregate_bytes(512), 29044u);
  EXPECT_EQ(aggregate_bytes(2048), 34996u);
  EXPECT_EQ(aggregate_bytes(8192), 40948u);
}

TEST(AggregateFormat, ElementsOutsideTheirGroupsAreNamed) {
  const Case& c = cases().front();
  Bytes bytes = c.bytes;
  bytes[5] ^= 1;  // another value of norm 1
  EXPECT_NE(decode_aggregate(tasks(), bytes, "agg").error().message.find("agg: com_ab.t: "),
            std::string::npos);
  bytes = c.bytes;
  std::fill_n(bytes.begin() + 288, 48, 0xff);
  EXPECT_NE(decode_aggregate(tasks(), bytes, "agg").error().message.find("com_ab.u: coordinate 1"),
            std::string::npos);
  bytes = c.bytes;
  std::fill_n(bytes.begin() + 1440, 48, 0);  // not compressed
  EXPECT_NE(decode_aggregate(tasks(), bytes, "agg").error().message.find("agg_c: "),
            std::string::npos);
  // The first of several is named.
  bytes[0] ^= 1;
  EXPECT_NE(decode_aggregate(tasks(), bytes, "agg").error().message.find("com_ab.t: "),
            std::string::npos);
}

// Aggregates of 16 (non-interactive, 13 padded), 128, 512 and 2048 proofs as miners submitted them.
TEST(AggregateFormat, AggregatesOfTheNetworkAreReadAndWritten) {
  const std::vector<std::pair<std::string, std::size_t>> files = {{"ni_8mib_16.bin", 16},
                                                                  {"ni_32gib_128.bin", 128},
                                                                  {"mainnet_128.bin", 128},
                                                                  {"mainnet_512.bin", 512},
                                                                  {"mainnet_2048.bin", 2048}};
  for (const auto& [name, n] : files) {
    SCOPED_TRACE(name);
    const auto proof = read_aggregate(tasks(), kReal + name);
    ASSERT_TRUE(proof) << proof.error().message;
    EXPECT_EQ(proof->num_proofs(), n);
    EXPECT_EQ(encode_aggregate(*proof).value(), bytes_of_file(kReal + name));
  }
}

TEST(InnerProductSrs, KnownSecretsGiveTheReferencesFile) {
  const json doc = json_of_file(kGolden + "srs.json");
  const auto srs =
      insecure_dev_srs(tasks(), MemoryBudget::process(), {fr_of(doc["alpha"]), fr_of(doc["beta"])},
                       doc["powers_in_each_vector"]);
  ASSERT_TRUE(srs) << srs.error().message;
  EXPECT_EQ(srs->capacity(), 16u);
  const std::string path = ::testing::TempDir() + "cuzk_golden.srs";
  ASSERT_TRUE(write_inner_product_srs(path, *srs));
  const Bytes written = bytes_of_file(path);
  EXPECT_EQ(to_hex(sha256(written)), doc["generic_sha256"]);
  EXPECT_EQ(written, bytes_of_file(kGolden + "srs_generic.bin"));
  EXPECT_TRUE(check_srs(tasks(), MemoryBudget::process(), *srs));
  std::filesystem::remove(path);
}

TEST(InnerProductSrs, SpecialisedKeysAndVerifierKeysAreTheReferences) {
  for (const std::size_t n : {2, 4, 8, 16}) {
    const Srs srs = golden_srs(n);
    EXPECT_EQ(srs.capacity(), n);
    Bytes keys;
    const auto append = [&](const auto& points) {
      for (const auto& p : points) {
        const auto bytes = encode_compressed(p);
        keys.insert(keys.end(), bytes.begin(), bytes.end());
      }
    };
    append(srs.v1(n));
    append(srs.v2(n));
    append(srs.w1(n));
    append(srs.w2(n));
    EXPECT_EQ(keys, bytes_of_file(fmt::format("{}prover_keys_n{}.bin", kGolden, n)));
  }
  const json want = json_of_file(kGolden + "srs.json")["verifier_srs"][0];
  const VerifierSrs& srs = golden_verifier_srs();
  EXPECT_EQ(to_hex(encode_compressed(srs.g)), want["g"]);
  EXPECT_EQ(to_hex(encode_compressed(srs.g_alpha)), want["g_alpha"]);
  EXPECT_EQ(to_hex(encode_compressed(srs.g_beta)), want["g_beta"]);
  EXPECT_EQ(to_hex(encode_compressed(srs.h)), want["h"]);
  EXPECT_EQ(to_hex(encode_compressed(srs.h_alpha)), want["h_alpha"]);
  EXPECT_EQ(to_hex(encode_compressed(srs.h_beta)), want["h_beta"]);
}

TEST(InnerProductSrs, MalformedFilesAreRefused) {
  const Bytes good = bytes_of_file(kGolden + "srs_generic.bin");
  const auto refuse = [](const Bytes& bytes, const std::string& words) {
    const auto file = InnerProductSrsFile::parse(bytes, "srs");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, ErrorCode::kCorruptInput);
    EXPECT_NE(file.error().message.find(words), std::string::npos) << file.error().message;
  };
  const std::size_t g_bytes = 4 + 32 * 48;
  for (std::size_t cut : {std::size_t{0}, std::size_t{3}, std::size_t{4}, g_bytes, g_bytes + 3,
                          2 * g_bytes + 10, good.size() - 1}) {
    refuse(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(cut)), "srs");
  }
  Bytes bytes = good;
  bytes.push_back(0);
  refuse(bytes, "srs");
  for (const std::uint32_t count : {0u, 1u, 31u, 33u, (1u << 20) + 2, ~0u}) {
    for (const std::size_t at : {std::size_t{0}, g_bytes, 2 * g_bytes}) {
      bytes = good;
      store_be32(bytes.data() + at, count);
      refuse(bytes, "srs");
    }
  }
  EXPECT_EQ(
      srs_file().load(tasks(), MemoryBudget::process(), 32, PointCheck::kSubgroup).error().code,
      ErrorCode::kInvalidArgument);
}

TEST(InnerProductSrs, PointsThatAreNoPowersAreRefused) {
  Bytes bytes = bytes_of_file(kGolden + "srs_generic.bin");
  bytes[4 + 48 * 7 + 20] ^= 1;
  const auto load = [&] {
    return InnerProductSrsFile::parse(bytes, "srs")
        .value()
        .load(tasks(), MemoryBudget::process(), 16, PointCheck::kSubgroup);
  };
  EXPECT_NE(load().error().message.find("g_alpha[7]"), std::string::npos);
  // Two powers exchanged: points all the same, but no string.
  bytes = bytes_of_file(kGolden + "srs_generic.bin");
  std::swap_ranges(bytes.begin() + 4 + 48 * 3, bytes.begin() + 4 + 48 * 4,
                   bytes.begin() + 4 + 48 * 4);
  const Srs swapped = load().value();
  expect_refused(check_srs(tasks(), MemoryBudget::process(), swapped), ErrorCode::kCorruptInput,
                 "g_alpha");
}

}  // namespace
}  // namespace cuzk::format
