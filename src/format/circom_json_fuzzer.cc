// snarkjs' JSON: whatever is read is written as something that reads as the same.

#include "base/check.h"
#include "format/snarkjs_json.h"

namespace {

using namespace cuzk;

template <class Curve>
void read_everything(std::string_view text) {
  using Fr = typename Curve::Fr;
  if (const auto proof = format::read_proof_json<Curve>(text, "fuzz")) {
    for (const auto style : {format::JsonStyle::kSnarkjs, format::JsonStyle::kRapidsnark}) {
      CUZK_CHECK(*format::read_proof_json<Curve>(format::write_proof_json(*proof, style),
                                                 "again") == *proof);
    }
  }
  if (const auto signals = format::read_public_json<Fr>(text, "fuzz")) {
    CUZK_CHECK(*format::read_public_json<Fr>(
                   format::write_public_json(std::span<const Fr>(*signals)), "again") == *signals);
  }
  if (const auto vk = format::read_verification_key_json<Curve>(text, "fuzz")) {
    const auto again = format::read_verification_key_json<Curve>(
        format::write_verification_key_json(*vk), "again");
    CUZK_CHECK(again && again->ic == vk->ic && again->delta_g2 == vk->delta_g2);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_everything<Bn254>(text);
  read_everything<Bls12_381>(text);
  return 0;
}
