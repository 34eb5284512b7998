// Makes one kind of call many times, for callgrind, which counts the instructions.
//
//     loop CAPTURE KIND TIMES
#include <stdlib.h>
#include <string.h>

#include "hrx_trace.h"

#define TIMES(call)                              \
  for (long index = 0; index < times; index++) { \
    call;                                        \
  }

int main(int count, char **arguments) {
  hrxt_recorder *recorder = NULL;
  hrxt_options options = hrxt_default_options();
  options.capacity = 4096;
  if (count != 4 || hrxt_create(arguments[1], &options, &recorder) != 0) {
    return 1;
  }
  const char *kind = arguments[2];
  const long times = strtol(arguments[3], NULL, 10);
  const hrxt_label_t label = hrxt_label(recorder, "label");
  const hrxt_key_t key = hrxt_key(recorder, "key");
  hrxt_event event = hrxt_event_of(HRXT_LANE_COMPUTE, label);
  event.correlation_id = 7;
  event.copied_bytes = 4096;
  const uint64_t now = hrxt_now();
  hrxt_region_t region = hrxt_begin(recorder, HRXT_LANE_COMPUTE, label);
  if (strcmp(kind, "region") == 0) {
    TIMES(hrxt_end(hrxt_begin(recorder, HRXT_LANE_COMPUTE, label)))
  } else if (strcmp(kind, "event") == 0) {
    TIMES(hrxt_end_copied(hrxt_begin_event(recorder, &event), 8192))
  } else if (strcmp(kind, "record") == 0) {
    TIMES(hrxt_record(recorder, HRXT_LANE_COMPUTE, label, now, now + 1))
  } else if (strcmp(kind, "mark") == 0) {
    TIMES(hrxt_mark(recorder, HRXT_LANE_HOST, label))
  } else if (strcmp(kind, "value") == 0) {
    TIMES(hrxt_value(recorder, label, (double)index))
  } else if (strcmp(kind, "argument") == 0) {
    TIMES(hrxt_argument_u64(region, key, (uint64_t)index))
  } else if (strcmp(kind, "amend") == 0) {
    TIMES(hrxt_set_status(region, (uint32_t)index))
  } else if (strcmp(kind, "nothing") != 0) {
    return 1;
  }
  hrxt_end(region);
  return hrxt_close(recorder);
}
