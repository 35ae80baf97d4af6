#pragma once
// The cards that prove, as the engine uses them: opened and tested once, with the circuits and keys
// that last on them. Without CUDA, a driver or a card the list is empty, and says why.
//
//   open_cards          those that were asked for and pass their self-test
//   CudaDevice::plan    whether a circuit's key stays in the card's memory or is streamed to it
//   CudaDevice::use     a backend for a circuit and its key, loaded if need be (card_keys.h)
//
// A key goes to the card piece by piece from its file, decoded on the way: the host keeps no copy
// of it, unless it is streamed.
//
// Threads: a device may be shared; it outlives the backends that it gave.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "circom/key.h"
#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "engine/card_keys.h"
#include "engine/context.h"
#include "format/zkey.h"
#include "gpu/card.h"
#include "groth16/backend_cuda.h"

namespace cuzk::engine {

struct DeviceChoice {
  enum class Kind {
    kAuto,  // a card that is there and passes, else the CPU
    kCpu,
    kCuda,  // cards or an error
  };
  Kind kind = Kind::kAuto;
  std::vector<int> cards;  // ordinals; empty: all that are there
};
// "auto", "cpu", "cuda", "cuda:0" or "cuda:0,cuda:2". Errors: kInvalidArgument.
Result<DeviceChoice> parse_device_choice(std::string_view text);

struct CardsOptions {
  DeviceChoice choice = {};
  std::size_t vram_budget = 0;  // of each card; 0: what is free, less a margin
  unsigned workers = 2;         // partitions on a card at once
  // Of a card's memory, for critical work alone; absent: a sixteenth, at most 1 GiB.
  std::optional<std::size_t> critical_reserve = 0;
  std::size_t at_most = 0;  // cards that are opened; 0: all
  // Multiples of a resident key's h beside it, where there is room: proofs are quicker, loading
  // takes longer (docs/performance-gpu.md).
  bool multiples = false;
};

// How a circuit is proved on a card.
struct CardPlan {
  bool is_streamed = false;
  bool multiples = false;         // of h
  std::size_t lasting_bytes = 0;  // circuit, twiddles, and the key unless it is streamed
  groth16::CudaWay way = {};      // of a frugal partition, with its lease
  // The same with room; without a lease: never.
  groth16::CudaWay roomy_way = {};

  // What has to be free in the arena before a partition is given to the card. Those of a streamed
  // key wait there: bases that go up once serve all that do.
  std::size_t awaited_bytes() const { return is_streamed ? 0 : way.lease_bytes; }
};

// Sizes, before anything exists.
struct CardNeeds {
  std::size_t circuit_bytes = 0;  // with twiddles
  std::size_t key_bytes = 0;
  std::size_t multiples_bytes = 0;  // of h; 0: none are wanted
  // Of partitions, the quickest first: with a resident key, frugal and roomy, the same with its
  // multiples, and streamed.
  struct Resident {
    std::vector<groth16::CudaWay> frugal, roomy;
  };
  Resident resident, with_multiples;
  std::vector<groth16::CudaWay> streamed;
};
// Resident when the key fits beside one partition: that is faster than streaming with several at
// once (docs/performance-gpu.md); with its multiples when they fit beside as many partitions as the
// card has workers; else streamed. Of each the quickest way that fits, of roomy ones beside
// each other.
// Errors: kOutOfBudget with the least that is needed.
Result<CardPlan> choose_card_plan(const CardNeeds& needs, std::size_t arena_bytes, unsigned workers,
                                  std::string_view circuit);

// A Filecoin key: in its file, which was checked, and where it is streamed, in memory.
struct ParamsKey {
  std::string id;  // of circuit and key
  const CompactR1cs<bls12_381::Fr>& r1cs;
  const Density& density;
  std::filesystem::path file;
  const ProvingKey<Bls12_381>* host = nullptr;  // null: only the file
  std::shared_ptr<const void> owner = {};       // of the above, kept while they are used
};

// A backend for one circuit and key; what is behind it stays on the card while this lives. Proofs
// that were started with it end first.
template <class Curve>
class CardBackend {
 public:
  CardBackend(CardKeys::Use use, std::unique_ptr<groth16::Backend<Curve>> backend)
      : use_(std::move(use)), backend_(std::move(backend)) {}
  groth16::Backend<Curve>& backend() const { return *backend_; }

 private:
  CardKeys::Use use_;
  std::unique_ptr<groth16::Backend<Curve>> backend_;
};

using OnPartitionTiming = std::function<void(const groth16::PartitionTiming&)>;

struct CardStatus {
  std::string name;         // "cuda:0"
  std::string description;  // "NVIDIA H200"
  std::string fenced;       // why it is not used any more; empty: it is
  std::size_t arena_bytes = 0;
  std::size_t reserve_bytes = 0;  // beside it, for critical work
  std::size_t lasting_bytes = 0;
  std::size_t free_bytes = 0;
  std::size_t peak_bytes = 0;
  std::vector<CardKeys::Held> keys;
  std::uint64_t key_loads = 0;
  std::uint64_t key_evictions = 0;
};

class CudaDevice {
 public:
  // Takes the arena and tests the card.
  // Errors: kInvalidArgument without CUDA or for a card that is not there; kOutOfBudget;
  // kInternal, kDeviceLost when it fails its test.
  static Result<std::shared_ptr<CudaDevice>> open(const Context& context, int ordinal,
                                                  const CardsOptions& options);

  const std::string& name() const { return name_; }
  std::string description() const;  // "NVIDIA H200, arena of 130.1 GiB, 2 workers"
  unsigned workers() const { return card_->workers(); }
  std::size_t arena_bytes() const { return card_->arena().total_bytes(); }
  std::size_t reserve_bytes() const { return card_->reserve().total_bytes(); }
  std::size_t pinned_bytes() const { return pinned_bytes_; }
  gpu::Card& card() { return *card_; }
  // kDeviceLost once it is fenced.
  Status check_usable() const { return card_->check_usable(); }
  CardStatus status() const;

  // `id` names circuit and key, as below.
  Result<CardPlan> plan(const std::string& id, const CompactR1cs<bls12_381::Fr>& r1cs,
                        const Density& density) const;
  template <class Curve>
  Result<CardPlan> plan(const std::string& id, const circom::Key<Curve>& key) const;
  // An upper bound of it from the sizes that a .zkey's header tells.
  Result<CardPlan> plan(const format::ZkeyHeader& key, std::string_view name) const;

  // Waits for room, loads what is missing (span load_device_key). Critical work is next.
  // Errors: kOutOfBudget; kDeviceLost; kCancelled; those of the file. kInvalidArgument for a key
  // that must be streamed and is not in memory.
  Result<std::unique_ptr<CardBackend<Bls12_381>>> use(const Context& context, const ParamsKey& key,
                                                      OnPartitionTiming on_timing = {},
                                                      gpu::Urgency urgency = gpu::Urgency::kNormal);
  // `key` outlives the device, or is forgotten before it goes.
  template <class Curve>
  Result<std::unique_ptr<CardBackend<Curve>>> use(const Context& context, const std::string& id,
                                                  const circom::Key<Curve>& key,
                                                  OnPartitionTiming on_timing = {},
                                                  gpu::Urgency urgency = gpu::Urgency::kNormal);
  // Drops circuit and key from the card, unless they are in use.
  void forget(const std::string& id);
  // The same with everything, whose host part then goes too.
  void forget_all();

 private:
  CudaDevice(std::unique_ptr<gpu::Card> card, std::size_t pinned_bytes, bool multiples);

  template <class Curve>
  struct Content;
  // By generator; whoever uses one keeps it.
  template <class Fr>
  using Twiddles = std::map<std::uint64_t, std::weak_ptr<const groth16::DeviceTwiddles<Fr>>>;

  Result<CardPlan> plan_known(const std::string& id, std::string_view circuit,
                              const std::function<Result<CardNeeds>()>& needs) const;
  template <class Fr>
  Status load_circuit(const Context& context, const CompactR1cs<Fr>& r1cs, const Density& density,
                      groth16::DeviceDomain<Fr> domain,
                      std::unique_ptr<groth16::DeviceCircuit<Fr>>& out);
  template <class Curve>
  Result<std::unique_ptr<CardBackend<Curve>>> backend_of(const Context& context,
                                                         const CardKeys::Wanted& wanted,
                                                         const CardPlan& plan,
                                                         const CardKeys::Loader& load,
                                                         OnPartitionTiming on_timing);
  CardKeys::Wanted wanted(const std::string& id, const CardPlan& plan, gpu::Urgency urgency) const;

  std::unique_ptr<gpu::Card> card_;
  std::size_t pinned_bytes_;
  const bool multiples_;
  std::string name_;
  // The loader runs in one thread at a time.
  std::tuple<Twiddles<bls12_381::Fr>, Twiddles<bn254::Fr>> twiddles_;
  mutable std::mutex plans_mutex_;
  mutable std::map<std::string, CardPlan> plans_;
  CardKeys keys_;
};

struct OpenedCards {
  std::vector<std::shared_ptr<CudaDevice>> cards;
  // What to tell: which card was taken, which was not, and why.
  std::vector<std::string> notes;
};
// Errors: only where cards were asked for by name or by kind, and none is left: each with its
// reason.
Result<OpenedCards> open_cards(const Context& context, const CardsOptions& options);

// The same with what opens a card, and with the cards there are; `why_none` where there is none.
struct OpenedCard {
  std::shared_ptr<CudaDevice> card;
  std::string description;
};
using OpenCard = std::function<Result<OpenedCard>(int ordinal)>;
Result<OpenedCards> open_cards_with(const OpenCard& open, const std::vector<int>& there,
                                    std::string_view why_none, const CardsOptions& options);

}  // namespace cuzk::engine
