// A shared object with annotations, and so with a table of its own.
#include <nvtx3/nvToolsExt.h>

void announce(void) {
    nvtxRangePushA("announced");
    nvtxRangePop();
}
