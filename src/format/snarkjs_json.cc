#include "format/snarkjs_json.h"

#include <algorithm>
#include <set>

#include "circom/decimal.h"
#include "curve/endomorphism.h"
#include "curve/pairing.h"
#include "format/json_document.h"

namespace cuzk::format {

namespace {

namespace dom = simdjson::dom;
using circom::CurveId;

// --- writing

// JSON text as JSON.stringify(value, null, 1) lays it out, or without any blank.
class JsonWriter {
 public:
  explicit JsonWriter(bool indented) : indented_(indented) {}

  void open(char bracket) {
    item();
    out_ += bracket;
    ++depth_;
    first_ = true;
  }
  void close(char bracket) {
    --depth_;
    line();  // also in an empty list, which snarkjs writes on two lines
    out_ += bracket;
    first_ = false;
  }
  void key(std::string_view name) {
    item();
    out_.append("\"").append(name).append(indented_ ? "\": " : "\":");
    after_key_ = true;
  }
  void text(std::string_view value) {
    item();
    out_.append("\"").append(value).append("\"");
  }
  void number(std::size_t value) {
    item();
    out_ += std::to_string(value);
  }
  std::string take() { return std::move(out_); }

 private:
  void item() {
    if (after_key_) {
      after_key_ = false;
    } else if (depth_ > 0) {
      if (!first_) out_ += ',';
      line();
    }
    first_ = false;
  }
  void line() {
    if (!indented_) return;
    out_ += '\n';
    out_.append(depth_, ' ');
  }

  const bool indented_;
  std::string out_;
  std::size_t depth_ = 0;
  bool first_ = true;
  bool after_key_ = false;
};

template <class P>
void write(JsonWriter& json, const Fp<P>& v) {
  json.text(circom::to_decimal(v.to_scalar().limbs));
}
template <class F>
void write(JsonWriter& json, const Fp2<F>& v) {
  json.open('[');
  write(json, v.c0);
  write(json, v.c1);
  json.close(']');
}

// Affine points with z = 1; the identity is (0, 1, 0).
template <class G>
void write_point(JsonWriter& json, const Affine<G>& p) {
  using F = typename G::Field;
  const bool identity = p.is_identity();
  json.open('[');
  write(json, p.x);
  write(json, identity ? F::one() : p.y);
  write(json, identity ? F::zero() : F::one());
  json.close(']');
}

template <class Curve>
void write_alphabeta(JsonWriter& json, const VerifyingKey<Curve>& vk) {
  const auto value = pairing<Curve>(vk.alpha_g1, vk.beta_g2);
  json.open('[');
  for (const auto* half : {&value.c0, &value.c1}) {
    json.open('[');
    for (const auto* part : {&half->c0, &half->c1, &half->c2}) write(json, *part);
    json.close(']');
  }
  json.close(']');
}

// --- reading

Result<dom::object> parse_object(dom::parser& parser, std::string_view json,
                                 std::string_view what) {
  CUZK_TRY(const dom::element root, parse_json(parser, json, what));
  dom::object object;
  if (root.get(object)) {
    return fail(ErrorCode::kCorruptInput, "{}: expected a JSON object", what);
  }
  std::set<std::string_view> seen;
  for (const auto& field : object) {
    if (!seen.insert(field.key).second) {
      return fail(ErrorCode::kCorruptInput, "{}: the key {} stands twice", what, field.key);
    }
  }
  return object;
}

Result<dom::element> member(dom::object object, std::string_view key, std::string_view what) {
  dom::element value;
  if (object[key].get(value)) {
    return fail(ErrorCode::kCorruptInput, "{}: {} is missing", what, key);
  }
  return value;
}

Result<std::string_view> text_of(dom::element value, const std::string& where) {
  std::string_view text;
  if (value.get(text)) {
    return fail(ErrorCode::kCorruptInput, "{}: expected a string", where);
  }
  return text;
}

Result<dom::array> array_of(dom::element value, std::size_t size, const std::string& where) {
  dom::array array;
  if (value.get(array) || array.size() != size) {
    return fail(ErrorCode::kCorruptInput, "{}: expected an array of {}", where, size);
  }
  return array;
}

template <class F>
struct FieldReader;

template <class P>
struct FieldReader<Fp<P>> {
  static Result<Fp<P>> read(dom::element value, const std::string& where) {
    CUZK_TRY(const std::string_view text, text_of(value, where));
    const auto limbs = circom::from_decimal(text, P::kModulus);
    if (!limbs) {
      return fail(ErrorCode::kCorruptInput,
                  "{}: expected a decimal number without leading zeros below {}, found \"{}\"",
                  where, circom::to_decimal(P::kModulus), text.substr(0, 100));
    }
    return Fp<P>::from_scalar({*limbs});
  }
};
template <class F>
struct FieldReader<Fp2<F>> {
  static Result<Fp2<F>> read(dom::element value, const std::string& where) {
    CUZK_TRY(const dom::array array, array_of(value, 2, where));
    Fp2<F> out;
    CUZK_TRY(out.c0, FieldReader<F>::read(array.at(0), where));
    CUZK_TRY(out.c1, FieldReader<F>::read(array.at(1), where));
    return out;
  }
};

template <class G>
Result<Affine<G>> read_point(dom::element value, const std::string& where) {
  using F = typename G::Field;
  CUZK_TRY(const dom::array array, array_of(value, 3, where));
  Affine<G> p;
  CUZK_TRY(p.x, FieldReader<F>::read(array.at(0), where));
  CUZK_TRY(p.y, FieldReader<F>::read(array.at(1), where));
  CUZK_TRY(const F z, FieldReader<F>::read(array.at(2), where));
  if (z.is_zero() && p.x.is_zero() && p.y.is_one()) return Affine<G>::identity();
  if (!z.is_one()) {
    return fail(ErrorCode::kCorruptInput,
                "{}: the third coordinate must be 1, or the point (0, 1, 0)", where);
  }
  if (p.is_identity()) {
    return fail(ErrorCode::kCorruptInput, "{}: (0, 0) is no point; the identity is (0, 1, 0)",
                where);
  }
  return p;
}

template <class G>
Status read_key_point(dom::object object, std::string_view key, std::string_view what,
                      Affine<G>& out) {
  CUZK_TRY(const dom::element value, member(object, key, what));
  const std::string where = fmt::format("{}: {}", what, key);
  CUZK_TRY(out, read_point<G>(value, where));
  if (!out.is_on_curve()) {
    return fail(ErrorCode::kCorruptInput, "{}: the point is not on the curve", where);
  }
  if (!is_in_subgroup(out)) {
    return fail(ErrorCode::kCorruptInput, "{}: the point is outside the subgroup", where);
  }
  return {};
}

Status check_protocol(dom::object object, std::string_view what) {
  CUZK_TRY(const dom::element value, member(object, "protocol", what));
  CUZK_TRY(const std::string_view protocol, text_of(value, fmt::format("{}: protocol", what)));
  if (protocol == "groth16") return {};
  return fail(ErrorCode::kCorruptInput, "{}: the protocol is \"{}\", this is Groth16's verifier",
              what, protocol.substr(0, 40));
}

// Nothing when the object names no curve.
Result<std::optional<CurveId>> curve_of(dom::object object, std::string_view what) {
  dom::element value;
  if (object["curve"].get(value)) return std::optional<CurveId>();
  CUZK_TRY(const std::string_view name, text_of(value, fmt::format("{}: curve", what)));
  const auto curve = circom::curve_of_name(name);
  if (!curve) {
    return fail(ErrorCode::kCorruptInput, "{}: unknown curve \"{}\", expected bn128 or bls12381",
                what, name.substr(0, 40));
  }
  return curve;
}

template <class Curve>
Status check_curve(dom::object object, std::string_view what) {
  CUZK_TRY(const auto curve, curve_of(object, what));
  if (!curve || *curve == circom::kCurveId<Curve>) return {};
  return fail(ErrorCode::kMismatch, "{}: the curve is {}, expected {}", what,
              circom::display_name(*curve), circom::display_name(circom::kCurveId<Curve>));
}

template <class Curve>
Status read_ic(dom::object object, std::string_view what, VerifyingKey<Curve>& vk) {
  CUZK_TRY(const dom::element public_value, member(object, "nPublic", what));
  std::uint64_t num_public = 0;
  if (public_value.get(num_public)) {
    return fail(ErrorCode::kCorruptInput, "{}: nPublic: expected a whole number", what);
  }
  CUZK_TRY(const dom::element ic_value, member(object, "IC", what));
  dom::array ic;
  if (ic_value.get(ic)) return fail(ErrorCode::kCorruptInput, "{}: IC: expected an array", what);
  std::size_t i = 0;
  for (const dom::element value : ic) {
    const std::string where = fmt::format("{}: IC[{}]", what, i++);
    CUZK_TRY(const auto p, read_point<typename Curve::G1>(value, where));
    if (!p.is_on_curve() || !is_in_subgroup(p)) {
      return fail(ErrorCode::kCorruptInput,
                  "{}: the point is not on the curve or outside the subgroup", where);
    }
    vk.ic.push_back(p);
  }
  if (vk.ic.empty() || vk.ic.size() - 1 != num_public) {
    return fail(ErrorCode::kCorruptInput,
                "{}: IC has {} points, nPublic is {}: expected one more than that", what,
                vk.ic.size(), num_public);
  }
  return {};
}

}  // namespace

template <class Curve>
std::string write_proof_json(const Proof<Curve>& proof, JsonStyle style) {
  JsonWriter json(style == JsonStyle::kSnarkjs);
  json.open('{');
  json.key("pi_a");
  write_point(json, proof.a);
  json.key("pi_b");
  write_point(json, proof.b);
  json.key("pi_c");
  write_point(json, proof.c);
  json.key("protocol");
  json.text("groth16");
  if (style == JsonStyle::kSnarkjs) {
    json.key("curve");
    json.text(circom::snarkjs_name(circom::kCurveId<Curve>));
  }
  json.close('}');
  return json.take();
}

template <class Fr>
std::string write_public_json(std::span<const Fr> signals, JsonStyle style) {
  JsonWriter json(style == JsonStyle::kSnarkjs);
  json.open('[');
  for (const Fr& v : signals) write(json, v);
  json.close(']');
  return json.take();
}

template <class Curve>
std::string write_verification_key_json(const VerifyingKey<Curve>& vk) {
  JsonWriter json(true);
  json.open('{');
  json.key("protocol");
  json.text("groth16");
  json.key("curve");
  json.text(circom::snarkjs_name(circom::kCurveId<Curve>));
  json.key("nPublic");
  json.number(vk.ic.size() - 1);
  json.key("vk_alpha_1");
  write_point(json, vk.alpha_g1);
  json.key("vk_beta_2");
  write_point(json, vk.beta_g2);
  json.key("vk_gamma_2");
  write_point(json, vk.gamma_g2);
  json.key("vk_delta_2");
  write_point(json, vk.delta_g2);
  json.key("vk_alphabeta_12");
  write_alphabeta(json, vk);
  json.key("IC");
  json.open('[');
  for (const auto& p : vk.ic) write_point(json, p);
  json.close(']');
  json.close('}');
  return json.take();
}

Result<CurveId> curve_of_verification_key(std::string_view json, std::string_view what) {
  dom::parser parser;
  CUZK_TRY(const dom::object object, parse_object(parser, json, what));
  CUZK_TRY_VOID(check_protocol(object, what));
  CUZK_TRY(const auto curve, curve_of(object, what));
  if (!curve) return fail(ErrorCode::kCorruptInput, "{}: curve is missing", what);
  return *curve;
}

template <class Curve>
Result<VerifyingKey<Curve>> read_verification_key_json(std::string_view json,
                                                       std::string_view what) {
  dom::parser parser;
  CUZK_TRY(const dom::object object, parse_object(parser, json, what));
  CUZK_TRY_VOID(check_protocol(object, what));
  CUZK_TRY_VOID(check_curve<Curve>(object, what));
  VerifyingKey<Curve> vk{};
  CUZK_TRY_VOID(read_key_point(object, "vk_alpha_1", what, vk.alpha_g1));
  CUZK_TRY_VOID(read_key_point(object, "vk_beta_2", what, vk.beta_g2));
  CUZK_TRY_VOID(read_key_point(object, "vk_gamma_2", what, vk.gamma_g2));
  CUZK_TRY_VOID(read_key_point(object, "vk_delta_2", what, vk.delta_g2));
  CUZK_TRY_VOID(read_ic<Curve>(object, what, vk));
  return vk;
}

template <class Curve>
Result<Proof<Curve>> read_proof_json(std::string_view json, std::string_view what) {
  dom::parser parser;
  CUZK_TRY(const dom::object object, parse_object(parser, json, what));
  CUZK_TRY_VOID(check_protocol(object, what));
  CUZK_TRY_VOID(check_curve<Curve>(object, what));
  Proof<Curve> proof;
  const auto where = [&](std::string_view key) { return fmt::format("{}: {}", what, key); };
  CUZK_TRY(const dom::element a, member(object, "pi_a", what));
  CUZK_TRY(const dom::element b, member(object, "pi_b", what));
  CUZK_TRY(const dom::element c, member(object, "pi_c", what));
  CUZK_TRY(proof.a, read_point<typename Curve::G1>(a, where("pi_a")));
  CUZK_TRY(proof.b, read_point<typename Curve::G2>(b, where("pi_b")));
  CUZK_TRY(proof.c, read_point<typename Curve::G1>(c, where("pi_c")));
  return proof;
}

template <class Fr>
Result<std::vector<Fr>> read_public_json(std::string_view json, std::string_view what) {
  dom::parser parser;
  CUZK_TRY(const dom::element root, parse_json(parser, json, what));
  dom::array array;
  if (root.get(array)) {
    return fail(ErrorCode::kCorruptInput, "{}: expected a JSON array of strings", what);
  }
  std::vector<Fr> out;
  for (const dom::element value : array) {
    CUZK_TRY(const Fr v, FieldReader<Fr>::read(value, fmt::format("{}[{}]", what, out.size())));
    out.push_back(v);
  }
  return out;
}

#define CUZK_INSTANTIATE(Curve)                                                      \
  template std::string write_proof_json(const Proof<Curve>&, JsonStyle);             \
  template std::string write_public_json(std::span<const Curve::Fr>, JsonStyle);     \
  template std::string write_verification_key_json(const VerifyingKey<Curve>&);      \
  template Result<VerifyingKey<Curve>> read_verification_key_json(std::string_view,  \
                                                                  std::string_view); \
  template Result<Proof<Curve>> read_proof_json(std::string_view, std::string_view); \
  template Result<std::vector<Curve::Fr>> read_public_json(std::string_view, std::string_view)
CUZK_INSTANTIATE(Bn254);
CUZK_INSTANTIATE(Bls12_381);
#undef CUZK_INSTANTIATE

}  // namespace cuzk::format
