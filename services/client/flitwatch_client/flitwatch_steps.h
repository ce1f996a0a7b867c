/* Reports the steps of a program under `flitwatch run`. Without it, calls do nothing. Call it on one rank. POSIX. */
#ifndef FLITWATCH_STEPS_H
#define FLITWATCH_STEPS_H
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Step number `step`, counted from 0, took `seconds`. Returns 0, or -1 after a write error. */
static inline int flitwatch_step(long step, double seconds) {
  static int file = -2;
  char line[64];
  if (file == -2) {
    const char* path = getenv("FLITWATCH_STEPS");
    file = path && *path ? open(path, O_WRONLY | O_APPEND) : -1;
    /* Not O_CLOEXEC: with -std=c99, the system's headers do not define it. */
    if (file >= 0) fcntl(file, F_SETFD, FD_CLOEXEC);
  }
  if (file < 0) return 0;
  int length = snprintf(line, sizeof line, "%ld %.9f\n", step, seconds);
  if (length < 0 || length >= (int)sizeof line) return -1;
  return write(file, line, (size_t)length) == length ? 0 : -1;
}
#endif
