// Between a workload and an engine.
#pragma once

#include "sim/packet/fabric_state.h"

namespace flitwatch::sim::packet {

struct Post {
  std::uint32_t src, dst;
  std::uint64_t bytes;
  std::uint32_t cookie;  // handed back; the client's
  std::uint8_t job;
  std::uint8_t mode;  // routing mode, as the routing policy numbers it
};

// What a workload may ask of an engine.
class Host {
 public:
  virtual ~Host() = default;
  virtual Time now() const = 0;
  virtual void post(const Post& message) = 0;                        // appends to the queue of the source's NIC
  virtual void at(Time time, std::uint32_t cookie) = 0;              // calls Client::timer then
  virtual const NicCounters& nic(std::uint32_t endpoint) const = 0;  // needs the NIC protocol
};

// What an engine tells a workload, always at the time it happens.
class Client {
 public:
  virtual ~Client() = default;
  virtual void start(Host& host) = 0;
  virtual void injected(std::uint32_t cookie, Time when,
                        Host& host) = 0;                         // the last byte leaves the NIC at `when`, now or later
  virtual void delivered(std::uint32_t cookie, Host& host) = 0;  // the last byte has arrived
  // In a divided run the two ends of a message learn of it on their own: its receiver when its last byte has arrived,
  // its sender then or with the next window.
  virtual void received(std::uint32_t cookie, Host& host) = 0;
  virtual void sent(std::uint32_t cookie, Host& host) = 0;
  virtual void timer(std::uint32_t cookie, Host& host) = 0;
  // The NIC of `endpoint` has room for traffic generated at or before `when` or later; false: nothing now.
  virtual bool generate(std::uint32_t endpoint, std::uint32_t& dst, std::uint32_t& bytes, Time& born, std::uint8_t& job,
                        std::uint8_t& mode) = 0;
  virtual void prefetch(std::uint32_t endpoint) const = 0;  // generate() will soon be asked for this endpoint
  virtual bool generates() const = 0;                       // whether generate() may ever return true
};

}  // namespace flitwatch::sim::packet
