// Numpy arrays as input and output of the core.
#pragma once

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace flitwatch::bindings {

namespace nb = nanobind;

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <class T>
std::span<const T> view(const In<T>& array) {
  return {array.data(), array.shape(0)};
}
template <class T>
std::vector<T> copy(const In<T>& array) {
  return {array.data(), array.data() + array.shape(0)};
}

// Passes ownership of a vector's memory to numpy.
template <class T>
Out<T> give(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out<T>(owned->data(), {owned->size()}, owner);
}

}  // namespace flitwatch::bindings
