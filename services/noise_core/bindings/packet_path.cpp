// Python bindings of the packet path. The readable interface is flitwatch_core/packet_path.py.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>

#include "packet_path/capture.h"
#include "packet_path/ip_mark.h"
#include "packet_path/switch.h"

namespace nb = nanobind;
using namespace nb::literals;
namespace path = flitwatch::packet_path;

namespace {

std::vector<std::uint8_t> frame_of(const nb::bytes& frame) {
  const auto* data = static_cast<const std::uint8_t*>(frame.data());
  return {data, data + frame.size()};
}

nb::bytes bytes_of(const std::vector<std::uint8_t>& frame) { return nb::bytes(frame.data(), frame.size()); }

path::Header atomic(std::vector<std::uint8_t>& frame) {
  const path::Header header = path::find_header(frame);
  if (header.kind != path::Kind::kAtomic) throw std::invalid_argument("only an atomic IPv4 datagram carries a mark");
  return header;
}

path::Hop hop_of(std::uint16_t link, bool congested, std::uint32_t g) {
  return {link, flitwatch::sampling::mask_of(link, g), congested};
}

nb::dict counts_of(const path::PortCounts& c) {
  nb::dict out;
  const auto put = [&](const char* name, std::uint64_t value) { out[name] = value; };
  put("received", c.received), put("sent", c.sent), put("sent_bytes", c.sent_bytes), put("dropped", c.dropped),
      put("begun", c.begun);
  put("marked", c.marked), put("sampled", c.sampled), put("congested", c.congested), put("not_ip", c.not_ip),
      put("ipv6", c.ipv6);
  put("fragments", c.fragments), put("fragmentable", c.fragmentable), put("broken", c.broken);
  put("unfinished_checksums", c.unfinished_checksums), put("overruns", c.overruns), put("nowhere", c.nowhere);
  return out;
}

nb::object numpy(std::vector<double>&& values) {
  auto* owned = new std::vector<double>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

nb::dict taken_of(path::Taken&& taken) {
  nb::dict out;
  out["slice"] = taken.slice;
  out["context"] = taken.context;
  out["set"] = taken.set;
  out["packets"] = taken.packets;
  out["bytes"] = taken.bytes;
  out["longest_path"] = taken.longest_path;
  out["traffic"] = numpy(std::move(taken.traffic));
  out["traffic_variance"] = numpy(std::move(taken.traffic_variance));
  out["congested"] = numpy(std::move(taken.congested));
  out["congested_variance"] = numpy(std::move(taken.congested_variance));
  return out;
}

constexpr const char* kOutcomes[] = {"decoded",      "unmarked",       "not_ipv4", "fragment",
                                     "truncated",    "wrong_checksum", "no_hops",  "unknown_source",
                                     "unknown_link", "not_ours",       "not_held"};
static_assert(std::size(kOutcomes) == static_cast<std::size_t>(path::Outcome::kCount));

void bind_capture(nb::module_& m) {
  nb::class_<path::CaptureSpec>(m, "CaptureSpec")
      .def(nb::init<>())
      .def_rw("interface", &path::CaptureSpec::interface)
      .def_rw("network_namespace", &path::CaptureSpec::network_namespace)
      .def_rw("variant", &path::CaptureSpec::variant)
      .def_rw("g", &path::CaptureSpec::g)
      .def_rw("sets", &path::CaptureSpec::sets)
      .def_rw("addresses", &path::CaptureSpec::addresses)
      .def_rw("slice_ns", &path::CaptureSpec::slice_ns)
      .def_rw("most_held_links", &path::CaptureSpec::most_held_links)
      .def(
          "add_source",
          [](path::CaptureSpec& self, std::uint32_t address, std::uint8_t bits, std::uint32_t set) {
            self.sources.push_back({address, bits, set});
          },
          "address"_a, "bits"_a, "set"_a);
  nb::class_<path::Capture>(m, "Capture")
      .def(nb::init<const path::CaptureSpec&>(), "spec"_a)
      .def("run", &path::Capture::run, nb::call_guard<nb::gil_scoped_release>())
      .def("stop", &path::Capture::stop)
      .def(
          "set_contexts",
          [](path::Capture& self, nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> by_port,
             std::uint32_t other) {
            std::vector<std::uint32_t> table(by_port.data(), by_port.data() + by_port.size());
            nb::gil_scoped_release released;
            self.set_contexts(std::move(table), other);
          },
          "by_port"_a, "other"_a)
      .def(
          "take",
          [](path::Capture& self, std::int64_t before_slice) {
            std::vector<path::Taken> found;
            {
              nb::gil_scoped_release released;
              found = self.take(before_slice);
            }
            nb::list all;
            for (auto& one : found) all.append(taken_of(std::move(one)));
            return all;
          },
          "before_slice"_a)
      .def("outcomes",
           [](path::Capture& self) {
             const auto counts = [&] {
               nb::gil_scoped_release released;
               return self.outcomes();
             }();
             nb::dict out;
             for (std::size_t i = 0; i < counts.size(); ++i) out[kOutcomes[i]] = counts[i];
             return out;
           })
      .def("overruns", &path::Capture::overruns)
      .def(
          "add",
          [](path::Capture& self, const nb::bytes& frame, std::int64_t epoch_ns) {
            auto held = frame_of(frame);
            self.add(held, epoch_ns);
          },
          "frame"_a, "epoch_ns"_a);
}

}  // namespace

NB_MODULE(_packet_path, m) {
  m.doc() = "Marks in real IP headers and the software switch that writes them.";
  m.attr("MOST_HOPS") = path::kMostHops;
  nb::enum_<path::Variant>(m, "Variant")
      .value("ONE_BIT", path::Variant::kOneBit)
      .value("STANDARD", path::Variant::kStandard);
  nb::enum_<path::Kind>(m, "Kind")
      .value("ATOMIC", path::Kind::kAtomic)
      .value("FRAGMENT", path::Kind::kFragment)
      .value("FRAGMENTABLE", path::Kind::kFragmentable)
      .value("IPV6", path::Kind::kIpv6)
      .value("NOT_IP", path::Kind::kNotIp)
      .value("TRUNCATED", path::Kind::kTruncated);

  m.def(
      "kind_of",
      [](const nb::bytes& frame) {
        auto held = frame_of(frame);
        return path::find_header(held).kind;
      },
      "frame"_a);
  m.def(
      "begin",
      [](const nb::bytes& frame, path::Variant variant, std::uint16_t id, std::uint16_t link, bool congested,
         std::uint32_t g) {
        auto held = frame_of(frame);
        path::begin(atomic(held), variant, id, hop_of(link, congested, g));
        return bytes_of(held);
      },
      "frame"_a, "variant"_a, "id"_a, "link"_a, "congested"_a = false, "g"_a = flitwatch::sampling::kDefaultG);
  m.def(
      "forward",
      [](const nb::bytes& frame, path::Variant variant, std::uint32_t random, std::uint16_t link, bool congested,
         std::uint32_t g) {
        auto held = frame_of(frame);
        const bool taken = path::forward(atomic(held), variant, random, hop_of(link, congested, g));
        return nb::make_tuple(bytes_of(held), taken);
      },
      "frame"_a, "variant"_a, "random"_a, "link"_a, "congested"_a = false, "g"_a = flitwatch::sampling::kDefaultG);
  m.def(
      "read_mark",
      [](const nb::bytes& frame) -> nb::object {
        auto held = frame_of(frame);
        const path::Header header = path::find_header(held);
        if (header.at == nullptr || !header.marked()) return nb::none();
        return nb::make_tuple(header.id(), header.hops(), header.hash_bit(), header.congested(),
                              header.checksum_right());
      },
      "frame"_a);

  nb::class_<path::PortSpec>(m, "PortSpec")
      .def(nb::init<>())
      .def_rw("interface", &path::PortSpec::interface)
      .def_rw("network_namespace", &path::PortSpec::network_namespace)
      .def_rw("tap", &path::PortSpec::tap)
      .def_rw("link", &path::PortSpec::link)
      .def_rw("origin", &path::PortSpec::origin)
      .def_rw("downsampling", &path::PortSpec::downsampling)
      .def_rw("flood", &path::PortSpec::flood)
      .def_prop_rw(
          "rate_bps", [](const path::PortSpec& p) { return p.limits.rate_bps; },
          [](path::PortSpec& p, double v) { p.limits.rate_bps = v; })
      .def_prop_rw(
          "queue_bytes", [](const path::PortSpec& p) { return p.limits.queue_bytes; },
          [](path::PortSpec& p, std::size_t v) { p.limits.queue_bytes = v; })
      .def_prop_rw(
          "congested_bytes", [](const path::PortSpec& p) { return p.limits.congested_bytes; },
          [](path::PortSpec& p, std::size_t v) { p.limits.congested_bytes = v; });

  nb::class_<path::Switch>(m, "Switch")
      .def(
          "__init__",
          [](path::Switch* self, std::vector<path::PortSpec> ports, const nb::dict& table, path::Variant variant,
             std::uint32_t g, std::uint64_t seed) {
            std::map<path::Address, std::size_t> entries;
            for (const auto& [key, value] : table) {
              const auto address = nb::cast<nb::bytes>(key);
              if (address.size() != 6) throw std::invalid_argument("an Ethernet address has six bytes");
              path::Address to;
              std::copy_n(static_cast<const std::uint8_t*>(address.data()), 6, to.begin());
              entries[to] = nb::cast<std::size_t>(value);
            }
            new (self) path::Switch(std::move(ports), std::move(entries), variant, g, seed);
          },
          "ports"_a, "table"_a, "variant"_a, "g"_a = flitwatch::sampling::kDefaultG, "seed"_a = 1)
      .def("run", &path::Switch::run, nb::call_guard<nb::gil_scoped_release>())
      .def("stop", &path::Switch::stop)
      .def("counts", [](path::Switch& self) {
        std::vector<path::PortCounts> counts;
        {
          nb::gil_scoped_release released;
          counts = self.counts();
        }
        nb::list all;
        for (const auto& port : counts) all.append(counts_of(port));
        return all;
      });
  bind_capture(m);
}
