// cuzk prove winning-post | window-post

#include <memory>

#include "cli/post_options.h"
#include "cli/prove_command.h"

namespace cuzk::cli {

namespace {

using filecoin::PostKind;

struct ProvePostOptions {
  ProveOptions shared;
  PostOptions post;
  std::vector<std::string> vanilla;
};

Result<ParsedRequest> parse(const ProvePostOptions& options, const engine::PostClaim& claim,
                            const engine::Context& context) {
  const std::vector<std::filesystem::path> files(options.vanilla.begin(), options.vanilla.end());
  CUZK_TRY(engine::PostJob post, engine::parse_post(context, files, claim));
  ParsedRequest out;
  out.log_id = to_hex(post.statement.randomness()).substr(0, 16);
  out.statement = {{"randomness", to_hex(post.statement.randomness())},
                   {"sectors", post.statement.sectors().size()},
                   {"sectors_from_vanilla", post.sectors_from_vanilla}};
  if (options.post.kind == PostKind::kWinning) {
    out.statement["sector"] = post.statement.sectors()[0].number;
  }
  if (!post.job.partition_numbers.empty()) {
    out.statement["partition_numbers"] = post.job.partition_numbers;
  }
  if (post.sectors_from_vanilla) {
    out.notes.push_back(
        "sector numbers and comm_r were taken from the vanilla proofs; give --sectors to have them "
        "compared");
  }
  out.job = std::move(post.job);
  return out;
}

Result<ExitCode> prove_post(const ProvePostOptions& options) {
  CUZK_TRY(const engine::PostClaim claim, options.post.claim());
  return run_prove(options.shared,
                   [&](const engine::Context& context) { return parse(options, claim, context); });
}

void add_kind_of_post(CLI::App& prove, Runner& run, PostKind kind) {
  const bool winning = kind == PostKind::kWinning;
  CLI::App* post = prove.add_subcommand(
      winning ? "winning-post" : "window-post",
      winning ? "WinningPoSt: that a challenged sector is stored, within an epoch"
              : "WindowPoSt: that a deadline's sectors are stored, a proof for each partition");
  auto options = std::make_shared<ProvePostOptions>();
  options->post.kind = kind;
  post->add_option("--vanilla", options->vanilla,
                   "Vanilla proofs: bincode of one or several sectors, or a JSON array of base64 "
                   "(repeatable)")
      ->required();
  options->post.add(*post, false);
  options->shared.add(*post);
  post->footer(fmt::format(
      "Example:\n  cuzk prove {} --registered-proof {} --vanilla vanilla.json \\\n"
      "      --randomness HEX --sectors sectors.json -o proof.bin\n\n"
      "Every vanilla proof is checked first; a faulty one is named by its sector. The proof is\n"
      "verified before it is written; nothing is written when anything fails.",
      winning ? "winning-post" : "window-post",
      winning ? "StackedDrgWinning32GiBV1" : "StackedDrgWindow32GiBV1_1"));
  post->callback([options, &run] { run = [options] { return prove_post(*options); }; });
}

}  // namespace

void add_prove_post(CLI::App& prove, Runner& run) {
  add_kind_of_post(prove, run, PostKind::kWinning);
  add_kind_of_post(prove, run, PostKind::kWindow);
}

}  // namespace cuzk::cli
