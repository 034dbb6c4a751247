// bench_lttng_probes.h - the two tracepoints of bench_lttng.c, in the form that LTTng-UST's macros
// read several times.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER hloscope_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench_lttng_probes.h"
#if !defined(HSC_BENCH_LTTNG_PROBES_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define HSC_BENCH_LTTNG_PROBES_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT(hloscope_bench,
                           span_begin,
                           LTTNG_UST_TP_ARGS(int, name, long, i, double, x),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, name, name)
                                                   lttng_ust_field_integer(long, i, i)
                                                       lttng_ust_field_float(double, x, x)))
LTTNG_UST_TRACEPOINT_EVENT(hloscope_bench,
                           span_end,
                           LTTNG_UST_TP_ARGS(int, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, name, name)))
#endif
#include <lttng/tracepoint-event.h>
