// Begins more regions than there can be, ends them by several threads, and begins as many again; and closes recorders that other threads record into.
//
//     full CAPTURE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "hrx_trace.h"

enum { REGIONS = 65536, THREADS = 4, ROUNDS = 50 };

static hrxt_region_t regions[REGIONS];
static atomic_uint ended;

static void expect(int condition, const char *what) {
  if (!condition) {
    fprintf(stderr, "not so: %s\n", what);
    exit(1);
  }
}

static void *end_all(void *unused) {
  (void)unused;
  // Each thread tries each region, from the last on, and one of them ends it.
  for (int index = REGIONS - 1; index >= 0; index--) {
    int error = hrxt_end(regions[index]);
    expect(error == 0 || error == -EBADF || error == -EBUSY, "ended, or by another");
    if (error == 0) {
      atomic_fetch_add(&ended, 1);
    }
  }
  return NULL;
}

static void by_threads(void *(*work)(void *), void *argument) {
  pthread_t threads[THREADS];
  for (int index = 0; index < THREADS; index++) {
    expect(pthread_create(&threads[index], NULL, work, argument) == 0, "a thread");
  }
  for (int index = 0; index < THREADS; index++) {
    expect(pthread_join(threads[index], NULL) == 0, "its end");
  }
}

static void *record_until_closed(void *recorder) {
  for (;;) {
    hrxt_end(hrxt_begin(recorder, HRXT_LANE_HOST, 0));
    if (hrxt_mark(recorder, HRXT_LANE_HOST, 0) == -EBADF) {
      return NULL;
    }
  }
}

static void *close_soon(void *recorder) {
  struct timespec pause = {0, 200000};
  nanosleep(&pause, NULL);
  expect(hrxt_close(recorder) == 0, "closed");
  return NULL;
}

int main(int count, char **arguments) {
  expect(count == 2, "a file");
  hrxt_options options = hrxt_default_options();
  options.capacity = 4 * REGIONS;
  options.open_regions = 65534;
  hrxt_recorder *recorder = NULL;
  expect(hrxt_create(arguments[1], &options, &recorder) == 0, "created");
  for (int round = 0; round < 2; round++) {
    for (int index = 0; index < REGIONS; index++) {
      regions[index] = hrxt_begin(recorder, HRXT_LANE_HOST, 0);
      expect(regions[index] != 0, "room");
    }
    // One too many each time.
    expect(hrxt_begin(recorder, HRXT_LANE_HOST, 0) == 0, "no room");
    by_threads(end_all, NULL);
  }
  expect(atomic_load(&ended) == 2 * REGIONS, "each ended once");
  expect(hrxt_close(recorder) == 0, "closed");

  for (int round = 0; round < ROUNDS; round++) {
    char path[4096];
    snprintf(path, sizeof path, "%s.%d", arguments[1], round);
    options = hrxt_default_options();
    options.capacity = 64;
    expect(hrxt_create(path, &options, &recorder) == 0, "created");
    pthread_t closer;
    expect(pthread_create(&closer, NULL, close_soon, recorder) == 0, "a thread");
    by_threads(record_until_closed, recorder);
    expect(pthread_join(closer, NULL) == 0, "its end");
  }
  return 0;
}
