/* loop KIND EVENTS: prints nanoseconds per region that is announced, as its thread sees it. KIND: push (NVTX, a message each time), registered (NVTX, a
   registered string of a domain) or itt (a task). The counterpart of the bare loop in loops.rs. */
#include <nvtx3/nvToolsExt.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What ITT's static part is in a client: the list of functions, which the listener fills in, and calls through them. */
struct id {
    unsigned long long d1, d2, d3;
};
struct domain {
    volatile int flags;
    const char *name;
    void *wide;
    int extra1;
    void *extra2, *next;
};
struct string {
    const char *text;
    void *wide;
    int extra1;
    void *extra2, *next;
};
struct row {
    const char *name;
    void **function;
    void *init, *none;
    int group;
};
struct global {
    unsigned char magic[8];
    unsigned long version[3];
    volatile long initialized, mutex_initialized, count;
    pthread_mutex_t mutex;
    void *lib, *error_handler;
    const char **path;
    struct row *rows;
};

static struct domain *(*domain_create)(const char *);
static struct string *(*string_create)(const char *);
static void (*task_begin)(const struct domain *, struct id, struct id, struct string *);
static void (*task_end)(const struct domain *);

static struct row rows[] = {
    {"__itt_domain_create", (void **)&domain_create, 0, 0, 2},
    {"__itt_string_handle_create", (void **)&string_create, 0, 0, 8},
    {"__itt_task_begin", (void **)&task_begin, 0, 0, 2},
    {"__itt_task_end", (void **)&task_end, 0, 0, 2},
    {0},
};
static struct global global = {
    {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30}, {3, 25, 0}, 0, 0, 0, PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, rows,
};

static int listen_to_itt(void) {
    const char *path = getenv("INTEL_LIBITTNOTIFY64");
    void *library = path ? dlopen(path, RTLD_LAZY) : 0;
    void (*init)(struct global *, int) = library ? (void (*)(struct global *, int))dlsym(library, "__itt_api_init") : 0;
    if (init) init(&global, -1);
    return init && domain_create && string_create && task_begin && task_end;
}

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv) {
    uint64_t events = argc == 3 ? strtoull(argv[2], 0, 10) : 0;
    if (events == 0) {
        fprintf(stderr, "usage: loop push|registered|itt EVENTS\n");
        return 2;
    }
    double start;
    if (!strcmp(argv[1], "itt")) {
        if (!listen_to_itt()) {
            fprintf(stderr, "the listener does not listen to ITT\n");
            return 1;
        }
        struct domain *domain = domain_create("bench");
        struct string *gemm = string_create("gemm");
        struct id none = {0, 0, 0};
        /* The first one creates the capture. */
        task_begin(domain, none, none, gemm);
        task_end(domain);
        start = now_ns();
        for (uint64_t i = 0; i < events; i++) {
            if (domain->flags && task_begin) task_begin(domain, none, none, gemm);
            if (domain->flags && task_end) task_end(domain);
        }
    } else if (!strcmp(argv[1], "registered")) {
        nvtxDomainHandle_t domain = nvtxDomainCreateA("bench");
        nvtxEventAttributes_t event = {0};
        event.version = NVTX_VERSION;
        event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
        event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        event.message.registered = nvtxDomainRegisterStringA(domain, "gemm");
        if (nvtxDomainRangePushEx(domain, &event) != 0) {
            fprintf(stderr, "the listener does not listen to NVTX\n");
            return 1;
        }
        nvtxDomainRangePop(domain);
        start = now_ns();
        for (uint64_t i = 0; i < events; i++) {
            nvtxDomainRangePushEx(domain, &event);
            nvtxDomainRangePop(domain);
        }
    } else {
        if (nvtxRangePushA("gemm") != 0) {
            fprintf(stderr, "the listener does not listen to NVTX\n");
            return 1;
        }
        nvtxRangePop();
        start = now_ns();
        for (uint64_t i = 0; i < events; i++) {
            nvtxRangePushA("gemm");
            nvtxRangePop();
        }
    }
    printf("%f\n", (now_ns() - start) / (double)events);
    return 0;
}
