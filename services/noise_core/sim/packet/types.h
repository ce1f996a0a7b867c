// Shared basics of the packet engine: units, random numbers, flat memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

namespace flitwatch::sim::packet {

using Time = std::uint64_t;    // picoseconds since the start of the simulation
using PortId = std::uint32_t;  // see network.h

inline constexpr std::uint32_t kNil = std::numeric_limits<std::uint32_t>::max();
inline constexpr Time kNever = std::numeric_limits<Time>::max();
inline constexpr std::uint32_t kMaxPacketBytes = 16384;

// Ends a run that breaks an invariant of the engine (a lost credit, an exhausted pool), which is a defect of the
// engine.
struct EngineFault : std::logic_error {
  using std::logic_error::logic_error;
};
struct CancelledRun : std::runtime_error {
  CancelledRun() : std::runtime_error("cancelled") {}
};

// Prefetches the cache line of an address. The empty asm prevents GCC from treating a function that only prefetches as
// one without effect and dropping its calls.
[[gnu::always_inline]] inline void fetch(const void* address) {
  __builtin_prefetch(address, 1);
  asm volatile("");
}

// wyrand (Wang Yi, public domain): one multiplication per draw, 64-bit state, passes BigCrush.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 0x1234567ull) {}
  std::uint64_t operator()() {
    state_ += 0xA0761D6478BD642Full;
    const unsigned __int128 m = static_cast<unsigned __int128>(state_) * (state_ ^ 0xE7037ED1A0B428DBull);
    return static_cast<std::uint64_t>(m >> 64) ^ static_cast<std::uint64_t>(m);
  }
  std::uint32_t below(std::uint32_t n) { return scale((*this)() >> 32, n); }
  double unit() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }  // [0, 1)

  // Maps 32 random bits onto [0, n).
  static std::uint32_t scale(std::uint64_t bits32, std::uint32_t n) {
    return static_cast<std::uint32_t>((bits32 * n) >> 32);
  }

 private:
  std::uint64_t state_;
};

// A fixed number of zeroed records in huge pages. Only used pages take memory. Trivial types only.
template <class T>
class FlatArray {
 public:
  FlatArray() = default;
  explicit FlatArray(std::size_t count) : size_(count) {
    constexpr std::size_t page = std::size_t{2} << 20;
    const std::size_t bytes = (count * sizeof(T) + page - 1) / page * page;
    length_ = bytes + page;
    base_ = mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    const auto aligned = (reinterpret_cast<std::uintptr_t>(base_) + page - 1) / page * page;
    data_ = reinterpret_cast<T*>(aligned);
    madvise(data_, bytes, MADV_HUGEPAGE);  // 20-50 % faster than 4 KiB pages; a failure only costs speed
  }
  void reset(std::size_t count) { *this = FlatArray(count); }
  FlatArray(FlatArray&& other) noexcept { swap(other); }
  FlatArray& operator=(FlatArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ~FlatArray() {
    if (base_) munmap(base_, length_);
  }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  // Releases the memory of elements [begin, end), only whole huge pages. They read as zero afterwards.
  void forget(std::size_t begin, std::size_t end) {
    constexpr std::size_t page = std::size_t{2} << 20;
    const std::size_t first = (begin * sizeof(T) + page - 1) / page * page, last = end * sizeof(T) / page * page;
    if (first < last) madvise(reinterpret_cast<char*>(data_) + first, last - first, MADV_DONTNEED);
  }

 private:
  void swap(FlatArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
    std::swap(length_, other.length_);
  }
  T* data_ = nullptr;
  void* base_ = nullptr;
  std::size_t size_ = 0, length_ = 0;
};

}  // namespace flitwatch::sim::packet
