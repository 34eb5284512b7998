// What another listener is to hear too.
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

int main(void) {
    printf("%d", nvtxRangePushA("plain"));
    nvtxDomainHandle_t domain = nvtxDomainCreateA("net");
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    printf(" %d", nvtxDomainRangePushEx(domain, &event));
    printf(" %d", nvtxDomainRangePop(domain));
    printf(" %d", nvtxRangePop());
    nvtxRangeId_t id = nvtxRangeStartA("range");
    nvtxRangeEnd(id);
    printf(" %d", (int)id);
    // It leaves this one alone.
    nvtxMarkA("mark");
    nvtxDomainDestroy(domain);
    puts("");
    return 0;
}
