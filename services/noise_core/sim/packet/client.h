// Interface between a workload and an engine.
#pragma once

#include "sim/packet/fabric_state.h"

namespace flitwatch::sim::packet {

struct Post {
  std::uint32_t src, dst;
  std::uint64_t bytes;
  std::uint32_t cookie;  // opaque value of the client, passed back
  std::uint8_t job;
  std::uint8_t mode;  // routing mode, with the numbers of the routing policy
};

// Calls from a workload to an engine.
class Host {
 public:
  virtual ~Host() = default;
  virtual Time now() const = 0;
  virtual void post(const Post& message) = 0;                        // appends to the queue of the source's NIC
  virtual void at(Time time, std::uint32_t cookie) = 0;              // calls Client::timer then
  virtual const NicCounters& nic(std::uint32_t endpoint) const = 0;  // needs the NIC protocol
};

// Calls from an engine to a workload, always at the time of the event.
class Client {
 public:
  virtual ~Client() = default;
  virtual void start(Host& host) = 0;
  virtual void injected(std::uint32_t cookie, Time when,
                        Host& host) = 0;                         // the last byte leaves the NIC at `when`, now or later
  virtual void delivered(std::uint32_t cookie, Host& host) = 0;  // the last byte has arrived
  // In a divided run, the two ends of a message are notified separately: its receiver when its last byte has arrived,
  // its sender then or at the next window.
  virtual void received(std::uint32_t cookie, Host& host) = 0;
  virtual void sent(std::uint32_t cookie, Host& host) = 0;
  virtual void timer(std::uint32_t cookie, Host& host) = 0;
  // The NIC of `endpoint` has room for traffic generated at or before `when` or later. Returns false if there is none
  // now.
  virtual bool generate(std::uint32_t endpoint, std::uint32_t& dst, std::uint32_t& bytes, Time& born, std::uint8_t& job,
                        std::uint8_t& mode) = 0;
  virtual void prefetch(std::uint32_t endpoint) const = 0;  // generate() will soon be called for this endpoint
  virtual bool generates() const = 0;                       // whether generate() can ever return true
};

}  // namespace flitwatch::sim::packet
