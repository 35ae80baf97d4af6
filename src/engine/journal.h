#pragma once
// Accepted requests and their answers, on disk, so that a killed daemon forgets nothing.
//
// One SQLite database in WAL mode with synchronous=FULL: what a call reported as written is there
// after kill -9 and after a power cut. A request's row is written before its acceptance is told,
// its answer before the answer is told. Layout: docs/service.md.
//
// Errors:  kIo: the disk is full, the folder cannot be written, ... (the message names the file and
//          what to do); kMismatch for a database of a newer version, which is left as it is;
//          kCorruptInput for a file that is no such database. After kIo the next call tries again.
// Threads: may be shared.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "engine/request.h"

namespace cuzk::engine {

enum class RunState { kAccepted = 0, kCompleted = 1, kFailed = 2, kCancelled = 3 };

// One run of a request.
struct JournalRun {
  std::uint64_t run = 0;  // ascending in the order of acceptance
  std::string request_id;
  Digest32 digest{};
  ProofKind kind = ProofKind::kPorep;
  RunState state = RunState::kAccepted;
  std::int64_t accepted_unix_ms = 0;
  std::int64_t finished_unix_ms = 0;
  std::vector<std::uint8_t> proof;  // when completed
  std::string public_json;          // likewise, of circom
  ErrorCode error_code = ErrorCode::kInternal;
  std::string error;  // when failed
  bool insecure_dev = false;
  std::vector<std::uint8_t> head;  // encode_request of the request without its payloads
  std::size_t request_bytes = 0;   // with them, while it is unfinished; 0: they were not kept
};

struct JournalAnswer {
  RunState state = RunState::kCompleted;
  std::vector<std::uint8_t> proof;
  ErrorCode error_code = ErrorCode::kInternal;
  std::string error;
  bool insecure_dev = false;
  std::string public_json = {};
  bool scrub_log = false;  // the payload that goes was a secret: it goes from the log beside too
};

class Journal {
 public:
  // 1: without public_json and circom's requests; opening one makes it a 2.
  static constexpr int kVersion = 2;

  // Makes the file when it is not there; its folder must be. Only its owner may read it: a file of
  // a wider mode is given this one.
  static Result<std::unique_ptr<Journal>> open(const std::filesystem::path& file);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // `run` is the caller's, larger than last_run(). Without `keep_payloads` the run is there, but
  // request() will not find it.
  Status accept(std::uint64_t run, const ProofRequest& request, const Digest32& digest,
                bool keep_payloads = true);
  // Once for each accepted run; the request's payload is dropped, and overwritten in the file.
  Status finish(std::uint64_t run, const JournalAnswer& answer);

  // The largest run that was ever accepted.
  Result<std::uint64_t> last_run();
  // Accepted and not finished, in order of acceptance, without payloads.
  Result<std::vector<JournalRun>> unfinished();
  Result<ProofRequest> request(std::uint64_t run);
  // The latest run of an id.
  Result<std::optional<JournalRun>> latest(const std::string& request_id);
  // The latest of an id with this content that was completed.
  Result<std::optional<JournalRun>> completed(const std::string& request_id,
                                              const Digest32& digest);
  Result<std::optional<JournalRun>> find(std::uint64_t run);

  // Drops finished runs that finished before `before_unix_ms`, and the oldest ones above `keep`.
  // The number dropped.
  Result<std::size_t> prune(std::int64_t before_unix_ms, std::size_t keep);
  // SQLite's own check of the whole file.
  Status check();

 private:
  struct Impl;
  explicit Journal(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cuzk::engine
