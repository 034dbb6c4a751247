// device_rows.c - the table of devices that are known by name (devices.def).
#include "lab/devices/devices.h"

static const hsc_device_row ROWS[] = {
#define DEVICE(device_name, device_variants, kind, device_about) \
  {.name = device_name, \
   .variants = device_variants, \
   .about = device_about, \
   .source = HSC_DEVICE_##kind},
#include "lab/devices/devices.def"
#undef DEVICE
};

size_t hsc_device_row_count(void) {
  return HSC_DEVICE_ROWS;
}

const hsc_device_row *hsc_device_row_at(size_t index) {
  return &ROWS[index];
}
