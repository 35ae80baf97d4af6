#include "base/hash.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <sodium.h>

#include "base/check.h"

namespace cuzk {

Digest32 sha256(ByteSpan bytes) {
  Digest32 out;
  SHA256(bytes.data(), bytes.size(), out.data());
  return out;
}

struct Blake2b::State {
  alignas(64) crypto_generichash_blake2b_state s;
  std::size_t digest_bytes;
};

Blake2b::Blake2b(std::size_t digest_bytes, ByteSpan key) : state_(std::make_unique<State>()) {
  state_->digest_bytes = digest_bytes;
  CUZK_CHECK(crypto_generichash_blake2b_init(&state_->s, key.empty() ? nullptr : key.data(),
                                             key.size(), digest_bytes) == 0);
}
Blake2b::~Blake2b() = default;
Blake2b::Blake2b(Blake2b&&) noexcept = default;
Blake2b& Blake2b::operator=(Blake2b&&) noexcept = default;

void Blake2b::update(ByteSpan bytes) {
  CUZK_CHECK(crypto_generichash_blake2b_update(&state_->s, bytes.data(), bytes.size()) == 0);
}

void Blake2b::finish(std::span<std::uint8_t> digest) {
  CUZK_CHECK(digest.size() == state_->digest_bytes);
  CUZK_CHECK(crypto_generichash_blake2b_final(&state_->s, digest.data(), digest.size()) == 0);
}

Digest32 blake2b_256(ByteSpan bytes) {
  Blake2b h(32);
  h.update(bytes);
  Digest32 out;
  h.finish(out);
  return out;
}

Digest64 blake2b_512(ByteSpan bytes) {
  Blake2b h(64);
  h.update(bytes);
  Digest64 out;
  h.finish(out);
  return out;
}

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  CUZK_CHECK(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(ByteSpan bytes) {
  CUZK_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

Digest32 Sha256::finish() {
  Digest32 out;
  unsigned size = 0;
  CUZK_CHECK(EVP_DigestFinal_ex(state_->context, out.data(), &size) == 1 && size == out.size());
  return out;
}

}  // namespace cuzk
