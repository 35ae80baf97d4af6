#include "engine/verify_groth16.h"

#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "format/bellman_key.h"
#include "format/bellman_proof.h"
#include "groth16/key_check.h"
#include "groth16/verifier.h"

namespace cuzk::engine {

namespace {

using Fr = bls12_381::Fr;
constexpr std::size_t kMaxPublicFileBytes = std::size_t{64} << 20;

// "123" or "0x7b", below the modulus, in the one canonical spelling (no sign, no leading zero).
Result<Fr> parse_field_element(const std::string& text, const std::string& where) {
  const bool hex = text.starts_with("0x");
  const std::string_view digits = std::string_view(text).substr(hex ? 2 : 0);
  if (digits.empty() || digits.size() > 78 || (digits.size() > 1 && digits[0] == '0' && !hex)) {
    return fail(ErrorCode::kCorruptInput, "{}: '{}' is no canonical number", where, text);
  }
  // Horner over wide limbs, so that a value above the modulus is seen rather than reduced.
  Limbs<6> value{};
  for (const char c : digits) {
    const int digit = c >= '0' && c <= '9'          ? c - '0'
                      : hex && c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                    : -1;
    if (digit < 0)
      return fail(ErrorCode::kCorruptInput, "{}: '{}' is no canonical number", where, text);
    u128 carry = static_cast<unsigned>(digit);
    for (std::uint64_t& limb : value) {
      carry += static_cast<u128>(limb) * (hex ? 16u : 10u);
      limb = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
  }
  Limbs<6> modulus{};
  std::copy(Fr::kModulus.begin(), Fr::kModulus.end(), modulus.begin());
  if (compare(value, modulus) >= 0) {
    return fail(ErrorCode::kCorruptInput, "{}: {} is not below the field's modulus", where, text);
  }
  Fr::Scalar scalar;
  std::copy(value.begin(), value.begin() + 4, scalar.limbs.begin());
  return Fr::from_scalar(scalar);
}

Result<std::vector<Fr>> read_public_inputs(const std::filesystem::path& path) {
  CUZK_TRY(const auto bytes, read_file(path, kMaxPublicFileBytes));
  const auto json = nlohmann::json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (!json.is_array()) {
    return fail(ErrorCode::kCorruptInput, "{}: a JSON array of strings is expected", path.string());
  }
  std::vector<Fr> out;
  out.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string where = fmt::format("{}: public input {}", path.string(), i);
    if (!json[i].is_string()) {
      return fail(ErrorCode::kCorruptInput, "{} is {}, a string is expected", where,
                  json[i].type_name());
    }
    CUZK_TRY(const Fr value, parse_field_element(json[i].get<std::string>(), where));
    out.push_back(value);
  }
  return out;
}

}  // namespace

Status verify_groth16_files(Tasks& tasks, const Groth16Files& files) {
  CUZK_TRY(auto vk, bellman::read_vk(files.vk));
  if (!files.allow_insecure_key) CUZK_TRY_VOID(groth16::check_verifying_key(vk, files.vk.string()));
  CUZK_TRY(auto inputs, read_public_inputs(files.public_inputs));
  CUZK_TRY(const auto bytes, read_file(files.proof, std::size_t{1} << 20));
  CUZK_TRY(const auto proof, bellman::decode_proof(bytes, files.proof.string()));
  const groth16::PreparedVerifyingKey<Bls12_381> key(std::move(vk));
  const auto verified = groth16::verify<Bls12_381>(tasks, key, {proof, std::move(inputs)});
  if (!verified) return fail(verified.error());
  return {};
}

}  // namespace cuzk::engine
