// Each function of NVTX once. Prints the levels that pushes and pops return.
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static nvtxEventAttributes_t described(const char *message) {
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = message;
    return event;
}

static void *in_thread(void *domain) {
    nvtxNameOsThreadA(syscall(SYS_gettid), "worker");
    nvtxRangePushA("in a thread");
    nvtxRangePop();
    return 0;
}

int main(void) {
    nvtxInitialize(0);
    nvtxDomainHandle_t net = nvtxDomainCreateA("net"), wide = nvtxDomainCreateW(L"wïde domain");
    nvtxStringHandle_t registered = nvtxDomainRegisterStringA(net, "registered");
    nvtxStringHandle_t wide_registered = nvtxDomainRegisterStringW(wide, L"wïde registered");
    nvtxNameCategoryA(1, "first");
    nvtxNameCategoryW(2, L"sécond");
    nvtxDomainNameCategoryA(net, 1, "first of net");
    nvtxDomainNameCategoryW(net, 2, L"sécond of net");
    nvtxNameOsThreadW(syscall(SYS_gettid), L"mäin");

    // Two stacks, which interleave.
    int levels[10], count = 0;
    levels[count++] = nvtxRangePushA("plain");
    levels[count++] = nvtxRangePushW(L"wïde");
    nvtxEventAttributes_t event = described("described");
    event.category = 2;
    event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    event.payload.dValue = 2.5;
    levels[count++] = nvtxRangePushEx(&event);
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = registered;
    event.category = 1;
    event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    event.payload.iValue = -7;
    levels[count++] = nvtxDomainRangePushEx(net, &event);
    levels[count++] = nvtxRangePop();
    levels[count++] = nvtxDomainRangePop(net);
    levels[count++] = nvtxRangePop();
    levels[count++] = nvtxRangePop();
    // There are none.
    levels[count++] = nvtxRangePop();
    levels[count++] = nvtxDomainRangePop(net);
    for (int index = 0; index < count; index++) printf("%d%c", levels[index], index + 1 < count ? ' ' : '\n');

    event.message.registered = wide_registered;
    event.category = 9;
    event.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
    event.payload.fValue = 0.5f;
    nvtxDomainRangePushEx(wide, &event);
    nvtxDomainRangePop(wide);

    nvtxRangeId_t ranges[] = {nvtxRangeStartA("range"), nvtxRangeStartW(L"wïde range")};
    event = described("described range");
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
    event.payload.uiValue = 4000000000u;
    nvtxRangeId_t third = nvtxRangeStartEx(&event);
    event = described("range of a domain");
    event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    event.payload.llValue = -1;
    nvtxRangeId_t fourth = nvtxDomainRangeStartEx(net, &event);
    nvtxRangeEnd(ranges[0]);
    nvtxRangeEnd(ranges[1]);
    nvtxRangeEnd(third);
    nvtxDomainRangeEnd(net, fourth);
    // Neither has begun.
    nvtxRangeEnd(fourth);
    nvtxRangeEnd(123456789);
    nvtxRangeStartA("never ends");

    nvtxMarkA("mark");
    nvtxMarkW(L"wïde mark");
    event = described("described mark");
    nvtxMarkEx(&event);
    event = described("mark of a domain");
    event.category = 2;
    nvtxDomainMarkEx(net, &event);

    nvtxResourceAttributes_t resource = {0};
    resource.version = NVTX_VERSION;
    resource.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
    resource.identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER;
    resource.identifier.ullValue = 77;
    resource.messageType = NVTX_MESSAGE_TYPE_ASCII;
    resource.message.ascii = "a resource";
    nvtxDomainResourceDestroy(nvtxDomainResourceCreate(net, &resource));

    // Another domain of the same name has another stack.
    nvtxDomainHandle_t again = nvtxDomainCreateA("net");
    event = described("outer of the first");
    nvtxDomainRangePushEx(net, &event);
    event = described("inner of the second");
    nvtxDomainRangePushEx(again, &event);
    nvtxDomainRangePop(net);
    nvtxDomainRangePop(again);

    // What no header of these sends.
    nvtxRangePushEx(0);
    nvtxRangePop();
    nvtxRangePushA(0);
    nvtxRangePop();
    event = described("an old struct");
    event.size = 16;
    nvtxRangePushEx(&event);
    nvtxRangePop();

    pthread_t thread;
    pthread_create(&thread, 0, in_thread, 0);
    pthread_join(thread, 0);
    nvtxDomainDestroy(net);
    nvtxDomainDestroy(wide);
    return 0;
}
