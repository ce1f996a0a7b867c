#include "sim/packet/workload.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace flitwatch::sim::packet {

Workload::Workload(WorkloadSpec spec, std::uint32_t endpoints)
    : spec_(std::move(spec)),
      detours_(spec_.detours, spec_.seed),
      choosers_(spec_.endpoint_of_rank.size(), spec_.choice) {
  check(endpoints);
  link_successors();
  const std::size_t n = spec_.ops.kind.size();
  received_.assign(n, 0);
  if (chooses(spec_)) chosen_ = spec_.ops.mode;
  send_time_.assign(n, 0);
  send_start_.assign(n, 0);
  rank_end_.assign(spec_.endpoint_of_rank.size(), 0);
  rank_compute_.assign(spec_.endpoint_of_rank.size(), 0);

  flow_next_.assign(endpoints + 1, 0);
  const FlowArrays& flows = spec_.flows;
  for (std::uint32_t s : flows.src) ++flow_next_[s + 1];
  std::partial_sum(flow_next_.begin(), flow_next_.end(), flow_next_.begin());
  flow_end_.assign(flow_next_.begin() + 1, flow_next_.end());
  flow_order_.resize(flows.src.size());
  std::vector<std::uint32_t> at(flow_next_.begin(), flow_next_.end() - 1);
  for (std::uint32_t f = 0; f < flows.src.size(); ++f) flow_order_[at[flows.src[f]]++] = f;
  unfinished_ = n + flows.src.size();
  has_foreground_ = unfinished() > 0;

  generator_of_.assign(endpoints, kNil);
  for (const GeneratorSpec& g : spec_.generators) {
    if (g.endpoint >= endpoints || g.peers_begin + std::size_t{g.peers_count} > spec_.peers.size() || !g.message_bytes)
      throw std::invalid_argument("a generator's endpoint, peers or message size is out of range");
    if (!g.total_bytes && !has_foreground_)
      throw std::invalid_argument("background traffic without a job would never end");
    if (generator_of_[g.endpoint] != kNil) throw std::invalid_argument("an endpoint has two generators");
    if (g.peers_count < 1 || (g.peers_count == 1 && spec_.peers[g.peers_begin] == g.endpoint)) continue;
    generator_of_[g.endpoint] = static_cast<std::uint32_t>(generators_.size());
    Random random(spec_.seed ^ (std::uint64_t{g.endpoint} + 1) * 0x9E3779B97F4A7C15ull);
    const double phase =
        g.burst ? 0 : random.unit() * g.interval_ps;  // bursts of all endpoints begin together, with the run
    generators_.push_back({g, random, g.total_bytes ? g.total_bytes : ~std::uint64_t{0}, phase, 0});
  }
}

void Workload::check(std::uint32_t endpoints) const {
  const OpArrays& ops = spec_.ops;
  const std::size_t n = ops.kind.size(), ranks = spec_.endpoint_of_rank.size();
  if (ops.rank.size() != n || ops.match.size() != n || ops.amount.size() != n || ops.requires_begin.size() != n + 1 ||
      (!ops.mode.empty() && ops.mode.size() != n) || spec_.job_of_rank.size() != ranks || n >= kHeld)
    throw std::invalid_argument("the arrays of the operations differ in length");
  for (std::uint32_t e : spec_.endpoint_of_rank)
    if (e >= endpoints)
      throw std::invalid_argument("a rank is on endpoint " + std::to_string(e) + ", which does not exist");
  for (std::size_t i = 0; i < n; ++i) {
    if (ops.kind[i] > 2 || ops.rank[i] >= ranks)
      throw std::invalid_argument("operation " + std::to_string(i) + " is out of range");
    const bool send = ops.kind[i] == static_cast<std::uint8_t>(OpKind::kSend);
    if (send && (ops.match[i] >= n || ops.kind[ops.match[i]] != static_cast<std::uint8_t>(OpKind::kReceive)))
      throw std::invalid_argument("send " + std::to_string(i) + " has no receive");
  }
  const FlowArrays& flows = spec_.flows;
  if (flows.dst.size() != flows.src.size() || flows.bytes.size() != flows.src.size())
    throw std::invalid_argument("the arrays of the flows differ in length");
  for (std::size_t f = 0; f < flows.src.size(); ++f)
    if (flows.src[f] >= endpoints || flows.dst[f] >= endpoints || !flows.bytes[f])
      throw std::invalid_argument("flow " + std::to_string(f) + " has no such endpoint or no bytes");
  for (std::uint32_t peer : spec_.peers)
    if (peer >= endpoints) throw std::invalid_argument("a generator's peer does not exist");
}

void Workload::link_successors() {
  const OpArrays& ops = spec_.ops;
  const std::uint32_t n = static_cast<std::uint32_t>(ops.kind.size());
  waits_.assign(n, 0);
  successor_begin_.assign(n + std::size_t{1}, 0);
  for (std::uint32_t r : ops.required) {
    if (r >= n) throw std::invalid_argument("an operation requires one that does not exist");
    ++successor_begin_[r + 1];
  }
  if (ops.requires_begin.empty() || ops.requires_begin.back() != ops.required.size())
    throw std::invalid_argument("requires_begin does not fit required");
  std::partial_sum(successor_begin_.begin(), successor_begin_.end(), successor_begin_.begin());
  successor_.resize(ops.required.size());
  std::vector<std::uint32_t> at(successor_begin_.begin(), successor_begin_.end() - 1);
  for (std::uint32_t op = 0; op < n; ++op) {
    waits_[op] = ops.requires_begin[op + 1] - ops.requires_begin[op];
    for (std::uint32_t k = ops.requires_begin[op]; k < ops.requires_begin[op + 1]; ++k)
      successor_[at[ops.required[k]]++] = op;
  }
  // A circle shows itself as operations that are never released.
  std::vector<std::uint32_t> left = waits_, done;
  for (std::uint32_t op = 0; op < n; ++op)
    if (!left[op]) done.push_back(op);
  for (std::size_t i = 0; i < done.size(); ++i)
    for (std::uint32_t k = successor_begin_[done[i]]; k < successor_begin_[done[i] + 1]; ++k)
      if (!--left[successor_[k]]) done.push_back(successor_[k]);
  if (done.size() != n) throw std::invalid_argument("operations of a rank require one another in a circle");
}

void Workload::start(Host& host) {
  for (std::uint32_t op = 0; op < waits_.size(); ++op)
    if (!waits_[op]) whole_.ready.push_back(op);
  release(whole_, host);
  for (std::uint32_t e = 0; e < flow_end_.size(); ++e) next_flow(whole_, e, host);
}

void Workload::start(Share& share, const std::vector<std::uint8_t>& part_of_endpoint, std::uint32_t part, Host& host) {
  for (std::uint32_t op = 0; op < waits_.size(); ++op)
    if (part_of_endpoint[spec_.endpoint_of_rank[spec_.ops.rank[op]]] == part && !waits_[op]) share.ready.push_back(op);
  release(share, host);
  for (std::uint32_t e = 0; e < flow_end_.size(); ++e)
    if (part_of_endpoint[e] == part) next_flow(share, e, host);
}

void Workload::check_parts(const std::vector<std::uint8_t>& part_of_endpoint) const {
  const OpArrays& ops = spec_.ops;
  const auto part = [&](std::uint32_t op) { return part_of_endpoint[spec_.endpoint_of_rank[ops.rank[op]]]; };
  for (std::uint32_t op = 0; op < waits_.size(); ++op)
    for (std::uint32_t k = ops.requires_begin[op]; k < ops.requires_begin[op + 1]; ++k)
      if (part(op) != part(ops.required[k]))
        throw std::invalid_argument("operation " + std::to_string(op) + " requires one of another rank, " +
                                    std::to_string(ops.required[k]) + "; leave out the threads");
}

void Workload::gather(Share& share) {
  whole_.done += std::exchange(share.done, 0);
  whole_.end = std::max(whole_.end, share.end);
}

// Begins what became ready, in order; a loop instead of recursion, because chains may be long.
void Workload::release(Share& share, Host& host) {
  for (std::size_t next = 0; next < share.ready.size(); ++next) begin(share, share.ready[next], host);
  share.ready.clear();
}

void Workload::begin(Share& share, std::uint32_t op, Host& host) {
  const OpArrays& ops = spec_.ops;
  const std::uint32_t rank = ops.rank[op];
  switch (static_cast<OpKind>(ops.kind[op])) {
    case OpKind::kCompute:
      rank_compute_[rank] += ops.amount[op] * 1000;
      return host.at(detours_.done(rank, host.now(), ops.amount[op] * 1000), op);
    case OpKind::kReceive:
      received_[op] |= 1;
      if (received_[op] == 3) complete(share, op, host);
      return;
    case OpKind::kSend: {
      send_time_[op] = send_start_[op] = host.now();
      const Time when = detours_.done(rank, host.now(), 0);
      return when > host.now() ? host.at(when, op | kHeld) : send(op, host);
    }
  }
}

void Workload::send(std::uint32_t op, Host& host) {
  const OpArrays& ops = spec_.ops;
  const std::uint32_t rank = ops.rank[op], src = spec_.endpoint_of_rank[rank],
                      dst = spec_.endpoint_of_rank[ops.rank[ops.match[op]]];
  if (src == dst || !ops.amount[op]) {  // within a node, or nothing to carry: the rank itself copies
    const Time copy = spec_.local_latency_ns * Time{1000} +
                      static_cast<Time>(spec_.local_ps_per_byte * static_cast<double>(ops.amount[op]));
    return host.at(detours_.done(rank, host.now(), copy), op | kLocal);
  }
  host.post({src, dst, ops.amount[op], op, spec_.job_of_rank[rank], mode_of(op, src, host)});
}

std::uint8_t Workload::mode_of(std::uint32_t op, std::uint32_t endpoint, Host& host) {
  const OpArrays& ops = spec_.ops;
  if (ops.mode.empty()) return spec_.default_mode;
  if (ops.mode[op] < kChooses) return ops.mode[op];
  return chosen_[op] = choosers_.choose(ops.rank[op], endpoint, ops.amount[op], ops.mode[op] == kChoosesAllToAll, host);
}

bool Workload::chooses(const WorkloadSpec& spec) {
  return std::any_of(spec.ops.mode.begin(), spec.ops.mode.end(), [](std::uint8_t mode) { return mode >= kChooses; });
}

void Workload::complete(Share& share, std::uint32_t op, Host& host) {
  const std::uint32_t rank = spec_.ops.rank[op];
  rank_end_[rank] = host.now();
  share.end = host.now();
  ++share.done;
  for (std::uint32_t k = successor_begin_[op]; k < successor_begin_[op + 1]; ++k)
    if (!--waits_[successor_[k]]) share.ready.push_back(successor_[k]);
}

void Workload::arrived(Share& share, std::uint32_t send, Host& host) {
  send_time_[send] = host.now() - send_time_[send];
  const std::uint32_t receive = spec_.ops.match[send];
  received_[receive] |= 2;
  if (received_[receive] == 3) complete(share, receive, host);
}

void Workload::injected(Share& share, std::uint32_t cookie, Time when, Host& host) {
  if (cookie & kFlow) return next_flow(share, cookie & ~kFlow, host);
  if (spec_.ops.amount[cookie] <= spec_.eager_bytes) host.at(when, cookie);
}

void Workload::delivered(Share& share, std::uint32_t cookie, Host& host) {
  if (cookie & kFlow) {
    ++share.done;
    share.end = host.now();
    return;
  }
  arrived(share, cookie, host);
  if (spec_.ops.amount[cookie] > spec_.eager_bytes) complete(share, cookie, host);
  release(share, host);
}

void Workload::received(Share& share, std::uint32_t cookie, Host& host) {
  if (cookie & kFlow) return delivered(share, cookie, host);
  arrived(share, cookie, host);
  release(share, host);
}

void Workload::sent(Share& share, std::uint32_t cookie, Host& host) {
  if (cookie & kFlow || spec_.ops.amount[cookie] <= spec_.eager_bytes) return;
  complete(share, cookie, host);
  release(share, host);
}

void Workload::timer(Share& share, std::uint32_t cookie, Host& host) {
  if (cookie & kHeld) return send(cookie & ~kHeld, host);
  if (cookie & kLocal) arrived(share, cookie & ~kLocal, host);
  complete(share, cookie & ~kLocal, host);
  release(share, host);
}

void Workload::next_flow(Share& share, std::uint32_t endpoint, Host& host) {
  while (flow_next_[endpoint] < flow_end_[endpoint]) {
    const std::uint32_t f = flow_order_[flow_next_[endpoint]++];
    if (spec_.flows.dst[f] == endpoint) {  // does not touch the network
      ++share.done;
      continue;
    }
    return host.post(
        {endpoint, spec_.flows.dst[f], spec_.flows.bytes[f], endpoint | kFlow, spec_.flow_job, spec_.default_mode});
  }
}

bool Workload::generate(std::uint32_t endpoint, std::uint32_t& dst, std::uint32_t& bytes, Time& born, std::uint8_t& job,
                        std::uint8_t& mode) {
  if (generator_of_[endpoint] == kNil) return false;
  Generator& g = generators_[generator_of_[endpoint]];
  if (!g.left || (!g.spec.total_bytes && !unfinished())) return false;
  born = static_cast<Time>(g.next_ps);
  const std::uint32_t* peers = spec_.peers.data() + g.spec.peers_begin;
  do dst = g.spec.burst ? peers[g.turn++ % g.spec.peers_count] : peers[g.random.below(g.spec.peers_count)];
  while (dst == endpoint);
  bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>({g.left, g.spec.message_bytes, std::uint64_t{1} << 31}));
  g.left -= bytes;
  if (!g.spec.burst || g.turn >= g.spec.peers_count) {
    g.next_ps += g.spec.poisson ? -std::log(1.0 - g.random.unit()) * g.spec.interval_ps : g.spec.interval_ps;
    g.turn = 0;
  }
  job = g.spec.job;
  mode = spec_.default_mode;
  return true;
}

}  // namespace flitwatch::sim::packet
