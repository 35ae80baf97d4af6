// What compiling a circuit takes at most (catalog.h) against what it takes: each compilation in a
// process of its own, whose high-water mark of resident memory the kernel keeps.

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/catalog.h"

namespace cuzk::engine {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryIsItsOwn = false;
#else
constexpr bool kMemoryIsItsOwn = true;
#endif

// VmHWM or VmRSS of this process, in bytes.
std::size_t own_memory(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    std::size_t kib = 0;
    if (word == name + ":" && file >> kib) return kib << 10;
  }
  return 0;
}

// The child's part: compiles, and prints what that added.
int compile(const char* kind, const char* sector_bytes) {
  const auto spec = find_circuit(kind, std::stoull(sector_bytes));
  if (!spec) return std::fprintf(stderr, "%s\n", spec.error().message.c_str()), 1;
  const std::size_t before = own_memory("VmRSS");
  const auto circuit = spec->compile();
  if (!circuit) return std::fprintf(stderr, "%s\n", circuit.error().message.c_str()), 1;
  std::printf("%zu %zu\n", own_memory("VmHWM") - before, circuit->bytes());
  return 0;
}

void expect_within_bound(std::string_view kind, std::uint64_t sector_bytes) {
  const auto spec = find_circuit(kind, sector_bytes);
  ASSERT_TRUE(spec) << spec.error().message;
  SCOPED_TRACE(spec->name);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command =
      "'" + self + "' --compile " + std::string(kind) + " " + std::to_string(sector_bytes);
  FILE* child = popen(command.c_str(), "r");
  ASSERT_NE(child, nullptr);
  std::size_t taken = 0, rows = 0;
  const int read = std::fscanf(child, "%zu %zu", &taken, &rows);
  ASSERT_EQ(pclose(child), 0);
  ASSERT_EQ(read, 2);
  const std::size_t bound = compile_bytes(*spec);
  std::printf("%-28s took %5zu MiB (its rows %4zu), the bound is %5zu MiB\n", spec->name.c_str(),
              taken >> 20, rows >> 20, bound >> 20);
  EXPECT_LE(taken, bound);
  // A bound that asks for far more would keep work out.
  EXPECT_LE(bound, 32 * taken + (std::size_t{96} << 20));
}

void expect_all_within_bound(std::uint64_t sector_bytes) {
  if (!kMemoryIsItsOwn) GTEST_SKIP() << "a sanitizer's own memory would be counted";
  for (const std::string_view kind : proof_kinds()) expect_within_bound(kind, sector_bytes);
}

TEST(CompileBound, HoldsForTheSmallestSectors) { expect_all_within_bound(std::uint64_t{2} << 10); }

TEST(CompileBoundSlow, HoldsFor8Mib) { expect_all_within_bound(std::uint64_t{8} << 20); }
TEST(CompileBoundSlow, HoldsFor512Mib) { expect_all_within_bound(std::uint64_t{512} << 20); }
TEST(CompileBoundSlow, HoldsFor32Gib) { expect_all_within_bound(std::uint64_t{32} << 30); }
TEST(CompileBoundSlow, HoldsFor64Gib) { expect_all_within_bound(std::uint64_t{64} << 30); }

}  // namespace
}  // namespace cuzk::engine

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--compile")
    return cuzk::engine::compile(argv[2], argv[3]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
