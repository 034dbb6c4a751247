// device_vendors.c - the table of vendors' plugins: which file, from which package (vendors.def).
#include <string.h>

#include "lab/devices/devices.h"

static const hsc_vendor VENDORS[] = {
#define VENDOR(name, library, sites, places, pip, hardware, env) \
  {.device = name, \
   .file = library, \
   .in_python = sites, \
   .elsewhere = places, \
   .packages = pip, \
   .on_hardware = hardware, \
   .environment = env},
#include "lab/devices/vendors.def"
#undef VENDOR
};

const hsc_vendor *hsc_vendor_get(const char *device) {
  for (size_t i = 0; i < HSC_COUNT_OF(VENDORS); i++)
    if (!strcmp(VENDORS[i].device, device))
      return &VENDORS[i];
  return NULL;
}

const hsc_vendor *hsc_vendor_of_file(const char *file) {
  for (size_t i = 0; i < HSC_COUNT_OF(VENDORS); i++)
    if (!strcmp(VENDORS[i].file, file))
      return &VENDORS[i];
  return NULL;
}
