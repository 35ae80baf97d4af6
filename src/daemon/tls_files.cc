#include "daemon/tls_files.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/mapped_file.h"

namespace cuzk::daemon {

namespace {

constexpr std::size_t kMaxPemBytes = 1 << 20;

template <class T, void (*kFree)(T*)>
struct Freed {
  void operator()(T* p) const { kFree(p); }
};
struct FreedBio {
  void operator()(BIO* p) const { BIO_free(p); }
};
using Bio = std::unique_ptr<BIO, FreedBio>;
using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;

Result<std::string> read_pem(const std::string& file) {
  CUZK_TRY(const auto bytes, read_file(file, kMaxPemBytes));
  std::string text(bytes.begin(), bytes.end());
  if (text.find("-----BEGIN ") == std::string::npos) {
    return fail(ErrorCode::kCorruptInput, "{}: no PEM block in it", file);
  }
  return text;
}

Bio bio_of(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// No question is asked on a terminal for a key's password.
int no_password(char*, int, int, void*) { return 0; }

Result<Certificate> certificate_of(const std::string& text, const std::string& file) {
  const Bio bio = bio_of(text);
  Certificate out(PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr));
  if (!out) return fail(ErrorCode::kCorruptInput, "{}: no certificate can be read from it", file);
  return out;
}

Status check_pair(const TlsPaths& paths, const std::string& certificate, const std::string& key) {
  CUZK_TRY(const Certificate shown, certificate_of(certificate, paths.certificate));
  const Bio bio = bio_of(key);
  const Key secret(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (!secret) {
    return fail(ErrorCode::kCorruptInput, "{}: no private key without password can be read from it",
                paths.key);
  }
  if (X509_check_private_key(shown.get(), secret.get()) == 1) return {};
  return fail(ErrorCode::kMismatch, "{}: it is not the key of the certificate in {}", paths.key,
              paths.certificate);
}

std::string path_of(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

Status overwrite(int fd, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n =
        ::pwrite(fd, text.data() + written, text.size() - written, static_cast<off_t>(written));
    if (n <= 0) break;
    written += static_cast<std::size_t>(n);
  }
  if (written == text.size() && ::ftruncate(fd, static_cast<off_t>(written)) == 0) return {};
  return fail(ErrorCode::kIo, "keeping a copy of the PEM files in memory failed: {}",
              std::strerror(errno));
}

}  // namespace

Result<std::unique_ptr<TlsFiles>> TlsFiles::open(TlsPaths paths) {
  std::unique_ptr<TlsFiles> out(new TlsFiles(std::move(paths)));
  CUZK_TRY(Contents contents, out->read());
  for (int& fd : out->copies_) {
    fd = ::memfd_create("cuzk-tls", MFD_CLOEXEC);
    if (fd < 0) {
      return fail(ErrorCode::kIo, "keeping a copy of the PEM files in memory failed: {}",
                  std::strerror(errno));
    }
  }
  CUZK_TRY_VOID(out->publish(std::move(contents)));
  return out;
}

TlsFiles::~TlsFiles() {
  for (const int fd : copies_) {
    if (fd >= 0) ::close(fd);
  }
}

Result<TlsFiles::Contents> TlsFiles::read() const {
  Contents out;
  CUZK_TRY(out.key, read_pem(paths_.key));
  CUZK_TRY(out.certificate, read_pem(paths_.certificate));
  CUZK_TRY_VOID(check_pair(paths_, out.certificate, out.key));
  if (paths_.client_ca.empty()) return out;
  CUZK_TRY(out.client_ca, read_pem(paths_.client_ca));
  CUZK_TRY(const auto ca, certificate_of(out.client_ca, paths_.client_ca));
  return out;
}

Status TlsFiles::publish(Contents contents) {
  CUZK_TRY_VOID(overwrite(copies_[1], contents.key));
  CUZK_TRY_VOID(overwrite(copies_[0], contents.certificate));
  CUZK_TRY_VOID(overwrite(copies_[2], contents.client_ca));
  now_ = std::move(contents);
  return {};
}

Result<bool> TlsFiles::reload() {
  CUZK_TRY(Contents next, read());
  if (next == now_) return false;
  CUZK_TRY_VOID(publish(std::move(next)));
  return true;
}

std::shared_ptr<grpc::ServerCredentials> TlsFiles::credentials() const {
  namespace tls = grpc::experimental;
  const bool wants_client = !paths_.client_ca.empty();
  const auto provider = std::make_shared<tls::FileWatcherCertificateProvider>(
      path_of(copies_[1]), path_of(copies_[0]), wants_client ? path_of(copies_[2]) : "",
      kRefreshSeconds);
  tls::TlsServerCredentialsOptions options(provider);
  options.watch_identity_key_cert_pairs();
  if (wants_client) options.watch_root_certs();
  options.set_cert_request_type(wants_client
                                    ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                    : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  return tls::TlsServerCredentials(options);
}

}  // namespace cuzk::daemon
