// Python bindings of the sampling module. The readable interface is flitwatch_core/sampling.py.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <stdexcept>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "sampling/experiment.h"
#include "sampling/receiver.h"

namespace nb = nanobind;
using namespace nb::literals;
namespace sampling = flitwatch::sampling;

namespace {

template <class T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::object numpy(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

std::vector<sampling::Arrival> arrivals(const Array<std::uint32_t>& ids, const Array<std::uint8_t>& bits,
                                        const Array<std::uint8_t>& hops, const Array<std::uint8_t>& congested) {
  if (bits.size() != ids.size() || hops.size() != ids.size() || congested.size() != ids.size())
    throw std::invalid_argument("the arrays of the packets differ in length");
  std::vector<sampling::Arrival> packets(ids.size());
  for (std::size_t i = 0; i < packets.size(); ++i) {
    if (hops.data()[i] < 1 || hops.data()[i] > 16) throw std::invalid_argument("a hop count is outside 1 to 16");
    packets[i] = {ids.data()[i], hops.data()[i], static_cast<std::uint8_t>(bits.data()[i] != 0),
                  static_cast<std::uint8_t>(congested.data()[i] != 0)};
  }
  return packets;
}

nb::dict counts(sampling::Counts&& c) {
  nb::dict out;
  out["traffic"] = numpy(std::move(c.traffic));
  out["congested"] = numpy(std::move(c.congested));
  out["tested"] = numpy(std::move(c.tested));
  return out;
}

}  // namespace

NB_MODULE(_sampling, m) {
  m.doc() = "Reservoir sampling inside packets: hashes, receivers, experiments.";
  m.attr("POLYNOMIAL") = sampling::kPolynomial;
  m.attr("DEFAULT_G") = sampling::kDefaultG;
  m.attr("OTHER_G") = sampling::kOtherG;
  m.def("gf_multiply", &sampling::gf_multiply, "a"_a, "b"_a);
  m.def("mask_of", &sampling::mask_of, "d"_a, "g"_a = sampling::kDefaultG);
  m.def("hash", &sampling::hash, "id"_a, "d"_a, "g"_a = sampling::kDefaultG);
  m.def("false_positive_threshold", &sampling::false_positive_threshold, "longest_path"_a, "tested"_a);

  nb::class_<sampling::OneBitReceiver>(m, "OneBitReceiver")
      .def(
          "__init__",
          [](sampling::OneBitReceiver* self, Array<std::uint32_t> links, std::uint32_t g) {
            new (self) sampling::OneBitReceiver({links.data(), links.size()}, g);
          },
          "links"_a, "g"_a = sampling::kDefaultG)
      .def(
          "add",
          [](sampling::OneBitReceiver& r, Array<std::uint32_t> ids, Array<std::uint8_t> bits, Array<std::uint8_t> hops,
             Array<std::uint8_t> congested, bool simd) {
            const auto packets = arrivals(ids, bits, hops, congested);
            nb::gil_scoped_release released;
            simd ? r.add(packets) : r.add_scalar(packets);
          },
          "ids"_a, "bits"_a, "hops"_a, "congested"_a, "simd"_a = true)
      .def_prop_ro("tested", &sampling::OneBitReceiver::tested)
      .def("traffic", [](const sampling::OneBitReceiver& r) { return numpy(r.traffic()); })
      .def("congested", [](const sampling::OneBitReceiver& r) { return numpy(r.congested()); });

  m.def(
      "cycles_per_test",
      [](std::uint32_t links, std::uint32_t packets, double congested_share, bool wide_ids) {
        std::vector<std::uint32_t> names(links);
        for (std::uint32_t i = 0; i < links; ++i) names[i] = i + 1;
        sampling::OneBitReceiver receiver(names);
        std::vector<sampling::Arrival> batch(packets);
        std::uint32_t x = 12345;
        for (auto& p : batch) {
          x = x * 1664525u + 1013904223u;
          p = {wide_ids ? x : x >> 16, static_cast<std::uint8_t>(1 + (x >> 8) % 5), static_cast<std::uint8_t>(x >> 31),
               static_cast<std::uint8_t>((x >> 4 & 0xFFFF) < congested_share * 65536)};
        }
        receiver.add(batch);  // warm
        const auto wall = std::chrono::steady_clock::now();
#if defined(__x86_64__)
        const std::uint64_t begin = __rdtsc();
        receiver.add(batch);
        const double cycles = static_cast<double>(__rdtsc() - begin);
#else
        receiver.add(batch);
        const double cycles = 0;
#endif
        const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - wall).count();
        const double tests = static_cast<double>(links) * packets;
        return nb::make_tuple(cycles / tests, ns / tests);
      },
      "links"_a, "packets"_a, "congested_share"_a = 0.4, "wide_ids"_a = false,
      "(time-stamp-counter cycles, ns) per tested link of the SIMD receiver.");

  nb::class_<sampling::Experiment>(m, "Experiment")
      .def(nb::init<>())
      .def_rw("links", &sampling::Experiment::links)
      .def_rw("paths", &sampling::Experiment::paths)
      .def_rw("sets", &sampling::Experiment::sets)
      .def_rw("congested_share", &sampling::Experiment::congested_share)
      .def_rw("downsampling", &sampling::Experiment::downsampling)
      .def_rw("g", &sampling::Experiment::g)
      .def_rw("id_bits", &sampling::Experiment::id_bits)
      .def_rw("seed", &sampling::Experiment::seed)
      .def("add_flow", [](sampling::Experiment& e, std::uint64_t packets, std::uint32_t set,
                          std::vector<std::uint32_t> paths) { e.flows.push_back({packets, set, std::move(paths)}); })
      .def("run", [](const sampling::Experiment& e) {
        sampling::ExperimentResult r;
        {
          nb::gil_scoped_release released;
          r = sampling::run(e);
        }
        nb::dict out;
        out["exact"] = counts(std::move(r.exact));
        out["standard"] = counts(std::move(r.standard));
        out["one_bit"] = counts(std::move(r.one_bit));
        out["packets"] = r.packets;
        out["sampled"] = r.sampled;
        out["tests"] = r.tests;
        return out;
      });
}
