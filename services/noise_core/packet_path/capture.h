// Capture of a receiving host (Taffet 2021, algorithm 6, figure 2.13): reads marks from an interface and sums them by
// context and time slice.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "packet_path/device.h"
#include "packet_path/ip_mark.h"
#include "sampling/receiver.h"

namespace flitwatch::packet_path {

// Outcome of a packet.
enum class Outcome : std::uint8_t {
  kDecoded,
  kUnmarked,
  kNotIpv4,
  kFragment,
  kTruncated,
  kWrongChecksum,
  kNoHops,         // a mark with a hop count of 0
  kUnknownSource,  // a mark from an address that is not in the plan
  kUnknownLink,    // standard variant: a link that packets of that source cannot have passed
  kNotOurs,        // for another host
  kNotHeld,        // decoded, but dropped for lack of room because the sums were not taken for too long
  kCount
};

struct Source {
  std::uint32_t address;  // host order
  std::uint8_t bits;      // of the network
  std::uint32_t set;      // index in `sets`
};

struct CaptureSpec {
  std::string interface, network_namespace;
  Variant variant = Variant::kOneBit;
  std::uint32_t g = sampling::kDefaultG;
  std::vector<std::vector<std::uint32_t>> sets;  // numbers of the links on possible paths of packets of a source
  std::vector<Source> sources;                   // the longest network that contains an address determines its set
  std::vector<std::uint32_t> addresses;          // of this host; none: accept any destination
  std::int64_t slice_ns = 10'000'000'000;
  std::size_t most_held_links = 4'000'000;  // in sums that were not taken yet: about 100 MB
};

// Sums of one slice, context and set of links. Entry i belongs to the set's link i.
struct Taken {
  std::int64_t slice;  // number of the slice since 1970
  std::uint32_t context, set;
  std::uint64_t packets, bytes;
  std::uint32_t longest_path;
  std::vector<double> traffic, traffic_variance, congested, congested_variance;
};

class Capture {
 public:
  explicit Capture(const CaptureSpec& spec);
  ~Capture();

  void run();   // until `stop`
  void stop();  // from any thread
  // Sets the contexts of future packets by destination port of UDP and TCP; `other` is for the rest.
  void set_contexts(std::vector<std::uint32_t> by_port, std::uint32_t other);
  std::vector<Taken> take(std::int64_t before_slice);
  std::array<std::uint64_t, static_cast<std::size_t>(Outcome::kCount)> outcomes();  // since the last call
  std::uint64_t overruns() { return device_.overruns(); }                           // since the start
  void add(std::span<std::uint8_t> frame, std::int64_t epoch_ns);                   // processes one frame like `run`

 private:
  struct Sums {
    std::unique_ptr<sampling::OneBitReceiver> receiver;
    std::vector<sampling::Arrival> batch;
    std::uint64_t packets = 0, bytes = 0;
    std::uint32_t longest_path = 0;
    double squares = 0, congested_squares = 0;
    std::vector<double> traffic, traffic_variance, congested, congested_variance;  // standard variant
  };
  using Key = std::tuple<std::int64_t, std::uint32_t, std::uint32_t>;

  Outcome decode(std::span<std::uint8_t> frame, std::int64_t epoch_ns);
  Sums* sums_of(const Key& key);
  const Source* source_of(std::uint32_t address) const;
  std::uint32_t context_of(const Header& header, std::span<const std::uint8_t> frame) const;
  Taken finish(const Key& key, Sums& sums) const;

  CaptureSpec spec_;
  Device device_;
  std::vector<std::unordered_map<std::uint32_t, std::size_t>> place_;  // index of a link's number in each set
  std::map<Key, Sums> sums_;
  std::size_t held_links_ = 0;
  std::vector<std::uint32_t> by_port_;
  std::uint32_t other_ = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(Outcome::kCount)> outcomes_{};
  int wake_;
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
};

}  // namespace flitwatch::packet_path
