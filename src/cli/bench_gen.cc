#include "cli/bench_gen.h"

#include <fmt/format.h>

#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "base/random.h"
#include "cli/session.h"
#include "filecoin/cid.h"
#include "filecoin/seal_post.h"
#include "filecoin/seal_sector.h"
#include "filecoin/seal_update.h"
#include "format/c1.h"
#include "format/post_vanilla.h"
#include "format/update_vanilla.h"

namespace cuzk::cli {

namespace {

namespace fs = std::filesystem;
using filecoin::Node;
using filecoin::SealedSector;
using nlohmann::json;

struct GenOptions {
  CommonOptions common;
  std::string kind;
  std::string sector_size = "2KiB";
  std::string registered_proof;
  std::string version;
  std::string miner = "1000";
  std::string piece;
  std::string out_dir;
  std::uint64_t first_sector = 1;
  std::uint32_t sectors = 1;
  std::uint64_t seed = 1;
};

Node random_node(RandomSource& random) {
  Node node;
  random.fill(node);
  node[31] &= 0x3f;
  return node;
}

ByteSpan bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// A run of the command: what is drawn, sealed and written, and what is told at the end.
class Generator {
 public:
  Generator(const GenOptions& options, std::uint64_t actor, Session& session)
      : o_(options), actor_(actor), session_(session), random_(options.seed) {}

  Result<ExitCode> run() {
    std::error_code error;
    fs::create_directories(o_.out_dir, error);
    if (error) return fail(ErrorCode::kIo, "{}: {}", o_.out_dir, error.message());
    if (o_.kind == "porep") {
      CUZK_TRY_VOID(porep());
    } else if (o_.kind == "update") {
      CUZK_TRY_VOID(update());
    } else {
      CUZK_TRY_VOID(post());
    }
    CUZK_TRY_VOID(session_.finish());
    remark("With a development key, made at the first use; leave --insecure-dev out where the");
    remark("ceremony's key is:");
    std::printf("%s%s", remarks_.c_str(), commands_.c_str());
    return kOk;
  }

 private:
  Status porep();
  Status post();
  Status update();

  // The proof asked for, or that of the size; `usual` is its version unless another is asked for.
  std::string proof_name(std::string_view prefix, std::string_view usual) const {
    if (!o_.registered_proof.empty()) return o_.registered_proof;
    return fmt::format("{}{}{}", prefix, o_.sector_size, o_.version.empty() ? usual : o_.version);
  }
  Result<SealedSector> seal(const filecoin::SealProof& proof, std::uint64_t number, ByteSpan piece);
  // With the piece given or with random data.
  Result<SealedSector> seal(const filecoin::SealProof& proof, std::uint64_t number);
  template <class F>
  auto with_piece(std::uint64_t sector_bytes, F&& use) -> decltype(use(ByteSpan{}));

  std::string path_of(const std::string& name) const {
    return (fs::path(o_.out_dir) / name).string();
  }
  Status write(const std::string& name, ByteSpan bytes);
  Status write_statement(json statement);
  json common_statement(const std::string& proof, std::uint64_t sector_bytes) const {
    return {{"kind", o_.kind},
            {"registered_proof", proof},
            {"sector_size", sector_bytes},
            {"miner", actor_},
            {"prover_id", to_hex(filecoin::prover_id_of_actor(actor_))}};
  }
  // A file of the folder as the shell must be told.
  std::string quoted(const std::string& name) const;
  // What is printed is a shell script: remarks, then commands.
  void remark(const std::string& text) { remarks_ += "# " + text + "\n"; }
  void commands_for(const std::string& prove, const std::string& verify, const std::string& file) {
    commands_ += fmt::format(
        "cuzk prove {0} {1} --insecure-dev -o {3}\ncuzk verify {0} {2} --insecure-dev {3}\n",
        o_.kind, prove, verify, quoted(file));
  }

  const GenOptions& o_;
  const std::uint64_t actor_;
  Session& session_;
  SeededRandom random_;
  std::string remarks_;
  std::string commands_;
};

template <class F>
auto Generator::with_piece(std::uint64_t sector_bytes, F&& use) -> decltype(use(ByteSpan{})) {
  if (!o_.piece.empty()) {
    CUZK_TRY(const MappedFile file, MappedFile::open(o_.piece));
    return use(file.bytes());
  }
  CUZK_TRY(auto data, Buffer<std::uint8_t>::allocate(session_.context().memory, "piece",
                                                     filecoin::piece_capacity(sector_bytes)));
  random_.fill(data.span());
  return use(data.span());
}

Result<SealedSector> Generator::seal(const filecoin::SealProof& proof, std::uint64_t number,
                                     ByteSpan piece) {
  const auto span = session_.timeline().span("seal");
  const engine::Context context = session_.context();
  const filecoin::SealRequest request = {
      proof,
      proof.porep_id(),
      {filecoin::prover_id_of_actor(actor_), number, random_node(random_)}};
  return SealedSector::seal(context.tasks, context.memory, request, piece);
}

Result<SealedSector> Generator::seal(const filecoin::SealProof& proof, std::uint64_t number) {
  return with_piece(proof.sector_bytes, [&](ByteSpan piece) { return seal(proof, number, piece); });
}

Status Generator::write(const std::string& name, ByteSpan bytes) {
  CUZK_TRY_VOID(write_file_atomically(path_of(name), bytes));
  remark(fmt::format("{}: {} bytes", path_of(name), bytes.size()));
  return {};
}

std::string Generator::quoted(const std::string& name) const {
  std::string out = "'";
  for (const char c : path_of(name)) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Status Generator::write_statement(json statement) {
  return write("statement.json", bytes_of(statement.dump(2) + "\n"));
}

json sector_json(const SealedSector& sector) {
  return {{"sector", sector.request().identity.sector},
          {"ticket", to_hex(sector.request().identity.ticket)},
          {"replica_id", to_hex(sector.replica_id())},
          {"comm_d", to_hex(sector.comm_d())},
          {"comm_d_cid", cid_of(filecoin::CommitmentKind::kUnsealed, sector.comm_d())},
          {"comm_r", to_hex(sector.comm_r())},
          {"comm_r_cid", cid_of(filecoin::CommitmentKind::kSealed, sector.comm_r())}};
}

Status Generator::porep() {
  CUZK_TRY(const auto proof, filecoin::seal_proof(proof_name("StackedDrg", "V1_1")));
  json statement = common_statement(proof.name, proof.sector_bytes);
  for (std::uint64_t number = o_.first_sector; number < o_.first_sector + o_.sectors; ++number) {
    CUZK_TRY(const SealedSector sector, seal(proof, number));
    const Node seed = random_node(random_);
    CUZK_TRY(const filecoin::PorepC1 c1, sector.open(seed));
    const std::string stem = o_.sectors == 1 ? "" : fmt::format("-{}", number);
    const std::string c1_file = "c1" + stem + ".json";
    CUZK_TRY_VOID(write(c1_file, bytes_of(format::write_c1_json(c1))));
    json one = sector_json(sector);
    one["seed"] = to_hex(seed);
    statement["sectors"].push_back(one);
    const std::string who = fmt::format("--miner {} --sector {}", actor_, number);
    commands_for(
        "--c1 " + quoted(c1_file) + " " + who,
        fmt::format("--seal-proof {} {} --ticket {} --seed {} --comm-d {} --comm-r {}", proof.name,
                    who, to_hex(c1.ticket), to_hex(seed), to_hex(c1.comm_d), to_hex(c1.comm_r)),
        "proof" + stem + ".bin");
  }
  CUZK_TRY_VOID(write_statement(std::move(statement)));
  return {};
}

Status Generator::post() {
  const bool winning = o_.kind == "winning-post";
  CUZK_TRY(const auto proof,
           filecoin::post_proof(winning ? proof_name("StackedDrgWinning", "V1")
                                        : proof_name("StackedDrgWindow", "V1_1")));
  if ((proof.shape.kind == filecoin::PostKind::kWinning) != winning) {
    return fail(ErrorCode::kInvalidArgument, "{} is no {}", proof.name, o_.kind);
  }
  const std::uint64_t bytes = proof.shape.sector_bytes;
  CUZK_TRY(const auto sealed_by,
           filecoin::seal_proof("StackedDrg" + filecoin::sector_size_name(bytes) + "V1_1"));
  json statement = common_statement(proof.name, bytes);
  std::deque<filecoin::SealTree> kept;  // of a sector only its replica is opened
  std::vector<filecoin::PostReplica> replicas;
  std::vector<filecoin::PostSector> sectors;
  for (std::uint64_t number = o_.first_sector; number < o_.first_sector + o_.sectors; ++number) {
    CUZK_TRY(SealedSector sector, seal(sealed_by, number));
    statement["sectors"].push_back(sector_json(sector));
    const Node comm_c = sector.comm_c();
    sectors.push_back({number, sector.comm_r()});
    kept.push_back(std::move(sector).take_replica());
    replicas.push_back({number, comm_c, &kept.back()});
  }
  const Node randomness = random_node(random_);
  statement["randomness"] = to_hex(randomness);
  CUZK_TRY(const auto claim, filecoin::PostStatement::make(proof, randomness, sectors));
  CUZK_TRY(const auto proofs, filecoin::open_post(session_.context().tasks, claim, replicas));
  CUZK_TRY_VOID(write("vanilla.json", bytes_of(format::write_post_vanilla_json(proofs))));
  CUZK_TRY_VOID(write_statement(std::move(statement)));
  const std::string about = fmt::format("--registered-proof {} --randomness {} --sectors {}",
                                        proof.name, to_hex(randomness), quoted("statement.json"));
  commands_for("--vanilla " + quoted("vanilla.json") + " " + about, about, "proof.bin");
  return {};
}

Status Generator::update() {
  CUZK_TRY(const auto proof, filecoin::update_proof(proof_name("StackedDrg", "V1")));
  const filecoin::UpdateShape& shape = proof.shape;
  CUZK_TRY(
      const auto sealed_by,
      filecoin::seal_proof("StackedDrg" + filecoin::sector_size_name(shape.sector_bytes) + "V1_1"));
  // The key of an update is a sector of zeros.
  CUZK_TRY(SealedSector key, seal(sealed_by, o_.first_sector, ByteSpan{}));
  json statement = common_statement(proof.name, shape.sector_bytes);
  statement["sectors"].push_back(sector_json(key));
  const Node comm_c = key.comm_c();
  const filecoin::SealTree key_replica = SealedSector(std::move(key)).take_replica();
  const engine::Context context = session_.context();
  CUZK_TRY(const auto updated, with_piece(shape.sector_bytes, [&](ByteSpan piece) {
             const auto span = session_.timeline().span("encode");
             return filecoin::UpdatedSector::encode(
                 context.tasks, context.memory, {proof, shape.default_h(), comm_c, &key_replica},
                 piece);
           }));
  CUZK_TRY(const auto proofs, updated.open(context.tasks));
  const filecoin::UpdateStatement& claim = updated.statement();
  statement["comm_r_old"] = to_hex(claim.comm_r_old);
  statement["comm_r_new"] = to_hex(claim.comm_r_new);
  statement["comm_d_new"] = to_hex(claim.comm_d_new);
  statement["h"] = claim.h;
  CUZK_TRY_VOID(write("vanilla.json", bytes_of(format::write_update_vanilla_json(proofs))));
  CUZK_TRY_VOID(write_statement(std::move(statement)));
  const std::string about = fmt::format(
      "--registered-proof {} --comm-r-old {} --comm-r-new {} --comm-d-new {}", proof.name,
      to_hex(claim.comm_r_old), to_hex(claim.comm_r_new), to_hex(claim.comm_d_new));
  commands_for("--vanilla " + quoted("vanilla.json") + " " + about, about, "proof.bin");
  return {};
}

Result<ExitCode> gen_vanilla(const GenOptions& o) {
  CUZK_TRY(const std::uint64_t actor, parse_actor(o.miner));
  if (o.sectors == 0 || (o.sectors > 1 && (o.kind == "winning-post" || o.kind == "update"))) {
    return fail(ErrorCode::kInvalidArgument, "--sectors: {} is of {}, found {}", o.kind,
                o.kind == "porep" || o.kind == "window-post" ? "one or more sectors" : "one sector",
                o.sectors);
  }
  if (o.registered_proof.empty()) {
    CUZK_TRY_VOID(filecoin::parse_sector_size(o.sector_size));
  }
  CUZK_TRY(auto session, Session::start(o.common, {{"seal", 1}}, static_cast<int>(o.sectors)));
  return Generator(o, actor, *session).run();
}

}  // namespace

void add_gen_vanilla(CLI::App& app, Runner& run) {
  auto o = std::make_shared<GenOptions>();
  CLI::App* gen = app.add_subcommand(
      "gen-vanilla", "Seal sectors, and write what a proof is made from and how to make it");
  gen->add_option("kind", o->kind, "porep, winning-post, window-post or update")
      ->check(CLI::IsMember({"porep", "winning-post", "window-post", "update"}))
      ->required();
  gen->add_option("--sector-size", o->sector_size, "2KiB to 512MiB")->capture_default_str();
  gen->add_option(
      "--version", o->version,
      "Of the registered proof: for porep V1, V1_1 (default), V1_1_Feat_SyntheticPoRep or "
      "V1_2_Feat_NonInteractivePoRep; for window-post V1 or V1_1 (default)");
  gen->add_option("--registered-proof", o->registered_proof,
                  "Instead of size and version: a name, e.g. StackedDrgWindow8MiBV1");
  gen->add_option("--piece", o->piece,
                  "Data of the sectors, up to 127/128 of their size; random without it");
  gen->add_option("--miner", o->miner, "Storage provider")->capture_default_str();
  gen->add_option("--sector", o->first_sector, "Number of the (first) sector")
      ->capture_default_str();
  gen->add_option("--sectors", o->sectors, "How many, for porep and window-post")
      ->capture_default_str();
  gen->add_option("--seed", o->seed, "Of data, tickets and randomness: another, other sectors")
      ->capture_default_str();
  gen->add_option("-o,--out", o->out_dir, "Folder for the files; made if it is not there")
      ->required();
  o->common.add_resources(*gen);
  gen->footer(
      "What it prints is a shell script that proves and verifies:\n"
      "  cuzk-bench gen-vanilla window-post --sectors 2 -o inputs\n"
      "  cuzk-bench gen-vanilla porep --sector-size 8MiB -o inputs | sh -e");
  gen->callback([o, &run] { run = [o] { return gen_vanilla(*o); }; });
}

}  // namespace cuzk::cli
