#pragma once
// Vectors of circom for tests: those that ship with the repository, those that may lie beside it,
// and what is done to their bytes.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "format/iden3_sections.h"
#include "format/input_bytes.h"

namespace cuzk::circom_test {

using Bytes = std::vector<std::uint8_t>;

inline std::filesystem::path testdata() {
  return std::filesystem::path(CUZK_TESTDATA_DIR) / "circom";
}
inline std::filesystem::path shared() {
  return std::filesystem::path(CUZK_SHARED_DIR) / "inputs/circom";
}

inline Bytes read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return Bytes(std::istreambuf_iterator<char>(file), {});
}
inline std::string read_text(const std::filesystem::path& path) {
  const Bytes bytes = read_bytes(path);
  return std::string(bytes.begin(), bytes.end());
}
inline format::InputBytes input(Bytes bytes, std::string_view name = "test") {
  return format::InputBytes::own(std::move(bytes), name);
}
inline format::InputBytes input(std::string_view text, std::string_view name = "test") {
  return input(Bytes(text.begin(), text.end()), name);
}

// The payload of a section.
inline std::span<std::uint8_t> section(Bytes& file, std::string_view magic, std::uint32_t id) {
  const auto sections = format::Iden3Sections::parse(file, "test", magic, 9).value();
  const auto found = sections.find(id, "section").value();
  return {file.data() + found.offset, found.size};
}

inline void put_u32(std::span<std::uint8_t> at, std::size_t offset, std::uint32_t value) {
  std::memcpy(at.data() + offset, &value, sizeof value);
}

struct Vector {
  std::string name;
  std::filesystem::path zkey, wtns, vk;
  std::filesystem::path folder;
};

// Everything in `made/` of one root: our circuits on both curves.
inline std::vector<Vector> made_vectors(const std::filesystem::path& root) {
  std::vector<Vector> out;
  for (const char* curve : {"bn128", "bls12381"}) {
    if (!std::filesystem::is_directory(root / curve)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(root / curve)) {
      const auto folder = entry.path();
      if (!std::filesystem::exists(folder / "circuit_final.zkey")) continue;
      out.push_back({std::string(curve) + "/" + folder.filename().string(),
                     folder / "circuit_final.zkey", folder / "witness.wtns",
                     folder / "verification_key.json", folder});
    }
  }
  return out;
}

}  // namespace cuzk::circom_test
