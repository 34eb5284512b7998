/* loop THREADS EVENTS: prints nanoseconds per event, as one thread sees them. The counterpart of the bare loop in loops.rs. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "provider.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { INPUTS = 64, THREADS_MAX = 64 };

struct fields {
    uint64_t start_ns, duration_ns, lane, copied_bytes;
    uint8_t failed;
};

static uint64_t events;
static pthread_barrier_t barrier;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void *record(void *event_ns) {
    struct fields inputs[INPUTS];
    uint64_t now = now_ns();
    for (uint64_t i = 0; i < INPUTS; i++)
        inputs[i] = (struct fields){now + i * 1001, 900 + i, i % 5, i * 4096, i == INPUTS - 1};
    __asm__ volatile("" : : "r"(inputs) : "memory");
    pthread_barrier_wait(&barrier);
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < events; i++) {
        const struct fields *f = &inputs[i % INPUTS];
        lttng_ust_tracepoint(hrx_bench, region, f->start_ns, f->duration_ns, f->lane, f->copied_bytes, f->failed);
    }
    *(double *)event_ns = (double)(now_ns() - start) / (double)events;
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc == 3 ? atoi(argv[1]) : 0;
    if (threads < 1 || threads > THREADS_MAX) {
        fprintf(stderr, "usage: loop THREADS EVENTS\n");
        return 2;
    }
    events = strtoull(argv[2], NULL, 10);
    if (!lttng_ust_tracepoint_enabled(hrx_bench, region)) {
        fprintf(stderr, "the session does not listen\n");
        return 1;
    }
    pthread_t running[THREADS_MAX];
    double event_ns[THREADS_MAX], total = 0;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&running[i], NULL, record, &event_ns[i]) != 0)
            return 1;
    for (int i = 0; i < threads; i++) {
        pthread_join(running[i], NULL);
        total += event_ns[i];
    }
    printf("%f\n", total / threads);
    return 0;
}
