// roctx linked|loaded: against the library's own name.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef LINKED
int roctxRangePushA(const char *), roctxRangePop(void);
void roctxMarkA(const char *), roctxRangeStop(uint64_t);
uint64_t roctxRangeStartA(const char *);
#else
static int (*roctxRangePushA)(const char *), (*roctxRangePop)(void);
static void (*roctxMarkA)(const char *), (*roctxRangeStop)(uint64_t);
static uint64_t (*roctxRangeStartA)(const char *);
#endif

int main(void) {
#ifndef LINKED
    void *library = dlopen("libroctx64.so.4", RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    *(void **)&roctxRangePushA = dlsym(library, "roctxRangePushA");
    *(void **)&roctxRangePop = dlsym(library, "roctxRangePop");
    *(void **)&roctxMarkA = dlsym(library, "roctxMarkA");
    *(void **)&roctxRangeStop = dlsym(library, "roctxRangeStop");
    *(void **)&roctxRangeStartA = dlsym(library, "roctxRangeStartA");
#endif
    printf("%d", roctxRangePushA("outer"));
    printf(" %d", roctxRangePushA("inner"));
    printf(" %d", roctxRangePop());
    roctxMarkA("mark");
    uint64_t first = roctxRangeStartA("first"), second = roctxRangeStartA("second");
    roctxRangeStop(first);
    printf(" %d", first != second);
    printf(" %d", roctxRangePop());
    printf(" %d\n", roctxRangePop());
    return 0;
}
