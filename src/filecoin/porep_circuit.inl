#pragma once
// The PoRep circuit as one program for both builders. Included by porep_circuit.cc and by tests.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "filecoin/graph.h"
#include "filecoin/shapes.h"
#include "gadget/merkle.h"

namespace cuzk::filecoin::circuit {

// The labels of a node over the layers, and the path to comm_c.
template <class Fr>
struct Column {
  std::vector<Fr> rows;
  gadget::Path<Fr> path;
};

template <class Fr>
struct Challenge {
  std::uint64_t node = 0;
  Fr data_leaf;
  gadget::Path<Fr> data_path;
  std::vector<Column<Fr>> drg_parents;
  std::vector<Column<Fr>> expander_parents;
  gadget::Path<Fr> replica_path;
  gadget::Path<Fr> column_path;
};

// What a partition's witness is computed from.
template <class Fr>
struct Partition {
  Fr replica_id, comm_d, comm_r, comm_r_last, comm_c;
  std::vector<Challenge<Fr>> challenges;
};

// Numbers that all challenges share.
template <class CS>
struct Shared {
  std::vector<typename CS::Word> replica_id_words;
  typename CS::Num comm_d, comm_r_last, comm_c;
  std::vector<std::uint32_t> data_arities;
  std::vector<std::uint32_t> tree_arities;
};

// SHA-256 of replica id, layer, node and the parents' labels repeated to 37, as a number.
//
// Shape: node_bits 64, lowest first; each parent eight message words.
template <class CS>
typename CS::Num create_label(CS& cs, std::span<const typename CS::Word> replica_id,
                              std::uint32_t layer, std::span<const typename CS::Bit> node_bits,
                              std::span<const std::vector<typename CS::Word>> parents) {
  using Word = typename CS::Word;
  const auto named = cs.scope("label", layer);
  std::vector<Word> message(replica_id.begin(), replica_id.end());
  message.push_back(Word::constant(layer));
  const auto node = gadget::words_from_bits<CS>(node_bits);
  message.push_back(node[1]);
  message.push_back(node[0]);
  message.resize(16, Word::constant(0));
  for (std::size_t i = 0; i < kLabelParents; ++i) {
    const auto& parent = parents[i % parents.size()];
    message.insert(message.end(), parent.begin(), parent.end());
  }
  return gadget::digest_to_num<CS>(cs, gadget::sha256<CS>(cs, message));
}

// A parent's column, opened: its rows are allocated, hashed and found under comm_c.
template <class CS>
std::vector<typename CS::Num> open_column(CS& cs, const Shared<CS>& shared, std::size_t layers,
                                          const Column<typename CS::Fr>* column) {
  std::vector<typename CS::Num> rows;
  for (std::size_t i = 0; i < layers; ++i) {
    rows.push_back(cs.alloc(CS::value([&] { return column->rows[i]; })));
  }
  gadget::merkle_inclusion<gadget::PoseidonTree>(cs, gadget::poseidon<CS>(cs, rows),
                                                 shared.tree_arities,
                                                 column ? &column->path : nullptr, shared.comm_c);
  return rows;
}

template <class CS>
using Columns = std::vector<std::vector<typename CS::Num>>;

// The labels of the challenged node, layer 1 first.
template <class CS>
std::vector<typename CS::Num> compute_labels(CS& cs, const Shared<CS>& shared, std::size_t layers,
                                             std::span<const typename CS::Bit> node_bits,
                                             const Columns<CS>& drg, const Columns<CS>& expander) {
  std::vector<typename CS::Num> labels;
  for (std::uint32_t layer = 1; layer <= layers; ++layer) {
    std::vector<std::vector<typename CS::Word>> parents;
    const auto add_parent = [&](const typename CS::Num& label) {
      parents.push_back(gadget::message_words<CS>(gadget::to_bits_le(cs, label)));
    };
    for (const auto& column : drg) add_parent(column[layer - 1]);
    if (layer > 1) {
      for (const auto& column : expander) add_parent(column[layer - 2]);
    }
    labels.push_back(create_label<CS>(cs, shared.replica_id_words, layer, node_bits, parents));
  }
  return labels;
}

template <class CS>
void synthesize_challenge(CS& cs, const Shared<CS>& shared, std::size_t layers,
                          const Challenge<typename CS::Fr>* input) {
  using gadget::PoseidonTree;
  const auto data_leaf = cs.alloc(CS::value([&] { return input->data_leaf; }));
  {
    const auto named = cs.scope("comm_d inclusion");
    gadget::merkle_inclusion<gadget::Sha256Tree>(
        cs, data_leaf, shared.data_arities, input ? &input->data_path : nullptr, shared.comm_d);
  }
  Columns<CS> drg, expander;
  for (std::size_t i = 0; i < kDrgParents; ++i) {
    const auto named = cs.scope("drg parent", i);
    drg.push_back(open_column(cs, shared, layers, input ? &input->drg_parents[i] : nullptr));
  }
  for (std::size_t i = 0; i < kExpanderParents; ++i) {
    const auto named = cs.scope("expander parent", i);
    expander.push_back(
        open_column(cs, shared, layers, input ? &input->expander_parents[i] : nullptr));
  }
  const auto node_bits = cs.alloc_bits_u64(CS::index([&] { return input->node; }), 64);
  gadget::pack_into_inputs<CS>(cs, node_bits);
  const auto labels = compute_labels<CS>(cs, shared, layers, node_bits, drg, expander);
  {
    const auto named = cs.scope("comm_r_last inclusion");
    const auto encoded = gadget::add(cs, labels.back(), data_leaf);
    gadget::merkle_inclusion<PoseidonTree>(cs, encoded, shared.tree_arities,
                                           input ? &input->replica_path : nullptr,
                                           shared.comm_r_last);
  }
  const auto named = cs.scope("comm_c inclusion");
  gadget::merkle_inclusion<PoseidonTree>(cs, gadget::poseidon<CS>(cs, labels), shared.tree_arities,
                                         input ? &input->column_path : nullptr, shared.comm_c);
}

// `input` is null where the builder wants no values.
template <class CS>
void synthesize_porep(CS& cs, const PorepShape& shape, const Partition<typename CS::Fr>* input) {
  using Num = typename CS::Num;
  const auto public_number = [&](const auto& value) {
    const Num n = cs.alloc(CS::value(value));
    gadget::inputize(cs, n);
    return n;
  };
  Shared<CS> shared;
  shared.tree_arities = shape.path_arities();
  shared.data_arities.assign(static_cast<std::size_t>(std::countr_zero(shape.nodes())), 2);

  const Num replica_id = public_number([&] { return input->replica_id; });
  shared.replica_id_words = gadget::message_words<CS>(gadget::to_bits_le(cs, replica_id));
  shared.comm_d = public_number([&] { return input->comm_d; });
  const Num comm_r = public_number([&] { return input->comm_r; });
  shared.comm_r_last = cs.alloc(CS::value([&] { return input->comm_r_last; }));
  shared.comm_c = cs.alloc(CS::value([&] { return input->comm_c; }));
  {
    const auto named = cs.scope("comm_r");
    const Num hash =
        gadget::poseidon<CS>(cs, std::array<Num, 2>{shared.comm_c, shared.comm_r_last});
    gadget::enforce_equal(cs, comm_r, hash);
  }
  cs.repeat(shape.challenges_per_partition, "challenge", [&](CS& own, std::uint32_t i) {
    synthesize_challenge<CS>(own, shared, shape.layers, input ? &input->challenges[i] : nullptr);
  });
}

}  // namespace cuzk::filecoin::circuit
