#include "format/inner_product_srs.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <optional>

namespace cuzk::format {

namespace {

using aggregate::Srs;
using aggregate::VerifierSrs;

constexpr std::array<std::string_view, 4> kNames = {"g_alpha", "g_beta", "h_alpha", "h_beta"};
constexpr std::array<std::size_t, 4> kPointBytes = {48, 48, 96, 96};
constexpr std::uint32_t kMaxPowers = (std::uint32_t{1} << 20) + 1;

template <class G>
Status write_vector(FileWriter& writer, std::span<const Affine<G>> points) {
  std::array<std::uint8_t, 4> count;
  store_be32(count.data(), static_cast<std::uint32_t>(points.size()));
  CUZK_TRY_VOID(writer.write(count));
  for (const Affine<G>& p : points) CUZK_TRY_VOID(writer.write(encode_compressed(p)));
  return {};
}

}  // namespace

Result<InnerProductSrsFile> InnerProductSrsFile::parse(ByteSpan bytes, std::string_view what) {
  InnerProductSrsFile out;
  out.bytes_ = bytes;
  out.what_ = what;
  ByteReader reader(bytes, what);
  for (std::size_t i = 0; i < 4; ++i) {
    CUZK_TRY(const std::uint32_t count, reader.count_u32_be(kNames[i], kPointBytes[i]));
    if (count < 2 || count > kMaxPowers) {
      return fail(ErrorCode::kCorruptInput, "{}: {} declares {} points, 2 to {} are expected", what,
                  kNames[i], count, kMaxPowers);
    }
    out.vectors_[i] = {reader.offset(), count};
    CUZK_TRY(const ByteSpan skipped, reader.take(count * kPointBytes[i], kNames[i]));
    static_cast<void>(skipped);
  }
  CUZK_TRY_VOID(reader.expect_end());
  return out;
}

Result<InnerProductSrsFile> InnerProductSrsFile::open(const std::filesystem::path& path) {
  CUZK_TRY(MappedFile file, MappedFile::open(path));
  CUZK_TRY(InnerProductSrsFile out, parse(file.bytes(), path.string()));
  out.file_ = std::move(file);
  return out;
}

std::size_t InnerProductSrsFile::capacity() const {
  const std::size_t by_g = std::min(vectors_[0].count, vectors_[1].count) / 2;
  return std::bit_floor(std::min({by_g, vectors_[2].count, vectors_[3].count}));
}

template <class G>
Result<Affine<G>> InnerProductSrsFile::load_point(std::size_t which, std::size_t index,
                                                  PointCheck check) const {
  const std::size_t size = kCompressedBytes<G>;
  auto point =
      decode_compressed<G>(bytes_.subspan(vectors_[which].offset + index * size, size), check);
  if (point && point->is_identity()) {
    point = fail(ErrorCode::kCorruptInput, "the identity is no power");
  }
  if (!point) return fail(point.error().in(fmt::format("{}: {}[{}]", what_, kNames[which], index)));
  return point;
}

template <class G>
Result<Buffer<Affine<G>>> InnerProductSrsFile::load_vector(Tasks& tasks, MemoryBudget& memory,
                                                           std::size_t which, std::size_t count,
                                                           PointCheck check) const {
  CUZK_TRY(auto out, Buffer<Affine<G>>::allocate(memory, "srs", count));
  std::mutex mutex;
  std::optional<std::pair<std::size_t, Error>> first_error;
  tasks.parallel_for(count, 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      auto point = load_point<G>(which, i, check);
      if (point) {
        out[i] = *point;
        continue;
      }
      std::lock_guard lock(mutex);
      if (!first_error || i < first_error->first) first_error = {i, point.error()};
      return;
    }
  });
  if (tasks.stop_requested()) {
    return fail(ErrorCode::kCancelled, "{}: stopped while reading", what_);
  }
  if (first_error) return fail(first_error->second);
  return out;
}

Result<Srs> InnerProductSrsFile::load(Tasks& tasks, MemoryBudget& memory, std::size_t n,
                                      PointCheck check) const {
  if (n > capacity()) {
    return fail(ErrorCode::kInvalidArgument, "{}: the SRS serves {} proofs at most, {} are asked",
                what_, capacity(), n);
  }
  const std::size_t h_count = std::max<std::size_t>(n, 2);
  const std::size_t g_count = aggregate::srs_powers_for(n);
  Srs srs;
  CUZK_TRY(srs.g_alpha, load_vector<Bls12_381G1>(tasks, memory, 0, g_count, check));
  CUZK_TRY(srs.g_beta, load_vector<Bls12_381G1>(tasks, memory, 1, g_count, check));
  CUZK_TRY(srs.h_alpha, load_vector<Bls12_381G2>(tasks, memory, 2, h_count, check));
  CUZK_TRY(srs.h_beta, load_vector<Bls12_381G2>(tasks, memory, 3, h_count, check));
  return srs;
}

Result<VerifierSrs> InnerProductSrsFile::load_verifier() const {
  const PointCheck check = PointCheck::kSubgroup;
  VerifierSrs srs;
  CUZK_TRY(srs.g, load_point<Bls12_381G1>(0, 0, check));
  CUZK_TRY(srs.g_alpha, load_point<Bls12_381G1>(0, 1, check));
  CUZK_TRY(srs.g_beta, load_point<Bls12_381G1>(1, 1, check));
  CUZK_TRY(srs.h, load_point<Bls12_381G2>(2, 0, check));
  CUZK_TRY(srs.h_alpha, load_point<Bls12_381G2>(2, 1, check));
  CUZK_TRY(srs.h_beta, load_point<Bls12_381G2>(3, 1, check));
  return srs;
}

Status write_inner_product_srs(const std::filesystem::path& path, const Srs& srs) {
  for (const std::size_t count :
       {srs.g_alpha.size(), srs.g_beta.size(), srs.h_alpha.size(), srs.h_beta.size()}) {
    if (count < 2 || count > kMaxPowers) {
      return fail(ErrorCode::kInvalidArgument, "{}: {} powers, 2 to {} are possible", path.string(),
                  count, kMaxPowers);
    }
  }
  return write_file_atomically(path, [&](FileWriter& writer) -> Status {
    CUZK_TRY_VOID(write_vector<Bls12_381G1>(writer, srs.g_alpha.span()));
    CUZK_TRY_VOID(write_vector<Bls12_381G1>(writer, srs.g_beta.span()));
    CUZK_TRY_VOID(write_vector<Bls12_381G2>(writer, srs.h_alpha.span()));
    return write_vector<Bls12_381G2>(writer, srs.h_beta.span());
  });
}

}  // namespace cuzk::format
