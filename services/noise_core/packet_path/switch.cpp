#include "packet_path/switch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace flitwatch::packet_path {

namespace {

constexpr int kBurst = 64;
constexpr std::int64_t kSecond_ns = 1'000'000'000, kNever = std::numeric_limits<std::int64_t>::max();

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * kSecond_ns + now.tv_nsec;
}

}  // namespace

Switch::Switch(std::vector<PortSpec> ports, std::map<Address, std::size_t> table, Variant variant, std::uint32_t g,
               std::uint64_t seed)
    : table_(std::move(table)), variant_(variant), state_(seed), wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  for (const auto& [address, port] : table_)
    if (port >= ports.size())
      throw std::invalid_argument("the table names port " + std::to_string(port) + " of " +
                                  std::to_string(ports.size()));
  for (const PortSpec& spec : ports)
    ports_.push_back(std::make_unique<Port>(spec,
                                            spec.tap ? Device::tap(spec.network_namespace, spec.interface)
                                                     : Device::packet_socket(spec.network_namespace, spec.interface),
                                            sampling::mask_of(spec.link, g ? g : sampling::kDefaultG)));
}

Switch::~Switch() { ::close(wake_); }

void Switch::stop() {
  stopped_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

std::vector<PortCounts> Switch::counts() {
  const std::lock_guard lock(mutex_);
  std::vector<PortCounts> all;
  for (auto& port : ports_) {
    port->counts.overruns = port->device.overruns();
    all.push_back(port->counts);
  }
  return all;
}

void Switch::run() {
  std::vector<pollfd> waits;
  for (const auto& port : ports_) waits.push_back({port->device.fd(), POLLIN, 0});
  waits.push_back({wake_, POLLIN, 0});
  while (!stopped_) {
    std::int64_t next;
    {
      const std::lock_guard lock(mutex_);
      const std::int64_t now = clock_ns(CLOCK_MONOTONIC);
      next = take_due(now);
      next = std::min(next, send_due(now));
    }
    const std::int64_t pause =
        std::clamp<std::int64_t>(next == kNever ? kSecond_ns : next - clock_ns(CLOCK_MONOTONIC), 0, kSecond_ns);
    const timespec limit{pause / kSecond_ns, pause % kSecond_ns};
    if (::ppoll(waits.data(), waits.size(), &limit, nullptr) <= 0) continue;
    const std::lock_guard lock(mutex_);
    for (std::size_t p = 0; p < ports_.size(); ++p)
      if (waits[p].revents) read(*ports_[p]);
  }
}

// Frames are in as of when the kernel took them, so that no queue forms while this switch is not run; and no faster
// than the cable carries them, so that none forms where the sender was late and made up for it. What a real link would
// not have done, the queues do not see.
void Switch::read(Port& port) {
  const std::int64_t now = clock_ns(CLOCK_MONOTONIC), epoch = clock_ns(CLOCK_REALTIME);
  Arrived arrived;
  int taken = 0;
  for (; taken < kBurst && port.device.receive(arrived); ++taken) {
    const std::int64_t ago = std::clamp<std::int64_t>(epoch - arrived.epoch_ns, 0, kSecond_ns);
    const std::int64_t on_wire = port.spec.tap ? 0 : port.egress.on_wire_ns(arrived.frame.size());
    port.last_in = std::min(std::max(now - ago, port.last_in + on_wire), now + kSecond_ns);
    if (arrived.unfinished_checksum) ++port.counts.unfinished_checksums;
    port.coming.push_back({port.last_in, {arrived.frame.begin(), arrived.frame.end()}});
  }
  if (taken == 0) ::usleep(1000);  // an interface that is down: its error is read, and comes again
}

// In the order of their times over all ports; returns when the next one is in.
std::int64_t Switch::take_due(std::int64_t now) {
  for (;;) {
    std::size_t first = ports_.size();
    std::int64_t at = kNever;
    for (std::size_t p = 0; p < ports_.size(); ++p)
      if (!ports_[p]->coming.empty() && ports_[p]->coming.front().at < at) {
        first = p;
        at = ports_[p]->coming.front().at;
      }
    if (at > now) return at;
    auto frame = std::move(ports_[first]->coming.front().frame);
    ports_[first]->coming.pop_front();
    take(first, std::move(frame), at);
  }
}

std::int64_t Switch::send_due(std::int64_t now) {
  std::int64_t next = kNever;
  for (auto& port : ports_) {
    auto& frames = port->egress.frames;
    for (; !frames.empty() && frames.front().departs <= now; frames.pop_front()) {
      if (port->device.send(frames.front().bytes)) {
        ++port->counts.sent;
        port->counts.sent_bytes += frames.front().bytes.size();
      } else {
        ++port->counts.dropped;
      }
    }
    if (!frames.empty()) next = std::min(next, frames.front().departs);
  }
  return next;
}

void Switch::take(std::size_t in, std::vector<std::uint8_t> frame, std::int64_t at) {
  Port& from = *ports_[in];
  ++from.counts.received;
  if (frame.size() < 14) {
    ++from.counts.broken;
    return;
  }
  switch (find_header(frame).kind) {
    case Kind::kNotIp:
      ++from.counts.not_ip;
      break;
    case Kind::kIpv6:
      ++from.counts.ipv6;
      break;
    case Kind::kFragment:
      ++from.counts.fragments;
      break;
    case Kind::kFragmentable:
      ++from.counts.fragmentable;
      break;
    case Kind::kTruncated:
      ++from.counts.broken;
      break;
    case Kind::kAtomic:
      break;
  }
  Address to;
  std::copy_n(frame.begin(), to.size(), to.begin());
  if (const auto known = table_.find(to); known != table_.end()) {
    if (known->second != in) put(from, *ports_[known->second], std::move(frame), at);
    return;
  }
  bool anywhere = false;
  for (std::size_t p = 0; p < ports_.size(); ++p) {
    if (p == in || !ports_[p]->spec.flood) continue;
    put(from, *ports_[p], frame, at);
    anywhere = true;
  }
  if (!anywhere) ++from.counts.nowhere;
}

void Switch::put(Port& from, Port& to, std::vector<std::uint8_t> frame, std::int64_t at) {
  const bool congested = to.egress.congested(at);
  const auto departs = to.egress.admit(at, frame.size());
  if (!departs) {
    ++to.counts.dropped;
    return;
  }
  if (mark(from, to, frame, congested)) {
    ++to.counts.marked;
    to.counts.congested += congested;
  }
  to.egress.frames.push_back({*departs, std::move(frame)});
}

// Whether the packet leaves with a mark.
bool Switch::mark(Port& from, Port& to, std::span<std::uint8_t> frame, bool congested) {
  const Header header = find_header(frame);
  if (header.at == nullptr || header.kind == Kind::kFragment) return false;
  const Hop hop{to.spec.link, to.mask, congested};
  const std::uint64_t draw = random();
  if (from.spec.origin) {
    const std::uint32_t one_of = from.spec.downsampling;
    const bool chosen =
        header.kind == Kind::kAtomic && to.spec.link != 0 && one_of != 0 && (draw >> 32) * one_of >> 32 == 0;
    if (!chosen) {
      unmark(header);
      return false;
    }
    begin(header, variant_, static_cast<std::uint16_t>(draw), hop);
    ++to.counts.begun;
    ++to.counts.sampled;
    return true;
  }
  if (!header.marked() || header.kind != Kind::kAtomic || header.hops() == 0 || to.spec.link == 0) return false;
  to.counts.sampled += forward(header, variant_, static_cast<std::uint32_t>(draw >> 32), hop);
  return true;
}

std::uint64_t Switch::random() {  // splitmix64 (Steele et al. 2014)
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

}  // namespace flitwatch::packet_path
