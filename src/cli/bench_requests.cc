#include "cli/bench_requests.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "cli/options.h"
#include "engine/circom_options.h"
#include "filecoin/cid.h"
#include "filecoin/post_shapes.h"
#include "filecoin/shapes.h"
#include "filecoin/update_shapes.h"
#include "format/base64.h"

namespace cuzk::cli {

namespace {

namespace fs = std::filesystem;
using engine::ProofKind;
using engine::ProofRequest;
using filecoin::CommitmentKind;
using nlohmann::json;

constexpr std::size_t kMaxPayloadBytes = std::size_t{1} << 30;
constexpr std::size_t kMaxStatementBytes = std::size_t{16} << 20;

struct TypeName {
  const char* name;
  ProofKind kind;
};
// A kind more is a line more here and its own way in request().
constexpr TypeName kTypes[] = {
    {"porep", ProofKind::kPorep},
    {"porep-c2", ProofKind::kPorep},
    {"seal-commit", ProofKind::kPorep},
    {"snap", ProofKind::kUpdate},
    {"snap-deals", ProofKind::kUpdate},
    {"update", ProofKind::kUpdate},
    {"wpost", ProofKind::kWindowPost},
    {"window-post", ProofKind::kWindowPost},
    {"windowpost", ProofKind::kWindowPost},
    {"winning", ProofKind::kWinningPost},
    {"winning-post", ProofKind::kWinningPost},
    {"winningpost", ProofKind::kWinningPost},
    {"circom", ProofKind::kCircom},
};

// A JSON array of base64 strings; any other content is one proof as it is.
Result<std::vector<std::vector<std::uint8_t>>> read_vanilla(const std::string& file) {
  CUZK_TRY(auto bytes, read_file(file, kMaxPayloadBytes));
  if (format::looks_like_json_array(bytes)) return format::parse_base64_array(bytes, file);
  std::vector<std::vector<std::uint8_t>> out;
  out.push_back(std::move(bytes));
  return out;
}

// A number, or the name of the kind's registered proof.
Result<std::uint64_t> registered_number(ProofKind kind, const std::string& text) {
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
  if (digits && text.size() <= 9) return std::stoull(text);
  switch (kind) {
    case ProofKind::kPorep: {
      CUZK_TRY(const auto proof, filecoin::seal_proof(text));
      return proof.number;
    }
    case ProofKind::kUpdate: {
      CUZK_TRY(const auto proof, filecoin::update_proof(text));
      return proof.number;
    }
    case ProofKind::kWindowPost:
    case ProofKind::kWinningPost: {
      CUZK_TRY(const auto proof, filecoin::post_proof(text));
      return proof.number;
    }
    default:
      return fail(ErrorCode::kInvalidArgument, "--registered-proof: '{}' is no number", text);
  }
}

Result<std::vector<std::uint8_t>> node_bytes(CommitmentKind kind, const std::string& text,
                                             const char* option) {
  if (text.empty()) return std::vector<std::uint8_t>();
  CUZK_TRY(const auto node, filecoin::parse_commitment(kind, text, option));
  return std::vector<std::uint8_t>(node.begin(), node.end());
}

std::vector<std::uint8_t> zeros() { return std::vector<std::uint8_t>(32); }

Status add_payloads(ProofRequest& out, const RequestOptions& o) {
  if (out.kind == ProofKind::kPorep) {
    if (o.c1.empty()) {
      return fail(ErrorCode::kInvalidArgument, "--c1 required for PoRep proof type");
    }
    CUZK_TRY(auto bytes, read_file(o.c1, kMaxPayloadBytes));
    out.payloads.push_back(std::move(bytes));
    return {};
  }
  if (o.vanilla.empty()) {
    return fail(ErrorCode::kInvalidArgument, "--vanilla required for PoSt/SnapDeals proof types");
  }
  CUZK_TRY(out.payloads, read_vanilla(o.vanilla));
  return {};
}

Result<ProofRequest> circom_request(const RequestOptions& o) {
  if (o.circuit.empty() || o.witness.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "--circuit and --wtns required for circom: the circuit's id, and the witness");
  }
  CUZK_TRY_VOID(engine::check_circom_id(o.circuit));
  ProofRequest out;
  out.kind = ProofKind::kCircom;
  out.circuit = o.circuit;
  CUZK_TRY(auto bytes, read_file(o.witness, kMaxPayloadBytes));
  out.payloads.push_back(std::move(bytes));
  return out;
}

Result<std::string> text_of(const json& statement, const char* key, const std::string& file) {
  const auto found = statement.find(key);
  if (found == statement.end() || !found->is_string()) {
    return fail(ErrorCode::kCorruptInput, "{}: it has no text under '{}'", file, key);
  }
  return found->get<std::string>();
}

Result<RequestOptions> options_of_statement(const std::string& folder, const json& statement,
                                            const std::string& file) {
  RequestOptions o;
  const auto in_folder = [&](const char* name) { return (fs::path(folder) / name).string(); };
  CUZK_TRY(o.type, text_of(statement, "kind", file));
  CUZK_TRY(const ProofKind kind, parse_proof_type(o.type));
  if (kind == ProofKind::kCircom) {
    CUZK_TRY(o.circuit, text_of(statement, "circuit", file));
    o.witness = in_folder("witness.wtns");
    if (fs::exists(in_folder("verification_key.json"))) {
      o.verification_key = in_folder("verification_key.json");
    }
    return o;
  }
  CUZK_TRY(o.registered_proof, text_of(statement, "registered_proof", file));
  try {
    o.miner = std::to_string(statement.at("miner").get<std::uint64_t>());
    o.sector = statement.at("sectors").at(0).at("sector").get<std::uint64_t>();
    o.sector_size = std::to_string(statement.at("sector_size").get<std::uint64_t>());
  } catch (const json::exception& e) {
    return fail(ErrorCode::kCorruptInput, "{}: {}", file, e.what());
  }
  if (kind == ProofKind::kPorep) {
    o.c1 = in_folder("c1.json");
    if (!fs::exists(o.c1)) o.c1 = in_folder(("c1-" + std::to_string(o.sector) + ".json").c_str());
    return o;
  }
  o.vanilla = in_folder("vanilla.json");
  if (kind == ProofKind::kUpdate) {
    CUZK_TRY(o.comm_r_old, text_of(statement, "comm_r_old", file));
    CUZK_TRY(o.comm_r_new, text_of(statement, "comm_r_new", file));
    CUZK_TRY(o.comm_d_new, text_of(statement, "comm_d_new", file));
  } else {
    CUZK_TRY(o.randomness, text_of(statement, "randomness", file));
  }
  return o;
}

Result<std::uint64_t> sector_bytes(const std::string& text) {
  CUZK_TRY(const std::size_t bytes, parse_bytes(text, "--sector-size"));
  return bytes;
}

}  // namespace

Result<ProofKind> parse_proof_type(const std::string& text) {
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const TypeName& type : kTypes) {
    if (lower == type.name) return type.kind;
  }
  return fail(ErrorCode::kInvalidArgument,
              "unknown proof type: {}. Use: porep, snap, wpost, winning, circom", text);
}

Result<engine::Priority> parse_priority(const std::string& text) {
  for (std::size_t i = 0; i < scheduler::kPriorities; ++i) {
    const auto priority = static_cast<engine::Priority>(i);
    if (text == engine::priority_name(priority)) return priority;
  }
  return fail(ErrorCode::kInvalidArgument, "unknown priority: {}. Use: critical, high, normal, low",
              text);
}

void RequestOptions::add(CLI::App& app, bool with_partition) {
  app.add_option("-t,--type", type,
                 "porep, snap, wpost or winning (Curio's other names too), or circom");
  app.add_option("--c1", c1, "PoRep: C1 output, in any of its forms");
  app.add_option("--vanilla", vanilla,
                 "PoSt, SnapDeals: JSON array of base64 vanilla proofs, or one raw proof");
  app.add_option("--circuit", circuit, "circom: the id by which the daemon knows the key");
  app.add_option("--wtns", witness, "circom: the witness, a .wtns or a JSON array of decimals");
  app.add_option("--vk", verification_key, "circom: verification_key.json, for --verify");
  app.add_option("--input", input,
                 "Folder made by gen-vanilla, instead of --type and what follows it");
  app.add_option("--registered-proof", registered_proof, "Number, or name of the registered proof")
      ->capture_default_str();
  app.add_option("--sector-size", sector_size, "As the request says it; proofs do not depend on it")
      ->capture_default_str();
  app.add_option("--sector-num", sector, "Sector number")->capture_default_str();
  app.add_option("--miner-id", miner, "Storage provider")->capture_default_str();
  if (with_partition) {
    app.add_option("--partition", partition, "Which partition of a WindowPoSt it is")
        ->capture_default_str();
  }
  app.add_option("--randomness", randomness, "PoSt: 64 hexadecimal digits (default: zeros)");
  const char* const form = ": CID or 64 hexadecimal digits";
  app.add_option("--comm-r-old", comm_r_old, std::string("SnapDeals, replica before") + form);
  app.add_option("--comm-r-new", comm_r_new, std::string("SnapDeals, replica after") + form);
  app.add_option("--comm-d-new", comm_d_new, std::string("SnapDeals, new data") + form);
  app.add_option("--priority", priority, "critical, high, normal or low (default: the kind's)");
}

Result<ProofRequest> RequestOptions::request() const {
  if (!input.empty()) {
    CUZK_TRY(const RequestOptions options, options_of_folder(input));
    CUZK_TRY(ProofRequest out, options.request());
    if (!priority.empty()) {
      CUZK_TRY(out.priority, parse_priority(priority));
    }
    return out;
  }
  if (type.empty()) return fail(ErrorCode::kInvalidArgument, "--type or --input is required");
  ProofRequest out;
  CUZK_TRY(out.kind, parse_proof_type(type));
  if (out.kind == ProofKind::kCircom) {
    CUZK_TRY(out, circom_request(*this));
    if (!priority.empty()) {
      CUZK_TRY(out.priority, parse_priority(priority));
    }
    return out;
  }
  CUZK_TRY_VOID(add_payloads(out, *this));
  CUZK_TRY(out.registered_proof, registered_number(out.kind, registered_proof));
  CUZK_TRY(out.sector_bytes, cli::sector_bytes(sector_size));
  out.sector = sector;
  CUZK_TRY(out.miner, parse_actor(miner));
  out.partition_index = partition;
  const bool is_post = out.kind == ProofKind::kWindowPost || out.kind == ProofKind::kWinningPost;
  if (!randomness.empty()) {
    CUZK_TRY(const auto node, parse_node(randomness, "--randomness"));
    out.randomness.assign(node.begin(), node.end());
  } else if (is_post) {
    out.randomness = zeros();
  }
  CUZK_TRY(out.comm_r_old, node_bytes(CommitmentKind::kSealed, comm_r_old, "--comm-r-old"));
  CUZK_TRY(out.comm_r_new, node_bytes(CommitmentKind::kSealed, comm_r_new, "--comm-r-new"));
  CUZK_TRY(out.comm_d_new, node_bytes(CommitmentKind::kUnsealed, comm_d_new, "--comm-d-new"));
  if (!priority.empty()) {
    CUZK_TRY(out.priority, parse_priority(priority));
  }
  return out;
}

std::string RequestOptions::type_name(const ProofRequest& made) const {
  return input.empty() ? type : std::string(engine::proof_kind_name(made.kind));
}

Result<bench::CircomKeys> RequestOptions::circom_keys() const {
  if (!input.empty()) {
    CUZK_TRY(const RequestOptions options, options_of_folder(input));
    return options.circom_keys();
  }
  if (circuit.empty() || verification_key.empty()) return bench::CircomKeys();
  return bench::CircomKeys{{circuit, verification_key}};
}

Result<RequestOptions> options_of_folder(const std::string& folder) {
  const std::string file = (fs::path(folder) / "statement.json").string();
  CUZK_TRY(const auto bytes, read_file(file, kMaxStatementBytes));
  const json statement = json::parse(bytes, nullptr, false);
  if (!statement.is_object()) {
    return fail(ErrorCode::kCorruptInput, "{}: it is no JSON object", file);
  }
  return options_of_statement(folder, statement, file);
}

}  // namespace cuzk::cli
