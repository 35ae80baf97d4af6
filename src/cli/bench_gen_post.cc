#include "cli/bench_gen_post.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "filecoin/cid.h"
#include "filecoin/sparse_post.h"
#include "format/post_vanilla.h"

namespace cuzk::cli {

namespace {

struct GenPostOptions {
  std::string registered_proof;
  std::string out_dir;
  std::size_t sectors = 1;
  std::uint64_t seed = 1;
};

Status write_text(const std::filesystem::path& path, const std::string& text) {
  return write_file_atomically(
      path, ByteSpan(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

std::string sectors_json(const filecoin::SparsePost& post) {
  nlohmann::json out = nlohmann::json::array();
  for (const filecoin::PostSector& s : post.sectors) {
    out.push_back({{"sector", s.number},
                   {"comm_r", filecoin::cid_of(filecoin::CommitmentKind::kSealed, s.comm_r)}});
  }
  return out.dump(1);
}

Result<ExitCode> gen_post(const GenPostOptions& o) {
  CUZK_TRY(const filecoin::PostProof proof, filecoin::post_proof(o.registered_proof));
  Tasks tasks;
  CUZK_TRY(const auto post, filecoin::make_sparse_post(tasks, proof, o.sectors, o.seed));
  const std::filesystem::path folder = o.out_dir;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorCode::kIo, "{}: {}", o.out_dir, error.message());
  CUZK_TRY_VOID(write_text(folder / "vanilla.json", format::write_post_vanilla_json(post.proofs)));
  CUZK_TRY_VOID(write_text(folder / "sectors.json", sectors_json(post)));
  const bool winning = proof.shape.kind == filecoin::PostKind::kWinning;
  std::printf(
      "cuzk prove %s --registered-proof %s --vanilla %s --sectors %s \\\n  --randomness %s "
      "--insecure-dev -o %s\n",
      winning ? "winning-post" : "window-post", proof.name.c_str(),
      (folder / "vanilla.json").c_str(), (folder / "sectors.json").c_str(),
      to_hex(post.randomness).c_str(), (folder / "proof.bin").c_str());
  return kOk;
}

}  // namespace

void add_gen_post(CLI::App& app, Runner& run) {
  auto o = std::make_shared<GenPostOptions>();
  CLI::App* gen = app.add_subcommand(
      "gen-post", "Vanilla proofs of spacetime of sectors that were never sealed, of any size");
  gen->add_option("--registered-proof", o->registered_proof,
                  "Name or number, e.g. StackedDrgWinning32GiBV1 or 13")
      ->required();
  gen->add_option("--sectors", o->sectors, "How many, for WindowPoSt")->capture_default_str();
  gen->add_option("--seed", o->seed, "Another seed, other sectors")->capture_default_str();
  gen->add_option("-o,--out", o->out_dir, "Folder for the files; made if it is not there")
      ->required();
  gen->footer("Example:\n  cuzk-bench gen-post --registered-proof StackedDrgWinning32GiBV1 -o w");
  gen->callback([o, &run] { run = [o] { return gen_post(*o); }; });
}

}  // namespace cuzk::cli
