#pragma once
// The file of the inner-product SRS (v28-fil-inner-product-v1.srs).
//
// Form:    docs/formats/snarkpack.md: four vectors g_alpha, g_beta (G1), h_alpha, h_beta (G2), each
//          a u32 big-endian count and compressed points; from 2 to 2^20 + 1 points a vector.
// Errors:  kCorruptInput names the file, the vector and the entry; kNotFound, kIo.
// Cost:    opening looks at four counts. Decoding a point takes 20 us, 60 to 90 us with the
//          subgroup test; only what is asked for is decoded.
// Threads: an opened file is immutable; load uses `tasks` and has joined when it returns.

#include <array>
#include <filesystem>

#include "aggregate/srs.h"
#include "base/mapped_file.h"
#include "base/tasks.h"
#include "curve/encoding.h"

namespace cuzk::format {

class InnerProductSrsFile {
 public:
  // Every count is compared with the file's length before it is used.
  static Result<InnerProductSrsFile> open(const std::filesystem::path& path);
  // The same for bytes that the caller keeps. `what` names them in errors.
  static Result<InnerProductSrsFile> parse(ByteSpan bytes, std::string_view what);

  // The largest power of two of proofs that the vectors serve.
  std::size_t capacity() const;
  ByteSpan bytes() const { return bytes_; }

  // The powers that n proofs need, n <= capacity(). `check`: kOnCurve for a file whose digest is
  // known, kSubgroup for any other. Errors: kInvalidArgument when n exceeds the capacity.
  Result<aggregate::Srs> load(Tasks& tasks, MemoryBudget& memory, std::size_t n,
                              PointCheck check) const;
  // The first two powers of each secret.
  Result<aggregate::VerifierSrs> load_verifier() const;

 private:
  struct Vector {
    std::size_t offset = 0;  // of the first point
    std::size_t count = 0;
  };

  template <class G>
  Result<Buffer<Affine<G>>> load_vector(Tasks& tasks, MemoryBudget& memory, std::size_t which,
                                        std::size_t count, PointCheck check) const;
  template <class G>
  Result<Affine<G>> load_point(std::size_t which, std::size_t index, PointCheck check) const;

  MappedFile file_;  // empty for parse
  ByteSpan bytes_;
  std::string what_;
  std::array<Vector, 4> vectors_;
};

Status write_inner_product_srs(const std::filesystem::path& path, const aggregate::Srs& srs);

}  // namespace cuzk::format
