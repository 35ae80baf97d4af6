#include "format/bellman_key.h"

#include <algorithm>
#include <charconv>
#include <mutex>

namespace cuzk::bellman {

namespace {

using G1 = Bls12_381G1;
using G2 = Bls12_381G2;

// Points encoded at a time on their way to a file.
constexpr std::size_t kWriteChunkPoints = std::size_t{1} << 16;
// Points decoded by one task at least.
constexpr std::size_t kDecodeGrain = 512;
// Bytes of a file decoded before they are forgotten: a key of 47 GiB that is in memory decoded
// would otherwise be there twice.
constexpr std::size_t kForgetBytes = std::size_t{64} << 20;

template <class G>
Result<Affine<G>> decode_point(ByteSpan bytes, PointCheck check) {
  auto point = decode_uncompressed<G>(bytes, check);
  if (point && point->is_identity()) {
    return fail(ErrorCode::kCorruptInput, "the identity is not allowed here");
  }
  return point;
}

// Decodes `count` points of a section in parallel; out may be null (check only). The error names
// the lowest index that is wrong, whatever the order in which tasks ran.
template <class G>
Status decode_points(Tasks& tasks, ByteSpan bytes, std::size_t count, PointCheck check,
                     std::string_view what, Affine<G>* out, std::size_t first, std::size_t total) {
  constexpr std::size_t kBytes = kUncompressedBytes<G>;
  std::mutex mutex;
  std::size_t bad_index = count;
  Error bad{};
  tasks.parallel_for(count, kDecodeGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      auto point = decode_point<G>(bytes.subspan(i * kBytes, kBytes), check);
      if (!point) {
        std::lock_guard lock(mutex);
        if (i < bad_index) {
          bad_index = i;
          bad = std::move(point).error();
        }
        return;
      }
      if (out) out[i] = *point;
    }
  });
  if (bad_index < count) {
    return fail(bad.code, "{}[{}] of {}: {}", what, first + bad_index, total, bad.message);
  }
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "{}: stopped while reading", what);
  return {};
}

Result<ParamsFile::Section> take_section(ByteReader& reader, std::string_view field,
                                         std::size_t point_bytes) {
  CUZK_TRY(const std::uint64_t count, reader.count_u32_be(field, point_bytes));
  ParamsFile::Section section{reader.offset(), static_cast<std::size_t>(count)};
  CUZK_TRY_VOID(reader.take(section.count * point_bytes, field));
  return section;
}

template <class G>
Status decode_head_point(ByteReader& reader, std::string_view name, PointCheck check,
                         Affine<G>& out) {
  CUZK_TRY(const ByteSpan bytes, reader.take(kUncompressedBytes<G>, name));
  auto point = decode_point<G>(bytes, check);
  if (!point) return fail(point.error().in(name).in(reader.what()));
  out = *point;
  return {};
}

// The verifying key at the start of a .vk or .params file.
Result<VerifyingKey<Bls12_381>> take_vk(ByteReader& reader, PointCheck check) {
  VerifyingKey<Bls12_381> vk;
  CUZK_TRY_VOID(decode_head_point<G1>(reader, "alpha_g1", check, vk.alpha_g1));
  CUZK_TRY_VOID(decode_head_point<G1>(reader, "beta_g1", check, vk.beta_g1));
  CUZK_TRY_VOID(decode_head_point<G2>(reader, "beta_g2", check, vk.beta_g2));
  CUZK_TRY_VOID(decode_head_point<G2>(reader, "gamma_g2", check, vk.gamma_g2));
  CUZK_TRY_VOID(decode_head_point<G1>(reader, "delta_g1", check, vk.delta_g1));
  CUZK_TRY_VOID(decode_head_point<G2>(reader, "delta_g2", check, vk.delta_g2));
  CUZK_TRY(const std::uint64_t count, reader.count_u32_be("ic", kUncompressedBytes<G1>));
  if (count == 0) {
    return fail(ErrorCode::kCorruptInput,
                "{}: ic has no point, expected one for each input and the constant one",
                reader.what());
  }
  vk.ic.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    CUZK_TRY(const ByteSpan bytes, reader.take(kUncompressedBytes<G1>, "ic"));
    auto point = decode_point<G1>(bytes, check);
    if (!point) {
      return fail(point.error().code, "{}: ic[{}] of {}: {}", reader.what(), i, count,
                  point.error().message);
    }
    vk.ic.push_back(*point);
  }
  return vk;
}

template <class G>
void append(std::vector<std::uint8_t>& out, const Affine<G>& p) {
  const auto bytes = encode_uncompressed(p);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void append_count(std::vector<std::uint8_t>& out, std::size_t count) {
  out.resize(out.size() + 4);
  store_be32(out.data() + out.size() - 4, static_cast<std::uint32_t>(count));
}

template <class G>
Status write_section(Tasks& tasks, FileWriter& file, Buffer<std::uint8_t>& chunk,
                     std::span<const Affine<G>> points) {
  constexpr std::size_t kBytes = kUncompressedBytes<G>;
  std::array<std::uint8_t, 4> count;
  store_be32(count.data(), static_cast<std::uint32_t>(points.size()));
  CUZK_TRY_VOID(file.write(count));
  const std::size_t chunk_points = chunk.size() / kBytes;
  for (std::size_t first = 0; first < points.size(); first += chunk_points) {
    const std::size_t n = std::min(chunk_points, points.size() - first);
    tasks.parallel_for(n, kDecodeGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        std::ranges::copy(encode_uncompressed(points[first + i]), chunk.data() + i * kBytes);
      }
    });
    if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "stopped while writing");
    CUZK_TRY_VOID(file.write({chunk.data(), n * kBytes}));
  }
  return {};
}

// Points [first, first + count) of a section, into `out` unless it is null.
template <class G>
Status decode_section(Tasks& tasks, const MappedFile& file, const ParamsFile::Section& section,
                      std::string_view name, std::size_t first, std::size_t count, PointCheck check,
                      Affine<G>* out) {
  constexpr std::size_t kBytes = kUncompressedBytes<G>;
  const std::string what = fmt::format("{}: {}", file.path().string(), name);
  for (std::size_t done = 0; done < count;) {
    const std::size_t n = std::min(count - done, kForgetBytes / kBytes);
    const std::size_t at = first + done;
    const ByteSpan bytes = file.bytes().subspan(section.offset + at * kBytes, n * kBytes);
    CUZK_TRY_VOID(decode_points<G>(tasks, bytes, n, check, what, out ? out + done : nullptr, at,
                                   section.count));
    file.forget(bytes);
    done += n;
  }
  return {};
}

template <class G>
Result<Buffer<Affine<G>>> load_section(Tasks& tasks, MemoryBudget& memory, const MappedFile& file,
                                       const ParamsFile::Section& section, PointCheck check,
                                       std::string_view name) {
  CUZK_TRY(auto buffer,
           Buffer<Affine<G>>::allocate(memory, fmt::format("{}_query", name), section.count));
  CUZK_TRY_VOID(
      decode_section<G>(tasks, file, section, name, 0, section.count, check, buffer.data()));
  return buffer;
}

template <class G>
Status check_section(Tasks& tasks, const MappedFile& file, const ParamsFile::Section& section,
                     PointCheck check, std::string_view name) {
  return decode_section<G>(tasks, file, section, name, 0, section.count, check, nullptr);
}

}  // namespace

std::vector<std::uint8_t> encode_vk(const VerifyingKey<Bls12_381>& vk) {
  std::vector<std::uint8_t> out;
  out.reserve(kVkHeadBytes + 4 + vk.ic.size() * kUncompressedBytes<G1>);
  append(out, vk.alpha_g1);
  append(out, vk.beta_g1);
  append(out, vk.beta_g2);
  append(out, vk.gamma_g2);
  append(out, vk.delta_g1);
  append(out, vk.delta_g2);
  append_count(out, vk.ic.size());
  for (const auto& p : vk.ic) append(out, p);
  return out;
}

Result<VerifyingKey<Bls12_381>> decode_vk(ByteSpan bytes, std::string_view what, PointCheck check) {
  ByteReader reader(bytes, what);
  CUZK_TRY(auto vk, take_vk(reader, check));
  CUZK_TRY_VOID(reader.expect_end());
  return vk;
}

Result<VerifyingKey<Bls12_381>> read_vk(const std::filesystem::path& path, PointCheck check) {
  CUZK_TRY(const MappedFile file, MappedFile::open(path));
  return decode_vk(file.bytes(), path.string(), check);
}

Status write_vk(const std::filesystem::path& path, const VerifyingKey<Bls12_381>& vk) {
  return write_file_atomically(path, encode_vk(vk));
}

Result<ParamsFile::Layout> ParamsFile::parse_layout(ByteSpan bytes, std::string_view what) {
  ByteReader reader(bytes, what);
  Layout layout;
  CUZK_TRY_VOID(reader.take(kVkHeadBytes, "the verifying key's head"));
  CUZK_TRY(layout.ic, take_section(reader, "ic", kUncompressedBytes<G1>));
  CUZK_TRY(layout.h, take_section(reader, "h", kUncompressedBytes<G1>));
  CUZK_TRY(layout.l, take_section(reader, "l", kUncompressedBytes<G1>));
  CUZK_TRY(layout.a, take_section(reader, "a", kUncompressedBytes<G1>));
  CUZK_TRY(layout.b_g1, take_section(reader, "b_g1", kUncompressedBytes<G1>));
  CUZK_TRY(layout.b_g2, take_section(reader, "b_g2", kUncompressedBytes<G2>));
  CUZK_TRY_VOID(reader.expect_end());
  if (layout.b_g1.count != layout.b_g2.count) {
    return fail(ErrorCode::kCorruptInput, "{}: b_g1 has {} points and b_g2 has {}, expected equal",
                what, layout.b_g1.count, layout.b_g2.count);
  }
  return layout;
}

Result<ParamsFile> ParamsFile::open(const std::filesystem::path& path) {
  CUZK_TRY(MappedFile file, MappedFile::open(path));
  CUZK_TRY(const Layout layout, parse_layout(file.bytes(), path.string()));
  return ParamsFile(std::move(file), layout);
}

groth16::KeyCounts ParamsFile::counts() const {
  return {layout_.ic.count, layout_.h.count,    layout_.l.count,
          layout_.a.count,  layout_.b_g1.count, layout_.b_g2.count};
}

Result<VerifyingKey<Bls12_381>> ParamsFile::verifying_key(PointCheck check) const {
  ByteReader reader(file_.bytes(), path().string());
  return take_vk(reader, check);
}

std::size_t ParamsFile::loaded_bytes() const {
  const std::size_t g1 = layout_.h.count + layout_.l.count + layout_.a.count + layout_.b_g1.count;
  return g1 * sizeof(Affine<G1>) + layout_.b_g2.count * sizeof(Affine<G2>);
}

Result<ProvingKey<Bls12_381>> ParamsFile::load(Tasks& tasks, MemoryBudget& memory,
                                               PointCheck check) const {
  ProvingKey<Bls12_381> key;
  CUZK_TRY(key.vk, verifying_key(check));
  CUZK_TRY(key.h_query, load_section<G1>(tasks, memory, file_, layout_.h, check, "h"));
  CUZK_TRY(key.l_query, load_section<G1>(tasks, memory, file_, layout_.l, check, "l"));
  CUZK_TRY(key.a_query, load_section<G1>(tasks, memory, file_, layout_.a, check, "a"));
  CUZK_TRY(key.b_g1_query, load_section<G1>(tasks, memory, file_, layout_.b_g1, check, "b_g1"));
  CUZK_TRY(key.b_g2_query, load_section<G2>(tasks, memory, file_, layout_.b_g2, check, "b_g2"));
  return key;
}

template <class G>
Status ParamsFile::decode(Tasks& tasks, const Section& section, std::string_view name,
                          std::size_t first, std::span<Affine<G>> out, PointCheck check) const {
  if (first > section.count || out.size() > section.count - first) {
    return fail(ErrorCode::kInvalidArgument, "{}: points {} to {} of {}, which has {}",
                path().string(), first, first + out.size(), name, section.count);
  }
  return decode_section<G>(tasks, file_, section, name, first, out.size(), check, out.data());
}
template Status ParamsFile::decode(Tasks&, const Section&, std::string_view, std::size_t,
                                   std::span<Affine<G1>>, PointCheck) const;
template Status ParamsFile::decode(Tasks&, const Section&, std::string_view, std::size_t,
                                   std::span<Affine<G2>>, PointCheck) const;

Status ParamsFile::check_points(Tasks& tasks, PointCheck check) const {
  CUZK_TRY_VOID(verifying_key(check));
  CUZK_TRY_VOID(check_section<G1>(tasks, file_, layout_.h, check, "h"));
  CUZK_TRY_VOID(check_section<G1>(tasks, file_, layout_.l, check, "l"));
  CUZK_TRY_VOID(check_section<G1>(tasks, file_, layout_.a, check, "a"));
  CUZK_TRY_VOID(check_section<G1>(tasks, file_, layout_.b_g1, check, "b_g1"));
  return check_section<G2>(tasks, file_, layout_.b_g2, check, "b_g2");
}

Status write_params(Tasks& tasks, MemoryBudget& memory, const std::filesystem::path& path,
                    const ProvingKey<Bls12_381>& key) {
  CUZK_TRY(auto chunk, Buffer<std::uint8_t>::allocate(memory, "params writer",
                                                      kWriteChunkPoints * kUncompressedBytes<G1>));
  return write_file_atomically(path, [&](FileWriter& file) -> Status {
    CUZK_TRY_VOID(file.write(encode_vk(key.vk)));
    CUZK_TRY_VOID(write_section<G1>(tasks, file, chunk, key.h_query.span()));
    CUZK_TRY_VOID(write_section<G1>(tasks, file, chunk, key.l_query.span()));
    CUZK_TRY_VOID(write_section<G1>(tasks, file, chunk, key.a_query.span()));
    CUZK_TRY_VOID(write_section<G1>(tasks, file, chunk, key.b_g1_query.span()));
    return write_section<G2>(tasks, file, chunk, key.b_g2_query.span());
  });
}

std::string encode_meta(std::uint64_t sector_bytes) {
  return fmt::format("{{\"sector_size\":{}}}", sector_bytes);
}

Result<std::uint64_t> decode_meta(std::string_view text, std::string_view what) {
  constexpr std::string_view kHead = "{\"sector_size\":";
  std::uint64_t value = 0;
  if (text.starts_with(kHead)) {
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data() + kHead.size(), end, value);
    if (error == std::errc{} && at + 1 == end && *at == '}') return value;
  }
  return fail(ErrorCode::kCorruptInput,
              "{}: expected {{\"sector_size\":<bytes>}}, found {} bytes of something else", what,
              text.size());
}

}  // namespace cuzk::bellman
