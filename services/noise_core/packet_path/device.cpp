#include "packet_path/device.h"

#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace flitwatch::packet_path {

namespace {

constexpr std::size_t kMostFrame = 65536 + 64, kTagBytes = 4, kAddresses = 12;
constexpr int kSocketBuffer = 8 << 20;

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

// The calling thread is in another network namespace while this lives; what it opens meanwhile stays there.
class Visit {
 public:
  explicit Visit(const std::string& path) {
    if (path.empty()) return;
    home_ = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (home_ < 0) fail("the thread's own network namespace");
    const int there = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (there < 0 || ::setns(there, CLONE_NEWNET) != 0) {
      const int reason = errno;
      if (there >= 0) ::close(there);
      ::close(home_);
      errno = reason;
      fail("network namespace " + path);
    }
    ::close(there);
  }
  ~Visit() {
    if (home_ < 0) return;
    if (::setns(home_, CLONE_NEWNET) != 0) ::abort();  // a thread that stays elsewhere would open the wrong sockets
    ::close(home_);
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  int home_ = -1;
};

class Owned {  // closes unless released
 public:
  explicit Owned(int fd) : fd(fd) {}
  ~Owned() {
    if (fd >= 0) ::close(fd);
  }
  int release() { return std::exchange(fd, -1); }
  int fd;
};

void name_of(ifreq& request, const std::string& interface) {
  if (interface.empty() || interface.size() >= IFNAMSIZ) {
    errno = EINVAL;
    fail("interface '" + interface + "'");
  }
  std::memcpy(request.ifr_name, interface.data(), interface.size());
}

}  // namespace

Device::Device(int fd, bool tap) : fd_(fd), tap_(tap), buffer_(kMostFrame) {}
Device::Device(Device&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      tap_(other.tap_),
      overruns_(other.overruns_),
      buffer_(std::move(other.buffer_)) {}
Device::~Device() {
  if (fd_ >= 0) ::close(fd_);
}

Device Device::packet_socket(const std::string& network_namespace, const std::string& interface) {
  const Visit visit(network_namespace);
  // Protocol 0 until it is bound: no frame of another interface comes in between.
  Owned socket(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.fd < 0) fail("a packet socket (needs CAP_NET_RAW)");
  const unsigned index = if_nametoindex(interface.c_str());
  if (index == 0) fail("interface '" + interface + "'");
  const auto set = [&](int level, int option, const auto& value) {
    if (::setsockopt(socket.fd, level, option, &value, sizeof value) != 0)
      fail("an option of interface '" + interface + "'");
  };
  const int on = 1;
  set(SOL_PACKET, PACKET_AUXDATA, on);
  set(SOL_PACKET, PACKET_IGNORE_OUTGOING, on);
  set(SOL_SOCKET, SO_TIMESTAMPNS, on);
  if (::setsockopt(socket.fd, SOL_SOCKET, SO_RCVBUFFORCE, &kSocketBuffer, sizeof kSocketBuffer) != 0)
    set(SOL_SOCKET, SO_RCVBUF, kSocketBuffer);
  packet_mreq all{};
  all.mr_ifindex = static_cast<int>(index);
  all.mr_type = PACKET_MR_PROMISC;
  set(SOL_PACKET, PACKET_ADD_MEMBERSHIP, all);
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = static_cast<std::uint16_t>(ETH_P_ALL << 8);
  address.sll_ifindex = static_cast<int>(index);
  if (::bind(socket.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail("interface '" + interface + "'");
  return {socket.release(), false};
}

Device Device::tap(const std::string& network_namespace, const std::string& interface) {
  const Visit visit(network_namespace);
  Owned device(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (device.fd < 0) fail("/dev/net/tun");
  ifreq request{};
  name_of(request, interface);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;  // no offloads: frames come with their checksums, one datagram each
  if (::ioctl(device.fd, TUNSETIFF, &request) != 0) fail("TAP device '" + interface + "' (needs CAP_NET_ADMIN)");
  return {device.release(), true};
}

bool Device::receive(Arrived& arrived) {
  std::uint8_t* const data = buffer_.data() + kTagBytes;  // room for a tag in front
  iovec part{data, buffer_.size() - kTagBytes};
  arrived = {};
  if (tap_) {
    const ssize_t got = ::read(fd_, part.iov_base, part.iov_len);
    if (got <= 0) return false;
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    arrived.epoch_ns = now.tv_sec * 1'000'000'000ll + now.tv_nsec;
    arrived.frame = {data, static_cast<std::size_t>(got)};
    return true;
  }
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(tpacket_auxdata)) + CMSG_SPACE(sizeof(timespec))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(fd_, &message, 0);
  if (got <= 0) return false;
  arrived.frame = {data, static_cast<std::size_t>(got)};
  for (cmsghdr* one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one)) {
    if (one->cmsg_level == SOL_SOCKET && one->cmsg_type == SCM_TIMESTAMPNS) {
      timespec at{};
      std::memcpy(&at, CMSG_DATA(one), sizeof at);
      arrived.epoch_ns = at.tv_sec * 1'000'000'000ll + at.tv_nsec;
    } else if (one->cmsg_level == SOL_PACKET && one->cmsg_type == PACKET_AUXDATA) {
      tpacket_auxdata about{};
      std::memcpy(&about, CMSG_DATA(one), sizeof about);
      arrived.unfinished_checksum = about.tp_status & TP_STATUS_CSUMNOTREADY;
      if (about.tp_status & TP_STATUS_VLAN_VALID && static_cast<std::size_t>(got) >= kAddresses) {
        const std::uint16_t type =
            about.tp_status & TP_STATUS_VLAN_TPID_VALID ? about.tp_vlan_tpid : std::uint16_t{ETH_P_8021Q};
        std::memmove(data - kTagBytes, data, kAddresses);
        std::uint8_t* const tag = data - kTagBytes + kAddresses;
        tag[0] = static_cast<std::uint8_t>(type >> 8);
        tag[1] = static_cast<std::uint8_t>(type);
        tag[2] = static_cast<std::uint8_t>(about.tp_vlan_tci >> 8);
        tag[3] = static_cast<std::uint8_t>(about.tp_vlan_tci);
        arrived.frame = {data - kTagBytes, static_cast<std::size_t>(got) + kTagBytes};
      }
    }
  }
  return true;
}

bool Device::send(std::span<const std::uint8_t> frame) const {
  const ssize_t sent = tap_ ? ::write(fd_, frame.data(), frame.size()) : ::send(fd_, frame.data(), frame.size(), 0);
  return sent == static_cast<ssize_t>(frame.size());
}

std::uint64_t Device::overruns() {
  tpacket_stats since{};
  socklen_t size = sizeof since;
  if (!tap_ && ::getsockopt(fd_, SOL_PACKET, PACKET_STATISTICS, &since, &size) == 0) overruns_ += since.tp_drops;
  return overruns_;
}

}  // namespace flitwatch::packet_path
