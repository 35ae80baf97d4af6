#include "groth16/key_check.h"

#include <array>
#include <utility>

#include "curve/pairing.h"

namespace cuzk::groth16 {

namespace {

constexpr std::string_view kInsecureDevPrefix = "insecure-dev-";

template <class G>
Status refuse_identity(const Affine<G>& p, std::string_view what, std::string_view name) {
  if (!p.is_identity()) return {};
  return fail(ErrorCode::kInsecureKey, "{}: {} is the identity, anyone can forge proofs for it",
              what, name);
}

template <class G>
Status refuse_generator(const Affine<G>& p, std::string_view what, std::string_view name) {
  if (p != G::generator()) return {};
  return fail(ErrorCode::kInsecureKey,
              "{}: {} is the generator, so nobody contributed to it and anyone can forge proofs",
              what, name);
}

// Do p1 and p2 have the logarithm that q1 and q2 have? e(p1, q2) = e(q1, p2)
template <class Curve>
bool same_ratio(const Affine<typename Curve::G1>& p1, const Affine<typename Curve::G2>& p2,
                const Affine<typename Curve::G1>& q1, const Affine<typename Curve::G2>& q2) {
  using Pair = std::pair<Affine<typename Curve::G1>, Affine<typename Curve::G2>>;
  const std::array<Pair, 2> pairs = {Pair{p1, q2}, Pair{-q1, p2}};
  return pairing_product_is_one<Curve>(std::span<const Pair>(pairs));
}

}  // namespace

Status check_key_counts(const KeyCounts& found, const KeyCounts& expected, std::string_view what,
                        std::string_view circuit) {
  struct Row {
    std::string_view name;
    std::size_t found;
    std::size_t expected;
    std::string_view meaning;
  };
  const std::array<Row, 6> rows = {{
      {"ic", found.ic, expected.ic, "one for each input"},
      {"h", found.h, expected.h, "one less than the domain"},
      {"l", found.l, expected.l, "one for each auxiliary"},
      {"a", found.a, expected.a, "the inputs and the auxiliaries in A"},
      {"b_g1", found.b_g1, expected.b_g1, "the variables in B"},
      {"b_g2", found.b_g2, expected.b_g2, "the variables in B"},
  }};
  for (const Row& row : rows) {
    if (row.found != row.expected) {
      return fail(
          ErrorCode::kMismatch,
          "{}: {} has {} points, the circuit {} needs {} ({}): the key was made for another "
          "circuit",
          what, row.name, row.found, circuit, row.expected, row.meaning);
    }
  }
  return {};
}

template <class Curve>
Status check_published_key(const VerifyingKey<Curve>& vk, std::string_view what) {
  CUZK_TRY_VOID(refuse_identity(vk.alpha_g1, what, "alpha_g1"));
  CUZK_TRY_VOID(refuse_identity(vk.beta_g2, what, "beta_g2"));
  CUZK_TRY_VOID(refuse_identity(vk.gamma_g2, what, "gamma_g2"));
  CUZK_TRY_VOID(refuse_identity(vk.delta_g2, what, "delta_g2"));
  if (vk.gamma_g2 == vk.delta_g2) {
    return fail(
        ErrorCode::kInsecureKey,
        "{}: gamma_g2 equals delta_g2, anyone can make a proof of one statement into a proof "
        "of another",
        what);
  }
  CUZK_TRY_VOID(refuse_generator(vk.delta_g2, what, "delta_g2"));
  CUZK_TRY_VOID(refuse_generator(vk.alpha_g1, what, "alpha_g1"));
  CUZK_TRY_VOID(refuse_generator(vk.beta_g2, what, "beta_g2"));
  return {};
}

template <class Curve>
Status check_verifying_key(const VerifyingKey<Curve>& vk, std::string_view what) {
  CUZK_TRY_VOID(refuse_identity(vk.beta_g1, what, "beta_g1"));
  CUZK_TRY_VOID(refuse_identity(vk.delta_g1, what, "delta_g1"));
  CUZK_TRY_VOID(check_published_key(vk, what));
  CUZK_TRY_VOID(refuse_generator(vk.delta_g1, what, "delta_g1"));
  CUZK_TRY_VOID(refuse_generator(vk.beta_g1, what, "beta_g1"));
  if (!same_ratio<Curve>(vk.beta_g1, vk.beta_g2, vk.delta_g1, vk.delta_g2)) {
    return fail(ErrorCode::kCorruptInput,
                "{}: beta and delta of G1 and G2 do not belong together, no setup makes such a key",
                what);
  }
  return {};
}

std::string insecure_dev_name(std::string_view stem) {
  return std::string(kInsecureDevPrefix).append(stem);
}

bool is_insecure_dev_name(std::string_view file_name) {
  return file_name.starts_with(kInsecureDevPrefix);
}

template Status check_published_key(const VerifyingKey<Bls12_381>&, std::string_view);
template Status check_published_key(const VerifyingKey<Bn254>&, std::string_view);
template Status check_verifying_key(const VerifyingKey<Bls12_381>&, std::string_view);
template Status check_verifying_key(const VerifyingKey<Bn254>&, std::string_view);

}  // namespace cuzk::groth16
