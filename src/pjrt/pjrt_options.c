// pjrt_options.c - writes CompileOptionsProto.
//
// Field numbers (xla/pjrt/proto/compile_options.proto, xla/xla_data.proto):
//   CompileOptionsProto: parameter_is_tupled 2, executable_build_options 3, env_option_overrides 7
//   (map: key 1, value 2)
//   ExecutableBuildOptionsProto: device_ordinal 1, num_replicas 4, num_partitions 5,
//   use_spmd_partitioning 6, device_assignment 9, allow_spmd_sharding_propagation_to_output 12,
//   allow_spmd_sharding_propagation_to_parameters 18, use_shardy_partitioner 19
//   DeviceAssignmentProto: replica_count 1, computation_count 2, computation_devices 3 {
//   replica_device_ids 1 }
//   OptionOverrideProto: string_field 1, bool_field 2, int_field 3, double_field 4
// Overrides and never debug_options: a debug_options message replaces every default of the compiler
// by zero, and XLA_FLAGS aborts on a name that it does not know, where an override is answered with
// a clean error.
#include "base/wire/wire.h"
#include "pjrt/pjrt_internal.h"

static void put_device_assignment(hsc_bytes *out, const hsc_compile_options *options) {
  uint64_t partitions = (uint64_t)options->partition_count;
  size_t assignment = hsc_wire_begin(out, 9);
  hsc_wire_put_varint(out, 1, (uint64_t)options->replica_count);
  hsc_wire_put_varint(out, 2, partitions);
  for (uint64_t partition = 0; partition < partitions; partition++) {
    size_t devices = hsc_wire_begin(out, 3);
    size_t ids = hsc_wire_begin(out, 1);
    for (uint64_t replica = 0; replica < (uint64_t)options->replica_count; replica++)
      hsc_wire_put_raw_varint(out, replica * partitions + partition);
    hsc_wire_end(out, ids);
    hsc_wire_end(out, devices);
  }
  hsc_wire_end(out, assignment);
}

// Values are there also when they are zero, empty or false: an override is no default.
static void put_override(hsc_bytes *out, const hsc_override *override) {
  size_t entry = hsc_wire_begin(out, 7);
  hsc_wire_put_bytes(out, 1, override->name, strlen(override->name));
  size_t value = hsc_wire_begin(out, 2);
  switch (override->type) {
    case HSC_OVERRIDE_TEXT:
      hsc_wire_put_bytes(out, 1, override->text, strlen(override->text));
      break;
    case HSC_OVERRIDE_BOOL:
      hsc_wire_put_varint(out, 2, override->boolean);
      break;
    case HSC_OVERRIDE_INT:
      hsc_wire_put_varint(out, 3, (uint64_t) override->integer);
      break;
    case HSC_OVERRIDE_DOUBLE:
      hsc_wire_put_raw_varint(out, 4 << 3 | HSC_WIRE_FIXED64);
      hsc_bytes_append(out, &override->real, sizeof override->real);
      break;
  }
  hsc_wire_end(out, value);
  hsc_wire_end(out, entry);
}

hsc_compile_options hsc_compile_options_default(void) {
  return (hsc_compile_options){.replica_count = 1, .partition_count = 1};
}

hsc_status *hsc_compile_options_write(const hsc_compile_options *options, hsc_bytes *out_bytes) {
  if (options->replica_count < 1 || options->partition_count < 1)
    return HSC_ERR(INVALID_ARGUMENT,
                   "compile options: %d replicas and %d partitions; both must be at least 1",
                   options->replica_count, options->partition_count);
  for (size_t i = 0; i < options->override_count; i++) {
    const hsc_override *override = &options->overrides[i];
    if (!override->name || !*override->name)
      return HSC_ERR(INVALID_ARGUMENT, "compile options: override %zu has no name", i);
    if (override->type == HSC_OVERRIDE_TEXT && !override->text)
      return HSC_ERR(INVALID_ARGUMENT, "compile options: override %s has no text", override->name);
  }
  hsc_wire_put_bool(out_bytes, 2, options->parameter_is_tupled);
  size_t build = hsc_wire_begin(out_bytes, 3);
  hsc_wire_put_varint(out_bytes, 4, (uint64_t)options->replica_count);
  hsc_wire_put_varint(out_bytes, 5, (uint64_t)options->partition_count);
  hsc_wire_put_bool(out_bytes, 6, options->use_spmd_partitioning);
  if (options->device_assignment)
    put_device_assignment(out_bytes, options);
  hsc_wire_put_packed(out_bytes, 12, options->free_results, options->free_result_count);
  hsc_wire_put_packed(out_bytes, 18, options->free_parameters, options->free_parameter_count);
  hsc_wire_put_bool(out_bytes, 19, options->use_shardy_partitioner);
  hsc_wire_end(out_bytes, build);
  for (size_t i = 0; i < options->override_count; i++)
    put_override(out_bytes, &options->overrides[i]);
  return hsc_bytes_status(out_bytes);
}
