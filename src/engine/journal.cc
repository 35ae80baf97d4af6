#include "engine/journal.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <mutex>

namespace cuzk::engine {

namespace {

namespace fs = std::filesystem;

constexpr int kApplicationId = 0x63757a6b;  // "cuzk"

constexpr const char* kSchema =
    "CREATE TABLE runs ("
    "  run INTEGER PRIMARY KEY,"
    "  request_id TEXT NOT NULL,"
    "  digest BLOB NOT NULL,"
    "  kind INTEGER NOT NULL,"
    "  head BLOB NOT NULL,"  // the request without its payloads
    "  state INTEGER NOT NULL,"
    "  accepted_unix_ms INTEGER NOT NULL,"
    "  finished_unix_ms INTEGER NOT NULL DEFAULT 0,"
    "  proof BLOB,"
    "  error_code INTEGER NOT NULL DEFAULT 0,"
    "  error TEXT,"
    "  insecure_dev INTEGER NOT NULL DEFAULT 0,"
    "  public_json TEXT);"
    "CREATE INDEX runs_by_id ON runs (request_id, run);"
    "CREATE INDEX runs_by_state ON runs (state, finished_unix_ms);"
    // Apart, so that reading a run's state does not pass over its payload.
    "CREATE TABLE requests (run INTEGER PRIMARY KEY REFERENCES runs (run), bytes BLOB NOT NULL);";

constexpr const char* kColumns =
    "run, request_id, digest, kind, state, accepted_unix_ms, finished_unix_ms, proof, error_code, "
    "error, insecure_dev, public_json, head, "
    "ifnull((SELECT length(bytes) FROM requests r WHERE r.run = runs.run), 0)";

// Made for its owner alone; SQLite makes the files beside it with its mode. What cannot be done
// here shows when the file is opened.
void make_private(const fs::path& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd >= 0) ::close(fd);
}

// A journal of ours that others may read is closed to them.
void keep_private(const fs::path& file) {
  for (const char* ending : {"", "-wal", "-shm"}) {
    std::error_code none;
    fs::permissions(file.string() + ending, fs::perms::group_all | fs::perms::others_all,
                    fs::perm_options::remove, none);
  }
}

std::int64_t unix_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// One prepared statement, reset when it dies.
class SqlStatement {
 public:
  explicit SqlStatement(sqlite3_stmt* statement) : statement_(statement) {}
  ~SqlStatement() { sqlite3_finalize(statement_); }
  SqlStatement(SqlStatement&& other) noexcept
      : statement_(std::exchange(other.statement_, nullptr)) {}
  SqlStatement& operator=(SqlStatement&&) = delete;

  SqlStatement& bind(int i, std::int64_t v) {
    sqlite3_bind_int64(statement_, i, v);
    return *this;
  }
  SqlStatement& bind(int i, std::uint64_t v) { return bind(i, static_cast<std::int64_t>(v)); }
  SqlStatement& bind(int i, std::string_view v) {
    sqlite3_bind_text64(statement_, i, v.data(), v.size(), SQLITE_STATIC, SQLITE_UTF8);
    return *this;
  }
  SqlStatement& bind(int i, ByteSpan v) {
    // An empty blob, not NULL.
    sqlite3_bind_blob64(statement_, i, v.empty() ? reinterpret_cast<const void*>("") : v.data(),
                        v.size(), SQLITE_STATIC);
    return *this;
  }
  int step() { return sqlite3_step(statement_); }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string text(int column) const {
    const auto* p = sqlite3_column_text(statement_, column);
    return p ? std::string(reinterpret_cast<const char*>(p),
                           static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)))
             : std::string();
  }
  std::vector<std::uint8_t> blob(int column) const {
    const auto* p = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_, column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return p ? std::vector<std::uint8_t>(p, p + size) : std::vector<std::uint8_t>();
  }

 private:
  sqlite3_stmt* statement_;
};

}  // namespace

struct Journal::Impl {
  ~Impl() {
    if (db) sqlite3_close(db);
  }

  // What SQLite said last, as an error that names the file and the way out.
  Error error(std::string_view doing) const {
    const int code = sqlite3_errcode(db);
    const char* hint = "";
    ErrorCode kind = ErrorCode::kIo;
    switch (code & 0xff) {
      case SQLITE_FULL:
        hint = ": free space on its disk";
        break;
      case SQLITE_READONLY:
      case SQLITE_CANTOPEN:
      case SQLITE_PERM:
        hint = ": see that its folder exists and can be written";
        break;
      case SQLITE_NOTADB:
      case SQLITE_CORRUPT:
        kind = ErrorCode::kCorruptInput;
        hint = ": move it away, or name another file";
        break;
      case SQLITE_BUSY:
        hint = ": another process uses it";
        break;
      default:
        break;
    }
    return {kind, fmt::format("journal {}: {} failed: {}{}", file.string(), doing,
                              sqlite3_errmsg(db), hint)};
  }

  Status execute(const char* sql, std::string_view doing) {
    if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return fail(error(doing));
    return {};
  }

  Result<SqlStatement> prepare(const std::string& sql, std::string_view doing) {
    sqlite3_stmt* out = nullptr;
    if (sqlite3_prepare_v2(db, sql.c_str(), static_cast<int>(sql.size()), &out, nullptr) !=
        SQLITE_OK) {
      return fail(error(doing));
    }
    return SqlStatement(out);
  }

  // All or nothing; what failed is rolled back.
  template <class F>
  Status transaction(std::string_view doing, F&& body) {
    CUZK_TRY_VOID(execute("BEGIN IMMEDIATE", doing));
    Status done = body();
    if (done) done = execute("COMMIT", doing);
    if (!done) sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
    return done;
  }

  Status run_once(SqlStatement& statement, std::string_view doing) {
    if (statement.step() != SQLITE_DONE) return fail(error(doing));
    return {};
  }

  Result<std::int64_t> number(const std::string& sql, std::string_view doing) {
    CUZK_TRY(SqlStatement s, prepare(sql, doing));
    const int step = s.step();
    if (step == SQLITE_DONE) return 0;
    if (step != SQLITE_ROW) return fail(error(doing));
    return s.integer(0);
  }

  static JournalRun read_run(const SqlStatement& s) {
    JournalRun out;
    out.run = static_cast<std::uint64_t>(s.integer(0));
    out.request_id = s.text(1);
    const auto digest = s.blob(2);
    if (digest.size() == out.digest.size()) {
      std::copy(digest.begin(), digest.end(), out.digest.begin());
    }
    out.kind = static_cast<ProofKind>(s.integer(3));
    out.state = static_cast<RunState>(s.integer(4));
    out.accepted_unix_ms = s.integer(5);
    out.finished_unix_ms = s.integer(6);
    out.proof = s.blob(7);
    out.error_code = static_cast<ErrorCode>(s.integer(8));
    out.error = s.text(9);
    out.insecure_dev = s.integer(10) != 0;
    out.public_json = s.text(11);
    out.head = s.blob(12);
    out.request_bytes = static_cast<std::size_t>(s.integer(13));
    return out;
  }

  Result<std::optional<JournalRun>> one(SqlStatement& s, std::string_view doing) {
    const int step = s.step();
    if (step == SQLITE_DONE) return std::nullopt;
    if (step != SQLITE_ROW) return fail(error(doing));
    return read_run(s);
  }

  Status set_up();
  Status upgrade_from_1();

  fs::path file;
  sqlite3* db = nullptr;
  std::mutex mutex;
};

Status Journal::Impl::set_up() {
  // Waits for a reader of another process (a backup, the sqlite3 tool), not for ever.
  sqlite3_busy_timeout(db, 5000);
  CUZK_TRY(const std::int64_t version, number("PRAGMA user_version", "opening"));
  CUZK_TRY(const std::int64_t application, number("PRAGMA application_id", "opening"));
  CUZK_TRY(const std::int64_t tables, number("SELECT count(*) FROM sqlite_master", "opening"));
  if (tables > 0 && application != kApplicationId) {
    return fail(ErrorCode::kCorruptInput,
                "journal {}: this is a database, but not a journal of cuzk: name another file",
                file.string());
  }
  if (version > kVersion) {
    return fail(ErrorCode::kMismatch,
                "journal {}: it is of version {}, this program knows version {}: use the newer "
                "program, or name another file",
                file.string(), version, kVersion);
  }
  CUZK_TRY_VOID(execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", "opening"));
  // A payload may have a hundred megabytes; the log shall not keep that size. What was deleted is
  // overwritten: it may have been a witness.
  CUZK_TRY_VOID(
      execute("PRAGMA journal_size_limit = 16777216; PRAGMA secure_delete = ON", "opening"));
  if (version == kVersion) {
    // A read-only file would only show itself at the first request.
    return transaction("opening", [&]() -> Status {
      return execute(fmt::format("PRAGMA user_version = {}", kVersion).c_str(), "opening");
    });
  }
  if (version == 1) return upgrade_from_1();
  return transaction("making the tables", [&]() -> Status {
    CUZK_TRY_VOID(execute(kSchema, "making the tables"));
    return execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                               kApplicationId, kVersion)
                       .c_str(),
                   "making the tables");
  });
}

Status Journal::Impl::upgrade_from_1() {
  return transaction("making it version 2", [&]() -> Status {
    return execute(fmt::format("ALTER TABLE runs ADD COLUMN public_json TEXT; "
                               "PRAGMA user_version = {}",
                               kVersion)
                       .c_str(),
                   "making it version 2");
  });
}

Journal::Journal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Journal::~Journal() = default;

Result<std::unique_ptr<Journal>> Journal::open(const fs::path& file) {
  auto impl = std::make_unique<Impl>();
  impl->file = file;
  make_private(file);
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(file.c_str(), &impl->db, flags, nullptr) != SQLITE_OK) {
    return fail(impl->error("opening"));
  }
  CUZK_TRY_VOID(impl->set_up());
  keep_private(file);
  return std::unique_ptr<Journal>(new Journal(std::move(impl)));
}

Status Journal::accept(std::uint64_t run, const ProofRequest& request, const Digest32& digest,
                       bool keep_payloads) {
  const std::vector<std::uint8_t> bytes =
      keep_payloads ? encode_request(request) : std::vector<std::uint8_t>();
  const std::vector<std::uint8_t> head = encode_request(request.without_payloads());
  std::lock_guard lock(impl_->mutex);
  return impl_->transaction("accepting a request", [&]() -> Status {
    CUZK_TRY(SqlStatement s,
             impl_->prepare("INSERT INTO runs (run, request_id, digest, kind, state, "
                            "accepted_unix_ms, head) VALUES (?, ?, ?, ?, 0, ?, ?)",
                            "accepting a request"));
    s.bind(1, run).bind(2, std::string_view(request.request_id)).bind(3, ByteSpan(digest));
    s.bind(4, static_cast<std::int64_t>(request.kind)).bind(5, unix_ms());
    s.bind(6, ByteSpan(head));
    CUZK_TRY_VOID(impl_->run_once(s, "accepting a request"));
    if (!keep_payloads) return {};
    CUZK_TRY(SqlStatement r, impl_->prepare("INSERT INTO requests (run, bytes) VALUES (?, ?)",
                                            "accepting a request"));
    r.bind(1, run).bind(2, ByteSpan(bytes));
    return impl_->run_once(r, "accepting a request");
  });
}

Status Journal::finish(std::uint64_t run, const JournalAnswer& answer) {
  std::lock_guard lock(impl_->mutex);
  const Status written = impl_->transaction("writing an answer", [&]() -> Status {
    CUZK_TRY(SqlStatement s,
             impl_->prepare("UPDATE runs SET state = ?, finished_unix_ms = ?, proof = ?, "
                            "error_code = ?, error = ?, insecure_dev = ?, public_json = ? WHERE "
                            "run = ? AND state = 0",
                            "writing an answer"));
    s.bind(1, static_cast<std::int64_t>(answer.state)).bind(2, unix_ms());
    s.bind(3, ByteSpan(answer.proof)).bind(4, static_cast<std::int64_t>(answer.error_code));
    s.bind(5, std::string_view(answer.error)).bind(6, std::int64_t{answer.insecure_dev});
    s.bind(7, std::string_view(answer.public_json)).bind(8, run);
    CUZK_TRY_VOID(impl_->run_once(s, "writing an answer"));
    CUZK_TRY(SqlStatement r,
             impl_->prepare("DELETE FROM requests WHERE run = ?", "writing an answer"));
    r.bind(1, run);
    return impl_->run_once(r, "writing an answer");
  });
  if (!written) return written;
  // The answer is on disk; a reader in the way leaves the log for the next time.
  if (answer.scrub_log) {
    sqlite3_exec(impl_->db, "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr);
  }
  return {};
}

Result<std::uint64_t> Journal::last_run() {
  std::lock_guard lock(impl_->mutex);
  CUZK_TRY(const std::int64_t out, impl_->number("SELECT max(run) FROM runs", "reading"));
  return static_cast<std::uint64_t>(out);
}

Result<std::vector<JournalRun>> Journal::unfinished() {
  std::lock_guard lock(impl_->mutex);
  CUZK_TRY(SqlStatement s, impl_->prepare(fmt::format("SELECT {} FROM runs WHERE state = 0 "
                                                      "ORDER BY run",
                                                      kColumns),
                                          "reading"));
  std::vector<JournalRun> out;
  for (;;) {
    const int step = s.step();
    if (step == SQLITE_DONE) return out;
    if (step != SQLITE_ROW) return fail(impl_->error("reading"));
    out.push_back(Impl::read_run(s));
  }
}

Result<ProofRequest> Journal::request(std::uint64_t run) {
  std::vector<std::uint8_t> bytes;
  {
    std::lock_guard lock(impl_->mutex);
    CUZK_TRY(SqlStatement s, impl_->prepare("SELECT bytes FROM requests WHERE run = ?", "reading"));
    s.bind(1, run);
    const int step = s.step();
    if (step == SQLITE_DONE) {
      return fail(ErrorCode::kNotFound, "journal {}: it has no request of run {}",
                  impl_->file.string(), run);
    }
    if (step != SQLITE_ROW) return fail(impl_->error("reading"));
    bytes = s.blob(0);
  }
  return decode_request(bytes, "journal " + impl_->file.string());
}

Result<std::optional<JournalRun>> Journal::latest(const std::string& request_id) {
  std::lock_guard lock(impl_->mutex);
  CUZK_TRY(SqlStatement s, impl_->prepare(fmt::format("SELECT {} FROM runs WHERE request_id = ? "
                                                      "ORDER BY run DESC LIMIT 1",
                                                      kColumns),
                                          "reading"));
  s.bind(1, std::string_view(request_id));
  return impl_->one(s, "reading");
}

Result<std::optional<JournalRun>> Journal::completed(const std::string& request_id,
                                                     const Digest32& digest) {
  std::lock_guard lock(impl_->mutex);
  CUZK_TRY(SqlStatement s,
           impl_->prepare(fmt::format("SELECT {} FROM runs WHERE request_id = ? AND "
                                      "digest = ? AND state = 1 "
                                      "ORDER BY run DESC LIMIT 1",
                                      kColumns),
                          "reading"));
  s.bind(1, std::string_view(request_id)).bind(2, ByteSpan(digest));
  return impl_->one(s, "reading");
}

Result<std::optional<JournalRun>> Journal::find(std::uint64_t run) {
  std::lock_guard lock(impl_->mutex);
  CUZK_TRY(SqlStatement s,
           impl_->prepare(fmt::format("SELECT {} FROM runs WHERE run = ?", kColumns), "reading"));
  s.bind(1, run);
  return impl_->one(s, "reading");
}

Result<std::size_t> Journal::prune(std::int64_t before_unix_ms, std::size_t keep) {
  std::lock_guard lock(impl_->mutex);
  std::size_t dropped = 0;
  const Status done = impl_->transaction("pruning", [&]() -> Status {
    CUZK_TRY(
        SqlStatement old,
        impl_->prepare("DELETE FROM runs WHERE state != 0 AND finished_unix_ms < ?", "pruning"));
    old.bind(1, before_unix_ms);
    CUZK_TRY_VOID(impl_->run_once(old, "pruning"));
    dropped += static_cast<std::size_t>(sqlite3_changes(impl_->db));
    CUZK_TRY(SqlStatement many,
             impl_->prepare("DELETE FROM runs WHERE state != 0 AND run NOT IN (SELECT run FROM "
                            "runs WHERE state != 0 ORDER BY finished_unix_ms DESC, run DESC "
                            "LIMIT ?)",
                            "pruning"));
    many.bind(1, static_cast<std::int64_t>(keep));
    CUZK_TRY_VOID(impl_->run_once(many, "pruning"));
    dropped += static_cast<std::size_t>(sqlite3_changes(impl_->db));
    return {};
  });
  if (!done) return fail(done.error());
  return dropped;
}

Status Journal::check() {
  std::lock_guard lock(impl_->mutex);
  CUZK_TRY(SqlStatement s, impl_->prepare("PRAGMA integrity_check", "checking"));
  if (s.step() != SQLITE_ROW) return fail(impl_->error("checking"));
  if (const std::string found = s.text(0); found != "ok") {
    return fail(ErrorCode::kCorruptInput, "journal {}: {}", impl_->file.string(), found);
  }
  return {};
}

}  // namespace cuzk::engine
