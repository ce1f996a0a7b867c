#include "packet_path/capture.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace flitwatch::packet_path {

namespace {

constexpr int kBurst = 256;
constexpr std::size_t kBatch = 512, kPorts = 65536;
constexpr std::uint8_t kTcp = 6, kUdp = 17;

std::uint32_t netmask(std::uint8_t bits) { return bits == 0 ? 0 : ~0u << (32 - bits); }

}  // namespace

Capture::Capture(const CaptureSpec& spec)
    : spec_(spec),
      device_(Device::packet_socket(spec.network_namespace, spec.interface)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (spec_.slice_ns < 1) throw std::invalid_argument("a slice of time must be longer than 0");
  for (const Source& source : spec_.sources)
    if (source.set >= spec_.sets.size() || source.bits > 32)
      throw std::invalid_argument("a source has no set of links or no network");
  // The longest network first, so that the first that fits is the one.
  std::stable_sort(spec_.sources.begin(), spec_.sources.end(),
                   [](const Source& a, const Source& b) { return a.bits > b.bits; });
  for (const auto& set : spec_.sets) {
    auto& places = place_.emplace_back();
    for (std::size_t i = 0; i < set.size(); ++i)
      if (!places.emplace(set[i], i).second) throw std::invalid_argument("a set of links contains a link twice");
  }
}

Capture::~Capture() { ::close(wake_); }

void Capture::stop() {
  stopped_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

void Capture::run() {
  pollfd waits[] = {{device_.fd(), POLLIN, 0}, {wake_, POLLIN, 0}};
  Arrived arrived;
  while (!stopped_) {
    if (::poll(waits, 2, 1000) <= 0 || !waits[0].revents) continue;
    int taken = 0;
    {
      const std::lock_guard lock(mutex_);
      for (; taken < kBurst && device_.receive(arrived); ++taken)
        ++outcomes_[static_cast<std::size_t>(decode(arrived.frame, arrived.epoch_ns))];
    }
    if (taken == 0) ::usleep(1000);  // an interface that is down
  }
  // What arrived before the stop still waits in the socket; the time bounds it where packets never cease.
  const std::int64_t stopped_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::lock_guard lock(mutex_);
  while (device_.receive(arrived) && arrived.epoch_ns <= stopped_ns)
    ++outcomes_[static_cast<std::size_t>(decode(arrived.frame, arrived.epoch_ns))];
}

void Capture::add(std::span<std::uint8_t> frame, std::int64_t epoch_ns) {
  const std::lock_guard lock(mutex_);
  ++outcomes_[static_cast<std::size_t>(decode(frame, epoch_ns))];
}

void Capture::set_contexts(std::vector<std::uint32_t> by_port, std::uint32_t other) {
  if (!by_port.empty() && by_port.size() != kPorts)
    throw std::invalid_argument("contexts by port need 65,536 entries, or none");
  const std::lock_guard lock(mutex_);
  by_port_ = std::move(by_port);
  other_ = other;
}

std::array<std::uint64_t, static_cast<std::size_t>(Outcome::kCount)> Capture::outcomes() {
  const std::lock_guard lock(mutex_);
  const auto found = outcomes_;
  outcomes_ = {};
  return found;
}

std::vector<Taken> Capture::take(std::int64_t before_slice) {
  const std::lock_guard lock(mutex_);
  std::vector<Taken> taken;
  while (!sums_.empty() && std::get<0>(sums_.begin()->first) < before_slice) {
    auto& [key, sums] = *sums_.begin();
    taken.push_back(finish(key, sums));
    held_links_ -= spec_.sets[std::get<2>(key)].size();
    sums_.erase(sums_.begin());
  }
  return taken;
}

const Source* Capture::source_of(std::uint32_t address) const {
  for (const Source& source : spec_.sources)
    if ((address & netmask(source.bits)) == (source.address & netmask(source.bits))) return &source;
  return nullptr;
}

std::uint32_t Capture::context_of(const Header& header, std::span<const std::uint8_t> frame) const {
  if (by_port_.empty() || (header.protocol() != kUdp && header.protocol() != kTcp)) return other_;
  const std::uint8_t* const port = header.at + header.bytes() + 2;
  if (port + 2 > frame.data() + frame.size()) return other_;
  return by_port_[static_cast<std::size_t>(port[0] << 8 | port[1])];
}

Capture::Sums* Capture::sums_of(const Key& key) {
  const auto known = sums_.find(key);
  if (known != sums_.end()) return &known->second;
  const auto& set = spec_.sets[std::get<2>(key)];
  if (held_links_ + set.size() > spec_.most_held_links) return nullptr;
  held_links_ += set.size();
  Sums& fresh = sums_[key];
  if (spec_.variant == Variant::kOneBit)
    fresh.receiver = std::make_unique<sampling::OneBitReceiver>(set, spec_.g);
  else
    for (auto* column : {&fresh.traffic, &fresh.traffic_variance, &fresh.congested, &fresh.congested_variance})
      column->assign(set.size(), 0.0);
  return &fresh;
}

Outcome Capture::decode(std::span<std::uint8_t> frame, std::int64_t epoch_ns) {
  const Header header = find_header(frame);
  if (header.kind == Kind::kTruncated) return Outcome::kTruncated;
  if (header.at == nullptr) return Outcome::kNotIpv4;
  if (!spec_.addresses.empty() &&
      std::find(spec_.addresses.begin(), spec_.addresses.end(), header.destination()) == spec_.addresses.end())
    return Outcome::kNotOurs;
  if (header.kind == Kind::kFragment) return Outcome::kFragment;
  if (header.kind != Kind::kAtomic || !header.marked()) return Outcome::kUnmarked;
  if (!header.checksum_right()) return Outcome::kWrongChecksum;
  if (header.hops() == 0) return Outcome::kNoHops;
  const Source* const source = source_of(header.source());
  if (source == nullptr) return Outcome::kUnknownSource;
  const auto& places = place_[source->set];
  const auto place = places.find(header.id());
  if (spec_.variant == Variant::kStandard && place == places.end()) return Outcome::kUnknownLink;
  Sums* const sums = sums_of({epoch_ns / spec_.slice_ns, context_of(header, frame), source->set});
  if (sums == nullptr) return Outcome::kNotHeld;
  const double hops = header.hops();
  ++sums->packets;
  sums->bytes += frame.size();
  sums->longest_path = std::max<std::uint32_t>(sums->longest_path, header.hops());
  if (spec_.variant == Variant::kStandard) {
    sums->traffic[place->second] += hops;
    sums->traffic_variance[place->second] +=
        hops * (hops - 1);  // of N (l - 1), section 2.3.2: each link is sampled once in l packets
    if (header.congested()) {
      sums->congested[place->second] += hops;
      sums->congested_variance[place->second] += hops * (hops - 1);
    }
    return Outcome::kDecoded;
  }
  sums->squares += hops * hops;
  if (header.congested()) sums->congested_squares += hops * hops;
  sums->batch.push_back({header.id(), header.hops(), header.hash_bit(), header.congested()});
  if (sums->batch.size() == kBatch) {
    sums->receiver->add(sums->batch);
    sums->batch.clear();
  }
  return Outcome::kDecoded;
}

Taken Capture::finish(const Key& key, Sums& sums) const {
  Taken taken{std::get<0>(key),
              std::get<1>(key),
              std::get<2>(key),
              sums.packets,
              sums.bytes,
              sums.longest_path,
              std::move(sums.traffic),
              std::move(sums.traffic_variance),
              std::move(sums.congested),
              std::move(sums.congested_variance)};
  if (spec_.variant == Variant::kStandard) return taken;
  sums.receiver->add(sums.batch);
  const auto traffic = sums.receiver->traffic(), congested = sums.receiver->congested();
  taken.traffic.assign(traffic.begin(), traffic.end());
  taken.congested.assign(congested.begin(), congested.end());
  // Q l^2 - N for each length of path (section 2.5.1), N as estimated.
  for (const auto value : traffic)
    taken.traffic_variance.push_back(std::max(0.0, sums.squares - static_cast<double>(value)));
  for (const auto value : congested)
    taken.congested_variance.push_back(std::max(0.0, sums.congested_squares - static_cast<double>(value)));
  return taken;
}

}  // namespace flitwatch::packet_path
