// The forms of a C1: equal bytes to the reference's, and every way to be malformed.

#include "format/c1.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "filecoin/test_support.h"

namespace cuzk::format {
namespace {

using filecoin::testing::node_from_hex;
using filecoin::testing::read_text;
using filecoin::testing::testdata_json;
using filecoin::testing::testdata_path;
using nlohmann::ordered_json;

ByteSpan bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string golden(const std::string& name) { return read_text(testdata_path("c1/" + name)); }

const char* const kGolden[] = {"porep_2kib_v1", "porep_2kib_v1_1", "porep_2kib_v1_1_synth",
                               "c1_16kib_v1_1", "c1_32kib_v1_1"};

filecoin::PorepC1 parsed(std::string_view text) {
  auto c1 = parse_c1(bytes_of(text), "test");
  EXPECT_TRUE(c1) << c1.error().message;
  return c1 ? std::move(*c1) : filecoin::PorepC1{};
}

// The message of the error that must come.
std::string refusal(std::string_view text) {
  const auto c1 = parse_c1(bytes_of(text), "bad.json");
  EXPECT_FALSE(c1) << "accepted: " << text.substr(0, 120);
  if (c1) return "";
  EXPECT_TRUE(c1.error().code == ErrorCode::kCorruptInput ||
              c1.error().code == ErrorCode::kMismatch)
      << c1.error().message;
  EXPECT_EQ(c1.error().message.rfind("bad.json", 0), 0u) << c1.error().message;
  return c1.error().message;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(C1Json, IsWrittenAsTheReferenceWritesIt) {
  for (const char* name : kGolden) {
    const std::string text = golden(std::string(name) + ".c1.json");
    const filecoin::PorepC1 c1 = parsed(text);
    EXPECT_TRUE(write_c1_json(c1) == text) << name;  // not _EQ: 100 KB of text
    const auto inputs = testdata_json(std::string("c1/") + name + ".inputs.json");
    EXPECT_EQ(c1.comm_r, node_from_hex(inputs["comm_r"]));
    EXPECT_EQ(c1.comm_d, node_from_hex(inputs["comm_d"]));
    EXPECT_EQ(c1.replica_id, node_from_hex(inputs["replica_id"]));
    EXPECT_EQ(c1.seed, node_from_hex(inputs["seed"]));
    EXPECT_EQ(c1.ticket, node_from_hex(inputs["ticket"]));
    EXPECT_EQ(c1.proof.name, inputs["registered_seal_proof"].get<std::string>());
  }
}

TEST(C1Json, NonInteractiveOutputOf13PartitionsIsReadAndWritten) {
  const std::string path = CUZK_SHARED_DIR "/golden/porep_2kib_v1_2_ni/c1_output.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "skipped: " << path << " is not there";
  const std::string text = read_text(path);
  const filecoin::PorepC1 c1 = parsed(text);
  EXPECT_EQ(c1.partitions.size(), 13u);
  EXPECT_TRUE(write_c1_json(c1) == text);
}

TEST(C1Json, WhiteSpaceAndTheOrderOfKeysDoNotMatter) {
  const std::string text = golden("porep_2kib_v1_1.c1.json");
  const auto sorted = nlohmann::json::parse(text);  // sorts keys
  EXPECT_TRUE(write_c1_json(parsed(sorted.dump(2))) == text);
  EXPECT_TRUE(write_c1_json(parsed("\n\t " + text + "\n")) == text);
}

TEST(C1Bincode, EqualsTheReferencesVanillaProofs) {
  for (const char* name : {"porep_2kib_v1_1", "c1_16kib_v1_1", "c1_32kib_v1_1"}) {
    const filecoin::PorepC1 c1 = parsed(golden(std::string(name) + ".c1.json"));
    const std::string expected = golden(std::string(name) + ".vanilla.bincode");
    const auto written = write_vanilla_bincode(c1);
    EXPECT_TRUE(std::ranges::equal(written, bytes_of(expected))) << name;
    filecoin::PorepC1 again = c1;
    again.partitions = *parse_vanilla_bincode(bytes_of(expected), name);
    EXPECT_TRUE(write_c1_json(again) == write_c1_json(c1)) << name;
  }
}

TEST(C1Bincode, RoundTripsAndTheInnerFormNeedsItsProof) {
  const std::string text = golden("porep_2kib_v1_1.c1.json");
  const filecoin::PorepC1 c1 = parsed(text);
  const auto bytes = *write_c1_bincode(c1);
  const auto again = parse_c1(bytes, "test");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(write_c1_json(*again) == text);

  const ByteSpan inner = ByteSpan(bytes).subspan(8);  // without proof number and tag
  const auto older = parse_c1_inner_bincode(inner, "test", c1.proof);
  ASSERT_TRUE(older) << older.error().message;
  EXPECT_TRUE(write_c1_json(*older) == text);
  EXPECT_FALSE(parse_c1_inner_bincode(inner, "test", *filecoin::seal_proof(8)));
  EXPECT_FALSE(parse_c1(inner, "test"));
}

TEST(C1Bincode, SizesWithoutNumberCannotBeWritten) {
  const filecoin::PorepC1 c1 = parsed(golden("c1_16kib_v1_1.c1.json"));
  ASSERT_FALSE(write_c1_bincode(c1));
  EXPECT_NE(write_c1_bincode(c1).error().message.find("StackedDrg16KiBV1_1"), std::string::npos);
}

TEST(C1Bincode, RealRequestOf8MiBIsReadWithItsReplicaId) {
  const std::string base = CUZK_SHARED_DIR "/inputs/filecoin/c1/";
  if (!std::filesystem::exists(base)) GTEST_SKIP() << "skipped: " << base << " is not there";
  std::string bytes = read_text(base + "gevulot-fil-c2-input-8MiB.bincode");
  const filecoin::PorepC1 c1 = parsed(bytes);
  EXPECT_TRUE(write_c1_json(c1) == read_text(base + "gevulot-fil-8MiB.c1.json"));
  const auto expected = nlohmann::json::parse(read_text(base + "gevulot-fil-8MiB.expected.json"));
  EXPECT_EQ(c1.replica_id, node_from_hex(expected["replica_id"]));
  bytes[bytes.size() - 8] ^= 1;  // the sector's number
  EXPECT_NE(refusal(bytes).find("replica_id"), std::string::npos);
}

TEST(C1Envelope, EqualsTheReferences) {
  const std::string text = golden("porep_2kib_v1_1.envelope.json");
  const filecoin::PorepC1 c1 = parsed(text);
  EXPECT_TRUE(write_c1_json(c1) == golden("porep_2kib_v1_1.c1.json"));
  EXPECT_EQ(ordered_json::parse(write_c1_envelope(c1, 1002)), ordered_json::parse(text));
}

TEST(C1Envelope, EachFieldIsHeldAgainstTheInside) {
  const std::string text = write_c1_envelope(parsed(golden("porep_2kib_v1_1.c1.json")), 1002);
  const auto with = [&](std::string_view from, std::string_view to) {
    return refusal(replaced(text, from, to));
  };
  EXPECT_NE(with("\"SectorSize\":2048", "\"SectorSize\":8388608").find("SectorSize is 8388608"),
            std::string::npos);
  EXPECT_NE(with("\"SectorSize\":2048", "\"SectorSize\":2048.0").find("SectorSize"),
            std::string::npos);
  EXPECT_NE(with("\"SectorNum\":1002", "\"SectorNum\":-1").find("SectorNum"), std::string::npos);
  EXPECT_NE(with("\"SectorNum\":1002,", "").find("SectorNum"), std::string::npos);
  EXPECT_NE(with("\"SectorNum\"", "\"SectorNum\":1,\"SectorNum\"").find("twice"),
            std::string::npos);
  EXPECT_NE(with("\"Phase1Out\":\"eyJ", "\"Phase1Out\":\"e!J").find("base64"), std::string::npos);
  EXPECT_NE(with("\"Phase1Out\":\"eyJ", "\"Phase1Out\":\"yJ").find("base64"), std::string::npos);
  EXPECT_NE(with("\"Phase1Out\":\"eyJ", "\"Phase1Out\":\"eyJ\\n").find("base64"),
            std::string::npos);
  EXPECT_NE(refusal("{\"SectorNum\":1,\"Phase1Out\":\"\",\"SectorSize\":2048}").find("Phase1Out"),
            std::string::npos);
  EXPECT_NE(refusal("{\"SectorNum\":1,\"Phase1Out\":null,\"SectorSize\":2048}").find("Phase1Out"),
            std::string::npos);
}

TEST(C1Body, RealRequestIsReadWithItsMinerAndSector) {
  const std::string text = golden("code-pangolin-2kib.body.json");
  const filecoin::PorepC1 c1 = parsed(text);
  const auto expected = testdata_json("c1/code-pangolin-2kib.expected.json");
  EXPECT_EQ(c1.replica_id, node_from_hex(expected["replica_id"]));
  const auto inputs = filecoin::porep_public_inputs(filecoin::PorepStatement::of(c1), 0);
  ASSERT_TRUE(inputs);
  for (std::size_t i = 0; i < inputs->size(); ++i) {
    EXPECT_EQ(to_hex((*inputs)[i].to_bytes_be()),
              expected["public_inputs_be"][0][i].get<std::string>());
  }
  ordered_json body = ordered_json::parse(text);
  body["sector"][1] = 24;
  EXPECT_NE(refusal(body.dump()).find("miner 1000 and sector 24"), std::string::npos);
  body["sector"] = {1000};
  EXPECT_NE(refusal(body.dump()).find("[miner, number]"), std::string::npos);
  body = ordered_json::parse(text);
  body["proof_type"] = 6;
  EXPECT_NE(refusal(body.dump()).find("proof_type is 6"), std::string::npos);
}

// Changes one place of a document at a time and restores it: each array's first and last element
// stand for the others.
class Mutator {
 public:
  explicit Mutator(const std::string& text) : document_(ordered_json::parse(text)) {}

  int run() {
    visit(document_, "");
    return count_;
  }

 private:
  void expect_refused(const std::string& what) {
    ++count_;
    SCOPED_TRACE(what);
    refusal(document_.dump());
  }
  void visit(ordered_json& value, const std::string& key) {
    if (value.is_object()) return visit_object(value, key);
    if (value.is_array()) return visit_array(value, key);
    const ordered_json original = value;
    const std::vector<ordered_json> wrong_kinds = {
        true, "1", ordered_json::array(), ordered_json::object(), -1, 1.5};
    for (const auto& wrong : wrong_kinds) {
      value = wrong;
      expect_refused(key + " set to " + wrong.dump());
    }
    if (original.is_number()) {
      value = nullptr;
      expect_refused(key + " set to null");
      value = std::uint64_t{1} << 63;
      // A node is any u64 to the format; whether it is the right one, check_vanilla sees.
      if (key != "node") expect_refused(key + " set to 2^63");
    }
    value = original;
  }
  void visit_object(ordered_json& object, const std::string& key) {
    const ordered_json original = object;
    for (const auto& [name, unused] : original.items()) {
      object.erase(name);
      expect_refused(key + " without " + name);
      object = original;
    }
    object["extra"] = nullptr;
    expect_refused(key + " with an unknown key");
    object = original;
    for (const auto& [name, unused] : original.items()) visit(object[name], name);
  }
  void visit_array(ordered_json& array, const std::string& key) {
    const ordered_json original = array;
    array.erase(array.size() - 1);
    expect_refused(key + " one shorter");
    array = original;
    array.push_back(original.back());
    expect_refused(key + " one longer");
    array = ordered_json::array();
    expect_refused(key + " empty");
    array = original;
    visit(array.front(), key);
    if (array.size() > 1) visit(array.back(), key);
  }

  ordered_json document_;
  int count_ = 0;
};

TEST(C1Json, AChangeOfAnyFieldsFormIsRefused) {
  // The whole of one challenge, of the deepest tree shape; then the fields around it.
  ordered_json top = ordered_json::parse(golden("c1_32kib_v1_1.c1.json"));
  const int count = Mutator(top.dump()).run();
  EXPECT_GT(count, 2000);
}

TEST(C1Json, AKeyThatStandsTwiceIsRefused) {
  const std::string text = golden("c1_32kib_v1_1.c1.json");
  for (const char* key : {"registered_proof",
                          "vanilla_proofs",
                          "comm_r",
                          "comm_d",
                          "replica_id",
                          "seed",
                          "ticket",
                          "comm_d_proofs",
                          "comm_r_last_proof",
                          "replica_column_proofs",
                          "labeling_proofs",
                          "encoding_proof",
                          "data",
                          "Single",
                          "Top",
                          "root",
                          "leaf",
                          "path",
                          "base_proof",
                          "sub_proof",
                          "top_proof",
                          "hashes",
                          "index",
                          "c_x",
                          "drg_parents",
                          "exp_parents",
                          "column",
                          "rows",
                          "_h",
                          "inclusion_proof",
                          "parents",
                          "layer_index",
                          "node"}) {
    const std::string quoted = fmt::format("\"{}\":", key);
    SCOPED_TRACE(key);
    refusal(replaced(text, quoted, quoted + "null," + quoted));
  }
}

TEST(C1Json, ErrorsSayWhereAndWhat) {
  const std::string text = golden("porep_2kib_v1_1.c1.json");
  ordered_json j = ordered_json::parse(text);
  auto& challenge = j["vanilla_proofs"]["StackedDrg2KiBV1"][0][1];
  auto& parent = challenge["replica_column_proofs"]["drg_parents"][2];
  parent["column"]["rows"][1][31] = 255;
  EXPECT_NE(refusal(j.dump()).find("vanilla_proofs[0][1]: replica_column_proofs.drg_parents[2]: "
                                   "column.rows[1]"),
            std::string::npos);
  parent["column"]["rows"][1][31] = 256;
  const std::string message = refusal(j.dump());
  EXPECT_NE(message.find("byte 31"), std::string::npos) << message;
  EXPECT_NE(message.find("drg_parents"), std::string::npos) << message;
  EXPECT_NE(message.find("found 256"), std::string::npos) << message;

  EXPECT_NE(refusal(replaced(text, "StackedDrg2KiBV1_1", "StackedDrg3KiBV1_1")).find("3KiB"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(text, "StackedDrg2KiBV1_1", "StackedDrg8MiBV1_1")).find("8MiB"),
            std::string::npos);
  EXPECT_NE(
      refusal(replaced(text, "StackedDrg2KiBV1_1", "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep"))
          .find("expected 13, found 1"),
      std::string::npos);
}

TEST(C1Json, NumbersAreWholeAndPlain) {
  const std::string text = golden("porep_2kib_v1_1.c1.json");
  const std::size_t at = text.find("\"ticket\":[") + 10;
  const std::size_t comma = text.find(',', at);
  for (const char* number : {"007", "1e1", "1.0", "+1", "0x1", "", "-1", "256", "NaN", "1 2",
                             "99999999999999999999999999"}) {
    SCOPED_TRACE(number);
    refusal(text.substr(0, at) + number + text.substr(comma));
  }
}

TEST(C1, CutAnywhereIsRefused) {
  const std::string json = golden("porep_2kib_v1_1.c1.json");
  for (std::size_t n = 0; n < json.size(); n += 7) {
    EXPECT_FALSE(parse_c1(bytes_of(json).first(n), "cut")) << n;
  }
  const auto bincode = *write_c1_bincode(parsed(json));
  for (std::size_t n = 0; n < bincode.size(); ++n) {
    EXPECT_FALSE(parse_c1(ByteSpan(bincode).first(n), "cut")) << n;
  }
}

TEST(C1, AnythingLeftOverIsRefused) {
  const std::string json = golden("porep_2kib_v1_1.c1.json");
  refusal(json + "x");
  refusal(json + "{}");
  refusal(json + std::string(1, '\0'));
  auto bincode = *write_c1_bincode(parsed(json));
  bincode.push_back(0);
  EXPECT_FALSE(parse_c1(bincode, "long"));
}

TEST(C1Bincode, DeclaredCountsBeyondTheFileAreRefused) {
  const auto bincode = *write_c1_bincode(parsed(golden("porep_2kib_v1_1.c1.json")));
  // Every aligned place that could be a count: nothing may be allocated from it.
  for (std::size_t at = 0; at + 8 <= bincode.size(); at += 4) {
    auto bad = bincode;
    store_le<std::uint64_t>(bad.data() + at, ~std::uint64_t{0} >> 1);
    const auto c1 = parse_c1(bad, "huge");
    if (c1) continue;  // it was a node's bytes or a number; check_vanilla sees those
    EXPECT_TRUE(c1.error().code == ErrorCode::kCorruptInput ||
                c1.error().code == ErrorCode::kMismatch);
  }
  auto bad = bincode;
  store_le<std::uint64_t>(bad.data() + 8, std::uint64_t{1} << 40);
  EXPECT_NE(parse_c1(bad, "huge").error().message.find("1099511627776"), std::string::npos);
}

TEST(C1Bincode, UnknownTagsAreRefused) {
  const auto bincode = *write_c1_bincode(parsed(golden("porep_2kib_v1_1.c1.json")));
  const auto with = [&](std::size_t at, std::uint32_t tag) {
    auto bad = bincode;
    store_le(bad.data() + at, tag);
    const auto c1 = parse_c1(bad, "tag");
    return c1 ? std::string() : c1.error().message;
  };
  EXPECT_NE(with(0, 20).find("0 to 19"), std::string::npos);
  EXPECT_NE(with(4, 3).find("do not fit"), std::string::npos);
  EXPECT_NE(with(24, 3).find("kind 3"), std::string::npos);  // the first Merkle proof
  EXPECT_FALSE(with(24, 1).empty());
}

TEST(C1File, WhatIsNoReadableFileIsToldApart) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "cuzk_c1_test";
  std::filesystem::create_directories(folder);
  EXPECT_EQ(read_c1(folder / "missing").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_c1(folder).error().code, ErrorCode::kInvalidArgument);
  std::ofstream(folder / "empty").close();
  EXPECT_NE(read_c1(folder / "empty").error().message.find("empty"), std::string::npos);
  const auto good = read_c1(testdata_path("c1/porep_2kib_v1_1.c1.json"));
  EXPECT_TRUE(good) << good.error().message;
  for (const char* text : {"", " ", "[]", "null", "{}", "{", "<html>", "\xef\xbb\xbf{}", "0"}) {
    refusal(text);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cuzk::format
