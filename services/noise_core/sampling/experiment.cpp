#include "sampling/experiment.h"

#include <stdexcept>
#include <string>

#include "sampling/marking.h"
#include "sampling/receiver.h"

namespace flitwatch::sampling {

namespace {

std::uint64_t next(std::uint64_t& state) {  // splitmix64 (Steele et al. 2014)
  std::uint64_t z = (state += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

void check(const Experiment& e) {
  const auto in_range = [&](const std::vector<std::uint32_t>& links) {
    for (std::uint32_t l : links)
      if (l >= e.links)
        throw std::invalid_argument("a path names link " + std::to_string(l) + " of " + std::to_string(e.links));
  };
  for (const auto& path : e.paths) {
    if (path.empty()) throw std::invalid_argument("a path has no links");
    in_range(path);
  }
  for (const auto& set : e.sets) in_range(set);
  if (e.congested_share.size() != e.links) throw std::invalid_argument("congested_share needs one entry per link");
  if (e.downsampling < 1 || e.id_bits < 1 || e.id_bits > 32)
    throw std::invalid_argument("downsampling or id_bits is out of range");
  for (const Flow& f : e.flows)
    if (f.set >= e.sets.size() || f.paths.empty())
      throw std::invalid_argument("a flow has no set of links or no paths");
}

}  // namespace

ExperimentResult run(const Experiment& e) {
  check(e);
  ExperimentResult result;
  for (Counts* c : {&result.exact, &result.standard, &result.one_bit})
    for (auto* column : {&c->traffic, &c->congested, &c->tested}) column->assign(e.links, 0.0);
  const std::uint32_t g = e.g ? e.g : kDefaultG;
  std::vector<std::uint32_t> masks(e.links);
  for (std::uint32_t l = 0; l < e.links; ++l) masks[l] = mask_of(l + 1, g);  // d is not 0
  std::vector<std::uint64_t> threshold(e.links);
  for (std::uint32_t l = 0; l < e.links; ++l)
    threshold[l] = static_cast<std::uint64_t>(static_cast<double>(e.congested_share[l]) * 0x1p32);

  std::vector<OneBitReceiver> receivers;
  for (const auto& set : e.sets) {
    std::vector<std::uint32_t> names;
    for (std::uint32_t l : set) names.push_back(l + 1);
    receivers.emplace_back(names, g);
  }
  std::uint64_t state = e.seed;
  const std::uint32_t id_mask = e.id_bits == 32 ? ~0u : (1u << e.id_bits) - 1;
  std::vector<Arrival> batch;
  for (const Flow& f : e.flows) {
    OneBitReceiver& receiver = receivers[f.set];
    for (std::uint64_t k = 0; k < f.packets; ++k, ++result.packets) {
      const auto& path = e.paths[f.paths[f.paths.size() == 1 ? 0 : (next(state) >> 32) * f.paths.size() >> 32]];
      const bool sampled = e.downsampling == 1 || (next(state) >> 32) * e.downsampling >> 32 == 0;
      const std::uint32_t id = static_cast<std::uint32_t>(next(state)) & id_mask;
      Mark mark;
      for (std::size_t hop = 0; hop < path.size(); ++hop) {
        const std::uint32_t link = path[hop];
        const std::uint64_t draw = next(state);
        const bool congested = (draw >> 32) < threshold[link];
        result.exact.traffic[link] += 1;
        result.exact.congested[link] += congested;
        if (!sampled) continue;
        if (hop == 0)
          mark = begin(id, link, masks[link], congested);
        else
          forward(mark, static_cast<std::uint32_t>(draw), id, link, masks[link], congested);
      }
      if (!sampled) continue;
      ++result.sampled;
      result.standard.traffic[mark.link] += mark.hops;
      result.standard.congested[mark.link] += mark.congested ? mark.hops : 0;
      batch.push_back({id, mark.hops, mark.bit, mark.congested});
      if (batch.size() == 4096) {
        receiver.add(batch);
        batch.clear();
      }
    }
    receiver.add(batch);
    batch.clear();
  }
  for (std::size_t s = 0; s < e.sets.size(); ++s) {
    const auto traffic = receivers[s].traffic(), congested = receivers[s].congested();
    result.tests += receivers[s].tested() * e.sets[s].size();
    for (std::size_t i = 0; i < e.sets[s].size(); ++i) {
      result.one_bit.traffic[e.sets[s][i]] += static_cast<double>(traffic[i]);
      result.one_bit.congested[e.sets[s][i]] += static_cast<double>(congested[i]);
      result.one_bit.tested[e.sets[s][i]] += static_cast<double>(receivers[s].tested());
    }
  }
  for (Counts* c : {&result.standard, &result.one_bit})
    for (auto* column : {&c->traffic, &c->congested, &c->tested})
      for (double& value : *column) value *= e.downsampling;
  return result;
}

}  // namespace flitwatch::sampling
