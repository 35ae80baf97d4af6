#include "format/aggregate.h"

#include <bit>
#include <mutex>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/mapped_file.h"
#include "curve/encoding.h"
#include "curve/gt.h"

namespace cuzk::format {

namespace {

using aggregate::AggregateProof;
using aggregate::Commitment;
using aggregate::G1Affine;
using aggregate::G2Affine;
using aggregate::GtElement;
using aggregate::Round;

constexpr std::size_t kCountOffset = 5 * kGtCompressedBytes + kCompressedBytes<Bls12_381G1>;
constexpr std::size_t kFixedBytes = 2260;
constexpr std::size_t kRoundBytes = 2976;

template <class T>
constexpr std::size_t kBytesOf = 0;
template <>
constexpr std::size_t kBytesOf<GtElement> = kGtCompressedBytes;
template <>
constexpr std::size_t kBytesOf<G1Affine> = kCompressedBytes<Bls12_381G1>;
template <>
constexpr std::size_t kBytesOf<G2Affine> = kCompressedBytes<Bls12_381G2>;

// Calls visit(name, element) for each element in the order of the bytes, and count() where the
// number of proofs stands. P is AggregateProof, const or not.
template <class P, class Visit, class Count>
void for_each_element(P& proof, const Visit& visit, const Count& count) {
  const auto commitment = [&](const std::string& name, auto& c) {
    visit(name + ".t", c.t);
    visit(name + ".u", c.u);
  };
  const auto rounds = [&](std::string_view name, const auto& element) {
    for (std::size_t i = 0; i < proof.rounds.size(); ++i) {
      element(fmt::format("{}[{}]", name, i), proof.rounds[i]);
    }
  };
  commitment("com_ab", proof.com_ab);
  commitment("com_c", proof.com_c);
  visit("ip_ab", proof.ip_ab);
  visit("agg_c", proof.agg_c);
  count();
  rounds("comms_ab", [&](const std::string& name, auto& r) {
    commitment(name + ".left", r.ab_left);
    commitment(name + ".right", r.ab_right);
  });
  rounds("comms_c", [&](const std::string& name, auto& r) {
    commitment(name + ".left", r.c_left);
    commitment(name + ".right", r.c_right);
  });
  rounds("z_ab", [&](const std::string& name, auto& r) {
    visit(name + ".left", r.z_ab_left);
    visit(name + ".right", r.z_ab_right);
  });
  rounds("z_c", [&](const std::string& name, auto& r) {
    visit(name + ".left", r.z_c_left);
    visit(name + ".right", r.z_c_right);
  });
  visit("final_a", proof.final_a);
  visit("final_b", proof.final_b);
  visit("final_c", proof.final_c);
  for (std::size_t k = 0; k < 2; ++k) visit(fmt::format("final_vkey.{}", k), proof.final_v[k]);
  for (std::size_t k = 0; k < 2; ++k) visit(fmt::format("final_wkey.{}", k), proof.final_w[k]);
  for (std::size_t k = 0; k < 2; ++k) visit(fmt::format("vkey_opening.{}", k), proof.opening_v[k]);
  for (std::size_t k = 0; k < 2; ++k) visit(fmt::format("wkey_opening.{}", k), proof.opening_w[k]);
}

// Where an element stands and where it goes; one of the three pointers is set.
struct Place {
  std::string name;
  ByteSpan bytes;
  GtElement* gt = nullptr;
  G1Affine* g1 = nullptr;
  G2Affine* g2 = nullptr;
};

Status decode_gt(const Place& place) {
  CUZK_TRY(*place.gt, decompress_gt(place.bytes));
  if (!is_in_gt(*place.gt)) {
    return fail(ErrorCode::kCorruptInput, "the element lies outside GT, the group of order r");
  }
  return {};
}

Status decode(const Place& place) {
  if (place.gt) return decode_gt(place);
  if (place.g1) {
    CUZK_TRY(*place.g1, decode_compressed<Bls12_381G1>(place.bytes, PointCheck::kSubgroup));
  } else {
    CUZK_TRY(*place.g2, decode_compressed<Bls12_381G2>(place.bytes, PointCheck::kSubgroup));
  }
  return {};
}

std::vector<Place> places_of(AggregateProof& proof, ByteSpan bytes) {
  std::vector<Place> places;
  std::size_t at = 0;
  const auto visit = [&]<class T>(std::string name, T& element) {
    Place place{std::move(name), bytes.subspan(at, kBytesOf<T>)};
    at += kBytesOf<T>;
    if constexpr (std::is_same_v<T, GtElement>) place.gt = &element;
    if constexpr (std::is_same_v<T, G1Affine>) place.g1 = &element;
    if constexpr (std::is_same_v<T, G2Affine>) place.g2 = &element;
    places.push_back(std::move(place));
  };
  for_each_element(proof, visit, [&] { at += sizeof(std::uint32_t); });
  CUZK_CHECK(at == bytes.size());
  return places;
}

// The declared number of proofs, when the source has exactly the bytes that it asks for.
Result<std::size_t> checked_count(ByteSpan bytes, std::string_view what) {
  if (bytes.size() < kFixedBytes) {
    return fail(ErrorCode::kCorruptInput, "{}: an aggregate has {} bytes at least, found {}", what,
                aggregate_bytes(aggregate::kMinProofs), bytes.size());
  }
  const std::size_t n = load_le<std::uint32_t>(bytes.data() + kCountOffset);
  if (n < aggregate::kMinProofs || n > aggregate::kMaxProofs || !std::has_single_bit(n)) {
    return fail(ErrorCode::kCorruptInput,
                "{}: nproofs is {}, a power of two from {} to {} is expected", what, n,
                aggregate::kMinProofs, aggregate::kMaxProofs);
  }
  if (bytes.size() != aggregate_bytes(n)) {
    return fail(ErrorCode::kCorruptInput, "{}: an aggregate of {} proofs has {} bytes, found {}",
                what, n, aggregate_bytes(n), bytes.size());
  }
  return n;
}

}  // namespace

std::size_t aggregate_bytes(std::size_t n) {
  return kFixedBytes + kRoundBytes * static_cast<std::size_t>(std::countr_zero(n));
}

Result<std::vector<std::uint8_t>> encode_aggregate(const AggregateProof& proof) {
  std::vector<std::uint8_t> out;
  out.reserve(aggregate_bytes(proof.num_proofs()));
  Status status;
  const auto append = [&](const auto& bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); };
  const auto visit = [&]<class T>(const std::string& name, const T& element) {
    if constexpr (std::is_same_v<T, GtElement>) {
      const auto bytes = compress_gt(element);
      if (bytes) {
        append(*bytes);
      } else if (status) {
        status = fail(bytes.error().in(name));
      }
    } else {
      append(encode_compressed(element));
    }
  };
  const auto count = [&] {
    std::array<std::uint8_t, 4> bytes;
    store_le(bytes.data(), static_cast<std::uint32_t>(proof.num_proofs()));
    append(bytes);
  };
  for_each_element(proof, visit, count);
  if (!status) return fail(status.error());
  return out;
}

Result<AggregateProof> decode_aggregate(Tasks& tasks, ByteSpan bytes, std::string_view what) {
  CUZK_TRY(const std::size_t n, checked_count(bytes, what));
  AggregateProof proof;
  proof.rounds.resize(static_cast<std::size_t>(std::countr_zero(n)));
  const std::vector<Place> places = places_of(proof, bytes);
  std::vector<std::optional<Error>> errors(places.size());
  tasks.parallel_for(places.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (auto status = decode(places[i]); !status) errors[i] = status.error();
    }
  });
  if (tasks.stop_requested()) {
    return fail(ErrorCode::kCancelled, "{}: stopped while reading", what);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (errors[i]) return fail(errors[i]->in(places[i].name).in(what));
  }
  return proof;
}

Result<AggregateProof> read_aggregate(Tasks& tasks, const std::filesystem::path& path) {
  CUZK_TRY(const std::vector<std::uint8_t> bytes,
           read_file(path, aggregate_bytes(aggregate::kMaxProofs)));
  return decode_aggregate(tasks, bytes, path.string());
}

}  // namespace cuzk::format
