/* The tracepoint: a region's five fields. LTTng includes this file several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER hrx_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./provider.h"

#if !defined(HRX_BENCH_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define HRX_BENCH_PROVIDER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    hrx_bench, region,
    LTTNG_UST_TP_ARGS(uint64_t, start_ns, uint64_t, duration_ns, uint64_t, lane, uint64_t, copied_bytes, uint8_t, failed),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint64_t, start_ns, start_ns)
        lttng_ust_field_integer(uint64_t, duration_ns, duration_ns)
        lttng_ust_field_integer(uint64_t, lane, lane)
        lttng_ust_field_integer(uint64_t, copied_bytes, copied_bytes)
        lttng_ust_field_integer(uint8_t, failed, failed)
    )
)

#endif

#include <lttng/tracepoint-event.h>
