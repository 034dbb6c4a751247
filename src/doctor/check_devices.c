// check_devices.c - accelerators: cards on the bus, drivers, device nodes, who holds them; the
// platform; the fast network.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text/text.h"
#include "doctor/doctor_internal.h"

// Cards of a vendor on the PCI bus. `classes`: the leading digits of the device class that count,
// "" = all; `devices`: the ids that count, NULL = all.
static int count_cards(hsc__check_context *cx,
                       const char *vendor,
                       const char *class_prefix,
                       const char *const *devices) {
  const char *names[1024];
  size_t count =
      hsc__list(cx, hsc__path(cx, "/sys/bus/pci/devices"), "", names, HSC_COUNT_OF(names));
  int cards = 0;
  for (size_t i = 0; i < count; i++) {
    const char *found =
        hsc__read_line(cx, hsc__path(cx, "/sys/bus/pci/devices/%s/vendor", names[i]));
    if (!found || strcmp(found, vendor) != 0)
      continue;
    const char *class_text =
        hsc__read_line(cx, hsc__path(cx, "/sys/bus/pci/devices/%s/class", names[i]));
    if (*class_prefix && (!class_text || !hsc_starts_with(class_text, class_prefix)))
      continue;
    bool counts = !devices;
    const char *device =
        devices ? hsc__read_line(cx, hsc__path(cx, "/sys/bus/pci/devices/%s/device", names[i]))
                : NULL;
    for (size_t d = 0; device && devices[d]; d++)
      counts |= !strcmp(device, devices[d]);
    cards += counts;
  }
  return cards;
}

static bool module_loaded(hsc__check_context *cx, const char *name) {
  return hsc__exists(hsc__path(cx, "/sys/module/%s", name));
}

// Says whether the nodes can be opened; nodes of a fake root are plain files.
static void try_nodes(hsc__check_context *cx, const char *const *names, size_t count) {
  size_t closed = 0;
  const char *example = "";
  int reason = 0;
  for (size_t i = 0; i < count; i++) {
    const char *path = hsc__path(cx, "/dev/%s", names[i]);
    if (access(path, R_OK | W_OK) == 0)
      continue;
    reason = errno;
    closed++;
    example = names[i];
  }
  if (!closed)
    return;
  hsc__say(cx, HSC_VERDICT_ERROR, "%zu of %zu nodes cannot be used (/dev/%s: %s)", closed, count,
           example, strerror(reason));
  hsc__fix(cx, reason == EACCES ? "put yourself into the group that owns the node (ls -l /dev), or "
                                  "give the container the device"
                                : "restart the driver");
}

void hsc__check_neuron_device(hsc__check_context *cx) {
  static const char *const ids[] = {"0x7064", "0x7065", "0x7066", "0x7067",
                                    "0x7164", "0x7264", "0x7364", NULL};
  const char *nodes[64], *all[64];
  size_t found = hsc__list(cx, hsc__path(cx, "/dev"), "neuron", all, HSC_COUNT_OF(all));
  size_t count = 0;
  for (size_t i = 0; i < found; i++)
    if (all[i][6] >= '0' && all[i][6] <= '9')
      nodes[count++] = all[i];
  int cards = count_cards(cx, "0x1d0f", "", ids);
  if (!cards && !count && !module_loaded(cx, "neuron"))
    return;
  const char *version = hsc__read_line(cx, hsc__path(cx, "/sys/module/neuron/version"));
  if (cards)
    hsc__say(cx, HSC_VERDICT_OK, "%d %s on the bus", cards, hsc_plural(cards, "card", "cards"));
  if (!module_loaded(cx, "neuron")) {
    hsc__say(cx, HSC_VERDICT_ERROR, "the kernel module neuron is not loaded");
    hsc__fix(cx, "install aws-neuronx-dkms for the running kernel, then: modprobe neuron");
  } else {
    hsc__say(cx, HSC_VERDICT_OK, "driver %s", version ? version : "of unknown version");
  }
  if (!count) {
    hsc__say(cx, HSC_VERDICT_ERROR, "there is no /dev/neuron*");
    hsc__fix(cx, "in a container: --device=/dev/neuron0 for each card; else look at dmesg");
    return;
  }
  hsc__say(cx, HSC_VERDICT_OK, "%zu %s", count,
           hsc_plural((double)count, "device node", "device nodes"));
  try_nodes(cx, nodes, count);
}

void hsc__check_nvidia_device(hsc__check_context *cx) {
  const char *all[256], *nodes[256];
  size_t found = hsc__list(cx, hsc__path(cx, "/dev"), "nvidia", all, HSC_COUNT_OF(all));
  size_t count = 0;
  bool control = false;
  bool uvm = false;
  for (size_t i = 0; i < found; i++) {
    if (all[i][6] >= '0' && all[i][6] <= '9')
      nodes[count++] = all[i];
    control |= !strcmp(all[i], "nvidiactl");
    uvm |= !strcmp(all[i], "nvidia-uvm");
  }
  int cards = count_cards(cx, "0x10de", "0x03", NULL);
  bool loaded = module_loaded(cx, "nvidia");
  if (!cards && !count && !loaded)
    return;
  if (cards)
    hsc__say(cx, HSC_VERDICT_OK, "%d %s on the bus", cards, hsc_plural(cards, "card", "cards"));
  const char *version = hsc__read_line(cx, hsc__path(cx, "/sys/module/nvidia/version"));
  if (!loaded && !count) {
    hsc__say(cx, HSC_VERDICT_ERROR, "the kernel module nvidia is not loaded");
    hsc__fix(cx,
             "install the NVIDIA driver for the running kernel; a module nouveau in its place must "
             "be blacklisted");
    return;
  }
  hsc__say(cx, HSC_VERDICT_OK, "driver %s", version ? version : "of unknown version");
  if (!count || !control) {
    hsc__say(cx, HSC_VERDICT_ERROR, "device nodes are missing (%zu cards, nvidiactl %s)", count,
             control ? "there" : "missing");
    hsc__fix(cx, "nvidia-modprobe -c0 makes them; in a container: --gpus=all");
  } else if (!uvm) {
    hsc__say(cx, HSC_VERDICT_WARNING, "/dev/nvidia-uvm is missing: CUDA cannot start");
    hsc__fix(cx, "nvidia-modprobe -u -c0");
  } else {
    hsc__say(cx, HSC_VERDICT_OK, "%zu %s", count,
             hsc_plural((double)count, "device node", "device nodes"));
  }
  try_nodes(cx, nodes, count);
  if (version && strtol(version, NULL, 10) && strtol(version, NULL, 10) < 525) {
    hsc__say(cx, HSC_VERDICT_WARNING, "this driver is older than CUDA 12 needs (525)");
    hsc__fix(cx, "update the driver: the current jax-cuda12 and torch builds need it");
  }
}

void hsc__check_tpu_device(hsc__check_context *cx) {
  const char *accel[64], *vfio[64];
  size_t accel_count = hsc__list(cx, hsc__path(cx, "/dev"), "accel", accel, HSC_COUNT_OF(accel));
  size_t vfio_count = hsc__list(cx, hsc__path(cx, "/dev/vfio"), "", vfio, HSC_COUNT_OF(vfio));
  int cards = count_cards(cx, "0x1ae0", "", NULL);
  if (!cards)
    return;
  hsc__say(cx, HSC_VERDICT_OK, "%d Google %s on the bus, %zu /dev/accel*, %zu /dev/vfio groups",
           cards, hsc_plural(cards, "card", "cards"), accel_count, vfio_count);
  if (!accel_count && vfio_count < 2) {
    hsc__say(cx, HSC_VERDICT_ERROR, "there is no device node for them");
    hsc__fix(cx, "use the TPU VM image; in a container: --privileged or --device=/dev/vfio/...");
  }
  try_nodes(cx, accel, accel_count);
}

void hsc__check_amd_device(hsc__check_context *cx) {
  int cards = count_cards(cx, "0x1002", "0x03", NULL) + count_cards(cx, "0x1002", "0x12", NULL);
  bool kfd = hsc__exists(hsc__path(cx, "/dev/kfd"));
  if (!cards && !kfd)
    return;
  hsc__say(cx, HSC_VERDICT_OK, "%d %s on the bus, driver %s", cards,
           hsc_plural(cards, "card", "cards"),
           module_loaded(cx, "amdgpu") ? "amdgpu" : "not loaded");
  if (!kfd) {
    hsc__say(cx, HSC_VERDICT_WARNING, "/dev/kfd is missing: no computing");
    hsc__fix(cx, "load amdgpu; in a container: --device=/dev/kfd --device=/dev/dri");
  } else {
    try_nodes(cx, (const char *const[]){"kfd"}, 1);
  }
}

static bool is_accelerator(const char *target) {
  static const char *const prefixes[] = {"/dev/neuron", "/dev/accel", "/dev/nvidia", "/dev/kfd"};
  for (size_t i = 0; i < HSC_COUNT_OF(prefixes); i++)
    if (hsc_starts_with(target, prefixes[i]))
      return strcmp(target, "/dev/nvidiactl") != 0;
  return false;
}

void hsc__check_device_holders(hsc__check_context *cx) {
  const char *processes[4096];
  size_t count = hsc__list(cx, hsc__path(cx, "/proc"), "", processes, HSC_COUNT_OF(processes));
  size_t holders = 0;
  size_t closed = 0;
  for (size_t i = 0; i < count; i++) {
    if (processes[i][0] < '0' || processes[i][0] > '9' ||
        strtol(processes[i], NULL, 10) == getpid())
      continue;
    const char *files = hsc__path(cx, "/proc/%s/fd", processes[i]);
    DIR *open = opendir(files);
    closed += !open && errno == EACCES;
    bool held = false;
    for (struct dirent *item; open && !held && (item = readdir(open));) {
      char target[256];
      ssize_t length = readlinkat(dirfd(open), item->d_name, target, sizeof target - 1);
      if (length <= 0)
        continue;
      target[length] = 0;
      if (!(held = is_accelerator(target)))
        continue;
      const char *name = hsc__read_line(cx, hsc__path(cx, "/proc/%s/comm", processes[i]));
      hsc__say(cx, HSC_VERDICT_WARNING, "%s is held by %s (%s)", target, processes[i],
               name ? name : "?");
      holders++;
    }
    if (open)
      closedir(open);
  }
  if (holders)
    hsc__fix(cx,
             "a device that is held may refuse a second process; end the ones that are left over "
             "(neuron-ls, nvidia-smi, fuser -v show them)");
  else if (closed)
    hsc__say(cx, HSC_VERDICT_OK,
             "no process that may be looked at holds one; %zu belong to other users", closed);
  else
    hsc__say(cx, HSC_VERDICT_OK, "no process holds one");
}

// A Neuron instance runs best from Amazon's image with driver, runtime and frameworks that fit
// together; its environments lie in /opt/aws_neuronx_venv_*.
static void check_neuron_image(hsc__check_context *cx) {
  const char *names[16];
  size_t count = hsc__list(cx, hsc__path(cx, "/opt"), "aws_neuron", names, HSC_COUNT_OF(names));
  if (count) {
    hsc__say(cx, HSC_VERDICT_OK, "a Deep Learning AMI with Neuron (/opt/%s)", names[0]);
    return;
  }
  hsc__say(cx, module_loaded(cx, "neuron") ? HSC_VERDICT_OK : HSC_VERDICT_WARNING,
           "not a Deep Learning AMI with Neuron: no /opt/aws_neuron*");
  hsc__fix(cx,
           "a Deep Learning AMI with Neuron has driver, compiler and frameworks that fit together; "
           "its newest id: aws ssm get-parameter --name "
           "/aws/service/neuron/dlami/multi-framework/ubuntu-22.04/latest/image_id --query "
           "Parameter.Value --output text");
}

void hsc__check_platform(hsc__check_context *cx) {
  static const struct {
    const char *prefix, *target, *arch;
  } instances[] = {{"trn1", "trn1", "x86_64"},
                   {"trn2", "trn2", "x86_64"},
                   {"trn3", "trn3", "x86_64"},
                   {"inf2", "inf2", "x86_64"},
                   {"inf1", "inf1", "x86_64"}};
  const char *vendor = hsc__read_line(cx, hsc__path(cx, "/sys/devices/virtual/dmi/id/sys_vendor"));
  const char *product =
      hsc__read_line(cx, hsc__path(cx, "/sys/devices/virtual/dmi/id/product_name"));
  const char *arch = hsc__read_line(cx, hsc__path(cx, "/proc/sys/kernel/arch"));
  struct utsname name;
  if (!arch && !*cx->options.root && !uname(&name))
    arch = hsc_arena_strdup(cx->arena, name.machine);
  hsc__say(cx, HSC_VERDICT_OK, "%s, %s %s", arch ? arch : "unknown architecture",
           vendor ? vendor : "unknown machine", product ? product : "");
  const char *target = hsc__env(cx, "NEURON_PLATFORM_TARGET_OVERRIDE");
  const char *flags = hsc__env(cx, "NEURON_CC_FLAGS");
  for (size_t i = 0; product && i < HSC_COUNT_OF(instances); i++) {
    if (!hsc_starts_with(product, instances[i].prefix))
      continue;
    hsc__say(cx, HSC_VERDICT_OK, "platform target %s", instances[i].target);
    check_neuron_image(cx);
    if (arch && strcmp(arch, instances[i].arch) != 0) {
      hsc__say(cx, HSC_VERDICT_ERROR, "this instance type is %s, not %s", instances[i].arch, arch);
      hsc__fix(cx, "use an image for %s", instances[i].arch);
    }
    const char *wanted = flags ? strstr(flags, "--target=") : NULL;
    char given[32] = "";
    if (wanted)
      snprintf(given, sizeof given, "%.*s", (int)strcspn(wanted + 9, " "), wanted + 9);
    if (target && *target)
      snprintf(given, sizeof given, "%s", target);
    if (*given && strcmp(given, instances[i].target) != 0) {
      hsc__say(cx, HSC_VERDICT_WARNING, "but programs are compiled for %s", given);
      hsc__fix(cx,
               "leave --target in NEURON_CC_FLAGS and NEURON_PLATFORM_TARGET_OVERRIDE unset, "
               "unless you compile for another machine");
    }
  }
}

void hsc__check_network(hsc__check_context *cx) {
  const char *cards[64];
  size_t count =
      hsc__list(cx, hsc__path(cx, "/sys/class/infiniband"), "", cards, HSC_COUNT_OF(cards));
  int efa = count_cards(cx, "0x1d0f", "",
                        (const char *const[]){"0xefa0", "0xefa1", "0xefa2", "0xefa3", NULL});
  const char *neuron_root = hsc__env(cx, "NEURON_RT_ROOT_COMM_ID");
  const char *master = hsc__env(cx, "MASTER_ADDR");
  const char *world = hsc__env(cx, "WORLD_SIZE");
  const char *local = hsc__env(cx, "LOCAL_WORLD_SIZE");
  bool several =
      (master && *master && strcmp(master, "localhost") != 0 && strcmp(master, "127.0.0.1") != 0) ||
      (neuron_root && *neuron_root && !hsc_starts_with(neuron_root, "localhost") &&
       !hsc_starts_with(neuron_root, "127."));
  several |= world && local && strtol(world, NULL, 10) > strtol(local, NULL, 10);
  if (efa && !count) {
    hsc__say(cx, HSC_VERDICT_ERROR, "%d EFA %s, but no driver shows %s under /sys/class/infiniband",
             efa, hsc_plural(efa, "card", "cards"), hsc_plural(efa, "it", "them"));
    hsc__fix(cx, "install the EFA driver (aws-efa-installer), then fi_info -p efa must list them");
  } else if (count) {
    hsc__say(cx, HSC_VERDICT_OK, "%zu fast network %s (%s%s)", count,
             hsc_plural((double)count, "card", "cards"), cards[0], count > 1 ? ", ..." : "");
  } else if (several) {
    hsc__say(cx, HSC_VERDICT_WARNING,
             "a program over several machines is set up, but there is no fast network card");
    hsc__fix(cx, "collectives will go over TCP; NET/OFI warnings are to be expected");
  }
  const char *provider = hsc__env(cx, "FI_PROVIDER");
  if (provider && !strcmp(provider, "efa") && !count) {
    hsc__say(cx, HSC_VERDICT_ERROR, "FI_PROVIDER=efa, but there is no EFA");
    hsc__fix(cx, "unset FI_PROVIDER on this machine");
  }
}
