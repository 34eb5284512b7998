// nvtx_log LOG THREADS LEVELS WAY: ranges in three domains until it is killed, or until the log is full.
//
// WAY: `nested` pops in the reverse order; `interleaved` pops each domain's by itself; `across` ends on another thread what one began.
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <string.h>

#include "log.h"

enum { DOMAINS = 3, NAMES = 5 };
static const char *domain_names[DOMAINS] = {0, "net", "disk"};
static const char *names[NAMES] = {"read", "write", "seek", "flush", "wait"};
static nvtxDomainHandle_t domains[DOMAINS];
static nvtxStringHandle_t strings[DOMAINS][NAMES];
static struct log *log_file;
static unsigned levels;
static const char *way;

static nvtxEventAttributes_t described(unsigned range) {
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    event.payload.ullValue = range;
    if (range & 1) {
        event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        event.message.registered = strings[range % DOMAINS][range % NAMES];
    } else {
        event.messageType = NVTX_MESSAGE_TYPE_ASCII;
        event.message.ascii = names[range % NAMES];
    }
    return event;
}

static void push(unsigned range) {
    nvtxEventAttributes_t event = described(range);
    log_state(log_file, range, BEGINNING);
    nvtxDomainRangePushEx(domains[range % DOMAINS], &event);
    log_state(log_file, range, BEGUN);
}

static void pop(unsigned range) {
    log_state(log_file, range, ENDING);
    nvtxDomainRangePop(domains[range % DOMAINS]);
    log_state(log_file, range, ENDED);
}

static void *stacks(void *argument) {
    unsigned thread = (unsigned)(uintptr_t)argument;
    log_thread(log_file, thread);
    unsigned first = thread * RANGES_MAX, end = first + RANGES_MAX - levels;
    for (unsigned range = first; range < end; range += levels) {
        for (unsigned level = 0; level < levels; level++) push(range + level);
        if (strcmp(way, "interleaved")) {
            for (unsigned level = levels; level-- > 0;) pop(range + level);
        } else {
            for (unsigned domain = 0; domain < DOMAINS; domain++)
                for (unsigned level = levels; level-- > 0;)
                    if ((range + level) % DOMAINS == domain) pop(range + level);
        }
    }
    return 0;
}

// What the first of each two threads begins, the second ends.
static _Atomic uint64_t handed[THREADS_MAX][RANGES_MAX];

static void *begin_ranges(void *argument) {
    unsigned thread = (unsigned)(uintptr_t)argument;
    log_thread(log_file, thread);
    for (unsigned index = 0; index < RANGES_MAX; index++) {
        unsigned range = thread * RANGES_MAX + index;
        nvtxEventAttributes_t event = described(range);
        log_state(log_file, range, BEGINNING);
        nvtxRangeId_t id = nvtxDomainRangeStartEx(domains[range % DOMAINS], &event);
        log_state(log_file, range, BEGUN);
        atomic_store(&handed[thread][index], id);
    }
    return 0;
}

static void *end_ranges(void *argument) {
    unsigned thread = (unsigned)(uintptr_t)argument;
    for (unsigned index = 0; index < RANGES_MAX; index++) {
        unsigned range = thread * RANGES_MAX + index;
        uint64_t id;
        while (!(id = atomic_load(&handed[thread][index]))) usleep(10);
        log_state(log_file, range, ENDING);
        nvtxDomainRangeEnd(domains[range % DOMAINS], id);
        log_state(log_file, range, ENDED);
    }
    return 0;
}

int main(int count, char **arguments) {
    if (count != 5) return 2;
    log_file = log_open(arguments[1]);
    unsigned threads = atoi(arguments[2]);
    levels = atoi(arguments[3]);
    way = arguments[4];
    for (unsigned domain = 0; domain < DOMAINS; domain++) {
        if (domain) domains[domain] = nvtxDomainCreateA(domain_names[domain]);
        for (unsigned name = 0; name < NAMES; name++)
            strings[domain][name] = nvtxDomainRegisterStringA(domains[domain], names[name]);
    }
    // The first event, so that the test kills it while it records.
    nvtxMarkA("begun");
    puts("begun");
    fflush(stdout);
    pthread_t last;
    for (unsigned thread = 0; thread < threads; thread++) {
        void *argument = (void *)(uintptr_t)thread;
        if (!strcmp(way, "across")) {
            pthread_create(&last, 0, begin_ranges, argument);
            pthread_create(&last, 0, end_ranges, argument);
        } else {
            pthread_create(&last, 0, stacks, argument);
        }
    }
    pause();
}
