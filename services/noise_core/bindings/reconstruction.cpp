// Python bindings of the reconstruction's iteration. The readable interface is flitwatch_core/reconstruction.py.
#include "reconstruction/iteration.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>

#include "arrays.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace flitwatch::reconstruction;
using flitwatch::bindings::In;

namespace {

template <class T>
using InOut = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Places = std::optional<In<std::int32_t>>;

template <class T>
std::span<const T> in(const In<T>& array) {
  return flitwatch::bindings::view(array);
}
template <class T>
std::span<T> out(const InOut<T>& array, std::size_t size) {
  if (array.shape(0) != size) throw std::invalid_argument("an array has the wrong length");
  return {array.data(), size};
}
template <class T>
std::span<const T> same(const In<T>& array, std::size_t size) {
  if (array.shape(0) != size) throw std::invalid_argument("an array has the wrong length");
  return in(array);
}
Index index(const Places& places, std::size_t size) { return places ? same(*places, size) : Index{}; }

template <class T>
void bind(nb::module_& m) {
  m.def(
      "take",
      [](In<T> x, const Places& at, const Places& less, InOut<T> to, unsigned threads) {
        const std::size_t n = to.shape(0);
        if (!at && x.shape(0) != n) throw std::invalid_argument("an array has the wrong length");
        const Index a = index(at, n), b = index(less, n);
        nb::gil_scoped_release released;
        take<T>(in(x), a, b, out(to, n), threads);
      },
      "x"_a, "at"_a.none(), "less"_a.none(), "out"_a, "threads"_a);
  m.def(
      "fold",
      [](In<T> u, In<std::int32_t> mirror, InOut<T> to, bool adjoint, unsigned threads) {
        const std::size_t n = u.shape(0);
        const Index at = same(mirror, n);
        nb::gil_scoped_release released;
        fold<T>(in(u), at, out(to, n), adjoint, threads);
      },
      "u"_a, "mirror"_a, "out"_a, "adjoint"_a, "threads"_a);
  m.def(
      "ascend",
      [](In<T> y, In<T> u, const Places& mirror, const std::optional<In<T>>& shift, double sigma, InOut<T> moved,
         unsigned threads) {
        const std::size_t n = y.shape(0);
        const Index at = index(mirror, n);
        const auto by = shift ? same(*shift, n) : std::span<const T>{};
        nb::gil_scoped_release released;
        ascend<T>(in(y), same(u, n), at, by, static_cast<T>(sigma), out(moved, n), threads);
      },
      "y"_a, "u"_a, "mirror"_a.none(), "shift"_a.none(), "sigma"_a, "moved"_a, "threads"_a);
  m.def(
      "descend_free",
      [](In<T> z, In<T> v1, const Places& home1, const Places& later1, In<T> v2, const Places& home2,
         const Places& later2, double tau, InOut<T> pull1, InOut<T> moved, InOut<T> ahead, InOut<T> left,
         unsigned threads) {
        const std::size_t n = z.shape(0);
        if ((!home1 && v1.shape(0) != n) || (!home2 && v2.shape(0) != n))
          throw std::invalid_argument("an array has the wrong length");
        const Free<T> f{in(z),
                        in(v1),
                        in(v2),
                        index(home1, n),
                        index(later1, n),
                        index(home2, n),
                        index(later2, n),
                        static_cast<T>(tau),
                        out(pull1, n),
                        out(moved, n),
                        out(ahead, n),
                        out(left, n)};
        nb::gil_scoped_release released;
        descend_free(f, threads);
      },
      "z"_a, "v1"_a, "home1"_a.none(), "later1"_a.none(), "v2"_a, "home2"_a.none(), "later2"_a.none(), "tau"_a,
      "pull1"_a, "moved"_a, "ahead"_a, "left"_a, "threads"_a);
  m.def(
      "descend_pairs",
      [](In<T> x, In<T> least, In<T> pull, const Places& place, In<T> first, In<std::int32_t> first_of, In<T> tail,
         In<std::int32_t> tail_of, double tau, InOut<T> moved, InOut<T> left, InOut<T> first_sum, InOut<T> tail_sum,
         unsigned threads) {
        const std::size_t n = x.shape(0), places = pull.shape(0);
        if (!place && places != n) throw std::invalid_argument("an array has the wrong length");
        const Pairs<T> p{in(x),
                         same(least, n),
                         in(pull),
                         in(first),
                         in(tail),
                         index(place, n),
                         same(first_of, n),
                         same(tail_of, n),
                         static_cast<T>(tau),
                         out(moved, n),
                         out(left, places),
                         out(first_sum, first.shape(0)),
                         out(tail_sum, tail.shape(0))};
        nb::gil_scoped_release released;
        descend_pairs(p, threads);
      },
      "x"_a, "least"_a, "pull"_a, "place"_a.none(), "first"_a, "first_of"_a, "tail"_a, "tail_of"_a, "tau"_a, "moved"_a,
      "left"_a, "first_sum"_a, "tail_sum"_a, "threads"_a);
  m.def(
      "reflect",
      [](InOut<T> at, In<T> moved, In<T> anchor, double part, unsigned threads) {
        const std::size_t n = moved.shape(0);
        nb::gil_scoped_release released;
        reflect<T>(out(at, n), in(moved), same(anchor, n), static_cast<T>(part), threads);
      },
      "at"_a, "moved"_a, "anchor"_a, "part"_a, "threads"_a);
  m.def(
      "apart",
      [](In<T> a, In<T> b, unsigned threads) {
        const auto other = same(b, a.shape(0));
        nb::gil_scoped_release released;
        return apart<T>(in(a), other, threads);
      },
      "a"_a, "b"_a, "threads"_a);
}

}  // namespace

NB_MODULE(_reconstruction, m) {
  m.doc() = "One iteration of the reconstruction's first-order solver, for float and double.";
  bind<float>(m);
  bind<double>(m);
}
