#pragma once
// Verifying keys (.vk), parameters (.params) and their .meta beside them, as bellman and Filecoin
// keep them.
//
// Form:    uncompressed points (curve/encoding.h), counts as big-endian u32.
// Checks:  the structure of a whole file is settled before its first point is decoded: every count
//          against the bytes that are there. Then the points, as far as PointCheck says; the
//          identity is refused in every array, and in the head of the verifying key.
// Errors:  kCorruptInput names file, section, index, expected and found; the file's own errors are
//          those of MappedFile::open.
// Threads: a ParamsFile may be shared; loading uses `tasks`.
// Source:  docs/formats/bellman.md.

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/memory.h"
#include "base/tasks.h"
#include "curve/bls12_381.h"
#include "curve/encoding.h"
#include "groth16/key_check.h"
#include "groth16/keys.h"

namespace cuzk::bellman {

inline constexpr std::size_t kVkHeadBytes = 3 * 96 + 3 * 192;  // the six points before the count

std::vector<std::uint8_t> encode_vk(const VerifyingKey<Bls12_381>& vk);
// The whole of `bytes` is one verifying key. `what` names the source in errors.
Result<VerifyingKey<Bls12_381>> decode_vk(ByteSpan bytes, std::string_view what, PointCheck check);

Result<VerifyingKey<Bls12_381>> read_vk(const std::filesystem::path& path,
                                        PointCheck check = PointCheck::kSubgroup);
Status write_vk(const std::filesystem::path& path, const VerifyingKey<Bls12_381>& vk);

// A .params file, mapped, its structure checked.
class ParamsFile {
 public:
  struct Section {
    std::size_t offset = 0;  // of the first point
    std::size_t count = 0;
  };
  struct Layout {
    Section ic, h, l, a, b_g1, b_g2;
  };

  static Result<ParamsFile> open(const std::filesystem::path& path);
  // The structure of `bytes`, which must outlive the layout's use.
  static Result<Layout> parse_layout(ByteSpan bytes, std::string_view what);

  const Layout& layout() const { return layout_; }
  groth16::KeyCounts counts() const;
  std::size_t file_bytes() const { return file_.bytes().size(); }
  const std::filesystem::path& path() const { return file_.path(); }

  Result<VerifyingKey<Bls12_381>> verifying_key(PointCheck check) const;
  // Bytes of memory that load() takes for the queries.
  std::size_t loaded_bytes() const;
  // Points `first` and on of a section into `out`. `name` is the section's, for errors: "h".
  // G: Bls12_381G1 for the first five sections, Bls12_381G2 for b_g2. Errors: also kCancelled.
  template <class G>
  Status decode(Tasks& tasks, const Section& section, std::string_view name, std::size_t first,
                std::span<Affine<G>> out, PointCheck check) const;
  // Errors: also kOutOfBudget, kCancelled.
  Result<ProvingKey<Bls12_381>> load(Tasks& tasks, MemoryBudget& memory, PointCheck check) const;
  // Decodes and checks every point and keeps none.
  Status check_points(Tasks& tasks, PointCheck check) const;

 private:
  ParamsFile(MappedFile file, Layout layout) : file_(std::move(file)), layout_(layout) {}

  MappedFile file_;
  Layout layout_;
};

// Streamed; the file appears under its name only when it is whole.
// Errors: kIo, kOutOfBudget for the few MiB of the stream's buffer, kCancelled.
Status write_params(Tasks& tasks, MemoryBudget& memory, const std::filesystem::path& path,
                    const ProvingKey<Bls12_381>& key);

// The .meta file: {"sector_size":2048}, without a line's end.
std::string encode_meta(std::uint64_t sector_bytes);
Result<std::uint64_t> decode_meta(std::string_view text, std::string_view what);

}  // namespace cuzk::bellman
