// A pipeline of three threads that upload, compute and download batches, as a program with a GPU does it, until something kills it. The capture then says what
// each thread was doing. All times are host-observed.
//
//     cc -std=c11 -pthread pipeline.c -o pipeline $(pkg-config --cflags --libs hrx_trace)
//     ./pipeline run.hrxt & sleep 1; kill -9 $!
//     hrx-convert --summary run.hrxt
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <hrx_trace.h>

enum { STAGES = 3, QUEUE = 4, BATCH_BYTES = 4096 };

// A batch on its way: its region, "batch", began on the first thread and ends on the last.
typedef struct {
  uint64_t number;
  hrxt_region_t region;
} batch;

typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  batch waiting[QUEUE];
  int count;
} queue;

static hrxt_recorder *recorder;
static queue queues[STAGES - 1];
static hrxt_label_t batch_label, depth_label;
static hrxt_key_t bytes_key;
static unsigned long batches_max;

static void put(queue *to, batch what) {
  pthread_mutex_lock(&to->lock);
  while (to->count == QUEUE) {
    pthread_cond_wait(&to->changed, &to->lock);
  }
  to->waiting[to->count++] = what;
  pthread_cond_broadcast(&to->changed);
  pthread_mutex_unlock(&to->lock);
}

static batch get(queue *from) {
  pthread_mutex_lock(&from->lock);
  while (from->count == 0) {
    pthread_cond_wait(&from->changed, &from->lock);
  }
  const batch first = from->waiting[0];
  from->count--;
  for (int index = 0; index < from->count; index++) {
    from->waiting[index] = from->waiting[index + 1];
  }
  hrxt_value(recorder, depth_label, from->count);
  pthread_cond_broadcast(&from->changed);
  pthread_mutex_unlock(&from->lock);
  return first;
}

static void work_for(long microseconds) {
  const struct timespec time = {0, microseconds * 1000};
  nanosleep(&time, NULL);
}

typedef struct {
  const char *name;
  hrxt_lane_t lane;
  long microseconds;
} stage;

static const stage stages[STAGES] = {
    {"upload", HRXT_LANE_UPLOAD, 200},
    {"compute", HRXT_LANE_COMPUTE, 500},
    {"download", HRXT_LANE_DOWNLOAD, 100},
};

static void *run(void *argument) {
  const long index = (long)(intptr_t)argument;
  const stage own = stages[index];
  hrxt_name_thread(recorder, own.name);
  const hrxt_label_t label = hrxt_label(recorder, own.name);
  for (uint64_t number = 1; number <= batches_max; number++) {
    batch current;
    if (index == 0) {
      hrxt_event event = hrxt_event_of(HRXT_LANE_HOST, batch_label);
      event.correlation_id = number;
      current.number = number;
      current.region = hrxt_begin_event(recorder, &event);
    } else {
      current = get(&queues[index - 1]);
    }
    hrxt_event event = hrxt_event_of(own.lane, label);
    event.correlation_id = current.number;
    const hrxt_region_t region = hrxt_begin_event(recorder, &event);
    hrxt_argument_u64(region, bytes_key, BATCH_BYTES);
    work_for(own.microseconds);
    hrxt_end_copied(region, own.lane == HRXT_LANE_COMPUTE ? 0 : BATCH_BYTES);
    if (index < STAGES - 1) {
      put(&queues[index], current);
    } else {
      hrxt_end(current.region);
    }
  }
  return NULL;
}

int main(int count, char **arguments) {
  if (count < 2) {
    fprintf(stderr, "usage: pipeline CAPTURE [BATCHES]\n");
    return 2;
  }
  batches_max = count > 2 ? strtoul(arguments[2], NULL, 10) : 1000000;
  const int error = hrxt_create(arguments[1], NULL, &recorder);
  if (error != 0) {
    fprintf(stderr, "pipeline: %s: %s\n", arguments[1], hrxt_strerror(error));
    return 1;
  }
  batch_label = hrxt_label(recorder, "batch");
  depth_label = hrxt_label(recorder, "batches waiting");
  bytes_key = hrxt_key(recorder, "bytes");
  pthread_t threads[STAGES];
  for (long index = 0; index < STAGES - 1; index++) {
    pthread_mutex_init(&queues[index].lock, NULL);
    pthread_cond_init(&queues[index].changed, NULL);
  }
  for (long index = 0; index < STAGES; index++) {
    if (pthread_create(&threads[index], NULL, run, (void *)(intptr_t)index) != 0) {
      return 1;
    }
  }
  printf("begun\n");
  fflush(stdout);
  for (long index = 0; index < STAGES; index++) {
    pthread_join(threads[index], NULL);
  }
  return hrxt_close(recorder) == 0 ? 0 : 1;
}
