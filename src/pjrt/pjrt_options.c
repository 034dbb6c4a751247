// pjrt_options.c - writes CompileOptionsProto.
//
// Field numbers (xla/pjrt/proto/compile_options.proto, xla/xla_data.proto):
//   CompileOptionsProto: parameter_is_tupled 2, executable_build_options 3, env_option_overrides 7
//   (map: key 1, value 2)
//   ExecutableBuildOptionsProto: device_ordinal 1, num_replicas 4, num_partitions 5,
//   use_spmd_partitioning 6, device_assignment 9, use_shardy_partitioner 19
//   DeviceAssignmentProto: replica_count 1, computation_count 2, computation_devices 3 {
//   replica_device_ids 1 }
//   OptionOverrideProto: string_field 1, bool_field 2, int_field 3, double_field 4
// Overrides and never debug_options: a debug_options message replaces every default of the compiler
// by zero, and XLA_FLAGS aborts on a name that it does not know, where an override is answered with
// a clean error.
#include "pjrt/pjrt_internal.h"

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2 };

static void put_varint(hsc_bytes *out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    hsc_bytes_append_char(out, (char)(value | 0x80));
  hsc_bytes_append_char(out, (char)value);
}

static void put_tag(hsc_bytes *out, int field, int wire) {
  put_varint(out, (uint64_t)field << 3 | (uint64_t)wire);
}

static void put_int(hsc_bytes *out, int field, int64_t value) {
  put_tag(out, field, VARINT);
  put_varint(out, (uint64_t)value);
}

static void put_text(hsc_bytes *out, int field, const char *data, size_t size) {
  put_tag(out, field, LENGTH);
  put_varint(out, size);
  hsc_bytes_append(out, data, size);
}

static void put_message(hsc_bytes *out, int field, hsc_bytes *message) {
  put_text(out, field, hsc_bytes_text(message), message->size);
  if (message->failed)
    out->failed = true;
  hsc_bytes_deinit(message);
}

static void put_device_assignment(hsc_bytes *out, const hsc_compile_options *options) {
  hsc_bytes assignment = {0};
  put_int(&assignment, 1, options->replica_count);
  put_int(&assignment, 2, options->partition_count);
  for (int partition = 0; partition < options->partition_count; partition++) {
    hsc_bytes devices = {0};
    hsc_bytes ids = {0};
    for (int replica = 0; replica < options->replica_count; replica++)
      put_varint(&ids,
                 (uint64_t)replica * (uint64_t)options->partition_count + (uint64_t)partition);
    put_message(&devices, 1, &ids);
    put_message(&assignment, 3, &devices);
  }
  put_message(out, 9, &assignment);
}

static void put_override(hsc_bytes *out, const hsc_override *override) {
  hsc_bytes entry = {0};
  hsc_bytes value = {0};
  put_text(&entry, 1, override->name, strlen(override->name));
  switch (override->type) {
    case HSC_OVERRIDE_TEXT:
      put_text(&value, 1, override->text, strlen(override->text));
      break;
    case HSC_OVERRIDE_BOOL:
      put_int(&value, 2, override->boolean);
      break;
    case HSC_OVERRIDE_INT:
      put_int(&value, 3, override->integer);
      break;
    case HSC_OVERRIDE_DOUBLE:
      put_tag(&value, 4, FIXED64);
      hsc_bytes_append(&value, &override->real, sizeof override->real);
      break;
  }
  put_message(&entry, 2, &value);
  put_message(out, 7, &entry);
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
  hsc_bytes build = {0};
  if (options->parameter_is_tupled)
    put_int(out_bytes, 2, 1);
  put_int(&build, 4, options->replica_count);
  put_int(&build, 5, options->partition_count);
  if (options->use_spmd_partitioning)
    put_int(&build, 6, 1);
  if (options->device_assignment)
    put_device_assignment(&build, options);
  if (options->use_shardy_partitioner)
    put_int(&build, 19, 1);
  put_message(out_bytes, 3, &build);
  for (size_t i = 0; i < options->override_count; i++)
    put_override(out_bytes, &options->overrides[i]);
  return hsc_bytes_status(out_bytes);
}
