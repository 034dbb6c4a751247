// plugin_topology.c - a number of devices without a client: what ahead-of-time compiles are made
// for. Its name is "cpu:N" or "" for one.
#include "base/text/text.h"
#include "base/wire/wire.h"
#include "plugin/plugin_internal.h"

#include <stdlib.h>

const char *hsc__platform_version(void) {
  return "hloscope " HSC_VERSION;
}

hsc_status *hsc__topology_init(PJRT_TopologyDescription *topology,
                               int device_count,
                               const int *process_of) {
  topology->device_count = device_count;
  for (int i = 0; i < device_count; i++) {
    struct PJRT_DeviceDescription *d = &topology->descriptions[i];
    d->id = i;
    d->process = process_of ? process_of[i] : 0;
    char of_process[32] = "";
    if (process_of)
      snprintf(of_process, sizeof of_process, ", process=%d", d->process);
    snprintf(d->text, sizeof d->text, "HloscopeCpuDevice(id=%d%s)", i, of_process);
    snprintf(d->debug_text, sizeof d->debug_text, "HloscopeCpuDevice(id=%d of %d%s)", i,
             device_count, of_process);
    topology->list[i] = d;
  }
  topology->attributes[0] = (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                                              .name = "device_count",
                                              .name_size = 12,
                                              .type = PJRT_NamedValue_kInt64,
                                              .int64_value = device_count,
                                              .value_size = 1};
  pthread_mutex_init(&topology->lock, NULL);
  atomic_init(&topology->references, 1);
  return NULL;
}

void hsc__topology_release(PJRT_TopologyDescription *topology) {
  if (!topology || topology->of_client || atomic_fetch_sub(&topology->references, 1) > 1)
    return;
  hsc_cpu_device_destroy(topology->compiler);
  pthread_mutex_destroy(&topology->lock);
  hsc_free(topology);
}

static hsc_status *create(hsc_view name, PJRT_TopologyDescription **out_topology) {
  long count = 1;
  if (name.size > 0) {
    char text[32] = {0};
    char *end;
    if (name.size >= sizeof text)
      return HSC_ERR(INVALID_ARGUMENT, "topology name of %zu characters; cpu:N is expected",
                     name.size);
    memcpy(text, name.data, name.size);
    if (!hsc_starts_with(text, "cpu:"))
      return HSC_ERR(INVALID_ARGUMENT, "topology '%s': cpu:N is expected", text);
    count = strtol(text + 4, &end, 10);
    if (*end || end == text + 4 || count < 1 || count > HSC_PLUGIN_MAX_DEVICES)
      return HSC_ERR(INVALID_ARGUMENT, "topology '%s': cpu:N with N from 1 to %d is expected", text,
                     HSC_PLUGIN_MAX_DEVICES);
  }
  *out_topology = hsc_alloc(sizeof **out_topology);
  if (!*out_topology)
    return hsc_status_out_of_memory();
  return hsc__topology_init(*out_topology, (int)count, NULL);
}

HSC_ENTRY(PJRT_TopologyDescription_Create) {
  HSC_CHECK_ARGS(PJRT_TopologyDescription_Create, topology);
  HSC_PJRT_TRY(create((hsc_view){args->topology_name, args->topology_name_size}, &args->topology));
  return NULL;
}

HSC_ENTRY(PJRT_TopologyDescription_Destroy) {
  HSC_CHECK_ARGS(PJRT_TopologyDescription_Destroy, topology);
  hsc__topology_release(args->topology);
  return NULL;
}

// JAX chooses its lowering rules by this name, and its own name only the rules for every platform:
// no eigenvalues, no callbacks. Where the Python package cannot be installed, "cpu" has the rules
// for CPUs, whose custom calls the device knows.
const char *hsc__platform_name(void) {
  const char *name = getenv("HLOSCOPE_PLATFORM_NAME");
  return name && *name ? name : HSC_PLATFORM_NAME;
}

HSC_ENTRY(PJRT_TopologyDescription_PlatformName) {
  HSC_CHECK_ARGS(PJRT_TopologyDescription_PlatformName, platform_name_size);
  args->platform_name = hsc__platform_name();
  args->platform_name_size = strlen(args->platform_name);
  return NULL;
}

HSC_ENTRY(PJRT_TopologyDescription_PlatformVersion) {
  HSC_CHECK_ARGS(PJRT_TopologyDescription_PlatformVersion, platform_version_size);
  args->platform_version = hsc__platform_version();
  args->platform_version_size = strlen(args->platform_version);
  return NULL;
}

HSC_ENTRY(PJRT_TopologyDescription_GetDeviceDescriptions) {
  HSC_CHECK_ARGS(PJRT_TopologyDescription_GetDeviceDescriptions, num_descriptions);
  args->descriptions = args->topology->list;
  args->num_descriptions = (size_t)args->topology->device_count;
  return NULL;
}

HSC_ENTRY(PJRT_TopologyDescription_Attributes) {
  HSC_CHECK_ARGS(PJRT_TopologyDescription_Attributes, num_attributes);
  args->attributes = args->topology->attributes;
  args->num_attributes = HSC_COUNT_OF(args->topology->attributes);
  return NULL;
}

static void delete_serialized(PJRT_SerializedTopology *serialized) {
  hsc_free(serialized);
}

// The name that Create takes.
HSC_ENTRY(PJRT_TopologyDescription_Serialize) {
  HSC_CHECK_ARGS(PJRT_TopologyDescription_Serialize, serialized_topology_deleter);
  char *text = hsc_alloc(16);
  if (!text)
    return hsc__error_of(hsc_status_out_of_memory());
  args->serialized_bytes_size = (size_t)snprintf(text, 16, "cpu:%d", args->topology->device_count);
  args->serialized_bytes = text;
  args->serialized_topology = (PJRT_SerializedTopology *)text;
  args->serialized_topology_deleter = delete_serialized;
  return NULL;
}

HSC_ENTRY(PJRT_TopologyDescription_Deserialize) {
  HSC_CHECK_ARGS(PJRT_TopologyDescription_Deserialize, topology);
  HSC_PJRT_TRY(create((hsc_view){args->serialized_topology, args->serialized_topology_size},
                      &args->topology));
  return NULL;
}

HSC_ENTRY(PJRT_TopologyDescription_Fingerprint) {
  HSC_CHECK_ARGS(PJRT_TopologyDescription_Fingerprint, fingerprint);
  args->fingerprint =
      hsc_hash64(&args->topology->device_count, sizeof args->topology->device_count, 1);
  return NULL;
}

HSC_ENTRY(PJRT_TopologyDescription_GetMemorySpaceKindIds) {
  static const int kinds[] = {0};
  HSC_CHECK_ARGS(PJRT_TopologyDescription_GetMemorySpaceKindIds, num_memory_space_kind_ids);
  args->memory_space_kind_ids = kinds;
  args->num_memory_space_kind_ids = HSC_COUNT_OF(kinds);
  return NULL;
}

// Also when there are none: a scalar has its list of dimensions.
static void put_packed(hsc_bytes *out, uint32_t field, const int64_t *values, size_t count) {
  size_t mark = hsc_wire_begin(out, field);
  for (size_t i = 0; i < count; i++)
    hsc_wire_put_raw_varint(out, (uint64_t)values[i]);
  hsc_wire_end(out, mark);
}

// ShapeProto { element_type 2, dimensions 3, layout 5 { minor_to_major 1 } } (xla/xla_data.proto),
// row-major whatever was asked for.
static hsc_status *canonical_shape(
    const PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args *args, hsc_bytes *out) {
  size_t bytes;
  HSC_TRY(hsc__array_bytes(args->element_type, args->dims, args->num_dims, &bytes));
  hsc_wire_put_varint(out, 2, (uint64_t)hsc_type_proto(hsc__type_of_pjrt(args->element_type)));
  put_packed(out, 3, args->dims, args->num_dims);
  size_t layout = hsc_wire_begin(out, 5);
  put_packed(out, 1, hsc__row_major((int)args->num_dims), args->num_dims);
  hsc_wire_end(out, layout);
  return hsc_bytes_status(out);
}

static void delete_shape(const char *shape) {
  hsc_free((void *)shape);
}

HSC_ENTRY(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace) {
  HSC_CHECK_ARGS(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace,
                 serialized_shape_deleter);
  hsc_bytes bytes = {0};
  hsc_status *status = canonical_shape(args, &bytes);
  if (status) {
    hsc_bytes_deinit(&bytes);
    return hsc__error_of(status);
  }
  args->serialized_shape_size = bytes.size;
  args->serialized_shape = hsc_bytes_take(&bytes);
  args->serialized_shape_deleter = delete_shape;
  return NULL;
}
