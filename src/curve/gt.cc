#include "curve/gt.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "curve/z_digits.h"

namespace cuzk {

namespace {

using Fq = bls12_381::Fq;
using Fq6 = bls12_381::Fq6;
using Fq12 = bls12_381::Fq12;
using Scalar = bls12_381::Fr::Scalar;

constexpr std::size_t kFq6Bytes = 288;

void write_fq6(std::uint8_t* out, const Fq6& a) {
  for (const Fq* c : {&a.c0.c0, &a.c0.c1, &a.c1.c0, &a.c1.c1, &a.c2.c0, &a.c2.c1}) {
    out = std::ranges::copy(c->to_bytes_le(), out).out;
  }
}

Result<Fq6> read_fq6(ByteSpan bytes) {
  Fq6 a;
  std::size_t at = 0;
  for (Fq* c : {&a.c0.c0, &a.c0.c1, &a.c1.c0, &a.c1.c1, &a.c2.c0, &a.c2.c1}) {
    const auto value = Fq::from_bytes_le(bytes.subspan(at).first<Fq::kBytes>());
    if (!value) {
      return fail(ErrorCode::kCorruptInput, "coordinate {} of 6 is not below the field's modulus",
                  at / Fq::kBytes + 1);
    }
    *c = *value;
    at += Fq::kBytes;
  }
  return a;
}

// The odd powers of a base and of its images under the power |z|^i, i = 0 to 3.
class PowerTable {
 public:
  explicit PowerTable(const Fq12& base) {
    const Fq12 square = base.cyclotomic_square();
    powers_[0][0] = base;
    for (std::size_t k = 1; k < kNafOddMultiples; ++k) powers_[0][k] = powers_[0][k - 1] * square;
    // g^|z| = conj(g^z) = conj(g^q).
    for (std::size_t i = 1; i < powers_.size(); ++i) {
      for (std::size_t k = 0; k < kNafOddMultiples; ++k) {
        powers_[i][k] = powers_[i - 1][k].frobenius().conjugate();
      }
    }
  }

  void multiply(Fq12& product, std::size_t image, int digit) const {
    const auto k = static_cast<std::size_t>(digit < 0 ? -digit : digit) / 2;
    product *= digit < 0 ? powers_[image][k].conjugate() : powers_[image][k];
  }

 private:
  std::array<std::array<Fq12, kNafOddMultiples>, 4> powers_;
};

using Naf = std::array<std::int8_t, 65>;

// One run of squarings for all bases of the chunk.
Fq12 product_of_chunk(std::span<const Fq12> bases, std::span<const Scalar> exponents) {
  std::vector<PowerTable> tables;
  std::vector<std::array<Naf, 4>> nafs(bases.size());
  tables.reserve(bases.size());
  for (std::size_t i = 0; i < bases.size(); ++i) {
    tables.emplace_back(bases[i]);
    const ZDigits digits = z_digits(exponents[i]);
    for (std::size_t d = 0; d < 4; ++d) nafs[i][d] = width_4_naf<64>(digits[d]);
  }
  Fq12 product = Fq12::one();
  for (std::size_t bit = 65; bit-- > 0;) {
    if (bit != 64) product = product.cyclotomic_square();
    for (std::size_t i = 0; i < bases.size(); ++i) {
      for (std::size_t d = 0; d < 4; ++d) {
        if (const int digit = nafs[i][d][bit]) tables[i].multiply(product, d, digit);
      }
    }
  }
  return product;
}

}  // namespace

bool is_in_gt(const Gt<Bls12_381>& g) {
  if (g.is_zero()) return false;
  const Fq12 g_q = g.frobenius();
  const Fq12 g_q2 = g_q.frobenius();
  if (!(g_q2.frobenius(2) * g == g_q2)) return false;
  return g_q == g.cyclotomic_pow(bls12_381::kZAbs).conjugate();  // z < 0
}

bool is_in_gt_reference(const Gt<Bls12_381>& g) { return g.pow(bls12_381::Fr::kModulus).is_one(); }

Result<std::array<std::uint8_t, kGtCompressedBytes>> compress_gt(const Gt<Bls12_381>& g) {
  if (g.c1.is_zero()) {
    return fail(ErrorCode::kInvalidArgument, "the element 1 of GT has no compressed form");
  }
  std::array<std::uint8_t, kGtCompressedBytes> out;
  write_fq6(out.data(), (g.c0 + Fq6::one()) * g.c1.inverse());
  return out;
}

Result<Gt<Bls12_381>> decompress_gt(ByteSpan bytes) {
  if (bytes.size() != kGtCompressedBytes) {
    return fail(ErrorCode::kCorruptInput, "a compressed element of GT has {} bytes, found {}",
                kGtCompressedBytes, bytes.size());
  }
  CUZK_TRY(const Fq6 t, read_fq6(bytes));
  // (t + w) / (t - w) = (t^2 + v + 2 t w) / (t^2 - v); v is no square, so t^2 - v is not zero.
  const Fq6 v = Fq6::one().mul_v();
  const Fq6 square = t.square();
  const Fq6 inverse = (square - v).inverse();
  return Fq12{(square + v) * inverse, t.dbl() * inverse};
}

std::array<std::uint8_t, kGtBytes> encode_gt(const Gt<Bls12_381>& g) {
  std::array<std::uint8_t, kGtBytes> out;
  write_fq6(out.data(), g.c0);
  write_fq6(out.data() + kFq6Bytes, g.c1);
  return out;
}

Gt<Bls12_381> gt_product_of_powers(Tasks& tasks, std::span<const Gt<Bls12_381>> bases,
                                   std::span<const Scalar> exponents) {
  CUZK_CHECK(bases.size() == exponents.size());
  // Chunks of 8 at least share their squarings well; a table takes 9 KiB, so 64 fill an L2 cache.
  const auto threads = static_cast<std::size_t>(tasks.threads());
  const std::size_t chunk = std::clamp<std::size_t>((bases.size() + threads - 1) / threads, 8, 64);
  const std::size_t chunks = (bases.size() + chunk - 1) / chunk;
  Fq12 product = Fq12::one();
  std::mutex mutex;
  tasks.parallel_for(chunks, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      const std::size_t first = c * chunk;
      const std::size_t count = std::min(chunk, bases.size() - first);
      const Fq12 part =
          product_of_chunk(bases.subspan(first, count), exponents.subspan(first, count));
      std::lock_guard lock(mutex);
      product *= part;
    }
  });
  return product;
}

}  // namespace cuzk
