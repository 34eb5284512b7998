// guest WAY: a program that is hard on its listener. It prints `done` at its end, and complains on stderr if something is not as it was.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char **arguments;

static void region(const char *name) {
    nvtxRangePushA(name);
    nvtxRangePop();
}

static void check(int is_right, const char *what) {
    if (!is_right) {
        fprintf(stderr, "not so: %s\n", what);
        _exit(9);
    }
}

static void reap(pid_t child) {
    int status;
    check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child exits with 0");
}

static void silent(void) {}

// Exit handlers, destructors of thread-local values, and of the program.

static void at_exit(void) { region("in an exit handler"); }

static int has_destructor;
__attribute__((destructor)) static void destructor(void) {
    if (has_destructor) region("in a destructor");
}

static pthread_key_t key;
static void key_destructor(void *value) {
    (void)value;
    region("in a thread's destructor");
}

static void *with_destructor(void *argument) {
    pthread_setspecific(key, &key);
    region("in a thread");
    return argument;
}

static void ends(void) {
    atexit(at_exit);
    has_destructor = 1;
    pthread_key_create(&key, key_destructor);
    pthread_t thread;
    pthread_create(&thread, 0, with_destructor, 0);
    pthread_join(thread, 0);
    nvtxRangePushA("unfinished");
}

// Forks, while other threads announce names for the first time.

static _Atomic int stop;

static void *new_names(void *argument) {
    char name[64];
    for (long count = 0; !stop; count++) {
        // No digits, so that each is a name of its own.
        snprintf(name, sizeof name, "%c%c%c %s", 'a' + (int)(count % 26), 'a' + (int)(count / 26 % 26), 'a' + (int)(count / 676 % 26), (char *)argument);
        region(name);
    }
    return 0;
}

static void forks(void) {
    pthread_t threads[4];
    for (int index = 0; index < 4; index++) pthread_create(&threads[index], 0, new_names, "thread");
    for (int index = 0; index < 100; index++) {
        nvtxRangePushA("before the fork");
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            region("in the child");
            nvtxRangePushA("running in the child");
            // What began before the fork belongs to the parent.
            nvtxRangePop();
            nvtxRangePop();
            exit(0);
        }
        reap(child);
        nvtxRangePop();
    }
    stop = 1;
    for (int index = 0; index < 4; index++) pthread_join(threads[index], 0);
}

static void execs(void) {
    region("before exec");
    execl(arguments[0], arguments[0], "one", (char *)0);
}

static void spawns(void) {
    region("in the parent");
    for (int index = 0; index < 2; index++) {
        pid_t child;
        char *words[] = {arguments[0], "one", 0};
        check(posix_spawn(&child, arguments[0], 0, 0, words, environ) == 0, "a spawned child");
        reap(child);
    }
}

static void vforks(void) {
    // The first event of the process is in the child, which shares the memory.
    for (int index = 0; index < 2; index++) {
        pid_t child = vfork();
        if (child == 0) {
            region("in the child of vfork");
            execl("/bin/true", "true", (char *)0);
            _exit(1);
        }
        reap(child);
        region("in the parent");
    }
}

static void one(void) { region("one"); }

// Names.

static void names(void) {
    char name[64];
    for (int index = 0; index < 100000; index++) {
        snprintf(name, sizeof name, "iteration %d of %x", index, index % 7);
        region(name);
    }
    // Letters only: no two have one shape.
    for (int index = 0; index < 100000; index++) {
        int rest = index, length = 0;
        do name[length++] = 'a' + rest % 26; while (rest /= 26);
        name[length] = 0;
        region(name);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    check(usage.ru_maxrss < 48 << 10, "less than 48 MiB");
    nvtxRangePushA("iteration 100000 of 5");
    nvtxRangePushA("the region that hangs");
    puts("done");
    fflush(stdout);
    kill(getpid(), SIGKILL);
}

// Threads.

static void *short_thread(void *argument) {
    region("in a thread");
    nvtxRangePushA("left open");
    return argument;
}

static void threads(void) {
    for (int index = 0; index < 3000; index += 10) {
        pthread_t threads[10];
        for (int other = 0; other < 10; other++) check(pthread_create(&threads[other], 0, short_thread, 0) == 0, "a thread");
        for (int other = 0; other < 10; other++) pthread_join(threads[other], 0);
    }
}

static void *cancelled(void *argument) {
    for (;;) {
        new_names("cancelled");
        pthread_testcancel();
    }
    return argument;
}

static void cancels(void) {
    for (int index = 0; index < 200; index++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, 0, cancelled, 0);
        usleep(index * 10);
        pthread_cancel(thread);
        stop = 1;
        pthread_join(thread, &result);
        stop = 0;
        check(result == PTHREAD_CANCELED, "the thread is cancelled");
    }
}

static void deep(void) {
    for (int level = 0; level < 20000; level++) check(nvtxRangePushA("level") == level, "the level that push returns");
    for (int level = 20000; level-- > 0;) check(nvtxRangePop() == level, "the level that pop returns");
    region("after it");
}

// Signals.

static void handler(int signal) {
    (void)signal;
    static unsigned count;
    int before = errno;
    char name[32] = "in a handler aaa";
    unsigned rest = count++;
    for (int index = 13; index < 16; index++, rest /= 26) name[index] = 'a' + rest % 26;
    region(name);
    errno = before;
}

static void signals(void) {
    // The loader allocates as it loads the listener, so that must not happen in the handler.
    nvtxInitialize(0);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, 0);
    struct itimerval timer = {{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &timer, 0);
    for (int index = 0; index < 30000; index++) {
        char name[64];
        void *memory = malloc(index % 4000 + 1);
        snprintf(name, sizeof name, "%c%c%c work", 'a' + index % 26, 'a' + index / 26 % 26, 'a' + index / 676 % 26);
        int level = nvtxRangePushA(name);
        check(level == 0 && nvtxRangePop() == 0, "the levels of the program's own ranges");
        free(memory);
    }
    timer = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &timer, 0);
}

static void first_in_handler(void) {
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    region("after it");
}

static void keeps_errno(void) {
    errno = 77;
    region("first");
    check(errno == 77, "errno is kept");
}

// Where there is nothing to be had, once the listener has been loaded.

static void no_descriptors(void) {
    nvtxInitialize(0);
    struct rlimit limit = {3, 3};
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int index = 0; index < 100; index++) region("without descriptors");
}

static void no_room(void) {
    nvtxInitialize(0);
    struct rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int index = 0; index < 100; index++) region("without room");
}

static void no_memory(void) {
    // Less than a capture needs, and enough for the program.
    nvtxInitialize(0);
    struct rlimit limit = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_AS, &limit);
    for (int index = 0; index < 100; index++) region("without memory");
    nvtxDomainHandle_t domain = nvtxDomainCreateA("domain");
    nvtxDomainDestroy(domain);
}

// A client that is loaded and unloaded.
static void loads(void) {
    const char *path = arguments[2];
    for (int index = 0; index < 300; index++) {
        void *client = dlopen(path, RTLD_NOW);
        check(client != 0, "the client can be loaded");
        void (*announce)(void) = (void (*)(void))dlsym(client, "announce");
        announce();
        dlclose(client);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"silent", silent}, {"ends", ends}, {"forks", forks}, {"execs", execs}, {"spawns", spawns}, {"vforks", vforks}, {"one", one},
    {"names", names}, {"threads", threads}, {"cancels", cancels}, {"deep", deep}, {"signals", signals}, {"first_in_handler", first_in_handler},
    {"keeps_errno", keeps_errno}, {"no_descriptors", no_descriptors}, {"no_room", no_room}, {"no_memory", no_memory}, {"loads", loads},
};

int main(int count, char **given) {
    arguments = given;
    if (count < 2) return 2;
    // None of it takes this long, unless it hangs.
    alarm(strcmp(given[1], "signals") ? 120 : 0);
    for (size_t index = 0; index < sizeof ways / sizeof *ways; index++)
        if (!strcmp(ways[index].name, given[1])) {
            ways[index].run();
            puts("done");
            return 0;
        }
    return 2;
}
