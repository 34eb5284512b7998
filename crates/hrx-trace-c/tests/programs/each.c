// Calls each function of hrx_trace.h, rightly and wrongly, and says by its exit code whether each answered as the header says.
//
//     each CAPTURE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hrx_trace.h"

#define EXPECT(condition)                                                   \
  do {                                                                      \
    if (!(condition)) {                                                     \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                              \
    }                                                                       \
  } while (0)

static void *end_there(void *region) {
  hrxt_end_callback(region);
  return NULL;
}

static void refused_by_all(hrxt_recorder *recorder) {
  hrxt_event event = hrxt_event_of(HRXT_LANE_HOST, 0);
  char buffer[8];
  EXPECT(hrxt_close(recorder) == -EBADF);
  EXPECT(hrxt_finish(recorder) == -EBADF);
  EXPECT(hrxt_sync(recorder) == -EBADF);
  EXPECT(hrxt_alive(recorder) == -EBADF);
  EXPECT(hrxt_is_recording(recorder) == 0);
  EXPECT(hrxt_path(recorder, buffer, sizeof buffer) == -EBADF);
  EXPECT(hrxt_label(recorder, "label") == 0);
  EXPECT(hrxt_label_in(recorder, "group", "label") == 0);
  EXPECT(hrxt_key(recorder, "key") == 0);
  EXPECT(hrxt_lane(recorder, "lane") == 0);
  EXPECT(hrxt_lane_in(recorder, "group", "lane") == 0);
  EXPECT(hrxt_name_thread(recorder, "thread") == -EBADF);
  EXPECT(hrxt_begin(recorder, HRXT_LANE_HOST, 0) == 0);
  EXPECT(hrxt_begin_event(recorder, &event) == 0);
  EXPECT(hrxt_mark(recorder, HRXT_LANE_HOST, 0) == -EBADF);
  EXPECT(hrxt_mark_event(recorder, &event, NULL, 0) == -EBADF);
  EXPECT(hrxt_value(recorder, 0, 1.0) == -EBADF);
  EXPECT(hrxt_record(recorder, HRXT_LANE_HOST, 0, 0, 0) == -EBADF);
  EXPECT(hrxt_record_event(recorder, &event, 0, 0, NULL, 0) == -EBADF);
}

static void all_of(hrxt_region_t region, int answer) {
  EXPECT(hrxt_set_label(region, 0) == answer);
  EXPECT(hrxt_set_correlation_id(region, 0) == answer);
  EXPECT(hrxt_set_copied_bytes(region, 0) == answer);
  EXPECT(hrxt_set_status(region, 0) == answer);
  EXPECT(hrxt_set_waiting(region, 1) == answer);
  EXPECT(hrxt_argument_u64(region, 0, 1) == answer);
  EXPECT(hrxt_argument_i64(region, 0, 1) == answer);
  EXPECT(hrxt_argument_f64(region, 0, 1) == answer);
  EXPECT(hrxt_argument_bool(region, 0, 1) == answer);
  EXPECT(hrxt_argument_text(region, 0, "text") == answer);
  EXPECT(hrxt_end(region) == answer);
  EXPECT(hrxt_end_copied(region, 1) == answer);
  EXPECT(hrxt_fail(region, 1) == answer);
  EXPECT(hrxt_cancel(region) == answer);
  hrxt_end_callback(hrxt_to_pointer(region));
}

static void creations(const char *path) {
  hrxt_recorder *recorder = NULL;
  hrxt_options options = hrxt_default_options();
  EXPECT(hrxt_create(path, &options, NULL) == -EINVAL);
  EXPECT(hrxt_create(NULL, NULL, &recorder) == -EINVAL && recorder == NULL);
  EXPECT(hrxt_create("/no/such/folder/file", NULL, &recorder) == -ENOENT && recorder == NULL);
  EXPECT(hrxt_create("/", NULL, &recorder) != 0 && recorder == NULL);
  options.flags = 1U << 31;
  EXPECT(hrxt_create(path, &options, &recorder) == -EINVAL);
  options = hrxt_default_options();
  options.attribute_count = 1;
  EXPECT(hrxt_create(path, &options, &recorder) == -EINVAL);
  options = hrxt_default_options();
  options.rings = 1025;
  EXPECT(hrxt_create(path, &options, &recorder) == -EINVAL);
  options = hrxt_default_options();
  options.struct_size = 3;
  EXPECT(hrxt_create(path, &options, &recorder) == -EINVAL);
  // A struct of a later header: nothing beyond ours is said, or something.
  struct {
    hrxt_options known;
    uint64_t later;
  } larger = {hrxt_default_options(), 0};
  larger.known.struct_size = sizeof larger;
  larger.later = 1;
  EXPECT(hrxt_create(path, &larger.known, &recorder) == -E2BIG);
  EXPECT(recorder == NULL);
  EXPECT(strcmp(hrxt_strerror(-EEXIST), hrxt_strerror(EEXIST)) == 0);
  EXPECT(strcmp(hrxt_strerror(0), "success") == 0);
}

// In a forked child, every call does nothing, and what it ends runs on in the parent.
static void forked(hrxt_recorder *recorder) {
  hrxt_region_t region = hrxt_begin(recorder, HRXT_LANE_HOST, 0);
  pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    EXPECT(hrxt_is_recording(recorder) == 0 && hrxt_mark(recorder, HRXT_LANE_HOST, 0) == 0);
    EXPECT(hrxt_end(hrxt_begin(recorder, HRXT_LANE_HOST, 0)) == 0);
    EXPECT(hrxt_end(region) == 0 && hrxt_end(region) == -EBADF);
    EXPECT(hrxt_close(recorder) == 0 && hrxt_close(recorder) == -EBADF);
    _exit(0);
  }
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT(hrxt_is_recording(recorder) == 1);
  EXPECT(hrxt_cancel(region) == 0);
}

int main(int count, char **arguments) {
  EXPECT(count == 2);
  const char *path = arguments[1];
  creations(path);
  refused_by_all(NULL);
  int local = 0;
  refused_by_all((hrxt_recorder *)(void *)&local);
  all_of(0, 0);
  all_of((hrxt_region_t)(uintptr_t)&local, -EBADF);
  all_of(UINT64_MAX, -EBADF);

  struct {
    hrxt_options known;
    uint64_t later;
  } larger = {hrxt_default_options(), 0};
  hrxt_attribute attribute = {"rank", "3"};
  larger.known.struct_size = sizeof larger;
  larger.known.capacity = 1000;
  larger.known.attributes = &attribute;
  larger.known.attribute_count = 1;
  hrxt_recorder *recorder = NULL;
  EXPECT(hrxt_create(path, &larger.known, &recorder) == 0 && recorder != NULL);
  hrxt_recorder *other = recorder;
  EXPECT(hrxt_create(path, NULL, &other) == -EEXIST && other == NULL);
  EXPECT(hrxt_is_recording(recorder) == 1);
  EXPECT(hrxt_alive(recorder) == 0 && hrxt_sync(recorder) == 0);
  char buffer[4096];
  EXPECT(hrxt_path(recorder, buffer, sizeof buffer) == (int)strlen(path) && strcmp(buffer, path) == 0);
  EXPECT(hrxt_path(recorder, buffer, 3) == (int)strlen(path) && strlen(buffer) == 2);
  EXPECT(hrxt_path(recorder, NULL, 0) == (int)strlen(path) && hrxt_path(recorder, NULL, 1) == -EINVAL);

  EXPECT(hrxt_label(recorder, NULL) == 0 && hrxt_key(recorder, NULL) == 0 && hrxt_lane(recorder, NULL) == 0);
  EXPECT(hrxt_label_in(recorder, NULL, "a") == 0 && hrxt_lane_in(recorder, "a", NULL) == 0);
  EXPECT(hrxt_name_thread(recorder, NULL) == -EINVAL && hrxt_name_thread(recorder, "the main one") == 0);
  hrxt_label_t gemm = hrxt_label(recorder, "gemm");
  EXPECT(gemm != 0 && gemm == hrxt_label(recorder, "gemm"));
  hrxt_label_t grouped = hrxt_label_in(recorder, "blas", "gemm");
  EXPECT(grouped != 0 && grouped != gemm);
  hrxt_key_t shape = hrxt_key(recorder, "shape");
  hrxt_lane_t stream = hrxt_lane_in(recorder, "GPU 0", "stream 3");
  EXPECT(stream != hrxt_lane(recorder, "stream 3"));

  // 1: with all that can be said.
  hrxt_event event = hrxt_event_of(stream, grouped);
  event.correlation_id = 7;
  hrxt_region_t region = hrxt_begin_event(recorder, &event);
  EXPECT(region != 0 && hrxt_from_pointer(hrxt_to_pointer(region)) == region);
  EXPECT(hrxt_set_label(region, gemm) == 0 && hrxt_set_correlation_id(region, 8) == 0);
  EXPECT(hrxt_set_copied_bytes(region, 1) == 0 && hrxt_set_status(region, 2) == 0);
  EXPECT(hrxt_set_waiting(region, 1) == 0 && hrxt_set_waiting(region, 0) == 0);
  EXPECT(hrxt_argument_u64(region, shape, UINT64_MAX) == 0 && hrxt_argument_i64(region, shape, INT64_MIN) == 0);
  EXPECT(hrxt_argument_f64(region, shape, 0.5) == 0 && hrxt_argument_bool(region, shape, 2) == 0);
  EXPECT(hrxt_argument_text(region, shape, "4096x4096") == 0 && hrxt_argument_text(region, shape, NULL) == -EINVAL);
  EXPECT(hrxt_end_copied(region, 4096) == 0);
  all_of(region, -EBADF);
  // The next region has the same place in the table, and not the same handle.
  hrxt_region_t next = hrxt_begin(recorder, HRXT_LANE_COMPUTE, gemm);
  EXPECT(next != 0 && next != region && hrxt_end(region) == -EBADF);
  // 2: by another thread, through a callback.
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, end_there, hrxt_to_pointer(next)) == 0 && pthread_join(thread, NULL) == 0);
  all_of(next, -EBADF);
  // 3, 4.
  EXPECT(hrxt_fail(hrxt_begin(recorder, HRXT_LANE_COMPUTE, gemm), 42) == 0);
  EXPECT(hrxt_cancel(hrxt_begin(recorder, HRXT_LANE_COMPUTE, gemm)) == 0);

  event.flags = 1U << 31;
  EXPECT(hrxt_begin_event(recorder, &event) == 0 && hrxt_begin_event(recorder, NULL) == 0);
  EXPECT(hrxt_mark_event(recorder, &event, NULL, 0) == -EINVAL && hrxt_record_event(recorder, NULL, 0, 0, NULL, 0) == -EINVAL);
  event.flags = HRXT_FAILED;
  hrxt_argument given[HRXT_ARGUMENTS_MAX + 1] = {0};
  given[0].key = shape;
  given[0].kind = HRXT_TEXT;
  given[0].number.text = "a text";
  given[1].kind = HRXT_F64;
  given[1].number.f64 = 0.25;
  EXPECT(hrxt_mark(recorder, HRXT_LANE_HOST, gemm) == 0 && hrxt_mark_event(recorder, &event, given, 2) == 0);
  EXPECT(hrxt_mark_event(recorder, &event, NULL, 1) == -EINVAL);
  EXPECT(hrxt_mark_event(recorder, &event, given, HRXT_ARGUMENTS_MAX + 1) == -EINVAL);
  given[1].kind = 99;
  EXPECT(hrxt_mark_event(recorder, &event, given, 2) == -EINVAL);
  EXPECT(hrxt_value(recorder, gemm, 17.5) == 0);
  // 5, 6, and one that began before the capture.
  uint64_t now = hrxt_now();
  EXPECT(hrxt_record(recorder, stream, gemm, now, now + 1234) == 0);
  EXPECT(hrxt_record_event(recorder, &event, now, now + 5, given, 1) == 0);
  EXPECT(hrxt_record(recorder, stream, gemm, 1, now) == 0);

  // 7.
  forked(recorder);

  // 8: one that still runs when the recorder is closed.
  hrxt_region_t left = hrxt_begin(recorder, HRXT_LANE_HOST, gemm);
  EXPECT(left != 0 && hrxt_close(recorder) == 0);
  refused_by_all(recorder);
  EXPECT(hrxt_end(left) == 0 && hrxt_end(left) == -EBADF);
  // Of a finished recorder, nothing is refused, and nothing recorded.
  snprintf(buffer, sizeof buffer, "%s.finished", path);
  EXPECT(hrxt_create(buffer, NULL, &other) == 0 && other != recorder);
  refused_by_all(recorder);
  EXPECT(hrxt_finish(other) == 0 && hrxt_is_recording(other) == 0 && hrxt_mark(other, 0, 0) == 0);
  EXPECT(hrxt_end(hrxt_begin(other, 0, 0)) == 0);
  EXPECT(hrxt_close(other) == 0 && hrxt_close(other) == -EBADF);
  return 0;
}
