#include "aggregate/transcript.h"

#include "base/check.h"
#include "base/hash.h"
#include "curve/encoding.h"
#include "curve/gt.h"
#include "field/batch_inverse.h"

namespace cuzk::aggregate {

namespace {

constexpr std::string_view kDomain = "snarkpack-v1";

// Not inlined: g++ 12 warns of overflows that are not there when it sees growing and copying at
// once.
[[gnu::noinline]] void append(std::vector<std::uint8_t>& out, ByteSpan bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// The items of one challenge, as bytes.
class Message {
 public:
  Message() = default;
  explicit Message(std::string_view label) { text(kDomain).text(label); }

  Message& text(std::string_view s) {
    return bytes(ByteSpan(reinterpret_cast<const std::uint8_t*>(s.data()), s.size()));
  }
  Message& bytes(ByteSpan b) {
    append(bytes_, b);
    return *this;
  }
  Message& add(const Fr& v) { return bytes(v.to_bytes_le()); }
  Message& add(const GtElement& v) { return bytes(encode_gt(v)); }
  Message& add(const G1Affine& v) { return bytes(encode_compressed(v)); }
  Message& add(const G2Affine& v) { return bytes(encode_compressed(v)); }
  Message& add(const Commitment& c) { return add(c.t).add(c.u); }

  std::vector<std::uint8_t> take() { return std::move(bytes_); }

  // Earlier counters stay in the message when a later one is tried.
  Fr challenge() {
    for (std::uint64_t counter = 1;; ++counter) {
      std::array<std::uint8_t, 8> tail;
      store_be64(tail.data(), counter);
      bytes(tail);
      Digest32 digest = sha256(bytes_);
      digest.back() &= 0x7f;
      const auto value = Fr::from_bytes_le(digest);
      if (value && !value->is_zero() && !value->is_one()) return *value;
    }
  }

 private:
  std::vector<std::uint8_t> bytes_;
};

std::vector<std::uint8_t> bytes_of(const Round& round) {
  Message m;
  m.add(round.z_ab_left).add(round.z_ab_right).add(round.z_c_left).add(round.z_c_right);
  m.add(round.ab_left).add(round.ab_right).add(round.c_left).add(round.c_right);
  return m.take();
}

}  // namespace

std::string_view version_name(Version version) { return version == Version::kV1 ? "v1" : "v2"; }

Transcript::Transcript(Version version, ByteSpan binding)
    : version_(version), binding_(binding.begin(), binding.end()) {}

Fr Transcript::combine(const Commitment& com_ab, const Commitment& com_c) {
  commitments_hash_ = Message("hcom").add(com_ab).add(com_c).challenge();
  std::array<std::uint8_t, 8> length;
  store_le<std::uint64_t>(length.data(), binding_.size());
  r_ = Message("random-r").add(commitments_hash_).bytes(length).bytes(binding_).challenge();
  return r_;
}

void Transcript::begin_rounds(const GtElement& ip_ab, const G1Affine& agg_c) {
  first_ = Message("gipa-0").add(commitments_hash_).add(ip_ab).add(agg_c).add(r_).challenge();
}

Fr Transcript::round(const Round& round) {
  const bool is_first = x_inverse_.empty();
  round_bytes_ = bytes_of(round);
  if (is_first && version_ == Version::kV1) {
    x_inverse_.push_back(first_);
  } else {
    const Fr& previous = is_first ? first_ : x_inverse_.back();
    Message m(fmt::format("gipa-{}", x_inverse_.size()));
    x_inverse_.push_back(m.add(previous).bytes(round_bytes_).challenge());
  }
  return x_inverse_.back();
}

Fr Transcript::open(const AggregateProof& proof) {
  CUZK_CHECK(!x_inverse_.empty());
  const Fr last_x = x_inverse_.back().inverse();
  extra_ = Message("gipa-extra-link")
               .add(last_x)
               .add(proof.final_a)
               .add(proof.final_b)
               .add(proof.final_c)
               .bytes(round_bytes_)
               .challenge();
  Message m("random-z");
  m.add(version_ == Version::kV1 ? last_x : extra_);
  for (const G2Affine& v : proof.final_v) m.add(v);
  for (const G1Affine& w : proof.final_w) m.add(w);
  if (version_ == Version::kV2) m.add(proof.final_a).add(proof.final_b).add(proof.final_c);
  return m.challenge();
}

Challenges derive_challenges(Version version, ByteSpan binding, const AggregateProof& proof) {
  Transcript transcript(version, binding);
  Challenges out;
  out.r = transcript.combine(proof.com_ab, proof.com_c);
  transcript.begin_rounds(proof.ip_ab, proof.agg_c);
  for (const Round& round : proof.rounds) out.x_inverse.push_back(transcript.round(round));
  out.x = out.x_inverse;
  batch_inverse(std::span<Fr>(out.x));
  out.z = transcript.open(proof);
  return out;
}

}  // namespace cuzk::aggregate
