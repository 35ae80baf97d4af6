#pragma once
// Hash functions, from OpenSSL (SHA-256) and libsodium (BLAKE2b).

#include <array>
#include <cstdint>
#include <memory>

#include "base/bytes.h"

namespace cuzk {

using Digest32 = std::array<std::uint8_t, 32>;
using Digest64 = std::array<std::uint8_t, 64>;

Digest32 sha256(ByteSpan bytes);

// BLAKE2b with a 1 to 64 byte digest and an optional key of up to 64 bytes.
class Blake2b {
 public:
  explicit Blake2b(std::size_t digest_bytes, ByteSpan key = {});
  ~Blake2b();
  Blake2b(Blake2b&&) noexcept;
  Blake2b& operator=(Blake2b&&) noexcept;

  void update(ByteSpan bytes);
  void finish(std::span<std::uint8_t> digest);  // digest.size() == digest_bytes; once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest32 blake2b_256(ByteSpan bytes);
Digest64 blake2b_512(ByteSpan bytes);

// SHA-256 over several pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(ByteSpan bytes);
  Digest32 finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cuzk
