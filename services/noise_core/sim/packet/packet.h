// The records of the engines: packets, messages and results of a run.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "sim/packet/types.h"

namespace flitwatch::sim::packet {

enum class Phase : std::uint8_t { kToFirst, kToSecond, kToDestination, kAtSource, kAtEndpoint };
enum class PacketKind : std::uint8_t { kData, kRequest, kResponse };

// One cache line.
struct alignas(64) Packet {
  std::uint32_t dst, msg;    // endpoint; message or kNil
  std::uint32_t in_channel;  // upstream channel that receives the credit when the packet leaves its buffer
  std::uint32_t next;        // waiting queue or free list; in flight: the routing policy's prepared step at cur
  Time arrived, born;        // at the current router; when the NIC sent it (open loop: when it was generated)
  std::uint32_t cur;         // its current or next router
  std::uint32_t src;
  std::uint16_t wire_bytes, payload_bytes, flits;
  std::uint8_t hops;  // routers visited, including the current one
  Phase phase;
  PacketKind kind;
  std::uint8_t in_class, option,
      job;                    // timing class of the link it arrived by; free choice (bit 0: row or column first)
  std::uint16_t way1, way2;   // waypoints, with the numbers of the routing policy
  std::uint8_t port1, port2;  // ports to take there; 255: none
  std::uint8_t mode;          // routing mode of the packet
  std::uint8_t marked;        // the sampled link was congested
  union {
    std::uint32_t sample_link;  // reservoir of one link (port id)
    std::uint32_t part;         // in a divided run, which has no samples: the part of in_channel
  };
};
static_assert(sizeof(Packet) == 64);

struct Message {
  std::uint64_t bytes, to_send, to_deliver, packet_hops;
  Time posted, last;
  std::uint32_t src, dst, next, cookie;
  std::uint8_t job, mode;
};

// Counts of a log-linear histogram: 32 bins per octave, so a percentile is accurate to 3 %.
class LatencyHistogram {
 public:
  void add(Time ps) {
    ++bins_[bin(ps)];
    ++count_;
    sum_ += static_cast<double>(ps);
    max_ = ps > max_ ? ps : max_;
  }
  void add(const LatencyHistogram& other) {
    for (std::size_t b = 0; b < bins_.size(); ++b) bins_[b] += other.bins_[b];
    count_ += other.count_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
  }
  std::uint64_t count() const { return count_; }
  double mean_ns() const { return count_ ? sum_ / static_cast<double>(count_) / 1000 : 0; }
  double max_ns() const { return static_cast<double>(max_) / 1000; }
  double percentile_ns(double share) const {
    const double wanted = share * static_cast<double>(count_);
    double seen = 0;
    for (std::size_t b = 0; b < bins_.size(); ++b) {
      if (!bins_[b]) continue;
      const double next = seen + static_cast<double>(bins_[b]);
      if (next >= wanted) {
        const double within = (wanted - seen) / static_cast<double>(bins_[b]);
        const double ps = static_cast<double>(lower(b)) + within * static_cast<double>(lower(b + 1) - lower(b));
        return std::min(ps / 1000, max_ns());
      }
      seen = next;
    }
    return max_ns();
  }

 private:
  static std::size_t bin(Time ps) {
    if (ps < 32) return ps;
    const int octave = 63 - std::countl_zero(ps);
    return static_cast<std::size_t>(octave - 4) * 32 + ((ps >> (octave - 5)) & 31);
  }
  static Time lower(std::size_t bin) {
    if (bin < 32) return bin;
    return (Time{32} + bin % 32) << (bin / 32 - 1);
  }
  std::array<std::uint64_t, 60 * 32> bins_{};
  std::uint64_t count_ = 0;
  double sum_ = 0;
  Time max_ = 0;
};

struct JobStatistics {
  std::uint64_t bytes = 0, packets = 0, hops = 0;
  double latency_ps = 0;
  Time end = 0;
};

inline void add(JobStatistics& sum, const JobStatistics& one) {
  sum.bytes += one.bytes;
  sum.packets += one.packets;
  sum.hops += one.hops;
  sum.latency_ps += one.latency_ps;
  sum.end = std::max(sum.end, one.end);
}

struct ClassStatistics {
  std::uint64_t bytes = 0;
  LatencyHistogram latency;
};

struct RunStatistics {
  std::uint64_t sent_bytes = 0, delivered_bytes = 0, packets = 0, packet_hops = 0, events = 0, wakes = 0, queued = 0;
  std::uint64_t minimal = 0, non_minimal = 0, peak_packets = 0;
  Time end = 0;                                      // last byte of the jobs (background left out)
  LatencyHistogram latency;                          // of all packets with payload
  std::array<std::uint64_t, 256> packets_of_hops{};  // the same packets by the number of routers that they passed
  std::vector<JobStatistics> jobs;
  std::vector<ClassStatistics> classes;  // none without traffic classes
  double other_cpu_s = 0;                // of the threads other than the caller's
  bool conserved = false;
  std::vector<std::string> violations;

  // Adds the counts of another part of the same run; peaks and accounts are the whole run's.
  void add(const RunStatistics& part) {
    sent_bytes += part.sent_bytes;
    delivered_bytes += part.delivered_bytes;
    packets += part.packets;
    packet_hops += part.packet_hops;
    events += part.events;
    wakes += part.wakes;
    queued += part.queued;
    minimal += part.minimal;
    non_minimal += part.non_minimal;
    latency.add(part.latency);
    for (std::size_t hops = 0; hops < packets_of_hops.size(); ++hops)
      packets_of_hops[hops] += part.packets_of_hops[hops];
    for (std::size_t job = 0; job < jobs.size(); ++job) packet::add(jobs[job], part.jobs[job]);
  }
  // Checks that every byte sent arrived once, every credit returned, and no packet waits.
  void settle(std::uint64_t live_packets, std::uint64_t credit_faults) {
    if (live_packets)
      violations.push_back(std::to_string(live_packets) + " packets never arrived (a deadlock or a lost wake-up)");
    if (sent_bytes != delivered_bytes)
      violations.push_back(std::to_string(sent_bytes) + " bytes were sent and " + std::to_string(delivered_bytes) +
                           " arrived");
    if (credit_faults) violations.push_back(std::to_string(credit_faults) + " channels miss credit or hold a packet");
    conserved = violations.empty();
  }
};

}  // namespace flitwatch::sim::packet
