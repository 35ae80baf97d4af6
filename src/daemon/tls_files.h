#pragma once
// The PEM files of the gRPC server, checked before they count: at the start, and again when the
// daemon reloads. What new connections are given changes only when all of it is right.
//
// gRPC watches files of its own accord; it is given copies in memory, so that it never sees a key
// without its certificate, or a file that is half written.
//
// Threads: reload by one at a time.

#include <memory>
#include <string>

#include "base/error.h"

namespace grpc {
class ServerCredentials;
}

namespace cuzk::daemon {

struct TlsPaths {
  std::string certificate;
  std::string key;
  std::string client_ca;  // empty: clients show no certificate
};

class TlsFiles {
 public:
  // gRPC looks at the copies so often.
  static constexpr unsigned kRefreshSeconds = 1;

  // Errors: those of reading; kCorruptInput for a file without PEM or with a damaged block;
  // kMismatch for a key that is another certificate's.
  static Result<std::unique_ptr<TlsFiles>> open(TlsPaths paths);
  ~TlsFiles();
  TlsFiles(const TlsFiles&) = delete;
  TlsFiles& operator=(const TlsFiles&) = delete;

  std::shared_ptr<grpc::ServerCredentials> credentials() const;
  // True when something is new. Errors: as open; everything stays as it was.
  Result<bool> reload();

 private:
  struct Contents {
    std::string certificate, key, client_ca;
    friend bool operator==(const Contents&, const Contents&) = default;
  };
  explicit TlsFiles(TlsPaths paths) : paths_(std::move(paths)) {}
  Result<Contents> read() const;
  Status publish(Contents contents);

  const TlsPaths paths_;
  Contents now_;
  int copies_[3] = {-1, -1, -1};  // certificate, key, client CA
};

}  // namespace cuzk::daemon
