// Units, addresses, the configuration with its mistakes, roles and tokens.

#include "daemon/config.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/bytes.h"
#include "base/hash.h"
#include "daemon/access.h"
#include "daemon/address.h"
#include "daemon/config_keys.h"
#include "daemon/units.h"

namespace cuzk::daemon {
namespace {

class Directory {
 public:
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "cuzk-config-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  std::filesystem::path write(const std::string& name, const std::string& text,
                              mode_t mode = 0600) const {
    const auto file = path_ / name;
    std::ofstream(file) << text;
    ::chmod(file.c_str(), mode);
    return file;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string error_of(const std::string& toml, const std::vector<Override>& overrides = {}) {
  const auto loaded = load_config_text(toml, "cuzk.toml", overrides);
  return loaded ? "" : loaded.error().message;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Units, SizesHaveBinaryAndDecimalUnits) {
  EXPECT_EQ(parse_size("123", "x").value(), 123u);
  EXPECT_EQ(parse_size("1.5GiB", "x").value(), 1610612736u);
  EXPECT_EQ(parse_size("64 GB", "x").value(), 64000000000u);
  EXPECT_EQ(parse_size("0", "x").value(), 0u);
  for (const char* bad : {"", "GiB", "-1", "5 gigs", "1e30", "0x10", "1 GiB more", "nan"}) {
    EXPECT_FALSE(parse_size(bad, "memory.x")) << bad;
  }
  EXPECT_TRUE(contains(parse_size("5 gigs", "memory.x").error().message, "memory.x"));
}

TEST(Units, DurationsAreSecondsUnlessTheySayOtherwise) {
  EXPECT_EQ(parse_duration_ms("90", "x").value(), 90000);
  EXPECT_EQ(parse_duration_ms("250ms", "x").value(), 250);
  EXPECT_EQ(parse_duration_ms("5m", "x").value(), 300000);
  EXPECT_EQ(parse_duration_ms("1.5h", "x").value(), 5400000);
  EXPECT_FALSE(parse_duration_ms("5 minutes", "x"));
}

TEST(Units, FormattedValuesParseToThemselves) {
  for (const std::size_t bytes :
       {0ul, 1ul, 1023ul, 1024ul, 3ul << 20, 5ul << 30, (5ul << 30) + 1}) {
    EXPECT_EQ(parse_size(format_size(bytes), "x").value(), bytes);
  }
  for (const std::int64_t ms : {0l, 1l, 999l, 1000l, 90000l, 3600000l, 86400000l, 86400001l}) {
    EXPECT_EQ(parse_duration_ms(format_duration(ms), "x").value(), ms);
  }
}

TEST(Address, FormsOfAnAddress) {
  EXPECT_EQ(parse_address("unix:///run/x.sock", "l")->grpc_target(), "unix:/run/x.sock");
  EXPECT_EQ(parse_address("127.0.0.1:9820", "l")->text(), "127.0.0.1:9820");
  EXPECT_EQ(parse_address("localhost:9820", "l")->text(), "localhost:9820");
  EXPECT_EQ(parse_address("[::1]:9820", "l")->text(), "[::1]:9820");
  EXPECT_EQ(parse_address(":9820", "l")->text(), "0.0.0.0:9820");
  EXPECT_EQ(parse_address("http://127.0.0.1:9820", "l")->text(), "127.0.0.1:9820");
  EXPECT_TRUE(parse_address("[::1]:1", "l")->is_local());
  EXPECT_FALSE(parse_address("0.0.0.0:9820", "l")->is_local());
  for (const char* bad : {"", "9820", "host", "host:", "host:x", "host:65536", "::1:9820",
                          "unix://", "a b:1", "host:1/path", "[]:1"}) {
    EXPECT_FALSE(parse_address(bad, "daemon.listen")) << bad;
  }
}

TEST(Address, OnlyAStaleSocketIsRemoved) {
  const Directory dir;
  const Address address = parse_address("unix://" + (dir.path() / "a/b/s").string(), "l").value();
  ASSERT_TRUE(prepare_socket(address));
  EXPECT_TRUE(std::filesystem::exists(dir.path() / "a/b"));

  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::snprintf(name.sun_path, sizeof name.sun_path, "%s", address.socket.c_str());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  ASSERT_EQ(::listen(fd, 1), 0);
  EXPECT_TRUE(contains(prepare_socket(address).error().message, "another process"));
  ::close(fd);
  EXPECT_TRUE(prepare_socket(address));
  EXPECT_FALSE(std::filesystem::exists(address.socket));

  dir.write("file", "precious");
  const Address file = parse_address("unix://" + (dir.path() / "file").string(), "l").value();
  EXPECT_TRUE(contains(prepare_socket(file).error().message, "another kind"));
  EXPECT_TRUE(std::filesystem::exists(file.socket));
  const Address far = parse_address("unix:///tmp/" + std::string(120, 'x'), "l").value();
  EXPECT_TRUE(contains(prepare_socket(far).error().message, "107"));
}

TEST(Config, CuriosExampleIsTaken) {
  const auto loaded = load_config_text(R"(
[daemon]
listen = "0.0.0.0:9820"
status_listen = "0.0.0.0:9821"
[memory]
total_budget = "auto"
safety_margin = "5GiB"
eviction_min_idle = "5m"
pinned_budget = "50GiB"
[gpus]
devices = []
gpu_threads = 32
gpu_workers_per_device = 2
[scheduler]
max_batch_size = 1
max_batch_wait_ms = 10000
sort_by_type = true
[synthesis]
threads = 0
partition_workers = 10
[pipeline]
enabled = true
synthesis_lookahead = 1
synthesis_concurrency = 2
max_parallel_synthesis = 18
slot_size = 0
max_gpu_queue_depth = 0
[srs]
param_cache = "/data/zk/params"
preload = ["porep-32g"]
[logging]
level = "debug"
)",
                                       "cuzk.toml", {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Config& c = loaded->config;
  EXPECT_EQ(c.listen, "0.0.0.0:9820");
  EXPECT_FALSE(c.total_budget_bytes);
  EXPECT_EQ(c.safety_margin_bytes, std::size_t{5} << 30);
  EXPECT_EQ(c.synthesis_workers, 2);
  EXPECT_EQ(c.preload, std::vector<std::string>{"porep-32g"});
  EXPECT_EQ(c.log_level, LogLevel::kDebug);
  EXPECT_EQ(c.parameter_directory, "/data/zk/params");
  std::string warnings;
  for (const std::string& warning : loaded->warnings) warnings += warning + "\n";
  for (const char* key : {"memory.pinned_budget", "synthesis.partition_workers",
                          "pipeline.slot_size", "scheduler.max_batch_size"}) {
    EXPECT_TRUE(contains(warnings, key)) << warnings;
  }
}

TEST(Config, UnknownKeysAreRefusedWithTheNearestOne) {
  EXPECT_EQ(error_of("[daemon]\nlisten = \"a:1\"\nlisen = \"b:1\"\n"),
            "cuzk.toml:3: unknown key 'daemon.lisen'; did you mean 'daemon.listen'?");
  EXPECT_TRUE(contains(error_of("[srs]\ntotal_budget = \"1GiB\"\n"), "memory.total_budget"));
  EXPECT_TRUE(contains(error_of("[memory]\ntotal_budgets = 1\n"), "memory.total_budget"));
  EXPECT_EQ(error_of("[zzz]\nqqqqqqqq = 1\n"), "cuzk.toml:2: unknown key 'zzz.qqqqqqqq'");
  EXPECT_TRUE(contains(error_of("listen = \"a:1\"\n"), "daemon.listen"));
}

TEST(Config, UnknownTablesAreRefusedThoughTheyAreEmpty) {
  EXPECT_EQ(error_of("[srs]\n[srs.dev]\n"),
            "cuzk.toml:2: unknown table 'srs.dev'; did you mean 'srs.insecure_dev'?");
  EXPECT_EQ(error_of("[daemn]\n"), "cuzk.toml:1: unknown table 'daemn'; did you mean 'daemon'?");
  EXPECT_EQ(error_of("[zzzzzzzz]\n"), "cuzk.toml:1: unknown table 'zzzzzzzz'");
  EXPECT_EQ(error_of("[zzzzzzzz.qqqq]\n"), "cuzk.toml:1: unknown table 'zzzzzzzz.qqqq'");
  EXPECT_EQ(error_of("[srs]\ninsecure_dev = {}\n"),
            "cuzk.toml:2: srs.insecure_dev: a value is expected, found a table");
  EXPECT_EQ(error_of("[circom.circuits.mine]\n"), "circom.circuits.mine.zkey is missing");
  EXPECT_TRUE(contains(error_of("[circom.circuits.'a b']\n"), "cuzk.toml:1: circom.circuits.a b"));
  for (const char* empty : {"[srs]\n", "[circom]\n", "[circom.circuits]\n", "[scheduler]\n"}) {
    EXPECT_EQ(error_of(empty), "") << empty;
  }
}

TEST(Config, WrongValuesNameKeyAndLine) {
  EXPECT_TRUE(contains(error_of("[memory]\n\ntotal_budget = \"lots\"\n"),
                       "cuzk.toml:3: memory.total_budget: 'lots' is no size"));
  EXPECT_TRUE(contains(error_of("[gpus]\ngpu_workers_per_device = 0\n"), "from 1 to 64"));
  EXPECT_TRUE(contains(error_of("[gpus]\ndevices = 3\n"), "list"));
  EXPECT_TRUE(contains(error_of("[srs]\nverify = \"yes\"\n"), "true or false"));
  EXPECT_TRUE(contains(error_of("[logging]\nlevel = \"loud\"\n"), "trace, debug, info"));
  EXPECT_TRUE(contains(error_of("[logging]\nformat = \"xml\"\n"), "text, json"));
  EXPECT_TRUE(contains(error_of("[daemon]\nlisten = 9820\n"), "quotes"));
  EXPECT_TRUE(contains(error_of("[daemon]\nlisten = \"nowhere\"\n"), "daemon.listen"));
  EXPECT_TRUE(contains(error_of("[daemon]\nsocket_mode = \"rw\"\n"), "octal"));
  EXPECT_TRUE(contains(error_of("[daemon]\nmax_message_size = \"9GiB\"\n"), "2GiB"));
  EXPECT_TRUE(contains(error_of("[daemon\nlisten = 1\n"), "cuzk.toml:1:"));
  EXPECT_TRUE(contains(error_of("[daemon]\nlisten = 1979-05-27\n"), "type"));
}

TEST(Config, KeysThatBelongTogether) {
  EXPECT_TRUE(contains(error_of("[tls]\ncertificate = \"c.pem\"\n"), "belong together"));
  EXPECT_TRUE(contains(error_of("[tls]\nclient_ca = \"c.pem\"\n"), "needs"));
  EXPECT_TRUE(contains(error_of("[tls]\ncertificate = \"c\"\nkey = \"k\"\n"), "unix socket"));
  EXPECT_TRUE(contains(error_of("[srs]\nmake_dev_keys = true\n"), "insecure_dev"));
  EXPECT_TRUE(
      contains(error_of("[daemon]\nlisten = \"a:1\"\nstatus_listen = \"b:1\"\n"), "status_listen"));
}

TEST(Config, LaterOriginsWin) {
  const auto loaded =
      load_config_text("[daemon]\nlisten = \"file:1\"\n[srs]\npreload = [\"a\"]\n", "cuzk.toml",
                       {{"daemon.listen", "environment:1", "environment"},
                        {"daemon.listen", "flag:1", "--listen"},
                        {"srs.preload", "b,c", "environment"},
                        {"cpu.workers", "3", "environment"},
                        {"srs.verify", "false", "environment"}});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->config.listen, "flag:1");
  EXPECT_EQ(loaded->origins.at("daemon.listen"), "--listen");
  EXPECT_EQ(loaded->config.preload, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(loaded->config.cpu_workers, 3);
  EXPECT_FALSE(loaded->config.verify_parameters);
  EXPECT_TRUE(contains(error_of("", {{"cpu.workers", "many", "environment CUZK_CPU_WORKERS"}}),
                       "CUZK_CPU_WORKERS"));
}

TEST(Config, EnvironmentHasAVariableForEveryKey) {
  ::setenv("CUZK_DAEMON_STATUS_LISTEN", "127.0.0.1:1", 1);
  const auto overrides = environment_overrides();
  ::unsetenv("CUZK_DAEMON_STATUS_LISTEN");
  ASSERT_EQ(overrides.size(), 1u);
  EXPECT_EQ(overrides[0].key, "daemon.status_listen");
}

TEST(Config, WhatIsShownCanBeLoadedAgain) {
  const auto loaded = load_config_text(
      "[daemon]\nlisten = \"unix:///tmp/a \\\"b\\\".sock\"\n[srs]\npreload = [\"x\", \"y\"]\n"
      "[memory]\ntotal_budget = \"7GiB\"\n[jobs]\nresult_ttl = \"90s\"\n",
      "cuzk.toml", {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  const std::string shown = show_config(*loaded);
  const auto again = load_config_text(shown, "shown.toml", {});
  ASSERT_TRUE(again) << again.error().message << shown;
  EXPECT_TRUE(config_changes(loaded->config, again->config).empty());
  EXPECT_TRUE(again->warnings.empty());
  EXPECT_FALSE(config_changes(loaded->config, Config{}).empty());
}

TEST(Config, MissingAndUnreadableFiles) {
  const Directory dir;
  EXPECT_EQ(load_config(dir.path() / "absent.toml", {}).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(load_config(dir.path(), {}));
  EXPECT_TRUE(load_config(dir.write("empty.toml", ""), {}));
}

TEST(Config, ReloadKnowsWhatNeedsARestart) {
  Config after;
  after.listen = "x:1";
  after.log_level = LogLevel::kTrace;
  const auto changes = config_changes(Config{}, after);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].key, "daemon.listen");
  EXPECT_FALSE(changes[0].reloadable);
  EXPECT_EQ(changes[1].key, "logging.level");
  EXPECT_TRUE(changes[1].reloadable);
}

constexpr const char* kTokens =
    "# who may what\n"
    "curio   submit  curio-token-0123456789\n"
    "\n"
    "grafana read    grafana-token-0123456789  # dashboards\n";

TEST(Config, CircomCircuitsHaveTheirOwnIds) {
  const std::string text =
      "[circom]\ndirectory = \"/keys\"\n[circom.circuits]\nshort = \"/k/short.zkey\"\n"
      "mult = { zkey = \"/k/\\\"m\\\".zkey\", r1cs = \"/k/m.r1cs\", preload = true }\n";
  const LoadedConfig loaded = load_config_text(text, "test", {}).value();
  EXPECT_EQ(loaded.config.circom_directory, "/keys");
  ASSERT_EQ(loaded.config.circom_circuits.size(), 2u);
  const auto& mult = loaded.config.circom_circuits.at("mult");
  EXPECT_EQ(mult.id, "mult");
  EXPECT_EQ(mult.zkey, "/k/\"m\".zkey");
  EXPECT_EQ(mult.r1cs, "/k/m.r1cs");
  EXPECT_TRUE(mult.preload);
  EXPECT_FALSE(mult.resident || mult.allow_insecure_key);
  EXPECT_EQ(loaded.config.circom_circuits.at("short").zkey, "/k/short.zkey");

  // On a command line everything is text.
  const auto set = load_config_text("", "",
                                    {{"circom.circuits.a", "/k/a.zkey", "--set"},
                                     {"circom.circuits.a.preload", "true", "--set"}});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->config.circom_circuits.at("a").zkey, "/k/a.zkey");
  EXPECT_TRUE(set->config.circom_circuits.at("a").preload);
  EXPECT_TRUE(contains(error_of("", {{"circom.circuits.a.preload", "yes", "--set"}}),
                       "true or false is expected"));
  const LoadedConfig again = load_config_text(show_config(loaded), "again", {}).value();
  EXPECT_TRUE(config_changes(loaded.config, again.config).empty()) << show_config(loaded);

  const auto error = [](const std::string& circuit) {
    return load_config_text("[circom.circuits]\n" + circuit, "test", {}).error().message;
  };
  EXPECT_TRUE(contains(error("a = { zkeys = \"x\" }"), "allow_insecure_key"));
  EXPECT_TRUE(contains(error("a = { r1cs = \"x\" }"), "circom.circuits.a.zkey is missing"));
  EXPECT_TRUE(contains(error("\"a b\" = \"x\""), "letters"));
  EXPECT_TRUE(contains(error("a = { zkey = \"x\", preload = 1 }"), "true or false"));
  EXPECT_TRUE(contains(
      load_config_text("[jobs]\njournal = \"none\"\n[circom]\njournal_witness = true", "test", {})
          .error()
          .message,
      "jobs.journal"));

  Config next = loaded.config;
  next.circom_circuits.erase("short");
  next.circom_circuits["mult"].preload = false;
  const auto changes = config_changes(loaded.config, next);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].key, "circom.circuits.mult");
  EXPECT_EQ(changes[1].after, "");
  EXPECT_TRUE(changes[0].reloadable && changes[1].reloadable);
}

TEST(Access, TokensDecideBeforeEverythingElse) {
  const auto digest =
      to_hex(sha256(ByteSpan(reinterpret_cast<const std::uint8_t*>("root-secret"), 11)));
  const auto access =
      Access::from_text(Config{}, kTokens + ("ops admin sha256:" + digest) + "\n", "tokens");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->tokens(), 3u);
  const auto with = [&](const std::string& token) {
    return access->caller({"Bearer " + token, "someone", "unix:"});
  };
  EXPECT_EQ(with("curio-token-0123456789").role, Role::kSubmit);
  EXPECT_EQ(with("curio-token-0123456789").name, "curio");
  EXPECT_EQ(with("grafana-token-0123456789").role, Role::kRead);
  EXPECT_EQ(with("root-secret").role, Role::kAdmin);
  EXPECT_EQ(with("wrong-token-0123456789").role, Role::kNone);
  EXPECT_EQ(with("").role, Role::kNone);
  EXPECT_EQ(with("sha256:" + digest).role, Role::kNone);
  EXPECT_EQ(access->caller({"Basic abc", "", "unix:"}).role, Role::kNone);
}

TEST(Access, WithoutATokenTheConnectionDecides) {
  Config config;
  config.tls_client_role = Role::kRead;
  const Access open = Access::from_text(config, "", "").value();
  EXPECT_EQ(open.caller({"", "", "unix:"}).role, Role::kAdmin);
  EXPECT_EQ(open.caller({"", "node-7", "ipv4:10.0.0.7:1"}).role, Role::kRead);
  EXPECT_EQ(open.caller({"", "node-7", "ipv4:10.0.0.7:1"}).name, "node-7");
  EXPECT_EQ(open.caller({"", "", "ipv4:10.0.0.7:1"}).role, Role::kSubmit);
  EXPECT_EQ(open.caller({"", "", "ipv4:10.0.0.7:1"}).name, "10.0.0.7");
  config.tokens_file = "tokens";
  const Access closed = Access::from_text(config, kTokens, "tokens").value();
  EXPECT_EQ(closed.caller({"", "", "ipv4:10.0.0.7:1"}).role, Role::kNone);
  EXPECT_TRUE(contains(closed.caller({"", "", "ipv4:10.0.0.7:1"}).refusal, "token"));
}

TEST(Access, BadTokenFilesAreRefusedWithoutTheToken) {
  const auto error = [](const std::string& text) {
    return Access::from_text(Config{}, text, "tokens").error().message;
  };
  EXPECT_TRUE(contains(error("\ncurio submit\n"), "tokens:2"));
  EXPECT_TRUE(contains(error("curio boss token-0123456789ab\n"), "boss"));
  EXPECT_TRUE(contains(error("curio submit short\n"), "16"));
  EXPECT_FALSE(contains(error("curio submit short-secret\n"), "short-secret"));
  EXPECT_TRUE(contains(error("curio submit sha256:12\n"), "64"));
  const Directory dir;
  Config config;
  config.tokens_file = dir.write("open", kTokens, 0644);
  EXPECT_TRUE(contains(Access::load(config).error().message, "chmod 600"));
  config.tokens_file = dir.write("closed", kTokens, 0600);
  EXPECT_TRUE(Access::load(config));
  config.tokens_file = dir.path() / "absent";
  EXPECT_FALSE(Access::load(config));
}

}  // namespace
}  // namespace cuzk::daemon
