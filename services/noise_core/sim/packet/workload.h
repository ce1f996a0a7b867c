// Activity of the endpoints: DAGs of sends, receives and computations, lists of flows, and open-loop background
// traffic.
#pragma once

#include <vector>

#include "sim/packet/choosers.h"
#include "sim/packet/detours.h"

namespace flitwatch::sim::packet {

enum class OpKind : std::uint8_t { kSend, kReceive, kCompute };

// Operations of all ranks of all jobs. An operation starts when all operations that it requires are complete. A send
// completes when its last byte has left the NIC (up to eager_bytes) or has arrived (above). A receive completes when it
// was started and its message has arrived.
struct OpArrays {
  std::vector<std::uint8_t> kind;
  std::vector<std::uint32_t> rank;
  std::vector<std::uint32_t> match;                     // of a send: the index of its receive, or kNil
  std::vector<std::uint64_t> amount;                    // bytes, or nanoseconds of a computation
  std::vector<std::uint32_t> requires_begin, required;  // CSR: the operations that each operation requires
  std::vector<std::uint8_t> mode;                       // routing mode of a send, or kChooses; empty: `default_mode`
};

struct FlowArrays {                     // a source sends its flows one after another, in this order
  std::vector<std::uint32_t> src, dst;  // endpoints
  std::vector<std::uint64_t> bytes;
};

// Open-loop traffic of one endpoint: messages to random peers (uniform), or to all peers at once (burst), in every
// interval.
struct GeneratorSpec {
  std::uint32_t endpoint = 0;
  std::uint32_t peers_begin = 0, peers_count = 0;  // indices in WorkloadSpec::peers
  std::uint64_t message_bytes = 0;
  std::uint64_t total_bytes = 0;  // 0: until the jobs end
  double interval_ps = 0;         // mean; 0: as fast as the NIC accepts messages
  bool poisson = true, burst = false;
  std::uint8_t job = 0;
};

struct WorkloadSpec {
  OpArrays ops;
  std::vector<std::uint32_t> endpoint_of_rank;
  std::vector<std::uint8_t> job_of_rank;
  FlowArrays flows;
  std::uint8_t flow_job = 0, default_mode = 0;
  std::vector<GeneratorSpec> generators;
  std::vector<std::uint32_t> peers;
  std::uint64_t eager_bytes = 8192;
  double local_ps_per_byte = 100;  // within one endpoint: 10 GB/s
  std::uint32_t local_latency_ns = 500;
  std::uint64_t seed = 1;
  DetourSpec detours;           // of every rank
  RoutingChoiceOptions choice;  // of the ranks whose sends choose their mode
};

class Workload final : public Client {
 public:
  // Progress of one part of a divided run. An undivided run has one part.
  struct Share {
    std::vector<std::uint32_t> ready;
    std::uint64_t done = 0;  // operations and flows
    Time end = 0;            // of the last one
  };

  // Throws std::invalid_argument if arrays differ in length, an index is out of range or the requirements of operations
  // form a cycle.
  Workload(WorkloadSpec spec, std::uint32_t endpoints);
  // Returns whether any send leaves its mode to its rank, which requires the NIC's counters.
  static bool chooses(const WorkloadSpec& spec);

  void start(Host& host) override;
  void injected(std::uint32_t cookie, Time when, Host& host) override { injected(whole_, cookie, when, host); }
  void delivered(std::uint32_t cookie, Host& host) override { delivered(whole_, cookie, host); }
  void received(std::uint32_t cookie, Host& host) override { received(whole_, cookie, host); }
  void sent(std::uint32_t cookie, Host& host) override { sent(whole_, cookie, host); }
  void timer(std::uint32_t cookie, Host& host) override { timer(whole_, cookie, host); }
  bool generate(std::uint32_t endpoint, std::uint32_t& dst, std::uint32_t& bytes, Time& born, std::uint8_t& job,
                std::uint8_t& mode) override;
  void prefetch(std::uint32_t endpoint) const override {
    const std::uint32_t g = generator_of_[endpoint];
    if (g == kNil) return;
    fetch(&generators_[g]);
    fetch(reinterpret_cast<const char*>(&generators_[g]) + 64);
  }
  bool generates() const override { return !generators_.empty(); }

  // The same for a part. Throws std::invalid_argument if operations of two parts require one another.
  void check_parts(const std::vector<std::uint8_t>& part_of_endpoint) const;
  void start(Share& share, const std::vector<std::uint8_t>& part_of_endpoint, std::uint32_t part, Host& host);
  void injected(Share& share, std::uint32_t cookie, Time when, Host& host);
  void delivered(Share& share, std::uint32_t cookie, Host& host);
  void received(Share& share, std::uint32_t cookie, Host& host);
  void sent(Share& share, std::uint32_t cookie, Host& host);
  void timer(Share& share, std::uint32_t cookie, Host& host);
  // Call while all parts wait: adds their progress since the last call and ends background traffic.
  void gather(Share& share);

  std::uint64_t unfinished() const { return unfinished_ - whole_.done; }
  Time end() const { return whole_.end; }  // of the last operation or flow
  const std::vector<Time>& rank_end_ps() const { return rank_end_; }
  const std::vector<Time>& rank_compute_ps() const { return rank_compute_; }
  // Per send: time from its start to its message's arrival, 0 if it did not arrive. Stored for sends only.
  const std::vector<Time>& send_ps() const { return send_time_; }
  const std::vector<Time>& send_start_ps() const { return send_start_; }  // per send, 0 if it did not start
  // Per send with a choice, the mode that it took.
  const std::vector<std::uint8_t>& chosen_modes() const { return chosen_; }

 private:
  static constexpr std::uint32_t kFlow = 1u << 31;   // cookie of a message: a flow of this endpoint
  static constexpr std::uint32_t kLocal = 1u << 31;  // cookie of a timer: a message within one endpoint arrives
  static constexpr std::uint32_t kHeld = 1u << 30;   // cookie of a timer: a send delayed by a detour begins
  struct Generator {
    GeneratorSpec spec;
    Random random;
    std::uint64_t left;
    double next_ps;
    std::uint32_t turn;
  };

  void check(std::uint32_t endpoints) const;
  void link_successors();
  void begin(Share& share, std::uint32_t op, Host& host);
  void send(std::uint32_t op, Host& host);
  std::uint8_t mode_of(std::uint32_t op, std::uint32_t endpoint, Host& host);
  void release(Share& share, Host& host);
  void complete(Share& share, std::uint32_t op, Host& host);
  void arrived(Share& share, std::uint32_t send, Host& host);
  void next_flow(Share& share, std::uint32_t endpoint, Host& host);

  WorkloadSpec spec_;
  std::vector<std::uint32_t> waits_, successor_begin_, successor_;
  std::vector<std::uint8_t> received_;  // of a receive: bit 0 started, bit 1 arrived
  std::vector<Time> rank_end_, rank_compute_, send_time_, send_start_;
  std::vector<std::uint32_t> flow_next_, flow_end_, flow_order_;
  std::vector<std::uint32_t> generator_of_;
  std::vector<Generator> generators_;
  std::vector<std::uint8_t> chosen_;
  Detours detours_;
  Choosers choosers_;
  Share whole_;
  std::uint64_t unfinished_ = 0;  // at the start
  bool has_foreground_ = false;
};

// Interface for an engine that is a part of a divided run.
class WorkloadPart final : public Client {
 public:
  WorkloadPart(Workload& whole, const std::vector<std::uint8_t>& part_of_endpoint, std::uint32_t part)
      : whole_(whole), part_of_endpoint_(part_of_endpoint), part_(part) {}
  void start(Host& host) override { whole_.start(share_, part_of_endpoint_, part_, host); }
  void injected(std::uint32_t cookie, Time when, Host& host) override { whole_.injected(share_, cookie, when, host); }
  void delivered(std::uint32_t cookie, Host& host) override { whole_.delivered(share_, cookie, host); }
  void received(std::uint32_t cookie, Host& host) override { whole_.received(share_, cookie, host); }
  void sent(std::uint32_t cookie, Host& host) override { whole_.sent(share_, cookie, host); }
  void timer(std::uint32_t cookie, Host& host) override { whole_.timer(share_, cookie, host); }
  bool generate(std::uint32_t endpoint, std::uint32_t& dst, std::uint32_t& bytes, Time& born, std::uint8_t& job,
                std::uint8_t& mode) override {
    return whole_.generate(endpoint, dst, bytes, born, job, mode);
  }
  void prefetch(std::uint32_t endpoint) const override { whole_.prefetch(endpoint); }
  bool generates() const override { return whole_.generates(); }
  void gather() { whole_.gather(share_); }

 private:
  Workload& whole_;
  const std::vector<std::uint8_t>& part_of_endpoint_;
  std::uint32_t part_;
  Workload::Share share_;
};

}  // namespace flitwatch::sim::packet
