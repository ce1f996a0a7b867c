// Traffic classes: the class that a link serves next, and a routing policy with virtual channels per class.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/packet/network.h"
#include "sim/packet/packet.h"

namespace flitwatch::sim::packet {

// Shares of every link. `minimum` is guaranteed, `maximum` is never exceeded by more than a packet, and higher
// priorities are served first.
struct TrafficClass {
  double minimum = 0, maximum = 1;
  std::uint32_t priority = 0;
};

struct ClassOptions {
  std::vector<TrafficClass> classes;  // none: no traffic classes
  std::vector<std::uint8_t> of_job;   // class of each job
  std::uint32_t count() const { return classes.empty() ? 1 : static_cast<std::uint32_t>(classes.size()); }
};
inline constexpr std::uint32_t kMaxClasses = 16;

// The ends of all links. An idle link chooses among the classes that can send: one that is behind its minimum if a
// higher priority would use the whole link, else the highest priority, and within it start-time fair queueing (Goyal
// 1996) by the minima. A class without a minimum gets the capacity that the others leave.
class ClassArbiter {
 public:
  ClassArbiter(const std::vector<TrafficClass>& classes, std::uint32_t ports)
      : classes_(classes), ports_(ports), shares_(std::size_t{ports} * classes.size()) {}

  std::uint32_t count() const { return static_cast<std::uint32_t>(classes_.size()); }

  struct Share {                // of one class at one link
    Time queued = 0;            // serialisation time of the packets that wait for the link
    Time allowed = 0;           // when its maximum permits the next packet
    Time due = 0;               // when its minimum requires the next packet
    double tag = 0;             // virtual time at which its next packet starts
    std::uint16_t waiting = 0;  // virtual channels with a packet, one bit each
    bool ready = false;         // could also send at the last choice
  };
  Share& share(PortId port, std::uint32_t k) { return shares_[std::size_t{port} * classes_.size() + k]; }
  const Share& share(PortId port, std::uint32_t k) const { return shares_[std::size_t{port} * classes_.size() + k]; }

  // Returns whether a wake-up at `time` must be scheduled for the port, because no earlier one is pending.
  bool orders(PortId port, Time time) {
    if (time >= ports_[port].wake) return false;
    ports_[port].wake = time;
    return true;
  }
  void woke(PortId port, Time now) {
    if (ports_[port].wake <= now) ports_[port].wake = kNever;
  }

  // Returns the class that sends at `now` on an idle link, and counts its packet. `bytes`: of the packet that each
  // class can send now; 0: none. kNil if no class can send.
  std::uint32_t choose(PortId port, const std::uint32_t* bytes, Time now, const LinkTiming& link) {
    Port& at = ports_[port];
    std::uint32_t best = kNil, lowest = kNil, highest = 0;
    for (std::uint32_t k = 0; k < count(); ++k) {
      Share& s = share(port, k);
      if (!bytes[k]) {
        s.ready = false;
        continue;
      }
      if (!s.ready) {  // a share unused for lack of packets is lost
        s.ready = true;
        s.tag = std::max(s.tag, at.virtual_time);
        s.due = std::max(s.due, now);
      }
      lowest = std::min(lowest, classes_[k].priority);
      highest = std::max(highest, classes_[k].priority);
      if (best == kNil || before(port, k, best)) best = k;
    }
    if (best == kNil) return kNil;
    if (lowest != highest) best = owed(port, bytes, now, link, best);
    Share& s = share(port, best);
    at.virtual_time = s.tag;
    s.tag += bytes[best] / (classes_[best].minimum > 0 ? classes_[best].minimum : 1.0);
    if (classes_[best].maximum < 1) {
      const Time turn = at_share(link, bytes[best], classes_[best].maximum);
      s.allowed =
          std::max(s.allowed, now > turn ? now - turn : 0) + turn;  // up to one packet of delay can be made up for
    }
    return best;
  }

 private:
  struct Port {
    double virtual_time = 0;  // bytes over minimum: start of the packet sent last
    Time wake = kNever;
  };

  static Time at_share(const LinkTiming& link, std::uint32_t bytes, double share) {
    return static_cast<Time>(static_cast<double>(link.serialise(bytes)) / share);
  }
  bool before(PortId port, std::uint32_t a, std::uint32_t b) const {
    const TrafficClass &one = classes_[a], &other = classes_[b];
    if (one.priority != other.priority) return one.priority > other.priority;
    if ((one.minimum > 0) != (other.minimum > 0)) return one.minimum > 0;
    return share(port, a).tag < share(port, b).tag;
  }
  // Returns, of the classes behind their minimum, the one with the earliest deadline; else `best`. Capacity that a
  // class gets beyond its minimum does not count against it.
  std::uint32_t owed(PortId port, const std::uint32_t* bytes, Time now, const LinkTiming& link, std::uint32_t best) {
    std::uint32_t first = kNil;
    Time deadline = kNever;
    for (std::uint32_t k = 0; k < count(); ++k) {
      const Share& s = share(port, k);
      if (!bytes[k] || classes_[k].minimum <= 0 || s.due > now) continue;
      const Time by = s.due + at_share(link, bytes[k], classes_[k].minimum);
      if (by < deadline) {
        first = k;
        deadline = by;
      }
    }
    if (first == kNil) return best;
    share(port, first).due = deadline;
    return first;
  }

  std::vector<TrafficClass> classes_;
  std::vector<Port> ports_;
  std::vector<Share> shares_;
};

// Routing policy with separate channels for each class: number = VC x classes + class, so the channels of the first
// hops come first. Its choices use the loads and credits of the packet's own class.
template <class Routing>
class ByClass {
 public:
  static constexpr bool kReadsCredit = true;
  ByClass(const Routing& routing, const ClassOptions& options)
      : routing_(routing), of_job_(options.of_job), classes_(options.count()) {}

  std::uint32_t vcs() const { return routing_.vcs() * classes_; }
  std::uint32_t vc(const Packet& p) const { return routing_.vc(p) * classes_ + class_of(p.job); }
  std::uint32_t vc_ahead(const Packet& p) const { return routing_.vc_ahead(p) * classes_ + class_of(p.job); }
  std::uint32_t classes() const { return classes_; }
  std::uint32_t class_of(std::uint8_t job) const { return of_job_[job]; }

  template <class View>
  void start(Packet& p, View& view) const {
    Own<View> own = of(p, view);
    routing_.start(p, own);
  }
  template <class View>
  void prefetch(const Packet& p, View& view) const {
    Own<View> own = of(p, view);
    routing_.prefetch(p, own);
  }
  template <class View>
  void prefetch_loads(const Packet& p, View& view) const {
    Own<View> own = of(p, view);
    routing_.prefetch_loads(p, own);
  }
  template <class View>
  PortId port_ahead(const Packet& p, View& view) const {
    Own<View> own = of(p, view);
    return routing_.port_ahead(p, own);
  }
  template <class View>
  PortId route(Packet& p, std::uint32_t ahead, View& view) const {
    Own<View> own = of(p, view);
    return routing_.route(p, ahead, own);
  }
  std::uint32_t look_ahead(Packet& p) const { return routing_.look_ahead(p); }

 private:
  template <class View>
  struct Own {  // view of a packet of one class
    View& view;
    std::uint32_t classes, k;
    Time now() const { return view.now(); }
    Time load(PortId port) const { return loads()[port]; }
    const Time* loads() const { return view.loads_of(k); }
    std::uint64_t random() { return view.random(); }
    void count(bool minimal) { view.count(minimal); }
    void uncount_minimal() { view.uncount_minimal(); }
    Time congestion(PortId port, std::uint32_t vc) const { return view.congestion(port, vc * classes + k); }
    void prefetch_congestion(PortId port, std::uint32_t vc) const { view.prefetch_congestion(port, vc * classes + k); }
  };
  template <class View>
  Own<View> of(const Packet& p, View& view) const {
    return {view, classes_, class_of(p.job)};
  }

  const Routing& routing_;
  std::vector<std::uint8_t> of_job_;
  std::uint32_t classes_;
};

template <class Routing>
inline constexpr bool kByClass = false;
template <class Routing>
inline constexpr bool kByClass<ByClass<Routing>> = true;

}  // namespace flitwatch::sim::packet
