// Preloaded into a platform under test: its wall clock is the machine's plus an offset (int64 seconds) that stands in the file $STEPPED_CLOCK.
// libfaketime also intercepts clock_nanosleep, with which time.sleep of Python 3.11 fails.
// Deadlines on the wall clock (librdkafka waits with them) are given to the kernel in the machine's own time.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;

__attribute__((constructor)) static void open_offset(void) {
  const char *path = getenv("STEPPED_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *at = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  if (at != MAP_FAILED) offset = at;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = (int)syscall(SYS_clock_gettime, clock, now);
  if (!failed && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *offset;
  return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec fine;
  if (clock_gettime(CLOCK_REALTIME, &fine)) return -1;
  now->tv_sec = fine.tv_sec;
  now->tv_usec = fine.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}

int timespec_get(struct timespec *now, int base) {
  if (base != TIME_UTC) return 0;
  return clock_gettime(CLOCK_REALTIME, now) ? 0 : base;
}

// A deadline on the monotonic clock counts from the machine's start and is far smaller than any date.
static const time_t DATES_BEGIN_S = 1000000000;

static struct timespec machines(const struct timespec *deadline) {
  struct timespec moved = *deadline;
  if (offset && moved.tv_sec > DATES_BEGIN_S) moved.tv_sec -= *offset;
  return moved;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict deadline) {
  static int (*wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  // The unversioned symbol may be the first version of condition variables, of another layout.
  if (!wait) wait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  const struct timespec moved = machines(deadline);
  return wait(condition, mutex, &moved);
}

int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict deadline) {
  static int (*wait)(cnd_t *, mtx_t *, const struct timespec *);
  if (!wait) wait = dlsym(RTLD_NEXT, "cnd_timedwait");
  const struct timespec moved = machines(deadline);
  return wait(condition, mutex, &moved);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline) {
  static int (*wait)(sem_t *, const struct timespec *);
  if (!wait) wait = dlsym(RTLD_NEXT, "sem_timedwait");
  const struct timespec moved = machines(deadline);
  return wait(semaphore, &moved);
}
