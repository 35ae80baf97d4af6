#include "r1cs/cache.h"

#include <functional>

#include "base/hash.h"
#include "base/mapped_file.h"
#include "field/bls12_381.h"
#include "field/bn254.h"
#include "r1cs/validate.h"

namespace cuzk {
namespace {

constexpr std::array<std::uint8_t, 8> kMagic = {'c', 'u', 'z', 'k', 'r', '1', 'c', 's'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeadBytes = 8 + 4 + 8 + 32 + 8;

// Passes the pieces of the payload on; the first failure ends it.
class Writer {
 public:
  explicit Writer(std::function<Status(ByteSpan)> sink) : sink_(std::move(sink)) {}
  void u32(std::uint32_t v) { bytes({reinterpret_cast<const std::uint8_t*>(&v), sizeof v}); }
  void u64(std::uint64_t v) { bytes({reinterpret_cast<const std::uint8_t*>(&v), sizeof v}); }
  void bytes(ByteSpan b) {
    if (status_) status_ = sink_(b);
  }
  template <class T>
  void array(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    u64(values.size());
    bytes({reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()});
  }
  void text(std::string_view s) { array(std::span<const char>(s)); }
  Status status() const { return status_; }

 private:
  std::function<Status(ByteSpan)> sink_;
  Status status_;
};

template <class Fr>
Status write_payload(std::string_view key, const CompactR1cs<Fr>& r1cs,
                     std::function<Status(ByteSpan)> sink) {
  Writer out(std::move(sink));
  out.text(key);
  out.text(r1cs.name);
  for (const std::uint32_t n : {r1cs.num_inputs, r1cs.num_aux, r1cs.num_rows, r1cs.num_full_aux}) {
    out.u32(n);
  }
  out.array(std::span<const Fr>(r1cs.dictionary));
  out.u64(r1cs.blocks.size());
  for (const RowBlock& block : r1cs.blocks) {
    out.text(block.path);
    for (const std::uint32_t n :
         {block.num_rows, block.num_aux, block.num_inputs, block.num_ports}) {
      out.u32(n);
    }
    for (const RowMatrix& m : block.matrices) {
      out.array(std::span<const std::uint32_t>(m.row_end));
      out.array(std::span<const Term>(m.terms));
    }
  }
  out.array(std::span<const Segment>(r1cs.segments));
  out.array(std::span<const ColumnRef>(r1cs.ports));
  out.u64(r1cs.paths.size());
  for (const PathRange& p : r1cs.paths) {
    for (const std::uint32_t n :
         {p.first_row, p.num_rows, p.first_aux, p.num_aux, std::uint32_t{p.depth}}) {
      out.u32(n);
    }
    out.text(p.name);
  }
  return out.status();
}

template <class T>
Status read_array(ByteReader& in, std::string_view field, std::vector<T>& out) {
  CUZK_TRY(const std::uint64_t count, in.count_u64_le(field, sizeof(T)));
  CUZK_TRY(const ByteSpan bytes, in.take(count * sizeof(T), field));
  out.resize(count);
  if (count) std::memcpy(static_cast<void*>(out.data()), bytes.data(), bytes.size());
  return {};
}

Result<std::string> read_text(ByteReader& in, std::string_view field) {
  std::vector<char> chars;
  CUZK_TRY_VOID(read_array(in, field, chars));
  return std::string(chars.begin(), chars.end());
}

Status read_counts(ByteReader& in, std::string_view field,
                   std::initializer_list<std::uint32_t*> counts) {
  for (std::uint32_t* n : counts) {
    CUZK_TRY(*n, in.u32_le(field));
  }
  return {};
}

Result<RowBlock> read_block(ByteReader& in) {
  RowBlock block;
  CUZK_TRY(block.path, read_text(in, "block path"));
  CUZK_TRY_VOID(read_counts(
      in, "block counts", {&block.num_rows, &block.num_aux, &block.num_inputs, &block.num_ports}));
  for (RowMatrix& m : block.matrices) {
    CUZK_TRY_VOID(read_array(in, "row ends", m.row_end));
    CUZK_TRY_VOID(read_array(in, "terms", m.terms));
  }
  return block;
}

Result<PathRange> read_path(ByteReader& in) {
  PathRange p{};
  std::uint32_t depth = 0;
  CUZK_TRY_VOID(
      read_counts(in, "path", {&p.first_row, &p.num_rows, &p.first_aux, &p.num_aux, &depth}));
  p.depth = static_cast<std::uint16_t>(depth);
  CUZK_TRY(p.name, read_text(in, "path name"));
  return p;
}

template <class Fr>
Result<CompactR1cs<Fr>> read_payload(ByteReader& in, std::string_view key) {
  CompactR1cs<Fr> r1cs;
  CUZK_TRY(const std::string found, read_text(in, "key"));
  if (found != key) {
    return fail(ErrorCode::kMismatch, "{}: holds circuit '{}', wanted is '{}'", in.what(), found,
                key);
  }
  CUZK_TRY(r1cs.name, read_text(in, "name"));
  CUZK_TRY_VOID(read_counts(in, "counts",
                            {&r1cs.num_inputs, &r1cs.num_aux, &r1cs.num_rows, &r1cs.num_full_aux}));
  CUZK_TRY_VOID(read_array(in, "dictionary", r1cs.dictionary));
  CUZK_TRY(const std::uint64_t num_blocks, in.count_u64_le("blocks", 1));
  for (std::uint64_t i = 0; i < num_blocks; ++i) {
    CUZK_TRY(auto block, read_block(in));
    r1cs.blocks.push_back(std::move(block));
  }
  CUZK_TRY_VOID(read_array(in, "segments", r1cs.segments));
  CUZK_TRY_VOID(read_array(in, "ports", r1cs.ports));
  CUZK_TRY(const std::uint64_t num_paths, in.count_u64_le("paths", 1));
  for (std::uint64_t i = 0; i < num_paths; ++i) {
    CUZK_TRY(auto path, read_path(in));
    r1cs.paths.push_back(std::move(path));
  }
  CUZK_TRY_VOID(in.expect_end());
  return r1cs;
}

// Checks head and digest; the payload is what is left in `in`.
template <class Fr>
Status read_head(ByteReader& in, ByteSpan file) {
  CUZK_TRY(const ByteSpan magic, in.take(kMagic.size(), "magic"));
  CUZK_TRY(const std::uint32_t version, in.u32_le("version"));
  if (!std::equal(magic.begin(), magic.end(), kMagic.begin()) || version != kVersion) {
    return fail(ErrorCode::kCorruptInput, "{}: not a compiled circuit of version {}", in.what(),
                kVersion);
  }
  CUZK_TRY(const std::uint64_t modulus, in.u64_le("modulus"));
  if (modulus != Fr::kModulus[0]) {
    return fail(ErrorCode::kMismatch, "{}: a circuit over another field than {}", in.what(),
                Fr::Params::kName);
  }
  CUZK_TRY(const ByteSpan digest, in.take(32, "digest"));
  CUZK_TRY(const std::uint64_t payload_bytes, in.u64_le("length"));
  if (payload_bytes != in.remaining()) {
    return fail(ErrorCode::kCorruptInput, "{}: declares {} bytes of payload, {} are there",
                in.what(), payload_bytes, in.remaining());
  }
  const Digest32 actual = blake2b_256(file.subspan(kHeadBytes));
  if (!std::equal(digest.begin(), digest.end(), actual.begin())) {
    return fail(ErrorCode::kCorruptInput, "{}: the payload's digest is {}, declared is {}",
                in.what(), to_hex(actual), to_hex(digest));
  }
  return {};
}

}  // namespace

std::filesystem::path r1cs_cache_path(const std::filesystem::path& directory,
                                      std::string_view key) {
  const Digest32 digest =
      blake2b_256({reinterpret_cast<const std::uint8_t*>(key.data()), key.size()});
  return directory / (to_hex(ByteSpan(digest).first(16)) + ".cuzk-r1cs");
}

template <class Fr>
Status write_r1cs(const std::filesystem::path& path, std::string_view key,
                  const CompactR1cs<Fr>& r1cs) {
  Blake2b hash(32);
  std::uint64_t payload_bytes = 0;
  CUZK_TRY_VOID(write_payload(key, r1cs, [&](ByteSpan bytes) -> Status {
    hash.update(bytes);
    payload_bytes += bytes.size();
    return {};
  }));
  Digest32 digest;
  hash.finish(digest);
  return write_file_atomically(path, [&](FileWriter& file) -> Status {
    std::array<std::uint8_t, kHeadBytes> head;
    std::copy(kMagic.begin(), kMagic.end(), head.begin());
    store_le(head.data() + 8, kVersion);
    store_le(head.data() + 12, Fr::kModulus[0]);
    std::copy(digest.begin(), digest.end(), head.begin() + 20);
    store_le(head.data() + 52, payload_bytes);
    CUZK_TRY_VOID(file.write(head));
    return write_payload(key, r1cs, [&](ByteSpan bytes) { return file.write(bytes); });
  });
}

template <class Fr>
Result<CompactR1cs<Fr>> read_r1cs(const std::filesystem::path& path, std::string_view key) {
  CUZK_TRY(const MappedFile file, MappedFile::open(path));
  ByteReader in(file.bytes(), path.string());
  CUZK_TRY_VOID(read_head<Fr>(in, file.bytes()));
  CUZK_TRY(auto r1cs, read_payload<Fr>(in, key));
  if (const Status ok = validate_r1cs(r1cs); !ok) return fail(ok.error().in(path.string()));
  return r1cs;
}

#define CUZK_INSTANTIATE(Fr)                                                 \
  template Status write_r1cs(const std::filesystem::path&, std::string_view, \
                             const CompactR1cs<Fr>&);                        \
  template Result<CompactR1cs<Fr>> read_r1cs(const std::filesystem::path&, std::string_view);
CUZK_INSTANTIATE(bls12_381::Fr)
CUZK_INSTANTIATE(bn254::Fr)
#undef CUZK_INSTANTIATE

}  // namespace cuzk
